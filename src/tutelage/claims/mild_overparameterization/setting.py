"""Section 2 and Appendix A: the closed form, its derivatives, and where they exist."""

from __future__ import annotations

import numpy as np

from tutelage.claims import Claim, Form, Relation, fitted_order, log_uniform, real, uniform, unit
from tutelage.claims.mild_overparameterization.formulas import (
    HALF,
    HALVED,
    PAPER,
    angle_between,
    cross_block,
    gradient,
    hessian,
    largest_of_own,
    loss,
    norms,
    outer,
    pulls,
    units,
)
from tutelage.claims.mild_overparameterization.instances import SampledDraws, drawn, minima, setting

# Students, teachers, dimension: the smallest cases, one of each inequality, and a larger one.
_SHAPES = ((1, 1, 1), (1, 1, 2), (2, 2, 2), (3, 1, 2), (2, 3, 4), (4, 3, 3))
_ANY = "orthonormal teachers; students of many scales, with parallel, antiparallel and nearly parallel neurons"


# Closed form, gradient and Hessian ------------------------------------------------------------------------------------


def plane_expectation(student, teacher):
    """Return E[(student − teacher)²] in the plane by the trapezoidal rule on the circle; the radius gives a factor two."""
    turn = 2 * np.pi * (np.arange(4000) + 0.5) / 4000
    points = np.stack([np.cos(turn), np.sin(turn)])
    residual = np.maximum(student @ points, 0).sum(-2) - np.maximum(teacher @ points, 0).sum(-2)
    return 2 * np.mean(residual**2, axis=-1)


EQUATION_64 = Claim(
    id=f"{PAPER}.equation-64",
    title="closed form of the objective",
    hypotheses=(_ANY, "$d = 2$, where the expectation is an integral over the circle"),
    draw=SampledDraws(setting(((1, 1, 2), (2, 2, 2), (3, 1, 2))), 40),
    left=loss,
    relation="==",
    right=lambda student, teacher, factor=1.0: factor * plane_expectation(student, teacher),
    scale=lambda student: norms(student).sum(-1) ** 2 + 1,
    tolerance=2e-5,
    as_printed="The objective of Equation (2), $E[(\\cdot)^2]$, is $\\frac12\\sum f(w_i, w_j) - \\sum f(w_i, v_j) + \\frac12\\sum f(v_i, v_j)$.",
    as_meant=Form("It is half of that objective, $\\frac12E[(\\cdot)^2]$.", factor=0.5),
    supplied="Lemma 3, where the factor one half stands",
    correction="Equation (2) has no factor one half, Equation (64) has it: the derivatives of the paper belong to Equation (64), the "
    "value $F$ in the proof of Theorem 5 to Equation (2). No theorem depends on it but the constants of Theorem 2, Theorem 6 and "
    "Conjecture 1, which are sharp for the half.",
    defect=HALF,
    control=Form("It is $0.51$ times that objective.", factor=0.51),
    arithmetic="closed form in float64 against quadrature",
)


