"""Section 4 and Appendix E: splitting neurons turns non-global minima into saddles."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from tutelage.claims import Claim, Form, Relation, integers, real, uniform
from tutelage.claims.mild_overparameterization.formulas import (
    HALVED,
    PAPER,
    SCALE,
    angle_between,
    angles,
    duals,
    gradient,
    hessian,
    loss,
    norms,
    own_block,
    reduced,
    smallest_eigenvalue,
    units,
)
from tutelage.claims.mild_overparameterization.instances import SampledDraws, axes, setting
from tutelage.dynamics import AcceleratedDescent, descend, gradient_norm, step_limit
from tutelage.objectives import population
from tutelage.problems import committee

# Minima found by descent ----------------------------------------------------------------------------------------------

# Students, teachers, dimension, runs: fewer students than teachers, and as many, where spurious minima are common.
_CASES = (
    (1, 1, 2, 4), (1, 2, 2, 16), (1, 3, 5, 16), (2, 3, 3, 24), (3, 4, 4, 24), (5, 6, 6, 24),
    (6, 6, 6, 24), (7, 7, 7, 24), (8, 8, 10, 16), (9, 9, 9, 24), (12, 12, 12, 12),
)  # fmt: skip


@lru_cache
def found_minima(seed: int, plenty: int = 1) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Return pairs of minima `[minimum, student, dim]` and their teacher: ends of descent, polished by Newton's method.

    Kept are those with a gradient below 1e-11 and no negative eigenvalue. Some are global. Descent is accelerated, because
    any way to a minimum will do; not compiled, because eleven shapes would take longer to compile than to follow.
    """
    found = []
    for number, k, d, runs in _CASES:
        random = np.random.default_rng([seed, number, k, d])
        teacher = np.linalg.qr(random.normal(size=(d, d)))[0][:k]
        w = random.normal(size=(runs * plenty, number, d)) / np.sqrt(d)
        if number == k and k > 5:
            # Near the most common spurious minimum one neuron has turned away from its teacher, against the others.
            turned = np.broadcast_to(teacher, w.shape).copy()
            turned[:, -1] = 0.8 * teacher[:-1].mean(0) * np.sqrt(k) - 0.6 * teacher[-1]
            w[::2] = (turned + 0.1 * random.normal(size=w.shape))[::2]
        objective, method = population(committee(teacher, number)), AcceleratedDescent(2.5 / max(k, 3))
        w = np.asarray(descend(objective, w, method, gradient_norm(1e-4) | step_limit(500), compiled=False).points)
        target = np.broadcast_to(teacher, (len(w), k, d))
        # From such a gradient five steps were enough, of a thousand runs.
        for _ in range(6):
            slope = gradient(w, target).reshape(len(w), -1, 1)
            # Zero eigenvalues of rotations that fix the teachers are left alone.
            values, vectors = np.linalg.eigh(hessian(w, target))
            coordinates = np.swapaxes(vectors, 1, 2) @ slope
            step = vectors @ np.where(values[..., None] > 1e-7, coordinates / np.maximum(values, 1e-7)[..., None], 0.0)
            length = np.linalg.norm(step, axis=(1, 2), keepdims=True)
            w = w - (step * np.minimum(1.0, 0.1 / np.maximum(length, 1e-300))).reshape(w.shape)
        # Asked the other way round, runs that end at something that is not a number would be dropped in silence.
        large = np.linalg.norm(gradient(w, target), axis=(1, 2)) >= 1e-11
        concave = smallest_eigenvalue(hessian(w, target)) <= -1e-9
        found.append((w[~(large | concave)], teacher))
    return tuple(found)


def split(student: np.ndarray, neuron: int, fraction: float | np.ndarray) -> np.ndarray:
    """Return students with one neuron split in two parallel ones."""
    whole, share = student[..., neuron, :], np.asarray(fraction)[..., None]
    parts = np.stack([share * whole, (1 - share) * whole], axis=-2)
    return np.concatenate([student[..., :neuron, :], parts, student[..., neuron + 1 :, :]], axis=-2)


_FRACTIONS = np.array([1e-3, 0.2, 0.5, 0.9])


def _drop(w, v, neuron: int) -> np.ndarray:
    """Return how much the loss falls along (u, −u) from a neuron split a hundred to one, u the reduced block's lowest direction."""
    u = np.linalg.eigh(reduced(w, v)[:, neuron])[1][..., 0]
    base, start, best = split(w, neuron, 1e-2), loss(w, v), np.full(len(w), -np.inf)
    for size in np.geomspace(1e-5, 1e-2, 10):
        moved = base.copy()
        moved[:, neuron] += size * u
        moved[:, neuron + 1] -= size * u
        best = np.maximum(best, start - loss(moved, v))
    return best


