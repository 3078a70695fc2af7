"""Section 3.2, Definition 1 and Appendices B.3 and B.3.1: no local convexity with more students than teachers."""

from __future__ import annotations

import numpy as np

from tutelage.claims import Claim, Form, log_uniform, real, uniform
from tutelage.claims.mild_overparameterization.formulas import (
    PAPER,
    SCALE,
    angle_between,
    curvature,
    hessian,
    largest_of_own,
    norms,
    own_block,
    own_blocks,
    smallest_eigenvalue,
    units,
)
from tutelage.claims.mild_overparameterization.instances import SampledDraws, minima, orthogonal_to

_SHAPES = (((2,), 2), ((3,), 2), ((2, 1), 2), ((2, 1), 4), ((3, 2, 1), 3))
_MOVED = [{**minima(sizes, d, 0.05), "aside": real((d,)), "radius": log_uniform(1e-4, 1.0)} for sizes, d in _SHAPES]
_MOVED = [_MOVED[0], _MOVED[2], SampledDraws([_MOVED[1], *_MOVED[3:]])]
_LENGTHS = "the length of a moved neuron, $\\alpha\\sqrt{1+\\epsilon^2}$, taken as $\\alpha(1+\\epsilon)$ and put in front of the teacher's term"


def shares(minimum: np.ndarray) -> np.ndarray:
    """Return the shares of the first two neurons."""
    return norms(minimum[..., :2, :])


def _printed_point(minimum, teacher, aside, radius):
    """The minimum with its first two neurons moved in one direction, orthogonal to the first teacher, by shares of it."""
    aside = units(orthogonal_to(teacher[..., 0, :], aside))[..., None, :] * radius[..., None, None]
    student = minimum.copy()
    student[..., :2, :] = minimum[..., :2, :] + shares(minimum)[..., None] * aside
    return {"minimum": minimum, "teacher": teacher, "student": student, "radius": radius}


# Theorem 3 ------------------------------------------------------------------------------------------------------------


def _weight(minimum):
    """(α₁ + α₂)²/α₁α₂."""
    share = shares(minimum)
    return share.sum(-1) ** 2 / share.prod(-1)


THEOREM_3 = Claim(
    id=f"{PAPER}.theorem-3",
    title="not locally convex with more students than teachers",
    hypotheses=("$n > k$, $d > 1$, a global minimum with shares of at least 0.05", "$\\epsilon$ from $10^{-4}$ to 1"),
    draw=_MOVED,
    build=_printed_point,
    left=lambda student, teacher: smallest_eigenvalue(hessian(student, teacher)),
    relation="<=",
    right=lambda minimum, radius, factor=1.0: -factor * radius / (1 + radius**2) * _weight(minimum) / (2 * np.pi),
    as_printed="In every neighbourhood of a differentiable global minimum the Hessian has a negative eigenvalue somewhere: at the printed point, at "
    "most $-\\frac{\\epsilon}{2\\pi(1+\\epsilon^2)}\\frac{(\\alpha_1+\\alpha_2)^2}{\\alpha_1\\alpha_2}$.",
    control=Form("It is at most 1.2 times that.", factor=1.2),
)

_SUM = Form("$H_{11} = \\frac12I - (\\alpha_1 + \\alpha_2)h_1(\\tilde w_1, v_1)$.", lengths=0.0, factor=1.0)


def _first_block(student, teacher):
    """H₁₁ − ½I, by Theorem 10."""
    first = student[..., :1, :]
    return own_blocks(first, student).sum((-4, -3)) - own_blocks(first, teacher).sum((-4, -3))


def _toward_first(minimum, student, teacher, lengths=1.0, factor=1.0):
    """−(α₁ + α₂)h1(w₁, v₁), or with the lengths of the moved neurons in place of the shares."""
    weight = lengths * norms(student[..., :2, :]).sum(-1) + (1 - lengths) * shares(minimum).sum(-1)
    return -factor * weight[..., None, None] * own_block(student[..., 0, :], teacher[..., 0, :])


