r"""Section 5.3 and Section C.2: the test function $h = (|w^*\cdot x| - g)\,\mathbb 1_S$ on the strip $S = \{|w^*\cdot x| \le \tau\}$.

Unit vectors at an angle $\phi$; everything is an integral over the strip, of a smooth function once the inner integral is
done (Equation (8)).
"""

from typing import Any

import numpy as np
from scipy.special import erf, owens_t

from tutelage.claims import Claim, Form, integers, log_uniform, uniform
from tutelage.claims.local_convergence.formulas import PAPER, SIGN, five_point, two_sided

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_RULES = "Gauss–Legendre rules over the strip"


def inner(x: np.ndarray, phi: np.ndarray) -> np.ndarray:
    r"""Equation (8): $\int|x\cos\phi + y\sin\phi|\,e^{-y^2/2}dy$."""
    cotangent = np.cos(phi) / np.maximum(np.sin(phi), 1e-300)
    with np.errstate(over="ignore"):
        tail = np.exp(-np.minimum((x * cotangent) ** 2 / 2, 700))
        return np.sqrt(2 * np.pi) * x * np.cos(phi) * erf(x * cotangent / np.sqrt(2)) + 2 * np.sin(phi) * tail


def strip_mean(function, tau: np.ndarray, phi: np.ndarray) -> np.ndarray:
    r"""$E[F(|w^*\cdot x|)\,|w\cdot x|\,\mathbb 1_S]$ for unit vectors, `function` being $F$, elementwise in `tau` and `phi`."""
    # The inner integral changes within a few tan φ of the middle.
    split = np.minimum(tau, 6 * np.tan(np.minimum(phi, 1.5)))
    total = np.zeros(np.broadcast_shapes(np.shape(tau), np.shape(phi)))
    for low, high in ((0.0 * tau, split), (split, tau)):
        half = (high - low)[..., None] / 2
        x = low[..., None] + half + half * _NODES
        values = function(x) * np.exp(-(x**2) / 2) * inner(x, np.asarray(phi)[..., None])
        total = total + np.sum(half * _WEIGHTS * values, axis=-1)
    return 2 * total / (2 * np.pi)


def level(tau: np.ndarray) -> np.ndarray:
    r"""The constant $g$ of the test function, $E[|w^*\cdot x|\,\mathbb 1_S]/E[\mathbb 1_S]$."""
    return np.sqrt(2 / np.pi) * -np.expm1(-(tau**2) / 2) / erf(tau / np.sqrt(2))


def detected(tau: np.ndarray, phi: np.ndarray) -> np.ndarray:
    r"""$\langle|w^*\cdot x| - g, |w\cdot x|\rangle_S$."""
    g = level(tau)[..., None]
    return strip_mean(lambda x: x - g, tau, phi)


# Section 5.3 ----------------------------------------------------------------------------------------------------------

_ALONE = {
    "teachers": integers(1, 16),
    "delta": log_uniform(0.01, 0.5),
    "spread": uniform(0, 1, (3,)),
    "mass": uniform(0, 1, (3,)),
    "other": uniform(0, 1),
}


def _without_students(teachers, delta, spread, mass, other):
    """A unit teacher, students of total mass up to 3r at angles from δ on, and the other teachers at one such angle."""
    past = delta[..., None] + (np.pi / 2 - delta[..., None]) * np.concatenate([spread, other[..., None]], -1) ** 3
    found = {"delta": delta, "phi": past[..., :3], "mass": teachers[..., None] * mass, "teachers": teachers}
    return found | {"other": past[..., 3]}


def _correlation(delta, phi, mass, teachers, other):
    """⟨R, h⟩/‖h‖."""
    tau = 0.3 * delta / teachers
    own = detected(tau, 0 * tau)
    seen = sum(mass[..., k] * detected(tau, phi[..., k]) for k in range(3))
    return (seen - own - (teachers - 1) * detected(tau, other)) / np.sqrt(own)


