"""Streams whose batches all runs share: each is drawn once, and runs differ by their starts and teachers alone."""

import jax
import numpy as np
import pytest
from compilations import compilations

import tutelage as tl
from tutelage.dynamics import supply
from tutelage.dynamics.supply import Supply, draw
from tutelage.objectives import Stream
from tutelage.objectives.stream import Samples

_STEP, _STEPS, _SEED = 0.1, 150, 3


def _objective(shared: bool = True, noise: float = 0.5) -> Stream:
    problem = tl.problems.committee(np.eye(2, 3), students=3, noise=noise)
    return tl.stream(problem, 16, shared=shared)


def _starts(runs: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(runs, 3, 3))


def _followed(objective, starts, stop=_STEPS, **settings) -> tl.Runs:
    return tl.descend(objective, starts, tl.GradientDescent(_STEP), tl.step_limit(stop), seed=_SEED, **settings)


def _by_hand(student, teacher, batches):
    """Losses along descent on given batches, and the end of it, in plain NumPy: a sum of ReLUs of three vectors."""
    losses = []
    for inputs, errors in zip(*batches, strict=True):
        hidden = inputs @ student.T
        residuals = np.maximum(hidden, 0).sum(1) - np.maximum(inputs @ teacher.T, 0).sum(1) - errors
        losses.append(0.5 * np.mean(residuals**2))
        student = student - _STEP * ((hidden > 0) * residuals[:, None]).T @ inputs / len(inputs)
    return np.array(losses), student


@pytest.mark.parametrize("compiled", [True, False])
def test_runs_descend_on_the_same_batches(compiled):
    """Every run is the one that a plain loop makes on the batches of the seed, towards the run's own teacher."""
    objective, starts = _objective(), _starts(4)
    teachers = np.random.default_rng(1).normal(size=(4, 2, 3))
    runs = _followed(objective, starts, record=tl.record("loss"), teachers=teachers, compiled=compiled)
    batches = jax.device_get(draw(objective.source, np.asarray(_SEED), np.arange(_STEPS)))
    for run in range(4):
        losses, end = _by_hand(starts[run], teachers[run], batches)
        np.testing.assert_allclose(runs.curve("loss", run)[1][:-1], losses, rtol=1e-9)
        np.testing.assert_allclose(runs.points[run], end, rtol=0, atol=1e-11)


def test_batches_are_fresh_at_every_step_and_for_every_seed():
    """No two of them are the same, and they have the moments of inputs and noise."""
    objective = _objective()
    batches = [jax.device_get(draw(objective.source, np.asarray(seed), np.arange(64))) for seed in (0, 1)]
    inputs, errors = (np.stack([getattr(batch, name) for batch in batches]) for name in ("inputs", "errors"))
    assert (
        len({one.tobytes() for one in inputs.reshape(128, -1)})
        == len({one.tobytes() for one in errors.reshape(128, -1)})
        == 128
    )
    for values, deviation in ((inputs, 1.0), (errors, 0.5)):
        assert abs(values.mean()) < 4 * deviation / np.sqrt(values.size)
        assert abs(values.std() / deviation - 1) < 4 / np.sqrt(2 * values.size)


def test_equal_starts_stay_equal_only_where_batches_are_shared():
    """From one start all runs are one run, as without noise; with batches of their own they part."""
    starts = np.repeat(_starts(1), 5, axis=0)
    together, apart = (np.asarray(_followed(_objective(shared), starts).points) for shared in (True, False))
    np.testing.assert_array_equal(together, np.broadcast_to(together[0], together.shape))
    assert np.abs(apart - apart[0]).max(axis=(1, 2))[1:].min() > 1e-2


@pytest.mark.optimized
def test_a_run_depends_on_its_start_and_the_seed_alone():
    """Company, numbers of runs, another order, and an end with a continuation leave every bit as it is."""
    objective, starts = _objective(), _starts(150)
    whole = _followed(objective, starts)
    assert len(starts) > 128  # more than a tile
    some = _followed(objective, starts[[140, 7]], first_run=30)
    np.testing.assert_array_equal(some.points, np.asarray(whole.points)[[140, 7]])
    np.testing.assert_array_equal(some.losses, whole.losses[[140, 7]])
    odd = 67  # continued in the middle of what is drawn at once
    assert odd < whole._resume.supply.length
    half = _followed(objective, starts[:3], stop=odd)
    method = tl.GradientDescent(_STEP)
    np.testing.assert_array_equal(
        tl.descend(objective, half, method, tl.step_limit(_STEPS)).points, np.asarray(whole.points)[:3]
    )
    assert np.abs(np.asarray(_followed(objective, starts[:1], stop=_STEPS - 1).points) - whole.points[0]).max() > 1e-6


