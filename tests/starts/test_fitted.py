"""The local-convergence paper's starts: norms by non-negative least squares, in a subspace from samples."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import tutelage as tl
from tutelage.starts import fitted as fitted_module


def absolute_dual(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """$E|w·x||v·x|$ under a standard Gaussian, for all pairs, written out."""
    sizes = np.outer(np.linalg.norm(first, axis=1), np.linalg.norm(second, axis=1))
    angles = np.arccos(np.clip(first @ second.T / sizes, -1, 1))
    return 2 / np.pi * sizes * (np.sin(angles) + (np.pi / 2 - angles) * np.cos(angles))


def quadratic(problem, start: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gram matrix, correlations and weights of the unit directions of the students that are not zero."""
    there = np.linalg.norm(start, axis=1) > 0
    norms = np.linalg.norm(start[there], axis=1)
    units = start[there] / norms[:, None]
    return absolute_dual(units, units), absolute_dual(units, np.asarray(problem.target)).sum(axis=1), norms**2


@pytest.fixture(scope="module")
def starts(homogeneous) -> np.ndarray:
    return np.asarray(tl.starts.fitted(homogeneous, runs=20, seed=1))


def test_the_norms_are_optimal(homogeneous, starts, monkeypatch):
    """Zero slope where a weight is positive, none negative where it is zero: optimal, by convexity."""
    directions = []
    fit = fitted_module.__globals__["_fit_one"]

    def watching(dual, teacher, rows):
        directions.append(rows)
        return fit(dual, teacher, rows)

    monkeypatch.setitem(fitted_module.__globals__, "_fit_one", watching)
    np.testing.assert_array_equal(tl.starts.fitted(homogeneous, runs=20, seed=1), starts)
    zeros = 0
    for rows, start in zip(directions, starts, strict=True):
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        norms = np.linalg.norm(start, axis=1)
        # The student is ‖w‖|w·x| = ‖w‖²|u·x|, with the direction it was given.
        np.testing.assert_allclose(start, norms[:, None] * units, atol=1e-12)
        slope = absolute_dual(units, units) @ norms**2
        slope -= absolute_dual(units, np.asarray(homogeneous.target)).sum(axis=1)
        assert np.abs(slope[norms > 0]).max() < 1e-10
        assert slope.min() > -1e-10
        zeros += (norms == 0).sum()
    assert 0 < zeros < 100  # both cases occur


def test_no_feasible_choice_is_better(homogeneous, starts):
    """The loss is never above that of other weights: one student alone, none, equal ones, random ones."""
    objective = tl.population(homogeneous)
    rng = np.random.default_rng(0)
    for start in starts[:8]:
        loss = float(objective.loss(start))
        gram, correlation, weights = quadratic(homogeneous, start)
        constant = loss - (0.5 * weights @ gram @ weights - correlation @ weights)
        alone = [np.eye(len(weights))[i] * correlation[i] / gram[i, i] for i in range(len(weights))]
        others = [*alone, 0 * weights, np.full_like(weights, weights.mean())]
        others += list(weights * rng.uniform(0.5, 1.5, size=(50, len(weights))))
        for other in others:
            assert loss <= 0.5 * other @ gram @ other - correlation @ other + constant + 1e-12
    teacher = np.asarray(homogeneous.target)
    empty = 0.5 * absolute_dual(teacher, teacher).sum()
    assert empty == pytest.approx(float(objective.loss(np.zeros((8, 5)))))
    assert all(float(objective.loss(start)) < empty for start in starts[:8])


def test_the_loss_is_zero_where_the_teacher_is_among_the_directions(homogeneous, monkeypatch):
    """Given the teacher's directions, the fit finds the teacher and drops the rest."""
    teacher = np.asarray(homogeneous.target)
    others = np.random.default_rng(0).normal(size=(6, 5))
    directions = jnp.asarray(np.concatenate([-3 * teacher, others]))
    monkeypatch.setitem(fitted_module.__globals__, "_directions", lambda shape, key: directions)
    start = np.asarray(tl.starts.fitted(homogeneous, runs=1))[0]
    assert float(tl.population(homogeneous).loss(start)) < 1e-12
    sizes = np.linalg.norm(start, axis=1) ** 2
    np.testing.assert_allclose(sizes[:2], np.linalg.norm(teacher, axis=1), rtol=1e-6)
    assert sizes[2:].max() < 1e-6


def test_in_one_dimension_the_fit_is_perfect():
    """In one dimension every direction is the teacher's, and the Gram matrix is singular."""
    problem = tl.problems.homogeneous([[2.0], [-1.0]], students=5)
    for start in tl.starts.fitted(problem, runs=4):
        assert float(tl.population(problem).loss(start)) == pytest.approx(0, abs=1e-12)


@pytest.fixture(scope="module")
def in_subspace(homogeneous) -> np.ndarray:
    return np.asarray(tl.starts.subspace(homogeneous, runs=3, samples=40_000, seed=2))


def test_the_estimated_subspace_holds_the_teacher(homogeneous, in_subspace):
    """With many samples the subspace of a start is at a small angle from the teacher's, and of its rank."""
    teacher = np.linalg.qr(np.asarray(homogeneous.target).T)[0]
    planes = []
    for start in in_subspace:
        _, values, rows = np.linalg.svd(start)
        assert (values > 1e-8).sum() == 2
        plane = rows[:2]
        angle = np.arccos(np.clip(np.linalg.svd(plane @ teacher)[1].min(), -1, 1))
        assert angle < 0.1
        planes.append(plane)
    assert np.abs(planes[0].T @ planes[0] - planes[1].T @ planes[1]).max() > 1e-4  # each has samples of its own


def test_in_the_subspace_the_norms_are_optimal(homogeneous, in_subspace):
    """The same optimality, and a smaller loss than in the whole space."""
    objective = tl.population(homogeneous)
    for start in in_subspace:
        gram, correlation, weights = quadratic(homogeneous, start)
        assert np.abs(gram @ weights - correlation).max() < 1e-10
    inside = np.mean([float(objective.loss(start)) for start in in_subspace])
    outside = np.mean([float(objective.loss(start)) for start in tl.starts.fitted(homogeneous, runs=3, seed=2)])
    assert inside < outside


def test_the_rank_can_be_chosen(homogeneous):
    """A subspace of another dimension is as large as asked for."""
    for rank in (1, 3):
        start = np.asarray(tl.starts.subspace(homogeneous, runs=1, samples=40_000, rank=rank))[0]
        directions = start[np.linalg.norm(start, axis=1) > 0]
        assert np.linalg.matrix_rank(directions, tol=1e-8) <= rank


def test_other_activations_and_laws():
    """ReLU students, and any law with a closed form for Algorithm 1, are fitted as well."""
    problem = tl.problems.homogeneous(np.eye(2, 3), students=4, activation="relu", inputs=tl.inputs.sphere(3))
    start = tl.starts.fitted(problem, runs=1)[0]
    objective = tl.population(problem)
    assert float(objective.loss(start)) < float(objective.loss(np.zeros((4, 3))))
    # At the optimum no common factor of the norms helps.
    assert float(objective.loss(start)) <= min(float(objective.loss(s * start)) for s in (0.99, 1.01))