TEST_FUNCTION = Claim(
    id=f"{PAPER}.section-5.3",
    title="a test function detects a teacher without students",
    hypotheses=(
        "$r \\le 16$ unit teachers, no student or other teacher within $\\delta \\le \\frac12$ of the line of $w^*$, students of total "
        "mass at most $3r$",
        "$h = (|w^*\\cdot x| - g)\\mathbb 1_S$, $S = \\{|w^*\\cdot x| \\le 0.3\\delta/r\\}$",
    ),
    draw=_ALONE,
    build=_without_students,
    left=lambda delta, phi, mass, teachers, other, sign=1.0: sign * _correlation(delta, phi, mass, teachers, other),
    relation=">=",
    right=lambda delta, teachers, constant=0.02: constant * (delta / teachers) ** 1.5,
    as_printed=Form(
        "$\\langle R, h\\rangle/\\|h\\| \\ge \\Omega(w_{min}^{5/2}r^{-3/2}w_{max}^{-3/2}\\delta^{3/2})$; judged with the constant $\\frac1{50}$, which "
        "the constants of Section C.2, part (iv), give for all $r$.",
        recipe="""
random = np.random.default_rng(0)
tau = 0.3 * delta / teachers
y = random.normal(size=2_000_000)
x = random.uniform(-tau, tau, size=y.size)  # a draw from the strip, by its density exp(−x²/2)
density = np.exp(-x**2 / 2) * 2 * tau / np.sqrt(2 * np.pi)
level = np.sum(np.abs(x) * density) / np.sum(density)
seen = lambda t: np.abs(x * np.cos(t) + y * np.sin(t))
residual = sum(m * seen(t) for m, t in zip(mass, phi)) - np.abs(x) - (teachers - 1) * seen(other)
test = np.abs(x) - level
left = np.mean(residual * test * density) / np.sqrt(np.mean(test**2 * density))  # sampled; negative
""",
    ),
    as_meant=Form("$\\langle-R, h\\rangle/\\|h\\| \\ge \\frac1{50}r^{-3/2}\\delta^{3/2}$.", sign=-1.0),
    supplied="the next sentence, which uses the size of the correlation only",
    correction="The teacher enters the residual with a minus sign, so that the correlation is negative (the same slip is in Section C.2, "
    "part (iv)). Only its size matters.",
    defect=SIGN,
    control=Form("The corrected form with 0.028 for $\\frac1{50}$.", sign=-1.0, constant=0.028),
    arithmetic=_RULES,
)


def _own_correlations(tau, absolute=0.0):
    """⟨h, |w*·x|⟩ and −|⟨h, w*·x⟩| over τ³, with or without the absolute value in h."""
    half = tau[..., None] / 2
    x = np.concatenate([half * (_NODES - 1), half * (_NODES + 1)], -1)
    weights = half * np.tile(_WEIGHTS, 2) * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    # Of the linear function the mean on the strip is zero.
    h = np.abs(x) - level(tau)[..., None] if absolute else x
    return (
        np.stack([np.sum(weights * h * np.abs(x), -1), -np.abs(np.sum(weights * h * x, -1))], -1) / tau[..., None] ** 3
    )


PRINTED_FUNCTION = Claim(
    id=f"{PAPER}.section-5.3.function",
    title="what the test function correlates with",
    hypotheses="unit teacher, $0.01 \\le \\tau \\le \\frac12$",
    draw={"tau": log_uniform(0.01, 0.5)},
    left=_own_correlations,
    relation=">=",
    right=lambda tau, constant=0.063: np.stack([constant + 0 * tau, -1e-9 + 0 * tau], -1),
    scale=1.0,
    as_printed=Form(
        "$h = (w^*\\cdot x - E[w^*\\cdot x\\,\\mathbb 1_S]/E[\\mathbb 1_S])\\mathbb 1_S$ has almost no correlation with functions that are linear on $S$, and a "
        "large positive one with $|w^*\\cdot x|$; judged as none with $w^*\\cdot x$, and at least $0.063\\,\\tau^3$, which is observed.",
        recipe="""
x = tau * (2 * (np.arange(100_000) + 0.5) / 100_000 - 1)
density = np.exp(-x**2 / 2) / np.sqrt(2 * np.pi) * 2 * tau
h = x - np.mean(x * density) / np.mean(density)
left = np.mean(h * np.abs(x) * density) / tau**3  # h is odd, and |x| is even
right = 0.063
""",
    ),
    as_meant=Form("The same with $|w^*\\cdot x|$ for $w^*\\cdot x$ in $h$.", absolute=1.0),
    supplied="Section C.2, part (iii), where the test function has the absolute value, and Figure 3",
    correction="Without absolute values $h$ is odd: it has no correlation with any neuron, and a large one with $w^*\\cdot x$.",
    glyph=True,
    control=Form("That with 0.067.", absolute=1.0, constant=0.067),
    arithmetic=_RULES,
)


