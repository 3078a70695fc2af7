"""Theorem 1 and its proof: the global minima."""

from __future__ import annotations

import numpy as np

from tutelage.claims import Claim, Form
from tutelage.claims.laws import LARGEST, Law, real, uniform
from tutelage.claims.mild_overparameterization.formulas import PAPER, loss, norms
from tutelage.claims.mild_overparameterization.instances import (
    SampledDraws,
    axes,
    drawn,
    fixed,
    minima,
    setting,
    students,
)


def distance(student: np.ndarray, teacher: np.ndarray) -> np.ndarray:
    """Return a bound on the distance from the set of Theorem 1: what has to change to reach a member of it.

    Every neuron goes to the teacher that it is closest to in direction; what is orthogonal or opposite to the teacher
    is removed, and the shares of each teacher are brought to one.
    """
    inner = student @ np.swapaxes(teacher, -1, -2)
    along = np.maximum(np.max(inner, -1, keepdims=True), 0.0)
    chosen = np.eye(teacher.shape[-2])[np.argmax(inner, -1)]  # of two that are equally close, one
    aside = student - along * (chosen @ teacher)
    missing = 1 - np.sum(chosen * along, axis=-2)
    return np.sqrt(np.sum(aside**2, axis=(-2, -1)) + np.sum(missing**2, axis=-1))


def around(number: int, teachers: int, dimension: int) -> Law:
    """Students at all distances from global minima, and students of many kinds."""
    first = (number - teachers + 1,) + (1,) * (teachers - 1)

    def sample(random: np.random.Generator, count: int) -> np.ndarray:
        w = students(number, teachers, dimension).sample(random, count)
        size = 10.0 ** random.uniform(-4, 0, size=(count, 1, 1))
        near = drawn(minima(first, dimension, 0.0), count, random)["minimum"] + size * random.normal(size=w.shape)
        return np.where((np.arange(count) % 2 == 0)[:, None, None], near, w)

    return Law((number, dimension), -LARGEST, LARGEST, sample, lambda xp, raw: raw)


def _of_loss(student, teacher, factor=5.0):
    """A multiple of the third root of the loss, or of its square root where that is larger."""
    value = loss(student, teacher)
    return factor * np.maximum(np.cbrt(value), np.sqrt(np.abs(value)))


THEOREM_1 = Claim(
    id=f"{PAPER}.theorem-1",
    title="the global minima",
    hypotheses="$n \\ge k$, orthonormal teachers; $n \\le 8$, $k \\le 3$, $d \\le 4$",
    draw=[
        *setting(((2, 1, 2), (2, 2, 2), (3, 2, 2)), around),
        SampledDraws(
            setting(((1, 1, 1), (2, 1, 1), (4, 1, 2), (3, 2, 3), (4, 3, 3), (5, 3, 4), (8, 2, 3)), around), 10
        ),
    ],
    left=distance,
    relation="<=",
    right=_of_loss,
    scale=1e-4,
    note="at a member the loss grows at least like the third power of the distance",
    as_printed="At a global minimum the neurons are divided among the teachers, $w_j = \\alpha_jv_i$ with $\\alpha_j \\ge 0$ and $\\sum_{j\\in I_i}\\alpha_j = 1$: a student "
    "of loss $F$ is within $C\\max(F^{1/3}, F^{1/2})$ of that form, with the constant $C = 5$ in the cases tried (chosen after looking).",
    control=Form("The same with $C = 3$.", factor=3.0),
)


def _pair_student(teacher, extra, share, whole):
    """The teachers, the last of them (or a vector that is none) in two parts."""
    first, second = share[..., None, None], (whole - share)[..., None, None]
    return np.concatenate([teacher, first * extra, second * extra], axis=-2)


_LAST = Form(
    "$w_1 = v_1, \\ldots, w_{k-1} = v_{k-1}, w_k = \\alpha v_k, w_{k+1} = (1-\\alpha)v_k$ is.",
    build=lambda teacher, share, whole: {
        "student": _pair_student(teacher[..., :-1, :], teacher[..., -1:, :], share, whole),
        "teacher": teacher,
    },
    whole=1.0,
)

EXAMPLE = Claim(
    id=f"{PAPER}.section-3.example",
    title="an example of global minima for $n = k + 1$",
    hypotheses="$n = k + 1$, $\\alpha \\in [0, 1]$; $v_n$, which is not a teacher, taken orthonormal to the teachers",
    draw=[
        {"teacher": axes(k, k + 1), "extra": fixed(np.eye(k + 1)[k:]), "share": uniform(0.0, 1.0)} for k in (1, 2, 4)
    ],
    build=lambda teacher, extra, share: {"student": _pair_student(teacher, extra, share, 1.0), "teacher": teacher},
    left=loss,
    relation="==",
    right=0.0,
    scale=1.0,
    as_printed=Form(
        "$w_1 = v_1, \\ldots, w_{n-1} = v_{n-1}, w_n = \\alpha v_n, w_{n+1} = (1-\\alpha)v_n$ is a global minimum."
    ),
    as_meant=_LAST,
    supplied="Theorem 1, of which it is an example",
    correction="The indices are those for $k$: as printed there are $n + 1$ neurons and a teacher too many.",
    control=Form("The same with $(0.999-\\alpha)v_k$.", build=_LAST.varied["build"], whole=0.999),
)


