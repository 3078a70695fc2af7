r"""Appendix C: the inequalities from which the proofs of Section 5 are put together."""

import numpy as np
from scipy.special import erf, ndtr
from scipy.stats import binom, chi2

from tutelage.claims.laws import integers, log_uniform, real, uniform, unit
from tutelage.claims.single_neuron.formulas import (
    FINITE,
    PAPER,
    SCALE,
    SQUARE,
    TAIL,
    UNION,
    dot,
    finite_law,
    norm,
    of_points,
    terms,
)
from tutelage.claims.statement import Claim, Form

# The proof of Lemma 5.1 -----------------------------------------------------------------------------------------------

EQUATION_7 = Claim(
    id=f"{PAPER}.equation-7",
    place="Equation (7)",
    title="comparing two random numbers through a constant",
    hypotheses=("$A, B$ with values 0, 1, 2 and any joint law; $c = 1$",),
    draw={"masses": uniform(0, 1, (3, 3))},
    build=lambda masses: {"joint": masses / np.sum(masses + 1e-12, (-1, -2), keepdims=True)},
    left=lambda joint: np.sum(joint * np.tril(np.ones((3, 3))), (-1, -2)),
    relation=">=",
    right=lambda joint, shift: np.sum(joint[..., 1:, :], (-1, -2)) - np.sum(joint[..., :, 1:], (-1, -2)) + shift,
    known=0.0,
    as_printed=Form("$P(A \\ge B) \\ge P(A \\ge c) - P(B \\ge c)$.", shift=0.0),
    control=Form("$P(A \\ge B) \\ge P(A \\ge c) - P(B \\ge c) + 0.01$.", shift=0.01),
    arithmetic="exact sums",
)

ERF = Claim(
    id=f"{PAPER}.section-C.erf",
    place="Appendix C, proof of Lemma 5.1, after Equation (7)",
    title="a lower bound on the error function",
    hypotheses=("$0 < z < 1$",),
    draw={"z": uniform(1e-6, 1)},
    left=lambda z: erf(z),
    relation=">=",
    right=lambda z, slope: slope * z,
    as_printed=Form(
        "$\\mathrm{erf}(z) \\ge z/3$. More is true, and judged: $\\mathrm{erf}(z) \\ge 0.8427z$, with equality at one.",
        slope=float(erf(1)),
    ),
    control=Form("$\\mathrm{erf}(z) \\ge 0.85z$.", slope=0.85),
)

GAUSSIAN_TAIL = Claim(
    id=f"{PAPER}.section-C.gaussian-tail",
    place="Appendix C, proof of Lemma 5.1, first term of Equation (7)",
    title="bound on a Gaussian tail",
    hypotheses=("$\\tau \\le 1/(d\\sqrt2)$; `product` is $\\tau d$",),
    kind="constant",
    defect=TAIL,
    draw={"product": uniform(1e-3, np.sqrt(0.5))},
    left=lambda product: ndtr(-2 * product),  # w₁ ≥ 2τ²d
    relation=">=",
    right=lambda product, constant: 0.5 - constant * product,
    as_printed=Form(
        "$P(w_1 \\ge 2\\tau^2d) = \\frac12 - \\frac12\\mathrm{erf}(\\sqrt2\\tau d) \\ge \\frac12 - \\frac1{3\\sqrt2}\\tau d \\ge \\frac12 - \\frac14\\tau d$.",
        constant=0.25,
        recipe="from math import erf\nleft = 0.5 - 0.5 * erf(np.sqrt(2) * product)\nright = 0.5 - 0.25 * product\n",
    ),
    corrected=Form(
        "$\\frac12 - \\frac12\\mathrm{erf}(\\sqrt2\\tau d) \\ge \\frac12 - \\sqrt{2/\\pi}\\,\\tau d$.",
        constant=np.sqrt(2 / np.pi),
    ),
    correction="$\\mathrm{erf}(z) \\ge z/3$ is true but bounds the wrong side; $\\mathrm{erf}(z) \\le 2z/\\sqrt\\pi$ is needed.",
    control=Form("$\\ge \\frac12 - 0.79\\tau d$.", constant=0.79),
)

CHI_SQUARE_TAIL = Claim(
    id=f"{PAPER}.section-C.chi-square-tail",
    place="Appendix C, proof of Lemma 5.1, second term of Equation (7)",
    title="a chi-square tail",
    hypotheses=("$1 \\le d \\le 4000$; compared as exponents over $d$",),
    draw={"dimension": integers(1, 4000)},
    left=lambda dimension: -chi2.logsf(2 * dimension, dimension) / dimension,
    relation=">=",
    right=lambda rate: rate,
    known=0.0,
    as_printed=Form("$P(\\|w\\|^2 \\ge 2\\tau^2d) \\le (2e^{-1})^{d/2}$.", rate=(1 - np.log(2)) / 2),
    control=Form("It is at most $e^{-0.156d}$.", rate=0.156),
    arithmetic="exact probabilities",
)

CHI_SQUARE = Claim(
    id=f"{PAPER}.section-C.chi-square",
    place="Appendix C, proof of Lemma 5.1, second term of Equation (7)",
    title="base of a chi-square tail",
    hypotheses=("$1 \\le d \\le 100$",),
    kind="constant",
    draw={"dimension": integers(1, 100)},
    left=lambda dimension: (2 / np.e) ** (dimension / 2),
    relation="<=",
    right=lambda dimension, base: base**-dimension,
    as_printed=Form("$(2e^{-1})^{d/2} \\le 1.2^{-d}$.", base=1.2),
    corrected=Form("$(2e^{-1})^{d/2} \\le 1.1658^{-d}$.", base=1.1658),
    correction="$\\sqrt{e/2} = 1.16582$, below 1.2.",
    control=Form("$(2e^{-1})^{d/2} \\le 1.166^{-d}$.", base=1.166),
)


