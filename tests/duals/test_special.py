"""The scalar functions behind the closed forms, against extended precision, quadrature and differences."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from plane_quadrature import REACH, panels
from scipy import special

from tutelage.duals import norms
from tutelage.duals.special import StandardPair, angle_of_cosine, mean_of_signs, quotient, root

NEAR_ONE = 1 - np.logspace(-16, -1, 46)
CORRELATIONS = np.concatenate([-NEAR_ONE, np.linspace(-0.93, 0.93, 40), NEAR_ONE, [-1.0, 0.0, 1.0, 0.925, -0.925]])
LEVELS = [(0.0, 0.0), (0.3, 0.3), (0.3, -0.3), (1.2, -0.4), (-2.0, -2.0 + 1e-6), (2.5, 3.0), (-4.0, 1.0), (6.0, -6.0)]


@jax.jit
def signs(h, k, correlation):
    """The library's function, of a correlation: the angle is as accurate as one minus its size."""
    half_sine, half_cosine = root(0.5 * (1 - correlation)), root(0.5 * (1 + correlation))
    opposed = correlation < 0
    pair = StandardPair(h, k, jnp.where(opposed, k + h, k - h), half_sine, half_cosine, opposed)
    return mean_of_signs(pair, correlation)


def test_the_angle_is_right_to_about_one_unit_in_the_last_place() -> None:
    """The rational arccos is within 1.2 units in the last place of the extended-precision one on all of [-1, 1]."""
    cosines = np.concatenate([np.linspace(-1, 1, 200_001), NEAR_ONE, -NEAR_ONE, [0.5, -0.5, np.nextafter(0.5, 0)]])
    expected = np.arccos(cosines.astype(np.longdouble))
    found = np.asarray(angle_of_cosine(jnp.asarray(cosines)))
    assert np.all(np.abs(found - expected) <= 1.2 * np.spacing(expected.astype(float)))
    assert float(angle_of_cosine(jnp.asarray(1.0))) == 0.0
    assert float(angle_of_cosine(jnp.asarray(-1.0))) == np.pi


def reference_orthant(h: float, k: float, correlation: float) -> float:
    """P(X > -h, Y > -k) by Gauss–Legendre rules over x, refined where the conditional probability changes."""
    if correlation == 0:
        return special.ndtr(h) * special.ndtr(k)
    width = np.sqrt((1 - correlation) * (1 + correlation))
    if width == 0:
        return special.ndtr(min(h, k)) if correlation > 0 else max(0.0, special.ndtr(h) + special.ndtr(k) - 1)

    lower, centre, scale = max(-h, -REACH), -k / correlation, width / abs(correlation)
    steps = scale * np.concatenate([[0.5, 1, 1.5], 2.0 ** np.arange(1, 60)])
    windows = centre + np.concatenate([-steps, [0.0], steps])
    edges = np.clip(np.concatenate([windows, np.linspace(lower, REACH, 25)]), lower, REACH)
    nodes, weights = panels(np.unique(edges))
    return float(np.sum(weights * special.ndtr((k + correlation * nodes) / width)))


def reference_signs(h: float, k: float, correlation: float) -> float:
    """E[sgn(h + X) sgn(k + Y)], from the probability of an orthant."""
    return 4 * reference_orthant(h, k, correlation) - 2 * special.ndtr(h) - 2 * special.ndtr(k) + 1


def test_the_mean_of_signs_agrees_with_quadrature() -> None:
    """Within 4e-14 for every correlation, those within rounding of ±1 included."""
    for h, k in LEVELS:
        found = signs(np.full(CORRELATIONS.shape, h), np.full(CORRELATIONS.shape, k), CORRELATIONS)
        expected = np.array([reference_signs(h, k, correlation) for correlation in CORRELATIONS])
        np.testing.assert_allclose(found, expected, rtol=0, atol=4e-14, err_msg=f"at {h}, {k}")


def test_perfect_correlation_with_distant_levels() -> None:
    """Levels far apart on a line, as a singular covariance with a large mean has them: certain, not 0 · ∞."""
    levels = [(39.0, -39.0), (-39.0, 39.0), (40.0, 40.0), (-60.0, 60.0), (100.0, -20.0)]
    for correlation in (1.0, -1.0):
        for h, k in levels:
            found = signs(jnp.asarray(h), jnp.asarray(k), jnp.asarray(correlation))
            expected = reference_signs(h, k, correlation)
            np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=f"at {h}, {k}, {correlation}")


