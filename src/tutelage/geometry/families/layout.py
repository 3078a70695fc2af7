r"""Block-constant students, as tables of a few numbers: how often each occurs, and which pairs of vectors there are.

The teachers are the coordinate axes, in blocks of sizes $p_1, \dots, p_b$, which may be any real numbers. Students come
in orbits of the permutations within blocks. An orbit that *belongs* to block $A$ has one student for each teacher
$i \in A$; its entries are equal within each block but for the one at $i$. Any other orbit is a single student, whose
entries are equal within all blocks. A student is a table with a row for each orbit and $b + 1$ columns: the entries at
the blocks, and the one at the student's own teacher.

A pair of vectors is of one of few types: which orbits, and whether both belong to the same teacher. Within a type all
inner products are equal. Coordinates of a pair fall into $b + 2$ classes, within which both vectors are constant: the
blocks without the own teachers of both, and these two, so that inner products are sums over classes weighted by their
sizes. Whole numbers are nowhere needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

NOBODY = -1


class PairTypes(NamedTuple):
    """Types of pairs of vectors, students first and then teachers.

    Attributes:
        first: Number of the first vector's orbit; always one of students.
        second: Number of the second vector's orbit.
        same: Whether both belong to the same teacher.
        count: How many there are, each pair once.
        first_cells: For each class of coordinates, the column of the first vector's row that has its entry.
        second_cells: The same for the second vector.
        classes: Sizes of the classes.
    """

    first: np.ndarray
    second: np.ndarray
    same: np.ndarray
    count: np.ndarray
    first_cells: np.ndarray
    second_cells: np.ndarray
    classes: np.ndarray


@dataclass(frozen=True)
class Layout:
    """Blocks of teachers, and orbits of students.

    Attributes:
        sizes: Sizes of the blocks, numbers or balls.
        owners: The block that each orbit of students belongs to, or `NOBODY` for a single student.
    """

    sizes: tuple[Any, ...]
    owners: tuple[int, ...]

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self.sizes)

    @property
    def whole(self) -> bool:
        """Whether all sizes are whole numbers."""
        return all(float(size).is_integer() for size in self.sizes)

    @cached_property
    def dtype(self) -> Any:
        """The type of arrays of sizes: float64, or objects for balls."""
        return float if all(isinstance(size, (int, float)) for size in self.sizes) else object

    @cached_property
    def members(self) -> np.ndarray:
        """Number of vectors of each orbit, students first and then teachers."""
        return np.array([self._size(owner) for owner in self._all_owners], self.dtype)

    @cached_property
    def _all_owners(self) -> tuple[int, ...]:
        return (*self.owners, *range(self.blocks))

    def _size(self, owner: int) -> Any:
        return 1 + 0 * self.sizes[0] if owner == NOBODY else self.sizes[owner]

    @cached_property
    def signs(self) -> np.ndarray:
        """One for students, minus one for teachers."""
        return np.array([1.0] * len(self.owners) + [-1.0] * self.blocks)

    @cached_property
    def widths(self) -> np.ndarray:
        """How many entries of one vector each column of the table stands for, `[orbit, column]`."""
        zero = 0 * self.sizes[0]
        widths = np.array([[*self.sizes, zero + 1] for _ in self._all_owners], self.dtype)
        for orbit, owner in enumerate(self._all_owners):
            if owner == NOBODY:
                widths[orbit, -1] = zero
            else:
                widths[orbit, owner] = widths[orbit, owner] - 1
        return widths

    @cached_property
    def weights(self) -> np.ndarray:
        """How many entries of the student's matrix each cell of the table stands for, `[orbit, column]`."""
        number = len(self.owners)
        return self.members[:number, None] * self.widths[:number]

    @cached_property
    def cells(self) -> tuple[np.ndarray, ...]:
        """The cells of the table that stand for something: their rows, and their columns."""
        return np.nonzero(self.weights != 0)

    @cached_property
    def units(self) -> np.ndarray:
        """For each cell, the table with a one there and zeros elsewhere."""
        units = np.zeros((len(self.cells[0]), *self.weights.shape))
        units[(np.arange(len(units)), *self.cells)] = 1
        return units

    def table(self, entries: np.ndarray) -> np.ndarray:
        """Return the table with given entries in its cells."""
        table = np.full(self.weights.shape, 0 * self.sizes[0], self.dtype)
        table[self.cells] = entries
        return table

    @cached_property
    def pairs(self) -> PairTypes:
        """All types of pairs of different vectors, but for pairs of teachers."""
        rows = []
        for x, owner in enumerate(self.owners):
            for y in range(x, len(self._all_owners)):
                other = self._all_owners[y]
                together = owner == other != NOBODY
                if together and y > x:
                    rows.append(self._pair(x, y, True, self.members[x]))
                number = self.members[x] * (self.members[y] - 1 if together else self.members[y])
                if y > x or together:
                    rows.append(self._pair(x, y, False, number / 2 if y == x else number))
        types = PairTypes(*map(np.array, zip(*rows, strict=True)))
        return types._replace(count=types.count.astype(self.dtype), classes=types.classes.astype(self.dtype))

    def _pair(self, x: int, y: int, same: bool, count: Any) -> tuple[Any, ...]:
        owner, other = self._all_owners[x], self._all_owners[y]
        columns, own = list(range(self.blocks)), self.blocks
        marks = [owner != NOBODY, other != NOBODY and not same]
        classes = [*self.sizes, *(0 * self.sizes[0] + mark for mark in marks)]
        for block, mark in zip((owner, other), marks, strict=True):
            if mark:
                classes[block] = classes[block] - 1
        # Of a class of size zero any entry will do.
        there = own if same else max(owner, 0)
        return x, y, same, count, [*columns, own, max(other, 0)], [*columns, there, own], classes

    @cached_property
    def teachers(self) -> np.ndarray:
        """The rows of the teachers."""
        table = np.zeros((self.blocks, self.blocks + 1))
        table[:, -1] = 1.0
        return table

    def vectors(self, students: np.ndarray) -> np.ndarray:
        """Return the table of students with the teachers below it; leading axes are runs."""
        teachers = self.teachers
        if students.dtype == object:
            teachers = teachers.astype(int) + 0 * self.sizes[0]
        return np.concatenate([students, np.broadcast_to(teachers, students.shape[:-2] + teachers.shape)], axis=-2)

    def matrix(self, students: np.ndarray) -> np.ndarray:
        """Return the student in full, one row per neuron, block after block; sizes must be whole numbers."""
        sizes = [round(float(size)) for size in self.sizes]
        ends = np.cumsum(sizes)
        block = np.repeat(np.arange(self.blocks), sizes)
        rows = []
        for row, owner in zip(students, self.owners, strict=True):
            entries = row[:-1][block]
            own = range(ends[owner] - sizes[owner], ends[owner]) if owner != NOBODY else [None]
            for teacher in own:
                rows.append(entries.copy())
                if teacher is not None:
                    rows[-1][teacher] = row[-1]
        return np.array(rows)
