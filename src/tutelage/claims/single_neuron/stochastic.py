r"""Theorem 5.3 (3) and Lemmas C.1 to C.3: stochastic gradient descent.

Runs are made in the plane, with ReLU and inputs uniform in a disc of radius $R$: there $c_1 = R^2$, $c_2 = \gamma = 1$,
$\alpha = R$ and $\beta = 1/(\pi R^2)$, so that $\lambda = R^2/(210\pi)$, the largest ratio $\lambda/c_1$ that the assumptions allow.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tutelage.claims.base import Claim, Effort, Form, Outcome, worst_of
from tutelage.claims.pointwise import Family, Pointwise, at_most
from tutelage.claims.single_neuron.legacy import PAPER, nonzero, sigmoid, stochastic_gradient, unit
from tutelage.claims.single_neuron.plane import rule
from tutelage.inputs import ball

# Theorem 5.3: stochastic descent --------------------------------------------------------------------------------------


class Disc(NamedTuple):
    r"""The constants of a disc of given $c_1 = R^2$, and of given $\epsilon_1, \epsilon_2, \delta$."""

    c1: float
    epsilon_1: float
    epsilon_2: float
    delta: float

    @property
    def rate(self) -> float:
        r"""The paper's $\lambda$."""
        return self.c1 / (210 * np.pi)

    @property
    def c3(self) -> float:
        r"""The paper's $c_3 = 2^{-\lambda/(20c_1)} - 2^{-\lambda/(18c_1)}$."""
        ratio = self.rate / self.c1 * np.log(2)
        return float(np.exp(-ratio / 18) * np.expm1(ratio / 18 - ratio / 20))

    @property
    def step(self) -> float:
        """The largest step of Theorem 5.3 (3), as printed."""
        top = self.rate * self.epsilon_1**2 * self.epsilon_2**2 * self.c3**2
        return top / (60 * self.c1**3 * np.log(1 / self.delta))

    @property
    def failures(self) -> float:
        """The printed probability of failure."""
        return float(np.ceil(20 * self.c1 * np.log(1 / self.epsilon_2) / self.rate) * self.delta)

    def steps(self, step: float) -> int:
        """The printed number of iterations."""
        return int(np.ceil(2 * np.log(1 / self.epsilon_2) / (self.rate * step)))


@partial(jax.jit, static_argnums=(4, 5))
def stochastic_distances(key, starts, step, radius, length: int, bounded: bool = True):
    """Squared distances to the teacher e₁ after stochastic descent on a disc, and the largest on the way.

    With `bounded` false the inputs are Gaussian, with the radius as their standard deviation.
    """
    teacher = jnp.array([1.0, 0.0])

    def run(key, w):
        def move(state, key):
            w, largest = state
            normal = jax.random.normal(key, (3,))
            # Uniform in the disc: a direction, and the square root of a uniform number as the distance.
            distance = radius * jnp.sqrt(jax.scipy.stats.norm.cdf(normal[2]))
            x = distance * normal[:2] / jnp.linalg.norm(normal[:2]) if bounded else radius * normal[:2]
            residual = jnp.maximum(w @ x, 0) - jnp.maximum(teacher @ x, 0)
            w = w - step * jnp.where(w @ x > 0, residual, 0.0) * x
            return (w, jnp.maximum(largest, jnp.sum((w - teacher) ** 2))), None

        (w, largest), _ = jax.lax.scan(move, (w, jnp.sum((w - teacher) ** 2)), jax.random.split(key, length))
        return jnp.sum((w - teacher) ** 2), largest

    return jax.vmap(run)(jax.random.split(key, starts.shape[0]), starts)


def circle_starts(count: int, squared: float) -> np.ndarray:
    """Starts on the circle |w − v|² = `squared` around the teacher e₁."""
    turns = 2 * np.pi * (np.arange(count) + 0.5) / count
    return np.array([1.0, 0.0]) + np.sqrt(squared) * np.stack([np.cos(turns), np.sin(turns)], axis=1)


def share_of(good: np.ndarray, wanted: float) -> float:
    """The margin of a share against a probability, with three standard errors."""
    return float(np.mean(good) + 3 * np.sqrt(wanted * (1 - wanted) / len(good)) - wanted)


