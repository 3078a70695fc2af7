r"""Complete spectra of symmetric points, from a few products with the Hessian.

The loss of a committee with the coordinate axes as teachers does not change when neurons and coordinates are permuted.
If a student $W$ is unchanged when the same permutation acts on its rows and columns, for all permutations within blocks
of sizes $p_1, p_2, \dots$, its Hessian commutes with $G = S_{p_1}\times S_{p_2}\times\cdots$, acting on matrices. The
space of matrices falls into irreducible representations of few types, each with a known dimension, and by Schur's lemma
the Hessian has one eigenvalue, repeated as often as that dimension, for each copy of a type. With $1_A$ the vector of
ones of a block, $u_A = e_1 - e_2$ a vector of its standard representation, and $p$ its size, these are one vector for
each copy:

| type | dimension | one vector for each copy |
| --- | --- | --- |
| trivial | 1 | $1_A1_B^\top$; within a block, its diagonal and the rest |
| standard of $A$ | $p - 1$ | $u_A1_B^\top$, $1_Bu_A^\top$; within $A$, the diagonal $u$, the rest as $u_i$ or $u_j$ |
| standard of $A$ and of $B$ | $(p_A-1)(p_B-1)$ | $u_Au_B^\top$, $u_Bu_A^\top$ |
| $(p-2, 2)$ | $p(p-3)/2$ | $(e_1-e_2)(e_3-e_4)^\top + (e_3-e_4)(e_1-e_2)^\top$ |
| $(p-2, 1, 1)$ | $(p-1)(p-2)/2$ | the antisymmetric matrix of the cycle $1\to2\to3\to1$ |

so that a point with $b$ blocks needs about $4b^2$ products, however many parameters it has. That the spans are
invariant under the Hessian is checked by the products themselves.

Reference: Y. Arjevani and M. Field use these symmetries to study the spectra of this problem's minima.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

# Entries that differ by less are equal; Hessians then commute with the symmetries up to about as much.
_TOLERANCE = 1e-7


class Isotypic(NamedTuple):
    """One vector for each copy of an irreducible representation in the space of matrices.

    Attributes:
        dimension: Dimension of the representation: how often its eigenvalues are repeated.
        vectors: Matrices as rows, `[copy, parameter]`.
    """

    dimension: int
    vectors: np.ndarray


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


def isotypic(sizes: tuple[int, ...]) -> list[Isotypic]:
    """Return the types of matrices under permutations within blocks of rows and columns alike.

    Args:
        sizes: Sizes of the blocks, in the order in which they stand.

    Returns:
        The types; dimensions times numbers of copies add up to the square of the number of rows.
    """
    ends = np.cumsum(sizes)
    size = int(ends[-1])
    indices = [np.arange(end - number, end) for end, number in zip(ends, sizes, strict=True)]
    eye = np.eye(size)
    ones = [eye[index].sum(axis=0) for index in indices]
    standard = [eye[index[0]] - eye[index[1]] if len(index) > 1 else None for index in indices]
    inside = [np.outer(one, one) * (1 - eye) for one in ones]  # a block without its diagonal
    types = [_trivial(ones, inside)]
    for a, index in enumerate(indices):
        p, u = len(index), standard[a]
        if u is None:
            continue
        vectors = [matrix for b, one in enumerate(ones) if b != a for matrix in (np.outer(u, one), np.outer(one, u))]
        vectors += [np.diag(u), u[:, None] * inside[a]]
        if p > 2:
            vectors.append(inside[a] * u)
        types.append(_orthonormal(p - 1, vectors))
        for b in range(a + 1, len(indices)):
            v = standard[b]
            if v is not None:
                dimension = (p - 1) * (len(indices[b]) - 1)
                types.append(_orthonormal(dimension, [np.outer(u, v), np.outer(v, u)]))
        e = eye[index]
        if p > 2:
            cycle = np.outer(e[0], e[1]) + np.outer(e[1], e[2]) + np.outer(e[2], e[0])
            types.append(_orthonormal((p - 1) * (p - 2) // 2, [cycle - cycle.T]))
        if p > 3:
            pair = np.outer(e[0] - e[1], e[2] - e[3])
            types.append(_orthonormal(p * (p - 3) // 2, [pair + pair.T]))
    return types


def _trivial(ones: list[np.ndarray], inside: list[np.ndarray]) -> Isotypic:
    vectors = [np.outer(one, other) for a, one in enumerate(ones) for b, other in enumerate(ones) if a != b]
    vectors += [np.diag(one) for one in ones]
    vectors += [matrix for matrix in inside if matrix.any()]
    return _orthonormal(1, vectors)


def _orthonormal(dimension: int, matrices: list[np.ndarray]) -> Isotypic:
    vectors = np.array([matrix.ravel() for matrix in matrices])
    return Isotypic(dimension, np.linalg.qr(vectors.T)[0].T)


def symmetric_spectrum(product: Callable[[np.ndarray], np.ndarray], types: list[Isotypic]) -> np.ndarray | None:
    """Return all eigenvalues, with repetitions, of a symmetric matrix that commutes with the symmetries.

    Args:
        product: Returns the matrix times a vector, whose entries are those of a student read row by row.
        types: The types of matrices under the symmetries.

    Returns:
        The eigenvalues in increasing order, or `None` where the matrix does not commute with the symmetries.
    """
    found = []
    worst = scale = 0.0
    for kind in types:
        images = np.array([product(vector) for vector in kind.vectors])
        small = images @ kind.vectors.T
        worst = max(worst, float(np.abs(images - small @ kind.vectors).max()))
        values = np.linalg.eigvalsh(0.5 * (small + small.T))
        scale = max(scale, float(np.abs(values).max()))
        found.append(np.repeat(values, kind.dimension))
    if not worst <= 1e-6 * scale:
        return None
    return np.sort(np.concatenate(found))
