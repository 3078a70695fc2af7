r"""Appendix D up to Theorem 6.4: how the proofs for spherical inputs reduce to integrals over a circle."""

import numpy as np

from tutelage.claims import Claim, Form, log_uniform, real, uniform
from tutelage.claims.single_neuron.formulas import CHAIN_RULE, PAPER, WEIGHT, dot, growth, in_plane, norm, over_circle
from tutelage.claims.single_neuron.formulas import spherical_gradient as gradient
from tutelage.claims.single_neuron.setting import SPHERICAL, gradients_of
from tutelage.claims.single_neuron.spherical import flows

_UNITS = "ReLU, spherical inputs with $E[x_1^2] = 1$, $\\|v\\| = 1$"
_STUDENTS = {"size": log_uniform(0.1, 10), "theta": uniform(0.1, np.pi - 0.1)}


def _formula(w, v, factor=1.0):
    size = norm(w)[..., None]
    theta = np.arccos(np.clip(dot(w, v)[..., None] / size, -1, 1))
    return 0.5 * w - factor * (np.sin(theta) * w / size + (np.pi - theta) * v) / (2 * np.pi)


REDUCTION = Claim(
    id=f"{PAPER}.section-D.reduction",
    title="all spherical laws have the same gradient",
    hypotheses="ReLU with $\\sigma'(0) = 0, 1$; Gaussian, ball, $t$ (2.5 degrees of freedom) and sphere laws in dimensions 2 to 5",
    draw=lambda count, random: [
        gradients_of(kind, random, 1.0, kink, count=10) for kind in SPHERICAL for kink in (0.0, 1.0)
    ],
    left=lambda gradient: gradient,
    relation="==",
    right=_formula,
    as_printed="The gradient depends on the law through $E[x_1^2]$ alone, on the plane of $w$ and $v$, and not on $\\sigma'(0)$.",
    control=Form("One per cent more in the part of the teacher.", factor=1.01),
    arithmetic="closed forms of the library",
)


# The angle ------------------------------------------------------------------------------------------------------------


def _angle_change(size, theta):
    """The derivative of the angle along minus the gradient."""
    w, moved = in_plane(size, theta), -gradient(size, theta)
    return (w[..., 0] * moved[..., 1] - w[..., 1] * moved[..., 0]) / size**2


def _as_displayed(size, theta, first=0.0, second=1.0):
    """The display, with powers of the norm at both terms."""
    bar, slope = np.stack([np.cos(theta), np.sin(theta)], -1), gradient(size, theta)
    along = dot(np.array([1.0, 0.0]), slope) / size**first
    return (along - np.cos(theta) * dot(bar, slope) / size**second) / np.sin(theta)


ANGLE_DERIVATIVE = Claim(
    id=f"{PAPER}.section-D.angle-derivative",
    title="derivative of the angle under gradient flow",
    hypotheses=(_UNITS, "$0.1 \\le \\|w\\| \\le 10$, $0.1 \\le \\theta \\le \\pi - 0.1$"),
    draw=_STUDENTS,
    left=_angle_change,
    relation="==",
    right=_as_displayed,
    as_printed="$\\frac{\\partial\\theta}{\\partial t} = \\frac1{\\sin\\theta}\\bigl(\\bar v - \\frac{(\\bar w\\cdot\\bar v)\\bar w}{\\|w\\|}\\bigr)\\cdot\\nabla F(w)$.",
    as_meant=Form(
        "$\\frac{\\partial\\theta}{\\partial t} = \\frac1{\\|w\\|\\sin\\theta}(\\bar v - (\\bar w\\cdot\\bar v)\\bar w)\\cdot\\nabla F(w)$.",
        first=1.0,
    ),
    supplied="the line before it, which has the norms right, and the next display, which goes on with $v - (\\bar w\\cdot v)\\bar w$",
    correction="The factor $1/\\|w\\|$ belongs to both terms.",
    control=Form("The corrected form with $\\|w\\|^{-1.01}$.", first=1.01, second=1.01),
)


def _g(size, theta, first, second):
    teacher = np.cos(theta) * first + np.sin(theta) * second
    return (size * first - np.maximum(teacher, 0)) * second * np.sin(theta)


PAIRING = Claim(
    id=f"{PAPER}.section-D.pairing",
    title="a point and its reflection",
    hypotheses=(
        "$g(y) = (\\|w\\|y_1 - \\sigma(y\\cdot\\hat v))\\,y_2\\hat v_2$, $y_1 > 0$, $\\tilde y = (y_1, -y_2)$, $g(y) > 0$",
        "as printed the case $a \\ge 1$, that is $\\|w\\| \\le \\cos\\theta$; the other cases have absolute values",
    ),
    glyph=True,
    draw={"size": log_uniform(1e-2, 10), "theta": uniform(0, np.pi), "first": log_uniform(1e-3, 3), "second": real()},
    where=lambda size, theta, first, second, everywhere: (
        (_g(size, theta, first, second) > 1e-6) & ((np.cos(theta) >= size) | everywhere)
    ),
    left=lambda size, theta, first, second, factor=1.0: factor * _g(size, theta, first, second),
    relation="<=",
    right=lambda size, theta, first, second, sign=1.0: sign * _g(size, theta, first, -second),
    as_printed=Form("$g(\\tilde y) < 0$ and $g(\\tilde y) \\ge g(y)$ in the case $a \\ge 1$.", everywhere=False),
    as_meant=Form("$g(\\tilde y) < 0$ and $|g(\\tilde y)| \\ge g(y)$, in all cases.", sign=-1.0, everywhere=True),
    supplied="the first two cases, which have the absolute values",
    correction="A misprint: absolute values are missing, which the first two cases have.",
    control=Form("$|g(\\tilde y)| \\ge 1.01g(y)$.", sign=-1.0, everywhere=True, factor=1.01),
)