# Equations (8) to (10) ------------------------------------------------------------------------------------------------


def _inner_by_rules(x, phi):
    kink = np.clip(-x / np.tan(phi), -9, 9)
    total = 0.0
    for low, high in ((-9.0 + 0 * kink, kink), (kink, 9.0 + 0 * kink)):
        half = (high - low)[..., None] / 2
        y = low[..., None] + half + half * _NODES
        values = np.abs(x[..., None] * np.cos(phi)[..., None] + y * np.sin(phi)[..., None]) * np.exp(-(y**2) / 2)
        total = total + np.sum(half * _WEIGHTS * values, axis=-1)
    return total


EQUATION_8 = Claim(
    id=f"{PAPER}.equation-8",
    title="integral of a neuron across a strip",
    hypotheses="$0.03 \\le \\phi \\le \\frac\\pi2$, $|x_1| \\le 9$",
    draw={"x": uniform(-9, 9), "phi": uniform(0.03, np.pi / 2)},
    left=_inner_by_rules,
    relation="==",
    right=lambda x, phi, factor=1.0: factor * inner(x, phi),
    scale=1.0,
    tolerance=1e-8,
    as_printed="$\\int|x_1\\cos\\phi + x_2\\sin\\phi|e^{-x_2^2/2}dx_2 = \\sqrt{2\\pi}x_1\\cos\\phi\\,\\mathrm{erf}(x_1\\cot\\phi/\\sqrt2) + "
    "2\\sin\\phi\\,e^{-x_1^2\\cot^2\\phi/2}$.",
    control=Form("One per cent more.", factor=1.01),
    arithmetic="closed form against Gauss–Legendre rules",
)


def _elementary(x, upper=0.25):
    """Five inequalities for x ≥ 0, two of them for x ≤ 1, as differences that must not be negative."""
    line, square = 2 * x / np.sqrt(np.pi), -np.expm1(-(x**2))
    gaps = [line - erf(x), erf(x) - line / 2, erf(x) - line * (1 - x**2 / 3)]
    gaps += [x**2 - upper * x**4 - square, square - (x**2 - x**4 / 2)]
    return np.stack([np.where((x > 1) & (place in (1, 3)), 1.0, gap) for place, gap in enumerate(gaps)], -1)


ELEMENTARY = Claim(
    id=f"{PAPER}.section-C.2.elementary",
    title="elementary inequalities of the proof",
    hypotheses="$0 \\le x \\le 3$; the second and the fourth for $x \\le 1$",
    draw={"x": log_uniform(1e-2, 3)},
    left=_elementary,
    relation=">=",
    right=0.0,
    scale=lambda x: x[..., None] ** 4,
    as_printed="$\\mathrm{erf}(x) \\le \\frac{2x}{\\sqrt\\pi}$, $\\mathrm{erf}(x) \\ge \\frac x{\\sqrt\\pi}$, $\\mathrm{erf}(x) \\ge \\frac{2x}{\\sqrt\\pi} - "
    "\\frac{2x^3}{3\\sqrt\\pi}$, $1 - e^{-x^2} \\le x^2 - \\frac14x^4$ and $1 - e^{-x^2} \\ge x^2 - \\frac12x^4$.",
    control=Form("The same with $x^2 - 0.37x^4$; the sharp constant is $e^{-1} = 0.368$.", upper=0.37),
)

