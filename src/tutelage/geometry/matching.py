r"""Students and teachers: who is close to whom.

The local-convergence paper (Zhou, Ge and Jin, 2021) speaks of the smallest angle between teachers, the range of their
norms, the partition of the students by their nearest teacher into sets $T_i$, those within an angle $\delta$ of it,
$T_i(\delta)$, and the averages $\sum_{j\in T_i}\|w_j\|w_j$. Absolute values do not tell $w$ from $-w$, so that angles
are those between lines unless asked otherwise; the print has angles between vectors, and several of its lemmas fail
for students that point the other way.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import scipy
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int

from tutelage.checks import between, finite_array, flag, not_negative
from tutelage.errors import invalid
from tutelage.instant import instantly


def _teachers(value: Any, nonzero: bool = False) -> Float[Array, "teacher dim"]:
    teachers = finite_array("teachers", value, dimensions=2)
    if nonzero and not isinstance(teachers, Tracer) and not np.linalg.norm(teachers, axis=-1).all():
        raise invalid("teachers", "not be zero", "a vector of norm zero", "Leave it out: it has no students")
    return teachers


def _pair(
    students: Any, teachers: Any, nonzero: bool = False
) -> tuple[Float[Array, "*run student dim"], Float[Array, "teacher dim"]]:
    left, right = finite_array("students", students), _teachers(teachers, nonzero)
    if left.ndim < 2 or left.shape[-1] != right.shape[-1]:
        raise invalid(
            "students",
            f"be rows of dimension {right.shape[-1]}, as the teachers are",
            f"shape {left.shape}",
            "Pass an array [..., student, dim]",
        )
    return left, right


def _units(vectors: Float[Array, "*n dim"]) -> Float[Array, "*n dim"]:
    norms = jnp.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / jnp.where(norms > 0, norms, 1.0)


def _angles(first, second) -> Float[Array, "*run first second"]:
    first, second = _units(first)[..., :, None, :], _units(second)[..., None, :, :]
    return 2 * jnp.arctan2(jnp.linalg.norm(first - second, axis=-1), jnp.linalg.norm(first + second, axis=-1))


def line_angles(students: Any, teachers: Any, signed: bool = False) -> Float[Array, "*run student teacher"]:
    r"""Angles between students and teachers, as lines: at most $\frac\pi2$, and accurate down to zero.

    A zero vector has no direction; its angles are $\frac\pi2$.

    Args:
        students: Students, `[..., student, dim]`.
        teachers: Teachers, `[teacher, dim]`.
        signed: Whether to return angles between vectors, up to $\pi$, as the paper prints them.
    """
    return _line_angles(*_pair(students, teachers), flag("signed", signed))


@instantly
def _line_angles(left, right, signed: bool):
    turn = _angles(left, right)
    zero = (jnp.linalg.norm(left, axis=-1) == 0)[..., :, None] | (jnp.linalg.norm(right, axis=-1) == 0)
    turn = jnp.where(zero, jnp.pi / 2, turn)
    return turn if signed else jnp.minimum(turn, jnp.pi - turn)


def separation(teachers: Any) -> Float[Array, ""]:
    r"""The separation $\Delta$ of teachers: the smallest angle between two of their lines.

    The largest $\Delta$ with $\Delta \le \angle(w^*_i, w^*_j) \le \pi - \Delta$ for all $i \ne j$; $\frac\pi2$ for a
    single teacher, where there is nothing to separate.

    Args:
        teachers: Teachers, `[teacher, dim]`.

    Reference:
        Zhou, Ge and Jin, 2021, Assumption 1.
    """
    return _separation(_teachers(teachers))


@instantly
def _separation(right):
    turn = _line_angles(right, right, False)
    return jnp.min(jnp.where(jnp.eye(right.shape[0], dtype=bool), jnp.pi / 2, turn))


def norm_range(teachers: Any) -> tuple[Float[Array, ""], Float[Array, ""]]:
    r"""The smallest and the largest norm of the teachers, $w_{min}$ and $w_{max}$.

    Args:
        teachers: Teachers, `[teacher, dim]`.

    Reference:
        Zhou, Ge and Jin, 2021, Assumption 2.
    """
    return _norm_range(_teachers(teachers))


@instantly
def _norm_range(right):
    norms = jnp.linalg.norm(right, axis=-1)
    return jnp.min(norms), jnp.max(norms)


def nearest_teacher(
    students: Any, teachers: Any, within: float | None = None, signed: bool = False
) -> Int[Array, "*run student"]:
    r"""The partition of the students: the number of the nearest teacher of each.

    Student $j$ is in $T_i$ if the result is $i$; ties go to the first teacher. With `within`, $-1$ stands for students
    that are further than this from every teacher, so that the result describes $T_i(\delta)$.

    Args:
        students: Students, `[..., student, dim]`.
        teachers: Teachers, `[teacher, dim]`.
        within: The largest angle $\delta$ that counts as near; no limit by default.
        signed: Whether angles are those between vectors, as printed, rather than lines.

    Reference:
        Zhou, Ge and Jin, 2021, Section 5.
    """
    left, right = _pair(students, teachers)
    # No two lines, and no two vectors, are further from each other.
    within = np.pi if within is None else between("within", within, 0, np.pi)
    return _nearest(left, right, np.asarray(within), flag("signed", signed))


@instantly
def _nearest(left, right, within, signed: bool):
    turn = _line_angles(left, right, signed)
    nearest = jnp.argmin(turn, axis=-1)
    return jnp.where(jnp.min(turn, axis=-1) <= within, nearest, -1)


def _members(nearest: Int[Array, "*run student"], teachers: int) -> Bool[Array, "*run student teacher"]:
    return nearest[..., :, None] == jnp.arange(teachers)


def teacher_mass(students: Any, teachers: Any, within: float | None = None) -> Float[Array, "*run teacher"]:
    r"""The mass $\sum_{j\in T_i}\|w_j\|^2$ of the students of each teacher, over the teacher's norm.

    At a global minimum of the homogeneous problem all are one.

    Args:
        students: Students, `[..., student, dim]`.
        teachers: Teachers, `[teacher, dim]`.
        within: Count only students within this angle.
    """
    left, right = _pair(students, teachers, nonzero=True)
    return _mass(left, right, nearest_teacher(left, right, within))


@instantly
def _mass(left, right, nearest):
    members = _members(nearest, right.shape[0])
    mass = jnp.sum(left**2, axis=-1)
    return jnp.einsum("...j,...ji->...i", mass, members.astype(mass.dtype)) / jnp.linalg.norm(right, axis=-1)


def average_neurons(students: Any, teachers: Any) -> Float[Array, "*run teacher dim"]:
    r"""The average neuron of each teacher, $\hat w_i = \sum_{j\in T_i}\pm\|w_j\|w_j$.

    Each student has the sign that makes its angle acute. The print (its Equation (2)) has no signs; without them a
    student at $-w^*_i$, a global minimum, has the average $-w^*_i$.

    Args:
        students: Students, `[..., student, dim]`.
        teachers: Teachers, `[teacher, dim]`.
    """
    left, right = _pair(students, teachers)
    return _averages(left, right, nearest_teacher(left, right))


@instantly
def _averages(left, right, nearest):
    own = right[nearest]
    signs = jnp.where(jnp.sum(left * own, axis=-1) < 0, -1.0, 1.0)
    products = (signs * jnp.linalg.norm(left, axis=-1))[..., None] * left
    return jnp.einsum("...jd,...ji->...id", products, _members(nearest, right.shape[0]).astype(products.dtype))


class Matching(NamedTuple):
    """How the students of one network match the teachers.

    Attributes:
        teacher: Nearest teacher of every student, as a line.
        angle: Angle of every student to it.
        norm: Norm of every student.
        mass: Mass of every teacher's students over the teacher's norm; one at a global minimum.
        gap: Distance of every teacher's average neuron to the teacher, over the teacher's norm.
        partner: For every teacher, a student of its own, such that the angles add up to the least; -1 where there are
            fewer students than teachers.
        matched: Whether every student that is not tiny is within the tolerance of a teacher, and every teacher has its
            mass.
    """

    teacher: np.ndarray
    angle: np.ndarray
    norm: np.ndarray
    mass: np.ndarray
    gap: np.ndarray
    partner: np.ndarray
    matched: bool


def match(students: Any, teachers: Any, angle: float = 0.1, tiny: float = 0.05) -> Matching:
    r"""Match the students of one homogeneous network to the teachers.

    Args:
        students: Students, `[student, dim]`.
        teachers: Teachers, `[teacher, dim]`.
        angle: Largest angle at which a student counts as matching.
        tiny: Students with $\|w\|^2$ below this fraction of the smallest teacher's norm need not match, and the masses
            may differ from one by this much.

    Returns:
        The matching, as plain arrays.
    """
    left, right = _pair(finite_array("students", students, dimensions=2), teachers, nonzero=True)
    angle, tiny = between("angle", angle, 0, np.pi), not_negative("tiny", tiny)
    turn = np.asarray(line_angles(left, right))
    rows, columns = scipy.optimize.linear_sum_assignment(turn)
    partner = np.full(right.shape[0], -1)
    partner[columns] = rows
    norms, sizes = np.linalg.norm(left, axis=-1), np.linalg.norm(right, axis=-1)
    mass = np.asarray(teacher_mass(left, right))
    gap = np.linalg.norm(np.asarray(average_neurons(left, right)) - np.asarray(right), axis=-1) / sizes
    own = turn.min(axis=1)
    counted = norms**2 >= tiny * sizes.min()
    matched = bool(np.all(own[counted] <= angle) and np.all(np.abs(mass - 1) <= tiny))
    return Matching(turn.argmin(axis=1), own, norms, mass, gap, partner, matched)
