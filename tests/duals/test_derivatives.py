"""Second derivatives of the duals: symmetric, and the finite differences of the gradients."""

from __future__ import annotations

import differences
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage import activations, duals, inputs
from tutelage.activations.base import Element, ElementKind
from tutelage.duals.elementary import DEGREES, WAVES, Elementary
from tutelage.duals.gaussian import Frame, GaussianPair
from tutelage.duals.quadrature import Integrated
from tutelage.duals.waves import GaussianWaves
from tutelage.errors import UnsupportedCombination
from tutelage.instant import instantly

NAMES = activations.names()
QUADRATURE = duals.Quadrature(tolerance=1e-10)
_RNG = np.random.default_rng(2)
# First rows, then second rows: norms of order one and angles far from 0 and π, where differences are accurate.
POINT = np.array([[1.1, 0.3, -0.4], [-0.2, 0.9, 0.8], [0.4, -1.0, 0.7], [0.9, 0.8, 0.6]])
DIRECTION, OTHER = _RNG.normal(size=(2, 4, 3)) / 2
WEIGHTS = _RNG.normal(size=(2, 2))


def pairs(integrated: bool, law: str) -> list[tuple[str, str]]:
    """The unordered pairs with a dual, closed or by quadrature."""
    found = []
    for s, sigma in enumerate(NAMES):
        for tau in NAMES[s:]:
            try:
                dual = duals.kernel(activations.get(sigma), activations.get(tau), inputs.registry()[law](3), QUADRATURE)
            except UnsupportedCombination:
                continue
            if isinstance(dual, Integrated) == integrated:
                found.append((sigma, tau))
    return found


def evaluate_sum(dual: duals.Dual, points, weights):
    """F(W, V) = Σ C_ij K(w_i, v_j) and its gradient for a batch of points, all in one call of the kernels.

    The weights of the batch are block-diagonal: points do not see each other.
    """
    batch = points.shape[0]
    first, second = points[:, :2].reshape(-1, 3), points[:, 2:].reshape(-1, 3)
    blocks = np.kron(np.eye(batch), weights)
    value = (blocks * dual.forward.gram(first, second)).reshape(batch, 2, -1).sum(axis=(1, 2))
    by_first = dual.forward.pull(first, second, blocks).reshape(batch, 2, 3)
    by_second = dual.backward.pull(second, first, blocks.T).reshape(batch, 2, 3)
    return value, np.concatenate([by_first, by_second], axis=1)


def check(sigma: str, tau: str, law: str, tolerance: float) -> None:
    """Gradient and Hessian of F: the differences of values and of gradients, and a symmetric Hessian."""
    distribution = inputs.registry()[law](3)
    dual = duals.dual(activations.get(sigma), activations.get(tau), distribution, QUADRATURE)
    values, gradients = evaluate_sum(dual, differences.stencil(POINT, DIRECTION), WEIGHTS)

    @instantly
    def linearized(dual, point, direction, other, weights):
        def gradient(point):
            first, second = point[:2], point[2:]
            by_second = dual.backward.pull(second, first, weights.T)
            return jnp.concatenate([dual.forward.pull(first, second, weights), by_second])

        found, product = jax.linearize(gradient, point)
        return found, product(direction), product(other)

    found, along, other = linearized(dual, POINT, DIRECTION, OTHER, WEIGHTS)
    expected = differences.combine(values)
    scale = max(1.0, np.abs(expected))
    assert np.sum(found * DIRECTION) == pytest.approx(expected, abs=tolerance * scale)
    scale = max(1.0, np.abs(along).max())
    assert np.sum(along * OTHER) == pytest.approx(np.sum(other * DIRECTION), abs=1e-11 * scale)
    np.testing.assert_allclose(along, differences.combine(gradients), rtol=0, atol=tolerance * scale)


# ReLU, leaky ReLU and step are sums of elementary functions and add no closed form of their own.
SUMS = {"relu", "leaky_relu", "step"}
CENTRED = [pair for pair in pairs(integrated=False, law="gaussian") if not SUMS & {*pair}]


@pytest.mark.parametrize(("sigma", "tau"), [*CENTRED, ("relu", "relu"), ("relu", "step")])
def test_derivatives_under_the_standard_gaussian(sigma: str, tau: str) -> None:
    """Closed forms, centred: gradient and Hessian of K in (w, v) are differences of value and gradient."""
    check(sigma, tau, "gaussian", 1e-9)


@pytest.mark.parametrize(
    ("sigma", "tau"),
    [
        ("abs", "abs"),
        ("abs", "sign"),
        ("sign", "sign"),
        ("abs", "quadratic"),
        ("linear", "sign"),
        ("erf", "quadratic"),
        ("cosine", "sine"),
        ("relu", "step"),
    ],
)
def test_derivatives_under_a_gaussian_with_mean_and_covariance(sigma: str, tau: str) -> None:
    """Each closed form with a mean, under a covariance as well: the same."""
    check(sigma, tau, "gaussian_general", 1e-9)


@pytest.mark.parametrize(("sigma", "tau"), [("tanh", "tanh"), ("gelu", "linear")])
def test_derivatives_by_quadrature(sigma: str, tau: str) -> None:
    """Integrated duals, whose derivatives are moments of higher order; their own tolerance is 1e-10."""
    check(sigma, tau, "gaussian_general", 2e-9)


