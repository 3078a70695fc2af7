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


def test_quadratures_see_the_widest_component_of_a_mixture() -> None:
    """The tolerance is met at weights like the teacher's also where one component is six times wider than another."""
    inputs = tl.inputs.mixture([tl.inputs.gaussian(2), tl.inputs.gaussian(2, covariance=36 * np.eye(2))])
    problem = tl.problems.neuron([1.0, 0.3], "tanh", inputs)
    point = jnp.array([0.4, -0.8])
    default, fine = (tl.population(problem, tolerance) for tolerance in (1e-10, 1e-14))
    assert float(default.loss(point)) == pytest.approx(float(fine.loss(point)), abs=1e-10)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_estimate_bounds_the_error(name: str) -> None:
    """With a coarse rule, so that errors stand out of rounding: estimates bound them, and keep to the tolerance."""
    problem, point = PROBLEMS[name]
    coarse, fine = tl.population(problem, tolerance=1e-3), tl.population(problem, tolerance=1e-13)
    assert coarse.exactness.kind == "quadrature"
    assert coarse.exactness.tolerance == 1e-3
    for stretch in (1.0, 3.0, 10.0):
        there = jax.tree.map(lambda leaf, stretch=stretch: stretch * leaf, point)
        estimate = float(coarse.error_estimate(there))
        # The part that does not depend on the student is not in the estimate; it meets the tolerance.
        assert abs(float(coarse.loss(there)) - float(fine.loss(there))) <= estimate + 1e-3
        assert 0 < estimate < 1e-3 * len(jax.tree.leaves(point)) * 100 * stretch**2


def test_the_estimate_shows_what_no_quadrature_reaches() -> None:
    """So far from zero that a step is all that the nodes see: the estimate says so."""
    problem, point = PROBLEMS["committee"]
    objective = tl.population(problem)
    assert float(objective.error_estimate(np.asarray(point))) < 1e-11
    far = 300 * np.asarray(point)
    fine = tl.population(problem, tolerance=1e-3)
    assert abs(float(objective.loss(far)) - float(fine.loss(far))) < 1e-2
    assert 1e-8 < float(objective.error_estimate(far)) < 1.0


@pytest.mark.parametrize("tolerance", [1e-16, 1e-30, 0.0, 1.0])
def test_a_tolerance_that_no_rule_can_meet_is_refused(tolerance):
    """Nothing is called exact to more digits than numbers have."""
    with pytest.raises(tl.InvalidArgument, match="`tolerance` must"):
        tl.population(tl.problems.neuron(np.ones(2), "tanh"), tolerance=tolerance)