@lru_cache(maxsize=8)
def _split_minima(seed: int, plenty: int, spurious: bool, every: bool) -> tuple[dict[str, np.ndarray], ...]:
    """Return minima split at the neuron whose reduced block is lowest, or at every one: spectra, slopes and the way down."""
    batches = []
    for found, teacher in found_minima(seed, plenty):
        target = np.broadcast_to(teacher, (len(found), *teacher.shape))
        keep = (loss(found, target) < 1e-12) != spurious
        w, v = found[keep], target[keep]
        lowest = smallest_eigenvalue(reduced(w, v))
        for neuron in range(w.shape[1]):
            chosen = ~(lowest[:, neuron] > lowest.min(-1)) if not every else np.ones(len(w), bool)
            if not chosen.any():
                continue
            one, own = w[chosen], v[chosen]
            points = [split(one, neuron, fraction) for fraction in _FRACTIONS]
            values = np.stack([np.linalg.eigvalsh(hessian(point, own))[:, [0, -1]] for point in points], 1)
            slope = np.stack([np.abs(gradient(point, own)).max((1, 2)) for point in points], 1)
            batches.append(
                {
                    "student": one,
                    "teacher": own,
                    "neuron": np.full(len(one), neuron),
                    "lowest": lowest[chosen, neuron],
                    "smallest": values[..., 0],
                    "largest": values[..., 1],
                    "slope": slope,
                    "drop": _drop(one, own, neuron),
                    "total": norms(one).sum(-1) / teacher.shape[0],
                    "shortest": norms(one).min(-1),
                }
            )
    return tuple(batches)


def _lowest_neuron(count, random, spurious=True):
    return _split_minima(int(random.integers(2**31)), 1 if count <= 200 else 8, spurious, False)


def _every_neuron(count, random, spurious=True):
    return _split_minima(int(random.integers(2**31)), 1 if count <= 200 else 8, spurious, True)


_FOUND = "local minima found by descent: $n < k$ up to 5, $n = k$ from 6 to 12"
_SADDLE = {
    "runs": True,
    "left": lambda smallest: smallest,
    "relation": "<=",
    "right": -1e-6,
    "arithmetic": "minima to a gradient of 1e-11, closed form in float64",
}

THEOREM_8 = Claim(
    id=f"{PAPER}.theorem-8",
    title="a split that turns a non-global minimum into a saddle",
    hypotheses=("$n \\le k$, a non-global minimum with $\\sum\\|w_i\\| \\le k$", _FOUND + "; for $n < k$ all minima"),
    draw=_lowest_neuron,
    where=lambda total: total <= 1 + 1e-9,
    **_SADDLE,
    also=[
        Relation(
            _lowest_neuron,
            lambda instance: np.stack([instance["drop"], instance["shortest"], instance["largest"].min(-1)], -1),
            ">=",
            lambda: np.array([1e-11, 1e-6, 1e-6]),
            where=lambda total: total <= 1 + 1e-9,
            runs=True,
        )
    ],
    note="smallest eigenvalues at four fractions; beside them the largest ones, the shortest neuron, and the way down from a fraction near zero",
    as_printed="No neuron is zero, and some neuron can be split such that a saddle results for all fractions, and no minimum for a fraction of zero or one.",
    control=Form("The same at global minima with $n = k$.", spurious=False),
)

THEOREM_9 = Claim(
    id=f"{PAPER}.theorem-9",
    title="every neuron with an indefinite reduced block",
    hypotheses=("a differentiable non-global minimum, $H'_{ii}$ not positive semidefinite", _FOUND),
    draw=_every_neuron,
    where=lambda lowest: ~(lowest >= -1e-6),
    **_SADDLE,
    also=[
        Relation(
            _every_neuron,
            lambda instance: np.stack([instance["drop"], instance["largest"].min(-1)], -1),
            ">=",
            lambda: np.array([1e-11, 1e-6]),
            where=lambda lowest: ~(lowest >= -1e-6),
            runs=True,
        )
    ],
    as_printed="Splitting such a neuron gives a saddle for all fractions, and no minimum for a fraction of zero or one.",
    control=Form("The same for every neuron of a global minimum.", spurious=False, where=None),
)

