r"""Section 3.4 and after Theorem 7: one-point strong convexity in most directions.

Here $g_{ij} = w_{ij} - \tilde w_{ij}$ is the way of neuron $j$ of teacher $i$ from a global minimum, $g_i = \sum_jg_{ij}$ and
$g = \sum_ig_i$. The remainder of Theorem 6 is bounded by a power of the radius times $\sum\|\tilde w_{ij}\|^{-2}$:
where all neurons of a teacher turn together, it is $-\tfrac1\pi\sum_i\|g_i\|^3$ with $\|g_i\| \le m\epsilon$, and where one turns, $\|g_{ij}\|^3/\|\tilde w_{ij}\|^2$.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tutelage.claims import Claim, Form
from tutelage.claims.laws import LARGEST, Law, log_uniform, real
from tutelage.claims.mild_overparameterization.formulas import PAPER, SCALE, curvature, norms
from tutelage.claims.mild_overparameterization.instances import (
    SampledDraws,
    at_most_one,
    fixed,
    minima,
    orthogonal_to,
    owners,
    shortest,
)

MARGINAL = 1 - 2 / np.pi


def bound(way: np.ndarray, belongs: np.ndarray) -> np.ndarray:
    """Return the right-hand side of Theorem 6 without its remainder."""
    parts = belongs @ way
    return 0.25 * (np.sum(parts.sum(-2) ** 2, axis=-1) + MARGINAL * np.sum(parts**2, axis=(-2, -1)))


def ways(sizes: Sequence[int], dimension: int) -> Law:
    r"""Ways of many kinds.

    Random ones; random ones of many sizes; ones that cancel within each teacher's group; and rotations of whole groups
    into each other, $g_{ij} = \sum_aK_{ia}v_a/m_i$ with an antisymmetric $K$, on which the bound is an equality to second
    order.
    """
    belongs = owners(sizes)
    each, k = belongs.sum(1), len(sizes)

    def sample(random: np.random.Generator, count: int) -> np.ndarray:
        way = random.normal(size=(count, belongs.shape[1], dimension))
        way[::4] *= 10.0 ** random.uniform(-3, 0, size=(len(way[::4]), belongs.shape[1], 1))
        way[1::4] -= belongs.T @ ((belongs @ way[1::4]) / each[:, None])
        turn = random.normal(size=(count, k, k))
        turn = np.concatenate([turn - np.swapaxes(turn, 1, 2), np.zeros((count, k, dimension - k))], axis=2)
        together = belongs.T @ (turn / each[:, None])
        rotations = together[2::4] if k > 1 else way[2::4]
        way[2::4], way[3::4] = rotations, together[3::4] + 0.1 * way[3::4]
        return way

    return Law((belongs.shape[1], dimension), -LARGEST, LARGEST, sample, lambda xp, raw: raw)


def moved(sizes: Sequence[int], dimension: int, smallest: float, largest: float = 0.1) -> dict[str, Any]:
    """Draw a minimum, which neuron belongs to which teacher, a way, and a radius relative to the shortest neuron."""
    return {
        **minima(sizes, dimension, smallest),
        "belongs": fixed(owners(sizes)),
        "way": ways(sizes, dimension),
        "radius": log_uniform(1e-3, largest),
    }


def scaled(minimum, way, radius):
    """A way whose longest neuron's has the radius, relative to the shortest neuron."""
    return at_most_one(way) * (radius * shortest(minimum))[..., None, None]


def _instance(minimum, teacher, belongs, way, radius, together=0.0, cancelling=0.0):
    """A way in the orthogonal neighbourhood: any, the same for all neurons of a teacher, or one that cancels for each."""
    mean = np.swapaxes(belongs, -1, -2) @ ((belongs @ way) / belongs.sum(-1)[..., None])
    way = (1 - together) * way + together * mean - cancelling * mean
    way = scaled(minimum, orthogonal_to(minimum, way), radius)
    epsilon = radius * shortest(minimum)
    return {"minimum": minimum, "teacher": teacher, "belongs": belongs, "way": way, "epsilon": epsilon}


