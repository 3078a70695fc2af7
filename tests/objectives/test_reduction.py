"""Working in the span of start and teacher: the same losses, and gradients that lift to the full ones."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutelage as tl
from tutelage.instant import instantly

RNG = np.random.default_rng(8)


def normal(*shape: int) -> jnp.ndarray:
    """Standard normal numbers, the same in every run of this module."""
    return jnp.asarray(RNG.normal(size=shape))


def rotated_axes(count: int, dimension: int) -> np.ndarray:
    """Orthonormal rows that are not coordinate axes."""
    return np.linalg.qr(RNG.normal(size=(dimension, count)))[0].T


VECTOR = 0.8 * np.asarray(normal(7))
SIGNED_AXES = np.eye(7)[[4, 1]]
PROBLEMS = {
    "committee, axes": (tl.problems.committee(np.eye(2, 7), 3), normal(2, 3, 7)),
    "committee, other axes": (tl.problems.committee(SIGNED_AXES, 3), normal(2, 3, 7)),
    "committee, orthonormal": (tl.problems.committee(rotated_axes(2, 7), 3), normal(2, 3, 7)),
    "committee, oblique": (tl.problems.committee(normal(2, 7), 3, "erf"), normal(2, 3, 7)),
    "committee, dependent teachers": (
        tl.problems.committee(np.ones((3, 7)), 2, "abs", tl.inputs.ball(7)),
        normal(2, 2, 7),
    ),
    "committee, few dimensions": (tl.problems.committee(normal(3, 2), 4), normal(2, 4, 2)),
    "committee, one dimension": (tl.problems.committee(normal(2, 1), 3), normal(2, 3, 1)),
    "committee, start in the span": (
        tl.problems.committee(np.eye(2, 7), 2),
        jnp.asarray(np.eye(2, 7))[None] * jnp.array([[[1.0]], [[0.5]]]),
    ),
    "wave, scaled": (
        tl.problems.wave(0.3 * VECTOR, 2, inputs=tl.inputs.gaussian(7, covariance=0.25 * np.eye(7))),
        0.4 * normal(2, 7),
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_reduced_objective_is_the_same(name: str) -> None:
    """Losses agree, gradients lift to the full gradients, points lift to themselves, and the dimension is small."""
    problem, points = PROBLEMS[name]
    objective = tl.population(problem)
    assert objective.span_suffices
    reduction = objective.reduced(points)
    runs = jnp.arange(2)
    # One compiled function each, over both runs.
    losses, gradients = instantly(jax.vmap(lambda p: (objective.loss(p), objective.gradient(p))))(points)
    small_losses, small = instantly(jax.vmap(lambda p: (reduction.objective.loss(p), reduction.objective.gradient(p))))(
        reduction.points
    )
    np.testing.assert_allclose(small_losses, losses, rtol=1e-12, atol=1e-14)
    for found, expected in zip(jax.tree.leaves(reduction.lift(small, runs)), jax.tree.leaves(gradients), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
    for found, expected in zip(
        jax.tree.leaves(reduction.lift(reduction.points, runs)), jax.tree.leaves(points), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
    vectors = problem.student.vectors(jax.tree.map(lambda leaf: leaf[0], reduction.points))
    teachers = problem.teacher.vectors(problem.target).shape[0]
    assert vectors.shape[1] <= vectors.shape[0] + teachers


def test_a_run_is_lifted_by_its_own_axes() -> None:
    """Points of some of the runs, in another order, lift by the numbers of their runs."""
    problem, points = PROBLEMS["committee, orthonormal"]
    reduction = tl.population(problem).reduced(points)
    lifted = reduction.lift(reduction.points[::-1], jnp.array([1, 0]))
    np.testing.assert_allclose(lifted, points[::-1], atol=1e-14)


def test_nothing_is_left_of_the_dimension() -> None:
    """Under a standard Gaussian law, reduced objectives of all dimensions are alike: one program serves them."""
    reduced = []
    for dimension in (7, 11):
        problem = tl.problems.convolution(np.eye(dimension)[0], np.ones(3))
        points = problem.points((normal(1, dimension), normal(1, 3)))
        reduced.append(tl.population(problem).reduced(points).objective)
    first, second = (jax.tree.flatten(objective) for objective in reduced)
    assert first[1] == second[1]
    assert [np.shape(leaf) for leaf in first[0]] == [np.shape(leaf) for leaf in second[0]]
    assert reduced[0].problem.dimension == 2


@pytest.mark.parametrize("law", ["gaussian_correlated", "gaussian_shifted", "uniform_box", "rademacher"])
def test_other_laws_do_not_reduce(law: str) -> None:
    """Without rotation invariance the span does not suffice."""
    assert not tl.population(
        tl.problems.committee(np.eye(2, 3), 2, "linear", tl.inputs.registry()[law](3))
    ).span_suffices
    sampled = tl.stream(tl.problems.committee(np.eye(2, 3), 2), batch=4)
    assert not sampled.span_suffices
    with pytest.raises(tl.UnsupportedCombination, match="cannot be reduced"):
        sampled.reduced(jnp.ones((1, 2, 3)))
