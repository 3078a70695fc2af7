"""Section 5: convergence with constant probability, for gradient flow and gradient descent."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import quad
from scipy.special import gammaln, ndtr, xlogy

from tutelage.activations import LeakyReLU, ReLU
from tutelage.claims import scan
from tutelage.claims.base import Claim, Effort, Form, Outcome, worst_of
from tutelage.claims.pointwise import Family, Pointwise, at_most
from tutelage.claims.scan import Scan
from tutelage.claims.single_neuron import estimators
from tutelage.claims.single_neuron.legacy import (
    PAPER,
    exact_gradient,
    flow_step,
    law_named,
    sigmoid,
    stochastic_gradient,
    unit,
)
from tutelage.inputs import ball, sphere
from tutelage.objectives import Objective, population
from tutelage.problems import neuron

# Lemma 5.1 ------------------------------------------------------------------------------------------------------------


def start_probability(dimension: int, deviation: float) -> float:
    r"""The probability that $\|w - v\|^2 \le 1 - 2\tau^2d$ for $w \sim N(0, \tau^2I)$ and a unit vector $v$.

    With $w\cdot v = \tau g$ and $\tau\rho$ the norm of the rest, the condition is $g^2 - 2g/\tau + \rho^2 + 2d \le 0$: an interval for
    $g$, given $\rho$, which is integrated over its density.
    """

    def inside(rest: float) -> float:
        total = deviation**2 * (rest**2 + 2 * dimension)
        root = np.sqrt(max(1 - total, 0.0))
        return float(ndtr((1 + root) / deviation) - ndtr(total / (1 + root) / deviation))

    freedom = dimension - 1
    if freedom == 0:
        return inside(0.0)
    scale = (1 - freedom / 2) * np.log(2) - gammaln(freedom / 2)

    def density(rest: float) -> float:
        return float(np.exp(scale + xlogy(freedom - 1, rest) - rest**2 / 2))

    # Beyond its edge the interval is empty; beyond ten standard deviations nothing is left of the density.
    edge = np.sqrt(max(1 / deviation**2 - 2 * dimension, 0.0))
    low, high = max(np.sqrt(freedom) - 10, 0.0), np.sqrt(freedom) + 10
    ends = min(low, edge), min(high, edge)
    return quad(lambda rest: density(rest) * inside(rest), *ends, epsabs=1e-13, epsrel=1e-11)[0]


def _start(constant: float, base: float):
    """Is the probability at least ½ − constant·τd − base^d?"""

    def draw(count, random):
        dimensions = np.array([1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 50, 100, 300, 1000])
        products = np.sqrt(0.5) * np.array([1.0, 0.7, 0.4, 0.2, 0.1, 0.03, 0.01, 1e-3])
        grid = np.array([(d, p) for d in dimensions for p in products])
        return {"dimension": grid[:, 0].astype(int), "deviation": grid[:, 1] / grid[:, 0]}

    def check(i):
        d, tau = i["dimension"], i["deviation"]
        exact = [start_probability(int(a), float(b)) for a, b in zip(d, tau, strict=True)]
        return scan.at_most(0.5 - constant * tau * d - base ** d.astype(float), exact)

    return Scan(draw, check, "exact probabilities; for small τd they are ½ − 0.598τd")


LEMMA_5_1 = Claim(
    id=f"{PAPER}.lemma-5.1",
    place="Lemma 5.1",
    title="a small Gaussian start is close enough half of the time",
    hypotheses=("$\\|v\\| = 1$, $w \\sim N(0, \\tau^2I)$, $\\tau \\le 1/(d\\sqrt2)$", "$d$ from 1 to 1000"),
    as_printed=Form(
        "$P(\\|w - v\\|^2 \\le 1 - 2\\tau^2d) > \\frac12 - \\frac14\\tau d - 1.2^{-d}$.",
        _start(0.25, 1 / 1.2),
        recipe="""
