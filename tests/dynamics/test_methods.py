"""What each method does in one step and along a run."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.integrate import solve_ivp

import tutelage as tl
from tutelage.keys import dynamics_key

POINT = lambda point: point  # noqa: E731  (one function, so that programs are shared)
RECORD = tl.record(point=POINT)
FIFTY = tl.step_limit(50)


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


def single_steps(objective, method, start: np.ndarray, number: int) -> np.ndarray:
    """Many single steps of a random method from one point, with different keys."""
    gradient = objective.gradient(start)
    keys = jax.random.split(jax.random.key(1), number)

    def move(key):
        return method.advance(objective, start, gradient, (), jnp.zeros((), int), key)[0]

    return np.asarray(jax.jit(jax.vmap(move))(keys))


def test_stochastic_steps_average_to_the_gradient(neuron, starts):
    """The mean of 4,000 steps is the population gradient within five standard errors."""
    method = tl.StochasticGradientDescent(0.1, batch=3)
    steps = (starts[0] - single_steps(neuron, method, starts[0], 4000)) / 0.1
    error = steps.std(axis=0, ddof=1) / np.sqrt(4000)
    assert (np.abs(steps.mean(axis=0) - np.asarray(neuron.gradient(starts[0]))) < 5 * error).all()
    assert (error < 0.05).all()
    # Every step has samples of its own; some batches miss both neurons and move nothing.
    moved = steps[np.abs(steps).max(axis=1) > 0]
    assert 3000 < len(np.unique(moved[:, 0])) == len(moved) < 4000


def test_descent_on_a_stream_is_stochastic_descent(neuron, starts):
    """Descent on a stream makes the steps of the stochastic method, with the key of its run and step."""
    stream, method = tl.stream(neuron.problem, batch=3), tl.StochasticGradientDescent(0.1, batch=3)
    runs = tl.descend(stream, starts, tl.GradientDescent(0.1), tl.step_limit(20), seed=7, first_run=2)
    assert set(runs.statuses) == {"step_limit"}

    @jax.jit
    def follow(point, run):
        def move(step, point):
            key = jax.random.fold_in(dynamics_key(7, run), step)
            return method.advance(neuron, point, None, (), step, key)[0]

        return jax.lax.fori_loop(0, 20, move, point)

    for run in range(5):
        np.testing.assert_allclose(runs.points[run], follow(starts[run], 2 + run), rtol=0, atol=1e-13)


@pytest.mark.parametrize("shared", [True, False])
def test_kicks_have_their_size_and_direction(committee, shared: bool):
    """A kick has exactly the size asked for, and one direction for all neurons or one each, isotropic."""
    start = np.random.default_rng(0).normal(size=(3, 3))
    method = tl.PerturbedGradientDescent(0.2, noise=0.01, shared_direction=shared)
    plain = start - 0.2 * np.asarray(committee.gradient(start))
    kicks = (single_steps(committee, method, start, 600) - plain) / 0.01
    np.testing.assert_allclose(np.linalg.norm(kicks, axis=2), 1.0, rtol=1e-11)
    spread = np.abs(kicks - kicks[:, :1]).max(axis=(1, 2))
    assert (spread < 1e-11).all() if shared else (spread > 1e-3).all()
    moments = np.einsum("rni,rnj->nij", kicks, kicks) / 600
    assert np.abs(kicks.mean(axis=0)).max() < 5 / np.sqrt(3 * 600)
    assert np.abs(moments - np.eye(3) / 3).max() < 5 * np.sqrt(4 / 45 / 600)


def test_perturbed_descent_of_a_run(neuron, starts):
    """Along a run of perturbed descent every step is one of descent and a kick."""
    method = tl.PerturbedGradientDescent(0.2, noise=0.01)
    runs = tl.descend(neuron, starts, method, FIFTY, RECORD)
    for run in range(5):
        points = runs.curve("point", run)[1]
        expected = np.stack([w - 0.2 * relu_gradient(w, np.asarray(neuron.target)) for w in points[:-1]])
        np.testing.assert_allclose(np.linalg.norm(points[1:] - expected, axis=1), 0.01, rtol=1e-10)


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
