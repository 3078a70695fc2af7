r"""Appendix C.3, proofs of Lemma C.3 and of Theorem 5.3 (3): one epoch of stochastic descent, and several."""

import numpy as np

from tutelage.claims import Claim, Form, integers, log_uniform, real, uniform
from tutelage.claims.single_neuron.formulas import PAPER, SCALE, UNION, dot, norm, terms
from tutelage.statistics import at_least


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
    title="the mean of stochastic runs is not a run of gradient descent",
    hypotheses="ReLU, inputs uniform on three points in the plane, $\\|w_0 - v\\| < 1$, $\\eta \\le \\frac12$",
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
    title="square of a difference",
    hypotheses="$a = \\nabla F$, $b = g$; both sides over $\\eta$",
    defect=SCALE,
    draw={"a": real((2,)), "b": real((2,)), "share": uniform(0.01, 1)},
    build=lambda a, b, share, most=4.0: {"a": a, "b": b, "step": most * share},
    left=lambda a, b, step: step * dot(a - b, a - b),
    relation="<=",
    right=lambda a, b: dot(a, a) + dot(b, b),
    as_printed="$\\eta^2\\|a - b\\|^2 \\le \\eta(\\|a\\|^2 + \\|b\\|^2)$ for the steps of Lemma C.3; judged for steps up to 4, which it allows for small inputs.",
    corrected=Form("The same for $\\eta \\le \\frac12$, as all steps of the lemma are if $c_1c_2^2 \\ge 1$.", most=0.5),
    correction="$\\|a - b\\|^2 \\le 2\\|a\\|^2 + 2\\|b\\|^2$, and a power of $\\eta$ pays for the factor 2 if $\\eta \\le \\frac12$.",
    control=Form("The same for $\\eta \\le 0.505$.", most=0.505),
)

NORMS = Claim(
    id=f"{PAPER}.section-C.3.norms",
    title="norm of a student close to the teacher",
    hypotheses="$\\|w_i - v\\|^2 \\le 1 - \\frac\\epsilon2$, as Lemma C.2 has it, $\\|v\\| = 1$; `turn` is the angle between $w_i - v$ and $v$",
    draw={"epsilon": uniform(0.001, 0.999), "share": uniform(0, 1), "turn": uniform(0, np.pi)},
    build=lambda epsilon, share, turn: {"epsilon": epsilon, "gap": share * np.sqrt(1 - epsilon / 2), "turn": turn},
    left=lambda gap, turn: np.sqrt(1 + 2 * gap * np.cos(turn) + gap**2),
    relation="<=",
    right=lambda epsilon, part=1.0, power=1.0: 1 + (1 - part * epsilon) ** power,
    as_printed="$\\|w_i\\| \\le 1 + 1 - \\epsilon$.",
    as_meant=Form("$\\|w_i\\| \\le 2$.", part=0.0, power=0.5),
    supplied="the end of the display, which is what is used",
    corrected=Form("$\\|w_i\\| \\le 1 + \\sqrt{1 - \\epsilon/2}$.", part=0.5, power=0.5),
    correction="It is the square of $\\|w_i - v\\|$ that is at most $1 - \\epsilon/2$; the bound by 2 is right.",
    control=Form("$\\|w_i\\| \\le 1 + \\sqrt{1 - 0.51\\epsilon}$.", part=0.51, power=0.5),
)

SUM = Claim(
    id=f"{PAPER}.section-C.3.sum",
    title="bound on the change of the squared deviation",
    hypotheses="`bound` is $c_1c_2^2$; $\\|g\\|, \\|\\nabla F\\| \\le c_1c_2^2$ and $\\|w\\|, \\|\\tilde w\\| \\le 2$; both sides over $\\eta$",
    defect=SCALE,
    draw={"bound": log_uniform(1e-2, 1e2)},
    left=lambda bound: 2 * (bound + bound) * (2 + 2) + bound**2 + bound**2,
    relation="<=",
    right=lambda bound, factor=16.0: factor * bound**2,
    as_printed="Equation (14) is at most $16\\eta c_1^2c_2^4$.",
    where=lambda bound, least=0.0: bound >= least,
    corrected=Form("It is at most $18\\eta c_1^2c_2^4$ if $c_1c_2^2 \\ge 1$.", factor=18.0, least=1.0),
    correction="The terms are $16c_1c_2^2$ and $2c_1^2c_2^4$: with $c_1c_2^2 \\ge 1$, taken for granted, 18 in place of 16; without it the "
    "first power remains. (The bound $\\|\\nabla F\\| \\le c_1^2c_2^4$ before it lacks a square on the left.)",
    control=Form("It is at most $17.9\\eta c_1^2c_2^4$ if $c_1c_2^2 \\ge 1$.", factor=17.9, least=1.0),
)