def _stochastic(disc: Disc, relaxed: float | None):
    """Run from |w₀ − v|² = 1 − ε₁ with the printed step, or with η·c₁ = `relaxed`."""

    def test(effort: Effort, seed: int) -> Outcome:
        step = disc.step if relaxed is None else relaxed / disc.c1
        length = disc.steps(step)
        starts = circle_starts(effort.runs, 1 - disc.epsilon_1)
        ends, _ = stochastic_distances(jax.random.key(seed), jnp.asarray(starts), step, float(np.sqrt(disc.c1)), length)
        good = np.asarray(ends) <= disc.epsilon_2
        witness = {"radius": np.sqrt(disc.c1), "step": step, "length": length, "start": starts[len(starts) // 2]}
        witness |= {"epsilon_2": disc.epsilon_2, "failures": disc.failures, "share": np.mean(good)}
        note = (
            f"{length} steps; {np.mean(good):.3f} of the runs end within ε₂, claimed at least {1 - disc.failures:.4f}"
        )
        return Outcome(share_of(good, 1 - disc.failures), len(starts), witness, note)

    return test


# With c₁ = 1e-19 the printed step is 40/c₁, far beyond 2/c₁, where descent stops contracting.
_SMALL = Disc(c1=1e-19, epsilon_1=0.5, epsilon_2=0.5, delta=1e-6)
_UNIT = Disc(c1=1.0, epsilon_1=0.5, epsilon_2=0.5, delta=1e-6)

STOCHASTIC = Claim(
    id=f"{PAPER}.theorem-5.3.stochastic",
    place="Theorem 5.3 (3)",
    title="convergence of stochastic gradient descent",
    hypotheses=(
        "Assumptions 4.1 and 5.2: ReLU, inputs uniform in a disc",
        "$\\epsilon_1 = \\epsilon_2 = \\frac12$, $\\delta = 10^{-6}$",
    ),
    as_printed=Form(
        "With $\\eta \\le \\lambda\\epsilon_1^2\\epsilon_2^2c_3^2/(60c_1^3c_2^6\\log\\frac1\\delta)$, after $T \\ge 2\\log(1/\\epsilon_2)/(\\lambda\\eta)$ steps "
        "$\\|w_T - v\\|^2 \\le \\epsilon_2$ with probability $1 - \\lceil20c_1c_2^2\\log(1/\\epsilon_2)/\\lambda\\rceil\\delta$; judged for $c_1 = 10^{-19}$.",
        _stochastic(_SMALL, None),
        recipe="""
random = np.random.default_rng(0)
good = []
for _ in range(400):
    w = np.array(start)
    for _ in range(int(length)):
        turn, distance = 2 * np.pi * random.uniform(), radius * np.sqrt(random.uniform())
        x = distance * np.array([np.cos(turn), np.sin(turn)])
        if w @ x > 0:
            w = w - step * (w @ x - max(x[0], 0)) * x
    good.append((w[0] - 1) ** 2 + w[1] ** 2 <= epsilon_2)
left = 1 - failures  # the probability claimed
right = np.mean(good)
""",
    ),
    corrected=Form(
        "The same under $c_1c_2^2 \\ge 1$ and $\\epsilon_2 < 1$ (or with $c_1^2c_2^4\\max\\{1, c_1c_2^2\\}$ for $c_1^3c_2^6$); judged for $c_1 = 1$ with "
        "a step of 0.1, far larger than the printed one of $4\\cdot10^{-18}$, which would take $10^{20}$ steps.",
        _stochastic(_UNIT, 0.1),
    ),
    correction="The bound on the step does not scale with the inputs: $\\eta c_1c_2^2$ must be small, but the printed bound makes it "
    "proportional to $1/(c_1c_2^2)$. The proof takes $c_1c_2^2 \\ge 1$ for granted, for instance in Equation (11). Also "
    "$\\epsilon_2 < 1$ must be meant: else the number of steps is negative.",
    control=Form("The corrected form with $\\eta = 40/c_1$.", _stochastic(_UNIT, 40.0)),
    arithmetic="sampling: 200 runs, three standard errors",
)


# Remark 5.4 -----------------------------------------------------------------------------------------------------------


def _gaussian_runs(step: float):
    def test(effort: Effort, seed: int) -> Outcome:
        # The rate of standard Gaussian inputs and ReLU: the largest α⁴e^(−α²/2)/(2π), at α = 2, over 210.
        rate = 16 * np.exp(-2) / (2 * np.pi) / 210
        length = int(np.ceil(2 * np.log(2) / (rate * min(step, 0.1))))
        starts = circle_starts(effort.runs, 0.5)
        ends, _ = stochastic_distances(jax.random.key(seed), jnp.asarray(starts), step, 1.0, length, False)
        good = np.nan_to_num(np.asarray(ends), nan=np.inf) <= 0.5
        witness = {"step": step, "length": length, "share": np.mean(good), "largest": np.max(np.asarray(ends))}
        note = f"{length} steps; {np.mean(good):.3f} of the runs end within ε₂ = ½"
        return Outcome(share_of(good, 0.99), len(starts), witness, note)

    return test


REMARK_5_4 = Claim(
    id=f"{PAPER}.remark-5.4.stochastic",
    place="Remark 5.4",
    title="stochastic gradient descent with sub-Gaussian inputs",
    hypotheses=(
        "ReLU, standard Gaussian inputs in the plane",
        "$\\|w_0 - v\\|^2 = \\frac12$, $\\epsilon_2 = \\frac12$, $\\eta = 0.1$",
    ),
    as_printed=Form(
        "Sub-Gaussian inputs are enough: after $2\\log(1/\\epsilon_2)/(\\lambda\\eta)$ steps $\\|w - v\\|^2 \\le \\epsilon_2$ with high probability "
        "(judged as 0.99).",
        _gaussian_runs(0.1),
    ),
    control=Form("The same with $\\eta = 5$.", _gaussian_runs(5.0)),
    arithmetic="sampling: 200 runs, three standard errors",
)


# Lemma C.1 ------------------------------------------------------------------------------------------------------------


def _one_step(constant: float):
    """The expected squared distance after one step, exactly, against (1 − 2ηλ + η²c)|w − v|²."""

    def test(effort: Effort, seed: int) -> Outcome:
        random = np.random.default_rng(seed)
        found = []
        for _ in range(effort.runs // 4):
            radius = 10.0 ** random.uniform(-1, 1)
            gap = random.normal(size=2)
            gap *= np.sqrt(random.uniform()) / np.linalg.norm(gap)
            w = np.array([1.0, 0.0]) + gap
            nodes = rule(ball(2, radius=radius), float(np.linalg.norm(w)), float(abs(np.arctan2(w[1], w[0]))), radius)
            active = (nodes.student > 0) * (nodes.student - np.maximum(nodes.teacher, 0))
            inner = np.sum(nodes.weights * active * (nodes.student - nodes.teacher))
            square = np.sum(nodes.weights * active**2 * nodes.distance**2)
            rate, squared = radius**2 / (210 * np.pi), gap @ gap
            for step in 10.0 ** random.uniform(-4, 1, size=4) / radius**2:
                left = squared - 2 * step * inner + step**2 * square
                right = (1 - 2 * step * rate + step**2 * constant * radius**4) * squared
                margin = (right - left) / max(abs(left), abs(right))
                found.append((margin, {"radius": radius, "w": w, "step": step, "left": left, "right": right}))
        return worst_of(found)

    return test


LEMMA_C_1 = Claim(
    id=f"{PAPER}.lemma-C.1",
    place="Lemma C.1",
    title="one stochastic step in expectation",
    hypotheses=("ReLU, inputs uniform in a disc", "$\\|w_t - v\\|^2 \\le 1 - \\epsilon$; any step"),
    as_printed=Form(
        "$E\\|w_{t+1} - v\\|^2 \\le (1 - 2\\eta\\lambda + \\eta^2c)\\|w_t - v\\|^2$ with $c = c_1^2c_2^4$.",
        _one_step(1.0),
    ),
    control=Form("The same with $c = c_1^2c_2^4/20$.", _one_step(0.05)),
    arithmetic="Gauss–Legendre rules in the plane",
)


# Lemma C.2 ------------------------------------------------------------------------------------------------------------


def _stays(scale: float = 1.0):
    """Do runs of m steps stay within 1 − ε/2 of the teacher? The step is the largest allowed, times a scale."""
    c1, epsilon, delta = 1.0, 0.5, 0.1

    def test(effort: Effort, seed: int) -> Outcome:
        step = 0.999 * epsilon**2 * (c1 / (210 * np.pi)) / (3 * c1**2 * np.log(1 / delta))
        length = int(1 / (9 * step * c1))
        starts = circle_starts(effort.runs, 1 - epsilon)
        _, largest = stochastic_distances(jax.random.key(seed), jnp.asarray(starts), scale * step, 1.0, length)
        good = np.asarray(largest) <= 1 - epsilon / 2
        witness = {"step": scale * step, "length": length, "share": np.mean(good), "largest": np.max(largest)}
        note = f"{length} steps; {np.mean(good):.3f} of the runs stay, claimed more than {1 - delta}"
        runs = Outcome(share_of(good, 1 - delta), len(starts), witness, note)
        steps = _never_away(2.0 * scale)(effort, seed)
        worst = min(runs, steps, key=lambda outcome: outcome.margin)
        return Outcome(worst.margin, runs.instances + steps.instances, worst.witness, note)

    return test


def _never_away(most: float):
    """Does no single step of at most `most`/(c₁c₂²) increase the distance to the teacher?"""

    def check(i):
        gradient = stochastic_gradient(i["w"], i["v"], i["x"], i["left_slope"], i["right_slope"])
        step = most * i["share"] / (i["x"] @ i["x"] * jnp.maximum(i["left_slope"], i["right_slope"]) ** 2)
        gap = i["w"] - i["v"]
        return at_most(jnp.sum((gap - step * gradient) ** 2), gap @ gap, 1e-30)

    def build(raw):
        v, x = unit(raw["v"]), nonzero(raw["x"])
        left, right = jnp.exp(raw["slopes"] / (1 + jnp.abs(raw["slopes"])))
        built = {"w": v + nonzero(raw["w"]), "v": v, "x": x, "left_slope": left, "right_slope": right}
        return built | {"share": sigmoid(raw["t"])}

    shapes = {"w": (2,), "v": (2,), "x": (2,), "slopes": (2,), "t": ()}
    return Pointwise(check, [Family(shapes, build)])


LEMMA_C_2 = Claim(
    id=f"{PAPER}.lemma-C.2",
    place="Lemma C.2",
    title="stochastic descent stays close to the teacher for one epoch",
    hypotheses=(
        "ReLU, inputs uniform in the unit disc",
        "$\\|w_0 - v\\|^2 = 1 - \\epsilon$, $\\epsilon = \\frac12$, $\\delta = 0.1$, the largest step and the longest epoch allowed",
    ),
    as_printed=Form(
        "With probability at least $1 - \\delta$, $\\|w_i - v\\|^2 \\le 1 - \\epsilon/2$ for all $i \\le m$. More is true, and judged as well: no step of "
        "at most $2/(c_1c_2^2)$ ever increases the distance, whatever the input.",
        _stays(),
    ),
    control=Form("The same with steps ten thousand times as large.", _stays(1e4)),
    arithmetic="sampling: 200 runs, three standard errors; single steps in closed form",
)


# Lemma C.3 ------------------------------------------------------------------------------------------------------------


def _epoch(relaxed: float):
    """One epoch of m = 1/(9ηc₁) steps with the given η·c₁, from |w₀ − v|² = ½."""
    delta = 0.05

    def test(effort: Effort, seed: int) -> Outcome:
        length = int(np.floor(1 / (9 * relaxed) + 1e-9))
        starts = circle_starts(effort.runs, 0.5)
        # The scale of the inputs does not matter for given η·c₁: judged in the unit disc.
        ends, _ = stochastic_distances(jax.random.key(seed), jnp.asarray(starts), relaxed, 1.0, length)
        factor = 2.0 ** (-1 / (20 * 210 * np.pi))
        good = np.asarray(ends) <= 0.5 * factor
        witness = {"step": relaxed, "length": length, "start": starts[0], "delta": delta, "share": np.mean(good)}
        note = f"{length} steps; {np.mean(good):.3f} of the runs contract, claimed at least {1 - delta}"
        return Outcome(share_of(good, 1 - delta), len(starts), witness, note)

    return test


LEMMA_C_3 = Claim(
    id=f"{PAPER}.lemma-C.3",
    place="Lemma C.3",
    title="one epoch of stochastic descent contracts",
    hypotheses=(
        "ReLU, inputs uniform in a disc, $\\delta = 0.05$, $\\|w_0 - v\\|^2 = \\epsilon_1 = \\epsilon_2 = \\frac12$",
        "$m = 1/(9\\eta c_1c_2^2)$ steps",
    ),
    as_printed=Form(
        "With $\\eta \\le \\lambda\\epsilon_1^2\\epsilon_2^2c_3^2/(60c_1^3c_2^6\\log\\frac2\\delta)$, $\\|w_m - v\\|^2 \\le "
        "2^{-\\lambda/(20c_1c_2^2)}\\|w_0 - v\\|^2$ with probability $1 - \\delta$; judged for $c_1 = 1.3\\cdot10^{-16}$, where the "
        "largest step is $1/(9c_1)$ and $m = 1$ (in units of the disc).",
        _epoch(1 / 9),
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
left = 1 - delta  # the probability claimed
right = np.mean(good)
""",
    ),
    corrected=Form(
        "The same under $c_1c_2^2 \\ge 1$; judged for $\\eta c_1 = 3\\cdot10^{-5}$, far larger than the printed step.",
        _epoch(3e-5),
    ),
    correction="As in Theorem 5.3 (3), the bound on the step does not scale with the inputs; for small inputs an epoch is a single step, "
    "of which about half see $w\\cdot x \\le 0$ and do nothing.",
    control=Form("The corrected form with $\\eta c_1 = 0.05$, two steps.", _epoch(0.05)),
    arithmetic="sampling: 200 runs, three standard errors",
)
