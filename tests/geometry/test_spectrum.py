"""Spectra by symmetry: the types of matrices under permutations, and the dense spectrum without a dense Hessian."""

from __future__ import annotations

import numpy as np
import pytest

import tutelage as tl
from tutelage.geometry.families.isotypes import isotypes
from tutelage.geometry.families.layout import Layout
from tutelage.geometry.families.recognition import recognised
from tutelage.geometry.spectrum import spectrum, symmetric_spectrum

SIZES = [(1,), (2,), (3,), (7,), (5, 1), (4, 1, 1), (3, 2), (2, 2), (6, 3, 2, 1), (1, 1, 1)]


def own_layout(sizes: tuple[int, ...]) -> Layout:
    """As many students as teachers, each orbit with a block of its own."""
    return Layout(tuple(map(float, sizes)), tuple(range(len(sizes))))


def permutations(sizes: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    order = np.arange(sum(sizes))
    begin = 0
    for size in sizes:
        order[begin : begin + size] = begin + generator.permutation(size)
        begin += size
    return order


def commuting(sizes: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """A random symmetric operator on matrices, averaged over all permutations of pairs of indices within the blocks.

    Its entry at a pair of positions depends on which of their indices are equal and to which blocks they belong.
    """
    block = np.repeat(np.arange(len(sizes)), sizes)
    size = len(block)
    positions = [(i, j) for i in range(size) for j in range(size)]
    generator, values = np.random.default_rng(seed), {}
    operator = np.empty((size**2, size**2))
    for a, first in enumerate(positions):
        for b, second in enumerate(positions):
            indices = (*first, *second)
            orbit = tuple(indices.index(index) for index in indices) + tuple(block[list(indices)].tolist())
            operator[a, b] = values.setdefault(orbit, generator.normal())
    return operator + operator.T


@pytest.mark.parametrize("sizes", SIZES)
def test_types_fill_the_space_of_matrices(sizes: tuple[int, ...]):
    """Dimensions times copies add up, and vectors of a type are orthonormal and orthogonal to those of the others."""
    types = isotypes(own_layout(sizes))
    assert sum(kind.dimension * len(kind.directions) for kind in types) == sum(sizes) ** 2
    vectors = np.concatenate([kind.vectors() for kind in types])
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(len(vectors)), atol=1e-12)


@pytest.mark.parametrize("sizes", SIZES)
def test_operators_that_commute_have_this_spectrum(sizes: tuple[int, ...]):
    """For random operators that commute with the symmetries, all eigenvalues are found, as often as they occur."""
    operator = commuting(sizes)
    found = symmetric_spectrum(operator.__matmul__, own_layout(sizes))
    assert found is not None
    np.testing.assert_allclose(found, np.linalg.eigvalsh(operator), atol=1e-10)


def test_other_operators_are_refused():
    """An operator that does not commute with the symmetries shows in the products."""
    operator = np.random.default_rng(0).normal(size=(25, 25))
    assert symmetric_spectrum((operator + operator.T).__matmul__, own_layout((5,))) is None


@pytest.mark.parametrize("sizes", [(12,), (11, 1), (9, 3), (7, 7), (12, 3, 1, 1)])
def test_symmetric_students_are_told_apart(sizes: tuple[int, ...]):
    """Whatever the order of rows and columns, blocks are found, and in their order permutations change nothing."""
    generator = np.random.default_rng(1)
    block = np.repeat(np.arange(len(sizes)), sizes)
    table = generator.normal(size=(len(sizes), len(sizes)))
    matrix = table[np.ix_(block, block)] + np.diag(generator.normal(size=len(sizes))[block])
    shuffled = matrix[generator.permutation(len(matrix))][:, generator.permutation(len(matrix))]
    found = recognised(shuffled)
    assert found is not None
    assert sorted(found.layout.sizes) == sorted(sizes)
    ordered = shuffled[np.ix_(found.students, found.teachers)]
    order = permutations(tuple(map(int, found.layout.sizes)), generator)
    np.testing.assert_array_equal(ordered[np.ix_(order, order)], ordered)
    assert recognised(matrix + generator.normal(size=matrix.shape)) is None


@pytest.mark.parametrize("neurons", [12, 15])
def test_spectra_of_minima_equal_the_dense_ones(neurons: int):
    """At the minima that descent reaches, global and spurious, rows and columns in any order: equal to ten digits."""
    objective = tl.population(tl.problems.committee(np.eye(neurons), students=neurons))
    starts = tl.starts.xavier(objective.problem, runs=24, seed=0)
    stop = tl.gradient_norm(1e-12)
    runs = tl.descend(objective, starts, tl.GradientDescent(5 / neurons), stop, finish=tl.NewtonKrylov())
    atlas = tl.atlas(objective, runs)
    assert len(atlas) >= 3
    shuffled = np.random.default_rng(0).permutation(neurons)
    for entry in atlas:
        point = np.asarray(entry.point)[shuffled][:, shuffled[::-1]]
        found, dense = spectrum(objective, point), spectrum(objective, point, how="dense")
        assert found.complete and dense.complete
        np.testing.assert_allclose(found.eigenvalues, dense.eigenvalues, atol=1e-10 * dense.scale)


def test_teachers_with_different_output_weights_stay_with_their_coordinates():
    """Blocks of equal sizes, of which the second has the larger norms: the spectrum is the one of this very student."""
    output = np.repeat([3.0, 1.0], 7)
    problem = tl.problems.two_layer(np.eye(14), students=14, teacher_output=output, learn=("weights",))
    objective = tl.population(problem)
    point = np.diag(np.repeat([2.5, 0.5], 7)) + 0.03
    found, dense = spectrum(objective, point), spectrum(objective, point, how="dense")
    np.testing.assert_allclose(found.eigenvalues, dense.eigenvalues, atol=1e-10 * dense.scale)


def test_a_student_more_than_teachers_has_its_complete_spectrum():
    """A neuron of nobody's own, equal in all coordinates, besides those of the teachers."""
    objective = tl.population(tl.problems.committee(np.eye(12), students=13))
    point = np.vstack([np.full(12, 0.2), 0.9 * np.eye(12) - 0.05])
    found, dense = spectrum(objective, point), spectrum(objective, point, how="dense")
    assert found.complete
    np.testing.assert_allclose(found.eigenvalues, dense.eigenvalues, atol=1e-10 * dense.scale)