_BINOMIAL = """
from math import ceil, comb, log
n, k, p = int(length), int(level), float(chance)
left = -log(sum(comb(n, u) * p**u * (1 - p) ** (n - u) for u in range(ceil((n + k) / 2), n + 1)))
"""

AZUMA = Claim(
    id=f"{PAPER}.section-C.3.azuma",
    title="Azuma's inequality for a sequence that is no supermartingale",
    hypotheses="$Z_0 = 0$ and increments of $\\pm1$, up with a probability $p$; $m \\le 150$; as exponents",
    draw={"length": integers(1, 150), "share": uniform(0.01, 1), "chance": uniform(0.05, 1)},
    build=lambda length, share, chance, most=1.0: {
        "length": length,
        "level": np.ceil(share * length),
        "chance": most * chance,
    },
    left=lambda length, level, chance: -np.log(at_least(np.ceil((length + level) / 2), length, chance)),
    relation=">=",
    right=lambda length, level, divisor=1.0: level**2 / (divisor * length),
    known=0.0,
    as_printed=Form(
        "$P(Z_m \\ge z) \\le \\exp(-z^2/(ma^2))$ for a sequence with $Z_0 = 0$ and increments of at most $a$, as $Z_i = \\|w_i - \\tilde w_i\\|^2$; here "
        "$a = 16\\eta c_1^2c_2^4$, and 256 is its square.",
        recipe=_BINOMIAL,
    ),
    as_meant=Form(
        "$P(Z_m \\ge z) \\le \\exp(-z^2/(2ma^2))$, as Azuma's inequality has it.",
        divisor=2.0,
        recipe=_BINOMIAL,
    ),
    supplied="Equation (15), which has 512 for 256",
    corrected=Form(
        "$P(Z_m \\ge z) \\le \\exp(-z^2/(2ma^2))$ for supermartingales, $p \\le \\frac12$ here.", most=0.5, divisor=2.0
    ),
    correction="$Z_i$ starts at zero and is never negative: its mean grows, and it is no supermartingale. What is needed, a bound on "
    "$E\\|w_m - \\tilde w_m\\|^2$, is of order $\\eta$ and can be had from the variance of the steps. (The factor 2 is lost in the display, and back in Equation (15).)",
    control=Form("The same for $p \\le 0.6$.", most=0.6, divisor=2.0),
    arithmetic="exact binomial probabilities",
)

EQUATION_15 = Claim(
    id=f"{PAPER}.equation-15",
    title="the step satisfies the condition on the epoch",
    hypotheses="$\\eta = \\lambda\\epsilon_1^2\\epsilon_2^2c_3^2/(60c_1^3c_2^6\\log\\frac2\\delta)$, $m = 1/(9\\eta c_1c_2^2)$, $\\epsilon_1 \\to 1$; `rate` is $\\lambda$",
    draw={"rate": log_uniform(1e-4, 1e2)},
    where=lambda rate, cap=1e9: rate <= cap,
    # η = λκ/(60c₁³) and (15) asks for 1/(9ηc₁) ≤ κ/(512c₁⁴η²), that is η ≤ 9κ/(512c₁³).
    left=lambda rate, divisor=60.0: rate / divisor,
    relation="<=",
    right=9 / 512,
    as_printed="$m \\le \\epsilon_2^2c_3^2/(512c_1^4c_2^8\\eta^2\\log\\frac2\\delta)$ for $\\lambda = \\alpha^4\\beta\\gamma^2/210$; both sides as bounds on $\\eta$, "
    "without common factors.",
    as_meant=Form("The same for $\\lambda \\le 1$.", cap=1.0),
    supplied="part (2) of Theorem 5.3, where $\\lambda = \\min\\{1, \\alpha^4\\beta\\gamma^2/210\\}$",
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
    title="the step is small against the rate",
    hypotheses="$\\eta = \\lambda\\epsilon_1^2\\epsilon_2^2c_3^2/(60c_1^3c_2^6\\log\\frac2\\delta)$; `bound` is $c_1c_2^2$, `ratio` is $\\lambda/(c_1c_2^2)$, `epsilons` is $\\epsilon_1\\epsilon_2$",
    defect=SCALE,
    draw={
        "bound": log_uniform(1e-14, 1e2),
        "ratio": log_uniform(1e-6, _LARGEST),
        "epsilons": uniform(0.01, 1),
        "delta": uniform(1e-6, 1 - 1e-9),
    },
    where=lambda bound, least=0.0: bound >= least,
    # η over λ/(2c₁²c₂⁴).
    left=lambda bound, ratio, epsilons, delta: (
        epsilons**2 * _third_constant(ratio) ** 2 / (30 * bound * np.log(2 / delta))
    ),
    relation="<=",
    right=1.0,
    as_printed="$1 - \\eta\\lambda + \\eta^2c \\le 1 - \\frac{\\eta\\lambda}2$, that is $\\eta \\le \\lambda/(2c)$.",
    corrected=Form(
        "So it is for $c_1c_2^2 \\ge c_3^2/(30\\log2)$, which is $1.64\\cdot10^{-12}$ at most.", least=_FROM_HERE
    ),
    correction="The step is proportional to $1/(c_1c_2^2)^3$ and $\\lambda/(2c)$ to its square: very small inputs are excluded.",
    control=Form("So it is for $c_1c_2^2 \\ge 1.6\\cdot10^{-12}$.", least=1.6e-12),
)

