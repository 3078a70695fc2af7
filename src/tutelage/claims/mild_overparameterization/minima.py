"""Theorem 1 and its proof: the global minima."""

from __future__ import annotations

import numpy as np

from tutelage.claims.base import Claim, Effort, Form, Outcome, worst_of
from tutelage.claims.mild_overparameterization.formulas import PAPER, RECIPE, gradient, loss, norms
from tutelage.claims.mild_overparameterization.instances import Batches, minima, students, teachers
from tutelage.claims.mild_overparameterization.setting import plane_expectation
from tutelage.claims.scan import at_most


def distance(student: np.ndarray, teacher: np.ndarray) -> np.ndarray:
    """Return a bound on the distance from the set of Theorem 1: what has to change to reach a member of it.

    Every neuron goes to the teacher that it is closest to in direction; what is orthogonal or opposite to the teacher
    is removed, and the shares of each teacher are brought to one.
    """
    inner = np.einsum("nid,njd->nij", student, teacher)
    owner = inner.argmax(-1)
    along = np.maximum(np.take_along_axis(inner, owner[..., None], -1), 0.0)
    aside = student - along * np.take_along_axis(teacher, owner[..., None], 1)
    chosen = owner[..., None] == np.arange(teacher.shape[1])
    missing = 1 - np.sum(chosen * along, axis=1)
    return np.sqrt(np.sum(aside**2, axis=(1, 2)) + np.sum(missing**2, axis=-1))


def _whole(student: np.ndarray, teacher: np.ndarray) -> np.ndarray:
    """Return the distance of the neurons from being zero or a teacher each, for the control."""
    ends = np.concatenate([teacher, np.zeros_like(teacher[:, :1])], axis=1)
    return norms(student[:, :, None] - ends[:, None]).min(-1).max(-1)


# Students, teachers, dimension.
_SHAPES = ((1, 1, 1), (2, 1, 1), (2, 1, 2), (4, 1, 2), (2, 2, 2), (3, 2, 2), (3, 2, 3), (4, 3, 3), (5, 3, 4))


def _found(measure):
    """Minima found by descent, from random starts and from near members, and points near members at all distances."""

    def test(effort: Effort, seed: int) -> Outcome:
        random, tried, found = np.random.default_rng(seed), 0, []
        for number, k, d in _SHAPES:
            count = effort.samples // 8
            teacher = teachers(k, d, count, random)
            w = random.normal(size=(count, number, d)) * 10.0 ** random.uniform(-1, 0.3, size=(count, 1, 1))
            if number > k:
                sizes = (number - k + 1,) + (1,) * (k - 1)
                member = minima(sizes, d, count, random, smallest=0.0)
                size = 10.0 ** random.uniform(-4, -0.5, size=(count, 1, 1))
                near = member["minimum"] + size * random.normal(size=w.shape)
                w[::2], teacher[::2] = near[::2], member["teacher"][::2]
            for _ in range(min(60 * effort.generations, 2000)):
                w = w - 1.0 / (1 + number / 2) * gradient(w, teacher)
            value, gap = loss(w, teacher), measure(w, teacher)
            # At a member the loss grows at least like the third power of the distance; far from all it is not small.
            # Asked the other way round, a loss that is not a number would not count.
            margin = np.where(value >= 1e-4, np.inf, np.cbrt(100 * np.maximum(value, 1e-15)) - gap)
            tried += int(np.isfinite(margin).sum())
            pick = int(margin.argmin())
            shown = {"student": w[pick], "teacher": teacher[pick], "loss": value[pick], "distance": gap[pick]}
            found.append((float(margin[pick]), shown))
        return worst_of(found, tried, "ends of descent with a loss below 1e-4 and their distance from the form")

    return test


THEOREM_1 = Claim(
    id=f"{PAPER}.theorem-1",
    place="Theorem 1",
    title="the global minima",
    hypotheses=(
        "$n \\ge k$, orthonormal teachers; $n \\le 5$, $k \\le 3$, $d \\le 4$",
        "found by descent from many starts",
    ),
    as_printed=Form(
        "At a global minimum the neurons are divided among the teachers, $w_j = \\alpha_jv_i$ with $\\alpha_j \\ge 0$ and $\\sum_{j\\in I_i}\\alpha_j = 1$: a student "
        "of small loss $F$ is within $(100F)^{1/3}$ of that form.",
        _found(distance),
    ),
    control=Form("Every neuron is zero or a teacher.", _found(_whole)),
    arithmetic="exact gradients in float64",
)


def _example(kind: str):
    def check(i):
        share = i["share"][:, None]
        teacher, extra = i["teacher"], i["extra"]
        if kind == "printed":
            student = np.concatenate([teacher, (share * extra)[:, None], ((1 - share) * extra)[:, None]], axis=1)
        else:
            rest = (1.0 if kind == "corrected" else 0.9) - share
            last = teacher[:, -1]
            student = np.concatenate([teacher[:, :-1], (share * last)[:, None], (rest * last)[:, None]], axis=1)
        value = loss(student, teacher)
        return {"margin": 1e-12 - value, "left": value, "right": np.zeros(len(value)), "student": student}

    def draw(count, random):
        for k, d in ((1, 2), (2, 3), (4, 5)):
            both = teachers(k + 1, d, count, random)
            yield {"teacher": both[:, :k], "extra": both[:, k], "share": random.uniform(0.05, 0.85, count)}

    return Batches(draw, check, share=0.5)


