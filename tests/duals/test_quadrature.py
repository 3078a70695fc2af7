"""Duals by quadrature: as accurate as asked up to the radius, with an honest estimate of the error beyond it."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutelage import activations, duals, inputs
from tutelage.duals.quadrature import Integrated
from tutelage.errors import InvalidArgument

RADIUS = 4.0
DIRECTION = np.array([0.6, 0.8])
WITHIN = jnp.asarray(np.stack([0.5 * DIRECTION, 2 * DIRECTION, RADIUS * DIRECTION, [0.0, RADIUS], [-3.0, 2.6]]))
BEYOND = jnp.asarray(np.array([[6.0], [10.0], [20.0]]) * DIRECTION)
WITH = jnp.asarray(np.stack([RADIUS * DIRECTION, [RADIUS, 0.0], [-1.0, 0.3]]))
PAIRS = [
    ("tanh", "tanh"),
    ("sigmoid", "softplus"),
    ("softplus", "gelu"),
    ("gelu", "gelu"),
    ("erf", "tanh"),
    ("tanh", "quadratic"),
]


@pytest.mark.parametrize(("sigma", "tau"), PAIRS)
def test_the_error_is_within_the_tolerance_and_the_estimate_is_honest(sigma: str, tau: str) -> None:
    """Against a rule four times as fine: 1e-10 up to the radius; the estimate bounds the error and is not idle."""
    law = inputs.gaussian(2, mean=[0.27, -0.21])
    dual = duals.kernel(activations.get(sigma), activations.get(tau), law, duals.Quadrature(1e-10, RADIUS))
    assert isinstance(dual, Integrated)
    finer = Integrated(dual.frame, dual.sigma, dual.tau, dual.rule._replace(strip=0.0, finest=dual.rule.finest / 4))
    points = jnp.concatenate([WITHIN, BEYOND])
    errors = np.abs(np.asarray(dual.gram(points, WITH) - finer.gram(points, WITH)))
    estimates = np.asarray(dual.error_estimate(points, WITH))
    within = len(WITHIN)
    scale = np.maximum(1.0, np.abs(np.asarray(finer.gram(points, WITH))))
    # Sums over a quarter of a million nodes: rounding of a few units in the fourteenth place.
    assert errors[:within].max() <= 1e-10
    assert np.all(errors <= estimates + 1e-14 * scale)
    # Not idle: within the tolerance up to the radius, and no vacuous bound beyond it.
    assert estimates[:within].max() <= 2e-10
    assert estimates[within:].max() <= 1e4 * max(errors[within:].max(), 1e-12)
    assert estimates[within:, 0].max() > 1e-8, "twenty times the unit is far beyond the radius: it must show"


@pytest.mark.parametrize("pairs", [1, 17, 18, 19, 37])
def test_compiled_in_groups_of_any_number_of_pairs(pairs: int) -> None:
    """Compiled programs integrate some pairs and nodes at a time: none is left out, and none counts twice."""
    dual = duals.kernel(activations.get("tanh"), activations.get("tanh"), inputs.gaussian(2))
    points = np.random.default_rng(pairs).normal(size=(pairs, 2))
    one_by_one = np.concatenate([dual.gram(point[None], WITH[:1]) for point in points])
    np.testing.assert_allclose(jax.jit(dual.gram)(points, WITH[:1]), one_by_one, rtol=1e-13, atol=1e-15)


def test_a_closed_form_has_no_error_estimate() -> None:
    """Zero beyond rounding, for closed forms and sums of them."""
    for name in ("relu", "step", "erf", "cosine"):
        activation = activations.get(name)
        dual = duals.kernel(activation, activation, inputs.gaussian(2), duals.Quadrature())
        np.testing.assert_array_equal(dual.error_estimate(WITHIN, WITH), 0.0)


def test_a_custom_activation_is_integrated_if_it_says_where_it_is_analytic() -> None:
    """A cube with an infinite strip has its polynomial moments; without a strip it is refused by name."""
    cube = activations.Custom("cube", lambda z: z**3, strip=math.inf)
    dual = duals.kernel(cube, cube, inputs.gaussian(2), duals.Quadrature())
    w, v = np.array([0.6, 0.8]), np.array([1.0, -0.5])
    a, b, c = w @ w, v @ v, w @ v
    found = dual.gram(jnp.asarray(w[None]), jnp.asarray(v[None]))
    np.testing.assert_allclose(found, 6 * c**3 + 9 * a * b * c, rtol=1e-12)
    with pytest.raises(NotImplementedError, match="mine"):
        duals.kernel(activations.Custom("mine", lambda z: z**3), cube, inputs.gaussian(2), duals.Quadrature())


@pytest.mark.parametrize(
    ("argument", "value"),
    [("tolerance", 0.0), ("tolerance", 100.0), ("tolerance", math.nan), ("radius", -1.0), ("radius", math.inf)],
)
def test_bad_settings_are_named(argument: str, value: float) -> None:
    """A tolerance or radius that is not positive and finite, and one that needs too many nodes."""
    with pytest.raises(InvalidArgument, match=f"^`{argument}` must .*{value}"):
        duals.Quadrature(**{argument: value})
    with pytest.raises(InvalidArgument, match=r"^`quadrature` must need at most 1200 nodes.*radius 500"):
        duals.kernel(activations.get("tanh"), activations.get("tanh"), inputs.gaussian(2), duals.Quadrature(radius=500))