# Lemma 3 --------------------------------------------------------------------------------------------------------------

_NETWORKS = [{**draw, "x": real((2,))} for draw in setting(((1, 1, 2), (2, 1, 2), (2, 2, 2), (3, 2, 2)))]
_NETWORKS = [_NETWORKS[0], _NETWORKS[2], SampledDraws([_NETWORKS[1], _NETWORKS[3]])]


def _difference(student, teacher, points):
    """Student minus teacher at points `[..., point, dim]`."""
    one = np.maximum(points @ np.swapaxes(student, -1, -2), 0).sum(-1)
    return one - np.maximum(points @ np.swapaxes(teacher, -1, -2), 0).sum(-1)


def _gap(student, teacher, x):
    return np.abs(_difference(student, teacher, x[..., None, :]))[..., 0]


def _room(student, teacher, x):
    """The radius in which two networks still differ by half of their difference at a point: it over twice their slopes."""
    return 0.5 * _gap(student, teacher, x) / (norms(student).sum(-1) + norms(teacher).sum(-1))


def _mass(student, teacher, x, factor=1.0):
    """The proof's bound: half of the square of half the difference, times the mass of the disc, by its least density."""
    radius = _room(student, teacher, x)
    least = np.exp(-0.5 * (norms(x) + radius) ** 2)
    return factor * 0.125 * _gap(student, teacher, x) ** 2 * 0.5 * radius**2 * least


LEMMA_3 = Claim(
    id=f"{PAPER}.lemma-3",
    title="different functions have a positive loss",
    hypotheses="continuous functions: sums of ReLU neurons in the plane that differ at a point $x_0$",
    draw=_NETWORKS,
    where=lambda student, teacher, x: ~(_gap(student, teacher, x) <= 1e-3),
    left=loss,
    relation=">=",
    right=_mass,
    known=0.0,
    as_printed="$E[\\frac12(f(x) - g(x))^2] > 0$, by the constants of the proof: at least $\\frac18c^2P[A]$ for the disc $A$ in which $|f - g| \\ge c/2$.",
    # Chosen after looking: the proof's bound is far from sharp.
    control=Form("It is at least 50 times as much.", factor=50.0),
)


def _least_difference(student, teacher, x):
    """The smallest difference on a circle around the point, just within the radius for half of it."""
    turn = np.linspace(0, 2 * np.pi, 17)
    circle = np.stack([np.cos(turn), np.sin(turn)], -1)
    points = x[..., None, :] + 0.98 * _room(student, teacher, x)[..., None, None] * circle
    return np.abs(_difference(student, teacher, points)).min(-1)


EQUATION_19 = Claim(
    id=f"{PAPER}.equation-19",
    title="a neighbourhood in which two functions differ",
    hypotheses="continuous $f$, $g$ with $f(x_0) - g(x_0) = c > 0$: sums of ReLU neurons in the plane",
    draw=_NETWORKS,
    where=lambda student, teacher, x: ~(_gap(student, teacher, x) <= 1e-3),
    left=_least_difference,
    relation=">=",
    right=lambda student, teacher, x, share=1.0: share * _gap(student, teacher, x),
    as_printed="$|f(z) - g(z)| > c$ for all $z$ in a neighbourhood of $x_0$.",
    as_meant=Form("$|f(z) - g(z)| > c/2$ there.", share=0.5),
    supplied="the end of the proof, which needs a positive constant, whichever it is",
    correction="At $x_0$ itself the difference is $c$, not more; any smaller constant will do for the lemma.",
    control=Form("$|f(z) - g(z)| > 0.55c$, in a neighbourhood of the size that $c/2$ needs.", share=0.55),
)


def _conditional(values, weights, members):
    """The mean over the members, each with its weight."""
    return np.sum(values * weights * members, -1) / np.sum(weights * members, -1)


def _total(values, weights, first, members):
    """E[h|A] P[A] + E[h|B] P[not A]."""
    inside = np.sum(weights * first, -1) / np.sum(weights, -1)
    return _conditional(values, weights, first) * inside + _conditional(values, weights, members) * (1 - inside)


