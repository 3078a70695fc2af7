r"""Section 3.5 and Appendix D: Theorem 7, Algorithm 1, and the table of Appendix D.1.

The theorem is about any function that satisfies its condition (4). Two of the simplest do, with $g_i = w_i - \tilde w_i$:

- $F = \tfrac\lambda2\|\sum_ig_i\|^2$, with equality in (4) and $L = n\lambda$. Its gradient is the same for all neurons, and so is the perturbation
  of Algorithm 1: differences of neurons never change, and a start with $\sum_ig_i = 0$ keeps its distance for ever.
- $F = \tfrac12\sum_i\|g_i\|^2$, with $\lambda = 1/n$ and $L = 1$. At equilibrium of contraction and noise the mean squared distance is
  $n\alpha^2/(2\eta - \eta^2) > 2$ for the printed step and noise, even from a start at the minimum itself.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from tutelage.claims.base import Claim, Effort, Form, Outcome, worst_of
from tutelage.claims.mild_overparameterization.formulas import PAPER, hessian
from tutelage.claims.mild_overparameterization.instances import Batches, teachers
from tutelage.claims.scan import Scan, at_most
from tutelage.dynamics import PerturbedGradientDescent
from tutelage.objectives import population
from tutelage.problems import committee


def printed_settings(rate: float, lipschitz: float, precision: float, neurons: int) -> tuple[float, float, int]:
    """Return the step, the noise and the number of iterations of Theorem 7, just within its strict bounds."""
    step = 0.999 * rate * precision**2 / (64 * lipschitz**2)
    iterations = int(np.log(precision) / np.log1p(-step * rate * precision**2 / 64)) + 1
    return step, precision / (4 * neurons), iterations


def perturbed_run(kind: str, start: np.ndarray, precision: float, random: np.random.Generator) -> np.ndarray:
    """Follow Algorithm 1 on one of the two functions from ways `[run, student, dim]`; return the ways at the end."""
    ways, neurons = start.copy(), start.shape[1]
    rate, lipschitz = 1 / neurons, 1.0
    step, noise, iterations = printed_settings(rate, lipschitz, precision, neurons)
    for _ in range(iterations):
        slope = rate * ways.sum(1, keepdims=True) if kind == "sum" else ways
        kick = random.normal(size=(len(ways), 1, ways.shape[2]))
        ways = ways - step * slope + noise * kick / np.sqrt(np.sum(kick**2, axis=2, keepdims=True))
    return ways


_PRECISION = 0.9


def _converges(effort: Effort, seed: int) -> Outcome:
    """The share of runs of Algorithm 1 that end within the promised distance, on both functions, in growing dimensions."""
    random, found, tried, notes = np.random.default_rng(seed), [], 0, []
    for kind in ("sum", "quadratic"):
        for dimension in (5, 50):
            runs = max(8, effort.runs // 25)
            # The longest way that the neighbourhood allows with a sum of zero; or none at all.
            aside = np.zeros((runs, 2, dimension))
            if kind == "sum":
                aside[:, 0, 0], aside[:, 1, 0] = 1.0, -1.0
            square = np.sum(perturbed_run(kind, aside, _PRECISION, random) ** 2, axis=(1, 2))
            # A run that ends at something that is not a number has not failed to reach it: the program has.
            reached = float(np.mean(np.where(np.isnan(square), np.nan, square <= _PRECISION)))
            tried += runs
            notes.append(f"{kind}, d = {dimension}: {reached:.0%} reach δ, mean squared distance {square.mean():.2g}")
            shown = {"start": aside[0], "delta": _PRECISION, "left": float(square.min()), "right": _PRECISION}
            found.append((reached - 0.5, shown))
    return worst_of(found, tried, "; ".join(notes))


def _functions(count, random):
    """Functions with condition (4): λ/2 |Σg|² plus convex terms with their minimum at zero; points where Σg is not small."""
    for neurons, dimension in ((1, 1), (2, 1), (2, 3), (4, 2)):
        size = neurons * dimension
        ways = random.normal(size=(count, neurons, dimension))
        # Half of the points nearly cancel, as far as the hypothesis allows.
        ways[::2] -= random.uniform(0.5, 1, size=(len(ways[::2]), 1, 1)) * ways[::2].mean(1, keepdims=True)
        ways /= np.sqrt(np.sum(ways**2, axis=(1, 2), keepdims=True)) / random.uniform(0.3, 1, size=(count, 1, 1))
        extra = random.normal(size=(count, 3, size)) * 10.0 ** random.uniform(-2, 0.5, size=(count, 1, 1))
        extra[::3] = 0.0
        # The level δ for which the point is at the boundary of the hypothesis |Σg|² ≥ δ²/32.
        level = np.minimum(np.sqrt(32.0) * np.sqrt(np.sum(ways.sum(1) ** 2, -1)), 1.0)
        yield {"ways": ways, "extra": extra, "rate": random.uniform(0.1, 2, count), "level": level}


def _step_contracts(factor: float):
    def check(i):
        ways, extra = i["ways"], i["extra"]
        count, neurons, _ = ways.shape
        flat = ways.reshape(count, -1)
        inner = np.einsum("nms,ns->nm", extra, flat)
        slope = np.einsum("nms,nm->ns", extra, inner / np.sqrt(1 + inner**2)).reshape(ways.shape)
        slope = slope + (i["rate"][:, None] * ways.sum(1))[:, None]
        lipschitz = neurons * i["rate"] + np.sum(extra**2, axis=(1, 2))
        step = i["rate"] * i["level"] ** 2 / (64 * lipschitz**2)
        after = np.sum((ways - step[:, None, None] * slope) ** 2, axis=(1, 2))
        before = np.sum(ways**2, axis=(1, 2))
        decrease = step * i["rate"] * i["level"] ** 2 / 64
        # Relative to the decrease itself, which may be small.
        return {
            "margin": np.where(decrease <= 1e-10, np.inf, ((before - after) / before - factor * decrease) / decrease)
        }

    return Batches(_functions, check, "one step of plain descent, relative to the decrease claimed", 1.0)


THEOREM_7 = Claim(
    id=f"{PAPER}.theorem-7",
    place="Theorem 7",
    title="perturbed gradient descent converges",
    hypotheses=(
        "$F$ twice differentiable with an $L$-Lipschitz gradient and $(w-\\tilde w)^\\top H(w-\\tilde w) \\ge \\lambda\\|g\\|^2$, a start within $\\epsilon = 1$ of $\\tilde w$",
        "$n = 2$, $\\delta = 0.9$, $F = \\frac\\lambda2\\|\\sum g_i\\|^2$ and $F = \\frac12\\sum\\|g_i\\|^2$; $d = 5, 50$",
    ),
    as_printed=Form(
        "With $\\eta < \\lambda\\delta^2/(64L^2)$ and $\\alpha = \\delta/(4n)$, after $T > \\log\\delta/\\log(1 - \\eta\\lambda\\delta^2/64)$ iterations "
        "$\\|w(T) - \\tilde w\\|^2 \\le \\delta$ with probability above $1 - Te^{-\\Omega(d)}$.",
        _converges,
        recipe="""
