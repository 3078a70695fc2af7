"""Theorems 4 and 5 and Appendices B.3.2 and B.3.3: the printed point at which the conditions fail, and its orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutelage.claims import Claim, Form, fitted_order, log_uniform, uniform
from tutelage.claims.mild_overparameterization.convexity import shares
from tutelage.claims.mild_overparameterization.formulas import (
    PAPER,
    SCALE,
    angle_between,
    cross_block,
    curvature,
    duals,
    gradient,
    loss,
    norms,
    own_block,
    units,
)
from tutelage.claims.mild_overparameterization.instances import drawn, minima, orthogonal_to

RADII = np.geomspace(0.03, 1e-3, 5)
_WIDE = (((2,), 2), ((2, 1), 2), ((3, 2), 3), ((2, 1, 1), 4))
_POINT = "$w_{1,2} = \\alpha_{1,2}v_1 \\pm \\epsilon v_2$, the other neurons at the minimum"


def _opposite(minimum, aside):
    """The printed way: the first two neurons of a teacher moved oppositely."""
    way = np.zeros(minimum.shape)
    way[..., 0, :], way[..., 1, :] = aside, -aside
    return way


def _along_printed(count, random):
    """Quantities along the printed way, towards another teacher or any direction aside, at all radii."""
    for sizes, d in _WIDE:
        batch = drawn(minima(sizes, d, 0.1), count // 80, random)
        minimum, teacher = batch["minimum"], batch["teacher"]
        for in_plane in (True, False):
            aside = units(orthogonal_to(teacher[:, 0], random.normal(size=(len(minimum), d))))
            if in_plane and len(sizes) > 1:
                aside = teacher[:, 1]
            way = _opposite(minimum, aside) * shares(minimum).min(-1)[:, None, None]
            at = minimum[:, None] + RADII[:, None, None] * way[:, None]
            moved, target = at - minimum[:, None], teacher[:, None]
            square = np.sum(moved**2, axis=(-2, -1))
            slope, value = gradient(at, target), loss(at, target)
            norm = np.sum(slope**2, axis=(-2, -1))
            yield {
                "minimum": minimum,
                "teacher": teacher,
                "way": way,
                "hessian": np.abs(curvature(at, target, moved)) / square,
                "gradient": np.abs(np.sum(slope * moved, axis=(-2, -1))) / square,
                "value": value,
                "norm": norm,
                "quotient": 0.5 * norm / value,
            }


def _line(count, random):
    """One dimension: minima (α, 1 − α) of one teacher."""
    minimum = random.uniform(0.2, 0.8, size=(64, 1, 1))
    minimum = np.concatenate([minimum, 1 - minimum], axis=1)
    # All that is orthogonal to a number is zero.
    flat = np.zeros((64, len(RADII)))
    yield {"minimum": minimum, "hessian": flat, "gradient": flat, "orthogonal": 0 * minimum}


_ORDER_ONE = "fitted orders, closed form in float64"
_WIDER = "the proof, which uses a second direction $v_2$, and Theorem 3, which assumes $d > 1$"

THEOREM_4 = Claim(
    id=f"{PAPER}.theorem-4",
    title="not one-point strongly convex in an orthogonal neighbourhood",
    hypotheses=("$n > k$, a differentiable global minimum; $d = 1$ among the instances of the print", SCALE),
    defect="$d > 1$ is left out",
    draw=_along_printed,
    left=lambda instance: fitted_order(RADII, np.stack([instance["hessian"], instance["gradient"]], -2)),
    relation=">=",
    right=lambda order: order,
    as_printed=Form(
        "There is no $\\lambda > 0$ for which the objective is one-point strongly convex in an $\\epsilon$-orthogonal neighbourhood; so there are points "
        "other than the minimum in it.",
        draw=_line,
        left=lambda orthogonal: np.abs(orthogonal).max((-2, -1)),
        right=0.1,
        recipe="""