# The rates of flow and descent ----------------------------------------------------------------------------------------

SAFE = Claim(
    id=f"{PAPER}.section-C.1.safe",
    place="Appendix C.1, first paragraph, and again in Appendix C.2",
    title="close to the teacher the angle is acute",
    hypotheses=("$\\|w - v\\| \\le 1$, $\\|v\\| = 1$, $d = 2, 3$",),
    draw=[{"v": unit(d), "w": real((d,))} for d in (2, 3)],
    where=lambda w, v: norm(w - v) <= 1,
    left=lambda w, v: dot(w, v),
    relation=">=",
    right=lambda w, factor: factor * dot(w, w),
    as_printed=Form(
        "$\\langle w, v\\rangle \\ge \\frac12\\|w\\|^2$, so that $\\theta(w, v) < \\frac\\pi2$.", factor=0.5
    ),
    control=Form("$\\langle w, v\\rangle \\ge 0.51\\|w\\|^2$.", factor=0.51),
)

RATE = Claim(
    id=f"{PAPER}.section-C.1.rate",
    place="Appendix C.1, the constant of Theorem 5.3",
    title="the constant 210",
    hypotheses=("$\\theta(w, v) \\le \\pi/2$, that is $\\delta \\ge \\pi/2$",),
    draw={"delta": uniform(np.pi / 2, np.pi)},
    left=lambda delta: np.sin(delta / 4) ** 3 / (8 * np.sqrt(2)),
    relation=">=",
    right=lambda denominator: 1 / denominator,
    known=0.0,
    as_printed=Form("$\\frac1{8\\sqrt2}\\sin^3(\\delta/4) \\ge \\frac1{210}$.", denominator=210.0),
    control=Form("$\\ge \\frac1{201}$.", denominator=201.0),
)

EQUATION_9 = Claim(
    id=f"{PAPER}.equation-9",
    place="Equation (9) and the display before it",
    title="contraction of one step",
    hypotheses=("$0 < \\eta \\le \\lambda/(2c)$; `rate` is $\\lambda$, `bound` is $c$",),
    draw={"rate": log_uniform(1e-6, 1), "bound": log_uniform(1e-3, 1e3), "share": uniform(0, 1)},
    # Both sides over η: the comparison is not spoiled by rounding to one.
    left=lambda rate, bound, share, most: -rate + most * share * rate / (2 * bound) * bound,
    relation="<=",
    right=lambda rate: -rate / 2,
    as_printed=Form(
        "$1 - \\eta\\lambda + \\eta^2c \\le 1 - \\eta\\lambda/2$ (printed as strict, with equality at the largest step).",
        most=1.0,
    ),
    control=Form("The same for $\\eta \\le 1.01\\lambda/(2c)$.", most=1.01),
)


# The proof of Lemmas C.1 and C.2 --------------------------------------------------------------------------------------

_BOUNDED = Form(
    "$E\\|g_t\\|^2$ in both places: $E\\|g_t\\|^2 \\le c_2^4E\\|x\\|^4\\|w_t - v\\|^2$, which is at most $c_1^2c_2^4\\|w_t - v\\|^2$.",
    factor=1.0,
)

MEAN_SQUARE = Claim(
    id=f"{PAPER}.section-C.3.mean-square",
    place="Appendix C.3, proof of Lemma C.1, third line, and the display after it",
    title="mean square of the stochastic gradient",
    hypotheses=("inputs on four points with weights, $d = 1, 2$; two positive slopes",),
    kind="misprint",
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
    as_meant=_BOUNDED,
    supplied="the display after it, whose right side is $E\\|g_t\\|^2$: the second error undoes the first",
    corrected=_BOUNDED,
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
    place="Equation (11)",
    title="change of the squared distance in one stochastic step",
    hypotheses=(
        "ReLU, one input with $\\|x\\|^2 = c_1$ from 0.01 to 100, so that $c_2 = 1$",
        "$\\eta \\le \\min\\{1, 1/c_1^2\\}$",
    ),
    kind="condition",
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
    right=lambda c1, factor, power: factor * c1**power,
    as_printed=Form(
        "$|X_i - X_{i-1}| \\le 3\\eta c_1^2c_2^4X_{i-1}$ for $X_i = \\|w_i - v\\|^2$.", factor=3.0, power=2.0
    ),
    corrected=Form("$|X_i - X_{i-1}| \\le 2\\eta c_1c_2^2X_{i-1}$ for $\\eta c_1c_2^2 \\le 2$.", factor=2.0, power=1.0),
    correction="$|\\langle g, w - v\\rangle| \\le c_1c_2^2\\|w - v\\|^2$, which is at most $c_1^2c_2^4\\|w - v\\|^2$ only if $c_1c_2^2 \\ge 1$. Without that "
    "condition the first power is right; and since no such step increases $X_i$ (Lemma C.2), its square adds nothing.",
    control=Form("The corrected form with 1.98 in place of 2.", factor=1.98, power=1.0),
)

