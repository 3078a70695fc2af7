"""Population losses of every family against sampling, finite differences and themselves."""

import functools
from typing import NamedTuple

import differences
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from families import PROBLEMS, random_point

import tutelage as tl
from tutelage.points import template_of


class Evaluated(NamedTuple):
    """A problem at some students: losses and gradients, and the Hessian at the first.

    The students are a random one, those a step away from it along the axes (forwards, then backwards), another random
    one, and the teacher where the family has it.
    """

    problem: tl.problems.Problem
    losses: np.ndarray
    gradients: np.ndarray
    hessian: np.ndarray
    direction: np.ndarray
    product: np.ndarray


STEP = 1e-5


@functools.cache
def evaluated(name: str) -> Evaluated:
    """Evaluate a problem once, for all tests, by NumPy; other tests compare NumPy's numbers with XLA's.

    The methods are called one by one: what is traced for them here serves the other tests of the same problems.
    """
    problem = PROBLEMS[name]()
    objective = tl.population(problem)
    template = jax.tree.leaves(random_point(problem, 1))
    first, other = (_flat(random_point(problem, seed)) for seed in (1, 3))
    teacher = _as_student(problem)
    last = other if teacher is None else _flat(teacher)
    moves = STEP * np.eye(first.size)
    direction = np.random.default_rng(2).normal(size=first.size)

    def unravel(flat):
        leaves = np.split(flat, np.cumsum([leaf.size for leaf in template])[:-1])
        shaped = [part.reshape(leaf.shape) for part, leaf in zip(leaves, template, strict=True)]
        return jax.tree.unflatten(jax.tree.structure(problem.template_tree()), shaped)

    points = [unravel(flat) for flat in (first, *(first + moves), *(first - moves), other, last)]
    return Evaluated(
        problem,
        np.array([objective.loss(point) for point in points]),
        np.array([_flat(objective.gradient(point)) for point in points]),
        objective.hessian(points[0]),
        direction,
        _flat(objective.hessian_vector(points[0], unravel(direction))),
    )


def _flat(point) -> np.ndarray:
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(point)])


@pytest.mark.parametrize("name", PROBLEMS)
def test_derivatives(name):
    """Gradient and Hessian agree with central differences, and the Hessian with Hessian–vector products."""
    found = evaluated(name)
    size = len(found.direction)
    differences = (found.losses[1 : size + 1] - found.losses[size + 1 : 2 * size + 1]) / (2 * STEP)
    # Central differences of a loss of order one at step 1e-5 are good to about 1e-10; the slopes to 1e-9.
    np.testing.assert_allclose(found.gradients[0], differences, atol=2e-9)
    slopes = (found.gradients[1 : size + 1] - found.gradients[size + 1 : 2 * size + 1]) / (2 * STEP)
    np.testing.assert_allclose(found.hessian, slopes, atol=2e-8)
    # To a rounding: inside a larger program the two halves may be computed apart.
    np.testing.assert_allclose(found.hessian, found.hessian.T, rtol=0, atol=4e-16 * np.abs(found.hessian).max())
    np.testing.assert_allclose(found.product, found.hessian @ found.direction, atol=1e-11)


@pytest.mark.parametrize("activation", ["relu", "abs", "sign", "erf"])
def test_second_derivatives_of_several_lists_of_neurons_at_once(activation):
    """A vector for each patch, and students that are mapped over, under inputs with a mean: slopes of the gradient."""
    law = tl.inputs.registry()["gaussian_shifted"](3)
    objective = tl.population(tl.problems.parity([1.0, 0.2, -0.4], 2, sharing=False, activation=activation, inputs=law))
    point = np.random.default_rng(3).normal(size=(2, 3))

    def gradient(flat):
        return np.ravel(objective.gradient(flat.reshape(2, 3)))

    slopes = differences.jacobian(gradient, point.ravel(), step=1e-3)
    np.testing.assert_allclose(objective.hessian(point), slopes, atol=2e-10)
    committee = tl.population(tl.problems.committee(np.eye(2, 3), 2, activation, law))
    students = np.stack([point, -2 * point, point[::-1] + 0.1])
    one_by_one = [committee.hessian(student) for student in students]
    np.testing.assert_allclose(jax.vmap(committee.hessian)(jnp.asarray(students)), one_by_one, atol=1e-12)


@pytest.mark.parametrize("name", PROBLEMS)
def test_loss_against_sampling(name):
    """The exact loss lies within 4.5 standard errors of a sampled one."""
    found = evaluated(name)
    point = random_point(found.problem, 3)
    inputs, labels = found.problem.sample(jax.random.key(7), 200_000)
    squares = 0.5 * (np.asarray(found.problem.student.predict(point, inputs)) - np.asarray(labels)) ** 2
    loss = found.losses[-2] - float(found.problem.penalty(point))
    assert abs(loss - squares.mean()) < 4.5 * squares.std() / np.sqrt(len(squares))


