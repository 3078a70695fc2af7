"""Start i depends on the seed and on i alone: bit for bit, whatever the batch."""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np
import pytest

import tutelage as tl

CONSTRUCTORS: dict[str, Callable] = {
    "xavier": tl.starts.xavier,
    "uniform": tl.starts.uniform,
    "near": lambda problem, runs, **options: tl.starts.near(
        problem, runs, jax.tree.map(lambda leaf: np.ones(leaf.shape), problem.template_tree()), 0.3, **options
    ),
    "large_norm": lambda problem, runs, **options: tl.starts.large_norm(problem, runs, 9.0, **options),
}


def assert_cut(draw: Callable, whole: int, pieces: list[tuple[int, int]]) -> None:
    """Every piece (first run, runs) is that piece of the whole batch, bit for bit."""
    batch = draw(whole, seed=3)
    for first, runs in pieces:
        piece = draw(runs, seed=3, first_run=first)
        for one, other in zip(jax.tree.leaves(batch), jax.tree.leaves(piece), strict=True):
            assert other.shape[0] == runs
            np.testing.assert_array_equal(one[first : first + runs], other)


@pytest.mark.parametrize("problem", ["neuron", "committee", "convolution", "composite"], indirect=True)
@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_a_start_does_not_depend_on_its_batch(problem, name):
    """Batches of other sizes, and pieces cut by `first_run`, have the same starts."""
    draw = lambda runs, **options: CONSTRUCTORS[name](problem, runs, **options)  # noqa: E731
    assert_cut(draw, 300, [(0, 1), (0, 2), (0, 64), (7, 1), (4, 5), (250, 20), (299, 1)])


def test_other_starts_do_not_depend_on_their_batch(homogeneous):
    """The same for sphere and ball, fitted norms and fitted norms in an estimated subspace."""
    convolution = tl.problems.convolution(np.ones(4), [1.0, 2.0, 0.5])
    assert_cut(lambda runs, **options: tl.starts.sphere_ball(convolution, runs, **options), 12, [(0, 1), (5, 6)])
    assert_cut(lambda runs, **options: tl.starts.fitted(homogeneous, runs, **options), 7, [(0, 1), (3, 2)])
    assert_cut(
        lambda runs, **options: tl.starts.subspace(homogeneous, runs, samples=300, **options),
        6,
        [(0, 2), (3, 1)],
    )


def test_wide_starts_do_not_depend_on_their_batch():
    """The same in dimension 30,000, where starts are drawn two at a time."""
    problem = tl.problems.neuron(np.ones(30_000))
    draw = lambda runs, **options: tl.starts.near(problem, runs, np.ones(30_000), 0.3, **options)  # noqa: E731
    assert_cut(draw, 5, [(0, 1), (1, 3), (4, 1)])


def test_runs_and_seeds_differ(problem):
    """No two runs and no two seeds have the same start; arrays of one start are drawn independently."""
    first = jax.tree.leaves(tl.starts.gaussian(problem, 40, seed=0))
    second = jax.tree.leaves(tl.starts.gaussian(problem, 40, seed=1))
    numbers = np.concatenate([np.asarray(leaf).ravel() for leaf in first + second])
    assert len(np.unique(numbers)) == len(numbers)


@pytest.mark.parametrize("problem", ["committee"], indirect=True)
def test_a_law_is_compiled_once(problem):
    """Other seeds and numbers of runs do not compile another program."""
    traced = []

    def draw(key, shape):
        traced.append(shape)
        return jax.random.laplace(key, shape)

    for runs, seed, first in ((3, 0, 0), (5, 1, 2), (300, 2, 0)):
        tl.starts.product(problem, runs, draw, seed, first)
    assert traced == [(5, 4)]


@pytest.mark.parametrize("problem", ["convolution"], indirect=True)
def test_starts_inside_a_compiled_function(problem):
    """They are the same as outside, bit for bit."""
    inside = jax.jit(lambda: tl.starts.xavier(problem, 3, seed=2))()
    for one, other in zip(inside, tl.starts.xavier(problem, 3, seed=2), strict=True):
        np.testing.assert_array_equal(one, other)


def test_keys_take_all_bits_of_the_number_of_a_run():
    """Runs 2^32 apart have other keys and other starts; in 0.1 they had the same ones."""
    numbers = [0, 1, 2**32 - 1, 2**32, 2**32 + 1, 2**33, 2**33 + 1, 2**62]
    keys = {tuple(np.asarray(jax.random.key_data(tl.starts.run_keys(3, 1, number)))[0].tolist()) for number in numbers}
    assert len(keys) == len(numbers)
    problem = tl.problems.neuron(np.ones(3))
    first, far = (tl.starts.xavier(problem, 2, first_run=number) for number in (0, 2**32))
    assert not np.isin(np.asarray(far), np.asarray(first)).any()
    # A batch that reaches across the border is the same two runs.
    across = tl.starts.xavier(problem, 2, first_run=2**32 - 1)
    np.testing.assert_array_equal(across[1], far[0])


def test_small_numbers_of_runs_keep_their_keys():
    """Below 2^32 a key is one fold of the number into the seed's, as results on record have it."""
    for number in (0, 1, 77, 2**31, 2**32 - 1):
        key = jax.random.fold_in(jax.random.key(5), np.uint32(number))
        np.testing.assert_array_equal(
            jax.random.key_data(tl.starts.run_keys(5, 1, number))[0], jax.random.key_data(key)
        )


def test_random_methods_differ_between_far_runs():
    """Kicks of a run depend on all bits of its number, too."""
    problem = tl.problems.neuron(np.ones(3))
    objective, starts = tl.population(problem), np.full((1, 3), 0.5)
    method = tl.PerturbedGradientDescent(0.1, 0.1)

    def reached(number):
        return np.asarray(tl.descend(objective, starts, method, tl.step_limit(2), first_run=number).points)

    assert not np.array_equal(reached(0), reached(2**32))
    np.testing.assert_array_equal(reached(2**32), reached(2**32))