_STRIPS = {"phi": log_uniform(np.pi / 2000, np.pi / 2), "share": log_uniform(0.012, 1)}


def _strip(phi, share):
    """A strip that is narrow beside the angle. Narrower ones leave rounding errors of differences of order τ²."""
    return {"phi": phi, "tau": share * phi / 4}


_NARROW: dict[str, Any] = {
    "hypotheses": "unit vectors, $\\tau \\le c$, $2\\tau/\\phi \\le c$ with $c = \\frac12$, $10^{-3}\\frac\\pi2 \\le \\phi \\le \\frac\\pi2$",
    "draw": _STRIPS,
    "build": _strip,
    "relation": "<=",
    "arithmetic": _RULES,
}


def _bounds_9(tau, phi, factor=1.0):
    sine, square, main = np.sin(phi), np.cos(phi) ** 2 / np.sin(phi), np.sin(phi) * tau**2
    high = main + factor * (square * tau**4 - tau**4 / (8 * sine))
    low = main + factor * (square * (tau**4 / 4 - tau**6 / 8) - tau**4 / (4 * sine))
    return np.stack([high, -low], -1) / np.pi


def _bounds_10(tau, phi, factor=1.0):
    sine, square, main = np.sin(phi), np.cos(phi) ** 2 / np.sin(phi), 2 * np.sin(phi) * tau
    low = main + factor * (square * (tau**3 / 3 - tau**5 / 8) - tau**3 / (3 * sine))
    return np.stack([main + factor * square * tau**3, -low], -1) / np.pi


EQUATION_9 = Claim(
    id=f"{PAPER}.equation-9",
    title="correlation of two neurons on the strip",
    **_NARROW,
    left=lambda tau, phi: two_sided(strip_mean(lambda x: x, tau, phi)),
    right=_bounds_9,
    as_printed="$\\langle|w^*\\cdot x|, |w\\cdot x|\\rangle_S$ lies between the printed bounds, which are $\\frac{\\sin\\phi}\\pi\\tau^2 \\pm "
    "O(\\tau^4/\\phi)$. (The print has $\\pm\\Theta$; the error is $\\frac{\\cos2\\phi}{4\\pi\\sin\\phi}\\tau^4$ to leading order, which vanishes at "
    "$\\frac\\pi4$.)",
    control=Form("The terms behind the first ones five per cent smaller.", factor=0.95),
)

EQUATION_10 = Claim(
    id=f"{PAPER}.equation-10",
    title="mean of a neuron on the strip",
    **_NARROW,
    left=lambda tau, phi: two_sided(strip_mean(lambda x: 1 + 0 * x, tau, phi)),
    right=_bounds_10,
    as_printed="$\\langle1, |w\\cdot x|\\rangle_S$ lies between the printed bounds, which are $\\frac{2\\sin\\phi}\\pi\\tau \\pm O(\\tau^3/\\phi)$.",
    control=Form("The terms behind the first ones five per cent smaller.", factor=0.95),
)


def _seen(tau, phi):
    """|g − τ/2|/τ³, the teacher's correlation over τ³, with a minus sign too, and a neuron's over τ⁴/φ."""
    teacher = detected(tau, 0 * tau) / tau**3
    other = np.abs(detected(tau, phi)) * phi / tau**4
    return np.stack([np.abs(level(tau) - tau / 2) / tau**3, teacher, -teacher, other], -1)


PART_IV = Claim(
    id=f"{PAPER}.section-C.2.iv",
    title="the test function sees its teacher and nothing else",
    **_NARROW,
    left=_seen,
    right=lambda constant=0.0266: np.array([0.042, 0.0665, -0.0644, constant]),
    as_printed=Form(
        "$g = \\frac\\tau2 + O(\\tau^3)$, $\\langle|w^*\\cdot x| - g, |w^*\\cdot x|\\rangle_S = \\Theta(\\tau^3)$ and $|\\langle|w^*\\cdot x| - g, |w\\cdot "
        "x|\\rangle_S| \\le O(\\tau^4/\\phi)$; judged with the constants 0.042, from 0.0644 to 0.0665, and 0.0266, chosen after seeing those of narrow strips: $\\frac1{24}$, "
        "$\\frac1{12}\\sqrt{2/\\pi}$ and $\\cos^2\\phi\\,\\phi/(12\\pi\\sin\\phi)$.",
        slack=1e-6,
    ),
    control=Form("The last constant is 0.0262.", constant=0.0262),
)