GEOMETRIC = Claim(
    id=f"{PAPER}.section-C.3.geometric",
    place="Appendix C.3, proof of Lemma C.2, display after Equation (12)",
    title="increments of a growing sequence",
    hypotheses=(
        "$X_i = (1 + \\eta')X_{i-1}$, the extreme case of Equations (11) and (12); `rate` is $\\eta'$, $X_0 = 1$",
    ),
    kind="misprint",
    glyph=True,
    draw={"rate": log_uniform(1e-3, 1), "i": integers(1, 20)},
    left=lambda rate, i: (1 + rate) ** i - (1 + rate) ** (i - 1),
    relation="<=",
    right=lambda rate, i, shift: rate * (1 + rate) ** (i - shift),
    as_printed=Form("$|X_i - X_{i-1}| \\le \\eta'(1 + \\eta')^{i-2}\\|w_0 - v\\|^2$.", shift=2.0),
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
    place="Appendix C.3, proof of Lemma C.2, before the maximal inequality",
    title="mean of the capped distance",
    hypotheses=("$E[X_i] = \\kappa X_{i-1}$ with $\\kappa \\le 1$ the factor of Lemma C.1; two equally likely values",),
    kind="misprint",
    glyph=True,
    draw={"mean": uniform(0.01, 1), "spread": uniform(0, 0.5), "epsilon": uniform(0.01, 1)},
    left=_capped,
    relation="<=",
    right=lambda mean, epsilon, share: np.minimum(mean, 1 - share * epsilon),
    as_printed=Form("$E[\\tilde X_i] \\le \\min\\{\\kappa X_{i-1}, 1 - \\epsilon\\}$.", share=1.0),
    as_meant=Form("$E[\\tilde X_i] \\le \\min\\{\\kappa X_{i-1}, 1 - \\frac\\epsilon2\\}$.", share=0.5),
    supplied="the definition of $\\tilde X_i$, two displays before",
    corrected=Form("$E[\\tilde X_i] \\le \\min\\{\\kappa X_{i-1}, 1 - \\frac\\epsilon2\\}$.", share=0.5),
    correction="$\\tilde X_i$ is capped at $1 - \\epsilon/2$, and may be there.",
    control=Form("$E[\\tilde X_i] \\le \\min\\{\\kappa X_{i-1}, 1 - 0.51\\epsilon\\}$.", share=0.51),
)


_UNPRIMED = Form("$\\eta \\le \\lambda/(c_1^2c_2^4)$ for $\\eta$ in place of $\\eta'$.", primed=0.0, limit=1.0)

CHOICE = Claim(
    id=f"{PAPER}.section-C.3.choice",
    place="Appendix C.3, proof of Lemma C.2, the choice of the step before the supermartingale",
    title="the lemma's step is small enough for Lemma C.1",
    hypotheses=(
        "$\\eta < \\epsilon^2\\lambda/(3c_1^2c_2^4\\log\\frac1\\delta)$, $\\eta' = 3\\eta c_1^2c_2^4$, $\\delta \\le \\frac12$; `bound` is $c_1c_2^2 \\ge 1$",
    ),
    kind="misprint",
    draw={"epsilon": log_uniform(1e-3, 0.999), "delta": log_uniform(1e-6, 0.5), "bound": log_uniform(1, 1e2)},
    # η'c₁²c₂⁴/λ, or the same with η.
    left=lambda epsilon, delta, bound, primed: epsilon**2 / (3 * np.log(1 / delta)) * (3 * bound**2) ** primed,
    relation="<=",
    right=lambda limit: limit,
    as_printed=Form(
        "$\\eta' \\le \\lambda/(c_1^2c_2^4)$, which makes the capped distance a supermartingale.", primed=1.0, limit=1.0
    ),
    as_meant=_UNPRIMED,
    supplied="Lemma C.1, which is used for a step of $\\eta$",
    corrected=_UNPRIMED,
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
    place="Appendix C.3, last display of the proof of Lemma C.2, and the sentence after it",
    title="from the capped distance back to the distance",
    hypotheses=(
        "$X_0 < 1 - \\epsilon$ and $\\tilde X_i - X_0 \\le \\frac\\epsilon2$ for $\\tilde X_i = \\min\\{X_i, 1 - \\frac\\epsilon2\\}$: the event that Equation (13) makes likely",
    ),
    kind="misprint",
    glyph=True,
    draw={"epsilon": uniform(0.01, 0.99), "share": uniform(0, 0.999), "later": uniform(0, 1.5)},
    build=lambda epsilon, share, later: {"epsilon": epsilon, "first": share * (1 - epsilon), "later": later},
    where=lambda epsilon, first, later: np.minimum(later, 1 - epsilon / 2) <= first + epsilon / 2,
    left=lambda epsilon, later: np.minimum(later, 1 - epsilon / 2),
    relation="<=",
    right=lambda epsilon, first, sign: first + sign * epsilon / 2,
    as_printed=Form("$\\min\\{X_i, 1 - \\frac\\epsilon2\\} \\le X_0 - \\frac\\epsilon2$.", sign=-1.0),
    as_meant=_BELOW_CAP,
    supplied="the event before it, and the end of the display, $1 - \\epsilon + \\frac\\epsilon2$",
    corrected=_BELOW_CAP,
    correction="A minus for a plus. For $X_0 = 1 - \\epsilon$ the display says nothing, since a capped sequence never exceeds its cap: the event in "
    "Equation (13) must have $\\ge$.",
    control=Form("$X_i \\le X_0 + 0.49\\epsilon$.", left=_BELOW_CAP.varied["left"], sign=0.98),
)


def _log_maximum(length, level):
    """The logarithm of P(max S ≥ level) of a walk of ±1 steps: P(S ≥ level) + P(S > level), by reflection."""
    ups = np.ceil((length + level) / 2)
    more = np.floor((length + level) / 2) + 1
    return np.logaddexp(binom.logsf(ups - 1, length, 0.5), binom.logsf(more - 1, length, 0.5))


