"""Proposition 1 and Lemmas 10 and 11: the objective along rays, where it is quadratic, and at the origin."""

from __future__ import annotations

import numpy as np

from tutelage.claims import Claim, Form, Relation
from tutelage.claims.laws import LARGEST, Law, log_uniform, real, uniform
from tutelage.claims.mild_overparameterization.formulas import (
    PAPER,
    duals,
    gradient,
    inner,
    loss,
    norms,
    profile,
    units,
)
from tutelage.claims.mild_overparameterization.instances import SampledDraws, axes, setting, students

# One neuron -----------------------------------------------------------------------------------------------------------

_FIRST_AXIS = np.eye(2)[:1]

ONE_NEURON = Claim(
    id=f"{PAPER}.section-1.1.origin",
    title="one student and one teacher",
    hypotheses="$n = k = 1$; $d \\le 3$",
    scope="remark",
    draw=[{"student": real((1, d)), "teacher": axes(1, d)} for d in (1, 2, 3)],
    left=lambda student, teacher: inner(gradient(student, teacher), student - teacher)[..., 0],
    relation=">=",
    right=lambda student, teacher, factor=0.49: (
        factor * (norms(student) * inner(student - teacher, student - teacher) / (1 + norms(student)))[..., 0]
    ),
    also=[
        # Along v the objective falls from the origin, along −v it grows, and the slopes differ.
        Relation(
            {"size": log_uniform(1e-3, 1.0)},
            lambda size: np.stack(
                [
                    sign
                    * (
                        loss(np.zeros((1, 2)), _FIRST_AXIS)
                        - loss(sign * size[..., None, None] * _FIRST_AXIS, _FIRST_AXIS)
                    )
                    for sign in (1, -1)
                ],
                -1,
            ),
            ">=",
            lambda size: np.stack([size / 4, size**2 / 4.01], -1),
        )
    ],
    as_printed="There are no minima but the teacher, and the origin is a saddle without derivative: $\\nabla F(w)\\cdot(w - v)$ is at least "
    "$0.49\\|w\\|\\|w - v\\|^2/(1 + \\|w\\|)$ (the constant observed).",
    control=Form("The same with 0.5.", factor=0.5),
)


# Proposition 1 --------------------------------------------------------------------------------------------------------


def best_scale(student: np.ndarray, teacher: np.ndarray) -> np.ndarray:
    """Return the factor that minimises the loss along the ray through a student."""
    return duals(student, teacher).sum((-2, -1)) / duals(student, student).sum((-2, -1))


def norm_sum(student: np.ndarray, teacher: np.ndarray) -> np.ndarray:
    """Return the sum of norms at the best scale, where every local minimum is."""
    return best_scale(student, teacher) * norms(student).sum(-1)


def sharper_bound(teacher: np.ndarray, offset: float = np.pi - 1) -> np.ndarray:
    r"""Return $\frac12(k + \sqrt{k^2 + (\pi-1)k})$, a bound on the sum of norms that does not depend on the students."""
    k = teacher.shape[-2]
    return 0.5 * (k + np.sqrt(k**2 + offset * k))


def spread(number: int, teachers: int, dimension: int) -> Law:
    """Students of many kinds; half of them close to the teachers and pushed apart, where norm sums are large."""

    def sample(random: np.random.Generator, count: int) -> np.ndarray:
        w, teacher = students(number, teachers, dimension).sample(random, count), np.eye(dimension)[:teachers]
        apart = units(teacher - random.uniform(0, 0.5, size=(count, 1, 1)) * teacher.mean(0))
        w[::2] = (apart[:, np.arange(number) % teachers] + 0.1 * random.normal(size=w.shape))[::2]
        return w

    return Law((number, dimension), -LARGEST, LARGEST, sample, lambda xp, raw: raw)


