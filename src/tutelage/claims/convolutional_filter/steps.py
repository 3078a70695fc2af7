"""Sections C and E: single displays of the proofs of Lemmas C.1 to C.5 and of Theorem 3.3."""

from typing import Any

import numpy as np

from tutelage.claims import Claim, Form, log_uniform, uniform, unit
from tutelage.claims.convolutional_filter.formulas import (
    angle,
    dot,
    filter_step,
    g,
    in_plane,
    initial_signal,
    next_signal,
    norm,
    output_gradient,
    output_step,
    product_size,
    rate,
    signal_bound,
    times,
    total,
)
from tutelage.claims.convolutional_filter.identities import QUADRATURE
from tutelage.claims.convolutional_filter.instances import (
    ANYWHERE,
    EXTRA_NORM,
    PAPER,
    STARTS,
    SUPPLIED_BOUND,
    start,
    started_with_step,
    with_step_of_sums,
)

_UNIT = [{**draw, "w_star": unit(draw["w_star"].shape[0])} for draw in ANYWHERE]
_STEP = "$\\|w^*\\| = 1$, $0 < \\eta < 2\\pi/(k+\\pi-1)$"


LEMMA_C_1_DISPLAY = Claim(
    id=f"{PAPER}.lemma-C.1.display",
    scope="proof step",
    title="the goal of the signal is a fixed point",
    hypotheses=("$0 \\le \\phi \\le \\pi/2$", "$0 < \\eta \\le 2$", "$\\|a^*\\| = 1$"),
    draw={"phi": uniform(0.0, np.pi / 2), "step": uniform(0.01, 2.0)},
    left=lambda phi, step, divisor=np.pi - 1, shift=0.0: (
        (1 - step * (np.pi - 1) / (2 * np.pi)) * (g(phi) - 1) / (np.pi - 1) + step * (g(phi) - shift) / divisor
    ),
    relation="==",
    right=lambda phi: (g(phi) - 1) / (np.pi - 1),
    scale=1e-2,
    as_printed="$(1 - \\frac{\\eta(\\pi-1)}{2\\pi})\\frac{g-1}{\\pi-1}\\|a^*\\|^2 + \\frac{\\eta g}{\\pi-1}\\|a^*\\|^2 = \\frac{g-1}{\\pi-1}\\|a^*\\|^2$.",
    as_meant=Form("The second term is $\\frac{\\eta(g(\\phi^t)-1)}{2\\pi}\\|a^*\\|^2$.", divisor=2 * np.pi, shift=1.0),
    supplied="the display before it",
    correction="The second term is printed with $g$ for $g - 1$ and $\\pi - 1$ for $2\\pi$.",
    control=Form("With $6.2$ for $2\\pi$.", divisor=6.2, shift=1.0),
)


LEMMA_C_2_DISPLAY = Claim(
    id=f"{PAPER}.lemma-C.2.display",
    scope="proof step",
    title="upper bound on the signal in a step",
    hypotheses=("the conditions of Lemma 4.4, those on the sums as in Theorem 3.1", _STEP),
    draw=STARTS,
    build=started_with_step,
    left=next_signal,
    relation="<=",
    right=lambda a, a_star, step, factor=np.pi - 1: (
        (1 - step * (np.pi - 1) / (2 * np.pi)) * (dot(a, a_star))
        + step * ((np.pi - 1) * (dot(a_star, a_star)) + factor * total(a_star) ** 2) / (2 * np.pi)
    ),
    scale=product_size,
    as_printed="$a^{t+1}\\cdot a^* \\le (1 - \\frac{\\eta(\\pi-1)}{2\\pi})a^t\\cdot a^* + \\frac{\\eta(\\pi-1)}{2\\pi}(\\|a^*\\|^2 + (\\mathbf 1\\cdot a^*)^2)$. "
    "(The last factor $\\pi - 1$ may be 2.)",
    control=Form("The last term with 1.95 for $\\pi - 1$.", factor=1.95),
)


def _lengthened(v, a, w_star, a_star, step):
    # The gradient is orthogonal to v, so that squares add up.
    return np.sum((filter_step(v, a, w_star, a_star, step) - v) ** 2, -1)


