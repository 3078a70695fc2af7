"""Theorems 4 and 5 and Appendices B.3.2 and B.3.3: the printed point at which the conditions fail, and its orders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tutelage.claims.base import Claim, Effort, Form, Outcome, worst_of
from tutelage.claims.mild_overparameterization.formulas import (
    BLOCK,
    PAPER,
    RECIPE,
    SCALE,
    cross_blocks,
    curvature,
    duals,
    gradient,
    loss,
    norms,
    own_blocks,
)
from tutelage.claims.mild_overparameterization.instances import Batches, minima, near, orthogonal_to, slopes
from tutelage.claims.scan import Scan

_RADII = np.geomspace(0.03, 1e-3, 5)
_WIDE = (((2,), 2), ((2, 1), 2), ((3, 2), 3), ((2, 1, 1), 4))


def _opposite(batch, random, in_plane: bool):
    """Return the printed way: the first two neurons of a teacher moved oppositely, towards another teacher if there is one."""
    teacher, minimum = batch["teacher"], batch["minimum"]
    if in_plane and teacher.shape[1] > 1:
        aside = teacher[:, 1]
    else:
        aside = orthogonal_to(teacher[:, :1], random.normal(size=minimum[:, :1].shape))[:, 0]
        aside = aside / norms(aside)[:, None]
    way = np.zeros_like(minimum)
    way[:, 0], way[:, 1] = aside, -aside
    return way


def _orders(quantity: str, batch, way):
    """Return the fitted order of a quantity along the printed way, and its values."""
    teacher, minimum = batch["teacher"], batch["minimum"]
    shortest = norms(minimum[:, :2]).min(-1)[:, None, None]
    values = []
    for radius in _RADII:
        moved = radius * shortest * way
        square = np.sum(moved**2, axis=(-2, -1))
        at = minimum + moved
        if quantity == "hessian":
            values.append(curvature(at, teacher, moved) / square)
        elif quantity == "gradient":
            values.append(np.sum(gradient(at, teacher) * moved, axis=(-2, -1)) / square)
        elif quantity == "loss":
            values.append(loss(at, teacher))
        elif quantity == "squared gradient":
            values.append(np.sum(gradient(at, teacher) ** 2, axis=(-2, -1)))
        else:
            values.append(0.5 * np.sum(gradient(at, teacher) ** 2, axis=(-2, -1)) / loss(at, teacher))
    values = np.abs(np.stack(values, -1))
    return slopes(_RADII, np.maximum(values, 1e-300)), values


def _vanishes(quantities: tuple[str, ...], needed: float, shapes=_WIDE):
    """Do the quotients go to zero with the radius, at least with the given order?"""

    def test(effort: Effort, seed: int) -> Outcome:
        random, found, tried = np.random.default_rng(seed), [], 0
        for sizes, d in shapes:
            batch = minima(sizes, d, effort.samples // 8, random, smallest=0.1)
            for in_plane in (True, False):
                way = _opposite(batch, random, in_plane)
                for quantity in quantities:
                    order, _ = _orders(quantity, batch, way)
                    tried += order.size
                    pick = int(order.argmin())
                    shown = {name: batch[name][pick] for name in ("teacher", "minimum")} | {"way": way[pick]}
                    found.append((float(order[pick] - needed), shown))
        outcome = worst_of(found, tried)
        return replace(outcome, note=outcome.note or f"the quotient vanishes like ε^{outcome.margin + needed:.2f}")

    return test


def _alone(effort: Effort, seed: int) -> Outcome:
    """One dimension: nothing but zero is orthogonal to a minimum, whose orthogonal neighbourhood is the minimum itself."""
    random = np.random.default_rng(seed)
    batch = minima((2,), 1, effort.samples, random)
    ways = orthogonal_to(batch["minimum"], 0.1 * random.normal(size=batch["minimum"].shape))
    longest = norms(ways).max(-1)
    witness = {"minimum": batch["minimum"][0], "left": float(longest.max()), "right": 0.1}
    return Outcome(float(longest.max()) - 0.1, len(ways), witness, "the orthogonal neighbourhood is a point for d = 1")


def _one_dimension(effort: Effort, seed: int) -> Outcome:
    """One dimension: the PL quotient is a constant in a whole neighbourhood of every differentiable minimum."""
    random = np.random.default_rng(seed)
    batch = minima((2,), 1, effort.samples, random, smallest=0.2)
    points = batch["minimum"] + 0.05 * random.normal(size=batch["minimum"].shape) * batch["teacher"]
    points = np.where(points * batch["teacher"] > 0.01, points, batch["minimum"] + 0.01 * batch["teacher"])
    square = np.sum(gradient(points, batch["teacher"]) ** 2, axis=(-2, -1))
    quotient = 0.5 * square / loss(points, batch["teacher"])
    pick = int(quotient.argmin())
    witness = {"student": points[pick], "teacher": batch["teacher"][pick], "left": quotient[pick], "right": 0.0}
    note = f"for d = 1 the PL quotient is {quotient.min():.6g} to {quotient.max():.6g}"
    return Outcome(-float(quotient.min()), len(points), witness, note)


_D1 = """
total = abs(student.sum())  # all neurons have the sign of the teacher
loss = 0.25 * (total - 1) ** 2  # half of E[(total x_+ - x_+)^2]
slope = 0.5 * (total - 1)  # the derivative in each neuron
left, right = 0.5 * len(student) * slope**2 / loss, 0.0  # the PL quotient, which should come close to zero
"""
_D1_POINT = """
ways = np.linspace(-0.1, 0.1, 201)
orthogonal = [way for way in ways if abs(way * minimum[0, 0]) < 1e-12]
left, right = np.max(np.abs(orthogonal)), 0.1  # the radius of the orthogonal neighbourhood, which should be 0.1
"""

THEOREM_4 = Claim(
    id=f"{PAPER}.theorem-4",
    place="Theorem 4",
    title="not one-point strongly convex in an orthogonal neighbourhood",
    hypotheses=("$n > k$, a differentiable global minimum; $d = 1$ among the instances of the print", SCALE),
    as_printed=Form(
        "There is no $\\lambda > 0$ for which the objective is one-point strongly convex in an $\\epsilon$-orthogonal neighbourhood.",
        _alone,
        recipe=_D1_POINT,
    ),
    corrected=Form(
        "The same for $d > 1$: at the printed point the quotients by the Hessian and by the gradient are of order $\\epsilon$.",
        _vanishes(("hessian", "gradient"), 0.9),
    ),
    correction="As in Theorem 3, $d > 1$ has to be assumed: for $d = k = 1$ the orthogonal neighbourhood is the minimum alone, and the condition holds "
    "trivially. For $k = 1 < d$ any unit vector orthogonal to $v_1$ takes the place of the printed $v_2$.",
    control=Form("The quotients are of order $\\epsilon^2$.", _vanishes(("hessian", "gradient"), 1.9)),
    arithmetic="fitted orders, closed form in float64",
)

THEOREM_5 = Claim(
    id=f"{PAPER}.theorem-5",
    place="Theorem 5",
    title="no Polyak–Łojasiewicz condition in an orthogonal neighbourhood",
    hypotheses=("$n > k$, a differentiable global minimum; $d = 1$ among the instances of the print", SCALE),
    as_printed=Form(
        "There is no $\\lambda > 0$ with $\\frac12\\|\\nabla F\\|^2 \\ge \\lambda F$ in an $\\epsilon$-orthogonal neighbourhood.",
        _one_dimension,
        recipe=_D1,
    ),
    corrected=Form(
        "The same for $d > 1$: at the printed point the quotient is of order $\\epsilon$.", _vanishes(("pl",), 0.9)
    ),
    correction="As in Theorem 3, $d > 1$ has to be assumed: for $d = k = 1$ the objective is a function of $\\sum w_i$ near its minima, and the condition holds "
    "with $\\lambda = n/2$ (for Equation (2): $\\lambda = n$) in a whole neighbourhood.",
    control=Form("The quotient is of order $\\epsilon^2$.", _vanishes(("pl",), 1.9)),
    arithmetic="fitted orders, closed form in float64",
)


def _equation_24(kind: str):
    def check(i):
        w, v, way = i["student"], i["teacher"], i["way"]
        u = way[:, 0] / norms(way[:, 0])[:, None]
        form = lambda block: np.einsum("ni,nij,nj->n", u, block[:, 0, 0], u)  # noqa: E731
        one, two, first = w[:, :1], w[:, 1:2], v[:, :1]
        share = norms(i["minimum"][:, :2]).sum(-1)
        own = form(own_blocks(one, two)) + form(own_blocks(two, one))
        toward = form(own_blocks(one, first)) + form(own_blocks(two, first))
        right = 0.5 * (1 + own - share * toward)
        if kind != "printed":
            right = right - (1.0 if kind == "corrected" else 0.9) * form(cross_blocks(one, two))
        left = curvature(w, v, way) / np.sum(way**2, axis=(-2, -1))
        return near(left, right, 1e-2, 1e-6)

    def draw(count, random):
        # Two neurons of the first teacher, so that the printed term of that teacher is meant with its whole weight.
        for sizes, d in (((2, 1), 2), ((2, 2), 3)):
            batch = minima(sizes, d, count, random, smallest=0.2)
            way = 0.05 * _opposite(batch, random, True)
            yield {**batch, "student": batch["minimum"] + way, "way": way}

    return Batches(draw, check, share=0.5)


EQUATION_24 = Claim(
    id=f"{PAPER}.equation-24",
    place="Equation (24)",
    title="curvature at the printed point of Theorem 4",
    hypotheses=(
        "$w_{1,2} = \\alpha_{1,2}v_1 \\pm \\epsilon v_2$, the other neurons at the minimum, $\\alpha_1 + \\alpha_2 = 1$",
        SCALE,
    ),
    as_printed=Form(
        "The quotient is $\\frac12(1 + v_2^\\top[h_1(w_1, w_2) + h_1(w_2, w_1) - h_1(w_1, v_1) - h_1(w_2, v_1)]v_2)$. (The print has $v_2$ as the last "
        "argument.)",
        _equation_24("printed"),
        recipe=RECIPE
        + BLOCK
        + """
