r"""Appendix C.3, proofs of Lemmas C.1 and C.2: how stochastic descent is kept close to the teacher."""

import numpy as np

from tutelage.claims import Claim, Form, integers, log_uniform, uniform
from tutelage.claims.single_neuron.formulas import FINITE, PAPER, SCALE, SQUARE, dot, finite_law, of_points
from tutelage.statistics import at_least

MEAN_SQUARE = Claim(
    id=f"{PAPER}.section-C.3.mean-square",
    title="mean square of the stochastic gradient",
    hypotheses="inputs on four points with weights, $d = 1, 2$; two positive slopes",
    defect=SQUARE,
    draw=FINITE,
    build=finite_law,
    left=lambda w, v, points, weights, slopes: of_points(w, v, points, weights, slopes)[1],
    relation="<=",
    right=lambda w, v, points, weights, slopes, factor: (
        factor * np.sum(weights * dot(points, points) ** 2, -1) * np.max(slopes, -1) ** 4 * dot(w - v, w - v)
    ),
    scale=lambda w, v, points, weights: 1e-6 * np.sum(weights * dot(points, points) ** 2, -1) * dot(w - v, w - v),
    as_printed=Form(
        "$E\\|g_t\\|^2 = \\|\\nabla F(w_t)\\|^2$.",
        relation="==",
        right=lambda w, v, points, weights, slopes: np.sum(of_points(w, v, points, weights, slopes)[0] ** 2, -1),
    ),
    as_meant=Form(
        "$E\\|g_t\\|^2$ in both places: $E\\|g_t\\|^2 \\le c_2^4E\\|x\\|^4\\|w_t - v\\|^2$, which is at most $c_1^2c_2^4\\|w_t - v\\|^2$.",
        factor=1.0,
    ),
    supplied="the display after it, whose right side is $E\\|g_t\\|^2$: the second error undoes the first",
    correction="The noise of the step is left out. The next display makes the reverse error, $\\|\\nabla F\\|^2$ for the mean square, so that "
    "the lemma stands: its bound is one on $E\\|g_t\\|^2$.",
    control=Form("$E\\|g_t\\|^2 \\le 0.98\\,c_2^4E\\|x\\|^4\\|w_t - v\\|^2$.", factor=0.98),
    arithmetic="exact sums in float64",
)


def _increment(turn, angle, c1, share):
    """One input of squared norm c₁, a teacher on the first axis, a student close to it."""
    x = np.sqrt(c1)[..., None] * np.stack([np.cos(turn), np.sin(turn)], -1)
    w = np.array([1.0, 0.0]) + 0.5 * np.stack([np.cos(angle), np.sin(angle)], -1)
    return {"w": w, "x": x, "c1": c1, "step": share / np.maximum(1.0, c1**2)}


def _relative_change(w, x, step):
    """The change of |w − v|² in one step, over the step and |w − v|² = ¼."""
    v = np.array([1.0, 0.0])
    gradient = np.where(dot(w, x) > 0, dot(w, x) - np.maximum(dot(v, x), 0), 0.0)[..., None] * x
    return 4 * np.abs(-2 * dot(gradient, w - v) + step * dot(gradient, gradient))


EQUATION_11 = Claim(
    id=f"{PAPER}.equation-11",
    title="change of the squared distance in one stochastic step",
    hypotheses=(
        "ReLU, one input with $\\|x\\|^2 = c_1$ from 0.01 to 100, so that $c_2 = 1$",
        "$\\eta \\le \\min\\{1, 1/c_1^2\\}$",
    ),
    defect=SCALE,
    draw={
        "turn": uniform(-np.pi, np.pi),
        "angle": uniform(-np.pi, np.pi),
        "c1": log_uniform(1e-2, 1e2),
        "share": uniform(0.01, 1),
    },
    build=_increment,
    left=_relative_change,
    relation="<=",
    right=lambda c1, factor=3.0, power=2.0: factor * c1**power,
    as_printed="$|X_i - X_{i-1}| \\le 3\\eta c_1^2c_2^4X_{i-1}$ for $X_i = \\|w_i - v\\|^2$.",
    corrected=Form("$|X_i - X_{i-1}| \\le 2\\eta c_1c_2^2X_{i-1}$ for $\\eta c_1c_2^2 \\le 2$.", factor=2.0, power=1.0),
    correction="$|\\langle g, w - v\\rangle| \\le c_1c_2^2\\|w - v\\|^2$, which is at most $c_1^2c_2^4\\|w - v\\|^2$ only if $c_1c_2^2 \\ge 1$. Without that "
    "condition the first power is right; and since no such step increases $X_i$ (Lemma C.2), its square adds nothing.",
    control=Form("The corrected form with 1.98 in place of 2.", factor=1.98, power=1.0),
)

