"""Duals by quadrature: as accurate as asked wherever they reach, with an honest estimate of the error beyond."""

from __future__ import annotations

import math
from functools import partial

import jax
import numpy as np
import pytest

from tutelage import activations, duals, inputs
from tutelage.duals.gaussian import GaussianPair
from tutelage.duals.quadrature import Integrated
from tutelage.errors import InvalidArgument
from tutelage.instant import evaluated

TOLERANCE = 1e-5
DIRECTION = np.array([0.6, 0.8])
PAIRS = [
    ("tanh", "tanh"),
    ("sigmoid", "softplus"),
    ("softplus", "gelu"),
    ("gelu", "gelu"),
    ("erf", "tanh"),
    ("tanh", "quadratic"),
]


def rules(sigma: str, tau: str, law, tolerance: float) -> tuple[Integrated, Integrated]:
    """The dual with a tolerance, and with steps half as long."""
    dual = duals.kernel(activations.get(sigma), activations.get(tau), law, duals.Quadrature(tolerance))
    assert isinstance(dual, Integrated)
    return dual, Integrated(dual.frame, dual.sigma, dual.tau, dual.rule._replace(stretch=0.5))


@pytest.mark.parametrize(("sigma", "tau"), PAIRS)
def test_the_error_is_within_the_tolerance_and_the_estimate_is_honest(sigma: str, tau: str) -> None:
    """Against a rule twice as fine, at norms from a hundredth on, also beyond the reach."""
    dual, finer = rules(sigma, tau, inputs.gaussian(2, mean=[0.27, -0.21]), TOLERANCE)
    reach = dual.rule.reach
    sizes = np.array([0.01, 0.2, 1.0, 4.0, min(3 * reach, 400.0)])
    points, others = sizes[:, None] * DIRECTION, np.array([[0.8, 0.0], [-1.0, 0.3]])
    exact = np.asarray(finer.gram(points, others))
    errors, estimates = np.abs(dual.gram(points, others) - exact), np.asarray(dual.error_estimate(points, others))
    # Sums over a quarter of a million nodes: rounding of a few units in the fourteenth place.
    rounding = 1e-14 * np.maximum(1.0, np.abs(exact))
    assert (errors[:4] <= TOLERANCE).all() and (estimates[:4] <= 2 * TOLERANCE).all()
    assert (errors <= estimates + rounding).all()


@pytest.mark.parametrize(("sigma", "tau", "tolerance"), [*((*pair, 1e-10) for pair in PAIRS), ("tanh", "tanh", 1e-5)])
def test_all_derivatives_have_the_tolerance(sigma: str, tau: str, tolerance: float) -> None:
    """Moments of value, gradient and Hessian at random pairs, parallel and opposite ones among them, of many norms."""
    dual, finer = rules(sigma, tau, inputs.gaussian(2, mean=[0.27, -0.21]), tolerance)
    random = np.random.default_rng(0)
    first, second = np.exp(random.uniform(np.log(0.02), np.log(3), size=(2, 12)))
    cosine = np.concatenate([[1, -1, 1 - 1e-12, 1e-12 - 1], np.cos(random.uniform(0, np.pi, 8))])
    means = random.normal(size=(2, 12)) * [first, second]
    pair = GaussianPair(*means, first**2, second**2, cosine * first * second)
    for order in (0, 2, 4):
        orders = tuple((i, order - i) for i in range(order + 1))
        found, exact = (np.array(evaluated(one._moments, orders, pair)) for one in (dual, finer))
        np.testing.assert_allclose(found, exact, rtol=1e-13, atol=tolerance)


def test_what_is_no_number_is_none() -> None:
    """A student that has diverged has no loss, at once and compiled."""
    tanh = activations.get("tanh")
    dual = duals.kernel(tanh, tanh, inputs.gaussian(2), duals.Quadrature())
    rows = np.array([[np.nan, 1.0], [1.0, 1.0]])
    for gram in (partial(evaluated, dual._gram), jax.jit(dual._gram)):
        integrals = gram(rows, DIRECTION[None])
        assert np.isnan(np.asarray(integrals)).tolist() == [[True], [False]]


@pytest.mark.parametrize("pairs", [1, 17, 18, 19, 37])
def test_compiled_in_groups_of_any_number_of_pairs(pairs: int) -> None:
    """Compiled programs integrate some pairs and nodes at a time: none is left out, and none counts twice."""
    dual = duals.kernel(activations.get("tanh"), activations.get("tanh"), inputs.gaussian(2))
    points = np.random.default_rng(pairs).normal(size=(pairs, 2))
    one_by_one = np.concatenate([dual.gram(point[None], DIRECTION[None]) for point in points])
    np.testing.assert_allclose(jax.jit(dual.gram)(points, DIRECTION[None]), one_by_one, rtol=1e-13, atol=1e-15)


def test_a_closed_form_has_no_error_estimate() -> None:
    """Zero beyond rounding, for closed forms and sums of them."""
    for name in ("relu", "step", "erf", "cosine"):
        activation = activations.get(name)
        dual = duals.kernel(activation, activation, inputs.gaussian(2), duals.Quadrature())
        np.testing.assert_array_equal(dual.error_estimate(np.eye(2), DIRECTION[None]), 0.0)


def test_a_custom_activation_is_integrated_if_it_says_where_it_is_analytic() -> None:
    """A cube with an infinite strip has its polynomial moments; without a strip it is refused by name."""
    cube = activations.Custom("cube", lambda z: z**3, strip=math.inf)
    dual = duals.kernel(cube, cube, inputs.gaussian(2), duals.Quadrature())
    w, v = np.array([0.6, 0.8]), np.array([1.0, -0.5])
    a, b, c = w @ w, v @ v, w @ v
    found = dual.gram(w[None], v[None])
    np.testing.assert_allclose(found, 6 * c**3 + 9 * a * b * c, rtol=1e-12)
    with pytest.raises(NotImplementedError, match="mine"):
        duals.kernel(activations.Custom("mine", lambda z: z**3), cube, inputs.gaussian(2), duals.Quadrature())


@pytest.mark.parametrize("value", [0.0, 100.0, math.nan])
def test_bad_tolerances_are_named(value: float) -> None:
    """A tolerance that is not between zero and one."""
    with pytest.raises(InvalidArgument, match=f"^`tolerance` must .*{value}"):
        duals.Quadrature(value)
