"""Each condition ends a run at the first step where it holds, with its status and reason."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tutelage as tl
from tutelage.dynamics import Stop
from tutelage.dynamics.stops import DEFAULT_STEPS
from tutelage.models import FilterAndOutput

RECORD = tl.record("loss", "gradient_norm", point=lambda point: point)
METHOD = tl.GradientDescent(0.3)
CONDITIONS = {
    "gradient_norm": (tl.gradient_norm(1e-3), 1e-3, "gradient norm at most 0.001"),
    "loss": (tl.loss_below(1e-2), 1e-2, "loss at most 0.01"),
    "change": (tl.parameter_change(1e-2), 1e-2, "change at most 0.01"),
}
# Conditions that never hold, so that one program serves all tests of conditions.
NEVER = {
    "gradient_norm": tl.gradient_norm(1e-300),
    "loss": tl.loss_below(-1.0),
    "change": tl.parameter_change(1e-300),
}


def complete(*conditions: str) -> list[Stop]:
    """The conditions named, and the others such that they never hold."""
    return [CONDITIONS[name][0] if name in conditions else NEVER[name] for name in NEVER]


@pytest.fixture(scope="module")
def starts(neuron) -> np.ndarray:
    return np.asarray(tl.starts.gaussian(neuron.problem, runs=6, seed=2))


def values_of(runs: tl.Runs, run: int, condition: str) -> np.ndarray:
    """What a condition looks at, at every step from 0; after a step for the change."""
    if condition != "change":
        return runs.curve(condition, run)[1]
    points = runs.curve("point", run)[1]
    return np.concatenate([[np.inf], np.linalg.norm(np.diff(points, axis=0), axis=1)])


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_run_ends_at_the_first_step_where_its_condition_holds(neuron, starts, condition):
    """The history shows the condition true at the last step and at no other."""
    _, bound, reason = CONDITIONS[condition]
    runs = tl.descend(neuron, starts, METHOD, [*complete(condition), tl.step_limit(500)], RECORD)
    assert set(runs.statuses) == {"converged"}
    assert set(runs.reasons) == {reason}
    assert len(set(runs.steps)) > 1
    for run in range(len(runs)):
        values = values_of(runs, run, condition)
        assert len(values) == runs.steps[run] + 1
        assert values[-1] <= bound * (1 + 1e-12)
        assert (values[:-1] > bound).all()


def test_the_first_condition_that_holds_names_the_reason(neuron, starts):
    """Of several conditions, joined by `|` or in a list, the first to hold ends the run."""
    listed = [tl.step_limit(20), *complete("loss", "gradient_norm")]
    joined = listed[3] | listed[1] | listed[2] | listed[0]
    runs = tl.descend(neuron, starts, METHOD, joined, RECORD)
    assert runs.frame().equals(tl.descend(neuron, starts, METHOD, listed, RECORD).frame())
    kinds = {"converged", "step_limit"}
    assert set(runs.statuses) == kinds
    for run in range(len(runs)):
        ended = runs.statuses[run] == "converged"
        assert ended == (runs.losses[run] <= 1e-2 or runs.gradient_norms[run] <= 1e-3)
        assert ended or runs.reasons[run] == "20 steps made"


def test_a_condition_may_be_named_once():
    """Two conditions of one kind are refused; different ones are all kept."""
    with pytest.raises(tl.InvalidArgument, match=r"`stop` must name each condition once.*gradient"):
        tl.gradient_norm(1e-3) | tl.gradient_norm(1e-4)
    every = tl.gradient_norm(1) | tl.loss_below(2) | tl.parameter_change(3) | tl.step_limit(4) | tl.wall_time(5)
    assert [float(x) for x in (every.gradient, every.loss, every.change, every.steps, every.seconds)] == [
        1,
        2,
        3,
        4,
        5,
    ]
    with pytest.raises(TypeError):
        Stop() | 3  # pyright: ignore[reportOperatorIssue]


def test_limits_of_steps(neuron, starts, monkeypatch):
    """A limit of 0 leaves the starts; without a limit there is one of 100,000 steps."""
    runs = tl.descend(neuron, starts, METHOD, tl.gradient_norm(1e-3) | tl.step_limit(0), RECORD)
    assert set(runs.statuses) == {"step_limit"}
    assert runs.steps.tolist() == [0] * 6
    np.testing.assert_array_equal(runs.points, starts)
    assert DEFAULT_STEPS == 100_000
    monkeypatch.setitem(tl.dynamics.descend.__globals__, "DEFAULT_STEPS", 17)
    slow = tl.descend(neuron, starts, tl.GradientDescent(1e-6), tl.gradient_norm(1e-3), RECORD)
    assert set(slow.reasons) == {"17 steps made"}
    assert slow.steps.tolist() == [17] * 6


def test_wall_time_ends_all_runs(neuron, starts):
    """A limit of wall time ends runs as `time_limit`, keeps what they had reached, and they can go on."""
    stop = tl.gradient_norm(1e-3)
    runs = tl.descend(neuron, starts, tl.GradientDescent(1e-9), stop | tl.wall_time(0.05), RECORD)
    assert set(runs.statuses) == {"time_limit"}
    assert set(runs.reasons) == {"0.05 s of wall time used"}
    assert runs.seconds >= 0.05
    assert runs.steps.min() < DEFAULT_STEPS
    more = tl.descend(neuron, runs, tl.GradientDescent(0.3), stop)
    assert set(more.statuses) == {"converged"}
    assert more.seconds > runs.seconds


def test_a_stalled_run_says_so(neuron, starts):
    """A step too small to change any digit ends the run, unless a schedule may grow again."""
    stop = tl.gradient_norm(1e-3) | tl.step_limit(60)
    runs = tl.descend(neuron, starts, tl.GradientDescent(1e-30), stop, RECORD)
    assert set(runs.statuses) == {"stalled"}
    assert runs.reasons[0] == "step 1 left the student unchanged in floating point"
    np.testing.assert_array_equal(runs.points, starts)
    warming = tl.descend(neuron, starts, tl.GradientDescent(lambda step: 0.01 * step), stop, RECORD)
    assert set(warming.statuses) <= {"converged", "step_limit"}
    assert warming.losses.max() < runs.losses.max()


def test_a_gradient_of_zero_without_a_condition_on_it(neuron):
    """A student that stands still for ever is stalled where nothing else is asked of it."""
    runs = tl.descend(neuron, np.zeros((1, 2)), METHOD, tl.loss_below(1e-2) | tl.step_limit(60))
    assert runs.statuses.tolist() == ["stalled"]


def test_a_step_that_is_too_large_ends_as_diverged(neuron, starts):
    """Divergence is a status with the step number; points, losses and histories stay finite."""
    stop = tl.gradient_norm(1e-3) | tl.step_limit(500)
    runs = tl.descend(neuron, starts, tl.GradientDescent(50.0), stop, RECORD)
    assert set(runs.statuses) == {"diverged"}
    for run in range(6):
        number = int(re.search(r"at step (\d+);", runs.reasons[run]).group(1))
        assert 1 < number == runs.steps[run] < 60
    history = runs.history()
    assert np.isfinite(np.asarray(runs.points)).all()
    assert np.isfinite(runs.losses).all()
    assert np.isfinite(history["loss"].to_numpy()).all()
    assert np.linalg.norm(runs.points, axis=1).min() > 1e6


def test_a_start_at_the_teacher_has_converged(neuron):
    """No step is made where the gradient vanishes."""
    runs = tl.descend(neuron, np.asarray(neuron.target)[None], METHOD, tl.gradient_norm(1e-3), RECORD)
    assert runs.statuses.tolist() == ["converged"]
    assert runs.steps.tolist() == [0]
    assert runs.losses[0] < 1e-15


def test_a_zero_neuron_has_no_gradient(neuron):
    """A zero vector under the convention that its gradient is zero is not called converged."""
    runs = tl.descend(neuron, np.zeros((1, 2)), METHOD, tl.gradient_norm(1e-3), RECORD)
    assert runs.statuses.tolist() == ["non_differentiable"]
    assert runs.reasons[0] == "a zero vector at step 0, where the loss has no gradient"
    assert runs.losses[0] == pytest.approx(1.25 / 4)


def test_a_zero_filter_has_no_gradient():
    """The same for the filter of a convolution."""
    objective = tl.population(tl.problems.convolution([1.0, 0.5], [1.0, -1.0]))
    starts = FilterAndOutput(np.zeros((1, 2)), np.zeros((1, 2)))
    runs = tl.descend(objective, starts, METHOD, tl.gradient_norm(1e-3))
    assert runs.statuses.tolist() == ["non_differentiable"]
    assert "zero vector" in runs.reasons[0]


def test_defaults_by_objective(neuron, starts):
    """By default exact objectives are descended to a gradient norm of 1e-10."""
    runs = tl.descend(neuron, starts, METHOD, record=RECORD)
    assert set(runs.reasons) == {"gradient norm at most 1e-10"}
    assert runs.gradient_norms.max() <= 1e-10


@pytest.mark.parametrize("compiled", [True, False])
def test_runs_that_have_made_more_steps_than_a_later_limit_end_where_they_stand(neuron, starts, compiled):
    """Going on with a smaller limit moves nothing, says how many steps were made, and comes back."""
    made = tl.descend(neuron, starts, METHOD, tl.step_limit(5), compiled=compiled)
    ended = tl.descend(neuron, made, METHOD, tl.step_limit(3), compiled=compiled)
    np.testing.assert_array_equal(ended.points, made.points)
    assert set(ended.statuses) == {"step_limit"} and set(ended.reasons) == {"5 steps made"}
    found = tl.descend(neuron, made, METHOD, tl.step_limit(3) | tl.loss_below(1e9), compiled=compiled)
    assert set(found.statuses) == {"converged"}
