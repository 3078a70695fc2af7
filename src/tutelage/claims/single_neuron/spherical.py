r"""Section 6: spherically symmetric inputs, where the angle to the teacher never increases.

Students are in the plane, at a norm and an angle to the teacher, and rates are in units of $E[x_1^2]$: for ReLU all spherical laws
have the same gradient in these units (judged as `section-D.reduction`). Expectations are integrals over the circle.
"""

from functools import lru_cache

import numpy as np
from scipy.special import betainc, chdtrc

from tutelage.claims import Claim, Form, Relation, integers, log_uniform, uniform
from tutelage.claims.single_neuron.formulas import (
    PAPER,
    WEIGHT,
    dot,
    growth,
    in_plane,
    norm,
    over_circle,
    spherical_gradient,
)
from tutelage.dynamics import GradientDescent, GradientFlow, descend, record, step_limit
from tutelage.inputs import gaussian
from tutelage.objectives import population
from tutelage.problems import neuron

_CIRCLE = "Gauss–Legendre rules over the circle"
_SPHERICAL = "ReLU, any spherical law with a second moment, gradient flow"
_TEACHER = np.array([1.0, 0.0])


def turning(size, theta):
    r"""$(v - (\bar w\cdot v)\bar w)\cdot\nabla F(w)$, which has the sign of the change of the angle under gradient flow."""
    cosine, size = np.expand_dims(np.cos(theta), -1), np.expand_dims(size, -1)
    # A mean of degree two over inputs with E[x₁²] = 1 is twice that over the circle.
    return 2 * over_circle(theta, lambda s, t: np.where(s > 0, size * s - np.maximum(t, 0), 0.0) * (t - cosine * s))


def norm_change(size, theta):
    r"""$\frac{\partial}{\partial t}\|w\|^2 = -2w\cdot\nabla F(w)$ under gradient flow."""
    size = np.expand_dims(size, -1)
    return 4 * over_circle(theta, lambda s, t: (np.maximum(t, 0) - size * s) * np.where(s > 0, size * s, 0.0))


LEMMA_6_2 = Claim(
    id=f"{PAPER}.lemma-6.2",
    title="the angle never increases",
    hypotheses=(_SPHERICAL, "$w \\ne 0$; $E\\|x\\|^2 < \\infty$, without which there is no gradient"),
    draw={"size": log_uniform(1e-3, 1e3), "theta": uniform(0, np.pi)},
    left=turning,
    relation="==",
    right=lambda theta, factor=1.0: -factor * (np.pi - theta) / (2 * np.pi) * np.sin(theta) ** 2,
    scale=lambda size: 1e-3 * (1 + size),
    as_printed="$\\frac{\\partial}{\\partial t}\\theta(w(t), v) \\le 0$ if $w(t) \\ne 0$. More is true, and judged: it is $-E[x_1^2]\\,\\frac{\\pi - \\theta}{2\\pi}\\sin\\theta/\\|w\\|$ "
    "(for $0 < \\theta < \\pi$; at the ends the angle has no derivative, and stays).",
    control=Form("It decreases 1.01 times as fast as that.", factor=1.01),
    arithmetic=_CIRCLE,
)


def printed_threshold(theta):
    """The norm up to which Lemma 6.3 says that the norm grows."""
    return np.maximum((np.sin(theta) + np.cos(theta)) / 2, np.sin(theta) * (1 + np.cos(theta)) / 2)


def exact_threshold(theta):
    r"""The norm at which it stops growing, $(\sin\theta + (\pi - \theta)\cos\theta)/\pi$, the same for all spherical laws."""
    return growth(np.pi - theta) / np.pi


def _exact_change(theta, size, factor):
    return size * (factor * exact_threshold(theta) - size)


# The exact form is about students of any norm.
_EXACT = {
    "draw": {"theta": uniform(0, np.pi), "size": log_uniform(1e-3, 1e2)},
    "build": None,
    "relation": "==",
    "right": _exact_change,
}

