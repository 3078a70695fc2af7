"""Runs with a teacher each: one call does what a call per teacher does."""

import numpy as np
import pytest

import tutelage as tl

_RUNS = 5


def _drawn(dimension: int, students: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return teachers of two neurons, one per run, and starts."""
    random = np.random.default_rng(dimension)
    return random.normal(size=(_RUNS, 2, dimension)), random.normal(size=(_RUNS, students, dimension))


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("dimension", [3, 30])
def test_each_run_descends_towards_its_own_teacher(dimension, compiled):
    """Ends, losses, gradient norms and records are those of the objective with that teacher; in the span too."""
    teachers, starts = _drawn(dimension)
    objective = tl.population(tl.problems.committee(teachers[0], students=3))
    settings = tl.GradientDescent(0.2), tl.step_limit(40), tl.record("loss", "distance", every=20)
    runs = tl.descend(objective, starts, *settings, teachers=teachers, compiled=compiled)
    np.testing.assert_array_equal(runs.teachers, teachers)
    for run in range(_RUNS):
        alone = objective.with_target(teachers[run])
        one = tl.descend(alone, starts[run : run + 1], *settings, compiled=compiled)
        np.testing.assert_allclose(runs.points[run], one.points[0], rtol=0, atol=1e-12)
        for quantity in ("loss", "distance"):
            np.testing.assert_allclose(runs.curve(quantity, run)[1], one.curve(quantity, 0)[1], rtol=1e-11)
        np.testing.assert_allclose(runs.losses[run], alone.loss(np.asarray(runs.points[run])), rtol=1e-10)
        slope = np.asarray(alone.gradient(np.asarray(runs.points[run])))
        np.testing.assert_allclose(runs.gradient_norms[run], np.linalg.norm(slope), rtol=1e-9)


def test_a_run_depends_on_its_own_teacher_alone():
    """Another order, fewer runs, or an end and a continuation leave every bit as it is."""
    teachers, starts = _drawn(4)
    objective = tl.population(tl.problems.committee(np.eye(2, 4), students=3))
    method, stop = tl.GradientDescent(0.2), tl.step_limit(300)
    whole = tl.descend(objective, starts, method, stop, teachers=teachers)
    order = np.array([3, 0, 4])
    some = tl.descend(objective, starts[order], method, stop, teachers=teachers[order])
    np.testing.assert_array_equal(some.points, np.asarray(whole.points)[order])
    half = tl.descend(objective, starts, method, tl.step_limit(150), teachers=teachers)
    np.testing.assert_array_equal(tl.descend(objective, half, method, stop).points, whole.points)
    assert np.abs(np.asarray(half.points) - np.asarray(whole.points)).max() > 1e-3


def test_both_layers_and_random_methods_have_teachers_too():
    """A teacher may be several arrays, and samples of stochastic descent have the labels of the run's own."""
    random = np.random.default_rng(1)
    filters, outputs = random.normal(size=(_RUNS, 3)), random.normal(size=(_RUNS, 2))
    objective = tl.population(tl.problems.convolution(filters[0], outputs[0]))
    starts = tl.starts.gaussian(objective.problem, _RUNS, seed=3)
    teachers = type(objective.target)(filters, outputs)
    for method in (tl.GradientDescent(0.1), tl.StochasticGradientDescent(0.1, batch=4)):
        runs = tl.descend(objective, starts, method, tl.step_limit(5), teachers=teachers)
        alone = objective.with_target(type(objective.target)(filters[2], outputs[2]))
        own = type(starts)(*(leaf[2:3] for leaf in (starts.filter, starts.output)))
        one = tl.descend(alone, own, method, tl.step_limit(5), first_run=2)
        np.testing.assert_allclose(runs.point(2).filter, one.point(0).filter, rtol=0, atol=1e-12)
        np.testing.assert_allclose(runs.point(2).output, one.point(0).output, rtol=0, atol=1e-12)


def test_what_makes_no_sense_is_refused():
    """Teachers that do not fit, a finish, labels of a teacher; and what asks for one teacher of all runs."""
    teachers, starts = _drawn(3)
    objective = tl.population(tl.problems.committee(teachers[0], students=3))
    method = tl.GradientDescent(0.2)
    for wrong in (teachers[:3], teachers[0], teachers[..., :2], np.full_like(teachers, np.nan)):
        with pytest.raises(tl.InvalidArgument, match="`teachers` must"):
            tl.descend(objective, starts, method, teachers=wrong)
    with pytest.raises(tl.InvalidArgument, match="`finish` must be left out"):
        tl.descend(objective, starts, method, teachers=teachers, finish=tl.NewtonKrylov())
    sampled = tl.empirical(objective.problem, np.ones((4, 3)))
    with pytest.raises(tl.TutelageError, match="labels from its teacher"):
        tl.descend(sampled, starts, method, teachers=teachers)
    runs = tl.descend(
        objective, starts, method, tl.step_limit(2), tl.record(student=lambda student: student), teachers=teachers
    )
    with pytest.raises(tl.InvalidArgument, match="`teachers` must be left out"):
        tl.descend(objective, runs, method, teachers=teachers)
    with pytest.raises(tl.InvalidArgument, match="must have one teacher"):
        tl.atlas(objective, runs)
    with pytest.raises(tl.InvalidArgument, match="must have one teacher"):
        tl.plot.trajectories(runs, "student")
