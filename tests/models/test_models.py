"""The functions that models compute, against loops written out in NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from families import PROBLEMS, random_point
from scipy.special import erf

import tutelage as tl
from tutelage.models import FirstAndOuter, LearnedComposite, OuterLayer
from tutelage.models.base import safe_norm

RNG = np.random.default_rng(4)
PATCHES = RNG.normal(size=(6, 3, 3))
SIGNS = (1, -1, 1)


def relu(z: np.ndarray) -> np.ndarray:
    """The positive part."""
    return np.maximum(z, 0)


def by_loops(name: str, point: Any, x: np.ndarray) -> float:
    """The output of a student on one input, from the definition of its family."""
    norm = np.linalg.norm
    if name == "neuron":
        return relu(point @ x)
    if name == "committee":
        return sum(relu(w @ x) for w in point)
    if name == "homogeneous, signed":
        return sum(sign * norm(w) * abs(w @ x) for sign, w in zip(SIGNS, point, strict=True))
    if name == "homogeneous, ReLU with linear term":
        return sum(norm(w) * relu(w @ x) for w in point.neurons) + point.linear @ x
    if name == "convolution":
        return sum(a * relu(point.filter @ z) for a, z in zip(point.output, x, strict=True)) / norm(point.filter)
    if name == "convolution, unnormalised":
        return sum(a * relu(point.filter @ z) for a, z in zip(point.output, x, strict=True))
    if name == "wave, shared":
        return 3 * np.sqrt(3) * point @ x[0] + np.cos(sum(point @ z for z in x))
    if name == "wave, unshared":
        return point[0] @ x[0] + np.cos(sum(w @ z for w, z in zip(point, x, strict=True)))
    if name == "parity, shared":
        return sum(np.prod([erf(point @ z) for z in x[:degree]]) for degree in (1, 3))
    assert name == "parity, unshared"
    return sum(np.prod([erf(w @ z) for w, z in zip(point[:r], x[:r], strict=True)]) for r in (1, 2, 3))


@pytest.mark.parametrize(
    "name",
    [
        "neuron",
        "committee",
        "homogeneous, signed",
        "homogeneous, ReLU with linear term",
        "convolution",
        "convolution, unnormalised",
        "wave, shared",
        "wave, unshared",
        "parity, shared",
        "parity, unshared",
    ],
)
def test_predictions_are_the_definitions(name: str) -> None:
    """Every model computes, for a batch, what its definition says for each input."""
    problem = PROBLEMS[name]()
    parameters = random_point(problem, 6)
    inputs = PATCHES[:, 0] if problem.student.patches is None else PATCHES
    expected = [by_loops(name, jax.tree.map(np.asarray, parameters), x) for x in inputs]
    found = problem.student.predict(parameters, jnp.asarray(inputs))
    assert found.dtype == jnp.float64
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(("outer", "sharing"), list(itertools.product(["low", "high", "both"], [True, False])))
def test_composites_are_the_definitions(outer: str, sharing: bool) -> None:
    """g(tanh(w₁·x₁), …) with the three known outer functions."""
    point = RNG.normal(size=(3,) if sharing else (3, 3))
    model = tl.problems.composite(outer, [1.0, 0.0, 0.0], patches=3, sharing=sharing).student
    rows = np.tile(point, (3, 1)) if sharing else point
    hidden = np.tanh(np.einsum("bpd,pd->bp", PATCHES, rows))
    expected = {"low": hidden[:, 0], "high": hidden.prod(axis=1), "both": hidden[:, 0] + hidden.prod(axis=1)}
    np.testing.assert_allclose(model.predict(jnp.asarray(point), jnp.asarray(PATCHES)), expected[outer], atol=1e-14)


def test_a_learned_outer_function_is_a_layer_of_relu_units() -> None:
    """Hidden layer with biases, ReLU, linear output with an offset."""
    problem = tl.problems.composite("both", [1.0, 0.0, 0.0], patches=3, learn_outer=True, units=5)
    assert isinstance(problem.student, LearnedComposite)
    vector, weights, biases, output = (
        RNG.normal(size=3),
        RNG.normal(size=(5, 3)),
        RNG.normal(size=5),
        RNG.normal(size=5),
    )
    point = FirstAndOuter(vector, OuterLayer(weights, biases, output, np.array(0.3)))
    first = np.tanh(PATCHES @ vector)
    expected = np.maximum(first @ weights.T + biases, 0) @ output + 0.3
    found = problem.student.predict(problem.point(point), jnp.asarray(PATCHES))
    np.testing.assert_allclose(found, expected, atol=1e-14)


@pytest.mark.parametrize("name", PROBLEMS)
def test_vectors_and_their_replacement_are_inverse(name: str) -> None:
    """`with_vectors(vectors)` gives the point back, and takes vectors of another dimension."""
    problem = PROBLEMS[name]()
    student, point = problem.student, random_point(problem, 7)
    vectors = student.vectors(point)
    assert vectors.ndim == 2
    again = student.with_vectors(point, vectors)
    for found, expected in zip(jax.tree.leaves(again), jax.tree.leaves(point), strict=True):
        np.testing.assert_array_equal(found, expected)
    wide = student.with_vectors(point, jnp.zeros((vectors.shape[0], 9)))
    assert student.vectors(wide).shape == (vectors.shape[0], 9)
    assert jax.tree.structure(wide) == jax.tree.structure(point)


def test_the_zero_vector_has_a_norm_with_derivative_zero() -> None:
    """The norm that models use is differentiable by convention at zero, and exact elsewhere."""
    rows = jnp.array([[3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(safe_norm(rows), [5.0, 0.0])
    gradients = jax.vmap(jax.grad(safe_norm))(rows)
    np.testing.assert_allclose(gradients, [[0.6, 0.8], [0.0, 0.0]], rtol=1e-15)


def test_fixed_biases_are_in_the_way_of_the_teacher():
    """A student whose biases are given and not learned does not compute a teacher without; with zeros it does."""
    for activation in ("tanh", "relu"):
        for learn in (("weights",), ("weights", "output")):
            for biases, contained in (([0.5, -0.25], False), ([0.0, 0.0], True)):
                problem = tl.problems.two_layer(np.eye(2), 2, activation, biases=biases, learn=learn)
                assert problem.student.contains(problem.zero(), problem.teacher, problem.target) is contained


@pytest.mark.parametrize("activation", ["sigmoid", "softplus", "cosine", "step", "hermite-2", "tanh", "relu", "erf"])
def test_a_neuron_too_many_must_be_able_to_compute_nothing(activation):
    """At x = 0 a sum of three neurons is three times σ(0), and that of two teachers twice: the same if that is zero."""
    problem = tl.problems.committee(np.eye(2), students=3, activation=activation)
    at_zero = problem.teacher.predict(problem.target, np.zeros((1, 2)))[0]
    others = [problem.student.predict(RNG.normal(size=(3, 2)), np.zeros((1, 2)))[0] for _ in range(3)]
    contained = problem.student.contains(problem.zero(), problem.teacher, problem.target)
    assert contained is bool(np.allclose(others, at_zero))
    for learn in (("weights", "output"), ("weights", "constant")):
        wider = tl.problems.two_layer(np.eye(2), 3, activation, learn=learn)
        assert wider.student.contains(wider.zero(), wider.teacher, wider.target)
