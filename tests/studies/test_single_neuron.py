"""What the studies of the single-neuron paper compute themselves, against the library."""

import numpy as np
import pytest

import tutelage as tl
from tutelage.studies.base import Values
from tutelage.studies.single_neuron import hard_law, success_rates


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