ways = np.linspace(-0.1, 0.1, 201)
orthogonal = [way for way in ways if abs(way * minimum[0, 0]) < 1e-12]
left = np.max(np.abs(orthogonal))  # the radius of the orthogonal neighbourhood, which should be 0.1
""",
    ),
    as_meant=Form(
        "The same for $d > 1$: at the printed point the quotients by the Hessian and by the gradient are of order $\\epsilon$.",
        order=0.9,
    ),
    supplied=_WIDER,
    correction="As in Theorem 3, $d > 1$ has to be assumed: for $d = k = 1$ the orthogonal neighbourhood is the minimum alone, and the condition holds "
    "trivially. For $k = 1 < d$ any unit vector orthogonal to $v_1$ takes the place of the printed $v_2$.",
    control=Form("The quotients are of order $\\epsilon^{1.1}$.", order=1.1),
    arithmetic=_ORDER_ONE,
)


def _line_quotients(count, random):
    """One dimension: students near minima, all neurons of the teacher's sign; the PL quotient is a constant there."""
    share = random.uniform(0.2, 0.8, size=(64, 1, 1))
    student = np.concatenate([share, 1 - share], axis=1) + random.uniform(0.01, 0.1, size=(64, 2, 1))
    teacher = np.ones((64, 1, 1))
    yield {"student": student, "teacher": teacher}


THEOREM_5 = Claim(
    id=f"{PAPER}.theorem-5",
    title="no Polyak–Łojasiewicz condition in an orthogonal neighbourhood",
    hypotheses=("$n > k$, a differentiable global minimum; $d = 1$ among the instances of the print", SCALE),
    defect="$d > 1$ is left out",
    draw=_along_printed,
    left=lambda quotient: fitted_order(RADII, quotient),
    relation=">=",
    right=lambda order: order,
    as_printed=Form(
        "There is no $\\lambda > 0$ with $\\frac12\\|\\nabla F\\|^2 \\ge \\lambda F$ in an $\\epsilon$-orthogonal neighbourhood, nor in a whole one; so the "
        "quotient comes below $\\frac12$ there.",
        draw=_line_quotients,
        left=lambda student, teacher: (
            0.5 * np.sum(gradient(student, teacher) ** 2, axis=(-2, -1)) / loss(student, teacher)
        ),
        relation="<=",
        right=0.5,
    ),
    as_meant=Form("The same for $d > 1$: at the printed point the quotient is of order $\\epsilon$.", order=0.9),
    supplied=_WIDER,
    correction="As in Theorem 3, $d > 1$ has to be assumed: for $d = k = 1$ the objective is a function of $\\sum w_i$ near its minima, and the condition holds "
    "with $\\lambda = n/2$ (for Equation (2): $\\lambda = n$) in a whole neighbourhood.",
    control=Form("The quotient is of order $\\epsilon^{1.1}$.", order=1.1),
    arithmetic=_ORDER_ONE,
)


# The displays of the proofs -------------------------------------------------------------------------------------------

_TWO = [
    {**minima(sizes, d, 0.1), "radius": log_uniform(1e-3, 0.5)} for sizes, d in (((2, 1), 2), ((2, 2), 3), ((3, 2), 3))
]


def _toward_second(minimum, teacher, radius):
    """The printed point, towards the second teacher."""
    way = radius[..., None, None] * _opposite(minimum, teacher[..., 1, :])
    return {"minimum": minimum, "teacher": teacher, "way": way, "student": minimum + way, "radius": radius}


_AT_THE_POINT: dict[str, Any] = {"draw": _TWO, "build": _toward_second, "relation": "=="}


def _along(block, unit):
    return np.sum(unit[..., :, None] * block * unit[..., None, :], axis=(-2, -1))


def _terms_24(minimum, student, teacher, letter=1.0, cross=0.0):
    """½(1 + h1 terms) along the second teacher, without or with a multiple of the cross term; teachers as printed, or as they are."""
    one, two, first, unit = student[..., 0, :], student[..., 1, :], teacher[..., 0, :], teacher[..., 1, :]
    own = _along(own_block(one, two) + own_block(two, one), unit)
    weight = letter + (1 - letter) * shares(minimum).sum(-1)
    toward = weight * _along(own_block(one, first) + own_block(two, letter * unit + (1 - letter) * first), unit)
    mixed = _along(cross_block(one, two), unit)
    return 0.5 * (1 + own - toward) - cross * mixed


