"""Section 3.2, Definition 1 and Appendices B.3 and B.3.1: no local convexity with more students than teachers."""

from __future__ import annotations

import numpy as np

from tutelage.claims.base import Claim, Form
from tutelage.claims.mild_overparameterization.formulas import (
    BLOCK,
    PAPER,
    RECIPE,
    SCALE,
    angles,
    curvature,
    hessian,
    norms,
    own_blocks,
)
from tutelage.claims.mild_overparameterization.instances import (
    Batches,
    minima,
    near,
    orthogonal_to,
)
from tutelage.claims.scan import Scan, at_most

_SHAPES = (((2,), 2), ((3,), 2), ((2, 1), 2), ((2, 1), 4), ((3, 2, 1), 3))


def _first_pair(batch, radius, random):
    """Return the minimum with its first two neurons moved in one direction, orthogonal to the first teacher."""
    minimum, teacher = batch["minimum"], batch["teacher"]
    aside = random.normal(size=minimum[:, :1].shape)
    aside = orthogonal_to(teacher[:, :1], aside)
    aside = aside / norms(aside)[..., None]
    moved = np.zeros_like(minimum)
    moved[:, :2] = radius * aside * norms(minimum[:, :2])[..., None]
    return minimum + moved


# Theorem 3 ------------------------------------------------------------------------------------------------------------


def _negative(largest: float, shapes=_SHAPES):
    """Is the smallest eigenvalue at the printed point below a bound?"""

    def check(i):
        smallest = np.linalg.eigvalsh(hessian(i["student"], i["teacher"]))[:, 0]
        share = norms(i["minimum"][:, :2])
        predicted = -i["radius"] / (1 + i["radius"] ** 2) * share.sum(-1) ** 2 / (2 * np.pi * share.prod(-1))
        return at_most(smallest, largest * predicted)

    def draw(count, random):
        for sizes, d in shapes:
            for radius in (0.3, 1e-2, 1e-4):
                batch = minima(sizes, d, count, random, smallest=0.01)
                student = _first_pair(batch, radius, random)
                yield {**batch, "student": student, "radius": np.full(count, radius)}

    return Batches(draw, check, "the smallest eigenvalue at the printed point", 0.5)


THEOREM_3 = Claim(
    id=f"{PAPER}.theorem-3",
    place="Theorem 3",
    title="not locally convex with more students than teachers",
    hypotheses=(
        "$n > k$, $d > 1$, a global minimum with unequal shares",
        "radii of 0.3, 0.01 and 0.0001 times the neurons",
    ),
    as_printed=Form(
        "In every neighbourhood of a differentiable global minimum the Hessian has a negative eigenvalue somewhere: at the printed point, at "
        "most $-\\frac{\\epsilon}{2\\pi(1+\\epsilon^2)}\\frac{(\\alpha_1+\\alpha_2)^2}{\\alpha_1\\alpha_2}$.",
        _negative(1.0),
    ),
    control=Form(
        "The same for $n = k$, where the neurons of two teachers are moved.",
        _negative(1.0, (((1, 1), 2), ((1, 1, 1), 3))),
    ),
    arithmetic="closed form in float64",
)


def _equation_23(kind: str):
    def check(i):
        share = norms(i["minimum"][:, :2])
        first, v = i["student"][:, :1], i["teacher"][:, :1]
        d = first.shape[-1]
        left = hessian(i["student"], i["teacher"])[:, :d, :d] - 0.5 * np.eye(d)
        factor = {
            "printed": norms(i["student"][:, :2]).sum(-1),
            "corrected": share.sum(-1),
            "control": 0.9 * share.sum(-1),
        }[kind]
        right = -factor[:, None, None] * own_blocks(first, v)[:, 0, 0]
        return near(left, right, 1e-6, 1e-7)

    return Batches(_moved, check, share=0.5)


def _moved(count, random):
    for sizes, d in _SHAPES:
        for radius in (1.0, 0.3, 0.1):
            batch = minima(sizes, d, count, random, smallest=0.05)
            student = _first_pair(batch, radius, random)
            yield {**batch, "student": student, "radius": np.full(count, radius)}