def along(minimum, teacher, way):
    """The second derivative along a way from a minimum, at its end: the left-hand side of Theorem 6."""
    return curvature(minimum + way, teacher, way)


def _remainder(minimum, epsilon, order):
    return np.sum(norms(minimum) ** -2, axis=-1) * epsilon**order


def _square(way):
    return np.maximum(np.sum(way**2, axis=(-2, -1)), 1e-300)


def _splits(shapes, smallest=None):
    """Draws for several numbers of neurons and dimensions, equal splits if no smallest share is given."""
    return SampledDraws([moved(sizes, d, smallest or 1 / sizes[0]) for sizes, d in shapes])


_CONVEXITY = {
    "build": _instance,
    "left": along,
    "relation": ">=",
    "right": lambda minimum, way, belongs, epsilon, order=2.5: (
        bound(way, belongs) - _remainder(minimum, epsilon, order)
    ),
}
_CONSTANT = "the constant $\\sum\\|\\tilde w_{ij}\\|^{-2}$, that is $km^3$ for equal splits, in front of the remainder; the sharp one is about $\\frac1\\pi$ of it"

_EXPONENT = "The print is true; the exponent 2.5 comes from sines that are taken as $O(\\sqrt\\epsilon)$ and are $O(\\epsilon)$, see Equation (31)."

THEOREM_6 = Claim(
    id=f"{PAPER}.theorem-6",
    title="one-point strong convexity in most directions",
    hypotheses=(
        "$n = mk$, $\\tilde w_{ij} = v_i/m$, $w$ in the $\\epsilon$-orthogonal neighbourhood; $km \\le 8$, $\\epsilon \\le 0.1/m$",
        SCALE,
        _CONSTANT,
    ),
    draw=[
        moved((1, 1), 2, 1.0),
        moved((2, 2), 2, 0.5),
        _splits((((2, 2), 3), ((3,), 2), ((1, 1, 1), 3), ((2, 2, 2), 3), ((1,) * 8, 8))),
    ],
    **_CONVEXITY,
    as_printed="$(w - \\tilde w)^\\top H(w)(w - \\tilde w) \\ge \\frac14(\\|g\\|^2 + (1 - \\frac2\\pi)\\sum\\|g_i\\|^2) - O(\\epsilon^{2.5})$.",
    corrected=Form("The same with $O(\\epsilon^3)$, and negative where whole groups are rotated.", order=3.0),
    correction=_EXPONENT,
    control=Form("The same with $O(\\epsilon^{3.5})$.", order=3.5),
)

REMARK_1 = Claim(
    id=f"{PAPER}.remark-1",
    title="Theorem 6 at other global minima",
    hypotheses=(
        "any differentiable global minimum; shares of at least a hundredth, unequal group sizes",
        SCALE,
        _CONSTANT,
    ),
    draw=[moved((2, 1), 2, 0.01), _splits((((3, 1), 3), ((2, 3), 2)), 0.01)],
    **_CONVEXITY,
    as_printed="Theorem 6 extends to all differentiable global minima, with constants that grow as neurons shrink.",
    corrected=Form("The same with $O(\\epsilon^3)$.", order=3.0),
    correction=_EXPONENT,
    control=Form("The same with $O(\\epsilon^{3.5})$.", order=3.5),
)

_QUOTIENT = {
    **_CONVEXITY,
    "left": lambda minimum, teacher, way: along(minimum, teacher, way) / _square(way),
    "right": lambda way, belongs, epsilon, order: (
        bound(way, belongs) / _square(way) - belongs.shape[-1] * np.max(belongs.sum(-1), -1) * epsilon**order
    ),
}

EXACT_CASE = Claim(
    id=f"{PAPER}.example-1.exact",
    title="as many students as teachers",
    hypotheses=("$m = 1$, as Theorem 6", SCALE, "the constant $n$ in front of the remainder"),
    draw=[moved((1, 1), 2, 1.0), _splits((((1, 1), 3), ((1, 1, 1), 3)))],
    **_QUOTIENT,
    as_printed=Form(
        "Divided by $\\|w - \\tilde w\\|^2$, the left-hand side is at least $\\frac14 - \\frac1{2\\pi} + \\|g\\|^2/(4\\sum\\|g_i\\|^2) - O(\\sqrt\\epsilon)$.",
        order=0.5,
    ),
    corrected=Form("The same up to $O(\\epsilon)$.", order=1.0),
    correction=_EXPONENT,
    control=Form("The same with $O(\\epsilon^{1.5})$.", order=1.5),
)