GEOMETRIC = Claim(
    id=f"{PAPER}.section-C.3.geometric",
    title="increments of a growing sequence",
    hypotheses="$X_i = (1 + \\eta')X_{i-1}$, the extreme case of Equations (11) and (12); `rate` is $\\eta'$, $X_0 = 1$",
    glyph=True,
    draw={"rate": log_uniform(1e-3, 1), "i": integers(1, 20)},
    left=lambda rate, i: (1 + rate) ** i - (1 + rate) ** (i - 1),
    relation="<=",
    right=lambda rate, i, shift=2.0: rate * (1 + rate) ** (i - shift),
    as_printed="$|X_i - X_{i-1}| \\le \\eta'(1 + \\eta')^{i-2}\\|w_0 - v\\|^2$.",
    as_meant=Form("$|X_i - X_{i-1}| \\le \\eta'(1 + \\eta')^i\\|w_0 - v\\|^2$.", shift=0.0),
    supplied="the end of the display, which is what is used",
    corrected=Form("$|X_i - X_{i-1}| \\le \\eta'(1 + \\eta')^{i-1}\\|w_0 - v\\|^2$.", shift=1.0),
    correction="The index is $i - 1$; the last bound of the display is right.",
    control=Form("The same with the exponent $i - 1.02$.", shift=1.02),
)


def _capped(mean, spread, epsilon):
    """E[min{X, 1 − ε/2}] of two equally likely values."""
    cap = 1 - epsilon / 2
    return (np.minimum(mean * (1 - spread), cap) + np.minimum(mean * (1 + spread), cap)) / 2


SUPERMARTINGALE = Claim(
    id=f"{PAPER}.section-C.3.supermartingale",
    title="mean of the capped distance",
    hypotheses="$E[X_i] = \\kappa X_{i-1}$ with $\\kappa \\le 1$ the factor of Lemma C.1; two equally likely values",
    glyph=True,
    draw={"mean": uniform(0.01, 1), "spread": uniform(0, 0.5), "epsilon": uniform(0.01, 1)},
    left=_capped,
    relation="<=",
    right=lambda mean, epsilon, share=1.0: np.minimum(mean, 1 - share * epsilon),
    as_printed="$E[\\tilde X_i] \\le \\min\\{\\kappa X_{i-1}, 1 - \\epsilon\\}$.",
    as_meant=Form("$E[\\tilde X_i] \\le \\min\\{\\kappa X_{i-1}, 1 - \\frac\\epsilon2\\}$.", share=0.5),
    supplied="the definition of $\\tilde X_i$, two displays before",
    correction="$\\tilde X_i$ is capped at $1 - \\epsilon/2$, and may be there.",
    control=Form("$E[\\tilde X_i] \\le \\min\\{\\kappa X_{i-1}, 1 - 0.51\\epsilon\\}$.", share=0.51),
)


