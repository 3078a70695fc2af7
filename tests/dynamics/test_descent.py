"""Gradient descent against plain NumPy loops, and in the span of start and teacher against the full space."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import tutelage as tl
from tutelage.models import FilterAndOutput

STEP, STEPS = 0.1, 200


def committee_gradient(students: np.ndarray, teachers: np.ndarray) -> np.ndarray:
    """The gradient of the mild over-parameterization paper (its Equation 2, halved), neuron by neuron."""
    gradient = 0.5 * students
    for i, w in enumerate(students):
        others = [(1.0, v) for j, v in enumerate(students) if j != i] + [(-1.0, v) for v in teachers]
        for sign, v in others:
            norms = np.linalg.norm(w) * np.linalg.norm(v)
            angle = np.arccos(np.clip(w @ v / norms, -1, 1))
            pull = np.linalg.norm(v) * np.sin(angle) * w / np.linalg.norm(w) + (np.pi - angle) * v
            gradient[i] += sign * pull / (2 * np.pi)
    return gradient


def convolution_gradient(point: FilterAndOutput, target: FilterAndOutput) -> FilterAndOutput:
    """The gradient of the weight-normalised one-filter loss, from $E\\,relu(u·Z)relu(w·Z)$ and the means."""
    (v, a), (w, b) = point, target
    u, size = v / np.linalg.norm(v), np.linalg.norm(w)
    angle = np.arccos(np.clip(u @ w / size, -1, 1))
    pair = (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)
    mean = 1 / (2 * np.pi)
    by_filter = -(a @ b) * (np.pi - angle) * mean * (w - (u @ w) * u) / np.linalg.norm(v)
    by_output = a * (0.5 - mean) + a.sum() * mean - b * size * (pair - mean) - b.sum() * size * mean
    return FilterAndOutput(by_filter, by_output)


def loop(gradient, point, step: float, steps: int) -> list:
    """All students of a plain loop, the start first."""
    points = [point]
    for _ in range(steps):
        point = jax.tree.map(lambda x, g: x - step * g, point, gradient(point))
        points.append(point)
    return points


def test_committee_agrees_with_a_numpy_loop_at_every_step(committee, starts):
    """Every student of 200 steps equals that of a loop over neurons to 1e-12."""
    teachers = np.asarray(committee.target)
    runs = tl.descend(
        committee,
        starts[:4],
        tl.GradientDescent(STEP),
        tl.step_limit(STEPS),
        tl.record(every=1, point=lambda point: point),
    )
    for run in range(4):
        steps, points = runs.curve("point", run)
        expected = loop(lambda w: committee_gradient(w, teachers), starts[run], STEP, STEPS)
        np.testing.assert_array_equal(steps, np.arange(STEPS + 1))
        np.testing.assert_allclose(points, expected, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(points[-1], runs.points[run])


def test_convolution_agrees_with_a_numpy_loop():
    """Filter and output weights of 200 steps equal those of a loop to 1e-12."""
    problem = tl.problems.convolution([1.0, 0.5, -0.4], [1.0, -0.5, 2.0, 0.3])
    rng = np.random.default_rng(1)
    starts = FilterAndOutput(rng.normal(size=(3, 3)), rng.normal(size=(3, 4)))
    record = tl.record(filter=lambda point: point.filter, output=lambda point: point.output)
    method = tl.GradientDescent(STEP)
    runs = tl.descend(tl.population(problem), starts, method, tl.step_limit(STEPS), record)
    target = jax.tree.map(np.asarray, problem.target)
    for run in range(3):
        start = jax.tree.map(lambda leaf, run=run: np.asarray(leaf[run]), starts)
        expected = loop(lambda point: convolution_gradient(point, target), start, STEP, STEPS)
        for part in range(2):
            values = runs.curve(("filter", "output")[part], run)[1]
            np.testing.assert_allclose(values, [point[part] for point in expected], rtol=0, atol=1e-12)


@pytest.mark.parametrize("orthonormal", [True, False])
def test_the_span_of_start_and_teacher_suffices(orthonormal: bool):
    """In dimension 200 a run in four dimensions has the losses and points of the full space to 1e-10."""
    rng = np.random.default_rng(0)
    teacher = np.eye(2, 200) if orthonormal else rng.normal(size=(2, 200)) / 14
    objective = tl.population(tl.problems.committee(teacher, students=2))
    starts = rng.normal(size=(5, 2, 200)) / 14
    method, stop = tl.GradientDescent(0.3), tl.step_limit(150)
    reduced = tl.descend(objective, starts, method, stop, tl.record("loss"))
    full = tl.descend(objective, starts, method, stop, tl.record("loss", first=lambda w: w[0, 0]))
    assert jax.tree.leaves(reduced._resume.state.point)[0].shape == (5, 2, 4)
    assert jax.tree.leaves(full._resume.state.point)[0].shape == (5, 2, 200)
    np.testing.assert_allclose(reduced.points, full.points, rtol=0, atol=1e-10)
    for run in range(5):
        steps, values = reduced.curve("loss", run)
        assert len(steps) == 151
        np.testing.assert_allclose(values, full.curve("loss", run)[1], rtol=0, atol=1e-10)
    # The span is that of each start: what a run cannot reach it keeps.
    assert np.abs(np.asarray(reduced.points) - starts).max() > 0.1


def test_no_reduction_where_it_saves_nothing(committee, starts):
    """Where students and teachers span the inputs the original coordinates are kept, exactly."""
    runs = tl.descend(committee, starts, tl.GradientDescent(STEP), tl.step_limit(0))
    assert runs._resume.reduction is None
    np.testing.assert_array_equal(runs.points, starts)
