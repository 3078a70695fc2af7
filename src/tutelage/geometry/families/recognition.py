"""Which layout a student in full has: blocks of teachers and orbits of students, found from its entries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tutelage.geometry.equivalence import Reference, blocks_of
from tutelage.geometry.families.layout import NOBODY, Layout

# Below so many teachers a dense Hessian is quicker.
_LEAST = 12

# Entries that differ by less, as a part of the largest, are equal.
_TOLERANCE = 1e-6


class Recognised(NamedTuple):
    """The layout of a student, and the orders of neurons and coordinates in which it stands in full."""

    layout: Layout
    students: np.ndarray
    teachers: np.ndarray


def recognised(vectors: np.ndarray, labels: np.ndarray | None = None) -> Recognised | None:
    """Return the layout of a student whose teachers are all coordinate axes, if it has symmetries that are worth it.

    Args:
        vectors: The student, one row per neuron; there may be more or fewer of them than teachers.
        labels: A label for every teacher, where they are not all alike.
    """
    number, dimension = vectors.shape
    if dimension < _LEAST:
        return None
    labels = np.zeros(dimension, int) if labels is None else labels
    reference = Reference(np.eye(dimension), False, np.zeros(number, int), labels)
    rows, columns = blocks_of(reference.pattern(vectors), reference, _TOLERANCE)
    blocks = _groups(columns)
    # With b blocks a symmetric student has about b² entries, and the types of its Hessian about 4b² rows.
    if 8 * max(len(blocks), len(set(rows.tolist()))) ** 2 > dimension**2:
        return None
    owners, order = [], []
    for group in _groups(rows):
        found = _orbit(vectors[group], blocks)
        if found is None:
            return None
        owner, places = found
        owners.append(owner)
        order += group[places].tolist()
    layout = Layout(tuple(float(len(block)) for block in blocks), tuple(owners))
    return Recognised(layout, np.array(order), np.concatenate(blocks))


def _groups(labels: np.ndarray) -> list[np.ndarray]:
    """Return the places of equal labels, the largest group first."""
    return sorted((np.flatnonzero(labels == label) for label in np.unique(labels)), key=lambda group: -len(group))


def _orbit(rows: np.ndarray, blocks: list[np.ndarray]) -> tuple[int, np.ndarray] | None:
    """Return the block that students belong to, and their order by own teachers, or `None` if they are no orbit."""
    scale = float(np.abs(rows).max())
    owner, order = NOBODY, np.arange(len(rows))
    for number, block in enumerate(blocks):
        part = rows[:, block]
        if np.ptp(part, axis=1).max() <= _TOLERANCE * scale:
            continue
        own = np.abs(part - np.median(part, axis=1, keepdims=True)).argmax(axis=1)
        if len(block) == 2:
            own = part.argmax(axis=1)
        if owner != NOBODY or len(block) != len(rows) or len(set(own.tolist())) != len(block):
            return None
        others = np.delete(part, own + len(block) * np.arange(len(rows))).reshape(len(rows), -1)
        if np.ptp(others, axis=1).max() > _TOLERANCE * scale:
            return None
        owner, order = number, np.argsort(own)
    # Equal students that belong to nobody are parallel.
    return None if owner == NOBODY and len(rows) > 1 else (owner, order)
