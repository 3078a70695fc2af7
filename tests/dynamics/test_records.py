"""What is remembered along runs: the right values, at the right steps, in bounded memory."""

from __future__ import annotations

from itertools import takewhile

import numpy as np
import pytest

import tutelage as tl

METHOD = tl.GradientDescent(0.3)
TOLERANCE = tl.gradient_norm(1e-3)
QUANTITIES = ("loss", "gradient_norm", "norms", "norm_sum", "angle", "distance")


def angles(students: np.ndarray, teachers: np.ndarray) -> np.ndarray:
    """Angle of every student to the nearest teacher, by the inverse cosine."""
    cosines = (students @ teachers.T) / np.outer(np.linalg.norm(students, axis=1), np.linalg.norm(teachers, axis=1))
    return np.arccos(np.clip(cosines, -1, 1)).min(axis=1)


@pytest.fixture(scope="module")
def recorded(committee, starts) -> tl.Runs:
    record = tl.record(*QUANTITIES, every=5, point=lambda point: point, corner=lambda point: point[0, 0])
    return tl.descend(committee, starts[:4], METHOD, TOLERANCE | tl.step_limit(60), record)


def test_built_in_quantities_are_right(committee, recorded):
    """Every remembered quantity is that of the remembered student."""
    teachers = np.asarray(committee.target)
    for run in range(4):
        points = recorded.curve("point", run)[1]
        values = {name: recorded.curve(name, run)[1] for name in QUANTITIES}
        for i, point in enumerate(points):
            norms = np.linalg.norm(point, axis=1)
            distances = np.linalg.norm(point[:, None] - teachers, axis=2).min(axis=1)
            np.testing.assert_allclose(values["norms"][i], norms, rtol=1e-14)
            np.testing.assert_allclose(values["norm_sum"][i], norms.sum(), rtol=1e-14)
            np.testing.assert_allclose(values["angle"][i], angles(point, teachers), atol=1e-12)
            np.testing.assert_allclose(values["distance"][i], distances, rtol=1e-13)
        for i in (0, 3, len(points) - 1):
            assert values["loss"][i] == pytest.approx(float(committee.loss(points[i])), rel=1e-12)
            size = np.linalg.norm(committee.gradient(points[i]))
            assert values["gradient_norm"][i] == pytest.approx(size, rel=1e-11)


@pytest.mark.filterwarnings("error")
def test_the_exact_loss_is_remembered_along_runs_on_samples(committee, starts):
    """A method of another objective is a quantity: it takes that objective's teacher along, each its own."""
    stream = tl.stream(committee.problem, 8)
    for scale in (1.0, 2.0):
        exact = tl.population(committee.problem.with_teacher(scale * np.asarray(committee.target)))
        record = tl.record(every=10, exact=exact.loss, point=lambda point: point)
        runs = tl.descend(stream, starts[:2], tl.GradientDescent(0.05), tl.step_limit(30), record)
        for run in range(2):
            losses = [float(exact.loss(point)) for point in runs.curve("point", run)[1]]
            np.testing.assert_allclose(runs.curve("exact", run)[1], losses, rtol=1e-12)


def test_the_first_and_the_last_step_are_remembered(recorded, starts):
    """Step 0 is the start, the last step is what was reached, and every fifth lies between."""
    for run in range(4):
        steps, points = recorded.curve("point", run)
        assert steps.tolist() == sorted({*range(0, recorded.steps[run], 5), recorded.steps[run]})
        np.testing.assert_array_equal(points[0], starts[run])
        np.testing.assert_array_equal(points[-1], recorded.points[run])
        np.testing.assert_array_equal(recorded.curve("time", run)[1], steps)
        np.testing.assert_array_equal(recorded.curve("corner", run)[1], points[:, 0, 0])


def test_the_history_is_a_frame(recorded):
    """One row per run and step, one column per quantity; arrays are lists."""
    history = recorded.history()
    assert history.columns[:2] == ["run", "step"]
    assert set(history.columns[2:]) == {*QUANTITIES, "point", "corner", "time"}
    assert history.equals(history.sort("run", "step"))
    own = history.filter(history["run"] == 2)
    assert own["step"].to_list() == recorded.curve("loss", 2)[0].tolist()
    assert own["loss"].to_list() == recorded.curve("loss", 2)[1].tolist()
    assert len(own["point"][0]) == 9
    assert len(own["norms"][0]) == 3


def test_one_vector_is_remembered_as_a_number(neuron):
    """The norms and angles of a single neuron are numbers, and small angles are accurate."""
    target = np.asarray(neuron.target)
    start = target + 1e-9 * np.array([-target[1], target[0]])
    values = tl.record("angle", "norms")(neuron, start)
    assert values["norms"].shape == values["angle"].shape == ()
    assert float(values["angle"]) == pytest.approx(1e-9, rel=1e-6)


