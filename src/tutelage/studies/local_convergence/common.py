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


def near_teachers(random: np.random.Generator, teachers: np.ndarray, m: int, scales) -> np.ndarray:
    r"""Starts of $m$ students around the teachers, in turn, each with its share of the teacher's mass.

    Args:
        random: What draws them.
        teachers: Unit teachers, `[teacher, dim]`.
        m: Number of students.
        scales: Deviations from the teachers, relative to their norm; one start for each.
    """
    r, d = teachers.shape
    owner = np.arange(m) % r
    share = np.sqrt(1 / np.bincount(owner, minlength=r))[owner]
    noise = random.normal(size=(*np.shape(scales), m, d)) / np.sqrt(d)
    return share[:, None] * (teachers[owner] + np.asarray(scales)[..., None, None] * noise)


def two_students(delta: np.ndarray) -> np.ndarray:
    r"""The two students of Claim 2, at the angles $\pm\delta$ to a teacher on the first axis; `[..., student, dim]`."""
    half = 0.5 * np.stack([np.ones_like(delta), np.tan(delta)], axis=-1)
    return f.students_of(np.stack([half, half * [1.0, -1.0]], axis=-2))


def own_angles(students: np.ndarray, teachers: np.ndarray) -> np.ndarray:
    """Angle of every student to the nearest teacher's line; `[..., student]`."""
    return f.line_angles(students, teachers).min(axis=-1)


def stray_mass(students: np.ndarray, teachers: np.ndarray, angle: float) -> np.ndarray:
    """Fraction of the students' mass that is further than an angle from every teacher; `[...]`."""
    mass = np.sum(np.asarray(students) ** 2, axis=-1)
    return np.sum(mass * (own_angles(students, teachers) > angle), axis=-1) / np.maximum(np.sum(mass, axis=-1), 1e-300)
