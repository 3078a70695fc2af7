"""What the studies of the single-neuron paper compute themselves, against the library."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutelage as tl
from tutelage.studies.base import Values
from tutelage.studies.single_neuron import hard_law, learnability_map, success_rates


def test_the_hard_law_is_followed_as_the_library_does():
    """The coordinates of Theorem 3.1's law, one by one, end where descent on its exact loss does."""
    d = 6
    problem = tl.problems.neuron(np.full(d, -1 / np.sqrt(d)), inputs=tl.inputs.finite(-np.eye(d)))
    starts = tl.starts.xavier(problem, 20, seed=3)
    # Also before descent has ended.
    for iterations in (3, 400):
        stop = tl.gradient_norm(1e-12) | tl.step_limit(iterations)
        runs = tl.descend(tl.population(problem), starts, tl.GradientDescent(0.5 * d), stop)
        found = hard_law._final_losses(np.asarray(starts), 0.5, iterations)
        np.testing.assert_allclose(found, runs.losses, rtol=1e-12, atol=1e-20)


@pytest.mark.parametrize(("law", "d"), [("ball", 7), ("heavy tails", 2), ("Gaussian", 1), ("sphere", 1)])
def test_success_is_followed_as_the_library_does(law, d):
    """Distances in the plane of teacher and start, for every law in one program, against runs in all dimensions."""
    values = Values({**success_rates.STUDY.values("quick"), "runs": 5, "iterations": 40})
    found = success_rates._measure(values, 1, "standard", d, 0.0, law)
    inputs = success_rates._LAWS[law](d)
    problem = tl.problems.neuron(np.eye(d)[0], inputs=inputs)
    step = values.step / float(inputs.covariance()[0, 0])
    starts = tl.starts.gaussian(problem, 5, scale=1 / np.sqrt(d), seed=1)
    points = np.asarray(starts)
    np.testing.assert_allclose(found["distance"][:, 0], np.linalg.norm(points - np.eye(d)[0], axis=1), rtol=1e-12)
    runs = tl.descend(tl.population(problem), starts, tl.GradientDescent(step), tl.step_limit(40))
    distances = np.linalg.norm(np.asarray(runs.points) - np.eye(d)[0], axis=1)
    np.testing.assert_allclose(found["distance"][:, -1], distances, rtol=1e-9, atol=1e-14)


def test_batches_of_the_map_are_those_of_a_stream():
    """Stochastic descent on batches that are drawn apart takes the steps of descent on a stream, law by law."""
    rng = np.random.default_rng(0)
    points, noises = rng.normal(size=(2, 32, 3)), np.array([0.0, 0.4])
    activation = tl.activations.get("softplus")
    targets = rng.normal(size=(2, 3))
    labels = np.stack([activation(jnp.asarray(x @ v)) for x, v in zip(points, targets, strict=True)])
    starts = rng.normal(size=(3, 3))
    students = np.broadcast_to(starts, (2, 2, 3, 3))
    # In two stretches.
    for first, steps in ((0, 15), (15, 5)):
        batches = learnability_map._batches(7, first, steps, 3, 4, 32)
        students = learnability_map._stochastic(activation, points, labels, noises, np.array(0.1), students, batches)
    losses = learnability_map._losses(activation, points, labels, students)
    for law in range(2):
        for noise in range(2):
            sample = tl.inputs.data(points[law])
            problem = tl.problems.neuron(targets[law], activation, sample, noise=float(noises[noise]))
            runs = tl.descend(tl.stream(problem, 4), starts, tl.GradientDescent(0.1), tl.step_limit(20), seed=7)
            np.testing.assert_allclose(students[law, noise], runs.points, rtol=1e-11)
            exact = tl.empirical(problem, points[law])
            np.testing.assert_allclose(losses[law, noise], jax.vmap(exact.loss)(runs.points), rtol=1e-11)