def printed_slope(tau, phi):
    r"""The derivative in $\phi$ of $\langle|w^*\cdot x| - g, |w\cdot x|\rangle_S$ as printed in Section C.2, part 2."""
    bell, core = np.exp(-(tau**2) / 2), erf(tau / np.sqrt(2))
    first = 2 * bell * (bell - 1) + np.sqrt(2 * np.pi) * bell * tau * core
    share = erf(tau / np.tan(phi) / np.sqrt(2)) / (np.pi * core)
    return (first * share + 4 * owens_t(tau, 1 / np.tan(phi)) - 1 + 2 * phi / np.pi) * np.sin(phi)


SLOPE = Claim(
    id=f"{PAPER}.section-C.2.slope",
    title="derivative of the correlation in the angle",
    hypotheses="$0.1 \\le \\tau \\le 2$, $0.1 \\le \\phi \\le 1.4$",
    draw={"tau": log_uniform(0.1, 2), "phi": uniform(0.1, 1.4)},
    left=lambda tau, phi: five_point(lambda angle: detected(tau, angle), phi),
    relation="==",
    right=lambda tau, phi, factor=1.0: factor * printed_slope(tau, phi),
    scale=lambda tau: tau**2,
    tolerance=1e-6,
    as_printed="$h'(\\phi)$ is the printed expression with Owen's function.",
    control=Form("One per cent more.", factor=1.01),
    arithmetic="differences of Gauss–Legendre rules against the printed expression",
)


def _h1(tau):
    bell, core = np.exp(-(tau**2) / 2), np.sqrt(np.pi / 2) * tau * erf(tau / np.sqrt(2))
    return 2 * bell * np.expm1(-(tau**2) / 2) + 2 * bell * core - core


FIRST_PART = Claim(
    id=f"{PAPER}.section-C.2.first-part",
    title="the first part of the derivative is negative",
    hypotheses="$0.01 \\le \\tau \\le 1$",
    draw={"tau": log_uniform(0.01, 1)},
    left=_h1,
    relation="<=",
    right=lambda tau, coefficient=0.25: -coefficient * tau**4 + tau**6 / 8,
    as_printed="$h_1(\\tau) \\le -\\frac14\\tau^4 + \\frac18\\tau^6 \\le 0$. (To leading order it is $-\\frac5{12}\\tau^4$. Two terms of the display before are "
    "estimated the wrong way round, a factor below one and an upper bound on erf being multiplied by negative numbers; the sum stands.)",
    control=Form("$h_1(\\tau) \\le -0.42\\tau^4 + \\frac18\\tau^6$.", coefficient=0.42),
)

MAXIMUM = Claim(
    id=f"{PAPER}.section-C.2.maximum",
    title="no neuron correlates more than the teacher's own",
    hypotheses=(
        "unit vectors, $0 \\le \\phi \\le \\frac\\pi2$",
        "$0.01 \\le \\tau \\le 6$ (the print has $\\tau \\le \\min\\{c, c^2\\}$)",
    ),
    draw={"tau": log_uniform(0.01, 6), "phi": log_uniform(1e-3, np.pi / 2)},
    left=detected,
    relation="<=",
    right=lambda tau, factor=1.0: factor * detected(tau, 0 * tau),
    as_printed="$\\langle|\\bar w^*\\cdot x| - g, |w\\cdot x|\\rangle_S \\le \\langle|\\bar w^*\\cdot x| - g, |\\bar w^*\\cdot x|\\rangle_S$ for all angles. "
    "(It is so for all $\\tau$ tried, not for small ones only.)",
    control=Form("The right-hand side one per cent smaller.", factor=0.99),
    arithmetic=_RULES,
)
