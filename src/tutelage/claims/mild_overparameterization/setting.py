"""Section 2 and Appendix A: the closed form, its derivatives, and where they exist."""

from __future__ import annotations

import numpy as np

from tutelage.claims.base import Claim, Form
from tutelage.claims.mild_overparameterization.formulas import (
    BLOCK,
    PAPER,
    RECIPE,
    angles,
    cross_blocks,
    gradient,
    hessian,
    loss,
    norms,
    own_blocks,
    units,
)
from tutelage.claims.mild_overparameterization.instances import Batches, minima, near, slopes, students, teachers
from tutelage.claims.scan import Several, at_most

# Students, teachers, dimension: the smallest cases, one of each inequality, and a larger one.
_SHAPES = ((1, 1, 1), (1, 1, 2), (2, 2, 2), (3, 1, 2), (2, 3, 4), (4, 3, 3))
_ANY = "orthonormal teachers; students of many scales, with parallel, antiparallel and nearly parallel neurons"


def _anywhere(count, random, shapes=_SHAPES):
    for number, k, d in shapes:
        teacher = teachers(k, d, count, random)
        yield {"student": students(number, teacher, random), "teacher": teacher}


# Closed form, gradient and Hessian ------------------------------------------------------------------------------------

_CIRCLE = 4000


def plane_expectation(student: np.ndarray, teacher: np.ndarray) -> np.ndarray:
    """Return E[(student − teacher)²] in the plane by the trapezoidal rule on the circle; the radius gives a factor two."""
    turn = 2 * np.pi * (np.arange(_CIRCLE) + 0.5) / _CIRCLE
    points = np.stack([np.cos(turn), np.sin(turn)])
    residual = np.maximum(student @ points, 0).sum(-2) - np.maximum(teacher @ points, 0).sum(-2)
    return 2 * np.mean(residual**2, axis=-1)


def _closed_form(factor: float):
    def check(i):
        expected = plane_expectation(i["student"], i["teacher"])
        scale = norms(i["student"]).sum(-1) ** 2 + 1
        return near(loss(i["student"], i["teacher"]) / scale, factor * expected / scale, 1e-6, 2e-5)

    def draw(count, random):
        return _anywhere(count, random, ((1, 1, 2), (2, 2, 2), (3, 1, 2)))

    return Batches(draw, check, "the expectation by quadrature on the circle", 0.5)


EQUATION_64 = Claim(
    id=f"{PAPER}.equation-64",
    place="Equations (64), (65)",
    title="closed form of the objective",
    hypotheses=(_ANY, "$d = 2$, where the expectation is an integral over the circle"),
    as_printed=Form(
        "The objective of Equation (2), $E[(\\cdot)^2]$, is $\\frac12\\sum f(w_i, w_j) - \\sum f(w_i, v_j) + \\frac12\\sum f(v_i, v_j)$.",
        _closed_form(1.0),
        recipe=RECIPE
        + """
turn = 2 * np.pi * (np.arange(4000) + 0.5) / 4000
points = np.stack([np.cos(turn), np.sin(turn)])
residual = np.maximum(student @ points, 0).sum(0) - np.maximum(teacher @ points, 0).sum(0)
left, right = half_loss(student), 2 * np.mean(residual**2)  # E|x|^2 = 2
""",
    ),
    corrected=Form("It is half of that objective, $\\frac12E[(\\cdot)^2]$.", _closed_form(0.5)),
    correction="Equation (2) has no factor one half, Equation (64) has it: the derivatives of the paper belong to Equation (64), the "
    "value $F$ in the proof of Theorem 5 to Equation (2). No theorem depends on it but the constants of Theorem 2, Theorem 6 and "
    "Conjecture 1, which are sharp for the half.",
    control=Form("It is a third of that objective.", _closed_form(1 / 3)),
    arithmetic="closed form in float64 against quadrature",
)