n, d = start.shape
rate, lipschitz = 1 / n, 1.0  # F = rate / 2 |sum of the ways|^2 has these constants
step, noise = 0.999 * rate * delta**2 / (64 * lipschitz**2), delta / (4 * n)
iterations = int(np.log(delta) / np.log1p(-step * rate * delta**2 / 64)) + 1
random, ways = np.random.default_rng(0), start.copy()
for _ in range(iterations):
    kick = random.normal(size=d)
    ways = ways - step * rate * ways.sum(0) + noise * kick / np.linalg.norm(kick)
left, right = np.sum(ways**2), delta
""",
    ),
    corrected=Form(
        "Without perturbations, each step of gradient descent from $\\|w - \\tilde w\\| \\le 1$ with $\\|g\\|^2 \\ge \\delta^2/32$ multiplies $\\|w - \\tilde w\\|^2$ by at most "
        "$1 - \\eta\\lambda\\delta^2/64$. Hence after $T$ steps $\\|w - \\tilde w\\|^2 \\le \\delta$, or $\\|g\\|^2 < \\delta^2/32$ at some step before.",
        _step_contracts(1.0),
    ),
    correction="Condition (4) says nothing about ways with $\\sum g_i = 0$, and neither the gradient of $\\frac\\lambda2\\|\\sum g_i\\|^2$ nor a perturbation that all neurons share moves "
    "differences of neurons: from $(u, -u)$ the distance stays. Besides, the noise is left out of the recursion (63). It is too large for the step: even for "
    "$\\frac12\\|w - \\tilde w\\|^2$ the mean squared distance tends to $n\\alpha^2/2\\eta > 2$. What remains is the contraction of plain descent while $g$ is not small.",
    control=Form("The corrected form with $1 - \\eta\\lambda\\delta^2/8$.", _step_contracts(8.0)),
    arithmetic="runs in float64",
)


def _kicks(shared: bool):
    """Do all neurons get the same perturbation, of the size α, on top of a step of gradient descent?"""

    def test(effort: Effort, seed: int) -> Outcome:
        objective = population(committee(np.linalg.qr(np.arange(9.0).reshape(3, 3) + np.eye(3))[0][:2], 3))
        method = PerturbedGradientDescent(0.1, 0.02, shared_direction=shared)
        random, found = np.random.default_rng(seed), []
        for number in range(8):
            point, slope = jnp.asarray(random.normal(size=(2, 3, 3)))
            moved, _ = method.advance(objective, point, slope, (), jnp.asarray(0), jax.random.key(seed + number))
            kicks = np.asarray(moved - point + 0.1 * slope)
            spread = np.abs(kicks - kicks[:1]).max() + abs(np.linalg.norm(kicks[0]) - 0.02)
            found.append((1e-9 - float(spread), {}))
        return worst_of(found, note="one step of tutelage's PerturbedGradientDescent, minus a step of gradient descent")

    return test


ALGORITHM_1 = Claim(
    id=f"{PAPER}.algorithm-1",
    place="Algorithm 1",
    title="perturbed gradient descent",
    hypotheses=("`tutelage.PerturbedGradientDescent` with a shared direction",),
    as_printed=Form(
        "A step of gradient descent and a perturbation of magnitude $\\alpha$ in a random direction, the same for all neurons. (The proof of Theorem 7 takes it as "
        "$\\alpha\\xi$ with $\\xi \\sim N(0, I/d)$, of norm about one.)",
        _kicks(True),
    ),
    control=Form("The same with a direction for each neuron.", _kicks(False)),
    arithmetic="exact gradients in float64",
)


# Appendix D.3 ---------------------------------------------------------------------------------------------------------


def _far(factor: float):
    def draw(count, random):
        size, angle = 1 + random.exponential(0.3, count), random.uniform(0, np.pi, count)
        size[::3], angle[::2] = 1.0, np.pi
        return {"size": size, "angle": angle, "kick": 1.5 * random.uniform(0, 1, count) ** 0.2}

    def check(i):
        # In units of δ: |u + ξ/4|² for |u| ≥ 1, |ξ| ≤ 1.5.
        square = i["size"] ** 2 + i["kick"] ** 2 / 16 + i["size"] * i["kick"] * np.cos(i["angle"]) / 2
        return at_most(np.full(len(square), factor), square)

    return Scan(draw, check)


FAR = Claim(
    id=f"{PAPER}.section-D.3.far",
    place="Appendix D.3, first case",
    title="a large sum stays large",
    hypotheses=("$\\|u\\| \\ge \\delta$, $\\|\\xi\\| \\le 1.5$, $n\\alpha = \\delta/4$",),
    as_printed=Form(
        "$\\|u + n\\alpha\\xi\\|^2 \\ge \\delta^2/4$. (Printed without the square on the left.)", _far(0.25)
    ),
    control=Form("$\\|u + n\\alpha\\xi\\|^2 \\ge \\delta^2/2$.", _far(0.5)),
)


def _close(factor: float):
    def draw(count, random):
        return {
            "square": 0.5 + random.exponential(0.2, count) * (np.arange(count) % 3 > 0),
            "along": random.uniform(0, 1 / 32, count),
        }

    def check(i):
        return at_most(np.full(len(i["square"]), factor), i["square"] / 16 - i["along"] / 2)

    return Scan(draw, check)


CLOSE = Claim(
    id=f"{PAPER}.section-D.3.near",
    place="Appendix D.3, second case",
    title="a small sum is kicked away from zero",
    hypotheses=("$\\|\\xi\\|^2 > \\frac12$, $|\\xi\\cdot\\bar u| \\le \\frac1{32}$; in units of $\\delta^2$",),
    as_printed=Form(
        "$\\frac{\\delta^2}{16}\\|\\xi\\|^2 - \\frac{\\delta^2}2|\\xi\\cdot\\bar u| \\ge \\frac{\\delta^2}{32}$.",
        _close(1 / 32),
        recipe="left, right = 1 / 32, square / 16 - along / 2\n",
    ),
    corrected=Form("It is at least $\\delta^2/64$.", _close(1 / 64)),
    correction="The two bounds give $\\delta^2/32 - \\delta^2/64$. (With $\\|\\xi\\|^2 > 0.75$, just as likely, the printed bound holds.)",
    control=Form("It is at least $\\delta^2/48$.", _close(1 / 48)),
)


def _equation_62(i):
    """⟨∇F, g⟩ = λ|Σg|² for F = λ/2 |Σg|², with δ such that |Σg|² = δ²/32, in units of λδ²/32: one."""
    ways = i["ways"]
    shown = at_most(np.sum(ways**2, axis=(1, 2)), np.ones(len(ways)))
    return {**shown, "delta": np.sqrt(32 * np.sum(ways.sum(1) ** 2, -1))}


def _cancelling(count, random):
    """Ways of at most unit length for each neuron whose sum is short, so that δ < 1."""
    for neurons, dimension in ((2, 1), (3, 2), (8, 2)):
        ways = random.uniform(-1, 1, size=(count, neurons, dimension)) / np.sqrt(dimension)
        ways = ways - (1 - 0.1 / neurons) * ways.mean(1, keepdims=True)
        yield {"ways": ways / np.maximum(1.0, np.sqrt(np.sum(ways**2, -1)).max(-1))[:, None, None]}


def _equation_62_unit(factor: float):
    def check(i):
        return at_most(factor * np.sum(i["ways"] ** 2, axis=(1, 2)), np.ones(len(i["ways"])))

    def draw(count, random):
        for neurons, dimension in ((1, 1), (2, 1), (3, 2), (8, 2)):
            ways = random.normal(size=(count, neurons, dimension))
            ways /= np.sqrt(np.sum(ways**2, axis=(1, 2), keepdims=True))
            ways[::2] *= random.uniform(size=(len(ways[::2]), 1, 1))
            yield {"ways": ways}

    return Batches(draw, check, share=1.0)


EQUATION_62 = Claim(
    id=f"{PAPER}.equation-62",
    place="Equation (62)",
    title="from the Hessian to the gradient",
    hypotheses=(
        "condition (4), $\\|g\\|^2 \\ge \\delta^2/32$; $F = \\frac\\lambda2\\|\\sum g_i\\|^2$, $\\|g\\|^2 = \\delta^2/32$, $\\|w_i - \\tilde w_i\\| \\le 1$",
    ),
    as_printed=Form(
        "$\\nabla F(w)\\cdot(w - \\tilde w) \\ge \\frac{\\lambda\\delta^2}{32}\\|w - \\tilde w\\|^2$.",
        Batches(_cancelling, _equation_62, "F = λ/2 |Σg|²: the left-hand side is λ|Σg|²", 1.0),
        recipe="""
