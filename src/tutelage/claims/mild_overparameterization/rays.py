"""Proposition 1 and Lemmas 10 and 11: the objective along rays, where it is quadratic, and at the origin."""

from __future__ import annotations

import numpy as np

from tutelage.claims.base import Claim, Effort, Form, Outcome, worst_of
from tutelage.claims.mild_overparameterization.formulas import PAPER, RECIPE, duals, loss, norms, profile, units
from tutelage.claims.mild_overparameterization.instances import Batches, near, students, teachers
from tutelage.claims.scan import at_most

# Proposition 1 --------------------------------------------------------------------------------------------------------


def best_scale(student: np.ndarray, teacher: np.ndarray) -> np.ndarray:
    """Return the factor that minimises the loss along the ray through a student."""
    return duals(student, teacher).sum((-2, -1)) / duals(student, student).sum((-2, -1))


def sharper_bound(k: int) -> float:
    r"""Return $k + \tfrac\pi2\sqrt k + \tfrac\pi2 - 1$, a bound on the sum of norms that does not depend on the students."""
    return k + np.pi / 2 * np.sqrt(k) + np.pi / 2 - 1


def _norm_sum(kind: str):
    def check(i):
        w, v = i["student"], i["teacher"]
        number, k = w.shape[1], v.shape[1]
        total = norms(best_scale(w, v)[:, None, None] * w).sum(-1)
        right = {"printed": k * number, "corrected": min(k * number, sharper_bound(k)), "control": k}[kind]
        return at_most(total, np.full(len(total), right + 1e-9))

    def draw(count, random):
        for number, k, d in ((1, 1, 1), (1, 1, 2), (2, 1, 2), (1, 2, 2), (2, 2, 2), (3, 3, 3), (6, 3, 3), (4, 8, 8)):
            teacher = teachers(k, d, count, random)
            w = students(number, teacher, random)
            # Close to the teachers, pushed apart: large projections on the teacher, small ones on each other.
            spread = units(teacher - random.uniform(0, 0.5, size=(count, 1, 1)) * teacher.mean(1, keepdims=True))
            w[::2] = spread[::2][:, np.arange(number) % k] + 0.1 * random.normal(size=w[::2].shape)
            yield {"student": w, "teacher": teacher}

    note = "at the best scale of each student, where every local minimum is"
    return Batches(draw, check, note, 1.0)


PROPOSITION_1 = Claim(
    id=f"{PAPER}.proposition-1",
    place="Proposition 1",
    title="norm sum of local minima",
    hypotheses=("a local minimum; judged at all students whose scale is the best one, which contains them",),
    as_printed=Form("$\\sum\\|w_i\\| \\le kn$.", _norm_sum("printed")),
    corrected=Form(
        "$\\sum\\|w_i\\| \\le k + \\frac\\pi2\\sqrt k + \\frac\\pi2 - 1$ as well, whatever $n$ is.",
        _norm_sum("corrected"),
    ),
    correction="The print is true; a better bound has an equally short proof. With $N$ the student, $E[N^2] = E[N\\sum_j[v_j\\cdot x]_+]$ at the best scale. The left-hand "
    "side is at least $(EN)^2 = (\\sum\\|w_i\\|)^2/2\\pi$; on the right each neuron has at most $\\frac1{2\\pi}\\|w_i\\|\\sum_j\\varphi(c_j)$ with $\\sum c_j^2 \\le 1$ and "
    "$\\varphi(c) \\le 1 + \\frac\\pi2c + (\\frac\\pi2 - 1)c^2$. A search among students at their best scale found no more than $1.29k$, and all minima found have at most $k$.",
    control=Form("$\\sum\\|w_i\\| \\le k$ for all students at their best scale.", _norm_sum("control")),
)


def _decreasing(sign: float):
    def check(i):
        return {"margin": sign * (profile(i["angle"]) - profile(i["angle"] + i["more"])) + 1e-12}

    def draw(count, random):
        angle = random.uniform(0, np.pi, count)
        yield {"angle": angle, "more": random.uniform(size=count) * (np.pi - angle)}

    return Batches(draw, check, share=4.0)


MONOTONE = Claim(
    id=f"{PAPER}.section-E.profile",
    place="Appendix E, proof of Proposition 1",
    title="monotone profile",
    hypotheses=("$0 \\le x \\le \\pi$",),
    as_printed=Form("$\\sin x + (\\pi - x)\\cos x$ decreases.", _decreasing(1.0)),
    control=Form("It increases.", _decreasing(-1.0)),
)


# Lemmas 10 and 11 -----------------------------------------------------------------------------------------------------


def _slopes_at_origin(effort: Effort, seed: int):
    """Yield, for each number of teachers, the one-sided slopes of the loss at the origin in many directions."""
    for k, d in ((1, 1), (1, 3), (2, 2), (2, 5), (3, 3), (6, 6)):
        random = np.random.default_rng([seed, k, d])
        teacher = teachers(k, d, 1, random)[0]
        ways = random.normal(size=(8 * effort.samples, d))
        ways[0], ways[1] = -teacher[0], -teacher.sum(0)
        yield k, teacher, units(ways)


def _origin(kind: str, note: str = "one-sided slopes of the loss at the origin over all directions"):
    """The largest slope of one neuron's way out of the origin; all neurons' slopes add up."""

    def test(effort: Effort, seed: int) -> Outcome:
        found, tried = [], 0
        for k, teacher, ways in _slopes_at_origin(effort, seed):
            slopes = -duals(ways, teacher).sum(-1)
            tried += len(ways)
            up, down = float(slopes.max()), float(slopes.min())
            # For one teacher the way −v has slope zero, and the loss grows with its square.
            if kind == "printed":
                margin = min(up, -down - 1e-6)
            elif kind == "corrected":
                margin = -down - 1e-6 if k == 1 else min(-down, -up) - 1e-6
            else:
                margin = min(-down, -up) - 1e-6
            found.append((margin, {"teacher": teacher, "left": up, "right": 0.0}))
        return worst_of(found, tried, note)

    return test