EQUATION_13 = Claim(
    id=f"{PAPER}.equation-13",
    place="Equation (13), first inequality",
    title="constant of the maximal Azuma inequality",
    hypotheses=(
        "a martingale with increments of at most $a_i$; judged on a walk of up to 1000 steps $\\pm1$, as exponents",
    ),
    kind="constant",
    draw={"length": integers(1, 1000), "share": uniform(0.001, 1)},
    build=lambda length, share: {"length": length, "level": np.ceil(share * length)},
    # Exceeding ε/2 for every ε/2 below the level.
    left=lambda length, level: -_log_maximum(length, level),
    relation=">=",
    right=lambda length, level, divisor: (2.0 * level) ** 2 / (divisor * length),
    known=0.0,
    as_printed=Form(
        "$P(\\sup_i\\tilde X_i - \\tilde X_0 > \\epsilon/2) \\le \\exp(-\\epsilon^2/(2\\sum_ia_i^2))$.",
        divisor=2.0,
        recipe="""
from math import comb, log
n, k = int(length), int(level)
paths = sum(comb(n, u) * ((2 * u - n >= k) + (2 * u - n > k)) for u in range(n + 1))  # whose maximum is at least k
left = n * log(2) - log(paths)  # minus the logarithm of the probability; epsilon/2 just below the level
right = (2 * k) ** 2 / (2 * n)
""",
    ),
    corrected=Form("$\\le \\exp(-\\epsilon^2/(8\\sum_ia_i^2))$.", divisor=8.0),
    correction="The deviation is $\\epsilon/2$, so that its square is $\\epsilon^2/4$. Lemma C.2 has room for the factor 4.",
    control=Form("$\\le \\exp(-\\epsilon^2/(7.5\\sum_ia_i^2))$.", divisor=7.5),
    arithmetic="exact binomial probabilities",
)

THREE = Claim(
    id=f"{PAPER}.section-C.3.three",
    place="Equation (13), third inequality",
    title="powers along an epoch",
    hypotheses=("$\\eta' \\le 1/(2m + 2)$",),
    draw={"m": integers(1, 10**6), "share": uniform(0, 1)},
    left=lambda m, share: (1 + share / (2 * m + 2)) ** (2 * m + 2),
    relation="<=",
    right=lambda bound: bound,
    as_printed=Form("$(1 + \\eta')^{2m+2} < 3$. (It is below $e$.)", bound=3.0),
    control=Form("It is at most 2.71.", bound=2.71),
)

EPOCH = Claim(
    id=f"{PAPER}.section-C.3.epoch",
    place="After Equation (13), the condition on an epoch",
    title="an epoch is short enough",
    hypotheses=(
        "$m = 1/(9\\eta c_1c_2^2) \\ge 2$ steps, as Lemma C.2 allows; $\\eta' = 3\\eta c_1^2c_2^4$; `bound` is $c_1c_2^2 \\ge 1$, as Equation (11) needs",
    ),
    kind="condition",
    draw={"m": integers(2, 10**6), "bound": log_uniform(1, 1e2)},
    # η' = c₁c₂²/(3m).
    left=lambda m, bound, power: bound**power / (3 * m) * (2 * m + 2),
    relation="<=",
    right=1.0,
    as_printed=Form("$\\eta' \\le \\frac1{2m+2}$, by which $(1 + \\eta')^{2m+2} < 3$.", power=1.0),
    corrected=Form("It is for epochs of $m \\le 1/(9\\eta c_1^2c_2^4)$ steps.", power=0.0),
    correction="$\\eta'(2m + 2)$ is $\\frac23c_1c_2^2(1 + \\frac1m)$, above one unless $c_1c_2^2 < \\frac32$, while Equation (11) needs $c_1c_2^2 \\ge 1$: an epoch must have "
    "$c_1^2c_2^4$ for $c_1c_2^2$. Lemma C.2 is true all the same: no step increases the distance.",
    control=Form("It is for $m \\le 1/(9\\eta(c_1c_2^2)^{1.99})$.", power=0.01),
)

SIMPLIFY = Claim(
    id=f"{PAPER}.section-C.3.simplify",
    place="Appendix C.3, proof of Lemma C.2, after Equation (13)",
    title="the step for which the probability is at most δ",
    hypotheses=("$0 < \\epsilon < 1$, $0 < \\delta < 1$",),
    kind="constant",
    draw={"epsilon": log_uniform(1e-3, 0.99), "delta": log_uniform(1e-6, 0.9), "share": uniform(0.01, 1)},
    build=lambda epsilon, delta, share, factor: {
        "epsilon": epsilon,
        "delta": delta,
        "step": factor * share * epsilon**2 / np.log(1 / delta),
    },
    left=lambda epsilon, step: epsilon**2 * (2 + step) / (4 * step * (1 - epsilon) ** 2),
    relation=">=",
    right=lambda delta: np.log(1 / delta),
    known=0.0,
    as_printed=Form(
        "The last bound of Equation (13) is at most $\\delta$ if $\\eta' \\le \\epsilon^2/\\log\\frac1\\delta$; as exponents.",
        factor=1.0,
    ),
    corrected=Form("It is for $\\eta' \\le \\epsilon^2/(2\\log\\frac1\\delta)$.", factor=0.5),
    correction="It needs $(1 - \\epsilon)^2 \\le \\frac12 + \\frac{\\eta'}4$, which small $\\epsilon$ do not satisfy: a factor $\\frac12$ (and a quarter of that with the "
    "right exponent in Equation (13)). Lemma C.2 is true all the same: no step increases the distance.",
    control=Form("It is for $\\eta' \\le 0.51\\epsilon^2/\\log\\frac1\\delta$.", factor=0.51),
)