rate = 1.0  # F = rate / 2 |sum of the ways|^2
left = rate * np.sum(ways.sum(0) ** 2)  # its gradient along the ways
right = rate * delta**2 / 32 * np.sum(ways**2)
""",
    ),
    corrected=Form("The same if $\\|w - \\tilde w\\| \\le 1$.", _equation_62_unit(1.0)),
    correction="Integrating (4) along the segment gives $\\nabla F\\cdot(w - \\tilde w) \\ge \\lambda\\|g\\|^2 \\ge \\lambda\\delta^2/32$, which has the factor $\\|w - \\tilde w\\|^2$ only if that is at most one. The "
    "neighbourhood of Definition 2 allows $n\\epsilon^2$.",
    control=Form("The corrected form with twice the left-hand factor.", _equation_62_unit(2.0)),
)


def _equation_63(factor: float):
    def draw(count, random):
        return {
            "way": random.normal(size=(count, 3)),
            "slope": random.normal(size=(count, 3)),
            "step": random.uniform(0.01, 1, count),
        }

    def check(i):
        left = np.sum((i["way"] - i["step"][:, None] * i["slope"]) ** 2, -1)
        cross = np.sum(i["way"] * i["slope"], -1)
        right = np.sum(i["way"] ** 2, -1) - factor * i["step"] * cross + i["step"] ** 2 * np.sum(i["slope"] ** 2, -1)
        return {"margin": 1e-9 - np.abs(left - right) / (1 + left), "left": left, "right": right}

    return Scan(draw, check)


EQUATION_63 = Claim(
    id=f"{PAPER}.equation-63",
    place="Appendix D.3, before Equation (63)",
    title="the square of a step",
    hypotheses=("any way $w - \\tilde w$, gradient and step",),
    as_printed=Form(
        "$\\|w - \\eta\\nabla F - \\tilde w\\|^2 = \\|w - \\tilde w\\|^2 - \\eta\\nabla F\\cdot(w - \\tilde w) + \\eta^2\\|\\nabla F\\|^2$.",
        _equation_63(1.0),
        recipe="""
