"""What objectives by quadrature say of their own error, against a much finer quadrature."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutelage as tl
from tutelage.models import FilterAndOutput

VECTOR = np.array([0.5, -1.0, 0.3])
ROWS = np.array([[0.4, 0.9, -0.3], [1.1, -0.2, 0.6]])
PROBLEMS = {
    "neuron": (tl.problems.neuron(VECTOR, "gelu"), jnp.asarray(ROWS[0])),
    "committee": (tl.problems.committee(ROWS[::-1] * 0.8, 2, "tanh"), jnp.asarray(ROWS)),
    # A short filter: its normalisation multiplies the errors of the duals.
    "convolution": (
        tl.problems.convolution(VECTOR, [1.0, 2.0, -0.5], activation="softplus"),
        FilterAndOutput(jnp.asarray(0.1 * ROWS[0]), jnp.array([0.3, 1.0, 2.0])),
    ),
    "parity": (
        tl.problems.parity(VECTOR, 3, sharing=False, activation="sigmoid"),
        jnp.asarray(np.stack([*ROWS, VECTOR])),
    ),
}


def test_the_default_radius_sees_the_widest_component_of_a_mixture() -> None:
    """The tolerance is met at weights like the teacher's also where one component is six times wider than another."""
    inputs = tl.inputs.mixture([tl.inputs.gaussian(2), tl.inputs.gaussian(2, covariance=36 * np.eye(2))])
    problem = tl.problems.neuron([1.0, 0.3], "tanh", inputs)
    point = jnp.array([0.4, -0.8])
    default, fine = (tl.population(problem, radius=radius) for radius in (None, 14.0))
    assert float(default.loss(point)) == pytest.approx(float(fine.loss(point)), abs=1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_estimate_bounds_the_error_and_grows_beyond_the_radius(name: str) -> None:
    """With a coarse rule, so that errors stand out of rounding: estimates bound them, near and far."""
    problem, point = PROBLEMS[name]
    coarse = tl.population(problem, tolerance=1e-5, radius=2.0)
    fine = tl.population(problem, tolerance=1e-13, radius=12.0)
    assert coarse.exactness.kind == "quadrature"
    assert coarse.exactness.tolerance == 1e-5
    evaluate = jax.jit(lambda point: (coarse.loss(point), fine.loss(point), coarse.error_estimate(point)))
    factor = 60.0 if name == "convolution" else 6.0
    stretched = jax.tree.map(lambda leaf: factor * leaf, point)
    found, exact, near = (float(part) for part in evaluate(point))
    # The part that does not depend on the student is not in the estimate; it meets the tolerance.
    assert abs(found - exact) <= near + 1e-5
    found, exact, far = (float(part) for part in evaluate(stretched))
    assert abs(found - exact) <= far + 1e-5
    assert far > 10 * near


@pytest.mark.parametrize("tolerance", [1e-16, 1e-30, 0.0, 1.0])
def test_a_tolerance_that_no_rule_can_meet_is_refused(tolerance):
    """Nothing is called exact to more digits than numbers have."""
    with pytest.raises(tl.InvalidArgument, match="`tolerance` must"):
        tl.population(tl.problems.neuron(np.ones(2), "tanh"), tolerance=tolerance)