u = unit(way[0])
w1, w2, v1 = student[0], student[1], teacher[0]
left = second_derivative(student, way) / np.sum(way**2)
right = 0.5 * (1 + u @ (h1(w1, w2) + h1(w2, w1) - h1(w1, v1) - h1(w2, v1)) @ u)
""",
    ),
    corrected=Form(
        "It is that minus $v_2^\\top h_2(w_1, w_2)v_2$ (times $\\alpha_1 + \\alpha_2$ in front of the teacher's terms).",
        _equation_24("corrected"),
    ),
    correction="The cross term is missing, which the proof goes on to compute; without it the quotient would tend to one half instead of zero.",
    control=Form("The corrected form with $0.9h_2$.", _equation_24("control")),
)


def _equation_25(kind: str):
    def check(i):
        w, v = i["student"], i["teacher"]
        share = norms(i["minimum"][:, :2]).sum(-1)
        f = lambda a, b: duals(a[:, None], b[:, None])[:, 0, 0]  # noqa: E731
        one, two, first = w[:, 0], w[:, 1], share[:, None] * v[:, 0]
        last = share[:, None] * v[:, 1] if kind == "printed" else first
        right = f(one, one) + f(two, two) + 2 * f(one, two) - 2 * f(one, first) - 2 * f(two, last) + f(first, first)
        scale = 1.0 if kind == "control" else 2.0
        left = scale * loss(w, v)
        return {"margin": 1e-10 - np.abs(left - right), "left": left, "right": right}

    def draw(count, random):
        for sizes, d in (((2, 1), 2), ((3, 2), 3)):
            batch = minima(sizes, d, count, random, smallest=0.1)
            radius = random.uniform(0.05, 0.5, size=(count, 1, 1))
            yield {**batch, "student": batch["minimum"] + radius * _opposite(batch, random, True)}

    return Batches(draw, check, share=0.5)


EQUATION_25 = Claim(
    id=f"{PAPER}.equation-25",
    place="Equation (25)",
    title="the objective at the printed point",
    hypotheses=(
        "$w_{1,2} = \\alpha_{1,2}v_1 \\pm \\epsilon v_2$, the other neurons at the minimum; $F$ in the scale of Equation (2)",
    ),
    as_printed=Form(
        "$F = f(w_1, w_1) + f(w_2, w_2) + 2f(w_1, w_2) - 2f(w_1, \\alpha v_1) - 2f(w_2, \\alpha v_2) + f(\\alpha v_1, \\alpha v_1)$, $\\alpha = \\alpha_1 + \\alpha_2$.",
        _equation_25("printed"),
        recipe=RECIPE
        + """
