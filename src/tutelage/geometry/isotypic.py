r"""Complete spectra of symmetric points, from a few products with the Hessian.

The loss of a committee with the coordinate axes as teachers does not change when neurons and coordinates are permuted.
If a student $W$ is unchanged when the same permutation acts on its rows and columns, for all permutations within blocks
of sizes $p_1, p_2, \dots$, its Hessian commutes with $G = S_{p_1}\times S_{p_2}\times\cdots$, acting on matrices. The
space of matrices falls into irreducible representations of few types, each with a known dimension, and by Schur's lemma
the Hessian has one eigenvalue, repeated as often as that dimension, for each copy of a type. The types, and one vector
for each copy, are those of `tutelage.geometry.families.isotypes` with an orbit of students for each block of teachers,
so that a point with $b$ blocks needs about $4b^2$ products, however many parameters it has. That the spans are
invariant under the Hessian is checked by the products themselves.

Reference: Y. Arjevani and M. Field use these symmetries to study the spectra of this problem's minima.
"""

from collections.abc import Callable

import numpy as np

from tutelage.geometry.families.isotypes import isotypes
from tutelage.geometry.families.layout import Layout

# Entries that differ by less are equal; Hessians then commute with the symmetries up to about as much.
_TOLERANCE = 1e-7


def is_symmetric(matrix: np.ndarray, sizes: tuple[int, ...]) -> bool:
    """Whether a square matrix is unchanged by permutations within the blocks, of rows and columns alike."""
    scale = max(float(np.abs(matrix).max()), 1e-300)
    begin = 0
    for size in sizes:
        # A transposition and a cycle generate all permutations of a block.
        for order in ([1, 0, *range(2, size)], [*range(1, size), 0]):
            permutation = np.arange(len(matrix))
            permutation[begin : begin + size] = begin + np.array(order[:size] if size > 1 else [0])
            if np.abs(matrix[np.ix_(permutation, permutation)] - matrix).max() > _TOLERANCE * scale:
                return False
        begin += size
    return True


def symmetric_spectrum(product: Callable[[np.ndarray], np.ndarray], sizes: tuple[int, ...]) -> np.ndarray | None:
    """Return all eigenvalues, with repetitions, of a symmetric matrix that commutes with the symmetries.

    Args:
        product: Returns the matrix times a vector, whose entries are those of a student read row by row.
        sizes: Sizes of the blocks, in the order in which they stand.

    Returns:
        The eigenvalues in increasing order, or `None` where the matrix does not commute with the symmetries.
    """
    found = []
    worst = scale = 0.0
    for kind in isotypes(Layout(tuple(map(float, sizes)), tuple(range(len(sizes))))):
        vectors = kind.vectors()
        images = np.array([product(vector) for vector in vectors])
        small = images @ vectors.T
        worst = max(worst, float(np.abs(images - small @ vectors).max()))
        values = np.linalg.eigvalsh(0.5 * (small + small.T))
        scale = max(scale, float(np.abs(values).max()))
        found.append(np.repeat(values, round(kind.dimension)))
    if not worst <= 1e-6 * scale:
        return None
    return np.sort(np.concatenate(found))
