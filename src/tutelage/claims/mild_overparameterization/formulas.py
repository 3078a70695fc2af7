r"""The printed formulas, transcribed to NumPy: the loss, its gradient and its Hessian for many students at once.

A student is an array `[..., student, dim]`, a teacher `[..., teacher, dim]`. The paper prints two scales. Equation (2) is
$E[(\cdot)^2]$; the closed form of Equation (64) and all derivatives (Equation (10), Theorem 10, and with them the constants
of Theorems 2 and 6 and of Conjecture 1) belong to $\tfrac12E[(\cdot)^2]$, the convention of this library. Everything here
is in the latter scale.

Angles are got from sums and differences of unit vectors, so that nearly parallel neurons keep their digits; a zero vector
contributes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

PAPER = "mild_overparameterization"

SCALE = "$H$ is the Hessian of $\\frac12E[(\\cdot)^2]$, as Theorem 10 prints it; that of Equation (2) is twice as large"
HALF = "the factor one half between Equation (2) and its closed form and derivatives"
# What claims on derivatives share that fail by it.
HALVED: dict[str, Any] = {
    "supplied": "Lemma 3 and Equation (64), where the factor one half stands",
    "correction": "The factor two between Equation (2) and its derivatives, as in Equation (64).",
    "defect": HALF,
}


def inner(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the inner products of the last axes, of rows or of rows of rows."""
    return np.vecdot(one, other)


def norms(vectors: np.ndarray) -> np.ndarray:
    """Return the norms of the rows."""
    return np.sqrt(inner(vectors, vectors))


def units(vectors: np.ndarray) -> np.ndarray:
    """Return the rows at unit length; zero rows stay zero."""
    size = norms(vectors)[..., None]
    return vectors / np.where(size > 0, size, 1.0)


