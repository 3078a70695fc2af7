r"""Theorem 2 and Appendix B.2: as many students as teachers.

At the minimum write a way as a matrix, $X_{ia} = g_i\cdot v_a$. The quadratic form of the Hessian is smallest on $X = K + D$ with $K$
antisymmetric and $D$ diagonal such that all columns sum to zero: there it is $\tfrac14 - \tfrac1{2\pi}$ exactly, for every $k \ge 2$.
"""

from __future__ import annotations

import numpy as np

from tutelage.claims import Claim, Form, real, uniform
from tutelage.claims.mild_overparameterization.formulas import (
    HALVED,
    PAPER,
    SCALE,
    hessian,
    smallest_eigenvalue,
)
from tutelage.claims.mild_overparameterization.instances import SampledDraws, axes

SMALLEST = 0.25 - 1 / (2 * np.pi)
_SHAPES = ((1, 1), (1, 3), (2, 2), (2, 4), (3, 3), (5, 5), (8, 8), (12, 12))


def _at_minima(count, random):
    """Global minima with as many students as teachers: permuted, and turned at random."""
    for k, d in _SHAPES:
        teacher = np.swapaxes(np.linalg.qr(random.normal(size=(min(count, 8), d, k)))[0], 1, 2)
        order = random.permuted(np.broadcast_to(np.arange(k), (len(teacher), k)), axis=1)
        yield {"teacher": teacher, "minimum": np.take_along_axis(teacher, order[..., None], 1)}


def _several(count, random, least=2):
    """The same with at least two teachers."""
    return (batch for batch in _at_minima(count, random) if batch["minimum"].shape[1] >= least)


EIGENVALUE = Claim(
    id=f"{PAPER}.theorem-2.eigenvalue",
    title="smallest eigenvalue of the Hessian at the global minima",
    hypotheses=("$n = k$ from 1 to 12", SCALE + ", for which the bound is sharp; for that one it holds with room"),
    draw=_at_minima,
    left=lambda minimum, teacher: smallest_eigenvalue(hessian(minimum, teacher)),
    relation=">=",
    right=lambda factor=1.0: factor * SMALLEST,
    known=0.0,
    as_printed="$\\nabla^2F \\succeq (\\frac14 - \\frac1{2\\pi})I$ at every global minimum.",
    control=Form("The same with $1.001(\\frac14 - \\frac1{2\\pi})$.", factor=1.001),
)


def _around(shapes):
    return [{"teacher": axes(k, d), "way": real((k, d)), "radius": uniform(0.0, 0.2)} for k, d in shapes]


NEIGHBOURHOOD = Claim(
    id=f"{PAPER}.theorem-2.neighbourhood",
    title="strongly convex around the global minima",
    hypotheses=(
        "$n = k$ from 1 to 8; points at a distance $r \\le 0.2$ of a global minimum, all of them searched for $k \\le 2$",
        SCALE,
    ),
    draw=[*_around(((1, 2), (2, 2))), SampledDraws(_around(((3, 3), (4, 4), (8, 8))))],
    build=lambda teacher, way, radius: {
        "teacher": teacher,
        "student": teacher + radius[..., None, None] * way / np.sqrt(np.sum(way**2, (-2, -1), keepdims=True)),
        "radius": radius,
    },
    left=lambda student, teacher: smallest_eigenvalue(hessian(student, teacher)),
    relation=">=",
    right=lambda radius, rate=0.5: SMALLEST - rate * radius,
    as_printed="For every $\\lambda < \\frac14 - \\frac1{2\\pi}$ the objective is $\\lambda$-strongly convex in a neighbourhood of every global minimum: the smallest "
    "eigenvalue is at least $\\frac14 - \\frac1{2\\pi} - \\frac r2$ at the distance $r$ (the rate observed).",
    control=Form("It is at least $\\frac14 - \\frac1{2\\pi} - \\frac r5$.", rate=0.2),
)


def _blocks(minimum, cross, factor):
    """The matrix of Lemma 4 with a factor in front of its outer products and one in front of all of it."""
    k, d = minimum.shape[-2:]
    both = outer_blocks(minimum)
    pattern = np.eye(k)[:, None, :, None]
    whole = (0.25 * (1 - pattern) + 0.5 * pattern) * np.eye(d)[None, :, None, :] + cross / (2 * np.pi) * both
    return factor * whole.reshape(*minimum.shape[:-2], k * d, k * d)