def test_the_mean_of_signs_has_its_symmetries() -> None:
    """It is symmetric, changes its sign with one of the numbers, and not with both."""
    rng = np.random.default_rng(0)
    h, k = rng.normal(size=(2, 400))
    correlation = np.tanh(3 * rng.normal(size=400))
    both = np.asarray(signs(h, k, correlation))
    np.testing.assert_allclose(signs(k, h, correlation), both, rtol=0, atol=2e-15)
    np.testing.assert_allclose(signs(-h, -k, correlation), both, rtol=0, atol=2e-15)
    for turned in (signs(-h, k, -correlation), signs(h, -k, -correlation)):
        np.testing.assert_allclose(turned, -both, rtol=0, atol=2e-15)


def test_the_derivatives_of_the_mean_of_signs_agree_with_differences() -> None:
    """First derivatives equal central differences of the value, second ones those of the first."""
    rng = np.random.default_rng(1)
    h, k = rng.normal(size=(2, 60))
    correlation = rng.uniform(-0.97, 0.97, size=60)
    points = jnp.asarray(np.stack([h, k, correlation], axis=1))
    value = jax.jit(jax.vmap(lambda p: signs(*p)))
    gradient = jax.jit(jax.vmap(jax.grad(lambda p: signs(*p))))
    hessian = jax.jit(jax.vmap(jax.jacfwd(jax.grad(lambda p: signs(*p)))))(points)
    step = 1e-4
    for axis in range(3):
        shift = step * np.eye(3)[axis]
        slopes = (
            8 * (value(points + shift) - value(points - shift)) - value(points + 2 * shift) + value(points - 2 * shift)
        ) / (12 * step)
        # Rounding of the value over the step leaves about 1e-12.
        np.testing.assert_allclose(gradient(points)[:, axis], slopes, atol=5e-11)
        turns = (
            8 * (gradient(points + shift) - gradient(points - shift))
            - gradient(points + 2 * shift)
            + gradient(points - 2 * shift)
        ) / (12 * step)
        # Fourth-order differences of a density whose scale is down to 1 - 0.97²: hence relative to its size.
        np.testing.assert_allclose(hessian[:, :, axis], turns, rtol=1e-7, atol=1e-8)


def test_the_derivatives_of_the_mean_of_signs_have_their_limits_at_perfect_correlation() -> None:
    """At correlation ±1 the derivative in h is 2φ(h) times minus one, zero or one."""
    h = jnp.array([0.3, 0.3, 0.3, 0.3])
    k = jnp.array([1.0, 0.3, -1.0, -0.3])
    correlation = jnp.array([1.0, 1.0, 1.0, -1.0])
    by_h = jax.jit(jax.vmap(jax.grad(signs)))(h, k, correlation)
    density = np.exp(-0.045) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(by_h, 2 * density * np.array([1.0, 0.0, -1.0, 0.0]), atol=4e-16)


def test_safe_functions_are_defined_with_their_derivatives_at_zero() -> None:
    """Quotient and root give zero or their limit, with zero derivatives, where the plain ones are singular."""
    zero = jnp.zeros(())
    assert quotient(jnp.ones(()), zero) == 0
    assert jax.grad(quotient, argnums=1)(jnp.ones(()), zero) == 0
    assert root(zero) == 0
    assert jax.grad(root)(zero) == 0


@pytest.mark.parametrize("dimension", [1, 2, 3, 7, 8, 9, 20, 200])
def test_norms_and_unit_vectors_in_numpy_are_bit_for_bit_those_of_the_general_formula(dimension: int) -> None:
    """Where no vector of a batch has to be balanced, and where one is zero, tiny, huge or not a number."""
    usual = np.random.default_rng(dimension).normal(size=(4, 5, dimension))
    for size in (1.0, 0.0, 5e-324, 1e-300, 1e-140, 1e140, 1e300, np.inf, np.nan):
        vectors = usual.copy()
        vectors[1, 2] = size
        for batch in (vectors, np.swapaxes(vectors, 0, 1), vectors[:0], vectors[1, 2]):
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(norms._norms_at_once(batch), norms._norms(np, batch))
                np.testing.assert_array_equal(norms._unit_vectors_at_once(batch), norms._unit_vectors(np, batch))