# The proof of Lemma C.3 and of Theorem 5.3 (3) ------------------------------------------------------------------------


def _relu(w, v, points):
    """Stochastic gradients of ReLU at several points."""
    return terms(w, v, points, 0.0, 1.0)


def _after_two(w, v, points, step):
    """The nine equally likely ends of two stochastic steps, and the three after one."""
    first = w[..., None, :] - step[..., None, None] * _relu(w, v, points)
    second = [
        first[..., k, :][..., None, :] - step[..., None, None] * _relu(first[..., k, :], v, points) for k in range(3)
    ]
    return first, np.concatenate(second, -2)


def _second_step(w, v, points, step):
    first, second = _after_two(w, v, points, np.asarray(step))
    return np.mean(first, -2) - np.mean(second, -2)


def _at_mean(w, v, points, step):
    step = np.asarray(step)
    middle = np.mean(_after_two(w, v, points, step)[0], -2)
    return step[..., None] * np.mean(_relu(middle, v, points), -2)


def _mean_of(w, v, points, step, factor):
    step = np.asarray(step)
    first = _after_two(w, v, points, step)[0]
    several = [np.mean(_relu(first[..., k, :], v, points), -2) for k in range(3)]
    return factor * step[..., None] * sum(several) / 3


MEAN_PATH = Claim(
    id=f"{PAPER}.equation-14",
    place="Equation (14), the path of means",
    title="the mean of stochastic runs is not a run of gradient descent",
    hypotheses=("ReLU, inputs uniform on three points in the plane, $\\|w_0 - v\\| < 1$, $\\eta \\le \\frac12$",),
    kind="statement",
    draw={
        "turn": uniform(-np.pi, np.pi),
        "gap": uniform(0.01, 1),
        "points": uniform(-1, 1, (3, 2)),
        "step": uniform(0.01, 0.5),
    },
    build=lambda turn, gap, points, step: {
        "w": np.array([1.0, 0.0]) + gap[..., None] * np.stack([np.cos(turn), np.sin(turn)], -1),
        "v": np.array([1.0, 0.0]) + 0 * points[..., 0, :],
        "points": points,
        "step": step,
    },
    left=_second_step,
    relation="==",
    right=_mean_of,
    scale=1e-3,
    as_printed=Form(
        "$\\tilde w_i = E[w_i]$ satisfies $\\tilde w_i = \\tilde w_{i-1} - \\eta\\nabla F(\\tilde w_{i-1})$; judged as the second step.",
        right=_at_mean,
    ),
    corrected=Form("$\\tilde w_i = \\tilde w_{i-1} - \\eta E[\\nabla F(w_{i-1})]$.", factor=1.0),
    correction="The gradient of $F$ is not linear, so that the mean of the gradients is not the gradient at the mean. The conclusion of "
    "Lemma C.3 can be had from Lemma C.1, which bounds $E\\|w_i - v\\|^2$ directly.",
    control=Form("The corrected form with a step one per cent larger.", factor=1.01),
    arithmetic="exact sums in float64",
)

SPLIT = Claim(
    id=f"{PAPER}.section-C.3.split",
    place="Equation (14), last inequality, second term",
    title="square of a difference",
    hypotheses=("$a = \\nabla F$, $b = g$; both sides over $\\eta$",),
    kind="condition",
    defect=SCALE,
    draw={"a": real((2,)), "b": real((2,)), "share": uniform(0.01, 1)},
    build=lambda a, b, share, most: {"a": a, "b": b, "step": most * share},
    left=lambda a, b, step: step * dot(a - b, a - b),
    relation="<=",
    right=lambda a, b: dot(a, a) + dot(b, b),
    as_printed=Form(
        "$\\eta^2\\|a - b\\|^2 \\le \\eta(\\|a\\|^2 + \\|b\\|^2)$ for the steps of Lemma C.3; judged for steps up to 4, which it allows for small inputs.",
        most=4.0,
    ),
    corrected=Form("The same for $\\eta \\le \\frac12$, as all steps of the lemma are if $c_1c_2^2 \\ge 1$.", most=0.5),
    correction="$\\|a - b\\|^2 \\le 2\\|a\\|^2 + 2\\|b\\|^2$, and a power of $\\eta$ pays for the factor 2 if $\\eta \\le \\frac12$.",
    control=Form("The same for $\\eta \\le 0.505$.", most=0.505),
)

NORMS = Claim(
    id=f"{PAPER}.section-C.3.norms",
    place="Appendix C.3, proof of Lemma C.3, norms of the iterates",
    title="norm of a student close to the teacher",
    hypotheses=(
        "$\\|w_i - v\\|^2 \\le 1 - \\frac\\epsilon2$, as Lemma C.2 has it, $\\|v\\| = 1$; `turn` is the angle between $w_i - v$ and $v$",
    ),
    kind="misprint",
    draw={"epsilon": uniform(0.001, 0.999), "share": uniform(0, 1), "turn": uniform(0, np.pi)},
    build=lambda epsilon, share, turn: {"epsilon": epsilon, "gap": share * np.sqrt(1 - epsilon / 2), "turn": turn},
    left=lambda gap, turn: np.sqrt(1 + 2 * gap * np.cos(turn) + gap**2),
    relation="<=",
    right=lambda epsilon, part, power: 1 + (1 - part * epsilon) ** power,
    as_printed=Form("$\\|w_i\\| \\le 1 + 1 - \\epsilon$.", part=1.0, power=1.0),
    as_meant=Form("$\\|w_i\\| \\le 2$.", part=0.0, power=0.5),
    supplied="the end of the display, which is what is used",
    corrected=Form("$\\|w_i\\| \\le 1 + \\sqrt{1 - \\epsilon/2}$.", part=0.5, power=0.5),
    correction="It is the square of $\\|w_i - v\\|$ that is at most $1 - \\epsilon/2$; the bound by 2 is right.",
    control=Form("$\\|w_i\\| \\le 1 + \\sqrt{1 - 0.51\\epsilon}$.", part=0.51, power=0.5),
)