def _gradient(factor: float):
    def check(i):
        step, w, v = 1e-5, i["student"], i["teacher"]
        size = norms(w).min(-1)
        found = np.empty_like(w)
        for row in range(w.shape[1]):
            for column in range(w.shape[2]):
                move = np.zeros_like(w)
                move[:, row, column] = step * size
                found[:, row, column] = (loss(w + move, v) - loss(w - move, v)) / (2 * step * size)
        return near(gradient(w, v), factor * found, 1e-2, 2e-4)

    def draw(count, random):
        for number, k, d in _SHAPES:
            teacher = teachers(k, d, count, random)
            # Moderate norms: a difference quotient of a large loss has no digits left.
            student = students(number, teacher, random)
            yield {
                "student": units(student) * (0.3 + norms(student) / (1 + norms(student)))[..., None],
                "teacher": teacher,
            }

    return Batches(draw, check, "against difference quotients of the closed form", 0.5)


EQUATION_10 = Claim(
    id=f"{PAPER}.equation-10",
    place="Equations (10), (11)",
    title="gradient of the objective",
    hypotheses=("$w_i \\ne 0$", _ANY),
    as_printed=Form(
        "The gradient of the objective in Equation (2) is $\\frac12w_i + \\sum_{j\\ne i}g(w_i, w_j) - \\sum_jg(w_i, v_j)$.",
        _gradient(2.0),
        recipe=RECIPE
        + """
left = half_gradient(student)
right = np.zeros_like(student)
for index in np.ndindex(*student.shape):
    move = np.zeros_like(student)
    move[index] = 1e-5
    # Twice the closed form is the objective of Equation (2): compare the witness of Equation (64).
    right[index] = 2 * (half_loss(student + move) - half_loss(student - move)) / 2e-5
""",
    ),
    corrected=Form("That is the gradient of $\\frac12E[(\\cdot)^2]$.", _gradient(1.0)),
    correction="The factor two between Equation (2) and its derivatives, as in Equation (64).",
    control=Form("It is the gradient of $\\frac34E[(\\cdot)^2]$.", _gradient(1.5)),
    arithmetic="closed form in float64 against central differences",
)


def _hessian(factor: float):
    def check(i):
        w, v = i["student"], i["teacher"]
        count, number, d = w.shape
        flat = number * d
        found = np.empty((count, flat, flat))
        step = 1e-5 * norms(w).min(-1)[:, None, None]
        for column in range(flat):
            move = np.zeros((count, flat))
            move[:, column] = 1.0
            move = step * move.reshape(w.shape)
            found[..., column] = ((gradient(w + move, v) - gradient(w - move, v)) / (2 * step)).reshape(count, flat)
        # Near a parallel pair the Hessian has a kink, which a difference quotient rounds off over the step.
        return near(hessian(w, v), factor * found, 0.1, 1e-3)

    def draw(count, random):
        return _anywhere(count, random, ((1, 1, 1), (2, 1, 2), (2, 2, 2), (4, 3, 3)))

    return Batches(draw, check, "against difference quotients of the gradient", 0.5)


THEOREM_10 = Claim(
    id=f"{PAPER}.theorem-10",
    place="Theorem 10, Equations (5)–(7)",
    title="Hessian of the objective",
    hypotheses=("$w_i \\ne 0$", _ANY, "its limit where neurons are parallel"),
    as_printed=Form(
        "The Hessian of the objective in Equation (2) has the diagonal blocks $\\frac12I + \\sum h_1(w_i, w_j) - \\sum h_1(w_i, v_j)$ and "
        "the blocks $h_2(w_i, w_j)$ off the diagonal.",
        _hessian(2.0),
        recipe=RECIPE
        + BLOCK
        + """
first = student[0]
left = np.trace(0.5 * np.eye(len(first)) + sum(h1(first, b) for b in student[1:]) - sum(h1(first, b) for b in teacher))
right = 0.0
for axis in range(len(first)):
    move = np.zeros_like(student)
    move[0, axis] = 1e-5 * np.linalg.norm(student, axis=1).min()
    slope = lambda sign: half_gradient(student + sign * move)[0, axis]
    right += 2 * (slope(1) - slope(-1)) / (2 * move[0, axis])  # twice: the objective has no factor one half
""",
    ),
    corrected=Form("That is the Hessian of $\\frac12E[(\\cdot)^2]$.", _hessian(1.0)),
    correction="The factor two between Equation (2) and its derivatives, as in Equation (64). The hypothesis $n \\ge k$ is not needed.",
    control=Form("It is the Hessian of $\\frac34E[(\\cdot)^2]$.", _hessian(1.5)),
    arithmetic="closed form in float64 against central differences",
)