LEMMA_13 = Claim(
    id=f"{PAPER}.lemma-13",
    title="from the reduced block to a saddle",
    hypotheses=("a differentiable local minimum, $u^\\top H'_{ii}u = \\lambda < 0$; " + _FOUND, SCALE),
    draw=_every_neuron,
    where=lambda lowest: ~(lowest >= -1e-6),
    **{
        **_SADDLE,
        "right": lambda lowest, factor: factor * 0.5 * lowest[..., None] * (1 / _FRACTIONS + 1 / (1 - _FRACTIONS)),
    },
    as_printed=Form(
        "The split point is a saddle: its Hessian has an eigenvalue of at most $\\frac\\lambda2(\\frac1\\alpha + \\frac1{1-\\alpha})$, by the direction $(u, -u)$.",
        factor=1.0,
    ),
    control=Form("At most three times that.", factor=3.0),
)


def _kink(student, teacher):
    """The largest kink of the loss at a zero neuron, over the directions of neurons and teachers: the slope along u plus that along −u."""
    ways = np.concatenate([student, teacher], -2)
    slopes = [
        duals(units(sign * ways), student).sum(-1) - duals(units(sign * ways), teacher).sum(-1) for sign in (1, -1)
    ]
    return np.abs(slopes[0] + slopes[1]).max(-1)


KINK = Claim(
    id=f"{PAPER}.section-E.kink",
    title="a zero neuron beside a minimum that is not global",
    hypotheses="a non-global minimum and one neuron more, which is zero; " + _FOUND,
    draw=_lowest_neuron,
    runs=True,
    left=_kink,
    relation=">=",
    right=lambda teacher, student, least=0.1: least * np.sqrt(2 * loss(student, teacher)),
    known=0.0,
    as_printed="The objective is not differentiable there: opposite directions of the zero neuron have slopes that do not cancel (by at least a tenth of the root of "
    "twice the loss, chosen after looking).",
    control=Form("By two tenths of that root.", least=0.2),
)

LEMMA_12_CRITICAL = Claim(
    id=f"{PAPER}.lemma-12.critical",
    title="a split minimum is critical",
    hypotheses=_FOUND,
    draw=_every_neuron,
    runs=True,
    left=lambda slope: slope,
    relation="<=",
    right=1e-9,
    as_printed="The gradient at the split point is zero, for all neurons and fractions.",
    control=Form(
        "The whole split is a thousandth too long.",
        left=lambda student, teacher: np.abs(gradient(1.001 * student, teacher)).max((-2, -1)),
    ),
    arithmetic="minima to a gradient of 1e-11, closed form in float64",
)


# Lemma 12 and Equation (70) -------------------------------------------------------------------------------------------


_SPLITS = SampledDraws(
    [
        {"student": real((n, d)), "teacher": axes(k, d), "fraction": uniform(1e-3, 1 - 1e-3)}
        for n, k, d in ((1, 1, 2), (2, 2, 2), (2, 1, 3), (3, 3, 3))
    ]
)


def _predicted(student, teacher, fraction, power=1.0):
    """The Hessian of Lemma 12: blocks copied, those of the two parts from the reduced block."""
    number, d = student.shape[-2:]
    lead = student.shape[:-2]
    order = np.concatenate([[0], np.arange(number)])
    whole = hessian(student, teacher).reshape(*lead, number, d, number, d)
    expected = whole[..., order, :, :, :][..., order, :].copy()
    block, half, share = reduced(student, teacher)[..., 0, :, :], 0.5 * np.eye(d), np.asarray(fraction)[..., None, None]
    expected[..., 0, :, 0, :] = half + block / share**power
    expected[..., 1, :, 1, :] = half + block / (1 - share) ** power
    expected[..., 0, :, 1, :] = half
    expected[..., 1, :, 0, :] = half
    return expected.reshape(*lead, (number + 1) * d, (number + 1) * d)


LEMMA_12 = Claim(
    id=f"{PAPER}.lemma-12.hessian",
    title="the Hessian after a split",
    hypotheses="any differentiable point, minimum or not; fractions from 0.001 to 0.999",
    draw=_SPLITS,
    left=lambda student, teacher, fraction, factor=2.0: factor * hessian(split(student, 0, fraction), teacher),
    relation="==",
    right=_predicted,
    tolerance=1e-7,
    as_printed="The same for the Hessian of Equation (2), which is twice as large.",
    as_meant=Form(
        "The blocks of the split neuron are $\\frac12I + \\frac1\\alpha H'_{ii}$, $\\frac12I$ and $\\frac12I + \\frac1{1-\\alpha}H'_{ii}$; the others are copies. For "
        "$\\frac12E[(\\cdot)^2]$.",
        factor=1.0,
    ),
    **HALVED,
    control=Form("With $\\alpha^{1.01}$ and $(1-\\alpha)^{1.01}$.", factor=1.0, power=1.01),
)


