"""What the studies of the local-convergence paper share."""

from __future__ import annotations

import numpy as np

from tutelage.claims.local_convergence import formulas as f


def spread_teachers(r: int, d: int, delta: float | None = None) -> np.ndarray:
    r"""Unit teachers: the first axes, or a chain in which each has the angle $\Delta$ to the one before.

    In a chain every teacher but the first lies between the one before and an axis of its own, so that all other angles are larger.
    """
    if delta is None:
        return np.eye(d)[:r]
    rows = [np.eye(d)[0]]
    for k in range(1, r):
        fresh = np.eye(d)[k] - rows[-1] * rows[-1][k]
        rows.append(np.cos(delta) * rows[-1] + np.sin(delta) * fresh / np.linalg.norm(fresh))
    return np.stack(rows)


def own_angles(students: np.ndarray, teachers: np.ndarray) -> np.ndarray:
    """Angle of every student to the nearest teacher's line; `[..., student]`."""
    return f.line_angles(students, teachers).min(axis=-1)


def stray_mass(students: np.ndarray, teachers: np.ndarray, angle: float) -> np.ndarray:
    """Fraction of the students' mass that is further than an angle from every teacher; `[...]`."""
    mass = np.sum(np.asarray(students) ** 2, axis=-1)
    return np.sum(mass * (own_angles(students, teachers) > angle), axis=-1) / np.maximum(np.sum(mass, axis=-1), 1e-300)