SUM = Claim(
    id=f"{PAPER}.section-C.3.sum",
    place="Appendix C.3, proof of Lemma C.3, the total of Equation (14)",
    title="bound on the change of the squared deviation",
    hypotheses=(
        "`bound` is $c_1c_2^2$; $\\|g\\|, \\|\\nabla F\\| \\le c_1c_2^2$ and $\\|w\\|, \\|\\tilde w\\| \\le 2$; both sides over $\\eta$",
    ),
    kind="constant",
    defect=SCALE,
    draw={"bound": log_uniform(1e-2, 1e2)},
    left=lambda bound: 2 * (bound + bound) * (2 + 2) + bound**2 + bound**2,
    relation="<=",
    right=lambda bound, factor: factor * bound**2,
    as_printed=Form("Equation (14) is at most $16\\eta c_1^2c_2^4$.", factor=16.0, least=0.0),
    where=lambda bound, least: bound >= least,
    corrected=Form("It is at most $18\\eta c_1^2c_2^4$ if $c_1c_2^2 \\ge 1$.", factor=18.0, least=1.0),
    correction="The terms are $16c_1c_2^2$ and $2c_1^2c_2^4$: with $c_1c_2^2 \\ge 1$, taken for granted, 18 in place of 16; without it the "
    "first power remains. (The bound $\\|\\nabla F\\| \\le c_1^2c_2^4$ before it lacks a square on the left.)",
    control=Form("It is at most $17.9\\eta c_1^2c_2^4$ if $c_1c_2^2 \\ge 1$.", factor=17.9, least=1.0),
)

AZUMA = Claim(
    id=f"{PAPER}.section-C.3.azuma",
    place="Appendix C.3, proof of Lemma C.3, Azuma's inequality for $Z_m$",
    title="Azuma's inequality for a sequence that is no supermartingale",
    hypotheses=("$Z_0 = 0$ and increments of $\\pm1$, up with a probability $p$; $m \\le 150$; as exponents",),
    kind="condition",
    draw={"length": integers(1, 150), "share": uniform(0.01, 1), "chance": uniform(0.05, 1)},
    build=lambda length, share, chance, most: {
        "length": length,
        "level": np.ceil(share * length),
        "chance": most * chance,
    },
    left=lambda length, level, chance: -binom.logsf(np.ceil((length + level) / 2) - 1, length, chance),
    relation=">=",
    right=lambda length, level, divisor: level**2 / (divisor * length),
    known=0.0,
    as_printed=Form(
        "$P(Z_m \\ge z) \\le \\exp(-z^2/(ma^2))$ for a sequence with $Z_0 = 0$ and increments of at most $a$, as $Z_i = \\|w_i - \\tilde w_i\\|^2$; here "
        "$a = 16\\eta c_1^2c_2^4$, and 256 is its square.",
        most=1.0,
        divisor=1.0,
        recipe="""
from math import ceil, comb, log
n, k, p = int(length), int(level), float(chance)
left = -log(sum(comb(n, u) * p**u * (1 - p) ** (n - u) for u in range(ceil((n + k) / 2), n + 1)))
right = k**2 / n
""",
    ),
    as_meant=Form(
        "$P(Z_m \\ge z) \\le \\exp(-z^2/(2ma^2))$, as Azuma's inequality has it.",
        most=1.0,
        divisor=2.0,
        recipe="""
from math import ceil, comb, log
n, k, p = int(length), int(level), float(chance)
left = -log(sum(comb(n, u) * p**u * (1 - p) ** (n - u) for u in range(ceil((n + k) / 2), n + 1)))
right = k**2 / (2 * n)
""",
    ),
    supplied="Equation (15), which has 512 for 256",
    corrected=Form("The same for supermartingales, $p \\le \\frac12$ here.", most=0.5, divisor=2.0),
    correction="$Z_i$ starts at zero and is never negative: its mean grows, and it is no supermartingale. What is needed, a bound on "
    "$E\\|w_m - \\tilde w_m\\|^2$, is of order $\\eta$ and can be had from the variance of the steps. (The factor 2 is lost in the display, and back in Equation (15).)",
    control=Form("The same for $p \\le 0.6$.", most=0.6, divisor=2.0),
    arithmetic="exact binomial probabilities",
)

_CAPPED = Form("The same for $\\lambda \\le 1$.", cap=1.0, divisor=60.0)

