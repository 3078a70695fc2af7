"""Every ordered pair of activations under every Gaussian law: the value and gradient of quadrature, or a refusal."""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np
import pytest
from plane_quadrature import all_pairs, plane_rule
from transcriptions import TRANSCRIPTIONS

from tutelage import activations, duals, inputs
from tutelage.duals.quadrature import Integrated
from tutelage.errors import UnsupportedCombination

NAMES = activations.names()
LAWS = [name for name in inputs.registry() if name.startswith("gaussian")]
QUADRATURE = duals.Quadrature(tolerance=1e-10)

_ROWS = np.random.default_rng(0).normal(size=(6, 3))
_UNITS = _ROWS / np.linalg.norm(_ROWS, axis=1, keepdims=True)
# Among the 36 pairs: random, coincident, parallel, antiparallel, orthogonal, tiny, large and zero vectors.
FIRST = np.stack([_UNITS[0], 1.3 * _UNITS[1], np.zeros(3), 1e-6 * _UNITS[2], 2.5 * _UNITS[3], [1.0, 0.0, 0.0]])
SECOND = np.stack([_UNITS[0], -1.7 * _UNITS[1], np.zeros(3), [0.0, 1.0, 0.0], 0.4 * _UNITS[3], _UNITS[5]])
WEIGHTS = np.random.default_rng(1).normal(size=(6, 6))
# Slopes of a jump grow like one over the norm, and rounding with them.
SLOPES = 1 + 1 / np.maximum(np.linalg.norm(FIRST, axis=1), 1e-6)


def kernel(sigma: str, tau: str, law: str) -> duals.Kernel | None:
    """The library's dual, or None after a refusal that names both activations and the law."""
    distribution = inputs.registry()[law](3)
    try:
        return duals.kernel(activations.get(sigma), activations.get(tau), distribution, QUADRATURE)
    except UnsupportedCombination as refusal:
        assert all(part in str(refusal) for part in (sigma, tau, distribution.name))  # noqa: PT017
        return None


@functools.cache
def expected(law: str) -> tuple[np.ndarray, np.ndarray]:
    """Values `[σ, τ, first, second]` and gradients `[σ, τ, first, second, dim]` by quadrature."""
    distribution = inputs.registry()[law](3)
    mean, factor = np.asarray(distribution.mean()), np.linalg.cholesky(np.asarray(distribution.covariance()))
    written = {name: TRANSCRIPTIONS[name] for name in NAMES}
    slopes_at_zero = {name: float(activations.get(name).derivative(jnp.zeros(()))) for name in NAMES}
    values, gradients = np.zeros((6, 6, len(NAMES), len(NAMES))), np.zeros((6, 6, len(NAMES), len(NAMES), 3))
    for i, first in enumerate(FIRST):
        for j, second in enumerate(SECOND):
            rule = plane_rule(first, second, mean, factor)
            values[i, j], gradients[i, j] = all_pairs(rule, written, slopes_at_zero)
    return np.moveaxis(values, (2, 3), (0, 1)), np.moveaxis(gradients, (2, 3), (0, 1))


@pytest.mark.parametrize("sigma", NAMES)
@pytest.mark.parametrize("law", LAWS)
def test_values_and_gradients_agree_with_quadrature(law: str, sigma: str) -> None:
    """Closed forms of E[σ(u)τ(v)] and its gradient in w, for all τ, at random and degenerate pairs of vectors."""
    values, gradients = expected(law)
    for tau in NAMES:
        dual = kernel(sigma, tau, law)
        if dual is None or isinstance(dual, Integrated):
            continue
        s, t = NAMES.index(sigma), NAMES.index(tau)
        gram = dual.gram(jnp.asarray(FIRST), jnp.asarray(SECOND))
        assert gram.dtype == jnp.float64
        np.testing.assert_allclose(gram, values[s, t], rtol=0, atol=1e-12, err_msg=f"value with {tau}")
        if law == "gaussian_shifted" and tau != sigma:
            continue  # gradients with a mean are slow to trace; all of them are taken under gaussian_general
        pull = np.asarray(dual.pull(jnp.asarray(FIRST), jnp.asarray(SECOND), jnp.asarray(WEIGHTS)))
        wanted = np.einsum("ij,ijk->ik", WEIGHTS, gradients[s, t])
        error = np.abs(pull - wanted).max(axis=1)
        assert np.all(error <= 3e-12 * SLOPES), f"gradient with {tau}: {error}"


@pytest.mark.parametrize("sigma", ["erf", "tanh", "sigmoid", "softplus", "gelu"])
def test_integrated_duals_agree_with_quadrature(sigma: str) -> None:
    """Duals by the trapezoidal rule: values with all τ, gradients with itself and one other."""
    values, gradients = expected("gaussian_general")
    first, second, weights = jnp.asarray(FIRST), jnp.asarray(SECOND), jnp.asarray(WEIGHTS)
    s = NAMES.index(sigma)
    for tau in NAMES:
        dual = kernel(sigma, tau, "gaussian_general")
        if not isinstance(dual, Integrated):
            continue
        t = NAMES.index(tau)
        # The tolerance of the quadrature.
        np.testing.assert_allclose(dual.gram(first, second), values[s, t], rtol=0, atol=1e-10, err_msg=tau)
        if tau in (sigma, "cosine"):
            wanted = np.einsum("ij,ijk->ik", weights, gradients[s, t])
            np.testing.assert_allclose(dual.pull(first, second, weights), wanted, rtol=0, atol=5e-10, err_msg=tau)


@pytest.mark.parametrize("law", LAWS)
def test_the_pairs_that_are_refused_are_the_known_ones(law: str) -> None:
    """Refusals are symmetric, and no pair that the library must know is refused."""
    closed = ("relu", "leaky_relu", "abs", "linear", "sign", "step", "quadratic")
    smooth = [name for name in NAMES if activations.get(name).strip is not None]
    for sigma in NAMES:
        for tau in NAMES:
            found = kernel(sigma, tau, law)
            assert (found is None) == (kernel(tau, sigma, law) is None)
            if sigma == tau or (sigma in closed and tau in closed) or (sigma in smooth and tau in smooth):
                assert found is not None, f"{sigma} with {tau}"
    assert kernel("relu", "tanh", law) is None


@pytest.mark.parametrize("law", ["gaussian", "gaussian_general"])
def test_duals_are_symmetric_under_exchange(law: str) -> None:
    """K_στ(w, v) = K_τσ(v, w) to rounding, from the two orders of the dispatcher."""
    first, second = jnp.asarray(FIRST), jnp.asarray(SECOND)
    for s, sigma in enumerate(NAMES):
        for tau in NAMES[s + 1 :]:
            dual, other = kernel(sigma, tau, law), kernel(tau, sigma, law)
            if dual is None or other is None or isinstance(dual, Integrated):
                continue
            np.testing.assert_allclose(
                dual.gram(first, second), other.gram(second, first).T, rtol=0, atol=1e-14, err_msg=f"{sigma}, {tau}"
            )
