"""The symmetries that each problem has, judged at random points (property tests with fixed examples)."""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tutelage as tl
from tutelage.instant import instantly
from tutelage.models import FilterAndOutput

SEEDS = st.integers(0, 10_000)


def draw(seed: int, *shape: int) -> np.ndarray:
    """Standard normal numbers that depend on the seed alone."""
    return np.random.default_rng(seed).normal(size=shape)


def rotation(seed: int, dimension: int = 3) -> np.ndarray:
    """A random orthogonal matrix."""
    return np.linalg.qr(draw(seed, dimension, dimension))[0]


TEACHER = draw(1, 2, 3)
ROTATED = rotation(2)


@functools.cache
def pair_of_objectives(activation: str, law: str, change: str):
    """A committee objective, and the one of the changed teacher."""
    teachers = {
        "none": TEACHER,
        "rotated": TEACHER @ ROTATED.T,
        "scaled": 1.7 * TEACHER,
        "negated": TEACHER * [[1], [-1]],
    }
    objective = tl.population(tl.problems.committee(teachers[change], 3, activation, tl.inputs.registry()[law](3)))
    return instantly(lambda point: (objective.loss(point), objective.gradient(point)))


@pytest.mark.parametrize(("activation", "law"), [("erf", "gaussian"), ("relu", "gaussian_correlated")])
@settings(max_examples=10)
@given(seed=SEEDS)
def test_students_can_be_exchanged(activation: str, law: str, seed: int) -> None:
    """A permutation of the students leaves the loss and permutes the gradient."""
    evaluate = pair_of_objectives(activation, law, "none")
    point, order = draw(seed, 3, 3), np.random.default_rng(seed).permutation(3)
    loss, gradient = evaluate(jnp.asarray(point))
    other, permuted = evaluate(jnp.asarray(point[order]))
    assert float(loss) == pytest.approx(float(other), rel=1e-13)
    np.testing.assert_allclose(permuted, np.asarray(gradient)[order], atol=1e-13)


@pytest.mark.parametrize(("activation", "law"), [("abs", "ball"), ("erf", "gaussian"), ("quadratic", "sphere")])
@settings(max_examples=10)
@given(seed=SEEDS)
def test_a_common_rotation_changes_nothing(activation: str, law: str, seed: int) -> None:
    """Under rotation-invariant laws, rotating students and teacher together rotates the gradient."""
    point = draw(seed, 3, 3)
    loss, gradient = pair_of_objectives(activation, law, "none")(jnp.asarray(point))
    other, rotated = pair_of_objectives(activation, law, "rotated")(jnp.asarray(point @ ROTATED.T))
    assert float(loss) == pytest.approx(float(other), rel=1e-11, abs=1e-12)
    np.testing.assert_allclose(rotated, np.asarray(gradient) @ ROTATED.T, rtol=1e-11, atol=1e-12)


def test_the_rotation_test_can_fail() -> None:
    """Under a correlated law a rotation does change the loss."""
    point = draw(0, 3, 3)
    loss, _ = pair_of_objectives("relu", "gaussian_correlated", "none")(jnp.asarray(point))
    other, _ = pair_of_objectives("relu", "gaussian_correlated", "rotated")(jnp.asarray(point @ ROTATED.T))
    assert abs(float(loss) - float(other)) > 1e-3


@pytest.mark.parametrize(("activation", "degree"), [("abs", 1), ("quadratic", 2), ("step", 0)])
@settings(max_examples=10)
@given(seed=SEEDS)
def test_a_common_scale_multiplies_the_loss(activation: str, degree: int, seed: int) -> None:
    """For activations of degree p, scaling students and teacher by s multiplies the loss by s^(2p)."""
    point = draw(seed, 3, 3)
    loss, gradient = pair_of_objectives(activation, "gaussian", "none")(jnp.asarray(point))
    other, scaled = pair_of_objectives(activation, "gaussian", "scaled")(jnp.asarray(1.7 * point))
    assert float(other) == pytest.approx(1.7 ** (2 * degree) * float(loss), rel=1e-11, abs=1e-13)
    np.testing.assert_allclose(scaled, 1.7 ** (2 * degree - 1) * np.asarray(gradient), rtol=1e-11, atol=1e-12)