EQUATION_23 = Claim(
    id=f"{PAPER}.equation-23",
    place="Equation (23)",
    title="diagonal block at the printed point",
    hypotheses=(
        "$\\tilde w_i = \\alpha_i(v_1 + \\epsilon u)$ for $i = 1, 2$, $u \\perp v_1$, the other neurons at the minimum",
        SCALE,
    ),
    as_printed=Form(
        "$H_{11} = \\frac12I - (\\|\\tilde w_1\\| + \\|\\tilde w_2\\|)h_1(\\tilde w_1, v_1)$.",
        _equation_23("printed"),
        recipe=RECIPE
        + BLOCK
        + """
a = student[0]
left = sum(h1(a, b) for b in student[1:]) - sum(h1(a, b) for b in teacher)  # Theorem 10
right = -np.linalg.norm(student[:2], axis=1).sum() * h1(a, teacher[0])
""",
    ),
    corrected=Form("$H_{11} = \\frac12I - (\\alpha_1 + \\alpha_2)h_1(\\tilde w_1, v_1)$.", _equation_23("corrected")),
    correction="The other neurons leave $\\alpha_1 + \\alpha_2$ of the teacher's term; the lengths of the moved neurons, $\\alpha_i\\sqrt{1+\\epsilon^2}$ (printed "
    "as $\\alpha_i(1+\\epsilon)$ one line later), do not enter.",
    control=Form("The corrected form with $0.9(\\alpha_1 + \\alpha_2)$.", _equation_23("control")),
)


def _pair_curvature(kind: str):
    def check(i):
        share, radius = norms(i["minimum"][:, :2]), i["radius"]
        student, teacher = i["student"], i["teacher"]
        aside = student[:, 0] - share[:, :1] * teacher[:, 0]
        unit = student[:, 0] / norms(student[:, 0])[:, None]
        z = aside - np.sum(aside * unit, -1, keepdims=True) * unit
        z = z / norms(z)[:, None]
        direction = np.zeros_like(student)
        direction[:, 0], direction[:, 1] = z, -z
        sine = np.sin(angles(student[:, :1], teacher[:, :1])[:, 0, 0])
        factor = {
            "printed": 1 + radius,
            "corrected": 1 / np.sqrt(1 + radius**2),
            "control": 1.1 / np.sqrt(1 + radius**2),
        }[kind]
        right = -factor * sine / np.pi * share.sum(-1) ** 2 / share.prod(-1)
        return {**near(curvature(student, teacher, direction), right, 1e-6, 1e-8), "direction": direction}

    return Batches(_moved, check, share=0.5)


PAIR_CURVATURE = Claim(
    id=f"{PAPER}.section-B.3.1.curvature",
    place="Appendix B.3.1, last display",
    title="negative curvature at the printed point",
    hypotheses=("as Equation (23); $z$ the eigenvector of $h_1(\\tilde w_1, v_1)$ of the largest eigenvalue", SCALE),
    as_printed=Form(
        "Along $(z, -z, 0, \\ldots)$ the curvature is $-(1+\\epsilon)\\frac{\\sin\\theta}\\pi\\frac{(\\alpha_1+\\alpha_2)^2}{\\alpha_1\\alpha_2}$.",
        _pair_curvature("printed"),
        recipe=RECIPE
        + """
a1, a2 = np.linalg.norm(minimum[:2], axis=1)
left = second_derivative(student, direction)
right = -(1 + radius) * np.sin(angle(student[0], teacher[0])) / np.pi * (a1 + a2) ** 2 / (a1 * a2)
""",
    ),
    corrected=Form(
        "It is $-\\frac1{\\sqrt{1+\\epsilon^2}}\\frac{\\sin\\theta}\\pi\\frac{(\\alpha_1+\\alpha_2)^2}{\\alpha_1\\alpha_2} = "
        "-\\frac\\epsilon{\\pi(1+\\epsilon^2)}\\frac{(\\alpha_1+\\alpha_2)^2}{\\alpha_1\\alpha_2}$.",
        _pair_curvature("corrected"),
    ),
    correction="By the slip in Equation (23); the sign, and with it Theorem 3, is right.",
    control=Form("1.1 times the corrected value.", _pair_curvature("control")),
)


# Definition 1 ---------------------------------------------------------------------------------------------------------


def _wave(x, a, b):
    """A function of one variable by its first two derivatives: f' = x(1 + a sin bx)."""
    return x * (1 + a * np.sin(b * x)), 1 + a * np.sin(b * x) + a * b * x * np.cos(b * x)


def _definition(kind: str):
    def draw(count, random):
        return {
            "a": random.uniform(0, 0.9, count),
            "b": random.uniform(0, 50, count),
            "x": random.uniform(-1, 1, count),
        }

    def check(i):
        grid = np.linspace(1e-6, 1, 400)[:, None] * i["x"]
        slope, second = _wave(grid, i["a"], i["b"])
        # The coefficients of both definitions on the segment from the minimum to the point.
        by_gradient, by_hessian = (slope / grid).min(0), second.min(0)
        if kind == "converse":
            # The coefficient by the gradient is at least 1 − a > 0.
            return {"margin": by_hessian, "left": by_gradient, "right": by_hessian}
        factor = 1.0 if kind == "forward" else 1.5
        # The grid sees the smallest curvature up to its fineness.
        return {"margin": np.where(by_hessian <= 0, np.inf, by_gradient - factor * by_hessian + 1e-3)}

    return Scan(draw, check)