LEMMA_6_3 = Claim(
    id=f"{PAPER}.lemma-6.3",
    title="the norm grows near the origin",
    hypotheses=(_SPHERICAL, "$w \\ne 0$"),
    defect=WEIGHT,
    draw={"theta": uniform(0, np.pi), "share": uniform(0.01, 1)},
    build=lambda theta, share: {"theta": theta, "size": share * np.maximum(printed_threshold(theta), 1e-13)},
    left=norm_change,
    relation=">=",
    right=0.0,
    scale=lambda size: 1e-6 * size,
    as_printed=Form(
        "$\\frac{\\partial}{\\partial t}\\|w\\|^2 \\ge 0$ if $\\|w\\| \\le \\max\\{\\frac{\\sin\\theta + \\cos\\theta}2, "
        "\\frac{\\sin\\theta(1 + \\cos\\theta)}2\\}$.",
        corners=[{"theta": np.pi / 2, "size": 0.45}],
        recipe="""
turns = 2 * np.pi * np.arange(100_000) / 100_000  # over the circle; every spherical law gives the same sign
student = size * np.cos(turns - theta)
left = 4 * np.mean((np.maximum(np.cos(turns), 0) - student) * student * (student > 0))  # the change of |w|²
""",
    ),
    corrected=Form(
        "$\\frac{\\partial}{\\partial t}\\|w\\|^2 = E[x_1^2]\\,\\|w\\|(\\tau(\\theta) - \\|w\\|)$ with $\\tau(\\theta) = (\\sin\\theta + (\\pi - \\theta)\\cos\\theta)/\\pi$: the norm grows "
        "if and only if $\\|w\\| \\le \\tau(\\theta)$.",
        **_EXACT,
        factor=1.0,
    ),
    correction="The proof integrates over the circle with $dy_1$ in place of $dy_1/\\sqrt{1 - y_1^2}$. At $\\theta = \\pi/2$ the print allows "
    "$\\|w\\| \\le \\frac12$ where the norm shrinks beyond $1/\\pi$, and near $\\theta = \\pi$ it is too large by the factor $3\\pi/4$. "
    "What Theorem 6.4 needs, a positive threshold for $\\theta < \\pi$, remains.",
    control=Form("The same with 1.01 times that threshold.", **_EXACT, factor=1.01),
    arithmetic=_CIRCLE,
)


def _losses(w):
    r"""The loss for $\|v\| = 1$, in closed form (judged as Remark 6.5)."""
    size = norm(w)
    theta = np.arctan2(np.abs(w[..., 1]), w[..., 0])
    return (size**2 + 1) / 4 - size * growth(np.pi - theta) / (2 * np.pi)


def _midpoints(count, random):
    """By how much a midpoint is higher than the mean of its ends: the most over many pairs, in one row."""
    first, second = random.normal(size=(2, 200_000, 2))
    gaps = _losses((first + second) / 2) - (_losses(first) + _losses(second)) / 2
    worst = int(gaps.argmax())
    return {"first": first[worst : worst + 1], "second": second[worst : worst + 1], "gap": gaps[worst : worst + 1]}


CONVEX = Claim(
    id=f"{PAPER}.section-6.1.convex",
    title="the loss is not convex",
    hypotheses="ReLU, spherical inputs, $E[x_1^2] = 1$; 200,000 pairs",
    scope="remark",
    draw=_midpoints,
    left=lambda gap: gap,
    relation=">=",
    right=lambda bound=0.05: bound,
    known=0.0,
    as_printed="The loss is not convex: a midpoint may be higher than the mean of the ends, judged as $0.05$. (At the origin it is higher by "
    "$1/(4\\pi^2) = 0.0253$ than at $\\pm u$, $u \\perp v$, $\\|u\\| = 1/\\pi$.)",
    control=Form("It may be higher by $0.1$.", bound=0.1),
)


STRONGER = Claim(
    id=f"{PAPER}.section-6.1.stronger",
    title="Assumptions 6.1 and 4.1 compared",
    hypotheses="inputs uniform on a sphere, $d \\le 60$, in units of its radius; `distance` is $\\|y\\| \\le \\alpha = 1/\\sqrt d$ in a plane",
    scope="remark",
    draw={"d": integers(2, 60), "share": uniform(0, 1)},
    build=lambda d, share: {"d": d, "distance": share / np.sqrt(d)},
    where=lambda d, least=2: d >= least,
    # The density of the shadow of a sphere on a plane, inside; in two dimensions there is none.
    left=lambda d, distance: (d - 2) / (2 * np.pi) * (1 - distance**2) ** ((d - 4) / 2),
    relation=">=",
    right=lambda floor=1 / (2 * np.pi): floor,
    known=0.0,
    as_printed="Assumption 6.1 is stronger than Assumption 4.1: spherical inputs have a density of at least some $\\beta > 0$ near the origin of every plane.",
    as_meant=Form(
        "In three dimensions or more they are, but for inputs at zero: on a sphere of radius $R$ Assumption 4.1 (1) holds with $\\alpha = R/\\sqrt d$ and "
        "$\\beta = 1/(2\\pi R^2)$, and every other spherical law is a mixture of these.",
        least=3,
    ),
    supplied="Theorem 6.4, which asks for Assumption 4.1 (1) besides",
    correction="In the plane a circle or a ring has no density near the origin. For $d \\ge 3$ the smallest density on a sphere's shadow within $1/\\sqrt d$ is $\\frac1{2\\pi}$, at "
    "$d = 3$.",
    control=Form("The same with $\\beta = 0.16/R^2$.", least=3, floor=0.16),
)


