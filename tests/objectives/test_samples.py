"""Empirical and streamed objectives: sums over samples, fresh batches, and bad input."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from families import PROBLEMS, SAMPLED, random_point

import tutelage as tl

PROBLEM = tl.problems.committee(np.eye(3), 2)
POINT = np.random.default_rng(0).normal(size=(2, 3))


@pytest.mark.parametrize("name", {**PROBLEMS, **SAMPLED})
def test_the_gradient_is_that_of_differences(name):
    """The gradient over a sample, in NumPy as in XLA, is the change of the loss, whatever the architecture."""
    problem = {**PROBLEMS, **SAMPLED}[name]()
    random = np.random.default_rng(0)
    objective = tl.empirical(problem, random.normal(size=(*problem.input_shape(7), problem.dimension)))
    point = jax.tree.map(np.asarray, random_point(problem, 3))
    direction = jax.tree.map(lambda leaf: random.normal(size=leaf.shape), point)

    def loss(step):
        return float(objective.loss(jax.tree.map(lambda leaf, move: leaf + step * move, point, direction)))

    change = (8 * (loss(1e-4) - loss(-1e-4)) - (loss(2e-4) - loss(-2e-4))) / 12e-4
    for gradient in (objective.gradient(point), eqx.filter_jit(lambda o, p: o.gradient(p))(objective, point)):
        slope = sum(np.sum(a * b) for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(direction), strict=True))
        assert slope == pytest.approx(change, abs=1e-9 * max(1.0, abs(change)))


def test_empirical_is_the_mean_over_the_sample():
    """The empirical loss is half the mean squared residual, its gradient the mean of the samples' gradients."""
    inputs = np.random.default_rng(1).normal(size=(50, 3))
    residuals = np.maximum(inputs @ POINT.T, 0).sum(1) - np.maximum(inputs, 0).sum(1)
    objective = tl.empirical(PROBLEM, inputs)
    np.testing.assert_allclose(objective.loss(POINT), 0.5 * np.mean(residuals**2), rtol=1e-13)
    active = inputs @ POINT.T > 0
    gradient = np.einsum("n,ni,nd->id", residuals, active, inputs) / 50
    np.testing.assert_allclose(objective.gradient(POINT), gradient, atol=1e-13)


def test_own_labels():
    """Labels of one's own replace the teacher's."""
    inputs = np.eye(3)
    objective = tl.empirical(PROBLEM, inputs, labels=np.zeros(3))
    outputs = np.maximum(POINT, 0).sum(0)
    np.testing.assert_allclose(objective.loss(POINT), 0.5 * np.mean(outputs**2), rtol=1e-13)


def test_finite_support_is_an_exact_sum():
    """Under a law with finite support the population loss is the weighted sum over it, label noise added."""
    points, weights = np.random.default_rng(2).normal(size=(4, 3)), np.array([0.1, 0.2, 0.3, 0.4])
    problem = tl.problems.neuron(np.ones(3), "tanh", inputs=tl.inputs.finite(points, weights), noise=0.5)
    w = np.array([0.2, -1.0, 0.4])
    residuals = np.tanh(points @ w) - np.tanh(points.sum(1))
    expected = 0.5 * weights @ residuals**2 + 0.125
    np.testing.assert_allclose(tl.population(problem).loss(w), expected, rtol=1e-13)
    patches = tl.problems.convolution(np.ones(3), [1.0, 2.0], activation="tanh", inputs=problem.inputs)
    assert {tl.population(each).exactness.kind for each in (problem, patches)} == {"exact sum"}


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_stream_is_unbiased_and_deterministic(noise):
    """Batches depend on the key alone, and their gradients average to the population gradient."""
    objective = tl.stream(tl.problems.committee(np.eye(3), 2, noise=noise), batch=64)
    gradients = jax.jit(jax.vmap(lambda key: objective.gradient(POINT, key)))(jax.random.split(jax.random.key(0), 2000))
    mean, error = np.mean(gradients, axis=0), np.std(gradients, axis=0) / np.sqrt(2000)
    exact = np.asarray(tl.population(PROBLEM).gradient(POINT))
    assert np.all(np.abs(mean - exact) < 4.5 * error)
    key = jax.random.key(3)
    assert float(objective.loss(POINT, key)) == float(objective.loss(POINT, key))


def test_patches_are_independent():
    """A problem that reads patches samples a patch axis, and its population loss agrees with a large sample."""
    problem = tl.problems.convolution(np.array([1.0, 0.5]), np.array([1.0, -2.0, 0.5]))
    inputs, labels = problem.sample(jax.random.key(0), 10)
    assert inputs.shape == (10, 3, 2) and labels.shape == (10,) and inputs.dtype == jnp.float64


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: tl.empirical(PROBLEM, np.ones((5, 2))), "inputs"),
        (lambda: tl.empirical(PROBLEM, np.full((5, 3), np.nan)), "inputs"),
        (lambda: tl.empirical(PROBLEM, np.ones((5, 3)), labels=np.ones(4)), "labels"),
        (lambda: tl.stream(PROBLEM, batch=0), "batch"),
        (lambda: tl.stream(PROBLEM, batch=4).loss(POINT), "key"),
        (lambda: tl.empirical(PROBLEM, np.ones(3)), "inputs"),
        (lambda: tl.empirical(PROBLEM, np.ones((5, 3)), labels=np.full(5, np.inf)), "labels"),
        (lambda: tl.stream(PROBLEM, batch=2.5), "batch"),
        (lambda: tl.population("committee"), "problem"),
        (lambda: tl.stream("committee", batch=3), "problem"),
        (lambda: tl.empirical("committee", np.ones((5, 3))), "problem"),
        (lambda: tl.population(tl.problems.neuron(np.ones(2), "tanh"), tolerance=-1), "tolerance"),
        (lambda: tl.population(tl.problems.neuron(1e4 * np.ones(2), "tanh")), "tolerance"),
    ],
)
def test_bad_input(call, argument):
    """Bad input gets one error that names the argument."""
    with pytest.raises(tl.InvalidArgument, match=f"`{argument}`"):
        call()