SQUARES = Claim(
    id=f"{PAPER}.section-C.3.squares",
    title="triangle inequality for squares",
    hypotheses="any vectors $a = \\tilde w_m - v$ and $b = w_m - \\tilde w_m$",
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
    title="a bound on powers",
    hypotheses="$0 < x < 1$",
    glyph=True,
    draw={"x": uniform(1e-6, 0.999)},
    left=lambda x, sign=1.0: (1 + sign * x) ** (1 / x),
    relation="<=",
    right=lambda bound=0.5: bound,
    as_printed="$(1 + x)^{1/x} \\le \\frac12$.",
    as_meant=_MINUS,
    supplied="the line that uses it, $(1 - \\eta\\lambda/2)^{2/(\\eta\\lambda)} \\le \\frac12$",
    corrected=Form("$(1 - x)^{1/x} \\le 1/e$.", sign=-1.0, bound=np.exp(-1)),
    correction="A sign: $(1 + x)^{1/x} \\ge 2$, while $(1 - x)^{1/x} \\le 1/e$, which is what is used.",
    control=Form("$(1 - x)^{1/x} \\le 0.36$.", sign=-1.0, bound=0.36),
)

UNION_STEP = Claim(
    id=f"{PAPER}.section-C.3.union",
    title="the theorem's step satisfies the lemma's condition",
    hypotheses="both steps in units of $\\lambda\\epsilon_1^2\\epsilon_2^2c_3^2/(60c_1^3c_2^6)$",
    defect=UNION,
    draw={"delta": log_uniform(1e-9, 0.9)},
    left=lambda delta, inside=1.0: 1 / np.log(inside / delta),
    relation="<=",
    right=lambda delta: 1 / np.log(2 / delta),
    as_printed="$\\frac1{\\log(1/\\delta)} \\le \\frac1{\\log(2/\\delta)}$: the theorem's step is at most the lemma's.",
    corrected=Form("With $\\log\\frac2\\delta$ in the theorem, too.", inside=2.0 + 1e-9),
    correction="The lemma, used for every epoch, asks for $\\log\\frac2\\delta$; the theorem has $\\log\\frac1\\delta$.",
    control=Form("With $\\log\\frac{1.99}\\delta$ in the theorem.", inside=1.99),
)

# Of ratios λ/(c₁c₂²) up to 1/(210π), the largest possible.
_EPOCHS = {"ratio": log_uniform(1e-6, 1 / (210 * np.pi)), "epsilon_2": log_uniform(1e-8, 0.8)}

EPOCHS = Claim(
    id=f"{PAPER}.section-C.3.epochs",
    title="number of epochs",
    hypotheses=(
        "`ratio` is $\\lambda/(c_1c_2^2)$",
        "$\\log$ is the natural logarithm, as in the bounds on probabilities",
    ),
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
    title="number of iterations",
    hypotheses=("$t$ epochs of $m = 1/(9\\eta c_1c_2^2)$ iterations", "up to one epoch, for rounding up"),
    draw=_EPOCHS,
    # Both in units of 1/(ηλ): t·m = ⌈20 log(1/ε₂)/ratio⌉·ratio/9.
    left=lambda ratio, epsilon_2: np.ceil(20 * np.log(1 / epsilon_2) / ratio) * ratio / 9,
    relation="<=",
    right=lambda ratio, epsilon_2, constant=2.0: constant * np.log(1 / epsilon_2) + ratio / 9,
    as_printed="$T = tm = 2\\log(1/\\epsilon_2)/(\\lambda\\eta)$, in units of $1/(\\lambda\\eta)$.",
    corrected=Form("$tm \\le \\frac{20}9\\log(1/\\epsilon_2)/(\\lambda\\eta)$ and one epoch.", constant=20 / 9),
    correction="$20/9$ is rounded down to 2. The theorem's number of iterations is still enough, the true rate being at least $2\\lambda$.",
    control=Form("The same with 2.2.", constant=2.2),
)