def outer_blocks(minimum: np.ndarray) -> np.ndarray:
    """Return the second matrix A of Equation (22) without its factor, as blocks `[..., student, dim, student, dim]`."""
    k = minimum.shape[-2]
    first = minimum[..., :, :, None, None] * minimum[..., None, None, :, :]
    both = first + np.swapaxes(first, -1, -3)
    return both * (1 - np.eye(k))[:, None, :, None]


LEMMA_4 = Claim(
    id=f"{PAPER}.lemma-4",
    title="the Hessian at the global minima",
    hypotheses="$n = k$ from 1 to 12",
    draw=_at_minima,
    left=lambda minimum, teacher, factor=2.0: hessian(minimum, teacher) * factor,
    relation="==",
    right=lambda minimum, cross=1.0: _blocks(minimum, cross, 1.0),
    scale=0.1,
    as_printed="The same for the Hessian of Equation (2), which is twice as large.",
    as_meant=Form(
        "Its diagonal blocks are $\\frac12I$, the others $\\frac14I + \\frac1{2\\pi}(\\bar w_i\\bar w_j^\\top + \\bar w_j\\bar w_i^\\top)$, for $\\frac12E[(\\cdot)^2]$.",
        factor=1.0,
    ),
    **HALVED,
    control=Form("The same with $\\frac{1.01}{2\\pi}$.", cross=1.01, factor=1.0),
)


def _last_block(minimum, slip=1.0, factor=1.0):
    """The sum of Equation (22), its block in the last column and the row before the last with E of other indices or right."""
    k, d = minimum.shape[-2:]
    blocks, outer = _blocks(minimum, factor, 1.0).reshape(*minimum.shape[:-2], k, d, k, d), outer_blocks(minimum)
    printed = slip * outer[..., 0, :, k - 2, :] + (1 - slip) * outer[..., k - 2, :, k - 1, :]
    blocks[..., k - 2, :, k - 1, :] += (printed - outer[..., k - 2, :, k - 1, :]) / (2 * np.pi)
    return blocks.reshape(*minimum.shape[:-2], k * d, k * d)


EQUATION_22 = Claim(
    id=f"{PAPER}.equation-22",
    title="the Hessian as a sum of two matrices",
    hypotheses=("$n = k \\ge 3$", SCALE),
    glyph=True,
    draw=lambda count, random: _several(count, random, 3),
    left=lambda minimum, teacher: hessian(minimum, teacher),
    relation="==",
    right=_last_block,
    scale=0.1,
    as_printed="The second matrix has $E_{1,n-1}$ in the last column, in the row before the last.",
    as_meant=Form("With $E_{n-1,n}$ there.", slip=0.0),
    supplied="the display at the end of the proof",
    correction="An index: 1 for $n$.",
    control=Form("The same with $\\frac{1.01}{2\\pi}$.", slip=0.0, factor=1.01),
)


def _matrix(minimum):
    k, d = minimum.shape[-2:]
    return outer_blocks(minimum).reshape(*minimum.shape[:-2], k * d, k * d)


def _four(minimum, sign, exchanged):
    """The vectors α, β, γ and δ, `[..., 4, student * dim]`: α with a sign, γ with its entries exchanged or not."""
    w, k, d = minimum, *minimum.shape[-2:]
    vectors = np.zeros((*w.shape[:-2], 4, k, d))
    vectors[..., 0, 0, :], vectors[..., 0, 1, :] = w[..., 0, :], sign * w[..., 1, :]
    vectors[..., 1, 0, :], vectors[..., 1, 1, :] = w[..., 1, :], -w[..., 0, :]
    vectors[..., 2, 0, :] = exchanged * w[..., 1, :] + (1 - exchanged) * w[..., 0, :]
    vectors[..., 2, 1, :] = exchanged * w[..., 0, :] + (1 - exchanged) * w[..., 1, :]
    vectors[..., 3, :, :] = w
    return vectors.reshape(*w.shape[:-2], 4, k * d)


def _multiples(minimum, sign=1.0, exchanged=0.0, less=0.0):
    """The vectors times the eigenvalues −1, −1, 1 and k or less."""
    values = np.array([-1.0, -1.0, 1.0, minimum.shape[-2] - less])
    return values[:, None] * _four(minimum, sign, exchanged)


_RIGHT_VECTORS = Form(
    "With $\\tilde\\alpha = (\\bar w_i, -\\bar w_j)$, $\\tilde\\gamma = (\\bar w_j, \\bar w_i)$ and $A\\tilde\\delta = (k-1)\\tilde\\delta$.",
    sign=-1.0,
    exchanged=1.0,
    less=1.0,
)

