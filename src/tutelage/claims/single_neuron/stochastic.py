r"""Theorem 5.3 (3) and Lemmas C.1 to C.3: stochastic gradient descent.

Runs are made in the plane, with ReLU and inputs uniform in the unit disc: there $c_1 = c_2 = \gamma = \alpha = 1$ and
$\beta = 1/\pi$, so that $\lambda = 1/(210\pi)$, the largest ratio $\lambda/c_1$ that the assumptions allow. A disc of another radius
behaves the same for the same product $\eta c_1$.
"""

from __future__ import annotations

import numpy as np

from tutelage.claims.laws import log_uniform, real, uniform, unit
from tutelage.claims.single_neuron.convergence import one_gradient, one_input
from tutelage.claims.single_neuron.formulas import PAPER, SCALE, dot, in_plane, norm, over_circle
from tutelage.claims.statement import Claim, Form
from tutelage.claims.table import Chance
from tutelage.dynamics import StochasticGradientDescent, descend, record, step_limit
from tutelage.inputs import ball, gaussian
from tutelage.objectives import population
from tutelage.problems import neuron

_RATE = 1 / (210 * np.pi)
_SAMPLED = "200 runs, exact binomial bounds with error $10^{-4}$"


def _successes(count, random, law, step, length, before, after):
    """Runs from a circle around the teacher: how many are within `after` at each of some times, one row per time."""
    turns = 2 * np.pi * (np.arange(count) + 0.5) / count
    starts = np.array([1.0, 0.0]) + np.sqrt(before) * in_plane(np.ones(count), turns)
    objective = population(neuron(np.array([1.0, 0.0]), "relu", law))
    times = np.unique(np.round(np.append(0, np.geomspace(1, length, 80))).astype(int))
    runs = descend(
        objective,
        starts,
        StochasticGradientDescent(step),
        step_limit(length),
        record("distance", steps=times.tolist()),
        seed=int(random.integers(2**31)),
    )
    far = np.full((count, len(times)), np.inf)
    for run in range(count):
        # A run that has diverged has no entries at the end.
        distances = np.ravel(runs.curve("distance", run)[1])
        far[run, : len(distances)] = distances**2
    good = np.sum(np.nan_to_num(far, nan=np.inf) <= after, axis=0)
    return {
        "start": np.tile(starts[count // 4], (len(times), 1)),
        "step": np.full(len(times), step),
        "length": np.full(len(times), length),
        "time": times,
        "share": times / length,
        "successes": good,
        "trials": np.full(len(times), count),
    }


# Theorem 5.3: stochastic descent --------------------------------------------------------------------------------------

_EPSILON, _DELTA = 0.01, 1e-6
_EPOCHS = np.ceil(20 * np.log(1 / _EPSILON) / _RATE)


def _steps(step):
    """The printed number of iterations, for c₁ = 1."""
    return int(np.ceil(2 * np.log(1 / _EPSILON) / (_RATE * step)))


STOCHASTIC = Claim(
    id=f"{PAPER}.theorem-5.3.stochastic",
    place="Theorem 5.3 (3)",
    title="convergence of stochastic gradient descent",
    hypotheses=(
        "Assumptions 4.1 and 5.2: ReLU, inputs uniform in a disc, in units of its radius",
        "$\\epsilon_1 = \\frac12$, $\\epsilon_2 = 0.01$, $\\delta = 10^{-6}$",
    ),
    kind="condition",
    defect=SCALE,
    draw=lambda count, random, product: _successes(
        count, random, ball(2, radius=1.0), product, _steps(product), 0.5, _EPSILON
    ),
    runs=True,
    where=lambda share, least: share >= least,
    left=Chance(),
    relation=">=",
    right=1 - _EPOCHS * _DELTA,
    known=0.0,
    as_printed=Form(
        "With $\\eta \\le \\lambda\\epsilon_1^2\\epsilon_2^2c_3^2/(60c_1^3c_2^6\\log\\frac1\\delta)$, after $T \\ge 2\\log(1/\\epsilon_2)/(\\lambda\\eta)$ steps "
        "$\\|w_T - v\\|^2 \\le \\epsilon_2$ with probability $1 - \\lceil20c_1c_2^2\\log(1/\\epsilon_2)/\\lambda\\rceil\\delta$; judged for the $c_1$, about "
        "$10^{-23}$, for which the largest step is $40/c_1$.",
        product=40.0,
        least=1.0,
        recipe="""
random = np.random.default_rng(0)
good = []
for _ in range(400):
    w = np.array(start)
    for _ in range(int(length)):  # inputs uniform in the unit disc
        turn, distance = 2 * np.pi * random.uniform(), np.sqrt(random.uniform())
        x = distance * np.array([np.cos(turn), np.sin(turn)])
        if w @ x > 0:
            w = w - step * (w @ x - max(x[0], 0)) * x
    good.append((w[0] - 1) ** 2 + w[1] ** 2 <= 0.01)
left = np.mean(good)
right = 1 - np.ceil(20 * 210 * np.pi * np.log(100)) * 1e-6  # the probability claimed
""",
    ),
    corrected=Form(
        "The same under $c_1c_2^2 \\ge 1$ and $\\epsilon_2 < 1$ (or with $c_1^2c_2^4\\max\\{1, c_1c_2^2\\}$ for $c_1^3c_2^6$); judged for $\\eta c_1 = 0.5$, far "
        "larger than the printed step, which would take more than $10^{20}$ iterations.",
        product=0.5,
        least=1.0,
    ),
    correction="The bound on the step does not scale with the inputs: $\\eta c_1c_2^2$ must be small, but the printed bound makes it "
    "proportional to $1/(c_1c_2^2)$. The proof takes $c_1c_2^2 \\ge 1$ for granted, for instance in Equation (11). Also "
    "$\\epsilon_2 < 1$ must be meant: else the number of steps is negative.",
    control=Form("The corrected form after a thousandth of the iterations.", product=0.5, least=0.001),
    arithmetic=_SAMPLED,
)

_GAUSSIAN_RATE = 16 * np.exp(-2) / (2 * np.pi) / 210

REMARK_5_4 = Claim(
    id=f"{PAPER}.remark-5.4.stochastic",
    place="Remark 5.4",
    title="stochastic gradient descent with sub-Gaussian inputs",
    hypotheses=(
        "ReLU, standard Gaussian inputs in the plane",
        "$\\|w_0 - v\\|^2 = \\frac12$, $\\epsilon_2 = 0.01$, $\\eta = 0.3$",
    ),
    draw=lambda count, random: _successes(
        count,
        random,
        gaussian(2),
        0.3,
        int(np.ceil(2 * np.log(1 / _EPSILON) / (_GAUSSIAN_RATE * 0.3))),
        0.5,
        _EPSILON,
    ),
    runs=True,
    where=lambda share, least: share >= least,
    left=Chance(),
    relation=">=",
    right=0.99,
    known=0.0,
    as_printed=Form(
        "Sub-Gaussian inputs are enough: after $2\\log(1/\\epsilon_2)/(\\lambda\\eta)$ steps $\\|w - v\\|^2 \\le \\epsilon_2$ with high probability "
        "(judged as 0.99).",
        least=1.0,
    ),
    control=Form("So it is after 10 of the 18,700 steps.", least=0.0005),
    arithmetic=_SAMPLED,
)


# Lemma C.1 ------------------------------------------------------------------------------------------------------------


def _student(turn, radius, product):
    w = np.array([1.0, 0.0]) + in_plane(radius, turn)
    return {
        "squared": radius**2,
        "size": norm(w),
        "theta": np.arctan2(np.abs(w[..., 1]), w[..., 0]),
        "product": product,
    }


def _expected_change(size, theta, product):
    r"""The change of $E\|w - v\|^2$ over $\eta$ in the unit disc, where $E r^2 = \frac12$ and $E r^4 = \frac13$."""
    size = np.expand_dims(size, -1)

    def active(s, t):
        return np.where(s > 0, size * s - np.maximum(t, 0), 0.0)

    inner = over_circle(theta, lambda s, t: active(s, t) * (size * s - t)) / 2
    return -2 * inner + product * over_circle(theta, lambda s, t: active(s, t) ** 2) / 3


LEMMA_C_1 = Claim(
    id=f"{PAPER}.lemma-C.1",
    place="Lemma C.1",
    title="one stochastic step in expectation",
    hypotheses=(
        "ReLU, inputs uniform in a disc, in units of its radius",
        "$\\|w_t - v\\|^2 \\le 1 - \\epsilon$; any step",
    ),
    draw={"turn": uniform(0, np.pi), "radius": uniform(0.01, 1), "product": log_uniform(1e-4, 1e2)},
    build=_student,
    left=_expected_change,
    relation="<=",
    right=lambda squared, product, constant: (-2 * _RATE + product * constant) * squared,
    scale=lambda squared: 1e-6 * squared,
    as_printed=Form(
        "$E\\|w_{t+1} - v\\|^2 \\le (1 - 2\\eta\\lambda + \\eta^2c)\\|w_t - v\\|^2$ with $c = c_1^2c_2^4$; the change, over $\\eta$. (A twelfth of $c$ is enough in "
        "a disc, if the student is along the teacher.)",
        constant=1.0,
    ),
    control=Form("The same with $c = c_1^2c_2^4/12.5$.", constant=0.08),
    arithmetic="Gauss–Legendre rules over the circle",
)


# Lemma C.2 ------------------------------------------------------------------------------------------------------------


def _with_step(gap, v, x, slopes, share):
    built = one_input(gap, v, x, slopes)
    largest = 1 / (dot(built["x"], built["x"]) * np.max(slopes, -1) ** 2)
    return {**built, "step": share * largest}


def _change(w, v, x, slopes, step):
    """The change of |w − v|² in one step, over the step."""
    gradient = one_gradient(w, v, x, slopes)
    return -2 * dot(gradient, w - v) + step * dot(gradient, gradient)


LEMMA_C_2 = Claim(
    id=f"{PAPER}.lemma-C.2",
    place="Lemma C.2",
    title="stochastic descent stays close to the teacher for one epoch",
    hypotheses=(
        "Assumption 5.2, two positive slopes, $d = 2$; one input with $\\|x\\|^2 = c_1$, the hardest case",
        "$\\eta \\le 2/(c_1c_2^2)$; the lemma's steps are smaller by more than $10^3$ for $\\delta \\le \\frac12$, as $\\lambda \\le c_1c_2^2/(210\\pi)$",
    ),
    draw={
        "gap": real((2,)),
        "v": unit(2),
        "x": real((2,)),
        "slopes": log_uniform(0.4, 2.7, (2,)),
        "share": uniform(0, 1),
    },
    build=lambda gap, v, x, slopes, share, most: _with_step(gap, v, x, slopes, most * share),
    left=_change,
    relation="<=",
    right=0.0,
    scale=lambda w, v, x: 1e-6 * dot(x, x) * dot(w - v, w - v),
    as_printed=Form(
        "With probability at least $1 - \\delta$, $\\|w_i - v\\|^2 \\le 1 - \\epsilon/2$ for all $i \\le m$. More is true, and judged: no step of at most "
        "$2/(c_1c_2^2)$ ever increases the distance, whatever the input.",
        most=2.0,
    ),
    control=Form("No step of at most $2.02/(c_1c_2^2)$ does.", most=2.02),
)


# Lemma C.3 ------------------------------------------------------------------------------------------------------------

_CONTRACTION = 2.0 ** (-_RATE / 20)

LEMMA_C_3 = Claim(
    id=f"{PAPER}.lemma-C.3",
    place="Lemma C.3",
    title="one epoch of stochastic descent contracts",
    hypotheses=(
        "ReLU, inputs uniform in a disc, in units of its radius; $\\delta = 0.05$, $\\|w_0 - v\\|^2 = \\epsilon_1 = \\epsilon_2 = \\frac12$",
        "$m = 1/(9\\eta c_1c_2^2)$ steps",
    ),
    kind="condition",
    defect=SCALE,
    draw=lambda count, random, product: _successes(
        count, random, ball(2, radius=1.0), product, int(np.floor(1 / (9 * product) + 1e-9)), 0.5, 0.5 * _CONTRACTION
    ),
    runs=True,
    where=lambda share, least: share >= least,
    left=Chance(),
    relation=">=",
    right=0.95,
    known=0.0,
    as_printed=Form(
        "With $\\eta \\le \\lambda\\epsilon_1^2\\epsilon_2^2c_3^2/(60c_1^3c_2^6\\log\\frac2\\delta)$, $\\|w_m - v\\|^2 \\le "
        "2^{-\\lambda/(20c_1c_2^2)}\\|w_0 - v\\|^2$ with probability $1 - \\delta$; judged for $c_1 = 1.3\\cdot10^{-16}$, where the "
        "largest step is $1/(9c_1)$ and $m = 1$.",
        product=1 / 9,
        least=1.0,
        recipe="""
random = np.random.default_rng(0)
good = []
for _ in range(4000):
    turn, distance = 2 * np.pi * random.uniform(), np.sqrt(random.uniform())
    x = distance * np.array([np.cos(turn), np.sin(turn)])
    w = np.array(start)
    if w @ x > 0:
        w = w - step * (w @ x - max(x[0], 0)) * x
    good.append((w[0] - 1) ** 2 + w[1] ** 2 <= 0.5 * 2 ** (-1 / (20 * 210 * np.pi)))
left = np.mean(good)
right = 0.95  # the probability claimed
""",
    ),
    corrected=Form(
        "The same under $c_1c_2^2 \\ge 1$; judged for $\\eta c_1 = 3\\cdot10^{-5}$, far larger than the printed step.",
        product=3e-5,
        least=1.0,
    ),
    correction="As in Theorem 5.3 (3), the bound on the step does not scale with the inputs; for small inputs an epoch is a single step, "
    "of which about half see $w\\cdot x \\le 0$ and do nothing.",
    control=Form("The corrected form after two steps of the epoch.", product=3e-5, least=0.0005),
    arithmetic=_SAMPLED,
)