def _as_student(problem):
    """The teacher as a student, or None if the family does not have it."""
    target = problem.target
    if problem.name == "homogeneous":
        vectors = np.asarray(target)
        rows = vectors / np.sqrt(np.linalg.norm(vectors, axis=1, keepdims=True))
        template = problem.template_tree()
        if problem.student.linear:
            return tl.models.WithLinear(rows, np.zeros(3))
        return None if problem.student.signs is not None else _padded(rows, template)
    if problem.name == "committee":
        return _padded(target, problem.template_tree())
    if problem.name == "convolution":
        scale = np.linalg.norm(target.filter) if problem.student.normalized else 1.0
        return target._replace(output=scale * np.asarray(target.output))
    if problem.name == "two_layer":
        # Spare neurons are zero, and so are what the teacher does not have.
        template = problem.template_tree()
        if not isinstance(target, tl.models.Layers) or not problem.student.contains(
            problem.zero(), problem.teacher, target
        ):
            return None
        return jax.tree.map(lambda leaf, part: _padded(part, leaf), template, target)
    return np.broadcast_to(target, problem.template_tree().shape)


def _padded(part, whole) -> np.ndarray:
    """An array, filled up with zeros to the shape of another."""
    padded = np.zeros(whole.shape)
    padded[tuple(map(slice, np.shape(part)))] = part
    return padded


# A signed student does not contain the teacher, nor do others with fixed output weights; decay moves the minimum.
WITHOUT = (
    "homogeneous, signed",
    "two layers, erf, biases, constant, decay",
    "two layers, ReLU, biases, shifted inputs",
)


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name not in WITHOUT])
def test_teacher_is_a_minimum(name):
    """At the teacher the loss is that of the label noise, and the gradient vanishes."""
    found = evaluated(name)
    np.testing.assert_allclose(found.losses[-1], 0.5 * found.problem.noise**2, atol=1e-11)
    if name != "parity, step":  # a cone: no gradient at its tip
        np.testing.assert_allclose(found.gradients[-1], 0.0, atol=1e-9)


# By the symmetry of the inputs: building all objectives would make every collection of tests slow.
REDUCIBLE = [name for name, build in PROBLEMS.items() if build().inputs.symmetry == "rotation"]


@pytest.mark.parametrize("name", [n for n in REDUCIBLE if "orthonormal" not in n])
def test_reduction_keeps_loss_and_gradient(name):
    """In the span of start and teacher, embedded in 12 dimensions, loss and lifted gradient are the same."""
    small = PROBLEMS[name]()
    problem = _embedded(small, 12)
    objective = tl.population(problem)
    assert objective.span_suffices
    point = jax.tree.map(np.asarray, random_point(problem, 5))
    batch = jax.tree.map(lambda leaf: leaf[None], point)
    reduced = objective.reduced(batch)
    inner = jax.tree.map(lambda leaf: leaf[0], reduced.points)
    np.testing.assert_allclose(reduced.objective.loss(inner), objective.loss(point), atol=1e-12)
    gradient = jax.tree.map(lambda leaf: leaf[None], reduced.objective.gradient(inner))
    lifted = reduced.lift(gradient, np.array([0]))
    np.testing.assert_allclose(_flat(lifted), _flat(objective.gradient(point)), atol=1e-11)
    np.testing.assert_allclose(_flat(reduced.lift(reduced.points, np.array([0]))), _flat(point), atol=1e-12)


def _embedded(problem, dimension: int):
    """The same family with its teacher in a larger space, under a law of the same kind."""
    random = np.random.default_rng(8)
    frame = np.linalg.qr(random.normal(size=(dimension, dimension)))[0][:3]
    laws = {"gaussian": tl.inputs.gaussian, "ball": tl.inputs.ball, "sphere": tl.inputs.sphere}
    law = laws.get(problem.inputs.name.split("(")[0], tl.inputs.gaussian)(dimension)
    target = problem.teacher.with_vectors(problem.target, np.asarray(problem.teacher.vectors(problem.target)) @ frame)
    wide = jax.tree.map(np.asarray, random_point(problem, 0))
    wide = problem.student.with_vectors(wide, problem.student.vectors(wide) @ frame)
    return tl.problems.Problem(
        problem.name, problem.student, problem.teacher, target, law, problem.noise, template_of(wide)
    )


def test_composite_has_no_population_loss():
    """The composite problem is refused by name, with what to use instead."""
    with pytest.raises(tl.UnsupportedCombination, match=r"composite.*stream"):
        tl.population(tl.problems.composite("both", np.ones(4)))


def test_unknown_expectation_is_refused_by_name():
    """An expectation without closed form or quadrature is refused; nothing is sampled."""
    with pytest.raises(tl.UnsupportedCombination, match=r"relu under uniform_box\(3\)"):
        tl.population(tl.problems.neuron(np.ones(3), inputs=tl.inputs.uniform_box(3)))


@pytest.mark.parametrize(
    ("problem", "kind"),
    [
        (lambda: tl.problems.neuron(np.ones(2)), "closed form"),
        (lambda: tl.problems.neuron(np.ones(2), "gelu"), "quadrature"),
        (lambda: tl.problems.neuron(np.ones(2), inputs=tl.inputs.finite(np.eye(2))), "exact sum"),
    ],
)
def test_exactness(problem, kind):
    """An objective says how its expectation is taken."""
    assert tl.population(problem()).exactness.kind == kind
    assert tl.stream(problem(), 8).exactness.kind == "sampling"
    assert tl.empirical(problem(), np.ones((3, 2))).exactness.kind == "sampling"