def _moderate(count, random):
    """Students of moderate norms: a difference quotient of a large loss has no digits left."""
    for draw in setting(_SHAPES):
        batch = drawn(draw, count // 40, random)
        size = norms(batch["student"])
        yield {**batch, "student": units(batch["student"]) * (0.3 + size / (1 + size))[..., None]}


def _difference_gradient(student, teacher, factor=2.0):
    """Difference quotients of the closed form, times a factor."""
    found = np.zeros(student.shape)
    step = 1e-5 * norms(student).min(-1)
    for row in range(student.shape[-2]):
        for column in range(student.shape[-1]):
            move = np.zeros(student.shape)
            move[..., row, column] = step
            found[..., row, column] = (loss(student + move, teacher) - loss(student - move, teacher)) / (2 * step)
    return factor * found


EQUATION_10 = Claim(
    id=f"{PAPER}.equation-10",
    title="gradient of the objective",
    hypotheses=("$w_i \\ne 0$", _ANY),
    draw=_moderate,
    left=gradient,
    relation="==",
    right=_difference_gradient,
    scale=1e-2,
    tolerance=2e-4,
    as_printed="The gradient of the objective in Equation (2) is $\\frac12w_i + \\sum_{j\\ne i}g(w_i, w_j) - \\sum_jg(w_i, v_j)$.",
    as_meant=Form("That is the gradient of $\\frac12E[(\\cdot)^2]$.", factor=1.0),
    **HALVED,
    control=Form("It is the gradient of $0.505E[(\\cdot)^2]$.", factor=1.01),
    arithmetic="closed form in float64 against central differences",
)


def _difference_hessian(student, teacher, factor=2.0):
    """Difference quotients of the gradient, times a factor."""
    number, dimension = student.shape[-2:]
    lead, flat = student.shape[:-2], number * dimension
    found = np.zeros((*lead, flat, flat))
    step = 1e-5 * norms(student).min(-1)[..., None, None]
    for column in range(flat):
        move = step * np.eye(flat)[column].reshape(number, dimension)
        change = gradient(student + move, teacher) - gradient(student - move, teacher)
        found[..., column] = (change / (2 * step)).reshape(*lead, flat)
    return factor * found


THEOREM_10 = Claim(
    id=f"{PAPER}.theorem-10",
    title="Hessian of the objective",
    hypotheses=("$w_i \\ne 0$", _ANY, "its limit where neurons are parallel"),
    draw=SampledDraws(setting(((1, 1, 1), (2, 1, 2), (2, 2, 2), (4, 3, 3))), 40),
    left=hessian,
    relation="==",
    right=_difference_hessian,
    scale=0.1,
    # Near a parallel pair the Hessian has a kink, which a difference quotient rounds off over the step.
    tolerance=1e-3,
    as_printed="The Hessian of the objective in Equation (2) has the diagonal blocks $\\frac12I + \\sum h_1(w_i, w_j) - \\sum h_1(w_i, v_j)$ and "
    "the blocks $h_2(w_i, w_j)$ off the diagonal.",
    as_meant=Form("That is the Hessian of $\\frac12E[(\\cdot)^2]$.", factor=1.0),
    **{**HALVED, "correction": HALVED["correction"] + " The hypothesis $n \\ge k$ is not needed."},
    control=Form("It is the Hessian of $0.505E[(\\cdot)^2]$.", factor=1.01),
    arithmetic="closed form in float64 against central differences",
)


# Lemma 1: twice continuously differentiable ---------------------------------------------------------------------------

_RADII = np.geomspace(1e-2, 1e-4, 5)


def _order(values):
    """The fitted order in the radii; what does not change, in one dimension for instance, has any."""
    return np.where(values.max(-1) < 1e-11, 9.0, fitted_order(_RADII, np.maximum(values, 1e-300)))


def _smoothness(count, random, zero=False):
    """Fitted orders of the change of the Hessian and of the gradient's error to first order, at (anti)parallel neurons."""
    for draw in setting(_SHAPES):
        batch = drawn(draw, count // 200, random)
        w, v = batch["student"], batch["teacher"]
        w = random.normal(size=w.shape)
        # Exactly parallel and antiparallel neurons, to each other and to teachers.
        factor = random.choice([-1.0, 1.0], size=(len(w), 1)) * random.uniform(0.2, 3, size=(len(w), 1))
        w[::2, 0] = (factor * v[:, 0])[::2]
        if w.shape[1] > 1:
            w[1::2, 1] = (factor * w[:, 0])[1::2]
        if zero:
            w[:, 0] = 0.0
        base, slope, direction = hessian(w, v), gradient(w, v), random.normal(size=w.shape)
        size = np.ones((len(w), 1, 1)) if zero else norms(w).min(-1)[:, None, None]
        changes, errors = [], []
        for radius in _RADII:
            move = radius * size * direction
            changes.append(np.abs(hessian(w + move, v) - base).max((-2, -1)))
            linear = (base @ move.reshape(len(w), -1, 1)).reshape(w.shape)
            errors.append(np.abs(gradient(w + move, v) - slope - linear).max((-2, -1)) / size[:, 0, 0])
        orders = np.stack([_order(np.stack(changes, -1)), _order(np.stack(errors, -1))], -1)
        yield {"student": w, "teacher": v, "direction": direction, "orders": orders}


LEMMA_1 = Claim(
    id=f"{PAPER}.lemma-1",
    title="twice continuously differentiable away from zero neurons",
    hypotheses=("$w_i \\ne 0$ for all $i$", "neurons parallel or antiparallel to each other and to teachers"),
    draw=_smoothness,
    left=lambda orders: orders,
    relation=">=",
    right=lambda: np.array([0.5, 1.5]),
    note="fitted orders: the Hessian changes like the distance, the gradient's error like its square",
    as_printed="$F$ is twice continuously differentiable: the Hessian of Theorem 10, with its limits, is the derivative of the gradient and "
    "is continuous.",
    control=Form("The same where a neuron is zero.", zero=True),
    arithmetic="fitted orders over two decades, closed form in float64",
)


def _second_order(count, random, zero=False):
    for sizes, d in (((2,), 2), ((2, 1), 2), ((2, 2), 3)):
        batch = drawn(minima(sizes, d, 0.3), count // 40, random)
        w, v = np.array(batch["minimum"]), batch["teacher"]
        one, other = random.normal(size=(2, *w.shape))
        if zero:
            w[:, 0] += w[:, 1]
            w[:, 1] = 0.0
            # One neuron along its teacher and the zero neuron anywhere have a cross term that is even in the latter.
            one, other = np.zeros_like(one), np.zeros_like(other)
            one[:, 0], other[:, 1] = v[:, 0], units(random.normal(size=(len(w), d)))
        square = [loss(w + 1e-3 * way, v) / 1e-6 for way in (one + other, one - other, one, other)]
        yield {
            "minimum": w,
            "teacher": v,
            "one": one,
            "other": other,
            "sum": square[0] + square[1],
            "twice": 2 * (square[2] + square[3]),
        }


DIFFERENTIABLE = Claim(
    id=f"{PAPER}.section-3.differentiable",
    title="which global minima are differentiable",
    hypotheses=("$n > k$", "global minima of the form of Theorem 1"),
    draw=_second_order,
    left=lambda instance: instance["sum"],
    relation="==",
    right=lambda twice: twice,
    scale=0.1,
    tolerance=0.03,
    also=[
        Relation(
            lambda count, random: _second_order(count, random, True),
            lambda instance: np.abs(instance["sum"] - instance["twice"]),
            ">=",
            lambda twice: 0.03 * twice,
            known=0.0,
        )
    ],
    note="the parallelogram law of the second-order term of the loss at a minimum, which quadratic forms alone obey",
    as_printed="The (twice continuously) differentiable global minima are those with $w_i \\ne 0$ for all $i$: there the second-order term of the "
    "objective is a quadratic form, and where a neuron is zero it is none. (Read without the parenthesis it fails: between zero and a "
    "multiple of the squared distance, the objective is differentiable once at all global minima.)",
    control=Form("The second-order term is a quadratic form with a zero neuron as well.", zero=True),
)


# Other teachers -------------------------------------------------------------------------------------------------------


def _turned(teacher, shares):
    """Teachers of norm one, and the student with a share of each of them turned around."""
    teacher, shares = units(teacher), shares[..., None]
    return {
        "teacher": teacher,
        "student": np.concatenate([(1 - shares) * teacher, -shares * teacher], -2),
        "turned": shares,
    }


_THIRDS = units(np.array([[2.0, 0, 0], [-1, np.sqrt(3), 0], [-1, -np.sqrt(3), 0]]))

GENERAL_TEACHERS = Claim(
    id=f"{PAPER}.section-2.general",
    title="other target vectors",
    hypotheses=("target vectors of norm one, not orthogonal; $d \\ge k$", "Theorem 1 stands for all results"),
    scope="remark",
    draw=[{"teacher": real((k, d)), "shares": uniform(0.0, 1.0, (k,))} for k, d in ((2, 2), (3, 3), (4, 5))],
    build=_turned,
    corners=[{"teacher": _THIRDS, "student": np.concatenate([0 * _THIRDS, -_THIRDS]), "turned": np.ones((3, 1))}],
    where=lambda turned: turned.max((-2, -1)) >= 0.1,
    left=loss,
    relation=">=",
    right=lambda teacher, turned, factor: 0.5 * factor * np.sum(np.sum(turned * teacher, -2) ** 2, -1),
    scale=1.0,
    as_printed=Form(
        "All results extend to other target vectors (conjectured). Theorem 1: a student with a neuron that is no positive multiple of a "
        "target has a positive loss.",
        right=lambda turned: 1e-6 * turned.max((-2, -1)),
        scale=1e-6,
    ),
    corrected=Form(
        "Theorem 1 extends to target vectors of different directions that have no positive combination zero, linearly independent ones "
        "for instance: to turn the shares $\\beta_i \\in [0, 1]$ of them around costs exactly $\\frac12\\|\\sum\\beta_iv_i\\|^2$.",
        relation="==",
        factor=1.0,
    ),
    correction="$\\sum[w_i\\cdot x]_+ = \\frac12\\sum|w_i\\cdot x| + \\frac12\\sum w_i\\cdot x$: kinks tell the lines of the neurons, not their signs. Three targets in a plane "
    "at angles of $120^\\circ$ sum to zero, and $w_i = -v_i$ computes the same function, a global minimum of another form.",
    control=Form("It costs 1.01 times that.", relation="==", factor=1.01),
)


# Lemma 2 and the limits of Appendix A ---------------------------------------------------------------------------------

_CLOSE = [{"u": real((d,)), "one": real((d,)), "other": real((d,)), "tilt": log_uniform(1e-5, 0.5)} for d in (2, 3, 5)]


def _close_pair(u, one, other, tilt):
    """Two vectors close to a third, in units of its norm."""
    size = (tilt * norms(u))[..., None]
    return {"w": u + size * units(one), "v": u + size * units(other)}


def _spectral(matrix):
    return np.abs(np.linalg.eigvalsh(matrix)).max(-1)


LEMMA_2 = Claim(
    id=f"{PAPER}.lemma-2",
    title="limit of the cross blocks",
    hypotheses="$u \\ne 0$; pairs $w, v$ near $u$, at angles down to $10^{-5}$",
    draw=_CLOSE,
    build=_close_pair,
    left=lambda w, v: _spectral(cross_block(w, v) - 0.5 * np.eye(w.shape[-1])),
    relation="==",
    right=lambda w, v, sine=1.0: (angle_between(w, v) + sine * np.sin(angle_between(w, v))) / (2 * np.pi),
    scale=1e-3,
    tolerance=1e-6,
    as_printed="$h_2(w, v) \\to \\frac12I$ as $w, v \\to u$; in fact $\\|h_2(w, v) - \\frac12I\\| = (\\theta + \\sin\\theta)/2\\pi$.",
    control=Form("$\\|h_2(w, v) - \\frac12I\\| = (\\theta + 1.01\\sin\\theta)/2\\pi$.", sine=1.01),
)

OPPOSITE = Claim(
    id=f"{PAPER}.section-A.opposite",
    place="Appendix A, proof of Lemma 1",
    title="limit of the cross blocks for opposite neurons",
    hypotheses="$u \\ne 0$; pairs $w$ near $u$, $v$ near $-u$",
    draw=_CLOSE,
    build=_close_pair,
    left=lambda w, v: _spectral(cross_block(w, -v)),
    relation="==",
    right=lambda w, v, sine=1.0: (angle_between(w, v) + sine * np.sin(angle_between(w, v))) / (2 * np.pi),
    scale=1e-3,
    tolerance=1e-6,
    as_printed="$h_2(w, v) \\to 0$; in fact $\\|h_2(w, v)\\| = (\\pi - \\theta + \\sin\\theta)/2\\pi$.",
    control=Form("$\\|h_2(w, v)\\| = (\\pi - \\theta + 1.01\\sin\\theta)/2\\pi$.", sine=1.01),
)


def sine_quotient(w, v, factor=1.0):
    """A factor times sin θ |v|/|w|."""
    return factor * np.sin(angle_between(w, v)) * norms(v) / norms(w)


OWN_LIMIT = Claim(
    id=f"{PAPER}.section-A.own-limit",
    place="Appendix A, proof of Lemma 1; Appendix B.2, proof of Lemma 4, Equation (21)",
    title="limit of the diagonal terms",
    hypotheses="pairs $w, v$ near some $u \\ne 0$, or $w$ near $u$ and $v$ near $-u$",
    draw=_CLOSE,
    build=_close_pair,
    left=lambda w, v: np.stack([largest_of_own(w, v), largest_of_own(w, -v)], -1),
    relation="==",
    right=lambda w, v, factor=1 / np.pi: sine_quotient(w, v, factor)[..., None] * np.ones(2),
    scale=1e-5,
    tolerance=1e-6,
    as_printed="$h_1(w, v) \\to 0$ as the angle goes to zero or to $\\pi$; in fact its largest eigenvalue is $\\sin\\theta\\,\\|v\\|/(\\pi\\|w\\|)$.",
    control=Form("Its largest eigenvalue is $1.01\\sin\\theta\\,\\|v\\|/(\\pi\\|w\\|)$.", factor=1.01 / np.pi),
)

_PAIRS = [{"w": real((d,)), "v": real((d,))} for d in (2, 3)]


def _each(number):
    return number[..., None, None]


def _apart(w, v):
    """Not nearly parallel, where terms of Equations (8) and (9) are quotients of small numbers."""
    return np.sin(angle_between(w, v)) > 1e-3


def _normal_terms(w, v):
    """The two terms with normals: n(w,v)v + n(v,w)w, of unit vectors."""
    w, v, theta = units(w), units(v), _each(angle_between(w, v))
    return (outer(w, v) + outer(v, w) - np.cos(theta) * (outer(w, w) + outer(v, v))) / np.sin(theta)


_SPLIT = Form(
    "$h_2(w, v) = \\frac{\\pi-\\theta}{2\\pi}I + \\frac1{2\\pi}(\\bar n_{w,v}\\bar v^\\top + \\bar n_{v,w}\\bar w^\\top)$, as Equation (7) says.",
    right=lambda w, v, factor: (
        (_each(np.pi - angle_between(w, v)) * np.eye(w.shape[-1]) + factor * _normal_terms(w, v)) / (2 * np.pi)
    ),
    factor=1.0,
)

EQUATION_8 = Claim(
    id=f"{PAPER}.equation-8",
    title="the cross block, split",
    hypotheses="$w, v \\ne 0$, not parallel",
    draw=_PAIRS,
    where=_apart,
    left=cross_block,
    relation="==",
    right=lambda w, v: 0.5 * np.eye(w.shape[-1]) + _normal_terms(w, v),
    tolerance=1e-6,
    as_printed="$h_2(w, v) = \\frac12I + \\bar n_{w,v}\\bar v^\\top + \\bar n_{v,w}\\bar w^\\top$.",
    as_meant=_SPLIT,
    supplied="Equation (7), with which the line begins",
    correction="The factor $1/2\\pi$ is lost, and $(\\pi-\\theta)/2\\pi$ is replaced by its limit; the terms still go to zero, and Lemma 2 holds.",
    control=Form("The corrected form with 1.01 times the two terms.", right=_SPLIT.varied["right"], factor=1.01),
)


def _three_terms(w, v, factor=1.0):
    """The last line of Equation (9)."""
    w, v, theta = units(w), units(v), _each(angle_between(w, v))
    first = np.cos(theta) * outer(w - v, v - w)
    return (factor * first + (1 - np.cos(theta)) * (outer(w, v) + outer(v, w))) / np.sin(theta)


EQUATION_9 = Claim(
    id=f"{PAPER}.equation-9",
    title="the terms with normals, rearranged",
    hypotheses="$w, v \\ne 0$, not parallel",
    draw=_PAIRS,
    where=_apart,
    left=_normal_terms,
    relation="==",
    right=_three_terms,
    tolerance=1e-8,
    as_printed="$\\bar n_{w,v}\\bar v^\\top + \\bar n_{v,w}\\bar w^\\top = [\\cos\\theta(\\bar w-\\bar v)(\\bar v-\\bar w)^\\top + (1-\\cos\\theta)(\\bar w\\bar v^\\top + "
    "\\bar v\\bar w^\\top)]/\\sin\\theta$.",
    control=Form("The same with $1.01\\cos\\theta$.", factor=1.01),
)


# The partial derivatives of the proof of Lemma 1 ----------------------------------------------------------------------

_STEP = [{"u": real((d,)), "direction": unit(d), "size": log_uniform(1e-3, 1.0)} for d in (2, 3)]


def _stepped(u, direction, size):
    """A step of a size relative to the vector."""
    return {"u": u, "step": (size * norms(u))[..., None] * direction, "size": size}


EQUATION_15 = Claim(
    id=f"{PAPER}.equation-15",
    title="angle of a small step",
    hypotheses="$0 < \\epsilon < \\|u\\|$, $e$ a unit vector",
    draw=_STEP,
    build=_stepped,
    left=lambda u, step: angle_between(u + step, u),
    relation="<=",
    right=lambda size, factor=1.0: np.arcsin(factor * size),
    as_printed="$\\theta_{u+\\epsilon e,u} \\le \\arccos\\sqrt{1 - \\epsilon^2/\\|u\\|^2}$, hence $\\lim|\\theta/\\epsilon| \\le 1/\\|u\\|$.",
    control=Form("The same with $0.99\\epsilon$.", factor=0.99),
)


def _turn_and_shrink(u, step):
    """The scalar in front of u in Equation (13), without t/2πε: sin θ |u|/|u + εe| − θ."""
    theta = angle_between(u + step, u)
    return np.sin(theta) * norms(u) / norms(u + step) - theta


def _bounded_turn(u, step, square, rest=0.0):
    """θ(1 − square θ²/6)(|u|/|u + εe| − 1) − rest θ³/6."""
    theta = angle_between(u + step, u)
    return theta * (1 - square * theta**2 / 6) * (norms(u) / norms(u + step) - 1) - rest * theta**3 / 6


EQUATION_14 = Claim(
    id=f"{PAPER}.equation-14",
    title="upper bound in the proof of Lemma 1",
    hypotheses="$\\epsilon > 0$, $e$ a unit vector; the factor in front of $u$, before the limit",
    draw=_STEP,
    build=_stepped,
    left=_turn_and_shrink,
    relation="<=",
    right=_bounded_turn,
    as_printed=Form(
        "$\\sin\\theta\\,\\|u\\|/\\|u+\\epsilon e\\| - \\theta \\le \\theta(\\|u\\|/\\|u+\\epsilon e\\| - 1)$.",
        square=0.0,
    ),
    control=Form("The same with $-\\frac1{6}\\theta^3$ on the right.", square=0.0, rest=1.0),
)

EQUATION_16 = Claim(
    id=f"{PAPER}.equation-16",
    title="lower bound in the proof of Lemma 1",
    hypotheses="$0 < \\epsilon \\le \\|u\\|$, $e$ a unit vector; the factor in front of $u$",
    draw=_STEP,
    build=_stepped,
    left=_turn_and_shrink,
    relation=">=",
    right=_bounded_turn,
    as_printed=Form(
        "$\\sin\\theta\\,\\|u\\|/\\|u+\\epsilon e\\| - \\theta \\ge \\theta(1 - \\theta^2/6)(\\|u\\|/\\|u+\\epsilon e\\| - 1)$, before the limit.",
        square=1.0,
    ),
    as_meant=Form(
        "In the limit: both sides are $O(\\epsilon^2)$, and divided by $\\epsilon$ they go to zero; $|\\text{left}| \\le 2\\epsilon^2/\\|u\\|^2$ for "
        "$\\epsilon \\le \\|u\\|/2$.",
        where=lambda size: size <= 0.5,
        left=lambda u, step: np.abs(_turn_and_shrink(u, step)),
        relation="<=",
        right=lambda size: 2 * size**2,
    ),
    supplied="the limit in front of both sides",
    corrected=Form("The same with $-\\theta^3/6$ added on the right.", square=1.0, rest=1.0),
    correction="$\\sin\\theta \\ge \\theta - \\theta^3/6$ is multiplied by $\\|u\\|/\\|u+\\epsilon e\\|$, and $\\theta$ is subtracted: $\\theta^3/6$ remains. In the limit nothing changes.",
    control=Form("With $-0.98\\theta^3/6$.", square=1.0, rest=0.98),
)

_SIZES = np.geomspace(1e-2, 1e-4, 5)


def _partial_derivatives(count, random, half=0.5):
    """Distances of difference quotients of g(w, v) from their limits: in w and in v, at parallel and opposite vectors."""
    for d in (2, 3):
        u, direction = random.normal(size=(2, count // 100, d))
        factor = random.uniform(0.2, 3, size=(len(u), 1))
        direction = units(direction)
        distances = []
        for sign in (1.0, -1.0):
            for in_first in (True, False):
                other = sign * factor * u
                limit = np.zeros_like(u) if in_first or sign < 0 else half * direction
                rows = []
                for size in _SIZES:
                    moved = u + size * direction
                    pairs = ((moved, other), (u, other)) if in_first else ((other, moved), (other, u))
                    values = [pulls(w[:, None], v[:, None])[:, 0, 0] for w, v in pairs]
                    rows.append(norms((values[0] - values[1]) / size - limit))
                distances.append(np.stack(rows, -1))
        yield {"u": u, "direction": direction, "factor": factor, "distances": np.stack(distances, 1)}


PARTIALS = Claim(
    id=f"{PAPER}.section-A.partials",
    place="Appendix A, Equations (12)–(18) and the displays after them",
    title="partial derivatives of g at parallel and opposite vectors",
    hypotheses="$u \\ne 0$, $v = \\pm tu$; steps from $10^{-2}$ to $10^{-4}$",
    draw=_partial_derivatives,
    left=lambda distances: fitted_order(_SIZES, distances),
    relation=">=",
    right=0.9,
    as_printed="$\\partial g/\\partial w = 0$ for parallel and for opposite vectors; $\\partial g/\\partial v$ is $\\frac12I$ for parallel and 0 for opposite ones. (Distances "
    "of difference quotients vanish like their step.)",
    control=Form("$\\partial g/\\partial v$ is $0.49I$ for parallel ones.", half=0.49),
    arithmetic="fitted orders over two decades, closed form in float64",
)
