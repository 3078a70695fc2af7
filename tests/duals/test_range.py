"""Vectors of every size at every angle: values, gradients and second derivatives against many digits.

Errors are measured in the natural scale of the terms: with s, t the norms of w and v, the dual of two functions of
degrees p, q has the scale s^p t^q (for squares the root of their mean square, which is a few times that), and
derivatives are taken in units of the vectors. Duals of signs are linear in the angle θ, so that rounding of the vectors
changes their gradient by 1/θ, and its derivative by 1/θ², as much; the error function is a sign whose angle is at least
1/s or 1/t. With correlated inputs, waves along long vectors change with the rounding of these. With a mean, the
gradient of the dual of a sign and an absolute value has a kink at θ = 0, and its derivative changes by 1/θ.
"""

from __future__ import annotations

from typing import NamedTuple

import exact_duals
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from flint import arb

from tutelage import activations, duals, inputs

QUADRATURE = duals.Quadrature()
ONE = jnp.ones((1, 1))
TOLERANCE = 4e-15
DEGREES = {"relu": 1, "abs": 1, "linear": 1, "quadratic": 2, "sign": 0, "step": 0}
SIZES = [1e-300, 1e-160, 1e-100, 1e-8, 1.0, 1e8, 1e78, 1e155, 1e300]
ANGLES = [0.0, 1e-300, 1e-100, 1e-20, 1e-15, 1e-8, 1e-7, 1e-4, 1.0, np.pi / 2, np.pi - 1e-7, np.pi]
SHIFT, FACTOR = np.array([0.4, -0.7, 0.3]), np.array([[1.0, 0.0, 0.0], [0.5, 0.8, 0.0], [-0.3, 0.2, 0.6]])


class Point(NamedTuple):
    """Two vectors and the directions along which their gradient is differentiated, in units of their sizes."""

    w: np.ndarray
    v: np.ndarray
    along: np.ndarray
    other: np.ndarray


def rotated(w: np.ndarray, size: float, angle: float, rng: np.random.Generator) -> np.ndarray:
    """A vector of a size at an angle from w, as accurately as floating-point numbers can have it."""
    normal = np.cross(w, rng.normal(size=3))
    return size * (np.cos(angle) * w / np.linalg.norm(w) + np.sin(angle) * normal / np.linalg.norm(normal))


def points(count: int, seed: int, sizes=SIZES, angles=ANGLES) -> list[Point]:
    """Pairs of vectors: generic ones, and those that differ in one coordinate, whose angles are exact however small."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        w, angle = rng.normal(size=3), angles[number % len(angles)]
        size, second = rng.choice(sizes, 2)
        if number % 3 == 0:
            second = size
        if angle < 1e-16 or number % 2:
            sign, angle = (-1.0, np.pi - angle) if angle > 2 else (1.0, angle)
            w[2] = 0.0
            v = sign * np.array([w[0], w[1], np.linalg.norm(w) * np.tan(min(angle, 1.5))])
            # Powers of two: the first two coordinates are multiples of each other exactly.
            w, v = w * 2.0 ** np.floor(np.log2(size)), v * 2.0 ** np.floor(np.log2(second))
        else:
            w *= size / np.linalg.norm(w)
            v = rotated(w / size, second, angle, rng)
        along, other = rng.normal(size=(2, 3))
        found.append(Point(w, v, along / np.linalg.norm(along), other / np.linalg.norm(other)))
    return found


def evaluate(sigma: str, tau: str, law: inputs.Inputs, cases: list[Point]) -> tuple[np.ndarray, ...]:
    """The library's values, gradients, and changes of gradients along the directions, in one compiled call."""
    kernel = duals.kernel(activations.get(sigma), activations.get(tau), law, QUADRATURE)

    def one(w, v, along, other):
        def pull(w, v):
            return kernel.pull(w[None], v[None], ONE)[0]

        gradient, turn = jax.jvp(pull, (w, v), (jnp.max(jnp.abs(w)) * along, jnp.max(jnp.abs(v)) * other))
        return kernel.gram(w[None], v[None])[0, 0], gradient, turn

    return tuple(map(np.asarray, jax.jit(jax.vmap(one))(*(jnp.asarray(rows) for rows in zip(*cases, strict=True)))))


def scales(
    sigma: str, tau: str, law: exact_duals.Law, case: Point, s: float, t: float, angle: float
) -> tuple[arb, arb, arb]:
    """The natural scales of value, gradient and its change, the last two in units of the vectors."""

    def size(name: str, vector: np.ndarray, norm: float) -> arb:
        if name == "quadratic":
            row = [exact_duals.rational(x) for x in vector]
            return exact_duals.value(name, name, law, row, row).sqrt()
        if name in DEGREES:
            return arb(norm) ** DEGREES[name]
        return arb(1.0 if name == "cosine" else min(1.0, norm))

    value = size(sigma, case.w, s) * size(tau, case.v, t)
    if {sigma, tau} <= {"sign", "step", "erf"}:
        for name, norm in ((sigma, s), (tau, t)):
            if name == "erf":
                angle = max(angle, min(1.0, 1 / norm))
        return value, value * (1 + 1 / arb(angle)), value * (1 + 1 / arb(angle) ** 2)
    if {sigma, tau} <= {"cosine", "sine"}:
        short = (
            min(1.0, t) if tau == "sine" else 1.0 if any(number != 0 for number in law.mean) else min(1.0, max(s, t))
        )
        # With correlated inputs, what the law sees of long vectors has their rounding.
        correlated = any(number != 0 for i, row in enumerate(law.factor) for j, number in enumerate(row) if i != j)
        rounding = arb(max(1.0, s, t) if correlated else 1.0)
        return value * rounding, arb(s) * short * rounding, arb(s) * max(1.0, s, t) * short * rounding
    if {sigma, tau} & {"sign", "step"} and {sigma, tau} & {"relu", "abs"} and angle > 0:
        return value, value, value * (1 + 1 / arb(angle))
    return value, value, value