EXAMPLE = Claim(
    id=f"{PAPER}.section-3.example",
    place="Section 3, after Theorem 1",
    title="an example of global minima for $n = k + 1$",
    hypotheses=(
        "$n = k + 1$, $\\alpha \\in [0, 1]$; $v_n$, which is not a teacher, taken orthonormal to the teachers",
    ),
    as_printed=Form(
        "$w_1 = v_1, \\ldots, w_{n-1} = v_{n-1}, w_n = \\alpha v_n, w_{n+1} = (1-\\alpha)v_n$ is a global minimum.",
        _example("printed"),
        recipe=RECIPE + "left, right = half_loss(student), 0.0\n",
    ),
    corrected=Form(
        "$w_1 = v_1, \\ldots, w_{k-1} = v_{k-1}, w_k = \\alpha v_k, w_{k+1} = (1-\\alpha)v_k$ is.",
        _example("corrected"),
    ),
    correction="The indices are those for $k$: as printed there are $n + 1$ neurons and a teacher too many.",
    control=Form("The same with $(0.9-\\alpha)v_k$.", _example("control")),
)


# Lemma 3 --------------------------------------------------------------------------------------------------------------


def _networks(count, random):
    for number, k in ((1, 1), (2, 1), (2, 2), (3, 2)):
        teacher = teachers(k, 2, count, random)
        x = random.normal(size=(count, 2))
        yield {"student": students(number, teacher, random), "teacher": teacher, "x": x}


def _difference(i, points):
    """Return student − teacher at points `[instance, point, dim]`."""
    value = lambda rows: np.maximum(np.einsum("npd,nid->npi", points, rows), 0).sum(-1)  # noqa: E731
    return value(i["student"]) - value(i["teacher"])


def _positive(power: float):
    def check(i):
        gap = np.abs(_difference(i, i["x"][:, None]))[:, 0]
        value = 0.5 * plane_expectation(i["student"], i["teacher"])
        # A loss that is positive, but small beyond the quadrature, says nothing; nor does a difference of zero.
        return {"margin": np.where(gap <= 1e-3, np.inf, value - power * gap**2)}

    return Batches(_networks, check, share=0.5)


LEMMA_3 = Claim(
    id=f"{PAPER}.lemma-3",
    place="Lemma 3",
    title="different functions have a positive loss",
    hypotheses=("continuous functions: sums of ReLU neurons in the plane, different at a random point",),
    as_printed=Form("$E[\\frac12(f(x) - g(x))^2] > 0$.", _positive(0.0)),
    control=Form("It is at least $\\frac12(f(x_0) - g(x_0))^2$.", _positive(0.5)),
    arithmetic="quadrature on the circle",
)


def _neighbourhood(share: float):
    def check(i):
        gap = np.abs(_difference(i, i["x"][:, None]))[:, 0]
        slope = norms(i["student"]).sum(-1) + norms(i["teacher"]).sum(-1)
        radius = 0.49 * gap / slope
        turn = np.linspace(0, 2 * np.pi, 65)
        circle = np.stack([np.cos(turn), np.sin(turn)], -1)
        points = i["x"][:, None] + radius[:, None, None] * circle
        smallest = np.abs(_difference(i, points)).min(-1)
        shown = {"radius": radius, **at_most(share * gap, smallest)}
        return {**shown, "margin": np.where(gap <= 1e-3, np.inf, shown["margin"])}

    return Batches(_networks, check, share=0.5)


EQUATION_19 = Claim(
    id=f"{PAPER}.equation-19",
    place="Equation (19)",
    title="a neighbourhood in which two functions differ",
    hypotheses=("continuous $f$, $g$ with $f(x_0) - g(x_0) = c > 0$: sums of ReLU neurons in the plane",),
    as_printed=Form(
        "$|f(z) - g(z)| > c$ for all $z$ in a neighbourhood of $x_0$.",
        _neighbourhood(1.0),
        recipe="""
value = lambda rows, z: np.maximum(rows @ z, 0).sum()
difference = lambda z: abs(value(student, z) - value(teacher, z))
turn = np.linspace(0, 2 * np.pi, 65)
left = difference(x)
right = min(difference(x + radius * np.array([np.cos(t), np.sin(t)])) for t in turn)
""",
    ),
    corrected=Form("$|f(z) - g(z)| > c/2$ there.", _neighbourhood(0.5)),
    correction="At $x_0$ itself the difference is $c$, not more; any smaller constant will do for the lemma.",
    control=Form("$|f(z) - g(z)| > 0.9c$, in a neighbourhood of the size that $c/2$ needs.", _neighbourhood(0.9)),
)

MAIN = (THEOREM_1, EXAMPLE)
APPENDIX = (LEMMA_3, EQUATION_19)