LEMMA_10 = Claim(
    id=f"{PAPER}.lemma-10",
    place="Lemma 10",
    title="the origin",
    hypotheses=("$n \\ge 1$; $k$ from 1 to 6",),
    as_printed=Form(
        "The origin is neither a local minimum nor a local maximum: the objective falls in some direction and does not in another.",
        _origin("printed"),
        recipe=RECIPE
        + """
random = np.random.default_rng(0)
ways = np.concatenate([random.normal(size=(20_000, teacher.shape[1])), -teacher, [-teacher.sum(0)]])
left = max(-sum(dual(unit(way), v) for v in teacher) for way in ways)  # the largest slope of any way out of the origin
right = 0.0
""",
    ),
    corrected=Form(
        "It is not a local minimum; for $k \\ge 2$ it is a strict local maximum, all slopes being negative; for $k = 1$ it is neither.",
        _origin("corrected"),
    ),
    correction="Student and teacher are non-negative, so that the objective falls along $w$ with the slope $-\\sum f(w_i, v_j)$, which is zero only for $w_i = -v_j$ for all $j$: "
    "impossible for $k \\ge 2$. The proof uses $f(-\\epsilon v_1, v_j) = -\\epsilon f(v_1, v_j)$, but $f$ is homogeneous for positive factors only.",
    control=Form("It is a strict local maximum for $k = 1$ too.", _origin("control")),
)


def _along_rays(least: float):
    """The second derivative along rays, relative to the square of the sum of norms, is at least this."""

    def test(effort: Effort, seed: int) -> Outcome:
        found, tried = [], 0
        random = np.random.default_rng(seed)
        for number, k, d in ((1, 1, 1), (2, 1, 2), (2, 2, 2), (4, 3, 5)):
            teacher = teachers(k, d, effort.samples, random)
            w = students(number, teacher, random)
            # The loss is quadratic along the ray through a student, with the second derivative E[N²] ≥ (E N)².
            second = duals(w, w).sum((1, 2)) / norms(w).sum(-1) ** 2
            found.append((float(second.min()) - least, {}))
            tried += len(w)
        return worst_of(found, tried, "second derivatives along rays")

    return test


LEMMA_11 = Claim(
    id=f"{PAPER}.lemma-11",
    place="Lemma 11",
    title="no local maxima",
    hypotheses=("$n \\ge 1$; $k$ from 1 to 6",),
    as_printed=Form(
        "The objective has no local maxima.",
        _origin("printed", "for k ≥ 2 the origin is a strict local maximum"),
        recipe=LEMMA_10.as_printed.recipe,
    ),
    corrected=Form(
        "It has none but the origin: along the ray through any other student its second derivative is at least $(\\sum\\|w_i\\|)^2/2\\pi$.",
        _along_rays(1 / (2 * np.pi)),
    ),
    correction="For $k \\ge 2$ the origin is a strict local maximum, see Lemma 10. The theorems use the lemma for differentiable points, where it is right.",
    control=Form("Along rays the second derivative is at least $0.3(\\sum\\|w_i\\|)^2$.", _along_rays(0.3)),
)


def _origin_change(kind: str):
    def check(i):
        v, size = i["teacher"], i["size"]
        moved = size[:, None, None] * v[:, :1]
        left = loss(0 * moved, v) - loss(moved, v)
        inner = duals(v[:, :1], v)[:, 0]
        if kind == "printed":
            right = size * (inner[:, 1:].sum(-1) + 0.5 * inner[:, 0])
        else:
            right = size * inner.sum(-1) - (1.0 if kind == "corrected" else 0.5) * 0.5 * size**2 * inner[:, 0]
        return near(left, right, 1e-6, 1e-8)

    def draw(count, random):
        for k, d in ((1, 1), (2, 3), (4, 4)):
            yield {"teacher": teachers(k, d, count, random), "size": random.uniform(0.01, 2, count)}

    return Batches(draw, check)


ORIGIN_CHANGE = Claim(
    id=f"{PAPER}.section-E.origin",
    place="Appendix E, proof of Lemma 10",
    title="change of the objective at the origin",
    hypotheses=("one neuron $\\epsilon v_1$, the others zero; $\\epsilon > 0$, Equation (64)",),
    as_printed=Form(
        "$F(0) - F(\\epsilon v_1) = \\epsilon(\\sum_{j\\ge2}f(v_1, v_j) + \\frac12f(v_1, v_1))$.",
        _origin_change("printed"),
        recipe=RECIPE
        + """
left = half_loss(0 * teacher[:1]) - half_loss(size * teacher[:1])
right = size * (sum(dual(teacher[0], v) for v in teacher[1:]) + 0.5 * dual(teacher[0], teacher[0]))
""",
    ),
    corrected=Form(
        "It is $\\epsilon\\sum_jf(v_1, v_j) - \\frac12\\epsilon^2f(v_1, v_1)$, for $\\epsilon > 0$ only, with the sum over the $k$ teachers.",
        _origin_change("corrected"),
    ),
    correction="The neuron's own term is $\\frac12f(\\epsilon v_1, \\epsilon v_1)$, of second order; the sum goes to $k$, not to $n$.",
    control=Form("The corrected form with $\\frac14\\epsilon^2$.", _origin_change("control")),
)
