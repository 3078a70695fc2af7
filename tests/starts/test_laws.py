"""Starts have the law that they say: exact properties exactly, moments within five standard errors."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import tutelage as tl

RUNS = 512


def entries(starts) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(starts)]


def assert_moments(values: np.ndarray, variance: float, kurtosis: float, mean: float = 0.0) -> None:
    """Mean and variance of independent entries within five standard errors; entries are not correlated."""
    number = values.size
    assert abs(values.mean() - mean) < 5 * np.sqrt(variance / number)
    assert abs(((values - mean) ** 2).mean() - variance) < 5 * variance * np.sqrt((kurtosis - 1) / number)
    flat = (values - mean).reshape(len(values), -1)
    if flat.shape[1] > 1:
        products = (flat.T @ flat / len(flat))[np.triu_indices(flat.shape[1], 1)]
        assert np.abs(products).max() < 5 * variance / np.sqrt(len(flat))


def test_xavier_starts(problem):
    """Matrices have variance 2/(rows + columns), vectors 2/(size + 1); offsets and biases are zero."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tl.starts.xavier(problem, RUNS, seed=1))
    for path, leaf in leaves:
        shape, name = leaf.shape[1:], jax.tree_util.keystr(path)
        if name.endswith(("biases", "offset")):
            assert not np.asarray(leaf).any()
        else:
            fans = sum(shape) if len(shape) == 2 else shape[0] + 1
            assert_moments(np.asarray(leaf), 2 / fans, 3)


def test_gaussian_starts(problem):
    """Every entry, of every family of problems, is normal with the scale asked for."""
    for leaf in entries(tl.starts.gaussian(problem, RUNS, scale=0.3, seed=2)):
        assert_moments(leaf, 0.09, 3)


def test_starts_of_two_signs(problem):
    """Every entry is exactly one of two numbers, each half of the time."""
    for leaf in entries(tl.starts.signs(problem, RUNS, scale=0.25, seed=3)):
        assert set(np.unique(leaf)) == {-0.25, 0.25}
        assert_moments(leaf, 0.0625, 1 + 1e-12)


def test_uniform_starts(problem):
    """Every entry is uniform between the ends."""
    for leaf in entries(tl.starts.uniform(problem, RUNS, low=-1.0, high=3.0, seed=4)):
        assert leaf.min() >= -1
        assert leaf.max() <= 3
        assert_moments(leaf, 4 / 3, 1.8, mean=1.0)


def test_starts_of_a_law_of_ones_own(problem):
    """Entries are those of the function that was passed, which sees every shape."""
    shapes = []

    def draw(key, shape):
        shapes.append(shape)
        return jax.random.laplace(key, shape)

    starts = tl.starts.product(problem, RUNS, draw, seed=5)
    assert set(shapes) == {leaf.shape for leaf in jax.tree.leaves(problem.template_tree())}
    for leaf in entries(starts):
        assert_moments(leaf, 2, 6)


def test_starts_near_a_point(problem):
    """All starts have exactly the distance asked for, in directions without a preference."""
    point = jax.tree.map(lambda leaf: np.full(leaf.shape, 0.5), problem.template_tree())
    starts = tl.starts.near(problem, RUNS, point, distance=0.2, seed=6)
    flat = np.stack([ravel_pytree(jax.tree.map(lambda leaf, i=i: leaf[i], starts))[0] for i in range(RUNS)])
    offsets = (flat - 0.5) / 0.2
    np.testing.assert_allclose(np.linalg.norm(offsets, axis=1), 1.0, rtol=1e-12)
    size = offsets.shape[1]
    assert np.abs(offsets.mean(axis=0)).max() < 5 / np.sqrt(size * RUNS)
    moments = offsets.T @ offsets / RUNS
    assert np.abs(moments - np.eye(size) / size).max() < 5 * np.sqrt(2 / (size * size * RUNS))


def test_starts_of_large_norm(problem):
    """The norms of the vectors sum to the number asked for, to rounding."""
    starts = tl.starts.large_norm(problem, RUNS, norm_sum=50.0, seed=7)
    norms = np.linalg.norm(jax.vmap(problem.student.vectors)(starts), axis=2)
    np.testing.assert_allclose(norms.sum(axis=1), 50.0, rtol=1e-13)
    assert norms.std() > 0 or norms.shape[1] == 1


def test_sphere_and_ball():
    """Filters lie on the unit sphere, output weights in a ball whose volume they fill evenly."""
    problem = tl.problems.convolution(2 * np.ones(4), [1.0, 2.0, 0.5])
    for radius, given in ((3.5 * 4 / np.sqrt(3), None), (0.7, 0.7)):
        starts = tl.starts.sphere_ball(problem, RUNS, radius=given, seed=8)
        filters, outputs = np.asarray(starts.filter), np.asarray(starts.output)
        np.testing.assert_allclose(np.linalg.norm(filters, axis=1), 1.0, rtol=1e-14)
        assert np.abs(filters.T @ filters / RUNS - np.eye(4) / 4).max() < 5 * np.sqrt(2 / (16 * RUNS))
        assert np.abs(filters.mean(axis=0)).max() < 5 / np.sqrt(4 * RUNS)
        volumes = (np.linalg.norm(outputs, axis=1) / radius) ** 3
        assert volumes.max() <= 1
        assert abs(volumes.mean() - 0.5) < 5 / np.sqrt(12 * RUNS)
        assert abs((volumes**2).mean() - 1 / 3) < 5 * np.sqrt(4 / 45 / RUNS)
        assert np.abs(outputs.mean(axis=0)).max() < 5 * radius / np.sqrt(5 * RUNS)


@pytest.mark.parametrize("seed", [0, 5])
def test_keys_are_those_of_seed_and_number(seed: int):
    """The key of run i is the fold of the seed's key with i."""
    keys = tl.starts.run_keys(seed, 3, first_run=4)
    for i in range(3):
        expected = jax.random.fold_in(jax.random.key(seed), 4 + i)
        np.testing.assert_array_equal(jax.random.key_data(keys[i]), jax.random.key_data(expected))