@pytest.mark.optimized
def test_the_teachers_of_other_runs_leave_every_bit_as_it_is():
    """Labels are made once by each teacher, and are those that it gives by itself."""
    objective, starts = _objective(), _starts(5)
    teachers = np.random.default_rng(1).normal(size=(3, 2, 3))[[0, 1, 0, 2, 1]]
    whole = _followed(objective, starts, teachers=teachers)
    assert len(whole._resume.supply.targets) == 3
    for chosen in ([1], [3, 0], [4, 2]):
        some = _followed(objective, starts[chosen], teachers=teachers[chosen])
        np.testing.assert_array_equal(some.points, np.asarray(whole.points)[chosen])
        np.testing.assert_array_equal(some.losses, whole.losses[chosen])


@pytest.mark.parametrize("compiled", [True, False])
def test_batches_are_drawn_once(compiled, monkeypatch):
    """Runs that pause, to be looked at, go on with what was drawn; what is drawn next begins where that ends."""
    drawn, draws = Supply._drawn, []

    def counted(supply, steps, *programs):
        draws.append(steps.tolist())
        return drawn(supply, steps, *programs)

    monkeypatch.setattr(Supply, "_drawn", counted)
    monkeypatch.setattr(supply, "_STEPS", 64)
    _followed(_objective(), _starts(2), record=tl.record("loss"), compiled=compiled)
    # A look at the start, or at the end, draws one step.
    stretches = [(steps[0], steps[-1]) for steps in draws if len(steps) > 1]
    assert stretches == [(0, 63), (63, 126), (126, 189)]


def test_one_program_draws_for_all_models_and_another_follows_runs_under_all_noises():
    """The second activation compiles no random numbers; the second strength of noise, none at all, compiles nothing."""
    inputs = tl.inputs.sphere(5)  # a law and a shape that no other test draws from
    compiled = []
    for activation, noise in (("relu", 0.3), ("tanh", 0.3), ("tanh", 0.1), ("abs", 0.1)):
        problem = tl.problems.neuron(np.eye(5)[0], activation, inputs=inputs, noise=noise)
        with compilations() as programs:
            _followed(tl.stream(problem, 8, shared=True), np.eye(5)[:2])
        compiled.append(sorted(programs))
    assert compiled[0] == ["jit(_batches)", "jit(_labels)", "jit(follow)"]
    assert compiled[1] == compiled[3] == ["jit(_labels)", "jit(follow)"]
    assert compiled[2] == []


def test_runs_that_end_at_other_steps_go_on_with_the_batches_of_their_steps():
    """Runs that a small loss has ended catch up step by step, and are then as if nothing had ended them."""
    objective, starts = _objective(), _starts(6)
    whole = _followed(objective, starts, record=tl.record("loss", every=10))
    method = tl.GradientDescent(_STEP)
    stop = tl.loss_below(0.3) | tl.step_limit(40)
    ended = tl.descend(objective, starts, method, stop, tl.record("loss", every=10), seed=_SEED)
    assert len(set(ended.steps)) > 2
    batches = jax.device_get(draw(objective.source, np.asarray(_SEED), np.arange(41)))
    for run, step in enumerate(ended.steps):  # what it says of a run is of the batch at which the run stands
        batch = type(batches)(*(leaf[step] for leaf in batches))
        held = objective.holding(Samples(batch.inputs, objective.problem.labels(batch)))
        np.testing.assert_allclose(ended.losses[run], held.loss(ended.point(run)), rtol=1e-12)
    further = tl.descend(objective, ended, method, tl.step_limit(_STEPS))
    np.testing.assert_allclose(further.points, whole.points, rtol=0, atol=1e-12)
    np.testing.assert_allclose(further.losses, whole.losses, rtol=1e-9)


def test_what_a_method_draws_is_not_shared():
    """Kicks of perturbed descent are a run's own."""
    method = tl.PerturbedGradientDescent(_STEP, noise=0.1)
    runs = tl.descend(_objective(), np.repeat(_starts(1), 3, axis=0), method, tl.step_limit(5), seed=_SEED)
    points = np.asarray(runs.points)
    assert min(np.abs(points[i] - points[j]).max() for i, j in ((0, 1), (0, 2), (1, 2))) > 1e-2


def test_it_is_yes_or_no():
    with pytest.raises(tl.InvalidArgument, match="`shared` must be True or False"):
        tl.stream(_objective().problem, 4, shared="yes")  # type: ignore[arg-type]
