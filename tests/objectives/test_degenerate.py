"""Students where formulas degenerate: aligned, opposite, coincident, zero, tiny and huge ones."""

from __future__ import annotations

import functools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import tutelage as tl
from tutelage.instant import instantly
from tutelage.models import FilterAndOutput, NeuronModel, Neurons
from tutelage.points import template_of

TEACHER = np.eye(3)


def committee_hessian(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The Hessian of two students as blocks `[2, 3, 2, 3]`."""
    return np.asarray(committee(2).hessian(jnp.asarray(np.stack([first, second])))).reshape(2, 3, 2, 3)


@functools.cache
def committee(students: int) -> tl.objectives.Objective:
    """The population loss of some students."""
    return tl.population(tl.problems.committee(TEACHER, students))


@instantly
def everything(objective, point):
    """Loss, gradient and Hessian, traced as in a run: numbers that can be looked at are refused if they are huge."""
    return objective.loss(point), objective.gradient(point), objective.hessian(point)


@pytest.mark.parametrize("angle", [0.0, 1e-15, 1e-12, 1e-8, 1e-5, 1e-3])
def test_blocks_of_aligned_and_opposite_neurons_have_their_limits(angle: float) -> None:
    """The off-diagonal block tends to ½I for aligned neurons and to 0 for opposite ones, linearly in the angle."""
    w = np.array([0.3, -0.8, 0.5])
    normal = np.cross(w, [1.0, 2.0, -0.5])
    normal *= np.linalg.norm(w) / np.linalg.norm(normal)
    for scale, limit in ((1.7, 0.5), (-0.6, 0.0)):
        v = scale * (np.cos(angle) * w + np.sin(angle) * normal)
        blocks = committee_hessian(w, v)
        np.testing.assert_allclose(blocks[0, :, 1], limit * np.eye(3), rtol=0, atol=angle + 1e-15)
        # The other neuron's part of the diagonal block vanishes: what is left is that of the neuron alone.
        alone = np.asarray(committee(1).hessian(jnp.asarray(w[None])))
        np.testing.assert_allclose(blocks[0, :, 0], alone, rtol=0, atol=5 * angle + 1e-14)


def test_a_neuron_on_a_teacher_has_its_block_without_it() -> None:
    """At the teacher itself the Hessian is finite, and its blocks are ½I on the diagonal and h₂ off it."""
    blocks = np.asarray(committee(3).hessian(jnp.asarray(TEACHER))).reshape(3, 3, 3, 3)
    np.testing.assert_allclose(blocks[0, :, 0], np.eye(3) / 2, atol=1e-15)
    exchange = np.outer(TEACHER[0], TEACHER[1])
    np.testing.assert_allclose(blocks[0, :, 1], np.eye(3) / 4 + (exchange + exchange.T) / (2 * np.pi), atol=1e-15)


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-100, 1e-8, 1e8, 1e100, 1e155, 1e300])
def test_tiny_and_huge_students(size: float) -> None:
    """The gradient of a student of any size is the formula's: no overflow, and no loss of digits."""
    w = np.array([0.3, -0.8, 0.5])
    found = everything(committee(1), size * w[None])[1][0]
    unit = w / np.linalg.norm(w)
    angles = np.arccos(unit)
    pulls = np.sum(np.sin(angles)) * unit / (2 * np.pi) + (np.pi - angles) / (2 * np.pi)
    np.testing.assert_allclose(found, size * w / 2 - pulls, rtol=1e-14)


@pytest.mark.parametrize("size", [1e8, 1e78, 1e155, 1e300])
def test_long_vectors_of_error_functions_are_signs(size: float) -> None:
    """The loss of an erf neuron tends to that of a sign, 2θ/π, and its gradient to (2/π)/‖w‖ along the normal."""
    w, v = size * np.array([0.6, 0.8, 0.0]), min(size, 1e50) * np.array([0.0, 0.8, 0.6])
    objective = tl.population(tl.problems.neuron(v, "erf"))
    loss, gradient, hessian = everything(objective, jnp.asarray(w))
    cosine = 0.64
    assert float(loss) == pytest.approx(2 * np.arccos(cosine) / np.pi, abs=2 / size + 1e-15)
    normal = (v / min(size, 1e50) - cosine * w / size) / np.sqrt(1 - cosine**2)
    np.testing.assert_allclose(np.asarray(gradient) * size, -(2 / np.pi) * normal, rtol=0, atol=2 / size + 1e-15)
    assert np.isfinite(hessian).all()
    at_teacher = everything(objective, jnp.asarray(v))
    assert float(at_teacher[0]) == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(np.asarray(at_teacher[1]) * min(size, 1e50), 0.0, atol=1e-15)


def test_a_loss_that_overflows_is_infinite_not_nan() -> None:
    """Student and teacher whose squares overflow: infinite, where the terms would leave ∞ − ∞; a NaN stays one."""
    w = jnp.array([0.5, -1.0, 0.3])
    cases = [
        (tl.problems.committee(1e55 * TEACHER, 2), jnp.full((2, 3), 1e300)),
        (tl.problems.committee(TEACHER, 2, "quadratic"), jnp.full((2, 3), 1e200)),
        (tl.problems.convolution(1e55 * w, [1.0, 2.0], normalized=False), FilterAndOutput(1e300 * w, jnp.ones(2))),
    ]
    for problem, point in cases:
        objective = tl.population(problem)
        assert float(everything(objective, point)[0]) == np.inf, problem.name
        assert np.isnan(everything(objective, jax.tree.map(lambda leaf: leaf * jnp.nan, point))[0]), problem.name


def test_a_sign_neuron_at_its_teacher_is_finite() -> None:
    """The loss of sign neurons has a cusp at the teacher: zero loss, and finite derivatives by convention."""
    for law in ("gaussian", "gaussian_shifted", "sphere"):
        objective = tl.population(tl.problems.neuron([0.5, -1.0, 0.3], "sign", tl.inputs.registry()[law](3)))
        point = jnp.array([0.5, -1.0, 0.3])
        assert float(objective.loss(point)) == pytest.approx(0.0, abs=1e-15)
        np.testing.assert_array_equal(objective.gradient(point), 0.0)
        if law == "gaussian":
            assert np.isfinite(everything(objective, point)[2]).all()


@pytest.mark.parametrize("law", ["gaussian", "gaussian_general", "sphere", "mixture", "rademacher"])
@pytest.mark.parametrize("name", ["sign", "step"])
def test_a_zero_neuron_with_a_jump_computes_the_middle_of_it(name: str, law: str) -> None:
    """Alone or among others: the loss is that of a constant, from the mean and the mean square of the teacher alone."""
    inputs, middle = tl.inputs.registry()[law](3), {"sign": 0.0, "step": 0.5}[name]
    sample = np.asarray(inputs.sample(jax.random.key(0), 100_000))
    signs = np.sign(sample @ np.asarray(TEACHER).T)
    labels = np.sum(signs if name == "sign" else (1 + signs) / 2, axis=1)
    for students in (1, 2, 3):
        objective = tl.population(tl.problems.committee(TEACHER, students, name, inputs))
        errors = 0.5 * (students * middle - labels) ** 2
        gap = abs(float(objective.loss(jnp.zeros((students, 3)))) - errors.mean())
        assert gap <= 5 * errors.std() / np.sqrt(len(errors)) + 1e-12, (students, gap)


def test_zero_students_of_every_family_are_finite() -> None:
    """A zero neuron, a zero filter and zero patches have finite losses, gradients and Hessians."""
    w = jnp.array([0.5, -1.0, 0.3])
    problems = [
        (tl.problems.committee(TEACHER, 2), jnp.zeros((2, 3))),
        (tl.problems.homogeneous(TEACHER, 2), jnp.zeros((2, 3))),
        (tl.problems.convolution(w, [1.0, 2.0]), FilterAndOutput(jnp.zeros(3), jnp.ones(2))),
        (tl.problems.convolution(w, [1.0, 2.0], normalized=False), FilterAndOutput(jnp.zeros(3), jnp.zeros(2))),
        (tl.problems.wave(w, 2), jnp.zeros(3)),
        (tl.problems.parity(w, 2, sharing=False), jnp.zeros((2, 3))),
    ]
    for problem, point in problems:
        objective = tl.population(problem)
        parts = everything(objective, point)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(parts)), problem.name


