"""Runs that are ended and continued are those that were never ended: bit for bit, histories included."""

from __future__ import annotations

import numpy as np
import pytest

import tutelage as tl

pytestmark = pytest.mark.optimized

TOLERANCE = tl.gradient_norm(1e-3)
METHOD = tl.GradientDescent(0.3)


def assert_same(first: tl.Runs, second: tl.Runs) -> None:
    """Everything but the wall time is the same, bit for bit."""
    np.testing.assert_array_equal(first.points, second.points)
    assert first.frame().equals(second.frame())
    assert first.history().equals(second.history())


@pytest.mark.parametrize("name", ["descent", "stochastic", "flow", "accelerated", "adam"])
def test_continuing_at_a_step_limit_changes_nothing(committee, starts, methods, name):
    """Stops at 13, 64 and 65 steps on the way leave points, frames and thinned histories as they were."""
    record = tl.record("loss", every=3, at_most=20)
    last = TOLERANCE | tl.step_limit(150)
    whole = tl.descend(committee, starts, methods[name], last, record)
    runs = starts
    for limit in (13, 64, 65):
        runs = tl.descend(committee, runs, methods[name], TOLERANCE | tl.step_limit(limit), record)
        assert runs.steps.max() == limit
    assert_same(whole, tl.descend(committee, runs, methods[name], last))


def test_chosen_steps_survive_a_continuation(committee, starts):
    """Where runs had been ended for a while is no entry of a history of chosen steps."""
    record = tl.record("loss", steps=[10, 38, 50])
    method = METHOD
    whole = tl.descend(committee, starts, method, TOLERANCE | tl.step_limit(60), record)
    part = tl.descend(committee, starts, method, TOLERANCE | tl.step_limit(37), record)
    assert part.curve("loss", 0)[0].tolist() == [0, 10, 37]
    assert_same(whole, tl.descend(committee, part, method, TOLERANCE | tl.step_limit(60)))
    assert whole.curve("loss", 0)[0].tolist() == [0, 10, 38, 50, 60]


def test_looser_tolerances_on_the_way_change_nothing(committee, starts):
    """Runs that had converged to looser tolerances, at steps of their own, go on to the tight one."""
    record, method = tl.record("loss", every=10), METHOD
    last = tl.gradient_norm(1e-4) | tl.step_limit(2000)
    whole = tl.descend(committee, starts, method, last, record)
    runs = tl.descend(committee, starts, method, tl.gradient_norm(1e-1), record)
    assert len(set(runs.steps)) > 3
    assert set(runs.statuses) == {"converged"}
    assert_same(whole, tl.descend(committee, runs, method, last))


def test_an_interruption_between_rounds_changes_nothing(committee, starts):
    """A KeyboardInterrupt gives `Interrupted`, whose runs continue to the same result."""
    record, method, stop = tl.record("loss", every=3), METHOD, TOLERANCE | tl.step_limit(150)
    whole = tl.descend(committee, starts, method, stop, record)

    def interrupt(ended: int, runs: int, steps: int) -> None:
        assert (ended, runs) == (0, 11)
        assert 0 < steps < 150
        raise KeyboardInterrupt

    runs = starts
    for _ in range(2):
        with pytest.raises(tl.Interrupted) as raised:
            tl.descend(committee, runs, method, stop, record, progress=interrupt)
        assert isinstance(raised.value, KeyboardInterrupt)
        runs = raised.value.runs
        assert set(runs.statuses) == {"interrupted"}
        assert runs.reasons[0] == f"interrupted at step {runs.steps[0]}"
    assert_same(whole, tl.descend(committee, runs, method, stop))


@pytest.mark.parametrize("call", [1, 2])
def test_an_interruption_within_a_round_changes_nothing(committee, starts, monkeypatch, call):
    """An interruption while the outcome of a round is being stored finds the runs as they were before it."""
    record, method, stop = tl.record("loss", every=3), METHOD, TOLERANCE | tl.step_limit(150)
    whole = tl.descend(committee, starts, method, stop, record)
    add, calls = tl.dynamics.histories.Recorder.add, []

    def interrupted_add(self, positions, values, slots):
        calls.append(1)
        if len(calls) == call + 1:  # the first entry is the start
            raise KeyboardInterrupt
        add(self, positions, values, slots)

    with monkeypatch.context() as patch:
        patch.setattr(tl.dynamics.histories.Recorder, "add", interrupted_add)
        with pytest.raises(tl.Interrupted) as raised:
            tl.descend(committee, starts, method, stop, record)
    assert_same(whole, tl.descend(committee, raised.value.runs, method, stop))


def test_the_earlier_runs_stay_as_they_were(committee, starts):
    """Continuing leaves the earlier runs alone; they can be continued twice."""
    method, record = METHOD, tl.record("loss", every=3, at_most=20)
    runs = tl.descend(committee, starts, method, TOLERANCE | tl.step_limit(20), record)
    points, history = np.array(runs.points), runs.history()
    first = tl.descend(committee, runs, method, TOLERANCE | tl.step_limit(70))
    np.testing.assert_array_equal(runs.points, points)
    assert runs.history().equals(history)
    assert_same(first, tl.descend(committee, runs, method, TOLERANCE | tl.step_limit(70)))


def test_diverged_runs_are_not_continued(committee, starts):
    """A diverged run stays where it was; the others go on."""
    mixed = np.concatenate([starts[:2], starts[2:4] * 1e12])
    method, record = METHOD, tl.record("loss", every=3)
    runs = tl.descend(committee, mixed, method, TOLERANCE | tl.step_limit(5), record)
    assert runs.statuses.tolist() == ["step_limit", "step_limit", "diverged", "diverged"]
    more = tl.descend(committee, runs, method, TOLERANCE | tl.step_limit(9))
    assert more.steps.tolist() == [9, 9, *runs.steps[2:]]
    assert more.statuses.tolist() == runs.statuses.tolist()


def test_progress_is_told(committee, starts):
    """The numbers of ended runs and of steps grow to the end of the batch."""
    seen: list[tuple[int, int, int]] = []
    runs = tl.descend(
        committee,
        starts,
        METHOD,
        TOLERANCE | tl.step_limit(150),
        tl.record("loss", every=3),
        progress=lambda *numbers: seen.append(numbers),
    )
    assert seen == sorted(seen)
    assert len(seen) > 1
    assert seen[-1] == (11, 11, runs.steps.max())