EQUATION_24 = Claim(
    id=f"{PAPER}.equation-24",
    title="curvature at the printed point of Theorem 4",
    hypotheses=(_POINT, SCALE),
    **_AT_THE_POINT,
    left=lambda student, teacher, way: curvature(student, teacher, way) / np.sum(way**2, axis=(-2, -1)),
    right=_terms_24,
    scale=1e-2,
    tolerance=1e-7,
    as_printed="The quotient is $\\frac12(1 + v_2^\\top[h_1(w_1, w_2) + h_1(w_2, w_1) - h_1(w_1, v_1) - h_1(w_2, v_2)]v_2)$.",
    as_meant=Form(
        "With $(\\alpha_1 + \\alpha_2)h_1(w_i, v_1)$ in place of the last two, and minus $v_2^\\top h_2(w_1, w_2)v_2$.",
        letter=0.0,
        cross=1.0,
    ),
    supplied='the proof, which goes on to compute it as "the last term of Equation (24)"',
    correction="An index, a factor (where the two neurons are not all of their teacher's), and the cross term, which the proof goes on to compute; without it the quotient would tend to one half instead of zero.",
    control=Form("The corrected form with $1.01h_2$.", letter=0.0, cross=1.01),
)


def _angle_between(student):
    return angle_between(student[..., 0, :], student[..., 1, :])


def _printed_angle(minimum, radius):
    """Cosine and sine of the angle between the moved neurons, and the largest eigenvalue of h1(w₁, w₂)."""
    one, two = shares(minimum)[..., 0], shares(minimum)[..., 1]
    size = np.sqrt((one**2 + radius**2) * (two**2 + radius**2))
    return np.stack([(one * two - radius**2) / size, radius * (one + two) / size], -1)


ANGLE = Claim(
    id=f"{PAPER}.section-B.3.2.angle",
    title="angle between the moved neurons",
    hypotheses=_POINT,
    **_AT_THE_POINT,
    left=lambda student: np.stack([np.cos(_angle_between(student)), np.sin(_angle_between(student))], -1),
    right=lambda minimum, radius, factor=1.0: factor * _printed_angle(minimum, radius),
    as_printed="$\\cos\\theta = (\\alpha_1\\alpha_2 - \\epsilon^2)/\\sqrt{(\\alpha_1^2+\\epsilon^2)(\\alpha_2^2+\\epsilon^2)}$, "
    "$\\sin\\theta = \\epsilon(\\alpha_1+\\alpha_2)/\\sqrt{(\\alpha_1^2+\\epsilon^2)(\\alpha_2^2+\\epsilon^2)}$.",
    control=Form("1.001 times these.", factor=1.001),
)

LARGEST_EIGENVALUE = Claim(
    id=f"{PAPER}.section-B.3.2.eigenvalue",
    title="largest eigenvalue of the first term",
    hypotheses=_POINT,
    glyph=True,
    **_AT_THE_POINT,
    left=lambda minimum, student, moved=0.0: (
        np.sin(_angle_between(student))
        * norms(moved * student[..., 1, :] + (1 - moved) * minimum[..., 1, :])
        / (np.pi * norms(student[..., 0, :]))
    ),
    right=lambda minimum, radius: (
        radius * shares(minimum).sum(-1) / (np.pi * shares(minimum)[..., 0] ** 2 + np.pi * radius**2)
    ),
    as_printed="$\\sin\\theta\\,\\|\\tilde w_2\\|/(\\pi\\|w_1\\|) = \\epsilon(\\alpha_1+\\alpha_2)/(\\pi\\alpha_1^2 + \\pi\\epsilon^2)$.",
    as_meant=Form("With $\\|w_2\\|$ in place of $\\|\\tilde w_2\\|$ the three expressions are equal.", moved=1.0),
    supplied="the eigenvalue of $h_1(w_1, w_2)$, which it is said to be",
    correction="A tilde too many.",
    control=Form("With a hundredth of $\\tilde w_2$ in $w_2$.", moved=0.99),
)


def _pair_dual(one, other):
    return duals(one[..., None, :], other[..., None, :])[..., 0, 0]


def _terms_25(minimum, student, teacher, second=1.0, factor=1.0):
    """The six terms of Equation (25), the last cross term with the second teacher or the first."""
    size = shares(minimum).sum(-1)[..., None]
    one, two, first = student[..., 0, :], student[..., 1, :], size * teacher[..., 0, :]
    last = second * size * teacher[..., 1, :] + (1 - second) * first
    own = _pair_dual(one, one) + _pair_dual(two, two) + 2 * _pair_dual(one, two)
    return factor * (own - 2 * _pair_dual(one, first) - 2 * _pair_dual(two, last) + _pair_dual(first, first))