EIGENVECTORS = Claim(
    id=f"{PAPER}.section-B.2.eigenvectors",
    title="eigenvectors of the second matrix",
    hypotheses="$n = k \\ge 2$; $A$ the second matrix of Equation (22) without $\\frac1{2\\pi}$",
    draw=_several,
    left=lambda minimum, sign=1.0, exchanged=0.0: _four(minimum, sign, exchanged) @ _matrix(minimum),
    relation="==",
    right=_multiples,
    scale=0.1,
    as_printed="$A\\tilde\\alpha = -\\tilde\\alpha$ for $\\tilde\\alpha = (\\bar w_i, \\bar w_j)$, $A\\tilde\\beta = -\\tilde\\beta$ for $(\\bar w_j, -\\bar w_i)$, $A\\tilde\\gamma = \\tilde\\gamma$ for "
    "$(\\bar w_i, \\bar w_j)$, $A\\tilde\\delta = k\\tilde\\delta$ for $(\\bar w_1, \\ldots, \\bar w_k)$.",
    corrected=_RIGHT_VECTORS,
    correction="A sign (and another in the next sentence, which has the eigenvalue 1 for both), an exchange of indices, and $k - 1$ for $k$ (the diagonal blocks of $A$ are zero). The smallest eigenvalue $-1$, which is what matters, "
    "is right.",
    control=Form(
        "The corrected form with $A\\tilde\\delta = (k-1.01)\\tilde\\delta$.", sign=-1.0, exchanged=1.0, less=1.01
    ),
)


def _both_spectra(minimum):
    """The smallest and the largest eigenvalues of the two matrices of Equation (22), the second without its factor."""
    k, d = minimum.shape[-2:]
    first = np.linalg.eigvalsh(np.kron(0.25 * (np.ones((k, k)) + np.eye(k)), np.eye(d)))
    second = np.linalg.eigvalsh(_matrix(minimum))
    ends = np.broadcast_to(first[[0, -1]], (*minimum.shape[:-2], 2))
    return np.concatenate([ends, second[..., [0, -1]]], -1)


SPECTRA = Claim(
    id=f"{PAPER}.section-B.2.spectra",
    title="ends of the spectra of the two matrices",
    hypotheses="$n = k \\ge 2$ (for $k = 1$ the first matrix is $\\frac12I$ and the second zero)",
    draw=_several,
    left=_both_spectra,
    relation="==",
    right=lambda minimum, largest=1.0: np.array(
        [0.25, largest * (minimum.shape[-2] + 1) / 4, -1.0, minimum.shape[-2] - 1]
    ),
    as_printed="The first matrix has the smallest eigenvalue $\\frac14$ and the largest $\\frac{k+1}4$, the second one the smallest eigenvalue $-1$ (and the "
    "largest $k-1$, see there).",
    control=Form("The largest of the first is $1.01\\frac{k+1}4$.", largest=1.01),
)


def _attaining(minimum, teacher):
    """How many eigenvalues of the Hessian equal the bound."""
    values = np.linalg.eigvalsh(hessian(minimum, teacher))
    return np.sum(values < SMALLEST + 1e-9, axis=-1)


ATTAINED = Claim(
    id=f"{PAPER}.section-B.2.strict",
    title="the smallest eigenvalue and the bound",
    hypotheses=("$n = k$ from 1 to 12", SCALE),
    draw=_at_minima,
    left=_attaining,
    relation="==",
    right=lambda minimum, each=0.0: each * minimum.shape[-2] * (minimum.shape[-2] - 1) / 2,
    scale=1.0,
    note="number of eigenvalues that equal the bound",
    as_printed="The smallest eigenvalue is strictly larger than $\\frac14 - \\frac1{2\\pi}$.",
    corrected=Form(
        "It equals $\\frac14 - \\frac1{2\\pi}$ for $k \\ge 2$, with multiplicity $k(k-1)/2$; for $k = 1$ it is $\\frac12$.",
        each=1.0,
    ),
    correction="The two matrices of Equation (22) have common eigenvectors of their smallest eigenvalues: an antisymmetric matrix plus the diagonal that makes "
    "its columns sum to zero. Theorem 2 is sharp.",
    control=Form("With multiplicity $1.01k(k-1)/2$.", each=1.01),
)