random = np.random.default_rng(0)
g, rest = random.normal(size=1_000_000), random.chisquare(max(dimension - 1, 1), size=1_000_000) * (dimension > 1)
left = 0.5 - 0.25 * deviation * dimension - 1.2 ** -float(dimension)
right = np.mean(deviation**2 * (g**2 + rest + 2 * dimension) <= 2 * deviation * g)  # sampled
""",
    ),
    corrected=Form(
        "$P(\\|w - v\\|^2 \\le 1 - 2\\tau^2d) > \\frac12 - \\sqrt{2/\\pi}\\,\\tau d - (2/e)^{d/2}$.",
        _start(np.sqrt(2 / np.pi), np.sqrt(2 / np.e)),
    ),
    correction="The proof bounds $\\mathrm{erf}$ from below where it needs an upper bound, $\\mathrm{erf}(z) \\le 2z/\\sqrt\\pi$, and $(2/e)^{d/2} = "
    "1.166^{-d}$ is not below $1.2^{-d}$. For small $\\tau d$ the probability is $\\frac12 - \\frac3{2\\sqrt{2\\pi}}\\tau d$; it still tends to one half.",
    control=Form("The corrected form with $\\frac12\\tau d$.", _start(0.5, np.sqrt(2 / np.e))),
    arithmetic="exact probabilities by quadrature",
)


# Assumption 5.2 -------------------------------------------------------------------------------------------------------


def _bounded_gradients(power: float):
    def check(i):
        gradient = stochastic_gradient(i["w"], i["v"], i["x"], i["left_slope"], i["right_slope"])
        c1, c2 = i["x"] @ i["x"], jnp.maximum(i["left_slope"], i["right_slope"])
        gap = i["w"] - i["v"]
        return at_most(gradient @ gradient, (c1 * c2**2) ** power * (gap @ gap), 1e-30)

    def build(raw):
        slopes = jnp.exp(raw["slopes"] / (1 + jnp.abs(raw["slopes"])))
        gap = raw["w"] * (1 + 0.1 / (jnp.linalg.norm(raw["w"]) + 1e-150))
        v = unit(raw["v"])
        x = raw["x"] * (1 + 0.1 / (jnp.linalg.norm(raw["x"]) + 1e-150))
        return {"w": v + gap, "v": v, "x": x, "left_slope": slopes[0], "right_slope": slopes[1]}

    return Pointwise(check, [Family({"w": (d,), "v": (d,), "x": (d,), "slopes": (2,)}, build) for d in (1, 3)])


ASSUMPTION_5_2 = Claim(
    id=f"{PAPER}.assumption-5.2",
    place="Assumption 5.2",
    title="what the assumption is for: bounded stochastic gradients",
    hypotheses=("$\\|x\\|^2 \\le c_1$, $0 \\le \\sigma' \\le c_2$; the hardest case, an input with $\\|x\\|^2 = c_1$",),
    as_printed=Form("$\\|g_t\\|^2 \\le c_1^2c_2^4\\|w_t - v\\|^2$.", _bounded_gradients(2.0)),
    control=Form("$\\|g_t\\|^2 \\le c_1c_2^2\\|w_t - v\\|^2$.", _bounded_gradients(1.0)),
)

GRADIENT_BOUND = Claim(
    id=f"{PAPER}.section-C.3.gradient-bound",
    place="Appendix C.3, proof of Lemma C.3, first bound on the stochastic gradient",
    title="bound on stochastic gradients",
    hypotheses=("Assumption 5.2",),
    as_printed=Form(
        "$\\|g_i\\|^2 \\le c_1c_2^2\\|w_i - v\\|^2$.",
        _bounded_gradients(1.0),
        recipe="""