@pytest.mark.parametrize(("law", "name"), [("gaussian", "relu"), ("gaussian", "sign")])
def test_a_dual_is_a_differentiable_function_of_two_vectors(law: str, name: str) -> None:
    """`Dual` under `jax.grad` and `jax.jacfwd` is the kernel's own; `own` is the dual of a vector with itself."""
    activation = activations.get(name)
    dual = duals.dual(activation, activation, inputs.registry()[law](3), QUADRATURE)
    w, v = jnp.asarray(POINT[0]), jnp.asarray(POINT[3])

    @jax.jit
    def evaluate(w, v):
        gradient = jax.grad(dual, argnums=(0, 1))
        return dual(w, v), gradient(w, v), jax.jacfwd(gradient, argnums=(0, 1))(w, v), jax.value_and_grad(dual.own)(w)

    value, gradient, hessian, (own, own_gradient) = evaluate(w, v)
    pull = dual.forward.pull(w[None], v[None], jnp.ones((1, 1)))[0]
    np.testing.assert_allclose(gradient[0], pull, rtol=1e-13)
    np.testing.assert_allclose(hessian[0][1], hessian[1][0].T, atol=1e-12)
    np.testing.assert_allclose(hessian[0][0], hessian[0][0].T, atol=1e-12)
    np.testing.assert_allclose(value, dual.backward.gram(v[None], w[None])[0, 0], rtol=1e-13)
    # K(w, w) is E[σ²], whose gradient the dual has as the limit v → w. The sign's is constant.
    near = jnp.asarray(np.asarray(w) * (1 + 1e-9))
    assert float(own) == pytest.approx(float(dual(w, near)), abs=3e-9)
    expected = np.zeros(3) if name == "sign" else 2 * dual.forward.pull(w[None], near[None], jnp.ones((1, 1)))[0]
    np.testing.assert_allclose(own_gradient, expected, atol=1e-8)


# Every closed form that is written out, and one or two of each rule.
BOTH: list[tuple[ElementKind, ElementKind]] = [
    ("sign", "sign"),
    ("absolute", "absolute"),
    ("cosine", "cosine"),
    ("sine", "sine"),
    ("identity", "erf"),
    ("square", "absolute"),
    ("square", "cosine"),
]
SHIFTED: list[tuple[ElementKind, ElementKind]] = [
    ("sign", "absolute"),
    ("sine", "cosine"),
    ("one", "sign"),
    ("square", "erf"),
]
CENTRED_ONLY: list[tuple[ElementKind, ElementKind]] = [("erf", "erf"), ("sign", "erf")]
FORMS = [
    *((*pair, centred) for pair in BOTH for centred in (True, False)),
    *((*pair, False) for pair in SHIFTED),
    *((*pair, True) for pair in CENTRED_ONLY),
]


@pytest.mark.parametrize(("first", "second", "centred"), FORMS)
def test_closed_forms_obey_the_heat_equation(first: ElementKind, second: ElementKind, centred: bool) -> None:
    """∂²k/∂c² = 4 ∂²k/∂a∂b, and with means ∂k/∂a = ½ ∂²k/∂μ², ∂k/∂c = ∂²k/∂μ∂ν: Price's theorem."""
    # Vectors in the plane, and a third coordinate that is constant: the pair's means.
    law = Frame(None if centred else np.eye(3)[2], np.eye(3)[:, :2])
    dual = GaussianWaves if first in WAVES and second in WAVES else Elementary
    kernel = dual(law, np.ones(()), Element(1.0, first), Element(1.0, second))

    def form(pair: GaussianPair):
        mu, nu, a, b, c = pair
        one, other = jnp.stack([jnp.sqrt(a), 0 * a, mu]), jnp.stack([c / jnp.sqrt(a), jnp.sqrt(b - c * c / a), nu])
        return kernel.gram(one[None], other[None])[0, 0]

    mu, nu = (0.0, 0.0) if centred else (0.4, -0.7)
    pair = GaussianPair(*map(np.asarray, (mu, nu, 1.3, 0.8, 0.35)))

    # All second derivatives that are asked for, and on the way to them the first ones and the value, in one program.
    seconds = [("c", "c"), ("a", "b"), ("a", "c"), ("c", "a"), ("mu", "mu"), ("nu", "nu"), ("mu", "nu"), ("b", "a")]

    def direction(field: str):
        return [float(name == field) for name in GaussianPair._fields]

    @instantly
    def evaluated(pair, inner, outer):
        def twice(inner, outer):
            def once(pair):
                return jax.jvp(form, (pair,), (GaussianPair(*inner),))

            return jax.jvp(once, (pair,), (GaussianPair(*outer),))

        return jax.vmap(twice)(inner, outer)

    inner, outer = (np.array([direction(fields[place]) for fields in seconds]) for place in (0, 1))
    (values, firsts), (_, found) = evaluated(pair, inner, outer)
    derivatives = {(): values[0]}
    derivatives |= {fields[:1]: first for fields, first in zip(seconds, firsts, strict=True)}
    derivatives |= dict(zip(seconds, found, strict=True))

    def evaluate(*fields: str) -> float:
        return float(derivatives[fields])

    assert evaluate("c", "c") == pytest.approx(4 * evaluate("a", "b"), abs=1e-12)
    assert evaluate("a", "c") == pytest.approx(evaluate("c", "a"), abs=1e-13)
    if not centred:
        assert evaluate("a") == pytest.approx(0.5 * evaluate("mu", "mu"), abs=1e-12)
        assert evaluate("b") == pytest.approx(0.5 * evaluate("nu", "nu"), abs=1e-12)
        assert evaluate("c") == pytest.approx(evaluate("mu", "nu"), abs=1e-12)
    if centred and first in DEGREES and second in DEGREES:
        # Euler's identity for homogeneous functions, in the scale of the first argument.
        euler = 2 * 1.3 * evaluate("a") + 0.35 * evaluate("c")
        assert euler == pytest.approx(DEGREES[first] * evaluate(), abs=1e-12)