EQUATION_15 = Claim(
    id=f"{PAPER}.equation-15",
    place="Equation (15) and the choice of the step after it",
    title="the step satisfies the condition on the epoch",
    hypotheses=(
        "$\\eta = \\lambda\\epsilon_1^2\\epsilon_2^2c_3^2/(60c_1^3c_2^6\\log\\frac2\\delta)$, $m = 1/(9\\eta c_1c_2^2)$, $\\epsilon_1 \\to 1$; `rate` is $\\lambda$",
    ),
    kind="condition",
    draw={"rate": log_uniform(1e-4, 1e2)},
    where=lambda rate, cap: rate <= cap,
    # η = λκ/(60c₁³) and (15) asks for 1/(9ηc₁) ≤ κ/(512c₁⁴η²), that is η ≤ 9κ/(512c₁³).
    left=lambda rate, divisor: rate / divisor,
    relation="<=",
    right=9 / 512,
    as_printed=Form(
        "$m \\le \\epsilon_2^2c_3^2/(512c_1^4c_2^8\\eta^2\\log\\frac2\\delta)$ for $\\lambda = \\alpha^4\\beta\\gamma^2/210$; both sides as bounds on $\\eta$, "
        "without common factors.",
        cap=1e9,
        divisor=60.0,
    ),
    as_meant=_CAPPED,
    supplied="part (2) of Theorem 5.3, where $\\lambda = \\min\\{1, \\alpha^4\\beta\\gamma^2/210\\}$",
    corrected=_CAPPED,
    correction="The condition is $\\lambda\\epsilon_1^2 \\le 540/512$; large inputs have $\\lambda > 1$ and need $\\min\\{1, \\lambda\\}$ in the step.",
    control=Form("The corrected form with 56 in place of 60.", cap=1.0, divisor=56.0),
)

# The largest λ/(c₁c₂²), that of ReLU in a disc.
_LARGEST = 1 / (210 * np.pi)


def _third_constant(ratio):
    """c₃, without cancellation."""
    return 2 ** (-ratio / 18) * np.expm1(np.log(2) * ratio * (1 / 18 - 1 / 20))


_FROM_HERE = float(_third_constant(_LARGEST) ** 2 / (30 * np.log(2)))

SMALL_STEP = Claim(
    id=f"{PAPER}.section-C.3.step",
    place="Appendix C.3, proof of Lemma C.3, the choice of the step, second consequence",
    title="the step is small against the rate",
    hypotheses=(
        "$\\eta = \\lambda\\epsilon_1^2\\epsilon_2^2c_3^2/(60c_1^3c_2^6\\log\\frac2\\delta)$; `bound` is $c_1c_2^2$, `ratio` is $\\lambda/(c_1c_2^2)$, `epsilons` is $\\epsilon_1\\epsilon_2$",
    ),
    kind="condition",
    defect=SCALE,
    draw={
        "bound": log_uniform(1e-14, 1e2),
        "ratio": log_uniform(1e-6, _LARGEST),
        "epsilons": uniform(0.01, 1),
        "delta": uniform(1e-6, 1 - 1e-9),
    },
    where=lambda bound, least: bound >= least,
    # η over λ/(2c₁²c₂⁴).
    left=lambda bound, ratio, epsilons, delta: (
        epsilons**2 * _third_constant(ratio) ** 2 / (30 * bound * np.log(2 / delta))
    ),
    relation="<=",
    right=1.0,
    as_printed=Form(
        "$1 - \\eta\\lambda + \\eta^2c \\le 1 - \\frac{\\eta\\lambda}2$, that is $\\eta \\le \\lambda/(2c)$.",
        least=0.0,
        recipe="""
c_3 = 2 ** (-ratio / 20) - 2 ** (-ratio / 18)
left = epsilons**2 * c_3**2 / (30 * bound * np.log(2 / delta))  # the step over λ/(2c)
right = 1.0
""",
    ),
    corrected=Form(
        "So it is for $c_1c_2^2 \\ge c_3^2/(30\\log2)$, which is $1.64\\cdot10^{-12}$ at most.", least=_FROM_HERE
    ),
    correction="The step is proportional to $1/(c_1c_2^2)^3$ and $\\lambda/(2c)$ to its square: very small inputs are excluded.",
    control=Form("So it is for $c_1c_2^2 \\ge 1.6\\cdot10^{-12}$.", least=1.6e-12),
)

SQUARES = Claim(
    id=f"{PAPER}.section-C.3.squares",
    place="Appendix C.3, proof of Lemma C.3, first line of the last display",
    title="triangle inequality for squares",
    hypotheses=("any vectors $a = \\tilde w_m - v$ and $b = w_m - \\tilde w_m$",),
    kind="statement",
    draw={"a": real((2,)), "b": real((2,))},
    left=lambda a, b: dot(a + b, a + b),
    relation="<=",
    right=lambda a, b, factor: factor * (norm(a) + norm(b)) ** 2,
    as_printed=Form(
        "$\\|w_m - v\\|^2 \\le \\|\\tilde w_m - v\\|^2 + \\|w_m - \\tilde w_m\\|^2$.",
        right=lambda a, b: dot(a, a) + dot(b, b),
    ),
    corrected=Form("$\\|w_m - v\\| \\le \\|\\tilde w_m - v\\| + \\|w_m - \\tilde w_m\\|$.", factor=1.0),
    correction="The triangle inequality holds for norms, not for their squares; the cross term vanishes in the mean only.",
    control=Form("The squared sum of norms times 0.99 is enough.", factor=0.99),
)

_MINUS = Form("$(1 - x)^{1/x} \\le \\frac12$, with $x = \\eta\\lambda/2$.", sign=-1.0, bound=0.5)