LEMMA_C_3_LENGTH = Claim(
    id=f"{PAPER}.lemma-C.3.length",
    scope="proof step",
    title="growth of the filter in a step",
    hypotheses=(f"Theorem 3.1's conditions, $\\|w^*\\| = \\|v^t\\| = 1$, {SUPPLIED_BOUND[:-1]}", _STEP),
    draw=STARTS,
    build=lambda phi, a, a_star, boost, share: started_with_step(phi, a, a_star, boost, share, 1.0),
    left=_lengthened,
    relation="<=",
    right=lambda v, w_star, a_star, step, power=1.0, factor=1.0: (
        factor * step**2 * signal_bound(w_star, a_star) ** power * np.sin(angle(v, w_star)) ** 2
    ),
    scale=lambda v, w_star, a_star, step: (
        1e-3 * step**2 * signal_bound(w_star, a_star) ** 2 * np.sin(angle(v, w_star)) ** 2 + 1e-20
    ),
    as_printed="$\\|v^{t+1}\\|^2 \\le \\|v^t\\|^2 + \\eta^2(\\|a^*\\|^2 + (\\mathbf 1\\cdot a^*)^2)\\|w^*\\|^2\\sin^2\\phi^t$.",
    corrected=Form(
        "$\\|v^{t+1}\\|^2 \\le \\|v^t\\|^2 + \\frac{\\eta^2}4(\\|a^*\\|^2 + (\\mathbf 1\\cdot a^*)^2)^2\\sin^2\\phi^t$, for $\\|w^*\\| = 1 \\le \\|v^t\\|$.",
        power=2.0,
        factor=0.25,
    ),
    correction="The signal enters squared, and so does its bound by Lemma C.2: the print is too small for $\\|a^*\\|^2 + (\\mathbf 1\\cdot a^*)^2 > "
    "4$. With the square the step of the lemma gives $\\|v\\| \\le 2$ by this argument only for $\\|a^*\\|^2 + (\\mathbf 1\\cdot a^*)^2 \\le 12$; "
    "by another one $\\|v\\| \\le 2\\sqrt{2/7}$ for all, see Lemma C.3. (The sum two lines on begins at $i = 0$.)",
    control=Form("The corrected form with $0.24$ for $\\frac14$.", power=2.0, factor=0.24),
)


def _scaled(phi, a, a_star, boost, size):
    begun = start(phi, a, a_star, boost, 1.0)
    return {**begun, "w_star": times(size, begun["w_star"])}


def _signal_of_theorem(v, a, w_star, a_star):
    size = norm(w_star)
    goal = (g(angle(v, w_star)) - 1) * (dot(a_star, a_star)) * size**2
    return np.minimum((dot(a, a_star)) * size, goal)


_THEOREM = Form(
    "$\\lambda^0 \\ge \\beta^0/8$ with the $\\beta^0$ of Theorem 3.1, which has $a^0\\cdot a^*\\|w^*\\|$.",
    right=lambda v, a, w_star, a_star, fraction: fraction * _signal_of_theorem(v, a, w_star, a_star),
    fraction=1 / 8,
)

BETA = Claim(
    id=f"{PAPER}.lemma-C.3.beta",
    title="two definitions of the initial signal",
    hypotheses="Theorem 3.1's conditions on the start, $\\|v^0\\| = 1$, any $\\|w^*\\|$ from 0.1 to 10",
    draw=[{**draw, "size": log_uniform(0.1, 10.0)} for draw in STARTS],
    build=_scaled,
    left=rate,
    relation=">=",
    right=lambda v, a, w_star, a_star, fraction: fraction * initial_signal(v, a, w_star, a_star),
    scale=lambda a, w_star, a_star: 1e-3 * norm(w_star) * (dot(a, a_star)) + 1e-9,
    as_printed=Form(
        "$\\lambda^0 \\ge \\beta^0/8$ with $\\beta^0 = \\min\\{a^0\\cdot a^*, (g(\\phi^0)-1)\\|a^*\\|^2\\}\\|w^*\\|^2$, as both lemmas have it.",
        fraction=1 / 8,
    ),
    as_meant=_THEOREM,
    supplied="Theorem 3.1, which defines it so, and Section 4.1, “without loss of generality $\\|w^*\\| = 1$”",
    correction="$\\|w^*\\|^2$ stands in front of the first term, where $\\lambda$ has $\\|w^*\\|$; the two definitions agree for $\\|w^*\\| = 1$.",
    defect=EXTRA_NORM,
    control=Form("That with $0.3$ for $\\frac18$.", right=_THEOREM.varied["right"], fraction=0.3),
)