CHOICE = Claim(
    id=f"{PAPER}.section-C.3.choice",
    title="the lemma's step is small enough for Lemma C.1",
    hypotheses="$\\eta < \\epsilon^2\\lambda/(3c_1^2c_2^4\\log\\frac1\\delta)$, $\\eta' = 3\\eta c_1^2c_2^4$, $\\delta \\le \\frac12$; `bound` is $c_1c_2^2 \\ge 1$",
    draw={"epsilon": log_uniform(1e-3, 0.999), "delta": log_uniform(1e-6, 0.5), "bound": log_uniform(1, 1e2)},
    # η'c₁²c₂⁴/λ, or the same with η.
    left=lambda epsilon, delta, bound, primed=1.0: epsilon**2 / (3 * np.log(1 / delta)) * (3 * bound**2) ** primed,
    relation="<=",
    right=lambda limit=1.0: limit,
    as_printed="$\\eta' \\le \\lambda/(c_1^2c_2^4)$, which makes the capped distance a supermartingale.",
    as_meant=Form("$\\eta \\le \\lambda/(c_1^2c_2^4)$ for $\\eta$ in place of $\\eta'$.", primed=0.0),
    supplied="Lemma C.1, which is used for a step of $\\eta$",
    correction="The lemma's condition gives $\\eta' < \\epsilon^2\\lambda/\\log\\frac1\\delta$ only. What Lemma C.1 needs is $\\eta \\le 2\\lambda/(c_1^2c_2^4)$, which holds.",
    control=Form("$\\eta \\le 0.45\\lambda/(c_1^2c_2^4)$.", primed=0.0, limit=0.45),
)

_BELOW_CAP = Form(
    "$X_i \\le X_0 + \\frac\\epsilon2$, hence $X_i < 1 - \\frac\\epsilon2$, for $X_0 < 1 - \\epsilon$.",
    left=lambda later: later,
    sign=1.0,
)

CAP = Claim(
    id=f"{PAPER}.section-C.3.cap",
    title="from the capped distance back to the distance",
    hypotheses="$X_0 < 1 - \\epsilon$ and $\\tilde X_i - X_0 \\le \\frac\\epsilon2$ for $\\tilde X_i = \\min\\{X_i, 1 - \\frac\\epsilon2\\}$: the event that Equation (13) makes likely",
    glyph=True,
    draw={"epsilon": uniform(0.01, 0.99), "share": uniform(0, 0.999), "later": uniform(0, 1.5)},
    build=lambda epsilon, share, later: {"epsilon": epsilon, "first": share * (1 - epsilon), "later": later},
    where=lambda epsilon, first, later: np.minimum(later, 1 - epsilon / 2) <= first + epsilon / 2,
    left=lambda epsilon, later: np.minimum(later, 1 - epsilon / 2),
    relation="<=",
    right=lambda epsilon, first, sign=-1.0: first + sign * epsilon / 2,
    as_printed="$\\min\\{X_i, 1 - \\frac\\epsilon2\\} \\le X_0 - \\frac\\epsilon2$.",
    as_meant=_BELOW_CAP,
    supplied="the event before it, and the end of the display, $1 - \\epsilon + \\frac\\epsilon2$",
    correction="A minus for a plus. For $X_0 = 1 - \\epsilon$ the display says nothing, since a capped sequence never exceeds its cap: the event in "
    "Equation (13) must have $\\ge$.",
    control=Form("$X_i \\le X_0 + 0.49\\epsilon$.", left=_BELOW_CAP.varied["left"], sign=0.98),
)


def _log_maximum(length, level):
    """The logarithm of P(max S ≥ level) of a walk of ±1 steps: P(S ≥ level) + P(S > level), by reflection."""
    ups = np.ceil((length + level) / 2)
    more = np.floor((length + level) / 2) + 1
    return np.log(at_least(ups, length, 0.5) + at_least(more, length, 0.5))


EQUATION_13 = Claim(
    id=f"{PAPER}.equation-13",
    title="constant of the maximal Azuma inequality",
    hypotheses="a martingale with increments of at most $a_i$; judged on a walk of up to 1000 steps $\\pm1$, as exponents",
    draw={"length": integers(1, 1000), "share": uniform(0.001, 1)},
    build=lambda length, share: {"length": length, "level": np.ceil(share * length)},
    # Exceeding ε/2 for every ε/2 below the level.
    left=lambda length, level: -_log_maximum(length, level),
    relation=">=",
    right=lambda length, level, divisor=2.0: (2.0 * level) ** 2 / (divisor * length),
    known=0.0,
    as_printed=Form(
        "$P(\\sup_i\\tilde X_i - \\tilde X_0 > \\epsilon/2) \\le \\exp(-\\epsilon^2/(2\\sum_ia_i^2))$.",
        recipe="""
from math import comb, log
n, k = int(length), int(level)
paths = sum(comb(n, u) * ((2 * u - n >= k) + (2 * u - n > k)) for u in range(n + 1))  # whose maximum is at least k
left = n * log(2) - log(paths)  # minus the logarithm of the probability; epsilon/2 just below the level
""",
    ),
    corrected=Form("$\\le \\exp(-\\epsilon^2/(8\\sum_ia_i^2))$.", divisor=8.0),
    correction="The deviation is $\\epsilon/2$, so that its square is $\\epsilon^2/4$. Lemma C.2 has room for the factor 4.",
    control=Form("$\\le \\exp(-\\epsilon^2/(7.5\\sum_ia_i^2))$.", divisor=7.5),
    arithmetic="exact binomial probabilities",
)