HATS = Claim(
    id=f"{PAPER}.section-D.hats",
    title="the student's direction and the student",
    hypotheses="$a = \\langle\\bar w, v\\rangle/\\|w\\| \\ge 1$, $\\|v\\| = 1$; $\\hat w$ is $w$ in the plane, $\\bar w$ its direction",
    glyph=True,
    draw={"size": uniform(0.01, 1), "theta": uniform(0, np.pi / 2)},
    where=lambda size, theta: np.cos(theta) >= size,
    left=lambda size, theta, power=1.0: size**power * np.cos(theta),
    relation=">=",
    right=lambda size: size,
    as_printed="$\\langle\\hat w, v\\rangle \\ge \\|w\\|$ (and $\\langle\\hat w, v\\rangle = v_1$).",
    as_meant=Form("$\\langle\\bar w, v\\rangle \\ge \\|w\\|$ (and $\\langle\\bar w, v\\rangle = v_1$).", power=0.0),
    supplied="the first case, which has $\\bar w$, and the definition of $a$",
    correction="A hat for a bar, twice: $\\langle\\hat w, v\\rangle = \\|w\\|v_1$.",
    control=Form("$\\|w\\|^{0.01}\\langle\\bar w, v\\rangle \\ge \\|w\\|$.", power=0.01),
)


# The norm -------------------------------------------------------------------------------------------------------------


def _square_change(size, theta):
    """The derivative of |w|² along minus the gradient, by a complex step."""
    moved = in_plane(size, theta) - 1e-30j * gradient(size, theta)
    return np.sum(moved**2, -1).imag / 1e-30


EQUATION_18 = Claim(
    id=f"{PAPER}.equation-18",
    title="derivative of the squared norm under gradient flow",
    hypotheses=(_UNITS, "$w \\ne 0$"),
    defect=CHAIN_RULE,
    draw=_STUDENTS,
    left=_square_change,
    relation="==",
    right=lambda size, theta, factor=1.0: -factor * dot(in_plane(size, theta), gradient(size, theta)),
    as_printed="$\\frac{\\partial}{\\partial t}\\|w\\|^2 = -w\\cdot\\nabla F(w)$.",
    as_meant=Form("$\\frac{\\partial}{\\partial t}\\|w\\|^2 = -2w\\cdot\\nabla F(w)$.", factor=2.0),
    supplied="Equation (8), which has the factor 2 of the chain rule; here only the sign is used",
    correction="The factor 2 of the chain rule is missing; only the sign is used.",
    control=Form("It is $-2.02\\,w\\cdot\\nabla F(w)$.", factor=2.02),
)

_NODES, _MASSES = np.polynomial.legendre.leggauss(40)


def flat_integral(size, theta):
    """The integral of Equation (22), with dy₁: by quadrature in the angle, between the kink and a right angle."""
    low = np.maximum(theta - np.pi / 2, 0.0)[..., None]
    turns = low + (np.pi / 2 - low) / 2 * (_NODES + 1)
    weights = (np.pi / 2 - low) / 2 * _MASSES * np.sin(turns) * np.cos(turns)
    return np.sum(weights * np.cos(turns - np.expand_dims(theta, -1)), -1) - 2 * size / 3


def round_integral(size, theta, factor):
    """The same over half of the circle."""
    size = factor * np.expand_dims(size, -1)
    return 2 * np.pi * over_circle(theta, lambda s, t: np.where(s > 0, s, 0.0) * (np.maximum(t, 0) - size * s))