def _one_step(size, theta, step):
    gradient = spherical_gradient(size, theta)
    moved = in_plane(size, theta) - step[..., None] * gradient
    gap = in_plane(size, theta) - _TEACHER
    return {
        "size": size,
        "theta": theta,
        "step": step,
        "after": np.arctan2(moved[..., 1], moved[..., 0]),
        "decrease": 2 * dot(gradient, gap) - step * dot(gradient, gradient),
        "gap": dot(gap, gap),
    }


_STEPS = {"size": log_uniform(1e-3, 1e2), "theta": uniform(0, np.pi), "step": uniform(0, 2)}

DESCENT = Claim(
    id=f"{PAPER}.section-6.1.descent",
    title="Theorem 6.4 for gradient descent",
    hypotheses="ReLU, spherical inputs, $\\eta \\le 2/E[x_1^2]$, $w_t \\ne 0$",
    scope="remark",
    draw=_STEPS,
    build=_one_step,
    left=lambda decrease: decrease,
    relation=">=",
    right=lambda theta, step, gap, factor=1.0: (
        factor * (2 - step / 2) * (np.pi - theta - np.sin(theta)) / (2 * np.pi) * gap
    ),
    scale=lambda size: 1e-6 * (1 + size**2),
    known=0.0,
    also=(
        Relation(
            draw=_STEPS, build=_one_step, left=lambda after: after, relation="<=", right=lambda theta: theta, scale=1e-6
        ),
    ),
    as_printed="The theorem extends to gradient descent: no step of at most $2/E[x_1^2]$ increases the angle, and $\\|w_{t+1} - v\\|^2 \\le (1 - \\eta(2 - \\frac\\eta2E[x_1^2])\\,"
    "E[x_1^2]\\,\\frac{\\epsilon - \\sin\\epsilon}{2\\pi})\\|w_t - v\\|^2$ for $\\theta(w_t, v) \\le \\pi - \\epsilon$. (The step is a positive combination of $w$ and $v$, and $\\|\\nabla F\\|^2 \\le "
    "\\frac12E[x_1^2]\\langle\\nabla F, w - v\\rangle$ by the inequality of Cauchy and Schwarz.)",
    control=Form("The same with 1.01 times the decrease.", factor=1.01),
)


# Theorem 6.4 ----------------------------------------------------------------------------------------------------------


@lru_cache
def _paths():
    sizes, gaps = np.meshgrid([1e-3, 0.1, 0.45, 0.9, 2.0], [0.02, 0.1, 0.3, 1.0, np.pi / 2, 2.5, np.pi])
    starts = in_plane(sizes.ravel(), np.pi - gaps.ravel())
    objective = population(neuron(_TEACHER, "relu", gaussian(2)))
    runs = descend(objective, starts, GradientFlow(horizon=60.0), step_limit(2000), record("distance", "norms"))
    rows = []
    for run, gap in enumerate(gaps.ravel()):
        time, squared, size = (np.ravel(runs.curve(name, run)[1]) for name in ("time", "distance", "norms"))
        along = {"time": time, "squared": squared**2, "size": size, "gap": np.full(len(time), gap)}
        # Closer to the teacher errors of the path are all that is seen.
        kept = squared > 1e-4
        about = {"start": np.tile(starts[run], (len(time), 1)), "before": np.full(len(time), squared[0] ** 2)}
        rows.append({name: value[kept] for name, value in (along | about).items()})
    return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}


def flows(count, random):
    """Paths of gradient flow, one row per time and start; no start is the teacher, where bounds hold with equality."""
    return _paths()


THEOREM_6_4 = Claim(
    id=f"{PAPER}.theorem-6.4",
    title="convergence of gradient flow from almost all starts",
    hypotheses=(
        "ReLU, spherical laws in units of $E[x_1^2]$, with $\\alpha^4\\beta = \\frac4\\pi E[x_1^2]$, that of a disc: no law has more",
        "$0 < \\|w(0)\\| \\le 2$, $\\theta(w(0), v) \\le \\pi - \\epsilon$, down to $\\|w(0)\\| = 10^{-3}$ and $\\epsilon = 0.02$",
    ),
    draw=flows,
    left=lambda squared: squared,
    relation="<=",
    right=lambda before, gap, time, factor=1 - 1e-5: before * np.exp(-factor * (gap - np.sin(gap)) / np.pi * time),
    scale=1e-12,
    where=lambda time: time > 0,
    known=lambda before: before,
    as_printed="$\\|w(t) - v\\|^2 \\le \\|w(0) - v\\|^2e^{-\\lambda t}$ with $\\lambda = \\frac{\\alpha^4\\beta}{8\\sqrt2}\\sin^3(\\epsilon/8)$. More is true, and judged: the same with "
    "$\\frac14\\alpha^4\\beta(\\epsilon - \\sin\\epsilon)$, at least 158 times as much, with equality from starts along $v$ (up to $10^{-5}$, the accuracy of the paths).",
    control=Form("The sharper form with 1.01 times the rate.", factor=1.01),
    arithmetic="closed-form gradients, adaptive Runge–Kutta steps",
)