EXPONENTIAL = Claim(
    id=f"{PAPER}.section-C.3.exponential",
    place="Appendix C.3, proof of Lemma C.3, after the last display",
    title="a bound on powers",
    hypotheses=("$0 < x < 1$",),
    kind="misprint",
    glyph=True,
    draw={"x": uniform(1e-6, 0.999)},
    left=lambda x, sign: (1 + sign * x) ** (1 / x),
    relation="<=",
    right=lambda bound: bound,
    as_printed=Form("$(1 + x)^{1/x} \\le \\frac12$.", sign=1.0, bound=0.5),
    as_meant=_MINUS,
    supplied="the line that uses it, $(1 - \\eta\\lambda/2)^{2/(\\eta\\lambda)} \\le \\frac12$",
    corrected=Form("$(1 - x)^{1/x} \\le 1/e$.", sign=-1.0, bound=np.exp(-1)),
    correction="A sign: $(1 + x)^{1/x} \\ge 2$, while $(1 - x)^{1/x} \\le 1/e$, which is what is used.",
    control=Form("$(1 - x)^{1/x} \\le 0.36$.", sign=-1.0, bound=0.36),
)

UNION_STEP = Claim(
    id=f"{PAPER}.section-C.3.union",
    place="Theorem 5.3 (3) beside Lemma C.3, from which it is concluded",
    title="the theorem's step satisfies the lemma's condition",
    hypotheses=("both steps in units of $\\lambda\\epsilon_1^2\\epsilon_2^2c_3^2/(60c_1^3c_2^6)$",),
    kind="constant",
    defect=UNION,
    draw={"delta": log_uniform(1e-9, 0.9)},
    left=lambda delta, inside: 1 / np.log(inside / delta),
    relation="<=",
    right=lambda delta: 1 / np.log(2 / delta),
    as_printed=Form(
        "$\\frac1{\\log(1/\\delta)} \\le \\frac1{\\log(2/\\delta)}$: the theorem's step is at most the lemma's.",
        inside=1.0,
    ),
    corrected=Form("With $\\log\\frac2\\delta$ in the theorem, too.", inside=2.0 + 1e-9),
    correction="The lemma, used for every epoch, asks for $\\log\\frac2\\delta$; the theorem has $\\log\\frac1\\delta$.",
    control=Form("With $\\log\\frac{1.99}\\delta$ in the theorem.", inside=1.99),
)

# Of ratios λ/(c₁c₂²) up to 1/(210π), the largest possible.
_EPOCHS = {"ratio": log_uniform(1e-6, 1 / (210 * np.pi)), "epsilon_2": log_uniform(1e-8, 0.8)}

EPOCHS = Claim(
    id=f"{PAPER}.section-C.3.epochs",
    place="Appendix C.3, proof of Theorem 5.3 (3), number of epochs",
    title="number of epochs",
    hypotheses=(
        "`ratio` is $\\lambda/(c_1c_2^2)$",
        "$\\log$ is the natural logarithm, as in the bounds on probabilities",
    ),
    kind="constant",
    draw=_EPOCHS,
    left=lambda ratio, epsilon_2, base: (
        0.5 ** (np.ceil(20 * np.log(1 / epsilon_2) / np.log(base) / ratio) * ratio / 20)
    ),
    relation="<=",
    right=lambda epsilon_2: epsilon_2,
    scale=1e-12,
    as_printed=Form(
        "$(\\frac12)^{t\\lambda/(20c_1c_2^2)} \\le \\epsilon_2$ for $t = \\lceil20c_1c_2^2\\log(1/\\epsilon_2)/\\lambda\\rceil$.",
        base=float(np.e),
    ),
    corrected=Form("The same with the logarithm of base 2.", base=2.0),
    correction="$2^{-\\log(1/\\epsilon_2)} = \\epsilon_2^{\\log2} > \\epsilon_2$ for the natural logarithm.",
    control=Form("The same with the logarithm of base 2.02.", base=2.02),
)

LENGTH = Claim(
    id=f"{PAPER}.section-C.3.length",
    place="Appendix C.3, proof of Theorem 5.3 (3), number of iterations",
    title="number of iterations",
    hypotheses=("$t$ epochs of $m = 1/(9\\eta c_1c_2^2)$ iterations", "up to one epoch, for rounding up"),
    kind="constant",
    draw=_EPOCHS,
    # Both in units of 1/(ηλ): t·m = ⌈20 log(1/ε₂)/ratio⌉·ratio/9.
    left=lambda ratio, epsilon_2: np.ceil(20 * np.log(1 / epsilon_2) / ratio) * ratio / 9,
    relation="<=",
    right=lambda ratio, epsilon_2, constant: constant * np.log(1 / epsilon_2) + ratio / 9,
    as_printed=Form("$T = tm = 2\\log(1/\\epsilon_2)/(\\lambda\\eta)$, in units of $1/(\\lambda\\eta)$.", constant=2.0),
    corrected=Form("$tm \\le \\frac{20}9\\log(1/\\epsilon_2)/(\\lambda\\eta)$ and one epoch.", constant=20 / 9),
    correction="$20/9$ is rounded down to 2. The theorem's number of iterations is still enough, the true rate being at least $2\\lambda$.",
    control=Form("The same with 2.2.", constant=2.2),
)

BEFORE_LEMMAS = (EQUATION_7, ERF, GAUSSIAN_TAIL, CHI_SQUARE_TAIL, CHI_SQUARE, SAFE, RATE, EQUATION_9)
OF_LEMMA_C_2 = (EQUATION_11, GEOMETRIC, CHOICE, SUPERMARTINGALE, EQUATION_13, THREE, EPOCH, SIMPLIFY, CAP)
OF_LEMMA_C_3 = (SPLIT, NORMS, SUM, AZUMA, EQUATION_15, SMALL_STEP, SQUARES, EXPONENTIAL, UNION_STEP, EPOCHS, LENGTH)