# Lemma 1: twice continuously differentiable ---------------------------------------------------------------------------

_RADII = np.geomspace(1e-2, 1e-4, 5)


def _smooth(zero: bool):
    """Fitted orders of the change of the Hessian and of the gradient's error to first order."""

    def check(i):
        w, v, u = i["student"], i["teacher"], i["direction"]
        base, slope = hessian(w, v), gradient(w, v)
        size = np.ones((len(w), 1, 1)) if zero else norms(w).min(-1)[:, None, None]
        changes, errors = [], []
        for radius in _RADII:
            move = radius * size * u
            changes.append(np.abs(hessian(w + move, v) - base).max((-2, -1)))
            linear = (base @ move.reshape(len(w), -1, 1)).reshape(w.shape)
            errors.append(np.abs(gradient(w + move, v) - slope - linear).max((-2, -1)) / size[:, 0, 0])
        changes, errors = np.stack(changes, -1), np.stack(errors, -1)
        # What does not move, in one dimension for instance, has any order.
        with np.errstate(divide="ignore", invalid="ignore"):
            first = np.where(changes.max(-1) < 1e-11, 9.0, slopes(_RADII, np.maximum(changes, 1e-300)))
            second = np.where(errors.max(-1) < 1e-11, 9.0, slopes(_RADII, np.maximum(errors, 1e-300)))
        return {"margin": np.minimum(first - 0.5, second - 1.5), "hessian_order": first, "gradient_order": second}

    def draw(count, random):
        for number, k, d in _SHAPES:
            teacher = teachers(k, d, count, random)
            w = random.normal(size=(count, number, d))
            # Exactly parallel and antiparallel neurons, to each other and to teachers.
            factor = random.choice([-1.0, 1.0], size=(count, 1)) * random.uniform(0.2, 3, size=(count, 1))
            w[::2, 0] = (factor * teacher[:, 0])[::2]
            if number > 1:
                w[1::2, 1] = (factor * w[:, 0])[1::2]
            if zero:
                w[:, 0] = 0.0
            yield {"student": w, "teacher": teacher, "direction": random.normal(size=w.shape)}

    return Batches(
        draw, check, "fitted orders: the Hessian changes like the distance, the gradient's error like its square", 0.1
    )


LEMMA_1 = Claim(
    id=f"{PAPER}.lemma-1",
    place="Lemma 1",
    title="twice continuously differentiable away from zero neurons",
    hypotheses=("$w_i \\ne 0$ for all $i$", "neurons parallel or antiparallel to each other and to teachers"),
    as_printed=Form(
        "$F$ is twice continuously differentiable: the Hessian of Theorem 10, with its limits, is the derivative of the gradient and "
        "is continuous.",
        _smooth(zero=False),
    ),
    control=Form("The same where a neuron is zero.", _smooth(zero=True)),
    arithmetic="fitted orders over two decades, closed form in float64",
)


def _twice(zero: bool, smooth: bool):
    """Is the second-order term of the loss at a minimum a quadratic form, or is it none? One obeys the parallelogram law."""

    def check(i):
        w, v, u, s = i["minimum"], i["teacher"], i["direction"], i["other"]
        q = lambda x: loss(w + 1e-3 * x, v) / 1e-6  # noqa: E731
        obeys = near(q(u + s) + q(u - s), 2 * q(u) + 2 * q(s), 0.1, 0.03)
        return {**obeys, "margin": obeys["margin"] if smooth else -obeys["margin"]}

    def draw(count, random):
        for sizes, d in (((2,), 2), ((2, 1), 2), ((2, 2), 3)):
            batch = minima(sizes, d, count, random, smallest=0.3)
            direction, other = random.normal(size=(2, *batch["minimum"].shape))
            if zero:
                batch["minimum"][:, 0] += batch["minimum"][:, 1]
                batch["minimum"][:, 1] = 0.0
                # One neuron along its teacher and the zero neuron anywhere have a cross term that is even in the latter.
                direction, other = np.zeros_like(direction), np.zeros_like(other)
                direction[:, 0], other[:, 1] = batch["teacher"][:, 0], units(random.normal(size=(count, d)))
            yield {**batch, "direction": direction, "other": other}

    return Batches(draw, check, "the parallelogram law of the second-order term", 0.5)


