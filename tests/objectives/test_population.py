"""Population losses of every family against sampling, finite differences and themselves."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from families import PROBLEMS, random_point
from jax.flatten_util import ravel_pytree

import tutelage as tl


@eqx.filter_jit
def _evaluate(objective, points):
    """Loss, gradient and Hessian of a batch of flat students, in one program."""
    _, unravel = ravel_pytree(jax.tree.map(lambda s: jnp.zeros(s.shape), objective.problem.template_tree()))

    def one(flat):
        point = unravel(flat)
        return objective.loss(point), ravel_pytree(objective.gradient(point))[0]

    return jax.vmap(one)(points)


def _differences(flat, step=1e-5):
    return jnp.concatenate([flat + step * jnp.eye(flat.size), flat - step * jnp.eye(flat.size)]), step


@pytest.mark.parametrize("name", PROBLEMS)
def test_derivatives(name):
    """Gradient and Hessian agree with central differences, and the Hessian with Hessian–vector products."""
    problem = PROBLEMS[name]()
    objective = tl.population(problem)
    point = random_point(problem, 1)
    flat, unravel = ravel_pytree(point)
    points, step = _differences(flat)
    losses, gradients = (np.asarray(x) for x in _evaluate(objective, jnp.concatenate([flat[None], points])))
    size = flat.size
    differences = (losses[1 : size + 1] - losses[size + 1 :]) / (2 * step)
    # Central differences of a loss of order one at step 1e-5 are good to about 1e-10; the slopes to 1e-9.
    np.testing.assert_allclose(gradients[0], differences, atol=2e-9)
    hessian = np.asarray(eqx.filter_jit(lambda o, p: o.hessian(p))(objective, point))
    slopes = (gradients[1 : size + 1] - gradients[size + 1 :]) / (2 * step)
    np.testing.assert_allclose(hessian, slopes, atol=2e-8)
    np.testing.assert_array_equal(hessian, hessian.T)
    direction = np.random.default_rng(2).normal(size=size)
    product = eqx.filter_jit(lambda o, p, d: o.hessian_vector(p, d))(objective, point, unravel(jnp.asarray(direction)))
    np.testing.assert_allclose(ravel_pytree(product)[0], hessian @ direction, atol=1e-11)


@pytest.mark.parametrize("name", PROBLEMS)
def test_loss_against_sampling(name):
    """The exact loss lies within 4.5 standard errors of a sampled one."""
    problem = PROBLEMS[name]()
    point = random_point(problem, 3)
    inputs, labels = problem.sample(jax.random.key(7), 200_000)
    squares = 0.5 * np.asarray(problem.student.predict(point, inputs) - labels) ** 2
    exact = float(tl.population(problem).loss(point))
    assert abs(exact - squares.mean()) < 4.5 * squares.std() / np.sqrt(len(squares))


def _as_student(problem):
    """The teacher as a student, where the family has one."""
    target = problem.target
    if problem.name == "homogeneous":
        vectors = np.asarray(target)
        rows = vectors / np.sqrt(np.linalg.norm(vectors, axis=1, keepdims=True))
        template = problem.template_tree()
        if problem.student.linear:
            return tl.models.WithLinear(jnp.asarray(rows), jnp.zeros(3))
        return None if problem.student.signs is not None else jnp.zeros(template.shape).at[: len(rows)].set(rows)
    if problem.name == "committee":
        return jnp.zeros(problem.template_tree().shape).at[: target.shape[0]].set(target)
    if problem.name == "convolution":
        scale = jnp.linalg.norm(target.filter) if problem.student.normalized else 1.0
        return target._replace(output=scale * target.output)
    return jnp.broadcast_to(target, problem.template_tree().shape)


@pytest.mark.parametrize("name", PROBLEMS)
def test_teacher_is_a_minimum(name):
    """At the teacher the loss is that of the label noise, and the gradient vanishes."""
    problem = PROBLEMS[name]()
    point = _as_student(problem)
    if point is None:
        return  # a signed student does not contain the teacher
    objective = tl.population(problem)
    np.testing.assert_allclose(objective.loss(point), 0.5 * problem.noise**2, atol=1e-11)
    if problem.student.__class__.__name__ == "Parity" and problem.student.activation.name == "step":
        return  # a cone: no gradient at its tip
    gradient, _ = ravel_pytree(objective.gradient(point))
    np.testing.assert_allclose(gradient, 0.0, atol=1e-9)


REDUCIBLE = [name for name, build in PROBLEMS.items() if tl.population(build()).span_suffices]


@pytest.mark.parametrize("name", [n for n in REDUCIBLE if "orthonormal" not in n])
def test_reduction_keeps_loss_and_gradient(name):
    """In the span of start and teacher, embedded in 12 dimensions, loss and lifted gradient are the same."""
    small = PROBLEMS[name]()
    problem = _embedded(small, 12)
    objective = tl.population(problem)
    point = random_point(problem, 5)
    batch = jax.tree.map(lambda leaf: leaf[None], point)
    reduced = objective.reduced(batch)
    inner = jax.tree.map(lambda leaf: leaf[0], reduced.points)
    np.testing.assert_allclose(reduced.objective.loss(inner), objective.loss(point), atol=1e-12)
    gradient = jax.tree.map(lambda leaf: leaf[None], reduced.objective.gradient(inner))
    lifted = jax.tree.map(lambda leaf: leaf[0], reduced.lift(gradient, jnp.array([0])))
    np.testing.assert_allclose(ravel_pytree(lifted)[0], ravel_pytree(objective.gradient(point))[0], atol=1e-11)
    back = jax.tree.map(lambda leaf: leaf[0], reduced.lift(reduced.points, jnp.array([0])))
    np.testing.assert_allclose(ravel_pytree(back)[0], ravel_pytree(point)[0], atol=1e-12)


def _embedded(problem, dimension: int):
    """The same family with its teacher in a larger space, under a law of the same kind."""
    random = np.random.default_rng(8)
    frame = np.linalg.qr(random.normal(size=(dimension, dimension)))[0][:3]
    laws = {"gaussian": tl.inputs.gaussian, "ball": tl.inputs.ball, "sphere": tl.inputs.sphere}
    law = laws.get(problem.inputs.name.split("(")[0], tl.inputs.gaussian)(dimension)
    target = problem.teacher.with_vectors(problem.target, problem.teacher.vectors(problem.target) @ frame)
    wide = random_point(problem, 0)
    wide = problem.student.with_vectors(wide, problem.student.vectors(wide) @ frame)
    treedef = jax.tree.structure(wide)
    template = (treedef, tuple(tuple(leaf.shape) for leaf in jax.tree.leaves(wide)))
    return tl.problems.Problem(problem.name, problem.student, problem.teacher, target, law, problem.noise, template)


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