def _log_failure(d):
    """The logarithm of the probability that the angle exceeds 3π/4 or the norm exceeds 2, over minus d."""
    # sin²(3π/4) = ½: the cap of opening π/4 has half the regularised beta function as its share.
    cap = np.where(d > 1, 0.5 * betainc(np.maximum(d - 1, 1) / 2, 0.5, 0.5), 0.5)
    return -np.log(cap + chdtrc(d, 4 * d)) / d


GOOD_START = Claim(
    id=f"{PAPER}.section-6.1.start",
    title="Gaussian starts satisfy the theorem's condition",
    hypotheses="$w(0) \\sim N(0, I/d)$, $1 \\le d \\le 1500$",
    scope="remark",
    draw={"d": integers(1, 1500)},
    left=_log_failure,
    relation=">=",
    right=lambda rate: rate,
    known=0.0,
    as_printed=Form(
        "$\\theta(w(0), v) \\le 3\\pi/4$ and $\\|w(0)\\| \\le 2$ with probability $1 - e^{-\\Omega(d)}$; judged as $1 - 2^{-d/2}$, the exact exponent.",
        rate=np.log(2) / 2,
    ),
    control=Form("With probability $1 - e^{-0.35d}$.", rate=0.35),
    arithmetic="exact probabilities",
)


# Section 6.2 ----------------------------------------------------------------------------------------------------------

_STARTS = np.array([[-1.0, 1.0], [-1.0, 0.5], [-1.0, 0.0]])


def _figure_1(count, random):
    """The three runs of Figure 1: how much the angle rises in 400 steps, the largest angle, and the end."""
    objective = population(neuron(_TEACHER, "relu", gaussian(2, mean=[0.0, 1.0])))
    steps = step_limit(22_000)
    runs = descend(objective, _STARTS, GradientDescent(1e-3), steps, record("angle", "distance", every=25))
    angles = np.array([runs.curve("angle", run)[1] for run in range(3)])
    ends = np.array([runs.curve("distance", run)[1][-1] for run in range(3)])
    return {
        "start": _STARTS,
        "first": angles[:, 0],
        "later": angles[:, 16],
        "largest": angles.max(axis=1),
        "smallest": angles.min(axis=1),
        "end": ends,
    }


SECTION_6_2 = Claim(
    id=f"{PAPER}.section-6.2.angle",
    title="the angle is not monotone for Gaussian inputs with a mean",
    hypotheses="ReLU, inputs $N((0, 1), I)$, $v = (1, 0)$, $\\eta = 10^{-3}$, 22,000 steps",
    scope="caption",
    draw=_figure_1,
    where=lambda start, starts=3: (start[..., 1] > 0) | (starts == 3),
    left=lambda first, later, largest, smallest, end: np.stack([later - first, largest, -smallest, -end], -1),
    relation=">=",
    right=lambda first, most=0.02: np.stack(
        [0.05 + 0 * first, np.pi - 0.02 + 0 * first, -0.1 + 0 * first, -most + 0 * first], -1
    ),
    as_printed=Form(
        "From $(-1, 1)$, $(-1, \\frac12)$ and $(-1, 0)$ gradient descent reaches $v$, the angle at first increases, and it attains every "
        "value in $(0, \\pi]$; judged as a rise by 0.05 in 400 steps, angles from 0.1 to $\\pi - 0.02$, and an end within 0.02.",
        recipe="""
x = np.random.default_rng(0).normal(size=(20_000, 2)) + np.array([0.0, 1.0])
w, v = np.array(start), np.array([1.0, 0.0])
for _ in range(400):  # sampled
    residual = np.maximum(x @ w, 0) - np.maximum(x @ v, 0)
    w = w - 1e-3 * np.mean((residual * (x @ w > 0))[:, None] * x, axis=0)
left = np.arctan2(abs(w[1]), w[0]) - first  # the rise of the angle in 400 steps: it started at π
right = 0.05
""",
    ),
    as_meant=Form("It does so from the first two starts.", starts=2),
    supplied="the start itself: $(-1, 0)$ is opposite to the teacher, at the angle $\\pi$, from where an angle can only decrease",
    correction="The third start is opposite to the teacher, at the angle $\\pi$, from where the angle can only decrease.",
    control=Form("From the first two starts the runs end within 0.01 of $v$.", starts=2, most=0.01),
    arithmetic="closed forms of the library",
)