def _second_block(student, teacher, fraction):
    """H of the second part, by Theorem 10."""
    d = student.shape[-1]
    return hessian(split(student, 0, fraction), teacher)[..., d : 2 * d, d : 2 * d]


SECOND_BLOCK = Claim(
    id=f"{PAPER}.section-E.block",
    title="the block of the second part",
    hypotheses=("as Lemma 12", SCALE),
    draw=_SPLITS,
    left=_second_block,
    relation="==",
    right=lambda student, teacher, fraction, half=0.0: (
        reduced(student, teacher)[..., 0, :, :] / (1 - fraction)[..., None, None] + half * np.eye(student.shape[-1])
    ),
    tolerance=1e-7,
    as_printed=Form(
        "$H_{i+1,i+1} = \\frac1{1-\\alpha}H'_{ii}$.",
        recipe="""
unit = lambda a: a / np.linalg.norm(a)
def h1(a, b):
    c = np.clip(unit(a) @ unit(b), -1, 1)
    if 1 - c**2 < 1e-24:
        return np.zeros((len(a), len(a)))
    normal = unit(unit(b) - c * unit(a))
    inner = np.eye(len(a)) - np.outer(unit(a), unit(a)) + np.outer(normal, normal)
    return np.sqrt(1 - c**2) * np.linalg.norm(b) / (2 * np.pi * np.linalg.norm(a)) * inner
reduced = lambda a, others: sum((h1(a, b) for b in others), np.zeros((len(a), len(a)))) - sum(h1(a, b) for b in teacher)
left = 0.5 * np.eye(student.shape[1]) + reduced((1 - fraction) * student[0], student[1:])  # Theorem 10
right = reduced(student[0], student[1:]) / (1 - fraction)
""",
    ),
    as_meant=Form("$H_{i+1,i+1} = \\frac12I + \\frac1{1-\\alpha}H'_{ii}$, as the lemma says.", half=0.5),
    supplied="the lemma itself",
    correction="A misprint in the proof: $\\frac12I$ is missing.",
    control=Form("With $0.51I$ in place of $\\frac12I$.", half=0.51),
)

SPLIT_LOSS = Claim(
    id=f"{PAPER}.section-4.1.split",
    place="Section 4.1, after Proposition 1; Appendix E, proof of Lemma 13",
    title="a split changes no function",
    hypotheses="$\\alpha \\in [0, 1]$",
    draw=[{**draw, "fraction": uniform(0.0, 1.0)} for draw in setting(((1, 1, 1), (2, 2, 2), (3, 2, 3)))],
    left=lambda student, teacher, fraction, longer=1.0: loss(split(student, 0, longer * fraction), teacher),
    relation="==",
    right=loss,
    scale=lambda student: 1 + norms(student).sum(-1) ** 2,
    as_printed="$[\\alpha w\\cdot x]_+ + [(1-\\alpha)w\\cdot x]_+ = [w\\cdot x]_+$: global minima can be split arbitrarily and remain global minima.",
    control=Form("The same for $\\alpha \\in [0, 1.1]$.", longer=1.1),
)

EQUATION_70 = Claim(
    id=f"{PAPER}.equation-70",
    title="mean of the diagonal terms over the sphere",
    hypotheses="$u$ uniform on the unit sphere, $d \\ge 2$",
    draw=[{"w": real((d,)), "v": real((d,))} for d in (2, 3, 6)],
    # The mean of a quadratic form over the sphere is its trace over the dimension.
    left=lambda w, v: np.trace(own_block(w, v), axis1=-2, axis2=-1) / w.shape[-1],
    relation="==",
    right=lambda w, v, factor=1.0: factor * np.sin(angle_between(w, v)) * norms(v) / (2 * np.pi * norms(w)),
    tolerance=1e-7,
    as_printed="$E[u^\\top h_1(w, v)u] = \\sin\\theta_{w,v}\\|v\\|/(2\\pi\\|w\\|)$.",
    control=Form("It is 1.01 times that.", factor=1.01),
)