EQUATION_25 = Claim(
    id=f"{PAPER}.equation-25",
    title="the objective at the printed point",
    hypotheses=_POINT + "; $F$ in the scale of Equation (2)",
    glyph=True,
    **_AT_THE_POINT,
    left=lambda student, teacher: 2 * loss(student, teacher),
    right=_terms_25,
    scale=1.0,
    as_printed="$F = f(w_1, w_1) + f(w_2, w_2) + 2f(w_1, w_2) - 2f(w_1, \\alpha v_1) - 2f(w_2, \\alpha v_2) + f(\\alpha v_1, \\alpha v_1)$, $\\alpha = \\alpha_1 + \\alpha_2$.",
    as_meant=Form("With $-2f(w_2, \\alpha v_1)$, as Equation (26) has it.", second=0.0),
    supplied="Equation (26)",
    correction="A misprint. Here $F$ is the objective of Equation (2), without the factor one half of Equation (64).",
    control=Form("The corrected form times 1.001.", second=0.0, factor=1.001),
)


def _middle_26(minimum, radius, power=1.0):
    """π⁻¹(εα + θε² − θα₁α₂ − 2αε + αα₁γ₁ + αα₂γ₂), the angles from their cosines."""
    one, two = shares(minimum)[..., 0], shares(minimum)[..., 1]
    whole, theta = one + two, np.arctan2(radius, one) + np.arctan2(radius, two)
    turned = whole * one * np.arctan2(radius, one) + whole * two * np.arctan2(radius, two)
    return (power * radius * whole + theta * radius**2 - theta * one * two - 2 * whole * radius + turned) / np.pi


MIDDLE = Claim(
    id=f"{PAPER}.equation-26.middle",
    title="the objective at the printed point, in closed form",
    hypotheses=_POINT + "; $F$ in the scale of Equation (2)",
    **_AT_THE_POINT,
    left=lambda student, teacher: 2 * loss(student, teacher),
    right=_middle_26,
    scale=1e-3,
    as_printed="$F = \\frac1\\pi(\\epsilon\\alpha_1 + \\epsilon\\alpha_2 + \\theta\\epsilon^2 - \\theta\\alpha_1\\alpha_2 - 2\\alpha\\epsilon + \\alpha\\alpha_1\\gamma_1 + \\alpha\\alpha_2\\gamma_2)$.",
    control=Form("With $1.001\\alpha\\epsilon$ in the first two terms.", power=1.001),
)


def _printed_half(count, random):
    """Of the runs along the printed way, those of the print: towards the second teacher."""
    for number, batch in enumerate(_along_printed(count, random)):
        if number % 2 == 0:
            share = shares(batch["minimum"])
            lead = share.sum(-1) / (3 * np.pi * share.prod(-1)) * share.min(-1) ** 3
            yield {**batch, "leading": lead * RADII[-1] ** 3}


EQUATION_26 = Claim(
    id=f"{PAPER}.equation-26",
    title="size of the objective at the printed point",
    hypotheses=_POINT,
    draw=_printed_half,
    left=lambda value: value[..., -1],
    relation="==",
    right=lambda leading, factor: factor * leading,
    scale=1e-300,
    tolerance=0.01,
    as_printed=Form(
        "$F(w) = \\Omega(\\epsilon)$: its order in $\\epsilon$ is at most one.",
        left=lambda value: fitted_order(RADII, value),
        relation="<=",
        right=1.05,
        recipe="""
def pair(a, b):
    size = np.linalg.norm(a) * np.linalg.norm(b)
    c = np.clip(a @ b / size, -1, 1)
    return size * (np.sqrt(1 - c**2) + (np.pi - np.arccos(c)) * c) / (2 * np.pi)
def half_loss(w):
    total = lambda one, two: sum(pair(a, b) for a in one for b in two)
    return 0.5 * total(w, w) - total(w, teacher) + 0.5 * total(teacher, teacher)
radii = np.geomspace(0.3, 0.03, 5)
left = np.polyfit(np.log(radii), np.log([half_loss(minimum + radius * way) for radius in radii]), 1)[0]
""",
    ),
    corrected=Form(
        "$F(w)$ is of order $\\epsilon^3$; in the scale of Equation (2) it is $\\frac{2(\\alpha_1+\\alpha_2)}{3\\pi\\alpha_1\\alpha_2}\\epsilon^3$ to leading order.",
        factor=1.0,
    ),
    correction="The terms of first order cancel: near a minimum the objective is at most of second order. Theorem 5 needs the gradient "
    "better than Equation (27) has it, see there.",
    control=Form("It is 0.97 of that.", factor=0.97),
    arithmetic=_ORDER_ONE,
)