slope = lambda z: right_slope if z > 0 else left_slope
student, teacher = x @ w, x @ v
gradient = (slope(student) * student - slope(teacher) * teacher) * slope(student) * x
left = gradient @ gradient
right = x @ x * max(left_slope, right_slope) ** 2 * np.sum((w - v) ** 2)
""",
    ),
    corrected=Form("$\\|g_i\\|^2 \\le c_1^2c_2^4\\|w_i - v\\|^2$.", _bounded_gradients(2.0)),
    correction="The square is missing, as in the proof of Lemma C.2, which has it; the bound that is used in the end, $c_1^2c_2^4$, is right.",
    control=Form("$\\|g_i\\|^2 \\le (c_1c_2^2)^{1.9}\\|w_i - v\\|^2$.", _bounded_gradients(1.9)),
)


# Theorem 5.3: flow and descent ----------------------------------------------------------------------------------------


class _Case(NamedTuple):
    """A bounded law with an activation: the exact objective, the paper's λ and c, and what a time unit is."""

    name: str
    objective: Objective
    rate: float
    bound: float
    dimension: int
    moment: float


@lru_cache
def _cases() -> tuple[_Case, ...]:
    cases = []
    for law, reach, activation in (
        (ball(3), np.sqrt(5.0), ReLU()),
        (sphere(5, radius=0.3), 0.3, ReLU()),
        (ball(2, radius=3.0), 3.0, LeakyReLU(0.2)),
    ):
        objective = population(neuron(np.eye(law.dimension)[0], activation, law))
        best = estimators.trade_off(law, activation, reach * np.linspace(0.1, 1, 19)).best
        moment = law.radial_moment(2) / law.dimension
        cases.append(_Case(law.name, objective, best.rate / 210, reach**4, law.dimension, moment))
    return tuple(cases)


def _near_starts(dimension: int, count: int, seed: int) -> np.ndarray:
    """Starts with |w − v|² < 1: random, close to the boundary, and close to the origin."""
    random = np.random.default_rng([seed, dimension])
    gaps = random.normal(size=(count, dimension))
    gaps /= np.linalg.norm(gaps, axis=1, keepdims=True)
    gaps *= np.where(np.arange(count) % 2, 1 - 1e-9, random.uniform(size=count))[:, None]
    gaps[0] = -(1 - 1e-6) * np.eye(dimension)[0]
    return np.eye(dimension)[0] + gaps


@eqx.filter_jit
def _squared_distances(objective: Objective, starts, step, flow: bool):
    """Squared distances to the teacher along 300 steps of descent, or Runge–Kutta steps of flow."""
    teacher, gradient = jnp.eye(starts.shape[1])[0], objective.gradient

    def move(w, _):
        new = flow_step(gradient, w, step) if flow else w - step * gradient(w)
        return new, jnp.sum((new - teacher) ** 2)

    return jax.vmap(lambda w: jax.lax.scan(move, w, length=300)[1])(starts)


