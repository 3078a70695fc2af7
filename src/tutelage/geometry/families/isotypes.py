r"""The Hessian of a block-constant student, type by type: a few small matrices have all its eigenvalues.

The Hessian commutes with the permutations within blocks. The space of students falls into irreducible representations
of few types, and by Schur's lemma the Hessian acts on each type as one small matrix,
with a row for each copy of the type, repeated as often as its dimension says:

| type | dimension | one vector for each copy |
| --- | --- | --- |
| trivial | 1 | a cell of the table |
| standard of $A$ | $p - 1$ | in an orbit of $A$: $u_i$ in its three kinds of cells, $u_j$ within $A$; else $u_j$ |
| standard of $A$ and of $B$ | $(p_A-1)(p_B-1)$ | in an orbit of $A$: $u_iv_j$ at $B$; in one of $B$: $v_iu_j$ at $A$ |
| $(p-2, 1, 1)$ | $(p-1)(p-2)/2$ | in an orbit of $A$: antisymmetric, $1\to2\to3\to1$ |
| $(p-2, 2)$ | $p(p-3)/2$ | in an orbit of $A$: $(e_1-e_2)(e_3-e_4)^\top$ and its transpose |

Here $u = e_1 - e_2$ in $A$, and $v$ is the same in $B$; within $A$, $u_i + u_j$ and $u_i - u_j$ are orthogonal.
Each of these vectors is block-constant for finer blocks, where the first few teachers of a block stand alone, and the
remaining $p - 2$, $p - 3$ or $p - 4$ are a block again. So one formula, the second derivative of the reduced loss,
gives all these matrices, for blocks of any real sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutelage.geometry.families.arithmetic import reciprocal, root
from tutelage.geometry.families.layout import NOBODY, Layout
from tutelage.geometry.families.reduced import Geometry


@dataclass(frozen=True)
class Finer:
    """A layout whose blocks are parts of another one's.

    Attributes:
        layout: The finer layout.
        orbits: Which orbit each orbit is a part of.
        blocks: Which block each block is a part of.
    """

    layout: Layout
    orbits: tuple[int, ...]
    blocks: tuple[int, ...]

    def lifted(self, students: np.ndarray) -> np.ndarray:
        """Return a table of the coarser layout as one of the finer one."""
        return students[..., list(self.orbits), :][..., [*self.blocks, -1]]

    def rows(self, orbit: int, number: int) -> list[int]:
        """Return the numbers of the first parts of an orbit."""
        return list(range(self.orbits.index(orbit), self.orbits.index(orbit) + number))

    def columns(self, block: int, number: int) -> list[int]:
        """Return the numbers of the first parts of a block."""
        return list(range(self.blocks.index(block), self.blocks.index(block) + number))

    def direction(self, rows: list[int], columns: list[int], entries: np.ndarray) -> np.ndarray:
        """Return the table with given entries in some rows and columns, and zeros elsewhere."""
        table = np.zeros((len(self.orbits), len(self.blocks) + 1))
        table[np.ix_(rows, columns)] = entries
        return table


@dataclass(frozen=True)
class Isotype:
    """A type of irreducible representations in the space of students.

    Attributes:
        name: The type in words, blocks numbered from one.
        dimension: Its dimension: how often eigenvalues are repeated. A number like the sizes of the blocks.
        finer: The blocks in which its vectors are block-constant.
        directions: One vector for each copy, orthogonal, `[copy, orbit, column]`; entries are 1, 0 and -1.
    """

    name: str
    dimension: Any
    finer: Finer
    directions: np.ndarray

    def matrix(self, students: np.ndarray) -> np.ndarray:
        """Return the matrix by which the Hessian acts on the type, in an orthonormal basis of copies.

        Args:
            students: The table of the student, in the coarser layout.
        """
        layout = self.finer.layout
        found = Geometry(layout, self.finer.lifted(students)).second_derivative(self.directions)
        scale = reciprocal(root((layout.weights * self.directions**2).sum(axis=(-1, -2))))
        return found * scale[:, None] * scale

    def vectors(self) -> np.ndarray:
        """Return the vectors as students in full, read row by row, of length one; sizes must be whole numbers."""
        vectors = np.array([self.finer.layout.matrix(direction).ravel() for direction in self.directions])
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def refined(layout: Layout, parts: Mapping[int, int]) -> Finer:
    """Return the layout in which the first teachers of some blocks stand alone.

    Args:
        layout: The coarser layout.
        parts: For some blocks, how many teachers stand alone.
    """
    sizes: list[Any] = []
    blocks: list[int] = []
    for block, size in enumerate(layout.sizes):
        alone = parts.get(block, 0)
        sizes += [0 * size + 1] * alone + [size - alone]
        blocks += [block] * (alone + 1)
    owners, orbits = [], []
    for orbit, owner in enumerate(layout.owners):
        own = [NOBODY] if owner == NOBODY else [place for place, block in enumerate(blocks) if block == owner]
        owners += own
        orbits += [orbit] * len(own)
    return Finer(Layout(tuple(sizes), tuple(owners)), tuple(orbits), tuple(blocks))


def isotypes(layout: Layout) -> list[Isotype]:
    """Return all types of a layout; dimensions times copies add up to the number of parameters."""
    types = [Isotype("trivial", 0 * layout.sizes[0] + 1, refined(layout, {}), layout.units)]
    for a, size in enumerate(layout.sizes):
        if float(size) == 1:
            continue
        types.append(_standard(layout, a))
        types += [_product(layout, a, b) for b in range(a + 1, layout.blocks) if float(layout.sizes[b]) != 1]
        if float(size) > 2:
            types.append(_within("antisymmetric", layout, a, (size - 1) * (size - 2) / 2, _CYCLE))
        if float(size) > 3:
            types.append(_within("symmetric", layout, a, size * (size - 3) / 2, _PAIRS))
    return [kind for kind in types if len(kind.directions)]


def isotype(layout: Layout, name: str) -> Isotype:
    """Return the type of a name."""
    (kind,) = [kind for kind in isotypes(layout) if kind.name == name]
    return kind


def _standard(layout: Layout, a: int) -> Isotype:
    finer = refined(layout, {a: 2})
    directions = list(_standard_directions(layout, finer, a))
    return Isotype(f"standard of {a + 1}", layout.sizes[a] - 1, finer, np.array(directions))


def _standard_directions(layout: Layout, finer: Finer, a: int) -> Iterator[np.ndarray]:
    u = np.array([1.0, -1.0, 0.0])
    columns = finer.columns(a, 3)
    for orbit, owner in enumerate(layout.owners):
        if owner != a:
            yield finer.direction(finer.rows(orbit, 1), columns, u)
            continue
        rows = finer.rows(orbit, 3)
        for column in (-1, *(finer.blocks.index(block) for block in range(layout.blocks) if block != a)):
            yield finer.direction(rows, [column], u[:, None])
        for sign in (1, -1) if float(layout.sizes[a]) > 2 else (-1,):
            yield finer.direction(rows, columns, u[:, None] + sign * u)


def _product(layout: Layout, a: int, b: int) -> Isotype:
    finer, u = refined(layout, {a: 2, b: 2}), np.array([1.0, -1.0])
    directions = [
        finer.direction(finer.rows(orbit, 2), finer.columns(b if owner == a else a, 2), np.outer(u, u))
        for orbit, owner in enumerate(layout.owners)
        if owner in (a, b)
    ]
    dimension = (layout.sizes[a] - 1) * (layout.sizes[b] - 1)
    return Isotype(f"standard of {a + 1} and of {b + 1}", dimension, finer, np.array(directions))


# The vectors of the types of matrices within one block: their entries among its first teachers.
_CYCLE = np.array([[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 0.0]])
_PAIRS = np.outer([1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0])
_PAIRS = _PAIRS + _PAIRS.T


def _within(name: str, layout: Layout, a: int, dimension: Any, entries: np.ndarray) -> Isotype:
    """Return a type of matrices within one block, given its vector's entries among the first teachers."""
    number = len(entries)
    finer = refined(layout, {a: number})
    own = [orbit for orbit, owner in enumerate(layout.owners) if owner == a]
    directions = [finer.direction(finer.rows(orbit, number), finer.columns(a, number), entries) for orbit in own]
    return Isotype(f"{name} of {a + 1}", dimension, finer, np.array(directions))