def _remainder(v, a, w_star, a_star):
    """What 1·a lacks to the teacher's, less what it tends to at a fixed angle."""
    goal = (np.pi - g(angle(v, w_star))) * total(a_star) / (a.shape[-1] + np.pi - 1)
    return total(a_star) - total(a) - goal


def _next_remainder(v, a, w_star, a_star, step):
    """The same after a step, with the angle of before."""
    moved = output_step(v, a, w_star, a_star, step)
    return _remainder(v, moved, w_star, a_star)


LEMMA_C_4_RECURSION = Claim(
    id=f"{PAPER}.lemma-C.4.recursion",
    scope="proof step",
    title="recursion for what the sum lacks",
    hypotheses=_STEP,
    glyph=True,
    draw=[{**draw, "share": uniform(0.0, 0.99)} for draw in _UNIT],
    build=with_step_of_sums,
    left=_next_remainder,
    relation="==",
    right=lambda v, a, w_star, a_star, step, own=0.0, factor=1.0: (
        (1 - factor * step * (a.shape[-1] + np.pi - 1) / (2 * np.pi))
        * _remainder(v, own * a + (1 - own) * a_star, w_star, a_star)
    ),
    scale=lambda a, a_star: norm(a) + norm(a_star),
    as_printed="$\\mathbf 1\\cdot a^* - \\mathbf 1\\cdot a^{t+1} - c_t = (1 - \\frac{\\eta(k+\\pi-1)}{2\\pi})(\\mathbf 1\\cdot a^* - \\mathbf 1\\cdot a^* - c_t)$ "
    "with $c_t = (\\pi - g(\\phi^t))\\mathbf 1\\cdot a^*/(k+\\pi-1)$.",
    as_meant=Form("The same with $a^t$ in the second sum on the right.", own=1.0),
    supplied="the dynamics at the head of the proof",
    correction="One $a^*$ should be $a^t$, in both displays.",
    control=Form("That with a step one per cent longer.", own=1.0, factor=1.01),
)


def _inner(v, a, w_star, a_star):
    return dot(output_gradient(v, a, w_star, a_star), a - a_star)


_INNER: dict[str, Any] = {
    "draw": _UNIT,
    "arithmetic": QUADRATURE,
    "scale": lambda a, a_star: dot(a, a) + dot(a_star, a_star),
}

LEMMA_C_5_INNER = Claim(
    id=f"{PAPER}.lemma-C.5.inner",
    scope="proof step",
    title="gradient times distance",
    hypotheses="$\\|w^*\\| = 1$",
    **_INNER,
    left=_inner,
    relation="==",
    right=lambda v, a, w_star, a_star, factor=1.0: (
        ((np.pi - 1) * dot(a - a_star, a - a_star) + (np.pi - g(angle(v, w_star))) * dot(a_star, a - a_star))
        / (2 * np.pi)
        + factor * total(a - a_star) ** 2
    ),
    as_printed=Form(
        "$\\langle\\partial_a\\ell, a - a^*\\rangle = \\frac{\\pi-1}{2\\pi}\\|a - a^*\\|^2 - \\frac{g-\\pi}{2\\pi}a^*\\cdot(a - a^*) + "
        "(\\mathbf 1\\cdot a - \\mathbf 1\\cdot a^*)^2$.",
        recipe="""
norm = np.linalg.norm
phi = np.arccos(np.clip(v @ w_star / norm(v), -1, 1))
g, b = (np.pi - phi) * np.cos(phi) + np.sin(phi), a - a_star
gradient = (a.sum() + (np.pi - 1) * a - a_star.sum() - (g - 1) * a_star) / (2 * np.pi)  # Theorem 2.2
left = gradient @ b
right = (np.pi - 1) / (2 * np.pi) * b @ b - (g - np.pi) / (2 * np.pi) * a_star @ b + b.sum() ** 2
""",
    ),
    corrected=Form("The last term has the factor $\\frac1{2\\pi}$.", factor=1 / (2 * np.pi)),
    correction="A factor $\\frac1{2\\pi}$; the term is dropped in the next line.",
    control=Form("The last term one per cent larger.", factor=1.01 / (2 * np.pi)),
)