@pytest.mark.parametrize("activation", ["relu", "erf"])
def test_a_zero_filter_that_is_normalized_computes_the_zero_function(activation: str) -> None:
    """Its loss is that of zero output weights, whatever its own are, and does not change with them."""
    problem = tl.problems.convolution([0.5, -1.0, 0.3], [1.0, 2.0], activation=activation)
    objective = tl.population(problem)
    silent = objective.loss(FilterAndOutput(jnp.array([1.0, 0.0, 0.0]), jnp.zeros(2)))
    point = FilterAndOutput(jnp.zeros(3), jnp.array([1.0, -3.0]))
    assert float(objective.loss(point)) == pytest.approx(float(silent), rel=1e-14)
    np.testing.assert_array_equal(objective.gradient(point).output, 0.0)
    np.testing.assert_array_equal(problem.student.predict(point, jnp.ones((4, 2, 3))), 0.0)


def test_where_patch_losses_have_no_gradient() -> None:
    """At a zero vector of an activation with a kink or of a normalised filter, and nowhere else."""
    filters = FilterAndOutput(jnp.zeros(3), jnp.ones(2))
    for activation, normalized, expected in (("relu", True, True), ("relu", False, True), ("erf", False, False)):
        problem = tl.problems.convolution([0.5, -1.0, 0.3], [1.0, 2.0], normalized, activation)
        assert bool(tl.population(problem).singular(filters)) is expected
    for activation in ("abs", "erf"):
        objective = tl.population(tl.problems.parity([0.5, -1.0], 2, sharing=False, activation=activation))
        assert bool(objective.singular(jnp.array([[1.0, 0.0], [0.0, 0.0]]))) is (activation == "abs")
        assert not bool(objective.singular(jnp.array([[1.0, 0.0], [0.0, 1.0]])))


