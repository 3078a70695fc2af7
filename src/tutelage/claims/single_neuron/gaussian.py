r"""Remark 6.5 and Appendix D.1: standard Gaussian inputs, where everything has a closed form."""

import numpy as np

from tutelage.claims import Claim, Form, log_uniform, uniform
from tutelage.claims.single_neuron.formulas import CHAIN_RULE, PAPER, dot, growth, over_circle, spherical_gradient
from tutelage.claims.single_neuron.spherical import norm_change, turning

_CIRCLE = "Gauss–Legendre rules over the circle"
_GAUSSIAN = "ReLU, standard Gaussian inputs"
_STUDENTS = {"size": log_uniform(1e-2, 1e2), "theta": uniform(0, np.pi)}

REMARK_6_5 = Claim(
    id=f"{PAPER}.remark-6.5",
    title="closed form of the loss for Gaussian inputs",
    hypotheses=(_GAUSSIAN, "$\\|v\\| = 1$"),
    draw=_STUDENTS,
    # A mean of degree two over Gaussian inputs is twice that over the circle.
    left=lambda size, theta: over_circle(
        theta, lambda s, t: (np.maximum(size[..., None] * s, 0) - np.maximum(t, 0)) ** 2
    ),
    relation="==",
    right=lambda size, theta, factor=1.0: (size**2 + 1) / 4 - factor * size * growth(np.pi - theta) / (2 * np.pi),
    scale=lambda size: 1e-3 * (1 + size**2),
    as_printed="There is one: $F(w) = \\frac14\\|w\\|^2 + \\frac14 - \\frac{\\|w\\|}{2\\pi}(\\sin\\theta + (\\pi - \\theta)\\cos\\theta)$.",
    control=Form("The same with the cross term one per cent larger.", factor=1.01),
    arithmetic=_CIRCLE,
)


def _by_quadrature(size, theta, length):
    """The gradient's inner products with the directions of student and teacher."""
    size, length = np.expand_dims(size, -1), np.expand_dims(length, -1)

    def residual(s, t):
        return np.where(s > 0, size * s - length * np.maximum(t, 0), 0.0)

    along = over_circle(theta, lambda s, t: residual(s, t) * s)
    return 2 * np.stack([along, over_circle(theta, lambda s, t: residual(s, t) * t)], -1)


def _printed(size, theta, length, factor=1.0):
    opening = factor * (np.pi - theta)
    along = 0.5 * size - length / (2 * np.pi) * (np.sin(theta) + opening * np.cos(theta))
    across = 0.5 * size * np.cos(theta) - length / (2 * np.pi) * (np.sin(theta) * np.cos(theta) + opening)
    return np.stack([along, across], -1)


EQUATION_25 = Claim(
    id=f"{PAPER}.equation-25",
    title="closed form of the gradient for Gaussian inputs",
    hypotheses=(_GAUSSIAN, "$w \\ne 0$, $v \\ne 0$"),
    draw={"size": log_uniform(1e-2, 10), "theta": uniform(0, np.pi), "length": log_uniform(0.1, 10)},
    left=_by_quadrature,
    relation="==",
    right=_printed,
    scale=1e-2,
    as_printed="$\\nabla F(w) = \\frac12w - \\frac1{2\\pi}(\\|v\\|\\sin\\theta\\,\\bar w + (\\pi - \\theta)v)$, compared along $w$ and along $v$.",
    control=Form("The same with the last term one per cent larger.", factor=1.01),
    arithmetic=_CIRCLE,
)


def _across(size, theta):
    """The component of the teacher across the student times the closed form of the gradient."""
    bar = np.stack([np.cos(theta), np.sin(theta)], -1)
    return dot(np.array([1.0, 0.0]) - np.cos(theta)[..., None] * bar, spherical_gradient(size, theta))


def _final(theta, factor=1.0):
    """The end of the display after Equation (25), for a unit teacher."""
    return -factor * (np.pi - theta) / (2 * np.pi) * np.sin(theta) ** 2