share = np.linalg.norm(minimum[:2], axis=1).sum()
w1, w2, v1, v2 = student[0], student[1], share * teacher[0], share * teacher[1]
left = 2 * half_loss(student)
right = dual(w1, w1) + dual(w2, w2) + 2 * dual(w1, w2) - 2 * dual(w1, v1) - 2 * dual(w2, v2) + dual(v1, v1)
""",
    ),
    corrected=Form("With $-2f(w_2, \\alpha v_1)$, as Equation (26) has it.", _equation_25("corrected")),
    correction="A misprint. Here $F$ is the objective of Equation (2), without the factor one half of Equation (64).",
    control=Form("The corrected form for half of the objective.", _equation_25("control")),
)


def _power(quantity: str, low: float, high: float):
    """Is the order of a quantity along the printed way in a range?"""

    def check(i):
        order, values = _orders(quantity, i, i["way"])
        return {
            "margin": np.minimum(order - low, high - order),
            "left": order,
            "right": np.full(len(order), high),
            "values": values,
        }

    def draw(count, random):
        for sizes, d in _WIDE:
            batch = minima(sizes, d, count, random, smallest=0.1)
            yield {**batch, "way": _opposite(batch, random, True)}

    return Batches(draw, check, f"fitted order of the {quantity}", 0.5)


def _coefficient(factor: float):
    def check(i):
        share, radius = norms(i["minimum"][:, :2]), i["radius"]
        expected = 2 * share.sum(-1) / (3 * np.pi * share.prod(-1)) * radius**3
        return near(
            2 * loss(i["minimum"] + radius[:, None, None] * i["way"], i["teacher"]) / expected, factor, 1e-3, 0.03
        )

    def draw(count, random):
        for sizes, d in _WIDE:
            batch = minima(sizes, d, count, random, smallest=0.2)
            yield {**batch, "way": _opposite(batch, random, True), "radius": np.full(count, 2e-3)}

    return Batches(draw, check, share=0.5)


_FIT = """
shortest = np.linalg.norm(minimum[:2], axis=1).min()
radii = np.geomspace(0.03, 1e-3, 5)
"""

EQUATION_26 = Claim(
    id=f"{PAPER}.equation-26",
    place="Equation (26)",
    title="size of the objective at the printed point",
    hypotheses=("$w_{1,2} = \\alpha_{1,2}v_1 \\pm \\epsilon v_2$, the other neurons at the minimum",),
    as_printed=Form(
        "$F(w) = \\Omega(\\epsilon)$.",
        _power("loss", 0.0, 1.05),
        recipe=RECIPE
        + _FIT
        + "values = [half_loss(minimum + radius * shortest * way) for radius in radii]\n"
        + "left, right = np.polyfit(np.log(radii), np.log(values), 1)[0], 1.0\n",
    ),
    corrected=Form(
        "$F(w)$ is of order $\\epsilon^3$; in the scale of Equation (2) it is $\\frac{2(\\alpha_1+\\alpha_2)}{3\\pi\\alpha_1\\alpha_2}\\epsilon^3$ to leading order.",
        _coefficient(1.0),
    ),
    correction="The terms of first order cancel: near a minimum the objective is at most of second order. Theorem 5 needs the gradient "
    "better than Equation (27) has it, see there.",
    control=Form("It is nine tenths of that.", _coefficient(0.9)),
    arithmetic="fitted orders, closed form in float64",
)


def _equation_27(needed: float):
    def check(i):
        order, _ = _orders("squared gradient", i, i["way"])
        return {"margin": order - needed, "left": order, "right": np.full(len(order), needed)}

    def draw(count, random):
        for sizes, d in _WIDE:
            batch = minima(sizes, d, count, random, smallest=0.1)
            yield {**batch, "way": _opposite(batch, random, True)}

    return Batches(draw, check, "the squared gradient is of order ε⁴", 0.5)


EQUATION_27 = Claim(
    id=f"{PAPER}.equation-27",
    place="Equation (27)",
    title="size of the gradient at the printed point",
    hypotheses=("as Equation (26)",),
    as_printed=Form("$\\|\\nabla F(w)\\|^2 = O(\\epsilon^2)$. (In fact $O(\\epsilon^4)$.)", _equation_27(2.0)),
    corrected=Form(
        "$\\|\\nabla F(w)\\|^2 = O(\\epsilon^4)$, which is what Theorem 5 needs beside the right order of $F$.",
        _equation_27(3.9),
    ),
    correction="The print is true but too weak: with $F$ of order $\\epsilon^3$ (not $\\epsilon$) the proof needs $o(\\epsilon^3)$. The terms of order $\\epsilon$ of the gradient "
    "cancel, and the PL quotient is of order $\\epsilon$.",
    control=Form("$\\|\\nabla F(w)\\|^2 = O(\\epsilon^5)$.", _equation_27(5.0)),
    arithmetic="fitted orders, closed form in float64",
)


def _sines(power: int):
    def draw(count, random):
        return {"alpha": random.uniform(0.01, 1, count), "radius": random.uniform(0.01, 1, count)}

    def check(i):
        exact = np.sin(np.arctan2(i["radius"], i["alpha"]))
        printed = i["radius"] / np.sqrt(i["alpha"] ** power + i["radius"] ** 2)
        return {"margin": 1e-9 - np.abs(exact - printed), "left": exact, "right": printed}

    return Scan(draw, check)


SINES = Claim(
    id=f"{PAPER}.section-B.3.3.sines",
    place="Appendix B.3.3, list of angles",
    title="angle of the moved neurons to their teacher",
    hypotheses=("$w_1 = \\alpha_1v_1 + \\epsilon v_2$",),
    as_printed=Form(
        "$\\sin\\gamma_1 = \\epsilon/\\sqrt{\\alpha_1 + \\epsilon^2}$.",
        _sines(1),
        recipe="left = np.sin(np.arctan2(radius, alpha))\nright = radius / np.sqrt(alpha + radius**2)\n",
    ),
    corrected=Form(
        "$\\sin\\gamma_1 = \\epsilon/\\sqrt{\\alpha_1^2 + \\epsilon^2}$ (and $\\alpha_2$ in $\\sin\\gamma_2$).",
        _sines(2),
    ),
    correction="A misprint: the square of $\\alpha$ is missing, and the index of the second.",
    control=Form("$\\epsilon/\\sqrt{\\alpha_1^3 + \\epsilon^2}$.", _sines(3)),
)

MAIN = (THEOREM_4, THEOREM_5)
APPENDIX = (EQUATION_24, EQUATION_25, SINES, EQUATION_26, EQUATION_27)