LEMMA_C_5_LOWER = Claim(
    id=f"{PAPER}.lemma-C.5.lower",
    scope="proof step",
    title="lower bound on gradient times distance",
    hypotheses="$\\|w^*\\| = 1$",
    **_INNER,
    left=_inner,
    relation=">=",
    right=lambda v, a, w_star, a_star, sign=1.0: (
        (
            (np.pi - 1) * dot(a - a_star, a - a_star)
            + sign * (np.pi - g(angle(v, w_star))) * norm(a_star) * norm(a - a_star)
        )
        / (2 * np.pi)
    ),
    as_printed=Form(
        "$\\langle\\partial_a\\ell, a - a^*\\rangle \\ge \\frac{\\pi-1}{2\\pi}\\|a - a^*\\|^2 - \\frac{g-\\pi}{2\\pi}\\|a^*\\|\\|a - a^*\\|$; since "
        "$g \\le \\pi$, the last term is added.",
        recipe="""
norm = np.linalg.norm
phi = np.arccos(np.clip(v @ w_star / norm(v), -1, 1))
g, b = (np.pi - phi) * np.cos(phi) + np.sin(phi), a - a_star
left = (a.sum() + (np.pi - 1) * a - a_star.sum() - (g - 1) * a_star) @ b / (2 * np.pi)  # Theorem 2.2
right = ((np.pi - 1) * b @ b - (g - np.pi) * norm(a_star) * norm(b)) / (2 * np.pi)
""",
    ),
    corrected=Form("The last term is $-\\frac{\\pi-g}{2\\pi}\\|a^*\\|\\|a - a^*\\|$.", sign=-1.0),
    correction="A sign: Cauchy's inequality gives $\\pi - g$ for $g - \\pi$. The lines that follow have it right.",
    control=Form("With $0.95(\\pi - g)$.", sign=-0.95),
)

LEMMA_C_5_FIXED_POINT = Claim(
    id=f"{PAPER}.lemma-C.5.fixed-point",
    scope="proof step",
    title="what the distance shrinks towards",
    hypotheses="$x_{t+1} \\le (1 - c)x_t + 4\\eta\\epsilon^2$, $c = \\frac{\\eta(\\pi-1)}{2\\pi}$, in units of $\\epsilon^2\\|a^*\\|^2$",
    draw={"x": log_uniform(1e-3, 1e3), "step": log_uniform(1e-4, 1.0)},
    left=lambda x, step: (1 - step * (np.pi - 1) / (2 * np.pi)) * x + 4 * step,
    relation="<=",
    right=lambda x, step, point=8.0: (1 - step * (np.pi - 1) / (2 * np.pi)) * (x - point) + point,
    as_printed="$x_{t+1} - X \\le (1 - c)(x_t - X)$ with $X = 8(\\pi-1)/(\\pi-1)$.",
    corrected=Form("The same with $X = 8\\pi/(\\pi-1)$.", point=8 * np.pi / (np.pi - 1)),
    correction="$4\\eta/c = 8\\pi/(\\pi-1)$, and the constant of the lemma with it.",
    control=Form("The same with $X = 11.7$.", point=11.7),
)


