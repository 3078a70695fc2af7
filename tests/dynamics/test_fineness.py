"""Runs that have left the radius of their quadrature do not count as converged because it is too coarse there."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

import tutelage as tl

# A small output weight asks for a steep neuron; the loss falls for ever as it grows, ever more slowly.
OUTPUT = 0.3
PROBLEM = tl.problems.two_layer([[1.0, 0.0]], 1, "tanh", learn="weights", output=[OUTPUT])
METHOD = tl.GradientDescent(step=200.0)


def loss_along_the_teacher(size: float) -> float:
    """The loss of a student along the teacher, by adaptive quadrature."""

    def integrand(z: float) -> float:
        return (OUTPUT * np.tanh(size * z) - np.tanh(z)) ** 2 * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)

    return scipy.integrate.quad(integrand, 0, 9, points=[1 / size, 4 / size], epsabs=1e-14, epsrel=1e-13)[0]


def test_a_loss_that_only_looks_level_to_fixed_nodes_has_not_converged() -> None:
    """The nodes see a critical point where the true loss still falls; the status and its reason say so."""
    objective = tl.population(PROBLEM)
    runs = tl.descend(objective, jnp.array([[[5.0, 0.0]], [[1.0, 0.1]]]), METHOD, stop=tl.gradient_norm(1e-10))
    size = float(jnp.linalg.norm(runs.points[0]))
    slope = (loss_along_the_teacher(1.01 * size) - loss_along_the_teacher(0.99 * size)) / (0.02 * size)
    assert slope < -1e-5 and runs.gradient_norms[0] <= 1e-10
    assert runs.statuses.tolist() == ["coarse"] * 2
    assert runs.reasons[0].startswith("gradient norm at most 1e-10, but 1.9e-05 by a finer quadrature")
    again = tl.descend(objective, runs, METHOD, stop=tl.gradient_norm(1e-11))
    assert (again.steps >= runs.steps).all()  # they can be followed further


def test_an_atlas_leaves_out_what_a_finer_quadrature_says_is_not_critical() -> None:
    """Such a point is no entry; neither is one where no quadrature can tell, whatever counts as zero."""
    objective = tl.population(PROBLEM)
    level, far = np.array([[5.11367701, 0.0]]), np.array([[1e4, 0.0]])
    assert float(jnp.linalg.norm(objective.gradient(level))) < 1e-8
    for point, tolerances in ((level, tl.geometry.Tolerances()), (far, tl.geometry.Tolerances(gradient=100.0))):
        atlas = tl.atlas(objective, point[None], tolerances=tolerances)
        assert (len(atlas), atlas.left_out) == (0, 1)


def test_a_run_that_ends_where_no_quadrature_tells_says_so() -> None:
    """Beyond the finest quadrature a step function is all that nodes see, and the status is not `converged`."""
    runs = tl.descend(tl.population(PROBLEM), jnp.array([[[1e4, 0.0]]]), METHOD, stop=tl.loss_below(1.0))
    assert runs.statuses.tolist() == ["coarse"] and "no finer one can tell" in runs.reasons[0]


def test_large_students_with_a_quadrature_that_is_fine_enough_converge() -> None:
    """Beyond the radius a run still converges where a finer quadrature agrees; so it does for a teacher of its own."""
    problem = tl.problems.committee([[1.0, 0.0]], 1, "tanh")
    objective = tl.population(problem, radius=3.0)
    method, stop = tl.GradientDescent(step=1.0), tl.gradient_norm(1e-9)
    teachers = np.array([[[3.3, 0.0]], [[1.0, 0.0]]])
    runs = tl.descend(objective, teachers + np.array([0.2, 0.1]), method, stop=stop, teachers=teachers)
    assert runs.statuses.tolist() == ["converged"] * 2


def test_a_point_inside_the_radius_of_the_finest_quadrature_is_classified() -> None:
    """A radius that cannot be doubled is no reason to refuse a point inside it."""
    problem = tl.problems.neuron([17.0, 0.0], "tanh")
    objective = tl.population(problem, radius=20.0)
    with pytest.raises(tl.InvalidArgument, match="1200 nodes"):
        tl.population(problem, radius=40.0)
    assert tl.critical_point(objective, jnp.array([17.0, 0.0])).kind == "global minimum"