COORDINATES = Claim(
    id=f"{PAPER}.section-E.coordinates",
    title="coordinates of a uniform direction",
    hypotheses="$u$ uniform on the unit sphere, $d$ from 2 to 200",
    draw={"dimension": integers(2, 200)},
    # Squares of coordinates have Dirichlet's law, with parameters one half.
    left=lambda dimension: np.exp(
        2 * gammaln(1.5) - 2 * gammaln(0.5) + gammaln(dimension / 2) - gammaln(dimension / 2 + 2)
    ),
    relation="==",
    right=lambda dimension, more=0.0: 1 / (dimension * (dimension + more)),
    as_printed=Form(
        "The coordinates of $u$ are independent: $E[u_1^2u_2^2] = E[u_1^2]E[u_2^2] = \\frac1{d^2}$.",
        recipe="""
# A Gaussian vector is its length times u, independent of it: the mean of u_1^2 u_2^2 is one over that of the length to the fourth.
left = 1 / (3 * dimension + dimension * (dimension - 1))
""",
    ),
    as_meant=Form(
        "They are exchangeable, with $E[u_1^2] = E[u_2^2] = \\frac1d$ and $E[u_1^2u_2^2] = \\frac1{d(d+2)}$.", more=2.0
    ),
    supplied="Equation (69), which needs equal means of $u_1^2$ and $u_2^2$ alone",
    correction="Their squares sum to one, so that they are correlated; equal laws are enough.",
    control=Form("$E[u_1^2u_2^2] = \\frac1{d(d+1.98)}$.", more=1.98),
)


# The proof of Theorem 8 -----------------------------------------------------------------------------------------------

SINE_SUMS = Claim(
    id=f"{PAPER}.section-E.sines",
    title="angles of a neuron to the teachers",
    hypotheses="$w_i \\ne 0$, orthonormal teachers, $d \\ge k$",
    draw=[{"w": real((d,)), "teacher": axes(k, d)} for k, d in ((1, 1), (1, 2), (2, 2), (3, 3), (3, 5), (8, 8))],
    left=lambda w, teacher: np.sin(angles(w[..., None, :], teacher)).sum((-2, -1)),
    relation=">=",
    right=lambda teacher, less=1.0: teacher.shape[-2] - less,
    scale=1.0,
    as_printed="$\\sum_j\\sin\\theta_{w_i,v_j} \\ge k - 1$.",
    control=Form("It is at least $k - \\frac{99}{100}$.", less=0.99),
)


def _any_sum(shapes):
    return [{"student": real((n, d)), "teacher": axes(k, d), "whole": uniform(0.1, 1.0)} for n, k, d in shapes]


def _within_sum(student, teacher, whole):
    """Students whose norms sum to a share of the number of teachers, and how much the proof has to spare for the first."""
    student = student * (whole * teacher.shape[-2] / norms(student).sum(-1))[..., None, None]
    first = norms(student)[..., 0]
    spare = first + np.sin(angles(student[..., :1, :], teacher)).sum((-2, -1)) - teacher.shape[-2]
    d = teacher.shape[-1]
    return {"student": student, "teacher": teacher, "spare": d / (d - 1) * spare / (2 * np.pi * first)}


EXPECTED = Claim(
    id=f"{PAPER}.section-4.1.expected",
    title="which reduced blocks are indefinite",
    hypotheses="$n \\le k$, $\\sum\\|w_j\\| \\le k$, as Theorem 8; any student, minimum or not",
    scope="remark",
    draw=[*_any_sum(((2, 2, 2),)), SampledDraws(_any_sum(((1, 2, 2), (2, 2, 3), (3, 3, 3), (5, 6, 6))))],
    build=_within_sum,
    where=lambda spare: spare > 0,
    left=lambda student, teacher: smallest_eigenvalue(reduced(student, teacher)[..., 0, :, :]),
    relation="<=",
    right=lambda spare, factor=1.0: -factor * spare,
    as_printed="A neuron of about unit norm that is not close to a teacher has an indefinite block: the smallest eigenvalue of $H'_{ii}$ is at most "
    "$-\\frac d{d-1}(\\|w_i\\| + \\sum_j\\sin\\theta_{w_i,v_j} - k)/(2\\pi\\|w_i\\|)$, by the proof of Theorem 8 and since $H'_{ii}w_i = 0$.",
    control=Form("It is at most 1.05 times that.", factor=1.05),
)