EQUATION_27 = Claim(
    id=f"{PAPER}.equation-27",
    title="size of the gradient at the printed point",
    hypotheses="as Equation (26)",
    draw=_printed_half,
    left=lambda norm: fitted_order(RADII, norm),
    relation=">=",
    right=lambda order=2.0: order,
    as_printed="$\\|\\nabla F(w)\\|^2 = O(\\epsilon^2)$. (In fact $O(\\epsilon^4)$.)",
    corrected=Form(
        "$\\|\\nabla F(w)\\|^2 = O(\\epsilon^4)$, which is what Theorem 5 needs beside the right order of $F$.",
        order=3.9,
    ),
    correction="The print is true but too weak: with $F$ of order $\\epsilon^3$ (not $\\epsilon$) the proof needs $o(\\epsilon^3)$. The terms of order $\\epsilon$ of the gradient "
    "cancel, and the PL quotient is of order $\\epsilon$.",
    control=Form("$\\|\\nabla F(w)\\|^2 = O(\\epsilon^{4.1})$.", order=4.1),
    arithmetic=_ORDER_ONE,
)


def _first_gradient(minimum, student, teacher, half=1.0):
    """The second line of Equation (27), its first term with a multiple of one half in front of sin θ."""
    one, two, first = student[..., 0, :], student[..., 1, :], teacher[..., 0, :]
    whole, theta = shares(minimum).sum(-1)[..., None], _angle_between(student)[..., None]
    gamma = angle_between(one, first)[..., None]
    along = half * norms(two)[..., None] * np.sin(theta) - whole * np.sin(gamma)
    return (along * units(one) - theta * two + whole * gamma * first) / (2 * np.pi)


GRADIENT = Claim(
    id=f"{PAPER}.equation-27.gradient",
    title="gradient of the first neuron at the printed point",
    hypotheses=(_POINT, SCALE),
    **_AT_THE_POINT,
    left=lambda student, teacher: gradient(student, teacher)[..., 0, :],
    right=_first_gradient,
    scale=1e-3,
    as_printed="$\\nabla_1F = \\frac1{2\\pi}(\\frac{\\|w_2\\|\\sin\\theta}{\\|w_1\\|}w_1 - \\theta w_2 - \\frac{\\alpha\\sin\\gamma_1}{\\|w_1\\|}w_1 + \\alpha\\gamma_1v_1)$.",
    control=Form("With 1.001 times the first term.", half=1.001),
)

SINES = Claim(
    id=f"{PAPER}.section-B.3.3.sines",
    title="angle of the moved neurons to their teacher",
    hypotheses="$w_1 = \\alpha_1v_1 + \\epsilon v_2$",
    glyph=True,
    draw={"alpha": uniform(0.01, 1.0), "radius": uniform(0.01, 1.0)},
    left=lambda alpha, radius: np.sin(np.arctan2(radius, alpha)),
    relation="==",
    right=lambda alpha, radius, power=1.0: radius / np.sqrt(alpha**power + radius**2),
    as_printed="$\\sin\\gamma_1 = \\epsilon/\\sqrt{\\alpha_1 + \\epsilon^2}$.",
    as_meant=Form(
        "$\\sin\\gamma_1 = \\epsilon/\\sqrt{\\alpha_1^2 + \\epsilon^2}$ (and $\\alpha_2$ in $\\sin\\gamma_2$).",
        power=2.0,
    ),
    supplied="the cosines and the norms beside it",
    correction="A misprint: the square of $\\alpha$ is missing, and the index of the second.",
    control=Form("$\\epsilon/\\sqrt{\\alpha_1^{2.01} + \\epsilon^2}$.", power=2.01),
)