THREE = Claim(
    id=f"{PAPER}.section-C.3.three",
    title="powers along an epoch",
    hypotheses="$\\eta' \\le 1/(2m + 2)$",
    draw={"m": integers(1, 10**6), "share": uniform(0, 1)},
    left=lambda m, share: (1 + share / (2 * m + 2)) ** (2 * m + 2),
    relation="<=",
    right=lambda bound=3.0: bound,
    as_printed="$(1 + \\eta')^{2m+2} < 3$. (It is below $e$.)",
    control=Form("It is at most 2.71.", bound=2.71),
)

EPOCH = Claim(
    id=f"{PAPER}.section-C.3.epoch",
    title="an epoch is short enough",
    hypotheses="$m = 1/(9\\eta c_1c_2^2) \\ge 2$ steps, as Lemma C.2 allows; $\\eta' = 3\\eta c_1^2c_2^4$; `bound` is $c_1c_2^2 \\ge 1$, as Equation (11) needs",
    draw={"m": integers(2, 10**6), "bound": log_uniform(1, 1e2)},
    # η' = c₁c₂²/(3m).
    left=lambda m, bound, power=1.0: bound**power / (3 * m) * (2 * m + 2),
    relation="<=",
    right=1.0,
    as_printed="$\\eta' \\le \\frac1{2m+2}$, by which $(1 + \\eta')^{2m+2} < 3$.",
    corrected=Form("It is for epochs of $m \\le 1/(9\\eta c_1^2c_2^4)$ steps.", power=0.0),
    correction="$\\eta'(2m + 2)$ is $\\frac23c_1c_2^2(1 + \\frac1m)$, above one unless $c_1c_2^2 < \\frac32$, while Equation (11) needs $c_1c_2^2 \\ge 1$: an epoch must have "
    "$c_1^2c_2^4$ for $c_1c_2^2$. Lemma C.2 is true all the same: no step increases the distance.",
    control=Form("It is for $m \\le 1/(9\\eta(c_1c_2^2)^{1.99})$.", power=0.01),
)

SIMPLIFY = Claim(
    id=f"{PAPER}.section-C.3.simplify",
    title="the step for which the probability is at most δ",
    hypotheses="$0 < \\epsilon < 1$, $0 < \\delta < 1$",
    draw={"epsilon": log_uniform(1e-3, 0.99), "delta": log_uniform(1e-6, 0.9), "share": uniform(0.01, 1)},
    build=lambda epsilon, delta, share, factor=1.0: {
        "epsilon": epsilon,
        "delta": delta,
        "step": factor * share * epsilon**2 / np.log(1 / delta),
    },
    left=lambda epsilon, step: epsilon**2 * (2 + step) / (4 * step * (1 - epsilon) ** 2),
    relation=">=",
    right=lambda delta: np.log(1 / delta),
    known=0.0,
    as_printed="The last bound of Equation (13) is at most $\\delta$ if $\\eta' \\le \\epsilon^2/\\log\\frac1\\delta$; as exponents.",
    corrected=Form("It is for $\\eta' \\le \\epsilon^2/(2\\log\\frac1\\delta)$.", factor=0.5),
    correction="It needs $(1 - \\epsilon)^2 \\le \\frac12 + \\frac{\\eta'}4$, which small $\\epsilon$ do not satisfy: a factor $\\frac12$ (and a quarter of that with the "
    "right exponent in Equation (13)). Lemma C.2 is true all the same: no step increases the distance.",
    control=Form("It is for $\\eta' \\le 0.51\\epsilon^2/\\log\\frac1\\delta$.", factor=0.51),
)