LEMMA_D_1 = Claim(
    id=f"{PAPER}.lemma-D.1",
    title="the angle never increases, Gaussian inputs",
    hypotheses=(_GAUSSIAN, "$w \\ne 0$, gradient flow; any $\\|v\\|$, by its scale"),
    draw=_STUDENTS,
    left=_across,
    relation="==",
    right=_final,
    scale=lambda size: 1e-3 * (1 + size),
    as_printed="$\\frac{\\partial}{\\partial t}\\theta(w(t), v) \\le 0$; judged as the end of the proof, $\\|w\\|\\sin\\theta$ times which is $-\\frac{\\pi - \\theta}{2\\pi}\\sin^2\\theta\\,\\|v\\|$.",
    control=Form("It decreases 1.01 times as fast as it does.", factor=1.01),
)

_NOT_POSITIVE = Form("It is not positive.", relation="<=")

EQUATION_24 = Claim(
    id=f"{PAPER}.equation-24",
    title="sign of the change of the angle",
    hypotheses=(_GAUSSIAN, "$\\|v\\| = 1$"),
    draw=_STUDENTS,
    left=turning,
    relation=">=",
    right=0.0,
    scale=lambda size: 1e-6 * (1 + size),
    as_printed=Form(
        "The expression $(\\bar v - (\\bar w\\cdot\\bar v)\\bar w)\\cdot\\nabla F(w)$ is not negative.",
        recipe="""
turns = 2 * np.pi * np.arange(100_000) / 100_000  # over the circle, where E[x₁²] is one half
student, teacher = np.cos(turns - theta), np.cos(turns)
residual = size * student - np.maximum(teacher, 0)
left = 2 * np.mean(residual * (student > 0) * (teacher - np.cos(theta) * student))
""",
    ),
    as_meant=_NOT_POSITIVE,
    supplied="Equation (24), the display before the sentence, and Lemma D.1",
    corrected=Form(
        "It is $-\\frac{\\pi - \\theta}{2\\pi}(1 - (\\bar w\\cdot\\bar v)^2)\\|v\\|$.",
        relation="==",
        right=_final,
        factor=1.0,
    ),
    correction="A misprint in the last sentence of the proof: the expression is non-positive, as Equation (24) and Lemma D.1 say. (Its "
    "range of angles, $[-\\pi, \\pi]$, is $[0, \\pi]$.)",
    control=Form("It is 1.01 times that.", relation="==", right=_final, factor=1.01),
    arithmetic=_CIRCLE,
)

LEMMA_D_2 = Claim(
    id=f"{PAPER}.lemma-D.2",
    title="the norm grows near the origin, Gaussian inputs",
    hypotheses=(_GAUSSIAN, "gradient flow, $\\theta = \\pi - \\alpha$, in units of $\\|v\\|$"),
    draw={"alpha": uniform(1e-2, np.pi), "share": uniform(0.01, 1)},
    build=lambda alpha, share, factor=np.pi: {"theta": np.pi - alpha, "size": factor * share * alpha**3 / np.pi**4},
    left=norm_change,
    relation=">=",
    right=0.0,
    scale=lambda size: 1e-6 * size,
    as_printed="$\\frac{\\partial}{\\partial t}\\|w\\|^2 \\ge 0$ if $\\|w\\| \\le \\|v\\|\\alpha^3/\\pi^4$. More is true, and judged: up to $\\pi$ times that, with equality "
    "at $\\alpha = \\pi$. (The exact threshold is that of Lemma 6.3, $\\|v\\|(\\sin\\alpha - \\alpha\\cos\\alpha)/\\pi$.)",
    control=Form("The same up to 3.15 times that.", factor=3.15),
    arithmetic=_CIRCLE,
)


EQUATION_26 = Claim(
    id=f"{PAPER}.equation-26",
    title="lower bound on the change of the norm",
    hypotheses=(_GAUSSIAN, "$\\theta \\le \\pi - \\alpha$, in units of $\\|v\\|$"),
    defect=CHAIN_RULE,
    draw={**_STUDENTS, "share": uniform(0, 1)},
    build=lambda size, theta, share: {"size": size, "theta": theta, "alpha": share * (np.pi - theta)},
    left=norm_change,
    relation=">=",
    right=lambda size, alpha, prefactor=0.5: prefactor * size * (growth(alpha) - np.pi * size),
    scale=lambda size: 1e-6 * size * (1 + size),
    as_printed=Form(
        "$\\frac{\\partial}{\\partial t}\\|w\\|^2 \\ge \\frac{\\|w\\|\\|v\\|}2(\\sin\\alpha - \\alpha\\cos\\alpha - \\pi\\|w\\|/\\|v\\|)$.",
        recipe="""
turns = 2 * np.pi * np.arange(100_000) / 100_000  # over the circle, where E[x₁²] is one half
student = size * np.cos(turns - theta)
left = 4 * np.mean((np.maximum(np.cos(turns), 0) - student) * student * (student > 0))
""",
    ),
    as_meant=Form("The same with $\\|w\\|\\|v\\|/\\pi$ for $\\|w\\|\\|v\\|/2$.", prefactor=1 / np.pi),
    supplied="the line before the last, which has $\\frac1{2\\pi}$, and Equation (8), which has the 2 of the chain rule",
    correction="Two slips: $\\frac{\\partial}{\\partial t}\\|w\\|^2$ is $2w\\cdot\\dot w$, and $\\frac1{2\\pi}$ becomes $\\frac12$ in the last line. Both "
    "are positive factors, so that Lemma D.2 stands.",
    control=Form("The same with $\\|w\\|\\|v\\|/3.1$.", prefactor=1 / 3.1),
    arithmetic=_CIRCLE,
)