def test_the_zero_homogeneous_neuron_is_a_critical_point() -> None:
    """‖w‖σ(w·x) is differentiable at zero with derivative zero, so that the gradient vanishes there."""
    objective = tl.population(tl.problems.homogeneous(TEACHER, 2, "relu"))
    np.testing.assert_array_equal(objective.gradient(jnp.zeros((2, 3))), 0.0)


@functools.cache
def homogeneous() -> tl.objectives.Objective:
    """The population loss of five students."""
    return tl.population(tl.problems.homogeneous(TEACHER, 5))


FAMILIES = {"homogeneous": homogeneous, "committee": lambda: committee(5)}


@pytest.mark.parametrize("family", FAMILIES)
def test_automatic_differentiation_of_the_loss_is_the_gradient(family: str) -> None:
    """At students on teachers, opposite to one and on each other `jax.grad` gives finite differences of the loss."""
    objective = FAMILIES[family]()
    point = np.array([TEACHER[0], -TEACHER[1], TEACHER[2], [0.3, -0.8, 0.5], [0.3, -0.8, 0.5]])
    derivative = instantly(jax.grad(lambda point: objective.loss(point)))(point)
    step = 1e-6
    differences = np.zeros_like(point)
    for index in np.ndindex(point.shape):
        move = np.zeros_like(point)
        move[index] = step
        differences[index] = (objective.loss(point + move) - objective.loss(point - move)) / (2 * step)
    np.testing.assert_allclose(derivative, differences, rtol=0, atol=1e-7)
    np.testing.assert_allclose(derivative, objective.gradient(point), rtol=0, atol=1e-12)


def test_the_loss_has_second_derivatives_and_derivatives_in_the_teacher() -> None:
    """`jax.hessian` of the loss is the Hessian, and the loss is differentiable in the target as well."""
    objective = homogeneous()
    point = np.concatenate([TEACHER[:1], np.random.default_rng(0).normal(size=(4, 3))])
    second = instantly(jax.hessian(lambda flat: objective.loss(flat.reshape(5, 3))))(point.ravel())
    np.testing.assert_allclose(second, objective.hessian(point), rtol=0, atol=1e-12)

    general = tl.population(tl.problems.homogeneous(TEACHER + 0.1, 5))

    def scaled(factor):
        return eqx.tree_at(lambda o: o.target, general, factor * general.target).loss(point)

    slope = instantly(jax.grad(scaled))(np.ones(()))
    assert float(slope) == pytest.approx(float(scaled(1 + 1e-6) - scaled(1 - 1e-6)) / 2e-6, abs=1e-7)


def test_derivatives_in_the_teacher_where_students_are_parallel_to_it() -> None:
    """They are differences of the loss: at a student on a teacher, at one opposite to it, and with equal students."""
    objective = tl.population(tl.problems.committee(TEACHER[:2] + 0.1, 4))
    teacher = np.asarray(objective.target)
    point = jnp.asarray(np.stack([teacher[0], -2 * teacher[1], [0.3, -0.8, 0.5], [0.3, -0.8, 0.5]]))
    loss = instantly(lambda target: objective.with_target(target).loss(point))
    derivative = instantly(jax.grad(lambda target: objective.with_target(target).loss(point)))(teacher)
    step = 1e-6
    moves = step * np.eye(teacher.size).reshape(-1, *teacher.shape)
    differences = np.array([(loss(teacher + move) - loss(teacher - move)) / (2 * step) for move in moves])
    np.testing.assert_allclose(derivative, differences.reshape(teacher.shape), rtol=0, atol=1e-7)


class NeuronsAndOutputs(NamedTuple):
    """Parameters of the model below."""

    neurons: jax.Array
    outputs: jax.Array


