"""Polynomials of any degree: closed forms against Gauss–Hermite rules, which are exact for them, and identities."""

import numpy as np
import pytest

import tutelage as tl
from tutelage.activations import Polynomial, hermite, monomial
from tutelage.duals import kernel

NODES, MASSES = np.polynomial.hermite_e.hermegauss(30)
PLANE = np.stack(np.meshgrid(NODES, NODES, indexing="ij"), axis=-1).reshape(-1, 2)
SHARES = np.outer(MASSES, MASSES).ravel() / (2 * np.pi)
MEAN, FACTOR = np.array([0.4, -0.3]), np.array([[1.1, 0.0], [0.3, 0.6]])
SHIFTED = tl.inputs.gaussian(2, MEAN, FACTOR @ FACTOR.T)
# Among the pairs: general, coincident, opposite, and constant neurons (zero vectors with a bias).
FIRST = np.array([[0.7, -0.4, 0.3], [0.5, 0.5, -0.2], [0.0, 0.0, 0.9], [0.0, 0.0, 0.0]])
SECOND = np.array([[0.7, -0.4, 0.3], [-0.5, -0.5, 0.2], [0.0, 0.0, -0.4]])
PAIRS = [
    ("monomial-3", "monomial-3"),
    ("hermite-5", "hermite-4"),
    ("monomial-4", "linear"),
    (Polynomial("mixed", [0.2, -1.0, 0.0, 0.3]), "quadratic"),
    ("hermite-8", tl.activations.get("hermite-1")),
]


@pytest.mark.parametrize(("sigma", "tau"), PAIRS)
@pytest.mark.parametrize("law", [tl.inputs.gaussian(2), SHIFTED], ids=["standard", "general"])
def test_values_and_gradients(sigma, tau, law) -> None:
    """With biases, to rounding: values, and gradients weighted over the second vectors."""
    inputs = PLANE if law is not SHIFTED else PLANE @ FACTOR.T + MEAN
    inputs = np.pad(inputs, ((0, 0), (0, 1)), constant_values=1.0)
    dual, one, other = kernel(sigma, tau, law, biased=True), tl.activations.get(sigma), tl.activations.get(tau)
    u, v = inputs @ FIRST.T, inputs @ SECOND.T
    wanted = (SHARES[:, None] * np.asarray(one(u))).T @ np.asarray(other(v))
    np.testing.assert_allclose(dual.gram(FIRST, SECOND), wanted, rtol=1e-12, atol=1e-12)
    weights = np.random.default_rng(0).normal(size=(4, 3))
    slopes = SHARES[:, None] * np.asarray(one.derivative(u)) * (np.asarray(other(v)) @ weights.T)
    np.testing.assert_allclose(dual.pull(FIRST, SECOND, weights), slopes.T @ inputs, rtol=1e-12, atol=1e-12)


def test_hermite_polynomials_are_orthonormal() -> None:
    """Of standard normal numbers with correlation ρ the dual is ρ^p for equal degrees, else zero."""
    unit = np.array([[1.0, 0.0]]), np.array([[0.6, 0.8]])
    for p in (1, 3, 6):
        for q in (3, 6):
            found = float(kernel(hermite(p), hermite(q), tl.inputs.gaussian(2)).gram(*unit)[0, 0])
            assert abs(found - (0.6**p if p == q else 0.0)) < 1e-13


def test_spherical_laws_enter_through_radial_moments() -> None:
    """On a circle of radius √2, E[(x·w)³(x·v)³] is a mean over angles; so is that of a sum of powers."""
    angles = 2 * np.pi * np.arange(64) / 64
    circle = np.sqrt(2) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    w, v = np.array([[0.7, -0.4]]), np.array([[0.3, 0.5]])
    law = tl.inputs.sphere(2, radius=np.sqrt(2))
    for name in ("monomial-3", "hermite-4"):
        function = tl.activations.get(name)
        wanted = np.mean(np.asarray(function(circle @ w[0])) * np.asarray(function(circle @ v[0])))
        np.testing.assert_allclose(kernel(name, name, law).gram(w, v), [[wanted]], rtol=1e-12)


def test_waves_and_affine_functions_with_biases_under_a_box() -> None:
    """A bias turns the characteristic function, and is the weight of an input that is always one."""
    nodes, masses = np.polynomial.legendre.leggauss(40)
    inputs = np.stack([*(grid.ravel() for grid in np.meshgrid(nodes, nodes)), np.ones(1600)], axis=1)
    shares = np.outer(masses, masses).ravel() / 4
    law = tl.inputs.uniform_box(2)
    for name in ("cosine", "sine", "linear"):
        function = tl.activations.get(name)
        u, v = np.asarray(function(inputs @ FIRST.T)), np.asarray(function(inputs @ SECOND.T))
        dual = kernel(name, name, law, biased=True)
        np.testing.assert_allclose(dual.gram(FIRST, SECOND), (shares[:, None] * u).T @ v, atol=1e-13)


def test_what_is_known_of_them() -> None:
    """Degree, symmetry and direction follow from the coefficients; names have a degree."""
    cube, even = monomial(3), tl.activations.get("hermite-4")
    assert (cube.homogeneity, cube.parity, cube.monotone) == (3, "odd", True)
    assert (even.homogeneity, even.parity, even.monotone) == (None, "even", False)
    assert not hermite(3).monotone and Polynomial("line", [1.0, 2.0]).lipschitz == 2.0
    assert tl.activations.get("monomial-2").elements == tl.activations.get("quadratic").elements


@pytest.mark.parametrize("name", ["hermite-0", "monomial-21", "monomial-", "hermite-x", "hermite-1000000000000"])
def test_wrong_degrees_are_refused(name: str) -> None:
    """One sentence, whatever the degree."""
    with pytest.raises(tl.InvalidArgument, match="degree"):
        tl.activations.get(name)


def test_wrong_coefficients_are_refused() -> None:
    """None, only zeros, or too many."""
    for coefficients in ([], [0.0], np.ones(30), "abc", [np.inf]):
        with pytest.raises(tl.InvalidArgument, match="coefficients"):
            Polynomial("wrong", coefficients)