DECREASING = Claim(
    id=f"{PAPER}.section-D.1.decreasing",
    title="a monotone function of the angle",
    hypotheses="$0 < \\theta' \\le \\theta < \\pi$; as functions of $\\alpha = \\pi - \\theta$",
    draw={"alpha": uniform(1e-2, np.pi), "share": uniform(0, 1)},
    left=lambda alpha: np.sin(alpha) - alpha * np.cos(alpha),
    relation=">=",
    right=lambda alpha, share, power=1.0: growth(share * alpha) * alpha**power / alpha,
    scale=1e-6,
    as_printed="$\\sin\\theta + (\\pi - \\theta)\\cos\\theta$ decreases strictly in $\\theta$ and vanishes at $\\pi$; $\\sin\\alpha - \\alpha\\cos\\alpha$ increases in $\\alpha$.",
    control=Form(
        "$(\\sin\\alpha - \\alpha\\cos\\alpha)/\\alpha^{0.2}$ is at least the smaller values of $\\sin\\alpha - \\alpha\\cos\\alpha$.",
        power=1.2,
    ),
)

EQUATION_27 = Claim(
    id=f"{PAPER}.equation-27",
    title="a cubic lower bound",
    hypotheses="$0 \\le \\alpha \\le \\pi$",
    draw={"alpha": uniform(1e-3, np.pi)},
    left=lambda alpha: growth(alpha),
    relation=">=",
    right=lambda alpha, factor=np.pi: factor * (alpha / np.pi) ** 3,
    scale=1e-12,
    as_printed="$\\sin\\alpha - \\alpha\\cos\\alpha \\ge (\\alpha/\\pi)^3$. More is true, and judged: with $\\pi$ times the right side, with equality at $\\pi$.",
    control=Form("The same with 3.15 times the right-hand side.", factor=3.15),
)

TAYLOR = Claim(
    id=f"{PAPER}.section-D.1.taylor",
    title="the cubic bound up to a right angle",
    hypotheses="$0 < \\alpha \\le \\pi/2$",
    draw={"alpha": uniform(1e-3, np.pi / 2)},
    left=lambda alpha: np.stack([growth(alpha) / alpha**3, 1 / 3 - alpha**2 / 24], -1),
    relation=">=",
    right=lambda alpha, factor=1.0: factor * np.stack([1 / 3 - alpha**2 / 24, 0.2 + 0 * alpha], -1),
    as_printed="$\\sin\\alpha - \\alpha\\cos\\alpha \\ge \\alpha^3(\\frac1{2!} - \\frac1{3!} - \\frac{\\alpha^2}{4!}) \\ge \\alpha^3/5$.",
    control=Form("Both with one per cent more.", factor=1.01),
)

HALF = Claim(
    id=f"{PAPER}.section-D.1.half",
    title="the cubic bound beyond a right angle",
    hypotheses="$\\pi/2 \\le \\alpha \\le \\pi$",
    draw={"alpha": uniform(np.pi / 2, np.pi)},
    left=lambda alpha: growth(alpha),
    relation=">=",
    right=lambda alpha, factor=1.0: factor * np.maximum(1.0, (alpha / np.pi) ** 3),
    as_printed="$\\sin\\alpha - \\alpha\\cos\\alpha \\ge 1 \\ge \\alpha^3/\\pi^3$.",
    control=Form("It is at least 1.01.", factor=1.01),
)
