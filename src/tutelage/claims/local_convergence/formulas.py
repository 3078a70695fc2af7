r"""Common ground of the local-convergence paper's claims: its loss, its gradient and its decomposition, in NumPy.

Written out here once more, apart from the library's objectives, with any number of leading axes for instances. Symbols:
students $w_j$ (rows), teachers $w^*_i$, products $u_j = \|w_j\|w_j$, residual $R(x) = \sum_j|u_j\cdot x| - \sum_i|w^*_i\cdot x|$,
loss $L = \frac12E[R^2]$, average neurons $v_i = \sum_{j\in T_i}u_j - w^*_i$.
"""

from __future__ import annotations

import numpy as np

PAPER = "local_convergence"

# Root errors that show in several places.
LINES = "angles of vectors, where those of lines are needed"
HALF = "the factor one half of the loss is lost"
NORMS = "students without their norms as output weights"
SIGN = "the teacher's sign in the residual"
DENSITY = "$1/(4\\pi)$ for the density of a Gaussian pair"
DIAGONAL = "the diagonal of a sum over pairs of teachers is lost"
IDENTITY = "the Frobenius norm of the identity is taken for one"
# What supplies the first of them.
ACUTE = "Section C.2, part 1: with absolute values one may assume that angles are at most $\\frac\\pi2$"

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
# Numbers from which on NumPy does not add one after another.
_FEW = 8

# For recipes: angles, the closed forms of E[|a·x||b·x|] and of the loss, without this library. Cross products of what is
# given are exact in ball arithmetic, so that parallel vectors have the angle zero there.
ANGLE = """
def angle(a, b):
    return np.arctan2(np.linalg.norm(np.outer(a, b) - np.outer(b, a)) / np.sqrt(2), a @ b)
"""
CLOSED_FORMS = f"""{ANGLE}
def pair(a, b):  # the mean of |a·x||b·x|
    size = np.linalg.norm(a) * np.linalg.norm(b)
    if size == 0:
        return 0.0
    t = angle(a, b)
    return 2 / np.pi * size * (np.sin(t) + (np.pi / 2 - t) * np.cos(t))

def weighted(students, teachers):
    return [(np.linalg.norm(w), w) for w in students] + [(-1.0, v) for v in teachers]

def square(students, teachers):  # the mean of the squared residual
    terms = weighted(students, teachers)
    return sum([p * q * pair(a, b) for p, a in terms for q, b in terms])

def loss(students, teachers):
    return square(students, teachers) / 2
"""

# Behind them, where a recipe needs E[R(x) x sgn(w·x)] or the gradient.
SLOPES = """
def slope(w, students, teachers):  # the mean of R(x) x sgn(w·x)
    total = 0 * w
    for weight, v in weighted(students, teachers):
        t = angle(w, v)
        across = 2 / np.pi * np.sin(t) * np.linalg.norm(v) / np.linalg.norm(w)
        total = total + weight * ((1 - 2 / np.pi * t) * v + across * w)
    return total

def gradient(students, teachers):
    rows = []
    for w in students:
        s, size = slope(w, students, teachers), np.linalg.norm(w)
        rows.append(size * s + (w @ s) / size * w)
    return np.stack(rows)
"""


def five_point(function, at: np.ndarray, step: float = 1e-3) -> np.ndarray:
    """The derivative of a function of numbers, by differences of fourth order."""
    near, far = (function(at + k * step) - function(at - k * step) for k in (1, 2))
    return (8 * near - far) / (12 * step)


def two_sided(value: np.ndarray) -> np.ndarray:
    """A value and its negative, for a bound from either side."""
    return np.stack([value, -value], -1)


def norms(vectors: np.ndarray) -> np.ndarray:
    """Norms along the last axis."""
    if vectors.shape[-1] >= _FEW:
        return np.sqrt(np.sum(vectors**2, axis=-1))
    # The same sums, coordinate by coordinate: NumPy is slow along a short axis.
    return np.sqrt(sum(part**2 for part in np.moveaxis(vectors, -1, 0)))


def units(vectors: np.ndarray) -> np.ndarray:
    """Vectors over their norms; zero stays zero."""
    sizes = norms(vectors)[..., None]
    return np.divide(vectors, sizes, out=np.zeros_like(vectors), where=sizes > 0)


def products(students: np.ndarray) -> np.ndarray:
    r"""The products $u_j = \|w_j\|w_j$ that a homogeneous student's function depends on."""
    return norms(students)[..., None] * students


def students_of(products: np.ndarray) -> np.ndarray:
    r"""The students with given products: $w = u/\sqrt{\|u\|}$."""
    return units(products) * np.sqrt(norms(products))[..., None]


