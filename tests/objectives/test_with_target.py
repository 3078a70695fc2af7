"""The same problem with another teacher: as if it had been built with it, traced or not."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from families import PROBLEMS, random_point
from jax.flatten_util import ravel_pytree

import tutelage as tl
from tutelage.instant import instantly


@instantly
def _at(objective, point):
    return objective.loss(point), ravel_pytree(objective.gradient(point))[0]


@instantly
def _traced(template, target, point):
    return _at(template.with_target(target), point)


def _compare(template, target, point):
    anew = _at(tl.population(template.problem.with_teacher(target)), point)
    for replaced in (_at(template.with_target(target), point), _traced(template, target, point)):
        np.testing.assert_allclose(replaced[0], anew[0], rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(replaced[1], anew[1], rtol=1e-11, atol=1e-13)


FAMILIES = (
    "neuron, shifted inputs, noise",
    "neuron, tanh",
    "committee, leaky, correlated inputs",
    "homogeneous, signed",
    "convolution",
    "wave, unshared",
    "parity, shared",
)


@pytest.mark.parametrize("name", FAMILIES)
def test_another_teacher(name):
    """Loss and gradient are those of a problem that was built with the other teacher."""
    problem = PROBLEMS[name]()
    template = tl.population(problem)
    target = jax.tree.map(lambda leaf: 0.8 * leaf[::-1] if jnp.ndim(leaf) else leaf, problem.target)
    _compare(template, target, random_point(problem, 3))


@pytest.mark.parametrize("students", [3, 4])
def test_from_the_axes_and_back(students):
    """A teacher on the coordinate axes has a shortcut, which another teacher must not take, nor miss its own."""
    problem = tl.problems.committee(np.eye(3), students=students)
    template = tl.population(problem)
    turned = jnp.linalg.qr(jax.random.normal(jax.random.key(0), (3, 3)))[0] * jnp.array([[1.0], [2.0], [0.5]])
    point = random_point(problem, 1)
    assert template.axes and not template.with_target(turned).axes
    _compare(template, turned, point)
    back = template.with_target(turned).with_target(np.eye(3))
    assert back.axes
    np.testing.assert_allclose(_at(back, point)[0], _at(template, point)[0], rtol=1e-14)
    # What only replaces the arrays is wrong: the reason why this is a method.
    naive = eqx.tree_at(lambda objective: objective.target, template, turned)
    assert abs(float(_at(naive, point)[0] - _at(template.with_target(turned), point)[0])) > 1e-3


def test_runs_towards_another_teacher():
    """Descent finds the new teacher, at a loss of zero."""
    problem = tl.problems.neuron(np.array([1.0, 0.0, 0.0]))
    teacher = np.array([0.5, -1.0, 2.0])
    objective = tl.population(problem).with_target(teacher)
    runs = tl.descend(objective, np.ones((1, 3)), tl.GradientDescent(0.5), tl.gradient_norm(1e-10))
    np.testing.assert_allclose(runs.point(0), teacher, atol=1e-8)
    assert abs(float(runs.losses[0])) < 1e-14
    inputs, labels = objective.problem.sample(jax.random.key(0), 5)
    np.testing.assert_allclose(labels, jnp.maximum(inputs @ teacher, 0))


def test_refusals():
    """Other shapes are another problem; drawn labels belong to their teacher."""
    problem = tl.problems.committee(np.eye(3), students=3)
    with pytest.raises(tl.InvalidArgument, match=r"\(3, 3\)"):
        tl.population(problem).with_target(np.eye(2))
    with pytest.raises(tl.TutelageError, match="with_teacher"):
        tl.empirical(problem, np.eye(3)).with_target(np.eye(3))


def test_a_stream_asks_the_other_teacher():
    """Labels of fresh batches are those of the teacher that it has now."""
    problem, key = tl.problems.committee(np.eye(3), students=3, noise=0.3), jax.random.key(1)
    other, point = np.diag([1.0, -2.0, 0.5]), random_point(problem, 2)
    changed = tl.stream(problem, 8).with_target(other)
    anew = tl.stream(problem.with_teacher(other), 8)
    np.testing.assert_array_equal(changed.loss(point, key), anew.loss(point, key))
    assert changed.loss(point, key) != tl.stream(problem, 8).loss(point, key)
