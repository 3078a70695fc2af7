r"""Lemma B.1 and its proof: second moments of a slice of the unit disc."""

import numpy as np

from tutelage.claims import Claim, Form, Relation, log_uniform, uniform
from tutelage.claims.single_neuron.formulas import PAPER

_CIRCLE = "Gauss–Legendre rule over the angle"
_NODES, _MASSES = np.polynomial.legendre.leggauss(40)


def moment(low, high, turn):
    r"""The second moment of a slice of the unit disc between two angles, along a third, by quadrature."""
    half = np.expand_dims(high - low, -1) / 2
    turns = np.expand_dims(low, -1) + half * (_NODES + 1)
    return np.sum(half * _MASSES / 4 * np.cos(turns - np.expand_dims(turn, -1)) ** 2, -1)


def smaller_moment(opening):
    r"""The smaller of the moments along and across the axis of a slice, which are $(o \pm \sin o)/8$."""
    return np.minimum(*(moment(-opening / 2, opening / 2, turn) for turn in (0.0, np.pi / 2)))


# The angle between a and b is at most π − δ: the slice opens by δ or more.
_SLICES = {"delta": log_uniform(1e-2, np.pi), "share": uniform(0, 1), "turn": uniform(0, np.pi)}


def _slice(delta, share, turn):
    return {"delta": delta, "opening": delta + share * (np.pi - delta), "turn": turn}


LEMMA_B_1 = Claim(
    id=f"{PAPER}.lemma-B.1",
    title="second moment of a slice of a disc",
    hypotheses="$\\theta(a, b) \\le \\pi - \\delta$, $\\delta \\in (0, \\pi]$, $a, b \\ne 0$, any $u$; in units of $\\alpha^4$",
    draw=_SLICES,
    build=_slice,
    left=lambda opening, turn: moment(-opening / 2, opening / 2, turn),
    relation=">=",
    right=lambda delta, factor=1.0: factor * (delta - np.sin(delta)) / 8,
    scale=1e-11,
    also=(
        Relation(
            draw={"delta": log_uniform(1e-2, np.pi)},
            left=lambda delta: delta - np.sin(delta),
            relation=">=",
            right=lambda delta: 4 * np.pi * np.sin(delta / 4) ** 3 / np.sqrt(2),
            scale=1e-11,
        ),
    ),
    as_printed="$\\inf_{\\|u\\| = 1}\\int_{a\\cdot y > 0,\\,b\\cdot y > 0,\\,\\|y\\| \\le \\alpha}(u\\cdot y)^2dy \\ge "
    "\\frac{\\alpha^4}{8\\sqrt2}\\sin^3(\\delta/4)$. More is true, and judged: it is at least $\\alpha^4(\\delta - \\sin\\delta)/8$, the infimum, which is at least "
    "$4\\pi$ times that.",
    control=Form("It is at least $1.01\\alpha^4(\\delta - \\sin\\delta)/8$.", factor=1.01),
    arithmetic=_CIRCLE,
)

INFIMUM = Claim(
    id=f"{PAPER}.section-B.infimum",
    title="the largest angle is the worst",
    hypotheses="$\\theta(a, b) \\le \\pi - \\delta$, $a$ and $u$ fixed; the text has the sign of $\\pi - \\delta$ reversed twice",
    draw=_SLICES,
    build=_slice,
    left=lambda opening, turn: moment(0 * opening, opening, turn),
    relation=">=",
    right=lambda delta, turn, factor=1.0: factor * moment(0 * delta, delta, turn),
    scale=1e-11,
    as_printed="The infimum over $b$ is attained at $\\theta(a, b) = \\pi - \\delta$.",
    control=Form("All values are at least 1.01 times that.", factor=1.01),
    arithmetic=_CIRCLE,
)


def _moment_of_smaller(opening):
    turns = opening[..., None] / 2 * _NODES
    smaller = np.minimum(np.cos(turns) ** 2, np.sin(turns) ** 2)
    return np.sum(opening[..., None] / 2 * _MASSES / 4 * smaller, -1)