EQUATION_23 = Claim(
    id=f"{PAPER}.equation-23",
    title="diagonal block at the printed point",
    hypotheses=(
        "$\\tilde w_i = \\alpha_i(v_1 + \\epsilon u)$ for $i = 1, 2$, $u \\perp v_1$, the other neurons at the minimum",
        SCALE,
    ),
    defect=_LENGTHS,
    draw=_MOVED,
    build=_printed_point,
    left=_first_block,
    relation="==",
    right=_toward_first,
    tolerance=1e-7,
    as_printed="$H_{11} = \\frac12I - (\\|\\tilde w_1\\| + \\|\\tilde w_2\\|)h_1(\\tilde w_1, v_1)$.",
    corrected=_SUM,
    correction="The other neurons leave $\\alpha_1 + \\alpha_2$ of the teacher's term; the lengths of the moved neurons, $\\alpha_i\\sqrt{1+\\epsilon^2}$ (printed "
    "as $\\alpha_i(1+\\epsilon)$ one line later), do not enter.",
    control=Form("The corrected form with $1.01(\\alpha_1 + \\alpha_2)$.", lengths=0.0, factor=1.01),
)


def _parallel_terms(student, teacher, factor):
    """Both sides of the two rules: h1 of parallel vectors added up, and of parallel neurons to one vector; the second stacked on the first."""
    one, two, first = student[..., :1, :], student[..., 1:2, :], teacher[..., :1, :]
    lengths = norms(student[..., :2, :])
    added = own_blocks(first, one) + own_blocks(first, two)
    whole = (factor * lengths.sum(-1))[..., None, None, None, None] * own_blocks(first, units(one))
    moved = (factor * lengths[..., 0] / lengths[..., 1])[..., None, None, None, None] * own_blocks(one, first)
    return np.stack([np.stack([added, own_blocks(two, first)]), np.stack([whole, moved])])


PARALLEL = Claim(
    id=f"{PAPER}.section-B.3.1.parallel",
    title="the diagonal terms of parallel vectors",
    hypotheses="as Equation (23), where $\\tilde w_1$ and $\\tilde w_2$ are parallel",
    draw=_MOVED,
    build=_printed_point,
    left=lambda student, teacher: np.moveaxis(_parallel_terms(student, teacher, 1.0)[0], 0, -1),
    relation="==",
    right=lambda student, teacher, factor=1.0: np.moveaxis(_parallel_terms(student, teacher, factor)[1], 0, -1),
    tolerance=1e-7,
    as_printed="$h_1(u, z_1) + h_1(u, z_2) = (\\|z_1\\| + \\|z_2\\|)h_1(u, \\bar z_1)$ for parallel $z_1, z_2$, and $h_1(\\tilde w_2, v_1) = "
    "\\frac{\\|\\tilde w_1\\|}{\\|\\tilde w_2\\|}h_1(\\tilde w_1, v_1)$.",
    control=Form("With 1.01 times the right-hand sides.", factor=1.01),
)


def _pair_curvature(student, teacher):
    """The second derivative along (z, −z, 0, …), z the part of the teacher orthogonal to the first neuron."""
    z = units(orthogonal_to(student[..., 0, :], teacher[..., 0, :]))
    direction = np.zeros(student.shape)
    direction[..., 0, :], direction[..., 1, :] = z, -z
    return curvature(student, teacher, direction)


def _sine_to_first(student, teacher):
    return np.sin(angle_between(student[..., 0, :], teacher[..., 0, :]))