class Weighted(NeuronModel):
    """Neurons with trained output weights, in two groups: a model that is not of this library."""

    activations: tuple[tl.activations.Activation, ...]
    patches = None

    @property
    def shapes(self):
        return NeuronsAndOutputs(("neuron", "dim"), ("neuron",))

    def _neurons(self, parameters):
        weights, outputs = parameters.neurons, parameters.outputs
        return tuple(Neurons(activation, weights[i::2], outputs[i::2]) for i, activation in enumerate(self.activations))

    def _vectors(self, parameters):
        return parameters.neurons

    def _with_vectors(self, parameters, vectors):
        return NeuronsAndOutputs(vectors, parameters.outputs)

    def symmetry(self, parameters):
        return None

    def canonical(self, parameters):
        return parameters

    def redundancy(self, parameters):
        return {}

    def channel(self, parameters, gradient):
        return {}

    def contains(self, parameters, teacher, target):
        return len(parameters.outputs) >= len(target.outputs)


def test_a_model_of_ones_own_with_several_groups_and_output_weights() -> None:
    """Teacher and student are two groups each, the teacher's on coordinate axes, students parallel to each other.

    The loss is that of a sample up to its standard error, and the gradient's derivatives are its differences.
    """
    model = Weighted((tl.activations.ReLU(), tl.activations.Absolute()))
    weights = np.array([[1.0, 0, 0], [0.4, 1.2, 0.3], [1.0, 0, 0], [0.1, -0.6, 0.9]])
    point = NeuronsAndOutputs(jnp.asarray(weights), jnp.array([0.3, 0.8, 0.7, -0.4]))
    problem = tl.problems.Problem(
        name="weighted",
        student=model,
        teacher=model,
        target=NeuronsAndOutputs(jnp.eye(2, 3), jnp.array([1.0, -0.5])),
        inputs=tl.inputs.gaussian(3),
        noise=0.0,
        template=template_of(point),
    )
    objective = tl.population(problem)
    _, gradient, hessian = everything(objective, point)

    inputs, labels = problem.sample(jax.random.key(1), 100_000)
    squares = 0.5 * (problem.student.predict(point, inputs) - labels) ** 2
    assert abs(float(objective.loss(point) - squares.mean())) <= 4 * float(squares.std()) / np.sqrt(squares.size)

    flat, unravel = ravel_pytree(point)
    direction = np.random.default_rng(0).normal(size=flat.size)
    slope = instantly(lambda flat: ravel_pytree(objective.gradient(unravel(flat)))[0])
    difference = (slope(flat + 1e-5 * direction) - slope(flat - 1e-5 * direction)) / 2e-5
    np.testing.assert_allclose(hessian @ direction, difference, rtol=0, atol=1e-4)
    np.testing.assert_allclose(ravel_pytree(gradient)[0], slope(flat), rtol=0, atol=1e-14)


@pytest.mark.parametrize("dimension", [1, 2])
def test_low_dimensions_agree_with_sampling(dimension: int) -> None:
    """More students than dimensions, so that neurons are parallel or nearly so."""
    teacher = np.array([[1.0, 0.5], [-0.7, 0.2]])[:, :dimension]
    problem = tl.problems.committee(teacher, 3)
    point = jnp.asarray(np.array([[0.4, 0.1], [-1.0, 0.3], [0.8, -0.9]])[:, :dimension])
    inputs, labels = problem.sample(jax.random.key(0), 40_000)
    halves = 0.5 * np.asarray(problem.student.predict(point, inputs) - labels) ** 2
    assert abs(float(tl.population(problem).loss(point)) - halves.mean()) <= 4.5 * halves.std() / 200


@pytest.mark.parametrize("length", [1e-150, 1e-118, 1e-60, 1e60, 1e150])
@pytest.mark.parametrize("law", [{}, {"mean": [0.4, -0.7, 0.2]}, {"covariance": np.diag([1.0, 2.0, 0.5])}])
def test_the_scale_of_a_normalised_filter_enters_by_its_powers_alone(law, length) -> None:
    """Loss, gradient and Hessian at a short or long filter are those of an ordinary one over powers of its norm."""
    random = np.random.default_rng(7)
    filter, output = random.normal(size=3), random.normal(size=4)
    inputs = tl.inputs.gaussian(3, **law)
    objective = tl.population(tl.problems.convolution(random.normal(size=3), random.normal(size=4), inputs=inputs))
    powers = np.concatenate([np.full(3, length), np.ones(4)])
    near = everything(objective, FilterAndOutput(jnp.asarray(filter), jnp.asarray(output)))
    far = everything(objective, FilterAndOutput(jnp.asarray(length * filter), jnp.asarray(output)))
    assert far[0] == pytest.approx(float(near[0]), rel=1e-14)
    flat = [np.concatenate([np.asarray(part).ravel() for part in jax.tree.leaves(found[1])]) for found in (near, far)]
    np.testing.assert_allclose(flat[1] * powers, flat[0], rtol=0, atol=1e-13)
    np.testing.assert_allclose(np.asarray(far[2]) * powers * powers[:, None], near[2], rtol=0, atol=1e-13)
