"""The block structure of a student: which neurons and teachers play the same part, and the few distinct entries."""

from typing import NamedTuple

import numpy as np
import scipy

from tutelage.geometry.equivalence import Pattern, Reference, blocks_of, codes


class Block(NamedTuple):
    """The inner products of one block of students with one block of teachers.

    Attributes:
        students: Number of students in the block.
        teachers: Number of teachers in the block.
        entries: The distinct entries.
        counts: How often a student of the block has each of them: `(1, 4)` for a diagonal and four others.
    """

    students: int
    teachers: int
    entries: tuple[float, ...]
    counts: tuple[int, ...]


class Structure(NamedTuple):
    """The block structure of a student.

    Attributes:
        students: Order of the students, block by block, the largest block first.
        teachers: Order of the teachers; each stands at the place of the student that sees it most.
        student_sizes: Sizes of the blocks of students, in this order.
        teacher_sizes: Sizes of the blocks of teachers, in this order.
        blocks: The distinct entries of all pairs of blocks, blocks of students first.
    """

    students: np.ndarray
    teachers: np.ndarray
    student_sizes: tuple[int, ...]
    teacher_sizes: tuple[int, ...]
    blocks: tuple[Block, ...]

    @property
    def name(self) -> str:
        """The sizes of the blocks, such as `5+1`; of students × teachers where they differ."""
        students, teachers = ("+".join(map(str, sorted(sizes, reverse=True))) for sizes in self[2:4])
        return students if students == teachers else f"{students} × {teachers}"


def structure(pattern: Pattern, reference: Reference, tolerance: float) -> Structure:
    """Return the block structure of a pattern, entries being equal up to a tolerance."""
    rows, columns = blocks_of(pattern, reference, tolerance)
    sizes = np.bincount(rows)
    # By size, then by the entries, so that equivalent students are listed alike.
    means = np.array([np.round(np.diag(pattern.own)[rows == block].mean(), 6) for block in range(len(sizes))])
    rank = np.empty(len(sizes), int)
    rank[np.lexsort((means, -sizes))] = np.arange(len(sizes))
    students = np.argsort(rank[rows], kind="stable")
    if reference.teacher is None:
        teachers = np.arange(len(columns))
    else:
        _, matched = scipy.optimize.linear_sum_assignment(np.abs(pattern.cross[students]), maximize=True)
        rest = np.setdiff1d(np.arange(len(columns)), matched)
        teachers = _gathered(np.concatenate([matched, rest[np.argsort(columns[rest], kind="stable")]]), columns)
    numbers = codes(pattern.cross, tolerance)
    row_order = list(dict.fromkeys(rows[students].tolist()))
    column_order = list(dict.fromkeys(columns[teachers].tolist()))
    blocks = tuple(
        _block(pattern.cross, numbers, np.flatnonzero(rows == a), np.flatnonzero(columns == b))
        for a in row_order
        for b in column_order
    )
    return Structure(
        students,
        teachers,
        tuple(int((rows == a).sum()) for a in row_order),
        tuple(int((columns == b).sum()) for b in column_order),
        blocks,
    )


def _gathered(order: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Bring the teachers of a block together, blocks in the order of their first members."""
    first = {block: place for place, block in reversed(list(enumerate(columns[order].tolist())))}
    return order[np.argsort([first[block] for block in columns[order].tolist()], kind="stable")]


def _block(cross: np.ndarray, numbers: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> Block:
    values = cross[np.ix_(rows, columns)].ravel()
    kinds, counts = np.unique(numbers[np.ix_(rows, columns)], return_counts=True)
    own = numbers[np.ix_(rows, columns)].ravel()
    entries = tuple(float(values[own == kind].mean()) for kind in kinds)
    return Block(len(rows), len(columns), entries, tuple(round(int(number) / len(rows)) for number in counts))