DEFINITION_1 = Claim(
    id=f"{PAPER}.definition-1",
    place="Definition 1 and the remark after it",
    title="two definitions of one-point strong convexity",
    hypotheses=("$f'(x) = x(1 + a\\sin bx)$ on an interval around its minimum 0",),
    as_printed=Form(
        "For twice differentiable functions the definition by the Hessian follows from that by the gradient: where this has a "
        "coefficient $\\lambda > 0$, so has the other.",
        _definition("converse"),
        recipe="""
grid = np.linspace(1e-6, 1, 400) * x
left = np.min(1 + a * np.sin(b * grid))  # f'(x) / x
right = np.min(1 + a * np.sin(b * grid) + a * b * grid * np.cos(b * grid))  # f''(x)
""",
    ),
    corrected=Form(
        "The definition by the gradient follows from that by the Hessian, on sets that are star-shaped around the minimum.",
        _definition("forward"),
    ),
    correction="Integrate the Hessian along the segment. The converse fails: a gradient that points away from the minimum everywhere may shrink on the way. "
    "Theorem 4 holds in both senses.",
    control=Form("The same with 1.5 times the coefficient.", _definition("control")),
)


# The example of Appendix B.3 ------------------------------------------------------------------------------------------


def _saddle(kind: str):
    def draw(count, random):
        scale = 10.0 ** random.uniform(-2, 1, size=(count, 2)) * random.choice([-1, 1], size=(count, 2))
        return {"x": scale[:, 0], "y": scale[:, 1]}

    def check(i):
        x, y = i["x"], i["y"]
        f, slope = x**2 * y**2, np.stack([2 * x * y**2, 2 * x**2 * y])
        if kind == "determinant":
            return at_most(4 * f - 16 * f, 0.0)
        if kind == "positive":
            return at_most(16 * f - 4 * f, 0.0)
        if kind in ("identity", "wrong"):
            right = (4.0 if kind == "identity" else 3.9) * f * (x**2 + y**2)
            return {"margin": 1e-9 - np.abs(np.sum(slope**2, 0) / right - 1)}
        quotient = slope[0] * x / x**2  # towards the minimum (0, y), along which the orthogonal neighbourhood lies
        return at_most({"two": 2.0, "local": 2 * y**2, "more": 2.2 * y**2}[kind] * (1 - 1e-12), quotient)

    return Scan(draw, check)


DETERMINANT = Claim(
    id=f"{PAPER}.section-B.3.determinant",
    place="Figure 2",
    title="an example: $x^2y^2$ is not convex almost anywhere",
    hypotheses=("$f(x, y) = x^2y^2$, $xy \\ne 0$",),
    as_printed=Form("The determinant of the Hessian is negative.", _saddle("determinant")),
    control=Form("It is positive.", _saddle("positive")),
)

EXAMPLE_OPSC = Claim(
    id=f"{PAPER}.section-B.3.example",
    place="Appendix B.3, after Figure 2",
    title="the example is one-point strongly convex in orthogonal neighbourhoods",
    hypotheses=("$f(x, y) = x^2y^2$, the minimum $(0, y)$, $y \\ne 0$",),
    as_printed=Form(
        "With the parameter $\\lambda = 2$.",
        _saddle("two"),
        recipe="left = 2.0\nright = 2 * x * y**2 * x / x**2  # the quotient of Definition 1 at (x, y) towards (0, y)\n",
    ),
    corrected=Form("With the parameter $\\lambda = 2y^2$.", _saddle("local")),
    correction="The parameter depends on the minimum and vanishes as it approaches the origin; it is 2 for $|y| = 1$.",
    control=Form("With the parameter $\\lambda = 2.2y^2$.", _saddle("more")),
)

EXAMPLE_PL = Claim(
    id=f"{PAPER}.section-B.3.gradient",
    place="Appendix B.3, after Figure 2",
    title="gradient of the example",
    hypotheses=("$f(x, y) = x^2y^2$",),
    as_printed=Form("$\\|\\nabla f\\|^2 = 4f\\,\\|(x, y)\\|^2$.", _saddle("identity")),
    control=Form("$\\|\\nabla f\\|^2 = 3.9f\\,\\|(x, y)\\|^2$.", _saddle("wrong")),
)

MAIN = (THEOREM_3, DEFINITION_1)
APPENDIX = (DETERMINANT, EXAMPLE_OPSC, EXAMPLE_PL, EQUATION_23, PAIR_CURVATURE)