def errors(sigma: str, tau: str, mean, factor, cases: list[Point], found) -> np.ndarray:
    """The largest errors of value, gradient and change at each point, in their scales; a wrong infinity is one."""
    law = exact_duals.Law.of(mean, factor)
    result = np.zeros((len(cases), 3))
    for row, (case, value, gradient, turn) in enumerate(zip(cases, *found, strict=True)):
        s, t = (float(np.abs(vector).max()) for vector in (case.w, case.v))
        norms = s * float(np.linalg.norm(case.w / s)), t * float(np.linalg.norm(case.v / t))
        # At exactly parallel vectors differences are of first order only.
        parallel = np.array_equal(np.cross(case.w / s, case.v / t), np.zeros(3))
        exact = exact_duals.exact(sigma, tau, law, *case, bits=60 if parallel else 34)
        singular = exact.angle == 0 and bool({sigma, tau} & {"sign", "step"})
        natural = scales(sigma, tau, law, case, *norms, exact.angle or (1.0 if singular else 0.0))
        unit = exact_duals.rational(s)
        groups = [(np.atleast_1d(value), [exact.value], natural[0], arb(1))]
        if not singular:
            groups += [(gradient, exact.gradient, natural[1], arb(unit)), (turn, exact.turn, natural[2], arb(unit))]
        for column, (numbers, wanted, scale, size) in enumerate(groups):
            for number, right in zip(numbers, wanted, strict=True):
                if not np.isfinite(number):
                    # The terms of the true number overflow.
                    result[row, column] = max(result[row, column], 0.0 if scale / size > 1e306 else np.inf)
                    continue
                error = abs(arb(exact_duals.rational(number)) * size - right)
                # Numbers below the smallest one are flushed to zero, those on the way as well.
                if error > size * arb(1e-307):
                    result[row, column] = max(result[row, column], float((error / scale).mid()))
    return result


@pytest.mark.parametrize(
    ("sigma", "tau"),
    [
        ("relu", "relu"),
        ("sign", "sign"),
        ("step", "step"),
        ("erf", "erf"),
        ("sign", "erf"),
        ("quadratic", "quadratic"),
        ("cosine", "cosine"),
        ("sine", "sine"),
        ("relu", "quadratic"),
        ("linear", "erf"),
    ],
)
def test_every_size_and_angle(sigma: str, tau: str) -> None:
    """Norms from 1e-300 to 1e300, angles from 0 to π: right to a few units in the last place of the natural scale."""
    cases = points(36, seed=1)
    found = evaluate(sigma, tau, inputs.gaussian(3), cases)
    worst = errors(sigma, tau, np.zeros(3), np.eye(3), cases, found)
    assert worst.max() < TOLERANCE, (sigma, tau, worst.max(axis=0), cases[int(np.argmax(worst.max(axis=1)))])


@pytest.mark.parametrize("name", ["relu", "sign", "erf", "cosine"])
def test_every_size_and_angle_with_a_covariance(name: str) -> None:
    """The same under a law with correlated inputs: sizes and angles are those that the law sees."""
    cases = points(24, seed=2)
    law = inputs.gaussian(3, covariance=FACTOR @ FACTOR.T)
    worst = errors(name, name, np.zeros(3), np.asarray(law.factor), cases, evaluate(name, name, law, cases))
    assert worst.max() < TOLERANCE, (worst.max(axis=0), cases[int(np.argmax(worst.max(axis=1)))])


@pytest.mark.parametrize("name", ["relu", "sign", "quadratic", "sine"])
def test_every_size_and_angle_with_a_mean(name: str) -> None:
    """The same under a law with a mean: at an angle of 1e-7 the orthant probability has all its digits."""
    count = 8 if name in ("relu", "sign") else 24  # the digits of orthant probabilities are slow
    cases = points(count, seed=3, angles=[1e-7, 0.0, 1e-12, 1e-8, 1.0, np.pi - 1e-7, np.pi / 2, 1e-20])
    found = evaluate(name, name, inputs.gaussian(3, mean=SHIFT), cases)
    worst = errors(name, name, SHIFT, np.eye(3), cases, found)
    assert worst.max() < TOLERANCE, (worst.max(axis=0), cases[int(np.argmax(worst.max(axis=1)))])


@pytest.mark.parametrize("size", [1e-2, 1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("other", [1.0, -0.7, 1e-8])
def test_short_vectors_of_error_functions_with_a_mean(size: float, other: float) -> None:
    """A dual as small as the product of both norms has all its digits: Gauss–Hermite's rule, which is exact here."""
    mean, w, v = np.array([0.5, -0.3]), size * np.array([1.0, 0.5]), other * np.array([0.2, 0.1])
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    x = np.stack(np.meshgrid(nodes + mean[0], nodes + mean[1], indexing="ij"), -1).reshape(-1, 2)
    masses = np.outer(weights, weights).ravel() / weights.sum() ** 2
    erf = activations.get("erf")
    kernel = duals.kernel(erf, erf, inputs.gaussian(2, mean=mean))
    for second in (v, w):
        exact = masses @ (scipy.special.erf(x @ w) * scipy.special.erf(x @ second))
        found = kernel.gram(w[None], second[None], same=second is w)[0, 0]
        assert found == pytest.approx(exact, rel=4e-15, abs=0), (size, other)