left = np.sum((way - step * slope) ** 2)
right = np.sum(way**2) - step * way @ slope + step**2 * np.sum(slope**2)
""",
    ),
    corrected=Form("With $2\\eta$ in the middle term.", _equation_63(2.0)),
    correction="A factor two, in favour of the proof. The perturbation, which belongs to the step, is missing altogether; see Theorem 7.",
    control=Form("With $3\\eta$ in the middle term.", _equation_63(3.0)),
)


def _start(factor):
    def check(i):
        ways = i["ways"]
        return at_most(np.sum(ways**2, axis=(1, 2)), factor(ways.shape[1]) * np.ones(len(ways)))

    def draw(count, random):
        for neurons in (1, 2, 5):
            ways = random.normal(size=(count, neurons, 3))
            yield {"ways": 0.999 * ways / np.sqrt(np.sum(ways**2, axis=2, keepdims=True))}

    return Batches(draw, check)


START = Claim(
    id=f"{PAPER}.section-D.3.start",
    place="Appendix D.3, end of the proof of Theorem 7",
    title="distance of the start",
    hypotheses=("a start in the $\\epsilon$-neighbourhood of Definition 2, $\\epsilon < 1$",),
    as_printed=Form(
        "$\\|w(0) - \\tilde w\\|^2 < 1$.", _start(lambda n: 1.0), recipe="left, right = np.sum(ways**2), 1.0\n"
    ),
    corrected=Form("$\\|w(0) - \\tilde w\\|^2 < n$.", _start(lambda n: float(n))),
    correction="The neighbourhood bounds each neuron's way, not their sum of squares.",
    control=Form("$\\|w(0) - \\tilde w\\|^2 < n/2$.", _start(lambda n: n / 2)),
)


# Table 1 --------------------------------------------------------------------------------------------------------------

# k, m, curvature of Gaussian ways, as printed.
_TABLE = np.array(
    [
        [5, 2, 0.84], [5, 5, 2.43], [5, 10, 5.43],
        [10, 2, 12.7], [10, 5, 43.1], [10, 10, 62.3],
        [20, 2, 88.6], [20, 5, 231.0], [20, 10, 412.0],
    ]
)  # fmt: skip


def _linear(effort: Effort, seed: int) -> Outcome:
    found = []
    for small, large in [(a, b) for a in _TABLE for b in _TABLE if a[0] == b[0] and a[1] < b[1]]:
        left, right = large[1] / small[1], large[2] / small[2]
        found.append((right / left - 1, {"small": small, "large": large, "left": left, "right": right}))
    return worst_of(found, note="growth of the printed numbers against growth of m")


def _mean_curvature(factor: float):
    def check(i):
        found = np.trace(hessian(i["minimum"], i["teacher"]), axis1=1, axis2=2)
        size = i["minimum"].shape[1] * i["minimum"].shape[2]
        return {"margin": 1e-9 - np.abs(found / size - factor)}

    def draw(count, random):
        for k, m in ((1, 2), (3, 1), (3, 2), (5, 5)):
            teacher = teachers(k, k, 4, random)
            yield {"teacher": teacher, "minimum": np.repeat(teacher, m, axis=1) / m}

    return Batches(draw, check)


TABLE_1 = Claim(
    id=f"{PAPER}.table-1",
    place="Table 1, caption",
    title="curvature and over-parameterization",
    hypotheses=("the printed numbers for Gaussian ways",),
    as_printed=Form(
        "The curvature increases at least linearly with $m$.",
        _linear,
        recipe="left, right = large[1] / small[1], large[2] / small[2]  # growth of m, growth of the curvature\n",
    ),
    corrected=Form(
        "For Gaussian ways of variance $\\sigma^2$ the mean curvature is $\\frac12mkd\\sigma^2$ to second order, linear in $m$: the trace of the Hessian is $\\frac12nd$.",
        _mean_curvature(0.5),
    ),
    correction="From $m = 5$ to 10 the printed minima of 1,000 samples grow by factors of 1.45 ($k = 10$) and 1.78 ($k = 20$). Means grow linearly.",
    control=Form("The mean curvature is $mkd\\sigma^2$.", _mean_curvature(1.0)),
)

MAIN = (THEOREM_7,)
APPENDIX = (TABLE_1, ALGORITHM_1, FAR, CLOSE, EQUATION_62, EQUATION_63, START)
