"""What the studies of this paper share: the problem with an orthonormal teacher."""

import numpy as np

from tutelage.geometry.families.layout import Layout
from tutelage.geometry.families.proofs import reduced_table
from tutelage.objectives import Objective, population
from tutelage.problems import committee
from tutelage.studies.base import Arrays

# Every spurious minimum of these problems has a larger loss, and runs that are on their way to a global one a smaller.
SPURIOUS = 1e-3

# Entries of a symmetric student that differ by less, as a part of the largest, are equal.
_EQUAL = 1e-7


def objective_of(neurons: int, students: int) -> Objective:
    """The exact loss of ReLU students that learn as many orthonormal teachers as there are dimensions."""
    return population(committee(np.eye(neurons), students=students))


def tables_of(students: list[np.ndarray], sizes: list[tuple[int, ...]]) -> Arrays:
    """Return symmetric students by their distinct entries, as in `FamilyPoint.table`, and others in full.

    Args:
        students: Students in the order of their blocks, as many as coordinates.
        sizes: Sizes of the blocks.

    Returns:
        `block_sizes` and `block_table`, of a width that the largest number of blocks asks for; where a student does not have the
        symmetries of its blocks they are zero, and it is one of `unsymmetric`.
    """
    layouts = [Layout(tuple(map(float, blocks)), tuple(range(len(blocks)))) for blocks in sizes]
    found = [reduced_table(*both) for both in zip(layouts, students, strict=True)]
    symmetric = [
        np.abs(layout.matrix(table) - student).max() <= _EQUAL * np.abs(student).max()
        for layout, table, student in zip(layouts, found, students, strict=True)
    ]
    most = max((len(blocks) for blocks, regular in zip(sizes, symmetric, strict=True) if regular), default=0)
    block_sizes, tables = np.zeros((len(students), most), int), np.zeros((len(students), most, most + 1))
    for number in np.flatnonzero(symmetric):
        blocks = len(sizes[number])
        block_sizes[number, :blocks] = sizes[number]
        tables[number, :blocks, [*range(blocks), -1]] = found[number].T
    rest = [student for student, regular in zip(students, symmetric, strict=True) if not regular]
    shape = (len(rest), *students[0].shape) if students else (0, 0, 0)
    return {"block_sizes": block_sizes, "block_table": tables, "unsymmetric": np.array(rest).reshape(shape)}
