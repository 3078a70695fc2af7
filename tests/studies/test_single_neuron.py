"""What the studies of the single-neuron paper compute themselves, against the library."""

import numpy as np
import pytest

import tutelage as tl
from tutelage.dynamics.supply import draw
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


def test_the_map_descends_on_batches_of_its_samples():
    """A plain loop on the rows and the noise that a seed draws ends at the same losses over the sample."""
    rng = np.random.default_rng(0)
    points, target, starts = rng.normal(size=(32, 3)), rng.normal(size=3), rng.normal(size=(2, 3))
    values = Values(step=0.1, batch=4, iterations=20)
    exact = tl.empirical(tl.problems.neuron(target, "tanh"), points)
    for noise in (0.0, 0.4):
        problem = tl.problems.neuron(target, "tanh", inputs=tl.inputs.finite(points), noise=noise)
        batches = draw(tl.stream(problem, 4, shared=True).source, np.asarray(7), np.arange(20))
        found = learnability_map._stochastic(values, exact, noise, starts, seed=7)
        for student, loss in zip(starts, found, strict=True):
            for inputs, errors in zip(*map(np.asarray, batches), strict=True):
                outputs = np.tanh(inputs @ student)
                residuals = outputs - np.tanh(inputs @ target) - errors
                student = student - 0.1 * inputs.T @ (residuals * (1 - outputs**2)) / 4
            assert loss == pytest.approx(0.5 * np.mean((np.tanh(points @ student) - np.tanh(points @ target)) ** 2))
        assert np.std(batches.errors) == pytest.approx(noise, rel=0.3)
