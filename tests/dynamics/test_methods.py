"""What each method does in one step and along a run."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.integrate import solve_ivp

import tutelage as tl

POINT = lambda point: point  # noqa: E731  (one function, so that programs are shared)
RECORD = tl.record(point=POINT)
ONE, FIFTY = tl.step_limit(1), tl.step_limit(50)


@pytest.fixture(scope="module")
def starts(neuron) -> np.ndarray:
    return np.asarray(tl.starts.gaussian(neuron.problem, runs=5, seed=2))


def relu_gradient(w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The gradient of one ReLU neuron, written out."""
    angle = np.arccos(np.clip(w @ v / np.linalg.norm(w) / np.linalg.norm(v), -1, 1))
    pull = np.linalg.norm(v) * np.sin(angle) * w / np.linalg.norm(w) + (np.pi - angle) * v
    return 0.5 * w - pull / (2 * np.pi)


def test_a_projection_keeps_every_vector_in_its_ball(neuron, starts):
    """A projected run is that of a loop which pulls the student back after every step."""
    method = tl.GradientDescent(0.3, projection=tl.Ball(0.8))
    runs = tl.descend(neuron, starts, method, FIFTY, RECORD)
    target = np.asarray(neuron.target)
    for run in range(5):
        points = runs.curve("point", run)[1]
        assert np.linalg.norm(points[1:], axis=1).max() <= 0.8 * (1 + 1e-15)
        expected = starts[run]
        for point in points[1:]:
            expected = expected - 0.3 * relu_gradient(expected, target)
            expected = expected * min(1.0, 0.8 / np.linalg.norm(expected))
            np.testing.assert_allclose(point, expected, rtol=0, atol=1e-12)
    # The ball is felt: the teacher, of norm 1.1, is outside.
    assert np.linalg.norm(runs.points, axis=1) == pytest.approx(0.8)


def test_a_schedule_sets_each_step(neuron, starts):
    """A step that is a function of the step number is taken at that number."""
    method = tl.GradientDescent(lambda step: 0.5 / (1.0 + step))
    runs = tl.descend(neuron, starts, method, FIFTY, RECORD)
    for run in range(5):
        expected = starts[run]
        for step, point in enumerate(runs.curve("point", run)[1]):
            np.testing.assert_allclose(point, expected, rtol=0, atol=1e-12)
            expected = expected - 0.5 / (1 + step) * relu_gradient(expected, np.asarray(neuron.target))


def test_stochastic_steps_average_to_the_gradient(neuron, starts):
    """The mean of 4,000 first steps is the population gradient within five standard errors."""
    many = np.repeat(starts[:1], 4000, axis=0)
    runs = tl.descend(neuron, many, tl.StochasticGradientDescent(0.1, batch=3), ONE, seed=1)
    steps = (starts[0] - np.asarray(runs.points)) / 0.1
    error = steps.std(axis=0, ddof=1) / np.sqrt(4000)
    assert (np.abs(steps.mean(axis=0) - np.asarray(neuron.gradient(starts[0]))) < 5 * error).all()
    assert (error < 0.05).all()
    # Every run has samples of its own; some batches miss both neurons and move nothing.
    moved = steps[np.abs(steps).max(axis=1) > 0]
    assert 3000 < len(np.unique(moved[:, 0])) == len(moved) < 4000


def test_descent_on_a_stream_is_stochastic_descent(neuron, starts):
    """The batches of a stream objective and those of the stochastic method are the same."""
    stream = tl.stream(neuron.problem, batch=3)
    first = tl.descend(stream, starts, tl.GradientDescent(0.1), FIFTY, seed=7)
    second = tl.descend(neuron, starts, tl.StochasticGradientDescent(0.1, batch=3), FIFTY, seed=7)
    assert set(first.statuses) == {"step_limit"}
    np.testing.assert_allclose(first.points, second.points, rtol=0, atol=1e-13)
    assert second.losses == pytest.approx([float(neuron.loss(w)) for w in second.points], rel=1e-10)


