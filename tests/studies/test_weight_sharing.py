"""What the studies of the weight-sharing paper compute themselves, against the library."""

import jax
import numpy as np

import tutelage as tl
from tutelage.claims.weight_sharing.formulas import teacher_norm
from tutelage.dynamics.supply import draw
from tutelage.instant import instantly
from tutelage.models import FirstAndOuter
from tutelage.studies.weight_sharing import landscape
from tutelage.studies.weight_sharing.common import (
    OUTERS,
    Student,
    cosines,
    inputs_of,
    start,
    teacher_of,
    train,
    zero_losses,
)


@instantly
def value_and_gradient(objective, point):
    """The loss and its gradient, by automatic differentiation."""
    return jax.value_and_grad(lambda point: objective.loss(point))(point)


def test_the_line_is_the_librarys():
    """Loss, slope along and curvature across on the teacher's line, against the exact objective."""
    patches = 4
    radius = float(teacher_norm(patches))
    objective = tl.population(tl.problems.parity(np.array([radius, 0.0]), patches))
    for at in (-4.0, -0.3, 0.0, 2.0, radius):
        loss, along, across = landscape._on_line(at, radius, patches)
        point = np.array([at, 0.0])
        hessian = instantly(jax.hessian(lambda w: objective.loss(w)))(point)
        np.testing.assert_allclose(loss, objective.loss(point), atol=1e-12)
        np.testing.assert_allclose([along, 0.0], objective.gradient(point), atol=1e-10)
        np.testing.assert_allclose(across, hessian[1, 1], rtol=1e-7)


def test_second_minimum_from_twelve_patches_on():
    """Even k below 12, and odd k, have one stationary point on the line; k = 12 has three."""
    counts = {k: len(landscape._roots(k, float(teacher_norm(k)), 2000)) for k in (2, 3, 10, 11, 12, 13)}
    assert counts == {2: 1, 3: 1, 10: 1, 11: 1, 12: 3, 13: 1}


def test_all_kinds_are_trained_as_the_librarys_models_would_be():
    """Losses and cosines of students of all kinds, side by side, are those of the library's models, each by hand.

    Two teachers, known and learned outer functions, shared and unshared vectors; all on one stream of batches.
    """
    inputs, patches, units, iterations = inputs_of("gaussian", 6), 3, 4, 5
    kinds = [
        Student(outer, learned, sharing) for outer in OUTERS for learned in (False, True) for sharing in (True, False)
    ]
    vectors = [teacher_of(inputs, norm, 3) for norm in (2.0, 0.7)]
    random = np.random.default_rng(0)
    starts = [start(kind, 0.5, patches, 6, units, random) for kind in kinds * 2]
    teachers = [(vector, kind.outer) for vector in vectors for kind in kinds]
    losses, runs = train(inputs, starts, teachers, 0.3, 16, iterations, range(iterations), seed=5)
    batches = np.asarray(draw(runs.objective.source, np.asarray(5), np.arange(iterations)).inputs)
    for run, (kind, network, (vector, outer)) in enumerate(zip(kinds * 2, starts, teachers, strict=True)):
        problem = tl.problems.composite(
            outer, vector, patches, kind.sharing, learn_outer=kind.learned, units=units, inputs=inputs
        )
        first = network.first[0] if kind.sharing else network.first
        point = FirstAndOuter(first, network.learned) if kind.learned else first
        for number in range(iterations):
            loss, gradient = value_and_gradient(tl.empirical(problem, batches[number]), point)
            np.testing.assert_allclose(losses[run, number], loss, rtol=1e-10)
            point = jax.tree.map(lambda leaf, slope: leaf - 0.3 * slope, point, gradient)
        rows = problem.student.vectors(point)
        cosine = np.mean(rows @ vector / (np.linalg.norm(vector) * np.linalg.norm(rows, axis=1)))
        np.testing.assert_allclose(cosines(runs, teachers)[run], cosine, rtol=1e-9)


def test_losses_that_are_kept_are_those_of_their_steps():
    """Keeping some losses only leaves runs as they are."""
    inputs, random = inputs_of("gaussian", 4), np.random.default_rng(0)
    starts = [start(Student("both", False, sharing), 1.0, 3, 4, 0, random) for sharing in (True, False)]
    settings = inputs, starts, [(teacher_of(inputs, 2.0, 0), "both")] * 2, 0.5, 8, 30
    losses, _ = train(*settings, range(30), seed=5)
    some, _ = train(*settings, range(12, 30, 5), seed=5)
    np.testing.assert_allclose(some, losses[:, 12::5], rtol=1e-12)


def test_losses_of_a_run_that_has_diverged_are_not_numbers():
    """A step that is far too large ends a run; the losses before are kept, and those of other runs."""
    inputs, random = inputs_of("gaussian", 4), np.random.default_rng(0)
    kinds = Student("low", False, True), Student("low", True, True)
    starts = [start(kind, 1.0, 3, 4, 6, random) for kind in kinds]
    losses, runs = train(inputs, starts, [(teacher_of(inputs, 2.0, 0), "low")] * 2, 50.0, 8, 60, range(60), seed=5)
    assert list(runs.statuses) == ["step_limit", "diverged"]
    assert np.isfinite(losses[0]).all() and np.isfinite(losses[1, 0]) and np.isnan(losses[1, -1])


def test_starts_have_the_sizes_that_they_say():
    """The first layer has the scale over the root of the dimension; a learned layer has the usual uniform law."""
    network = start(Student("high", True, False), 0.3, 50, 400, 64, np.random.default_rng(1))
    np.testing.assert_allclose(np.std(network.first), 0.3 / 20, rtol=0.02)
    for leaf, fan_in in zip(network.learned, (50, 50, 64, 64), strict=True):
        assert np.all(np.abs(leaf) <= fan_in**-0.5) and np.max(np.abs(leaf)) > 0.1 * fan_in**-0.5
    shared = start(Student("low", False, True), 0.3, 5, 4, 64, np.random.default_rng(1))
    np.testing.assert_array_equal(shared.first, np.broadcast_to(shared.first[0], (5, 4)))
    assert not any(np.any(leaf) for leaf in shared.learned)


def test_losses_of_a_student_that_is_zero():
    """Half the mean square of the labels of the samples, for each teacher and outer function."""
    inputs = inputs_of("gaussian", 4)
    teachers = np.stack([teacher_of(inputs, norm, 0) for norm in (2.0, 0.5)])
    drawn = inputs.sample(jax.random.key(7), (50, 3))
    found = zero_losses(inputs, teachers, 3, 50, seed=7)
    for row, outer in np.ndindex(2, 3):
        problem = tl.problems.composite(OUTERS[outer], teachers[row], 3, inputs=inputs)
        np.testing.assert_allclose(found[row, outer], tl.empirical(problem, drawn).loss(np.zeros(4)), rtol=1e-12)