def test_longer_histories_are_thinned(committee, starts):
    """At most ten evenly spaced entries and the last are kept, whatever the other runs do."""
    stop = TOLERANCE | tl.step_limit(333)
    record = tl.record("loss", every=1, at_most=10)
    full = tl.descend(committee, starts, METHOD, stop, tl.record("loss", every=1))
    thin = tl.descend(committee, starts, METHOD, stop, record)
    alone = tl.descend(committee, starts[2:3], METHOD, stop, record, first_run=2)
    assert len(set(full.steps)) > 1
    for run in range(11):
        steps, values = thin.curve("loss", run)
        last = full.steps[run]
        assert len(steps) <= 11
        stride = steps[1] - steps[0]
        assert stride in 2 ** np.arange(10)
        assert last / stride <= 10 < 2 * last / stride
        assert steps.tolist() == sorted({*range(0, last + 1, stride), last})
        np.testing.assert_array_equal(values, full.curve("loss", run)[1][steps])
    for one, other in zip(thin.curve("loss", 2), alone.curve("loss", 0), strict=True):
        np.testing.assert_array_equal(one, other)


def test_few_entries_are_taken():
    """The longer a run, the farther apart its entries are taken: few of them are dropped later."""
    steps = list(takewhile(lambda step: step <= 100_000, tl.record(every=3, at_most=10).schedule(0)))
    assert steps[:4] == [3, 6, 9, 12]
    assert len(steps) < 10 + 5 * np.log2(100_000 / 30) + 5
    assert set(np.diff(steps)) <= set(3 * 2 ** np.arange(20))
    assert (
        list(takewhile(lambda step: step <= 100_000, tl.record(every=3, at_most=10).schedule(steps[20]))) == steps[21:]
    )


def test_memory_is_bounded_on_the_way(committee, starts):
    """The entries that are held never exceed a few times the bound, however long the runs."""
    record = tl.record("loss", every=1, at_most=10)
    held = []
    add = tl.dynamics.histories.Recorder.add

    def watching(self, positions, values, slots):
        add(self, positions, values, slots)
        held.append(sum(len(part[0]) for part in self._parts))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tl.dynamics.histories.Recorder, "add", watching)
        runs = tl.descend(committee, starts, tl.GradientDescent(1e-3), TOLERANCE | tl.step_limit(4000), record)
    assert runs.steps.max() == 4000
    assert max(held) <= 11 * (2 * 10 + 32)


def test_chosen_steps(committee, starts):
    """The chosen steps are remembered, with the first and the last."""
    runs = tl.descend(
        committee, starts, METHOD, TOLERANCE | tl.step_limit(100), tl.record("loss", steps=[3, 64, 99, 1000])
    )
    for run in range(11):
        last = runs.steps[run]
        expected = sorted({0, last, *(step for step in (3, 64, 99) if step < last)})
        assert runs.curve("loss", run)[0].tolist() == expected


def test_nothing_recorded_is_an_error_not_an_empty_frame(committee, starts):
    """Histories that were not asked for, and quantities that were not recorded, are refused."""
    runs = tl.descend(committee, starts, METHOD, TOLERANCE | tl.step_limit(0))
    with pytest.raises(tl.TutelageError, match=r"Pass record=tl\.record"):
        runs.history()
    with pytest.raises(tl.TutelageError, match="`loss` was not recorded"):
        runs.curve("loss", 0)
    recorded = tl.descend(committee, starts, METHOD, TOLERANCE | tl.step_limit(0), tl.record("loss"))
    with pytest.raises(tl.TutelageError, match="`angle` was not recorded"):
        recorded.curve("angle", 0)


def test_runs_read_as_a_table(committee, starts):
    """The frame has a row per run; points, positions by status and the summary agree with it."""
    runs = tl.descend(
        committee, starts, METHOD, tl.gradient_norm(1e-2) | tl.step_limit(150), tl.record("loss"), first_run=4
    )
    frame = runs.frame()
    assert frame["run"].to_list() == list(range(4, 15))
    assert frame.columns == [
        "run", "status", "reason", "steps", "newton_steps", "loss", "gradient_norm", "error_estimate",
    ]  # fmt: skip
    assert len(runs) == len(frame) == len(list(runs)) == 11
    ended = runs.where("converged")
    assert 0 < len(ended) < 11
    assert (runs.gradient_norms[ended] <= 1e-2).all()
    assert f"{len(ended)} converged" in repr(runs)
    for run, point in enumerate(runs):
        np.testing.assert_array_equal(point, runs.points[run])
        assert frame["loss"][run] == pytest.approx(float(committee.loss(point)), rel=1e-12)
    assert frame["error_estimate"].to_list() == [0.0] * 11
    assert runs.history()["run"].unique().to_list() == list(range(4, 15))