EQUATION_22 = Claim(
    id=f"{PAPER}.equation-22",
    title="reduction of Lemma 6.3 to an integral",
    hypotheses=(_UNITS, "the integral of Equation (22) is not negative"),
    defect=WEIGHT,
    draw={"size": uniform(0.01, 1), "theta": uniform(0, np.pi)},
    where=lambda size, theta: flat_integral(size, theta) >= 0,
    # Equation (21) in closed form, up to a positive factor.
    left=lambda size, theta: growth(np.pi - theta) / 2 - np.pi * size / 2,
    relation=">=",
    right=0.0,
    as_printed=Form(
        "Equation (21) follows from $\\int_0^1y_1\\sigma(v_1y_1 + \\sqrt{(1 - y_1^2)(1 - v_1^2)}) - 2\\|w\\|y_1^2\\,dy_1 \\ge 0$.",
        corners=[{"theta": np.pi / 2, "size": 0.45}],
        recipe="""
turns = 2 * np.pi * np.arange(100_000) / 100_000
student = np.cos(turns)  # a uniform point on the circle, w along the first axis
teacher = np.maximum(np.cos(turns - theta), 0)
left = np.mean((teacher - size * student) * (student > 0) * student * size)  # Equation (21): negative
y = (np.arange(100_000) + 0.5) / 100_000
c, s = np.cos(theta), np.sin(theta)
assert np.mean(y * np.maximum(c * y + s * np.sqrt(1 - y**2), 0) - 2 * size * y**2) > -1e-6  # Equation (22)
""",
    ),
    corrected=Form(
        "The left side of Equation (21) is, up to a positive factor, $\\int_{-\\pi/2}^{\\pi/2}\\cos\\phi\\,(\\sigma(\\cos(\\phi - \\theta)) - "
        "\\|w\\|\\cos\\phi)\\,d\\phi = \\frac12(\\sin\\theta + (\\pi - \\theta)\\cos\\theta - \\pi\\|w\\|)$.",
        where=None,
        relation="==",
        right=round_integral,
        factor=1.0,
    ),
    correction="A uniform point on the circle has $y_1$ of density proportional to $1/\\sqrt{1 - y_1^2}$, which is left out. This is the "
    "error behind Lemma 6.3.",
    control=Form(
        "The corrected form with $1.01\\|w\\|$ under the integral.",
        where=None,
        relation="==",
        right=round_integral,
        factor=1.01,
    ),
    arithmetic="Gauss–Legendre rules over the angle",
)

EQUATION_23 = Claim(
    id=f"{PAPER}.equation-23",
    title="value of the integral of Equation (22)",
    hypotheses="$v_1 = \\cos\\theta$",
    draw={"size": uniform(0.01, 1), "theta": uniform(0, np.pi)},
    left=flat_integral,
    relation="==",
    scale=1e-2,
    right=lambda size, theta, factor=1.0: (
        np.where(np.cos(theta) >= 0, np.cos(theta) + np.sin(theta), np.sin(theta) * (1 + np.cos(theta))) / 3
        - 2 * factor * size / 3
    ),
    as_printed="It is $\\frac13(\\cos\\theta + \\sin\\theta - 2\\|w\\|)$ for $\\cos\\theta \\ge 0$ and $\\frac13(\\sin\\theta(1 + \\cos\\theta) - 2\\|w\\|)$ "
    "otherwise.",
    control=Form("The same with $2.02\\|w\\|$.", factor=1.01),
    arithmetic="Gauss–Legendre rule over the angle",
)


def _printed_floor(gap):
    return np.maximum((np.sin(gap) - np.cos(gap)) / 2, np.sin(gap) * (1 - np.cos(gap)) / 2)


NORM_FLOOR = Claim(
    id=f"{PAPER}.section-D.norm-floor",
    title="lower bound on the norm along gradient flow",
    hypotheses=(_UNITS, "$\\theta(w(0), v) \\le \\pi - \\epsilon$, $w(0) \\ne 0$"),
    defect=WEIGHT,
    draw=flows,
    left=lambda size: size,
    relation=">=",
    right=lambda start, gap, factor: factor * np.minimum(norm(start), growth(gap) / np.pi),
    known=0.0,
    as_printed=Form(
        "$\\|w(t)\\| \\ge \\max\\{\\frac{\\sin\\epsilon - \\cos\\epsilon}2, \\frac{\\sin\\epsilon(1 - \\cos\\epsilon)}2\\}$ at all times.",
        right=_printed_floor,
        recipe="left = np.linalg.norm(start)  # at t = 0; the norm stays close to it for a while",
    ),
    as_meant=Form(
        "$\\|w(t)\\|$ is at least the smaller of that and $\\|w(0)\\|$.",
        right=lambda start, gap: np.minimum(norm(start), _printed_floor(gap)),
        recipe="""
w, lowest = np.array(start), np.inf
for _ in range(6000):  # small steps of Equation (25), up to t = 6
    size, theta = np.hypot(*w), np.arctan2(abs(w[1]), w[0])
    w = w - 1e-3 * (w / 2 - (np.sin(theta) * w / size + (np.pi - theta) * np.array([1.0, 0.0])) / (2 * np.pi))
    lowest = min(lowest, np.hypot(*w))
left = lowest
""",
    ),
    supplied="the sentence before it: the norm does not decrease below the threshold, which a start may be below",
    corrected=Form(
        "$\\|w(t)\\| \\ge \\min\\{\\|w(0)\\|, (\\sin\\epsilon - \\epsilon\\cos\\epsilon)/\\pi\\}$ at all times.",
        factor=1.0 - 1e-8,
    ),
    correction="The minimum with $\\|w(0)\\|$ is meant; the threshold is that of Lemma 6.3, which is too large. The conclusion, a "
    "positive bound, stands. (Judged up to $10^{-8}$, the accuracy of the paths.)",
    control=Form("The corrected bound times 1.02.", factor=1.02),
    arithmetic="closed-form gradients, adaptive Runge–Kutta steps",
)