@pytest.mark.parametrize("shared", [True, False])
def test_kicks_have_their_size_and_direction(committee, shared: bool):
    """A kick has exactly the size asked for, and one direction for all neurons or one each, isotropic."""
    start = np.asarray(tl.starts.gaussian(committee.problem, runs=1, seed=3))
    method = tl.PerturbedGradientDescent(0.2, noise=0.01, shared_direction=shared)
    runs = tl.descend(committee, np.repeat(start, 600, axis=0), method, ONE, seed=1)
    plain = start[0] - 0.2 * np.asarray(committee.gradient(start[0]))
    kicks = (np.asarray(runs.points) - plain) / 0.01
    np.testing.assert_allclose(np.linalg.norm(kicks, axis=2), 1.0, rtol=1e-11)
    spread = np.abs(kicks - kicks[:, :1]).max(axis=(1, 2))
    assert (spread < 1e-11).all() if shared else (spread > 1e-3).all()
    moments = np.einsum("rni,rnj->nij", kicks, kicks) / 600
    assert np.abs(kicks.mean(axis=0)).max() < 5 / np.sqrt(3 * 600)
    assert np.abs(moments - np.eye(3) / 3).max() < 5 * np.sqrt(4 / 45 / 600)


def test_a_transformation_of_optax_is_a_method(neuron, starts):
    """`optax.sgd` is gradient descent; Adam's first step has the sign of the gradient and its size."""
    first = tl.descend(neuron, starts, tl.GradientDescent(0.3), FIFTY, RECORD)
    second = tl.descend(neuron, starts, optax.sgd(0.3), FIFTY, RECORD)
    np.testing.assert_allclose(first.points, second.points, rtol=0, atol=1e-13)
    adam = tl.descend(neuron, starts, optax.adam(0.02), FIFTY, RECORD)
    for run in range(5):
        points = adam.curve("point", run)[1]
        gradient = np.asarray(neuron.gradient(starts[run]))
        np.testing.assert_allclose(points[1] - points[0], -0.02 * np.sign(gradient), rtol=1e-6)
        assert adam.losses[run] < float(neuron.loss(starts[run]))


@pytest.fixture(scope="module")
def flows(neuron, starts) -> tl.Runs:
    method = tl.GradientFlow(relative_tolerance=1e-10, absolute_tolerance=1e-12, horizon=3.0)
    return tl.descend(neuron, starts, method, tl.gradient_norm(1e-12), tl.record("loss", point=POINT))


def test_the_flow_is_that_of_a_reference_solver(neuron, starts, flows):
    """At the horizon, and at every accepted time, the flow is that of SciPy's solver to 1e-7."""
    target = np.asarray(neuron.target)
    assert set(flows.statuses) == {"time_limit"}
    assert set(flows.reasons) == {"the flow reached time 3"}
    for run in range(5):
        times, points = flows.curve("time", run)[1], flows.curve("point", run)[1]
        assert times[-1] == 3.0
        assert (np.diff(times) >= 0).all()
        kept, rows = np.unique(times, return_index=True)
        reference = solve_ivp(
            lambda time, w: -relu_gradient(w, target),
            (0, 3),
            starts[run],
            "DOP853",
            kept,
            rtol=1e-12,
            atol=1e-13,
        )
        np.testing.assert_allclose(points[rows], reference.y.T, rtol=0, atol=1e-7)


def test_the_flow_descends(flows):
    """The loss never grows along a flow, and a rejected step moves nothing."""
    for run in range(5):
        losses, times = flows.curve("loss", run)[1], flows.curve("time", run)[1]
        assert (np.diff(losses) <= 1e-15).all()
        assert losses[-1] < 0.5 * losses[0]
        rejected = np.diff(times) == 0
        np.testing.assert_array_equal(np.diff(losses)[rejected], 0)


def test_the_flow_ends_at_a_steady_state(neuron, starts):
    """Without a horizon the flow ends where the gradient is as small as asked."""
    method = tl.GradientFlow(relative_tolerance=1e-6, absolute_tolerance=1e-9)
    runs = tl.descend(neuron, starts, method, tl.gradient_norm(1e-6), tl.record("loss", point=POINT))
    assert set(runs.statuses) == {"converged"}
    assert runs.gradient_norms.max() <= 1e-6
    assert np.abs(np.asarray(runs.points) - np.asarray(neuron.target)).max() < 1e-4
    assert jnp.asarray(runs.points).dtype == jnp.float64