LONGEST = Claim(
    id=f"{PAPER}.section-E.norms",
    title="the case of equality",
    hypotheses="$n = k \\ge 2$, $\\sum\\|w_j\\| \\le k$, $w_i$ the longest neuron",
    draw=[{"lengths": uniform(0.05, 1.5, (k,))} for k in (2, 4)],
    where=lambda lengths: lengths.sum(-1) <= lengths.shape[-1],
    left=lambda lengths: lengths.shape[-1] - 1 - (lengths.sum(-1) - lengths.max(-1)),
    relation=">=",
    right=lambda lengths, least: least * np.abs(lengths - 1).max(-1) / (lengths.shape[-1] - 1),
    scale=1.0,
    as_printed=Form(
        "If Equation (73), for $k\\|w_j\\|/\\sum\\|w_m\\|$, is no strict inequality, all norms are one: $k\\max\\|w_j\\|/\\sum\\|w_m\\| - 1$ is positive otherwise "
        "(at least 0.001 times the largest $|\\|w_j\\| - 1|$).",
        left=lambda lengths: lengths.shape[-1] * lengths.max(-1) / lengths.sum(-1) - 1,
        right=lambda lengths: 1e-3 * np.abs(lengths - 1).max(-1),
        scale=1e-3,
    ),
    corrected=Form(
        "If $\\sum_{j\\ne i}\\|w_j\\| \\le k - 1$ is no strict inequality, they are: the gap is at least $\\max_j|\\|w_j\\| - 1|/(k-1)$.",
        least=1.0,
    ),
    correction="Equation (73) does not change if all neurons are scaled: it is an equality for equal norms of any size. What is needed is the inequality before it as well, which is "
    "strict for $\\sum\\|w_j\\| < k$. (For $n = k = 1$ both are equalities whatever the norm is.)",
    control=Form("The gap is at least 1.02 times that.", least=1.02),
)


def _unit_students(count, random):
    """Students with n = k unit neurons that are not the teachers: random, repeated, reversed, or in other dimensions."""
    for k, d in ((1, 2), (2, 2), (3, 3), (2, 3)):
        rows = np.arange(count // 20)
        teacher = np.swapaxes(np.linalg.qr(random.normal(size=(len(rows), d, d)))[0], 1, 2)[:, :k]
        w = units(random.normal(size=(len(rows), k, d)))
        signed = teacher * random.choice([-1.0, 1.0], size=(len(rows), k, 1))
        signed[:, 0] = -teacher[:, 0]
        w[rows % 3 == 0] = signed[rows % 3 == 0]
        if k > 1:
            repeated = teacher.copy()
            repeated[:, 1] = teacher[:, 0]
            w[rows % 3 == 1] = repeated[rows % 3 == 1]
        yield {"student": w, "teacher": teacher}


def _second_coordinate(student, teacher):
    """The largest second coordinate of a neuron in the basis of the teachers; one if there is a single teacher."""
    if teacher.shape[-2] == 1:
        return np.ones(student.shape[:-2])
    return np.sort(np.abs(student @ np.swapaxes(teacher, -1, -2)), axis=-1)[..., -2].max(-1)


def _strictness(student, teacher, critical):
    """How strict Inequality (72) is for some neuron, or, if that counts, how far from critical the point is."""
    own = np.sin(angles(student, student)).sum(-1) - np.sin(angles(student, teacher)).sum(-1)
    slope = np.sqrt(np.sum(gradient(student, teacher) ** 2, axis=(-2, -1)))
    return np.maximum(-own.min(-1), critical * slope)


MIXED = Claim(
    id=f"{PAPER}.section-E.equality",
    title="unit neurons that are not the teachers",
    hypotheses="$n = k$, $\\|w_i\\| = 1$, not a permutation of the teachers",
    draw=_unit_students,
    left=_strictness,
    relation=">=",
    right=1e-6,
    scale=1e-6,
    as_printed=Form(
        "Some neuron has two coordinates, in the basis of the teachers, that are not zero.", left=_second_coordinate
    ),
    corrected=Form(
        "Inequality (72) is strict for some neuron, or the point is not critical: what the theorem needs.", critical=1.0
    ),
    correction="Neurons may also be repeated, opposite to teachers, or orthogonal to all of them. Repeated ones make the positive terms of (72) smaller; with an opposite "
    "one and all others at teachers there is equality, but the gradient is not zero. Theorem 8 stands.",
    control=Form("Inequality (72) is strict for some neuron.", critical=0.0),
)