PAIR_CURVATURE = Claim(
    id=f"{PAPER}.section-B.3.1.curvature",
    title="negative curvature at the printed point",
    hypotheses=("as Equation (23); $z$ the eigenvector of $h_1(\\tilde w_1, v_1)$ of the largest eigenvalue", SCALE),
    defect=_LENGTHS,
    draw=_MOVED,
    build=_printed_point,
    left=_pair_curvature,
    relation="==",
    right=lambda minimum, student, teacher, radius, factor: (
        -factor * _sine_to_first(student, teacher) / np.pi * _weight(minimum) / np.sqrt(1 + radius**2)
    ),
    tolerance=1e-8,
    as_printed=Form(
        "Along $(z, -z, 0, \\ldots)$ the curvature is $-(1+\\epsilon)\\frac{\\sin\\theta}\\pi\\frac{(\\alpha_1+\\alpha_2)^2}{\\alpha_1\\alpha_2}$.",
        right=lambda minimum, student, teacher, radius: (
            -(1 + radius) * _sine_to_first(student, teacher) / np.pi * _weight(minimum)
        ),
    ),
    corrected=Form(
        "It is $-\\frac1{\\sqrt{1+\\epsilon^2}}\\frac{\\sin\\theta}\\pi\\frac{(\\alpha_1+\\alpha_2)^2}{\\alpha_1\\alpha_2} = "
        "-\\frac\\epsilon{\\pi(1+\\epsilon^2)}\\frac{(\\alpha_1+\\alpha_2)^2}{\\alpha_1\\alpha_2}$.",
        factor=1.0,
    ),
    correction="By the slip in Equation (23); the sign, and with it Theorem 3, is right.",
    control=Form("1.01 times the corrected value.", factor=1.01),
)


SECOND_EIGENVALUE = Claim(
    id=f"{PAPER}.section-B.3.1.eigenvalue",
    title="eigenvalue of the second neuron's term",
    hypotheses="as Equation (23)",
    glyph=True,
    draw=_MOVED,
    build=_printed_point,
    left=lambda student, teacher: largest_of_own(student[..., 1, :], teacher[..., 0, :]),
    relation="==",
    right=lambda student, teacher, second=0.0: (
        _sine_to_first(student, teacher)
        / np.pi
        / norms(second * student[..., 1, :] + (1 - second) * student[..., 0, :])
    ),
    tolerance=1e-8,
    as_printed="$h_1(\\tilde w_2, v_1)$ has the eigenvalue $\\sin\\theta/(\\pi\\|\\tilde w_1\\|)$.",
    as_meant=Form("$h_1(\\tilde w_2, v_1)$ has the eigenvalue $\\sin\\theta/(\\pi\\|\\tilde w_2\\|)$.", second=1.0),
    supplied="the display that follows, which has $h_1(\\tilde w_1, v_1)$ with that eigenvalue",
    correction="One index: the matrix or the norm is that of the other neuron.",
    control=Form("The same with a hundredth of the first neuron in the norm.", second=0.99),
)


# Definition 1 ---------------------------------------------------------------------------------------------------------

_GRID = np.linspace(1e-6, 1, 400)


def _by_gradient(x, a, b):
    """The coefficient by the gradient of f' = x(1 + a sin bx) on the segment from 0 to x: the smallest f'(x)/x."""
    return 1 + np.min(np.multiply.outer(a, np.ones(400)) * np.sin(np.multiply.outer(b * x, _GRID)), -1)


def _by_hessian(x, a, b):
    """The coefficient by the second derivative."""
    turn = np.multiply.outer(b * x, _GRID)
    return 1 + np.min(np.multiply.outer(a, np.ones(400)) * (np.sin(turn) + turn * np.cos(turn)), -1)


DEFINITION_1 = Claim(
    id=f"{PAPER}.definition-1",
    title="two definitions of one-point strong convexity",
    hypotheses="$f'(x) = x(1 + a\\sin bx)$ on an interval around its minimum 0",
    scope="remark",
    draw={"a": uniform(0.0, 0.9), "b": uniform(0.0, 50.0), "x": uniform(-1.0, 1.0)},
    left=_by_gradient,
    relation=">=",
    right=lambda x, a, b, factor: factor * _by_hessian(x, a, b),
    where=lambda x, a, b: _by_hessian(x, a, b) > 0,
    # The grid sees the smallest values up to its fineness.
    scale=1e3,
    as_printed=Form(
        "For twice differentiable functions the definition by the Hessian follows from that by the gradient: where this has a "
        "coefficient $\\lambda > 0$, so has the other.",
        where=lambda x, a, b: _by_gradient(x, a, b) >= 0.1,
        left=_by_hessian,
        right=0.0,
        scale=1.0,
    ),
    corrected=Form(
        "The definition by the gradient follows from that by the Hessian, with the same coefficient, on sets that are star-shaped around "
        "the minimum.",
        factor=1.0,
        slack=1e-6,
    ),
    correction="Integrate the Hessian along the segment. The converse fails: a gradient that points away from the minimum everywhere may shrink on the way. "
    "Theorem 4 holds in both senses.",
    control=Form("The same with 1.05 times the coefficient.", factor=1.05),
)