def angles(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the angles between all rows of two matrices, `[..., one, other]`."""
    first, second = units(one)[..., :, None, :], units(other)[..., None, :, :]
    return 2 * np.arctan2(norms(first - second), norms(first + second))


def angle_between(w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the angles between vectors, pair by pair."""
    return angles(w[..., None, :], v[..., None, :])[..., 0, 0]


def profile(angle: np.ndarray) -> np.ndarray:
    r"""Return $\sin\theta + (\pi - \theta)\cos\theta$."""
    return np.sin(angle) + (np.pi - angle) * np.cos(angle)


def duals(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    r"""Return $f(w, v) = E[[w\cdot x]_+[v\cdot x]_+]$ for all rows, Equation (65)."""
    sizes = norms(one)[..., :, None] * norms(other)[..., None, :]
    return sizes * profile(angles(one, other)) / (2 * np.pi)


def loss(student: np.ndarray, teacher: np.ndarray) -> np.ndarray:
    """Return the loss, Equation (64)."""
    own = duals(student, student).sum((-2, -1))
    cross = duals(student, teacher).sum((-2, -1))
    return 0.5 * own - cross + 0.5 * duals(teacher, teacher).sum((-2, -1))


def pulls(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return g(w, v) of Equation (11) for all rows, `[..., one, other, dim]`."""
    angle = angles(one, other)
    along = (norms(other)[..., None, :] * np.sin(angle))[..., None] * units(one)[..., :, None, :]
    return (along + (np.pi - angle)[..., None] * other[..., None, :, :]) / (2 * np.pi)


def gradient(student: np.ndarray, teacher: np.ndarray) -> np.ndarray:
    """Return the gradient of `loss`, Equation (10); the term of a neuron with itself is half the neuron."""
    return pulls(student, student).sum(-2) - pulls(student, teacher).sum(-2)


def _angles_and_normals(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the angles between all rows and the unit normals n(v, w) of Theorem 10.

    A normal is the part of the other row orthogonal to the first, `[..., one, other, dim]`; zero if they are parallel.
    """
    first, second = units(one)[..., :, None, :], units(other)[..., None, :, :]
    angle = 2 * np.arctan2(norms(first - second), norms(first + second))
    normal = second - np.cos(angle)[..., None] * first
    # The first projection leaves rounding errors along `one`, which matter where the normal is short.
    normal = normal - inner(normal, first)[..., None] * first
    return angle, np.where(np.sin(angle)[..., None] > 1e-14, units(normal), 0.0)


def outer(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the outer products of rows."""
    return one[..., :, None] * other[..., None, :]


def own_blocks(one: np.ndarray, other: np.ndarray, seen: Any = None) -> np.ndarray:
    """Return h1(w, v) of Equation (6) for all rows, `[..., one, other, dim, dim]`; `seen`, angles and normals."""
    angle, normal = seen or _angles_and_normals(one, other)
    sizes = norms(one)[..., :, None]
    factor = np.sin(angle) * norms(other)[..., None, :] / (2 * np.pi * np.where(sizes > 0, sizes, 1.0))
    unit = units(one)[..., :, None, :]
    inner = np.eye(one.shape[-1]) - outer(unit, unit) + outer(normal, normal)
    return factor[..., None, None] * inner


def own_block(w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return h1 of vectors, pair by pair."""
    return own_blocks(w[..., None, :], v[..., None, :])[..., 0, 0, :, :]


def largest_of_own(w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the largest eigenvalue of h1."""
    return np.linalg.eigvalsh(own_block(w, v))[..., -1]


def cross_blocks(one: np.ndarray, other: np.ndarray, seen: Any = None) -> np.ndarray:
    """Return h2(w, v) of Equation (7) for all rows, `[..., one, other, dim, dim]`; its limit where they are parallel.

    Args:
        one: The first rows.
        other: The second ones.
        seen: Angles and normals, where both are the same.
    """
    first, second = units(one)[..., :, None, :], units(other)[..., None, :, :]
    angle, from_second = seen or _angles_and_normals(one, other)
    from_first = np.swapaxes((seen or _angles_and_normals(other, one))[1], -2, -3)
    inner = (np.pi - angle)[..., None, None] * np.eye(one.shape[-1])
    return (inner + outer(from_first, second) + outer(from_second, first)) / (2 * np.pi)


def cross_block(w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return h2 of vectors, pair by pair."""
    return cross_blocks(w[..., None, :], v[..., None, :])[..., 0, 0, :, :]


def reduced(student: np.ndarray, teacher: np.ndarray, seen: Any = None) -> np.ndarray:
    """Return the reduced blocks H'_ii of Section 4, `[..., student, dim, dim]`; `seen`, angles and normals of students."""
    return own_blocks(student, student, seen).sum(-3) - own_blocks(student, teacher).sum(-3)


def hessian(student: np.ndarray, teacher: np.ndarray) -> np.ndarray:
    """Return the Hessian of `loss` by Theorem 10, as a matrix `[..., student * dim, student * dim]`."""
    count, dimension = student.shape[-2:]
    seen = _angles_and_normals(student, student)
    blocks = cross_blocks(student, student, seen)
    index = np.arange(count)
    blocks[..., index, index, :, :] = 0.5 * np.eye(dimension) + reduced(student, teacher, seen)
    blocks = np.moveaxis(blocks, -2, -3)
    return blocks.reshape(*blocks.shape[:-4], count * dimension, count * dimension)


def own_forms(one: np.ndarray, other: np.ndarray, way: np.ndarray, seen: Any = None) -> np.ndarray:
    r"""Return $g_i^\top h_1(w_i, v_j)g_i$ for all rows, `[..., one, other]`, without the matrices; `seen`, angles and normals."""
    angle, normal = seen or _angles_and_normals(one, other)
    size = norms(one)[..., :, None]
    square = (inner(way, way) - inner(way, units(one)) ** 2)[..., None] + inner(way[..., :, None, :], normal) ** 2
    return np.sin(angle) * norms(other)[..., None, :] / (2 * np.pi * np.where(size > 0, size, 1.0)) * square


def cross_forms(one: np.ndarray, way: np.ndarray, seen: Any = None) -> np.ndarray:
    r"""Return $g_i^\top h_2(w_i, w_j)g_j$ for all rows, `[..., one, one]`, without the matrices; `seen`, angles and normals."""
    angle, normal = seen or _angles_and_normals(one, one)
    unit, mine, others = units(one), way[..., :, None, :], way[..., None, :, :]
    first = inner(mine, np.swapaxes(normal, -2, -3)) * inner(way, unit)[..., None, :]
    second = inner(mine, normal) * inner(others, unit[..., :, None, :])
    return ((np.pi - angle) * inner(mine, others) + first + second) / (2 * np.pi)


def curvature(student: np.ndarray, teacher: np.ndarray, way: np.ndarray) -> np.ndarray:
    """Return the second derivative of `loss` along a direction, Equation (28)."""
    # A neuron with itself is at the angle zero, where h1 vanishes and h2 is one half.
    seen = _angles_and_normals(student, student)
    between = own_forms(student, student, way, seen) + cross_forms(student, way, seen)
    return between.sum((-2, -1)) - own_forms(student, teacher, way).sum((-2, -1))


def smallest_eigenvalue(matrix: np.ndarray) -> np.ndarray:
    """Return the smallest eigenvalue of symmetric matrices."""
    return np.linalg.eigvalsh(matrix)[..., 0]
