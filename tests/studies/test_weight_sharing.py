"""What the studies of the weight-sharing paper compute themselves, against the library."""

import jax
import numpy as np

import tutelage as tl
from tutelage.claims.weight_sharing.formulas import teacher_norm
from tutelage.instant import instantly
from tutelage.models import FirstAndOuter, OuterLayer
from tutelage.studies.weight_sharing import landscape
from tutelage.studies.weight_sharing.common import (
    OUTERS,
    Student,
    inputs_of,
    teacher_of,
    train,
    train_starts,
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


def test_training_is_plain_stochastic_descent():
    """A student trained beside others takes the steps that it takes alone, by hand."""
    inputs = inputs_of("gaussian", 6)
    teachers = np.stack([teacher_of(inputs, 2.0, seed) for seed in (3, 4)])
    kinds = [Student("both", False, True, 0.5, 0.3), Student("high", True, False, 0.5, 0.3)]
    together = train(inputs, kinds, teachers, 3, 16, 5, 4, seeds=(3, 4))
    alone = train(inputs, kinds[:1], teachers[:1], 3, 16, 5, 4, seeds=(3,))
    np.testing.assert_allclose(together["loss"][0, 0], alone["loss"][0, 0], rtol=1e-12)
    problem = tl.problems.composite("both", teachers[0], 3, inputs=inputs)
    point = 0.5 / np.sqrt(6) * np.random.default_rng([3, 2]).normal(size=6)
    for number in range(5):
        drawn = inputs.sample(jax.random.fold_in(jax.random.key(3), number), (16, 3))
        loss, gradient = value_and_gradient(tl.empirical(problem, drawn), point)
        np.testing.assert_allclose(alone["loss"][0, 0, number], loss, rtol=1e-10)
        point = point - 0.3 * gradient


def test_many_starts_on_the_same_batches():
    """Training many starts for several teachers at once is training each by hand, with sharing and without."""
    inputs = inputs_of("gaussian", 4)
    teachers = np.stack([teacher_of(inputs, norm, 0) for norm in (2.0, 0.5)])
    starts = np.random.default_rng(0).normal(size=(2, 3, 4))
    kinds = [[Student("both", False, sharing, 1.0, step) for sharing in (True, False)] for step in (0.5, 0.3)]
    losses = train_starts(inputs, kinds, teachers, starts, 8, 6, seed=5)
    for teacher, students, of_teacher in zip(teachers, kinds, losses, strict=True):
        for student, start, found in zip(students, starts, of_teacher, strict=True):
            problem = tl.problems.composite("both", teacher, 3, student.sharing, inputs=inputs)
            point = start[0] if student.sharing else start
            for number in range(6):
                drawn = inputs.sample(jax.random.fold_in(jax.random.key(5), number), (8, 3))
                loss, gradient = value_and_gradient(tl.empirical(problem, drawn), point)
                np.testing.assert_allclose(found[number], loss, rtol=1e-10)
                point = point - student.step * gradient


def test_training_with_a_learned_outer_function():
    """The losses and the cosine of students that learn their outer function, by hand."""
    inputs = inputs_of("gaussian", 6)
    teachers = teacher_of(inputs, 2.0, 3)[None]
    for sharing in (True, False):
        trained = train(inputs, [Student("high", True, sharing, 0.5, 0.3)], teachers, 3, 16, 5, 4, seeds=(3,))
        problem = tl.problems.composite("high", teachers[0], 3, sharing, learn_outer=True, units=4, inputs=inputs)
        random = np.random.default_rng([3, 2])
        first = 0.5 / np.sqrt(6) * random.normal(size=(6,) if sharing else (3, 6))
        inner, outer = 1 / np.sqrt(3), 1 / np.sqrt(4)
        sizes = ((inner, (4, 3)), (inner, (4,)), (outer, (4,)), (outer, ()))
        layer = OuterLayer(*(np.asarray(random.uniform(-size, size, shape)) for size, shape in sizes))
        point = FirstAndOuter(first, layer)
        for number in range(5):
            drawn = inputs.sample(jax.random.fold_in(jax.random.key(3), number), (16, 3))
            loss, gradient = value_and_gradient(tl.empirical(problem, drawn), point)
            np.testing.assert_allclose(trained["loss"][0, 0, number], loss, rtol=1e-10)
            point = jax.tree.map(lambda leaf, slope: leaf - 0.3 * slope, point, gradient)
        rows = problem.student.vectors(point)
        cosine = np.mean(rows @ teachers[0] / (2.0 * np.linalg.norm(rows, axis=1)))
        np.testing.assert_allclose(trained["cosine"][0, 0], cosine, rtol=1e-10)


def test_losses_of_a_student_that_is_zero():
    """Half the mean square of the labels of the samples, for each teacher and outer function."""
    inputs = inputs_of("gaussian", 4)
    teachers = np.stack([teacher_of(inputs, norm, 0) for norm in (2.0, 0.5)])
    drawn = inputs.sample(jax.random.key(7), (50, 3))
    found = zero_losses(inputs, teachers, 3, 50, seed=7)
    for row, outer in np.ndindex(2, 3):
        problem = tl.problems.composite(OUTERS[outer], teachers[row], 3, inputs=inputs)
        np.testing.assert_allclose(found[row, outer], tl.empirical(problem, drawn).loss(np.zeros(4)), rtol=1e-12)