DIFFERENTIABLE = Claim(
    id=f"{PAPER}.section-3.differentiable",
    place="Section 3, after Theorem 1",
    title="which global minima are differentiable",
    hypotheses=("$n > k$", "global minima of the form of Theorem 1"),
    as_printed=Form(
        "The (twice continuously) differentiable global minima are those with $w_i \\ne 0$ for all $i$: there the second-order term of the "
        "objective is a quadratic form, and where a neuron is zero it is none. (Read without the parenthesis it fails: between zero and a "
        "multiple of the squared distance, the objective is differentiable once at all global minima.)",
        Several((_twice(zero=False, smooth=True), _twice(zero=True, smooth=False))),
    ),
    control=Form(
        "The second-order term is a quadratic form with a zero neuron as well.", _twice(zero=True, smooth=True)
    ),
)


# Lemma 2 and the limits of Appendix A ---------------------------------------------------------------------------------


def _pairs(count, random, dimensions=(2, 3, 5)):
    for d in dimensions:
        u = random.normal(size=(count, 1, d)) * 10.0 ** random.uniform(-2, 2, size=(count, 1, 1))
        tilt = 10.0 ** random.uniform(-5, -0.3, size=(count, 1, 1)) * norms(u)[..., None]
        w, v = (u + tilt * units(random.normal(size=u.shape)) for _ in range(2))
        yield {"w": w[:, 0], "v": v[:, 0]}


def _spectral(matrix: np.ndarray) -> np.ndarray:
    return np.abs(np.linalg.eigvalsh(matrix)).max(-1)


def _limit(limit: float, rate: float, sign: float = 1.0):
    def check(i):
        w, v = i["w"][:, None], sign * i["v"][:, None]
        block = cross_blocks(w, v)[:, 0, 0]
        turned = angles(w, v)[:, 0, 0] if sign > 0 else np.pi - angles(w, v)[:, 0, 0]
        return at_most(_spectral(block - limit * np.eye(block.shape[-1])), rate * turned + 1e-10)

    return Batches(_pairs, check, "|h₂ − ½I| = (θ + sin θ)/2π", 1.0)


LEMMA_2 = Claim(
    id=f"{PAPER}.lemma-2",
    place="Lemma 2",
    title="limit of the cross blocks",
    hypotheses=("$u \\ne 0$; pairs $w, v$ near $u$, at angles down to $10^{-5}$",),
    as_printed=Form(
        "$h_2(w, v) \\to \\frac12I$ as $w, v \\to u$; in fact $\\|h_2(w, v) - \\frac12I\\| \\le \\theta_{w,v}/\\pi$.",
        _limit(0.5, 1 / np.pi),
    ),
    control=Form("$\\|h_2(w, v) - \\frac12I\\| \\le \\theta_{w,v}/(2\\pi)$.", _limit(0.5, 1 / (2 * np.pi))),
)

OPPOSITE = Claim(
    id=f"{PAPER}.section-A.opposite",
    place="Appendix A, proof of Lemma 1",
    title="limit of the cross blocks for opposite neurons",
    hypotheses=("$u \\ne 0$; pairs $w$ near $u$, $v$ near $-u$",),
    as_printed=Form(
        "$h_2(w, v) \\to 0$; in fact $\\|h_2(w, v)\\| \\le (\\pi - \\theta_{w,v})/\\pi$.", _limit(0.0, 1 / np.pi, -1.0)
    ),
    control=Form("$\\|h_2(w, v)\\| \\le (\\pi - \\theta_{w,v})/(2\\pi)$.", _limit(0.0, 1 / (2 * np.pi), -1.0)),
)


