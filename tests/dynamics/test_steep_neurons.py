"""Runs of steep neurons see the true loss, and say where no quadrature can tell."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

import tutelage as tl

# A small output weight asks for a steep neuron.
OUTPUT = 0.3
PROBLEM = tl.problems.two_layer([[1.0, 0.0]], 1, "tanh", learn="weights", output=[OUTPUT])
METHOD = tl.GradientDescent(step=200.0)


def loss_along_the_teacher(size: float) -> float:
    """The loss of a student along the teacher, by adaptive quadrature."""

    def integrand(z: float) -> float:
        return (OUTPUT * np.tanh(size * z) - np.tanh(z)) ** 2 * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)

    return scipy.integrate.quad(integrand, 0, 9, points=[1 / size, 4 / size], epsabs=1e-14, epsrel=1e-13)[0]


def slope_along_the_teacher(size: float) -> float:
    """Its slope, by differences."""
    step = 2e-4 * size
    return (loss_along_the_teacher(size + step) - loss_along_the_teacher(size - step)) / (2 * step)


def test_a_steep_neuron_ends_at_the_minimum_of_the_true_loss() -> None:
    """Nodes that were the same for all norms saw a minimum at 5.114, where the loss still falls; it is at 5.195."""
    objective = tl.population(PROBLEM)
    for size in (0.3, 1.0, 5.11367701, 11.0):
        found = float(objective.gradient(np.array([[size, 0.0]]))[0, 0])
        assert found == pytest.approx(slope_along_the_teacher(size), rel=1e-5)
    runs = tl.descend(objective, jnp.array([[[5.0, 0.0]]]), METHOD, stop=tl.gradient_norm(1e-10))
    size = float(jnp.linalg.norm(runs.points[0]))
    assert runs.statuses.tolist() == ["converged"]
    assert slope_along_the_teacher(0.9999 * size) < 0 < slope_along_the_teacher(1.0001 * size)


def test_a_run_that_ends_where_no_quadrature_tells_says_so() -> None:
    """A step function is all that the finest nodes see there, and the status is not `converged`."""
    runs = tl.descend(tl.population(PROBLEM), jnp.array([[[1e4, 0.0]]]), METHOD, stop=tl.loss_below(1.0))
    assert runs.statuses.tolist() == ["coarse"] and "too far from zero" in runs.reasons[0]


def test_an_atlas_leaves_out_what_no_quadrature_can_judge() -> None:
    """Such a point is no entry, whatever counts as zero."""
    for point, tolerances in (([5.11, 0.0], tl.geometry.Tolerances()), ([1e4, 0.0], tl.geometry.Tolerances(100.0))):
        atlas = tl.atlas(tl.population(PROBLEM), np.array([[point]]), tolerances=tolerances)
        assert (len(atlas), atlas.left_out) == (0, 1)


def test_steep_teachers_are_found_and_named() -> None:
    """Also with a teacher for each run, and where the teacher is as steep as quadratures reach."""
    objective = tl.population(tl.problems.committee([[1.0, 0.0]], 1, "tanh"))
    method, stop = tl.GradientDescent(step=1.0), tl.gradient_norm(1e-9)
    teachers = np.array([[[3.3, 0.0]], [[1.0, 0.0]]])
    runs = tl.descend(objective, teachers + np.array([0.2, 0.1]), method, stop=stop, teachers=teachers)
    assert runs.statuses.tolist() == ["converged"] * 2
    steep = tl.population(tl.problems.neuron([15.0, 0.0], "tanh"))
    assert tl.critical_point(steep, jnp.array([15.0, 0.0])).kind == "global minimum"
