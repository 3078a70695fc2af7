"""What the studies of the weight-sharing paper compute themselves, against the library."""

import jax
import jax.numpy as jnp
import numpy as np

import tutelage as tl
from tutelage.claims.weight_sharing.formulas import teacher_norm
from tutelage.studies.weight_sharing import landscape
from tutelage.studies.weight_sharing.common import Student, inputs_of, teacher_of, train, train_starts


def test_the_line_is_the_librarys():
    """Loss, slope along and curvature across on the teacher's line, against the exact objective."""
    patches = 4
    radius = float(teacher_norm(patches))
    objective = tl.population(tl.problems.parity(np.array([radius, 0.0]), patches))
    for at in (-4.0, -0.3, 0.0, 2.0, radius):
        loss, along, across = landscape._on_line(at, radius, patches)
        point = jnp.array([at, 0.0])
        hessian = jax.hessian(lambda w: objective.loss(w))(point)
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
        loss, gradient = jax.value_and_grad(tl.empirical(problem, drawn).loss)(jnp.asarray(point))
        np.testing.assert_allclose(alone["loss"][0, 0, number], loss, rtol=1e-10)
        point = point - 0.3 * gradient


def test_many_starts_on_the_same_batches():
    """Training many starts at once is training each."""
    inputs = inputs_of("gaussian", 4)
    problem = tl.problems.composite("both", teacher_of(inputs, 2.0, 0), 3, sharing=False, inputs=inputs)
    starts = jnp.asarray(np.random.default_rng(0).normal(size=(2, 3, 4)))
    both = train_starts(problem, 0.5, starts, jax.random.key(0), 8, 6)
    for index in range(2):
        one = train_starts(problem, 0.5, starts[index : index + 1], jax.random.key(0), 8, 6)
        np.testing.assert_allclose(both[index], one[0], rtol=1e-10)