# The example of Appendix B.3 ------------------------------------------------------------------------------------------

_PLANE = {"x": real(()), "y": real(())}


def _value(x, y):
    return x**2 * y**2


def _differences(x, y, step=1e-3):
    """The determinant of the Hessian of x²y² by difference quotients, exact for a polynomial of degree two in each."""
    h, k = step * np.abs(x), step * np.abs(y)
    xx = (_value(x + h, y) - 2 * _value(x, y) + _value(x - h, y)) / h**2
    yy = (_value(x, y + k) - 2 * _value(x, y) + _value(x, y - k)) / k**2
    xy = (_value(x + h, y + k) - _value(x + h, y - k) - _value(x - h, y + k) + _value(x - h, y - k)) / (4 * h * k)
    return xx * yy - xy**2


DETERMINANT = Claim(
    id=f"{PAPER}.section-B.3.determinant",
    title="an example: $x^2y^2$ is not convex almost anywhere",
    hypotheses="$f(x, y) = x^2y^2$, $xy \\ne 0$",
    scope="caption",
    draw=_PLANE,
    where=lambda x, y: (np.abs(x) > 1e-3) & (np.abs(y) > 1e-3),
    left=_differences,
    relation="<=",
    right=lambda x, y, factor=11.9: -factor * _value(x, y),
    as_printed="The determinant of the Hessian, by difference quotients, is negative: at most $-11.9x^2y^2$ (it is $-12x^2y^2$).",
    control=Form("It is at most $-12.1x^2y^2$.", factor=12.1),
    arithmetic="difference quotients in float64",
)


EXAMPLE_OPSC = Claim(
    id=f"{PAPER}.section-B.3.example",
    title="the example is one-point strongly convex in orthogonal neighbourhoods",
    hypotheses="$f(x, y) = x^2y^2$, the minimum $(0, y)$, $y \\ne 0$",
    draw=_PLANE,
    where=lambda x, y: (np.abs(x) > 1e-6) & (np.abs(y) > 1e-3),
    left=lambda x, y: 2 * x * y**2 * x / x**2,  # the quotient of Definition 1 at (x, y) towards (0, y)
    relation=">=",
    right=lambda y, factor=2.0, power=0.0: factor * np.abs(y) ** power,
    as_printed="With the parameter $\\lambda = 2$.",
    corrected=Form("With the parameter $\\lambda = 2y^2$.", power=2.0),
    correction="The parameter depends on the minimum and vanishes as it approaches the origin; it is 2 for $|y| = 1$.",
    control=Form("With the parameter $\\lambda = 2.02y^2$.", factor=2.02, power=2.0),
)

EXAMPLE_PL = Claim(
    id=f"{PAPER}.section-B.3.gradient",
    title="gradient of the example",
    hypotheses="$f(x, y) = x^2y^2$",
    draw=_PLANE,
    left=lambda x, y: (2 * x * y**2) ** 2 + (2 * x**2 * y) ** 2,
    relation="==",
    right=lambda x, y, factor=4.0: factor * _value(x, y) * (x**2 + y**2),
    as_printed="$\\|\\nabla f\\|^2 = 4f\\,\\|(x, y)\\|^2$; the quotient of the PL condition, $2\\|(x, y)\\|^2$, has no positive lower bound, and the gradient vanishes at all minima.",
    control=Form("$\\|\\nabla f\\|^2 = 4.01f\\,\\|(x, y)\\|^2$.", factor=4.01),
)