LEMMA_C_5_GRADIENT = Claim(
    id=f"{PAPER}.lemma-C.5.gradient",
    scope="proof step",
    title="bound on the gradient in the output weights",
    hypotheses="$\\|w^*\\| = 1$",
    **_INNER,
    left=lambda v, a, w_star, a_star: np.sum(output_gradient(v, a, w_star, a_star) ** 2, -1),
    relation="<=",
    right=lambda v, a, w_star, a_star, factor=3.0: (
        factor
        * (
            (np.pi - 1) ** 2 * dot(a - a_star, a - a_star)
            + (np.pi - g(angle(v, w_star))) ** 2 * (dot(a_star, a_star))
            + a.shape[-1] ** 2 * total(a - a_star) ** 2
        )
        / (4 * np.pi**2)
    ),
    as_printed="$\\|\\partial_a\\ell\\|^2 \\le \\frac3{4\\pi^2}((\\pi-1)^2\\|a - a^*\\|^2 + (\\pi-g)^2\\|a^*\\|^2 + k^2(\\mathbf 1\\cdot a - \\mathbf 1\\cdot a^*)^2)$.",
    control=Form("The same with 2.7 for 3; the sharp factor for $k = 1$ is 2.77.", factor=2.7),
)

EXPONENT = Claim(
    id=f"{PAPER}.section-C.3.exponent",
    title="from the angle to g",
    hypotheses="$0 < \\epsilon \\le 0.9$, $\\phi < \\pi/2$",
    draw={"accuracy": log_uniform(1e-2, 0.9), "share": uniform(0.0, 1.0)},
    build=lambda accuracy, share, power=10.0: {
        "accuracy": accuracy,
        "phi": np.arcsin(np.sqrt(share) * accuracy ** (power / 2)),
    },
    # π − g(φ) without cancellation.
    left=lambda phi: 2 * np.pi * np.sin(phi / 2) ** 2 + phi * np.cos(phi) - np.sin(phi),
    relation="<=",
    right=lambda accuracy: accuracy,
    as_printed="$\\sin^2\\phi \\le \\epsilon^{10}$ implies $\\pi - g(\\phi) \\le \\epsilon$. (The power 3 is enough.)",
    control=Form("$\\sin^2\\phi \\le \\epsilon^{3/2}$ does.", power=1.5),
)


def _against(phi, a, a_star, boost, share):
    """A start with a·a* < 0, an open angle and a small sum, as in the induction of Section E."""
    begun = start(phi, a, a_star, boost)
    v = in_plane(-np.cos(phi), np.sin(phi))
    return with_step_of_sums(v, -begun["a"], begun["w_star"], a_star, share)


def _below(v, a_star, w_star, step, power=1.0, factor=1.0):
    size = norm(a_star) ** power
    return factor * step * ((g(angle(v, w_star)) - 1) * size + 2 * total(a_star) ** 2) / (2 * np.pi)


SECTION_E_SIGNAL = Claim(
    id=f"{PAPER}.section-E.signal",
    title="the signal stays negative",
    hypotheses=(
        "$\\|w^*\\| = 1$, $a^t\\cdot a^* < 0$, $|\\mathbf 1\\cdot a^t| \\le |\\mathbf 1\\cdot a^*|$, $\\eta < 2\\pi/(k+\\pi-1)$",
        "$g(\\phi^t) \\le 1 - 2(\\mathbf 1\\cdot a^*)^2/\\|a^*\\|^2$",
    ),
    draw=STARTS[1:],  # no teacher with one patch satisfies the condition
    build=_against,
    where=lambda v, a, w_star, a_star: (
        (dot(a, a_star) < 0) & ((g(angle(v, w_star)) - 1) * (dot(a_star, a_star)) <= -2 * total(a_star) ** 2)
    ),
    left=next_signal,
    relation="<=",
    right=_below,
    scale=lambda a, a_star: 1e-3 * product_size(a, a_star),
    glyph=True,
    as_printed="$a^{t+1}\\cdot a^* \\le \\frac\\eta{2\\pi}((g(\\phi^t)-1)\\|a^*\\| + 2(\\mathbf 1\\cdot a^*)^2)$.",
    as_meant=Form("The same with $\\|a^*\\|^2$.", power=2.0),
    supplied="the condition on $g(\\phi^0)$, with which the right-hand side is negative",
    correction="A square is missing (and the induction begins with $a^t\\cdot a^* > 0$ for $< 0$).",
    control=Form("That with 1.1 times the right-hand side.", power=2.0, factor=1.1),
)