def _shells(count, random):
    """Students that are the teachers and a shell: neurons of one length along all axes and against them."""
    for k, d in ((1, 8), (2, 8)):
        teacher = np.broadcast_to(np.eye(d)[:k], (count // 20, k, d))
        length = 10.0 ** random.uniform(-2.5, 0.5, size=(count // 20, 1, 1))
        yield {"student": np.concatenate([teacher, length * np.eye(d), -length * np.eye(d)], 1), "teacher": teacher}


PROPOSITION_1 = Claim(
    id=f"{PAPER}.proposition-1",
    title="norm sum of local minima",
    hypotheses="a local minimum; judged at all students whose scale is the best one, which contains them",
    draw=[
        *setting(((1, 1, 2), (2, 2, 2)), spread),
        SampledDraws(setting(((1, 1, 1), (2, 1, 2), (1, 2, 2), (3, 3, 3), (6, 3, 3), (4, 8, 8), (24, 12, 12)), spread)),
        _shells,
    ],
    left=norm_sum,
    relation="<=",
    right=sharper_bound,
    as_printed=Form(
        "$\\sum\\|w_i\\| \\le kn$.", right=lambda student, teacher: teacher.shape[-2] * student.shape[-2] + 1e-9
    ),
    corrected=Form(
        "$\\sum\\|w_i\\| \\le \\frac12(k + \\sqrt{k^2 + (\\pi-1)k}) < k + 0.536$ as well, whatever $n$ is.",
        offset=np.pi - 1,
    ),
    correction="The print is true; a better bound has a shorter proof. With $N$ the student and $f^*$ the teacher, $E[N^2] = E[Nf^*]$ at the best scale: $N$ lies on the "
    "sphere around $\\frac12f^*$ through zero, and so $EN \\le \\frac12(Ef^* + \\|f^*\\|)$. Here $EN = \\sum\\|w_i\\|/\\sqrt{2\\pi}$ and $\\|f^*\\|^2 = \\frac1{2\\pi}(k^2 + (\\pi-1)k)$. "
    "No argument by the scale alone gives more: teachers with a shell around them come as close as one likes in high dimensions. All minima found have at most $k$.",
    control=Form(
        "$\\sum\\|w_i\\| \\le \\frac12(k + \\sqrt{k^2 + 1.85k})$ for all students at their best scale.", offset=1.85
    ),
)

MONOTONE = Claim(
    id=f"{PAPER}.section-E.profile",
    title="monotone profile",
    hypotheses="$0 \\le x \\le y \\le \\pi$",
    draw={"x": uniform(0.0, np.pi), "share": uniform(0.0, 1.0)},
    build=lambda x, share: {"x": x, "y": x + share * (np.pi - x)},
    left=lambda x, y: profile(x) - profile(y),
    relation=">=",
    right=lambda x, y, least=0.0: least * (y - x) ** 3,
    also=[
        Relation({"x": uniform(0.0, np.pi)}, lambda x: profile(x), "<=", np.pi),
        Relation({"x": uniform(0.0, np.pi)}, lambda x: profile(x), ">=", 0.0),
    ],
    scale=1e-6,
    as_printed="$\\sin x + (\\pi - x)\\cos x$ decreases, from $\\pi$ to 0.",
    control=Form("It decreases by at least $\\frac13(y-x)^3$.", least=1 / 3),
)


def _chain(student, teacher, step):
    """The bounds of the proof one after another: the norm sum, without the cross terms, Equation (74), and kn."""
    sizes, whole = norms(student), norms(student).sum(-1)
    first = norm_sum(student, teacher)
    second = teacher.shape[-2] * whole**2 * np.pi / (2 * np.pi * duals(student, student).sum((-2, -1)))
    third = teacher.shape[-2] * whole**2 / np.sum(sizes**2, -1)
    fourth = teacher.shape[-2] * student.shape[-2] * np.ones_like(whole)
    return np.stack([first, second, third, fourth], -1)[..., step : step + 3]


EQUATION_74 = Claim(
    id=f"{PAPER}.equation-74",
    title="the bounds of the proof",
    hypotheses="any student that is not zero",
    draw=setting(((1, 1, 2), (2, 2, 2), (3, 1, 2))),
    left=lambda student, teacher: _chain(student, teacher, 0),
    relation="<=",
    right=lambda student, teacher, factor=1.0: factor * _chain(student, teacher, 1),
    as_printed="The norm sum is at most that with $\\pi$ for the cross terms in the numerator; that is at most $k(\\sum\\|w_i\\|)^2/\\sum\\|w_i\\|^2$; and that at most $kn$.",
    control=Form("Each bound with 0.99 times the next.", factor=0.99),
)


# Lemmas 10 and 11 -----------------------------------------------------------------------------------------------------

_OUT = [{"way": real((d,)), "teacher": axes(k, d)} for k, d in ((2, 2), (2, 5), (3, 3), (6, 6))]


def _slope(way, teacher):
    """The one-sided slope of the loss at the origin along a direction of one neuron; all neurons' slopes add up."""
    return -duals(units(way)[..., None, :], teacher).sum((-2, -1))


def _steepest(count, random):
    """The largest slope in any direction, by number of teachers: random directions, and against one or all of them."""
    for k, d in ((1, 1), (1, 3), (2, 2), (2, 5), (3, 3), (6, 6)):
        teacher = np.eye(d)[:k]
        ways = np.concatenate([random.normal(size=(4096, d)), -teacher, [-teacher.sum(0)]])
        slopes = _slope(ways, np.broadcast_to(teacher, (len(ways), k, d)))
        best = slopes.argmax()  # the first that is not a number, if there is one
        yield {"teacher": teacher[None], "way": ways[best][None], "slope": slopes[best][None]}


_MAXIMUM = "the origin is a strict local maximum for $k \\ge 2$"

LEMMA_10 = Claim(
    id=f"{PAPER}.lemma-10",
    title="the origin",
    hypotheses="$n \\ge 1$; $k$ from 1 to 6",
    defect=_MAXIMUM,
    draw=_OUT,
    left=_slope,
    relation="<=",
    right=lambda teacher, factor: (
        -factor * teacher.shape[-2] * profile(np.arccos(-1 / np.sqrt(teacher.shape[-2]))) / (2 * np.pi)
    ),
    as_printed=Form(
        "The origin is neither a local minimum nor a local maximum: in some direction the objective does not fall.",
        draw=_steepest,
        left=lambda slope: slope,
        relation=">=",
        right=0.0,
        scale=1e-3,
        recipe="""
random = np.random.default_rng(0)
def slope(way):  # of the loss at the origin, by the closed form
    total = 0.0
    for v in teacher:
        c = np.clip(way @ v / np.linalg.norm(way), -1, 1)
        total -= (np.sqrt(1 - c**2) + (np.pi - np.arccos(c)) * c) / (2 * np.pi)
    return total
ways = np.concatenate([random.normal(size=(20_000, teacher.shape[1])), -teacher, [-teacher.sum(0)]])
left = max(slope(way) for way in ways)  # the largest slope in any direction, which should not be negative
""",
    ),
    corrected=Form(
        "It is not a local minimum; for $k \\ge 2$ it is a strict local maximum: every neuron leaves it with a slope of at most "
        "$-\\frac k{2\\pi}(\\sin\\vartheta + (\\pi - \\vartheta)\\cos\\vartheta)$, $\\cos\\vartheta = -1/\\sqrt k$, attained opposite to $\\sum v_j$. For $k = 1$ that is zero, and it is "
        "neither: along $-v_1$ the objective grows.",
        factor=1.0,
    ),
    correction="Student and teacher are non-negative, so that the objective falls along $w$ with the slope $-\\sum f(w_i, v_j)$, which is zero only for $w_i = -v_j$ for all $j$: "
    "impossible for $k \\ge 2$. The proof uses $f(-\\epsilon v_1, v_j) = -\\epsilon f(v_1, v_j)$, but $f$ is homogeneous for positive factors only.",
    control=Form("With 1.001 times that slope.", factor=1.001),
)

LEMMA_11 = Claim(
    id=f"{PAPER}.lemma-11",
    title="no local maxima",
    hypotheses="$n \\ge 1$; $k$ from 1 to 6",
    defect=_MAXIMUM,
    draw=[*setting(((2, 1, 2), (2, 2, 2))), SampledDraws(setting(((1, 1, 1), (4, 3, 5))))],
    # The loss is quadratic along the ray through a student, with the second derivative E[N²] ≥ (E N)².
    left=lambda student: duals(student, student).sum((-2, -1)),
    relation=">=",
    right=lambda student, least: least * norms(student).sum(-1) ** 2,
    known=0.0,
    as_printed=Form(
        "The objective has no local maxima: neither is the origin one.",
        draw=_steepest,
        left=lambda slope: slope,
        right=0.0,
        known=None,
        scale=1e-3,
        recipe=LEMMA_10.forms["as_printed"].recipe,
    ),
    corrected=Form(
        "It has none but the origin: along the ray through any other student its second derivative is at least $(\\sum\\|w_i\\|)^2/2\\pi$.",
        least=1 / (2 * np.pi),
    ),
    correction="For $k \\ge 2$ the origin is a strict local maximum, see Lemma 10. The theorems use the lemma for differentiable points, where it is right.",
    control=Form("Along rays the second derivative is at least $0.26(\\sum\\|w_i\\|)^2$.", least=0.26),
)

EQUATION_66 = Claim(
    id=f"{PAPER}.equation-66",
    title="the objective along rays",
    hypotheses=("$t \\ge 0$", "Equation (64)"),
    draw=[{**draw, "t": uniform(0.0, 3.0)} for draw in setting(((1, 1, 1), (2, 2, 2), (3, 2, 3)))],
    left=lambda student, teacher, t, linear=1.0: loss(t[..., None, None] * student, linear * teacher),
    relation="==",
    right=lambda student, teacher, t: (
        0.5 * t**2 * duals(student, student).sum((-2, -1))
        - t * duals(student, teacher).sum((-2, -1))
        + 0.5 * duals(teacher, teacher).sum((-2, -1))
    ),
    scale=lambda student: 1 + norms(student).sum(-1) ** 2,
    as_printed="It is $\\frac12t^2\\sum f(w_i, w_j) - t\\sum f(w_i, v_j) + \\frac12\\sum f(v_i, v_j)$.",
    control=Form("For teachers 1.001 times as long.", linear=1.001),
)


def _printed_change(teacher, size):
    own = duals(teacher[..., :1, :], teacher)[..., 0, :]
    return size * (own[..., 1:].sum(-1) + 0.5 * own[..., 0])


def _change(teacher, size, square):
    own = duals(teacher[..., :1, :], teacher)[..., 0, :]
    return size * own.sum(-1) - square * size**2 * own[..., 0]


ORIGIN_CHANGE = Claim(
    id=f"{PAPER}.section-E.origin",
    title="change of the objective at the origin",
    hypotheses="one neuron $\\epsilon v_1$, the others zero; $\\epsilon > 0$, Equation (64)",
    draw=[{"teacher": axes(k, d), "size": log_uniform(0.01, 2.0)} for k, d in ((1, 1), (2, 3), (4, 4))],
    left=lambda teacher, size: (
        loss(0 * teacher[..., :1, :], teacher) - loss(size[..., None, None] * teacher[..., :1, :], teacher)
    ),
    relation="==",
    right=_change,
    tolerance=1e-8,
    as_printed=Form(
        "$F(0) - F(\\epsilon v_1) = \\epsilon(\\sum_{j\\ge2}f(v_1, v_j) + \\frac12f(v_1, v_1))$.",
        right=_printed_change,
    ),
    corrected=Form(
        "It is $\\epsilon\\sum_jf(v_1, v_j) - \\frac12\\epsilon^2f(v_1, v_1)$, for $\\epsilon > 0$ only, with the sum over the $k$ teachers.",
        square=0.5,
    ),
    correction="The neuron's own term is $\\frac12f(\\epsilon v_1, \\epsilon v_1)$, of second order; the sum goes to $k$, not to $n$.",
    control=Form("The corrected form with $0.51\\epsilon^2$.", square=0.51),
)