@settings(max_examples=10)
@given(seed=SEEDS)
def test_signs_of_absolute_values_do_not_matter(seed: int) -> None:
    """For |·| any student, and any teacher, can be negated; for the homogeneous form too."""
    point, signs = draw(seed, 3, 3), np.random.default_rng(seed).choice([-1.0, 1.0], size=(3, 1))
    loss, gradient = pair_of_objectives("abs", "gaussian", "none")(jnp.asarray(point))
    other, negated = pair_of_objectives("abs", "gaussian", "negated")(jnp.asarray(signs * point))
    assert float(loss) == pytest.approx(float(other), rel=1e-13)
    np.testing.assert_allclose(negated, signs * np.asarray(gradient), atol=1e-13)


VECTOR = draw(3, 3)
OTHERS = {
    "convolution": lambda: tl.problems.convolution(VECTOR, draw(4, 4)),
    "homogeneous": lambda: tl.problems.homogeneous(TEACHER, 2),
    "parity, shared": lambda: tl.problems.parity(VECTOR, 3),
    "parity, unshared": lambda: tl.problems.parity(VECTOR, 3, sharing=False),
}


@functools.cache
def evaluator(name: str):
    """A compiled objective of one of the other families."""
    objective = tl.population(OTHERS[name]())
    return instantly(lambda point: (objective.loss(point), objective.gradient(point)))


@settings(max_examples=10)
@given(seed=SEEDS, scale=st.floats(0.01, 100.0))
def test_a_normalized_filter_has_no_scale(seed: int, scale: float) -> None:
    """The loss of a normalised convolution does not depend on the filter's norm; its gradient is orthogonal to it."""
    evaluate = evaluator("convolution")
    point = FilterAndOutput(jnp.asarray(draw(seed, 3)), jnp.asarray(draw(seed + 1, 4)))
    loss, gradient = evaluate(point)
    other, scaled = evaluate(FilterAndOutput(scale * point.filter, point.output))
    assert float(loss) == pytest.approx(float(other), rel=1e-12)
    assert float(gradient.filter @ point.filter) == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(scale * scaled.filter, gradient.filter, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(scaled.output, gradient.output, rtol=1e-12)


@settings(max_examples=10)
@given(seed=SEEDS)
def test_a_homogeneous_neuron_can_be_negated(seed: int) -> None:
    """‖w‖|w·x| is even in w."""
    evaluate = evaluator("homogeneous")
    point = draw(seed, 2, 3)
    loss, gradient = evaluate(jnp.asarray(point))
    other, negated = evaluate(jnp.asarray(point * [[-1.0], [1.0]]))
    assert float(loss) == pytest.approx(float(other), rel=1e-13)
    np.testing.assert_allclose(negated, np.asarray(gradient) * [[-1.0], [1.0]], atol=1e-13)


@settings(max_examples=5)
@given(seed=SEEDS)
def test_sharing_is_the_restriction_to_equal_rows(seed: int) -> None:
    """A shared vector has the loss of equal rows, and its gradient is the sum of theirs."""
    vector = draw(seed, 3)
    loss, gradient = evaluator("parity, shared")(jnp.asarray(vector))
    other, rows = evaluator("parity, unshared")(jnp.tile(jnp.asarray(vector), (3, 1)))
    assert float(loss) == pytest.approx(float(other), rel=1e-12)
    np.testing.assert_allclose(gradient, np.asarray(rows).sum(axis=0), atol=1e-13)


def test_the_relu_problem_with_a_linear_term_is_the_absolute_value_one() -> None:
    """With a free linear term, ReLU is half the absolute value up to the term: its best loss is a quarter of |·|'s."""
    point, teacher = draw(3, 2, 3), draw(4, 2, 3)
    relu = tl.population(tl.problems.homogeneous(teacher, 2, "relu", linear=True))
    absolute = tl.population(tl.problems.homogeneous(teacher, 2, "abs"))
    weights = jnp.asarray(point)
    neurons = jnp.linalg.norm(weights, axis=1)[:, None] * weights
    best = 0.5 * (jnp.sum(jnp.asarray(teacher), axis=0) - jnp.sum(neurons, axis=0))
    loss = float(relu.loss(tl.models.WithLinear(weights, best)))
    assert loss == pytest.approx(float(absolute.loss(weights)) / 4, rel=1e-12)
    np.testing.assert_allclose(relu.gradient(tl.models.WithLinear(weights, best)).linear, 0.0, atol=1e-13)