EQUATION_5 = Claim(
    id=f"{PAPER}.equation-5",
    title="the smaller of two moments",
    hypotheses="$P$ a slice of the unit disc that is symmetric about the first axis",
    draw={"opening": log_uniform(1e-3, np.pi)},
    left=smaller_moment,
    relation=">=",
    right=lambda opening, factor=1.0: factor * _moment_of_smaller(opening),
    scale=1e-15,
    as_printed="$\\min\\{\\int_Py_1^2, \\int_Py_2^2\\} \\ge \\int_P\\min\\{y_1^2, y_2^2\\}$; there is equality for openings up to $\\pi/2$.",
    control=Form("The same with 1.01 times the right-hand side.", factor=1.01),
    arithmetic=_CIRCLE,
)


def _corners(delta, high=1.0):
    """The angle of the steepest corner over half the opening, and the distance of the farthest one."""
    first, second = np.cos(delta / 4), high * np.sin(delta / 4)
    return np.stack([np.arctan2(second, first / 2) / (delta / 2), np.sqrt(first**2 + second**2)], -1)


RECTANGLES = Claim(
    id=f"{PAPER}.section-B.rectangles",
    title="the slice contains two rectangles",
    hypotheses="$0 < \\delta \\le \\pi$",
    draw={"delta": log_uniform(1e-2, np.pi)},
    left=_corners,
    relation="<=",
    right=1.0,
    as_printed="$P \\supseteq P_1' \\cup P_2'$: corners lie within the opening and the radius.",
    control=Form("The same with rectangles one per cent higher.", high=1.01),
)


def _over_rectangles(delta):
    """The integral of min{y₁², y₂²} over both rectangles, exact along y₂."""
    c, s = np.cos(delta / 4)[..., None], np.sin(delta / 4)[..., None]
    y = 0.75 * c + 0.25 * c * _NODES
    middle = np.clip(y, s / 2, s)
    inner = (middle**3 - (s / 2) ** 3) / 3 + y**2 * (s - middle)
    return 2 * np.sum(0.25 * c * _MASSES * inner, -1)


_BELOW = Form("It is at least that.", relation=">=", factor=1.0)

MINIMUM = Claim(
    id=f"{PAPER}.section-B.minimum",
    title="an integral and the minimum of its integrand",
    hypotheses="$0 < \\delta \\le \\pi$, $\\alpha = 1$",
    glyph=True,
    draw={"delta": log_uniform(1e-2, np.pi)},
    left=_over_rectangles,
    relation="==",
    right=lambda delta, factor=1.0: factor * np.sin(delta / 4) ** 3 * np.cos(delta / 4) / 8,
    scale=1e-12,
    as_printed="$\\int_{P_1'\\cup P_2'}\\min\\{y_1^2, y_2^2\\}dy$ is the minimum of the integrand times the area, $\\frac18\\sin^3\\frac\\delta4\\cos\\frac\\delta4$.",
    as_meant=_BELOW,
    supplied="the words before it, which ask for a lower bound",
    corrected=Form(
        "It is at least $\\frac{11}6$ times that, with equality at $\\delta = \\pi$.", relation=">=", factor=11 / 6
    ),
    correction="An equality sign for a lower bound: the integral is from 1.83 to $\\frac73$ times as large.",
    control=Form("It is at least 1.85 times that.", relation=">=", factor=1.85),
    arithmetic="Gauss–Legendre rule",
)

LAST = Claim(
    id=f"{PAPER}.section-B.last",
    title="the last step to the constant",
    hypotheses="$0 < \\delta \\le \\pi$",
    draw={"delta": uniform(1e-3, np.pi)},
    left=lambda delta: np.cos(delta / 4),
    relation=">=",
    right=lambda delta, factor=1.0: np.maximum(factor / np.sqrt(2), np.sin(delta / 4)),
    as_printed="$\\cos\\frac\\delta4 \\ge \\sin\\frac\\delta4$ and $\\sin^3\\frac\\delta4\\cos\\frac\\delta4 \\ge \\frac1{\\sqrt2}\\sin^3\\frac\\delta4$.",
    control=Form("The same with $1.01/\\sqrt2$.", factor=1.01),
)