EQUAL_CASE = Claim(
    id=f"{PAPER}.example-1.equal",
    title="equal neurons of each teacher",
    hypotheses=("$w_{ij}$ equal for all $j$, as Theorem 6", SCALE, "the constant $nm$ in front of the remainder"),
    draw=[moved((2, 2), 2, 0.5), _splits((((3, 3), 2), ((2, 2, 2), 3)))],
    **_QUOTIENT,
    as_printed=Form(
        "Divided by $\\|w - \\tilde w\\|^2$, it is at least $m(\\frac14 - \\frac1{2\\pi}) + \\|g\\|^2/(4\\sum\\|g_{ij}\\|^2) - O(\\sqrt\\epsilon)$.",
        together=1.0,
        order=0.5,
    ),
    corrected=Form("The same up to $O(\\epsilon)$.", together=1.0, order=1.0),
    correction=_EXPONENT,
    control=Form("The same with $O(\\epsilon^{1.5})$.", together=1.0, order=1.5),
)

BALANCED_CASE = Claim(
    id=f"{PAPER}.example-1.balanced",
    title="ways that cancel for each teacher",
    hypotheses=(
        "$w$ in the $\\epsilon$-orthogonal neighbourhood, $m \\ge 2$, shares of at least 0.2; $\\epsilon$ in units of the shortest neuron",
        SCALE,
    ),
    draw=[moved((2,), 2, 0.2), _splits((((2, 2), 2), ((3, 3), 3)), 0.2)],
    build=_instance,
    where=lambda minimum, way, belongs: np.abs(belongs @ (minimum + way)).max((-2, -1)) < 1e-6,
    left=lambda minimum, teacher, way: np.abs(along(minimum, teacher, way) / _square(way)),
    relation="<=",
    right=lambda minimum, epsilon, order=0.5: 2 * (epsilon / shortest(minimum)) ** order,
    as_printed="If $\\sum_jw_{ij} = 0$ for every teacher, the quotient is of order at most $\\sqrt\\epsilon$.",
    as_meant=Form("If $\\sum_jg_{ij} = 0$ for every teacher, it is.", where=None, cancelling=1.0),
    supplied="Theorem 6, whose right-hand side has the sums of the ways",
    corrected=Form("It is of order at most $\\epsilon$.", where=None, cancelling=1.0, order=1.0),
    correction="The ways $g_{ij}$ are meant to cancel, not the neurons: in the orthogonal neighbourhood $\\sum_jw_{ij}\\cdot v_i = 1$.",
    control=Form("The corrected form with order $\\epsilon^{1.2}$.", where=None, cancelling=1.0, order=1.2),
)

# After Theorem 7 ------------------------------------------------------------------------------------------------------

ABSORBED = Claim(
    id=f"{PAPER}.section-3.5.absorbed",
    title="the terms of each teacher, absorbed",
    hypotheses="any $g_1, \\ldots, g_k$ with sum $g$",
    draw=[{"parts": real((k, d))} for k, d in ((1, 1), (2, 1), (2, 3), (5, 5))],
    left=lambda parts: np.sum(parts.sum(-2) ** 2, -1) + MARGINAL * np.sum(parts**2, axis=(-2, -1)),
    relation=">=",
    right=lambda parts, factor=1.0: factor * (1 + MARGINAL / parts.shape[-2]) * np.sum(parts.sum(-2) ** 2, -1),
    as_printed="The terms $\\|g_i\\|^2$ can be absorbed in $\\|g\\|^2$ by increasing the constant: "
    "$\\|g\\|^2 + (1 - \\frac2\\pi)\\sum\\|g_i\\|^2 \\ge (1 + (1 - \\frac2\\pi)/k)\\|g\\|^2$.",
    control=Form("The same with 1.01 times the right-hand side.", factor=1.01),
)