def _own_limit(rate: float):
    def check(i):
        w, v = i["w"][:, None], i["v"][:, None]
        block = own_blocks(w, v)[:, 0, 0]
        return at_most(_spectral(block), rate * np.sin(angles(w, v)[:, 0, 0]) * norms(i["v"]) / norms(i["w"]) + 1e-15)

    return Batches(_pairs, check, "the largest eigenvalue of h₁ is sin θ |v|/(π|w|)", 1.0)


OWN_LIMIT = Claim(
    id=f"{PAPER}.section-A.own-limit",
    place="Appendix A, proof of Lemma 1; Appendix B.2, proof of Lemma 4",
    title="limit of the diagonal terms",
    hypotheses=("pairs $w, v$ near some $u \\ne 0$",),
    as_printed=Form(
        "$h_1(w, v) \\to 0$ as the angle goes to zero; in fact its largest eigenvalue is $\\sin\\theta\\,\\|v\\|/(\\pi\\|w\\|)$.",
        _own_limit(1 / np.pi),
    ),
    control=Form(
        "Its largest eigenvalue is at most $\\sin\\theta\\,\\|v\\|/(2\\pi\\|w\\|)$.", _own_limit(1 / (2 * np.pi))
    ),
)


def _equation_8(corrected: bool, factor: float = 1.0):
    def check(i):
        w, v = i["w"][:, None], i["v"][:, None]
        unit_w, unit_v = units(i["w"]), units(i["v"])
        theta = angles(w, v)[:, 0, 0]
        outer = lambda a, b: a[:, :, None] * b[:, None, :]  # noqa: E731
        inner = outer(unit_w, unit_v) + outer(unit_v, unit_w)
        own = outer(unit_w, unit_w) + outer(unit_v, unit_v)
        terms = (inner - np.cos(theta)[:, None, None] * own) / np.sin(theta)[:, None, None]
        identity = np.eye(w.shape[-1])
        if corrected:
            right = ((np.pi - theta)[:, None, None] * identity + factor * terms) / (2 * np.pi)
        else:
            right = 0.5 * identity + terms
        return near(cross_blocks(w, v)[:, 0, 0], right, 1e-3, 1e-6)

    def draw(count, random):
        for d in (2, 3):
            yield {"w": random.normal(size=(count, d)), "v": random.normal(size=(count, d))}

    return Batches(draw, check, share=0.5)


EQUATION_8 = Claim(
    id=f"{PAPER}.equation-8",
    place="Equation (8)",
    title="the cross block, split",
    hypotheses=("$w, v \\ne 0$, not parallel",),
    as_printed=Form(
        "$h_2(w, v) = \\frac12I + \\bar n_{w,v}\\bar v^\\top + \\bar n_{v,w}\\bar w^\\top$.",
        _equation_8(corrected=False),
        recipe="""
unit = lambda a: a / np.linalg.norm(a)
t = np.arccos(unit(w) @ unit(v))
n_wv, n_vw = unit(unit(w) - np.cos(t) * unit(v)), unit(unit(v) - np.cos(t) * unit(w))
terms = np.outer(n_wv, unit(v)) + np.outer(n_vw, unit(w))
left = ((np.pi - t) * np.eye(len(w)) + terms) / (2 * np.pi)  # Equation (7)
right = 0.5 * np.eye(len(w)) + terms
""",
    ),
    corrected=Form(
        "$h_2(w, v) = \\frac{\\pi-\\theta}{2\\pi}I + \\frac1{2\\pi}(\\bar n_{w,v}\\bar v^\\top + \\bar n_{v,w}\\bar w^\\top)$, as Equation (7) says.",
        _equation_8(corrected=True),
    ),
    correction="The factor $1/2\\pi$ is lost, and $(\\pi-\\theta)/2\\pi$ is replaced by its limit; the terms still go to zero, and Lemma 2 holds.",
    control=Form("The corrected form with half of the two terms.", _equation_8(corrected=True, factor=0.5)),
)

MAIN = (LEMMA_1,)
AFTER_THEOREM_1 = (DIFFERENTIABLE,)
APPENDIX = (THEOREM_10, EQUATION_8, LEMMA_2, EQUATION_10, OPPOSITE, OWN_LIMIT)
ENERGY = (EQUATION_64,)