TOTAL = Claim(
    id=f"{PAPER}.section-B.1.total",
    title="law of total expectation",
    hypotheses="four values of $\\frac12(f-g)^2$ with their probabilities, $A$ the first two",
    glyph=True,
    draw={"values": uniform(0.0, 3.0, (4,)), "weights": uniform(0.1, 1.0, (4,))},
    left=lambda values, weights: _conditional(values, weights, np.ones(4)),
    relation="==",
    right=lambda values, weights, complement=0.0: _total(
        values, weights, np.array([1.0, 1, 0, 0]), np.abs(complement - np.array([1.0, 1, 0, 0]))
    ),
    as_printed="$E[h] = E[h|A]\\,P[A] + E[h|A]\\,P[\\bar A]$.",
    as_meant=Form("With the complement of $A$ in the second expectation.", complement=1.0),
    supplied="the law of total expectation, which it cites",
    correction="A bar is missing in the second condition; the bound that follows leaves that term out.",
    control=Form("With 0.99 of the complement's members and 0.01 of $A$'s.", complement=0.99),
)


# The cases of the proof of Theorem 1 ----------------------------------------------------------------------------------


def _stray(instance):
    """A global minimum with one neuron more, along the axis after the teachers' or a teacher's."""
    minimum, teacher, size = instance["minimum"], instance["teacher"], instance["size"]
    k, d = teacher.shape[-2:]
    axis = np.eye(d)[k:] if d > k else np.eye(d)[:1]
    more = size[..., None, None] * axis
    return {"student": np.concatenate([minimum, more], axis=-2), "teacher": teacher, "size": size}


def _seen(student, teacher, beyond=0.0):
    """The largest difference at the points of the proof: −e_j for all axes, e_j for those of teachers or for all."""
    k, d = teacher.shape[-2:]
    axes = np.eye(d)
    weights = np.where(np.arange(d) < k, 1.0, beyond)
    minus, plus = np.abs(_difference(student, teacher, -axes)), np.abs(_difference(student, teacher, axes))
    return np.maximum(minus.max(-1), (weights * plus).max(-1))


CASES = Claim(
    id=f"{PAPER}.section-B.1.cases",
    title="the cases are complete",
    hypotheses="a network with one neuron along an axis more than a global minimum has; its coordinates are not negative, one in each neuron",
    draw=[
        {**minima(sizes, d, 0.1), "size": uniform(0.05, 2.0)}
        for sizes, d in (((1,), 1), ((1,), 2), ((2, 1), 2), ((2, 1), 3), ((1, 1), 5))
    ],
    build=_stray,
    left=_seen,
    relation=">=",
    right=lambda size, least=0.99: least * size,
    as_printed="A network of another form than in Theorem 1 differs from the teacher at some $-e_j$, at some $e_j$ with $j \\le k$, or where two coordinates of "
    "a neuron are positive.",
    corrected=Form("The same with $e_j$ for all $j \\le d$.", beyond=1.0, least=1.0),
    correction="For $d > k$ a neuron $ce_{k+1}$ escapes the three cases: its coordinates are not negative, there is one, and the sums over the teachers' axes are one. "
    "At $e_{k+1}$ the teacher is zero and the network $c$: Theorem 1 holds.",
    control=Form("The difference is at least 1.01 times the additional neuron.", beyond=1.0, least=1.01),
)


def _not_negative(first, second):
    """The first two coordinates of a network without negative ones, whose first coordinates sum to one."""
    return {"first": first / first.sum(-1, keepdims=True), "second": second}


def _at_the_point(first, second):
    """The network at (1, −w₁₁/w₁₂, 0, …)."""
    return np.maximum(first - (first[..., :1] / second[..., :1]) * second, 0).sum(-1)


POINT = Claim(
    id=f"{PAPER}.section-B.1.point",
    title="a point at which a neuron with two coordinates shows",
    hypotheses="no coordinate is negative, first coordinates sum to one, $w_{11}, w_{12} > 0$; two to four neurons",
    glyph=True,
    draw=[{"first": uniform(0.01, 1.0, (n,)), "second": uniform(0.0, 1.0, (n,))} for n in (2, 4)],
    build=_not_negative,
    where=lambda second: second[..., 0] >= 0.01,
    left=_at_the_point,
    relation="<=",
    right=lambda first, whole: whole - first[..., 0],
    scale=1.0,
    as_printed=Form(
        "The network at the point is $\\sum_i[w_{i1} - \\frac{w_{i1}}{w_{i2}}w_{i2}]_+$, that is zero.",
        relation="==",
        right=0.0,
    ),
    as_meant=Form(
        "It is at most $1 - w_{11}$ at $(1, -w_{11}/w_{12}, 0, \\ldots)$, where the teacher is one.", whole=1.0
    ),
    supplied='"w.l.o.g. $w_{1,1}, w_{1,2} > 0$": the quotient is that of the first neuron',
    correction="An index: $i$ for 1. The inequality, and with it the third case, is right.",
    control=Form("It is at most $0.99 - w_{11}$.", whole=0.99),
)