def _contracts(flow: bool, factor: float):
    def test(effort: Effort, seed: int) -> Outcome:
        found, tried = [], 0
        for case in _cases():
            starts = _near_starts(case.dimension, effort.runs // 4, seed)
            before = np.sum((starts - np.eye(case.dimension)[0]) ** 2, axis=1)
            rate = case.rate if flow else min(1.0, case.rate)
            steps = (0.1 / case.moment,) if flow else (rate / (2 * case.bound), 0.1 * rate / (2 * case.bound))
            for step in steps:
                after = np.asarray(_squared_distances(case.objective, jnp.asarray(starts), jnp.asarray(step), flow))
                count = np.arange(1, after.shape[1] + 1)
                decay = np.exp(-factor * rate * step * count) if flow else (1 - factor * step * rate / 2) ** count
                bounds = before[:, None] * decay
                margins = (bounds - after) / bounds
                tried += margins.size
                index, number = np.unravel_index(margins.argmin(), margins.shape)
                shown = {"law": case.name, "start": starts[index], "step": step, "steps": number + 1}
                shown |= {"left": after[index, number], "right": bounds[index, number]}
                found.append((margins[index, number], shown))
        return worst_of(found, tried)

    return test


_LAWS = "a ball in dimension 3 and a sphere in dimension 5 with ReLU, a disc with leaky ReLU; the best $\\alpha, \\beta, \\gamma$"

FLOW = Claim(
    id=f"{PAPER}.theorem-5.3.flow",
    place="Theorem 5.3 (1)",
    title="convergence of gradient flow",
    hypotheses=("Assumptions 4.1 and 5.2: " + _LAWS, "$\\|w(0) - v\\|^2 < 1$"),
    as_printed=Form(
        "$\\|w(t) - v\\|^2 \\le \\|w(0) - v\\|^2e^{-\\lambda t}$ with $\\lambda = \\alpha^4\\beta\\gamma^2/210$.",
        _contracts(True, 1.0),
    ),
    control=Form("The same with $500\\lambda$.", _contracts(True, 500.0)),
    arithmetic="exact gradients in float64; 300 Runge–Kutta steps",
)

DESCENT = Claim(
    id=f"{PAPER}.theorem-5.3.descent",
    place="Theorem 5.3 (2)",
    title="convergence of gradient descent",
    hypotheses=(
        "Assumptions 4.1 and 5.2: " + _LAWS,
        "$\\|w_0 - v\\|^2 < 1$, $\\eta \\le \\lambda/(2c_1^2c_2^4)$, $\\lambda = \\min\\{1, \\alpha^4\\beta\\gamma^2/210\\}$",
    ),
    as_printed=Form("$\\|w_T - v\\|^2 \\le \\|w_0 - v\\|^2(1 - \\eta\\lambda/2)^T$.", _contracts(False, 1.0)),
    control=Form("The same with $1000\\lambda$.", _contracts(False, 1000.0)),
    arithmetic="exact gradients in float64; 300 steps",
)


# Remark 5.4 -----------------------------------------------------------------------------------------------------------


def _unbounded(kind: str, dimension: int, fourth: float, rate: float = 0.5):
    def check(i):
        w, v = i["w"], i["v"]
        best = _best_rate(kind, dimension)
        step = i["share"] * min(1.0, best) / (2 * fourth)
        moved = w - step * exact_gradient(w, v, kind)
        before, after = jnp.sum((w - v) ** 2), jnp.sum((moved - v) ** 2)
        return at_most(after, (1 - rate * step * best) * before, 1e-12)

    def build(raw):
        v = unit(raw["v"])
        gap = unit(raw["w"]) * (0.01 + 0.9899 * sigmoid(raw["s"]))
        return {"w": v + gap, "v": v, "share": sigmoid(raw["t"])}

    return Pointwise(check, [Family({"w": (dimension,), "v": (dimension,), "s": (), "t": ()}, build)])


@lru_cache
def _best_rate(kind: str, dimension: int) -> float:
    with jax.ensure_compile_time_eval():
        radii = np.geomspace(0.1, 5.0, 12)
        return estimators.trade_off(law_named(kind, dimension), "relu", radii).best.rate / 210


REMARK_5_4 = Claim(
    id=f"{PAPER}.remark-5.4.descent",
    place="Remark 5.4",
    title="gradient descent with unbounded inputs",
    hypotheses=("ReLU, standard Gaussian inputs in the plane, where $E\\|x\\|^4 = 8$", "$\\|w_t - v\\|^2 < 1$"),
    as_printed=Form(
        "A bounded fourth moment suffices: for $\\eta \\le \\lambda/(2E\\|x\\|^4)$ each step has $\\|w_{t+1} - v\\|^2 \\le "
        "(1 - \\eta\\lambda/2)\\|w_t - v\\|^2$. (By the norm of the mean gradient the second moment suffices.)",
        _unbounded("gaussian", 2, 8.0),
    ),
    control=Form("The same with $1 - 500\\eta\\lambda$.", _unbounded("gaussian", 2, 8.0, 500.0)),
)

MAIN = (LEMMA_5_1, ASSUMPTION_5_2, FLOW, DESCENT)
REMARKS = (REMARK_5_4,)
