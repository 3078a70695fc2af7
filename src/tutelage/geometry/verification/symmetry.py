r"""The symmetries of a student with few different entries, and vectors of each type of representations, written out.

The teachers are the coordinate axes. Where a student's entries are equal within blocks of teachers but for its own one,
and the students that differ by that alone are as many as the block has teachers, permutations within blocks do not
change the student as a whole. The matrices below span, with their images, all students, and by Schur's lemma the
Hessian does not mix those of different types; their forms are those of the table in
`tutelage.geometry.families.isotypes`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Orbit(NamedTuple):
    """Students that permutations exchange: their rows, in the order of their own teachers, and whose block they are."""

    rows: list[int]
    block: int | None


class Symmetry(NamedTuple):
    """Blocks of teachers, as columns, and orbits of students."""

    blocks: list[list[int]]
    orbits: list[Orbit]
    shape: tuple[int, int]


class Representation(NamedTuple):
    """A type of representations: its dimension, and a matrix for each copy, orthogonal to each other."""

    dimension: int
    copies: list[np.ndarray]


def symmetry_of(entries: np.ndarray) -> Symmetry | None:
    """Return the symmetries of a student, from whole numbers that stand for its entries, or `None` if it has others."""
    rows, columns = (np.zeros(size, int) for size in entries.shape)
    for _ in range(sum(entries.shape)):
        new_rows = _ranks([(rows[i], *sorted(zip(columns, entries[i], strict=True))) for i in range(len(rows))])
        new_columns = _ranks(
            [(columns[j], *sorted(zip(new_rows, entries[:, j], strict=True))) for j in range(len(columns))]
        )
        stable = len(set(new_rows)) == len(set(rows)) and len(set(new_columns)) == len(set(columns))
        rows, columns = new_rows, new_columns
        if stable:
            break
    blocks = [np.flatnonzero(columns == colour).tolist() for colour in dict.fromkeys(columns.tolist())]
    members: dict[tuple, dict[int, int]] = {}
    singles = []
    for row, line in enumerate(entries):
        seen = _seen(line, blocks)
        if seen is None:
            return None
        block, own, signature = seen
        if block is None:
            singles.append(Orbit([row], None))
        elif members.setdefault((block, signature), {}).setdefault(own, row) != row:
            return None
    orbits = []
    for (block, _), found in members.items():
        if sorted(found) != blocks[block]:
            return None
        orbits.append(Orbit([found[column] for column in blocks[block]], block))
    return Symmetry(blocks, orbits + singles, entries.shape)  # type: ignore[arg-type]


def _ranks(keys: list[tuple]) -> np.ndarray:
    order = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return np.array([order[key] for key in keys])


def _seen(line: np.ndarray, blocks: list[list[int]]) -> tuple[int | None, int, tuple] | None:
    """Return a student's block and own teacher, with its different entries, or `None` if it has several."""
    owner, own, signature = None, -1, []
    for number, block in enumerate(blocks):
        values, counts = np.unique(line[block], return_counts=True)
        if len(values) == 1:
            signature.append((int(values[0]),))
            continue
        odd = int(np.argmin(counts))
        if len(values) > 2 or counts[odd] != 1 or owner is not None:
            return None
        owner, own = number, block[int(np.flatnonzero(line[block] == values[odd])[0])]
        signature.append((int(values[odd]), int(values[1 - odd])))
    return owner, own, tuple(signature)


def kinds(symmetry: Symmetry) -> list[Representation]:
    """Return all types; dimensions times copies add up to the number of parameters, which is verified."""
    found = [_trivial(symmetry)]
    sizes = [len(block) for block in symmetry.blocks]
    for a, size in enumerate(sizes):
        if size == 1:
            continue
        found.append(_standard(symmetry, a))
        found += [_product(symmetry, a, b) for b in range(a + 1, len(sizes)) if sizes[b] > 1]
        if size > 2:
            cycle = np.zeros((size, size), int)
            cycle[[0, 1, 2], [1, 2, 0]] = 1
            found.append(Representation((size - 1) * (size - 2) // 2, _within(symmetry, a, cycle - cycle.T)))
        if size > 3:
            pair = np.zeros((size, size), int)
            pair[np.ix_([0, 1], [2, 3])] = [[1, -1], [-1, 1]]
            found.append(Representation(size * (size - 3) // 2, _within(symmetry, a, pair + pair.T)))
    found = [kind for kind in found if kind.copies]
    if sum(kind.dimension * len(kind.copies) for kind in found) != symmetry.shape[0] * symmetry.shape[1]:
        raise AssertionError("the types of representations do not fill the space of students")
    return found


def _placed(symmetry: Symmetry, rows: list[int], columns: list[int], part: np.ndarray) -> np.ndarray:
    matrix = np.zeros(symmetry.shape, int)
    matrix[np.ix_(rows, columns)] = part
    return matrix


def _trivial(symmetry: Symmetry) -> Representation:
    copies = []
    for orbit in symmetry.orbits:
        for number, block in enumerate(symmetry.blocks):
            ones, own = np.ones((len(orbit.rows), len(block)), int), np.eye(len(orbit.rows), len(block), dtype=int)
            parts = [own, ones - own] if orbit.block == number else [ones]
            copies += [_placed(symmetry, orbit.rows, block, part) for part in parts]
    return Representation(1, [copy for copy in copies if copy.any()])


def _standard(symmetry: Symmetry, a: int) -> Representation:
    columns = symmetry.blocks[a]
    size = len(columns)
    u = _difference(size)
    copies = []
    for rows, block in symmetry.orbits:
        if block != a:
            copies.append(_placed(symmetry, rows, columns, np.tile(u, (len(rows), 1))))
            continue
        off = 1 - np.eye(size, dtype=int)
        parts = [np.diag(u), (u[:, None] - u) * off, (u[:, None] + u) * off]
        copies += [_placed(symmetry, rows, columns, part) for part in parts if part.any()]
        for b, others in enumerate(symmetry.blocks):
            if b != a:
                copies.append(_placed(symmetry, rows, others, np.tile(u[:, None], (1, len(others)))))
    return Representation(size - 1, copies)


def _product(symmetry: Symmetry, a: int, b: int) -> Representation:
    copies = []
    for rows, block in symmetry.orbits:
        if block in (a, b):
            others = symmetry.blocks[b if block == a else a]
            part = np.outer(_difference(len(rows)), _difference(len(others)))
            copies.append(_placed(symmetry, rows, others, part))
    return Representation((len(symmetry.blocks[a]) - 1) * (len(symmetry.blocks[b]) - 1), copies)


def _within(symmetry: Symmetry, a: int, part: np.ndarray) -> list[np.ndarray]:
    columns = symmetry.blocks[a]
    return [_placed(symmetry, rows, columns, part) for rows, block in symmetry.orbits if block == a]


def _difference(size: int) -> np.ndarray:
    u = np.zeros(size, int)
    u[:2] = 1, -1
    return u