def angles(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Angles of all pairs of rows, accurate near zero and near a half turn; `[..., first, second]`."""
    first, second = units(first)[..., :, None, :], units(second)[..., None, :, :]
    if first.shape[-1] >= _FEW:
        return 2 * np.arctan2(norms(first - second), norms(first + second))
    one, other = (np.moveaxis(part, -1, 0) for part in (first, second))
    apart, together = (sum((x + sign * y) ** 2 for x, y in zip(one, other, strict=True)) for sign in (-1.0, 1.0))
    return 2 * np.arctan2(np.sqrt(apart), np.sqrt(together))


def angle_between(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Angles of vectors, pair by pair."""
    return angles(first[..., None, :], second[..., None, :])[..., 0, 0]


def line_angles(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Angles of the lines through all pairs of rows: a vector and its negative are the same neuron."""
    turn = angles(first, second)
    return np.minimum(turn, np.pi - turn)


def kernel(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    r"""$E[|a\cdot x||b\cdot x|] = \frac2\pi\|a\|\|b\|(\sin\theta + (\frac\pi2-\theta)\cos\theta)$ for all pairs of rows."""
    turn = angles(first, second)
    shape = np.sin(turn) + (np.pi / 2 - turn) * np.cos(turn)
    return 2 / np.pi * norms(first)[..., :, None] * norms(second)[..., None, :] * shape


def relu_loss(students: np.ndarray, teachers: np.ndarray, linear: np.ndarray) -> np.ndarray:
    r"""The loss with ReLU and a linear term $\beta\cdot x$, by $E[\sigma(a\cdot x)\sigma(b\cdot x)] = \frac{\|a\|\|b\|}{2\pi}(\sin\theta + (\pi-\theta)\cos\theta)$."""
    vectors, signs = signed(students, teachers)
    turn, sizes = angles(vectors, vectors), norms(vectors)
    gram = (np.sin(turn) + (np.pi - turn) * np.cos(turn)) / (2 * np.pi) * sizes[..., :, None] * sizes[..., None, :]
    # E[x σ(a·x)] = a/2.
    both = np.sum(linear * np.einsum("i,...id->...d", signs, vectors), -1)
    return 0.5 * (np.einsum("...ij,i,j->...", gram, signs, signs) + both + np.sum(linear**2, -1))


def signed(students: np.ndarray, teachers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All products and teachers as one list of neurons, with their signs in the residual."""
    lead = np.broadcast_shapes(students.shape[:-2], teachers.shape[:-2])
    learned = np.broadcast_to(products(students), lead + students.shape[-2:])
    vectors = np.concatenate([learned, np.broadcast_to(teachers, lead + teachers.shape[-2:])], axis=-2)
    ones = np.ones(vectors.shape[-2])
    ones[students.shape[-2] :] = -1
    return vectors, ones


def loss(students: np.ndarray, teachers: np.ndarray) -> np.ndarray:
    r"""Equation (1), $L = \frac12E[R(x)^2]$."""
    vectors, signs = signed(students, teachers)
    return 0.5 * np.einsum("...ij,i,j->...", kernel(vectors, vectors), signs, signs)


def slopes(directions: np.ndarray, students: np.ndarray, teachers: np.ndarray) -> np.ndarray:
    r"""$E[R(x)\,x\,\mathrm{sgn}(a\cdot x)]$ for every direction $a$; at the students, the gradient in their products."""
    vectors, signs = signed(students, teachers)
    turn = angles(directions, vectors)
    linear = np.einsum("...jk,k,...kd->...jd", 1 - 2 / np.pi * turn, signs, vectors)
    radial = 2 / np.pi * np.einsum("...jk,k,...k->...j", np.sin(turn), signs, norms(vectors))
    return linear + radial[..., None] * units(directions)


def stretched(students: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    r"""$\|w_j\|(I + \bar w_j\bar w_j^\top)$ applied to a vector per student: the derivative of $u_j$ in $w_j$."""
    directions = units(students)
    along = np.sum(directions * vectors, axis=-1, keepdims=True)
    return norms(students)[..., None] * (vectors + along * directions)


def gradient(students: np.ndarray, teachers: np.ndarray) -> np.ndarray:
    r"""$\nabla_{w_j}L = \|w_j\|(I + \bar w_j\bar w_j^\top)E[R(x)\,x\,\mathrm{sgn}(w_j\cdot x)]$ for every student."""
    return stretched(students, slopes(students, students, teachers))


def frobenius(matrix: np.ndarray) -> np.ndarray:
    """The norm over the last two axes."""
    return np.sqrt(np.sum(matrix**2, axis=(-2, -1)))


def nearest(turn: np.ndarray) -> np.ndarray:
    """Number of the nearest teacher of every student from a table of angles; the partition into the sets $T_i$."""
    return np.argmin(turn, axis=-1)


def membership(turn: np.ndarray) -> np.ndarray:
    """Whether student `j` belongs to teacher `i`: `[..., student, teacher]`."""
    return nearest(turn)[..., None] == np.arange(turn.shape[-1])


def own_angles(turn: np.ndarray) -> np.ndarray:
    r"""The angle $\delta_j$ of every student to its teacher."""
    return np.min(turn, axis=-1)


def turned(students: np.ndarray, teachers: np.ndarray) -> np.ndarray:
    """Students with their signs changed so that each has an acute angle to its nearest teacher as a line."""
    turn = angles(students, teachers)
    own = nearest(np.minimum(turn, np.pi - turn))[..., None]
    return np.where(np.take_along_axis(turn, own, axis=-1) > np.pi / 2, -students, students)


def gaps(students: np.ndarray, teachers: np.ndarray) -> np.ndarray:
    r"""Equation (2): $v_i = \sum_{j\in T_i}\|w_j\|w_j - w^*_i$."""
    own = membership(angles(students, teachers))
    return np.einsum("...ji,...jd->...id", own, products(students)) - teachers


def sign_matrix(teachers: np.ndarray) -> np.ndarray:
    r"""Equation (4): the blocks $M_{ij} = E[xx^\top\mathrm{sgn}(w^*_i\cdot x)\,\mathrm{sgn}(w^*_j\cdot x)]$ as one matrix.

    With the angle $\theta$ between two teachers, $M_{ij} = (1-\frac{2\theta}\pi)I + \frac2\pi\sin\theta\,(bb^\top - ee^\top)$, where $b$ and
    $e$ are the unit bisectors $\propto \bar w^*_i \pm \bar w^*_j$.
    """
    r, d = teachers.shape[-2:]
    turn = angles(teachers, teachers)[..., None, None]
    directions = units(teachers)
    sums = units(directions[..., :, None, :] + directions[..., None, :, :])
    differences = units(directions[..., :, None, :] - directions[..., None, :, :])
    bisectors = sums[..., :, None] * sums[..., None, :] - differences[..., :, None] * differences[..., None, :]
    blocks = (1 - 2 / np.pi * turn) * np.eye(d) + 2 / np.pi * np.sin(turn) * bisectors
    return np.swapaxes(blocks, -3, -2).reshape(*teachers.shape[:-2], r * d, r * d)


def separation(teachers: np.ndarray) -> np.ndarray:
    r"""The largest $\Delta$ of Assumption 1: the smallest angle between the lines of two teachers ($\frac\pi2$ for one)."""
    turn = line_angles(teachers, teachers)
    turn = np.where(np.eye(teachers.shape[-2], dtype=bool), np.pi / 2, turn)
    return np.min(turn, axis=(-2, -1))


def decomposition(students: np.ndarray, teachers: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Equation (3): the two parts of the residual at inputs `[point, dim]`."""
    own = membership(angles(students, teachers))
    teaching = np.sign(np.einsum("pd,...id->...pi", points, teachers))
    learning = np.einsum("pd,...jd->...pj", points, products(students))
    flat = np.einsum("pd,...id,...pi->...p", points, gaps(students, teachers), teaching)
    theirs = np.einsum("...ji,...pi->...pj", own, teaching)
    return flat, np.sum(np.abs(learning) - learning * theirs, axis=-1)


def residual(students: np.ndarray, teachers: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The residual at inputs `[point, dim]`, or `[..., point, dim]` for other inputs of every instance."""
    learning = np.einsum("...pd,...jd->...pj", points, products(students))
    teaching = np.einsum("...pd,...id->...pi", points, teachers)
    return np.sum(np.abs(learning), axis=-1) - np.sum(np.abs(teaching), axis=-1)


def on_circle(students: np.ndarray, teachers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""The residual on the circle, for means in the plane: points, weights and values, `[instance, point, ...]`.

    For $F(x) = \|x\|^2F(\bar x)$, smooth but for kinks where the residual has some, $E[F(x)]$ is the sum of weights times values
    of $F$: Gauss–Legendre rules between kinks. Unlike the closed forms, differences of numbers of order one, it resolves losses
    far below $10^{-16}$.

    Args:
        students: Students, `[instance, student, 2]`.
        teachers: Teachers, `[instance, teacher, 2]`.
    """
    vectors = np.concatenate([students, teachers], axis=1)
    directions = np.arctan2(vectors[..., 1], vectors[..., 0])
    kinks = np.concatenate([directions + np.pi / 2, directions - np.pi / 2], axis=1)
    edges = np.sort(np.mod(kinks, 2 * np.pi), axis=1)
    edges = np.concatenate([edges, edges[:, :1] + 2 * np.pi], axis=1)
    half = np.diff(edges, axis=1)[:, :, None] / 2
    turn = (edges[:, :-1, None] + half + half * _NODES).reshape(len(edges), -1)
    points = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    learned = np.abs(np.einsum("npd,njd->npj", points, products(students))).sum(axis=-1)
    taught = np.abs(np.einsum("npd,nid->npi", points, teachers)).sum(axis=-1)
    # The mean of the squared distance is two, and the angle is uniform.
    return points, (half * _WEIGHTS).reshape(len(edges), -1) / np.pi, learned - taught


def spiky_square(students: np.ndarray, teachers: np.ndarray) -> np.ndarray:
    r"""$\|R_2\|^2$ in closed form, from $R_2 = R - R_1$ and $E[R\,x\,\mathrm{sgn}(w^*_i\cdot x)]$."""
    v = gaps(students, teachers)
    flat = np.reshape(v, (*v.shape[:-2], -1))
    own = np.einsum("...a,...ab,...b->...", flat, sign_matrix(teachers), flat)
    cross = np.sum(v * slopes(teachers, students, teachers), axis=(-2, -1))
    return 2 * loss(students, teachers) - 2 * cross + own
