"""Sections 2 and A: the population loss, its gradients, and the Gaussian identities behind them."""

from typing import Any

import numpy as np

from tutelage.claims import Claim, Form, real
from tutelage.claims.convolutional_filter.formulas import (
    angle,
    applied,
    defined_loss,
    dot,
    filter_gradient,
    g,
    loss,
    norm,
    normalised,
    output_gradient,
    overlap,
    own_gradient,
    printed_filter_gradient,
    printed_output_gradient,
    relu_mean,
    second_moments,
    teacher_gradient,
    times,
    total,
)
from tutelage.claims.convolutional_filter.instances import ANYWHERE, PAPER

_GAUSSIAN = ("patches are independent standard Gaussian vectors", "$v \\ne 0$")
QUADRATURE = "Gauss–Legendre quadrature of the definition in polar coordinates, float64"
# What an equality with an expectation has, for any student and any teacher.
BY_QUADRATURE: dict[str, Any] = {"draw": ANYWHERE, "relation": "==", "arithmetic": QUADRATURE}
# One root error, in two places.
TWICE = "the third identity of Lemma A.1 is twice too large"

_ANGLE = """norm = np.linalg.norm
phi = np.arccos(np.clip(v @ w_star / norm(v) / norm(w_star), -1, 1))
"""
PATCHES = f"""{_ANGLE}Z = np.random.default_rng(0).normal(size=(400_000, len(a), len(v)))
relu = lambda x: np.maximum(x, 0)
"""
PATCH = f"{_ANGLE}z = np.random.default_rng(0).normal(size=(2_000_000, len(v)))\nw = v\n"

THEOREM_2_1 = Claim(
    id=f"{PAPER}.theorem-2.1",
    title="population loss",
    hypotheses=_GAUSSIAN,
    **BY_QUADRATURE,
    left=lambda v, a, w_star, a_star: defined_loss(normalised(v), a, w_star, a_star),
    right=loss,
    scale=lambda a, w_star, a_star: dot(w_star, w_star) * dot(a_star, a_star) + dot(a, a),
    as_printed=Form(
        "The loss is Equation (3), with the cross term $-2\\|w^*\\|\\,(\\mathbf 1\\cdot a)(\\mathbf 1\\cdot a^*)$ "
        "inside the bracket.",
        cross=1.0,
        recipe=PATCHES
        + """
difference = relu(Z @ v) @ a / norm(v) - relu(Z @ w_star) @ a_star
left = 0.5 * np.mean(difference**2)  # sampled; its standard error is about 0.3 % of it
s, g = norm(w_star), (np.pi - phi) * np.cos(phi) + np.sin(phi)
right = 0.5 * ((np.pi - 1) / (2 * np.pi) * (s**2 * a_star @ a_star + a @ a) - 2 * (g - 1) * s / (2 * np.pi) * a @ a_star
    + (s**2 * a_star.sum() ** 2 + a.sum() ** 2) / (2 * np.pi) - 2 * s * a.sum() * a_star.sum())
""",
    ),
    as_meant=Form("The same with the cross term divided by $2\\pi$, as the other terms are.", cross=1 / (2 * np.pi)),
    supplied="Section A, the matrix B, from which Equation (3) follows",
    correction="The last term of Equation (3) misses the factor $1/(2\\pi)$ that its derivation in Section A gives it.",
    control=Form("The cross term divided by $2\\pi$, and one per cent larger.", cross=1.01 / (2 * np.pi)),
)

THEOREM_2_2_FILTER = Claim(
    id=f"{PAPER}.theorem-2.2.filter",
    title="gradient in the filter",
    hypotheses=_GAUSSIAN,
    **BY_QUADRATURE,
    left=filter_gradient,
    right=lambda v, a, w_star, a_star, factor=1.0: factor * printed_filter_gradient(v, a, w_star, a_star),
    # The gradient vanishes at angles 0 and π; its natural size is that of its factors.
    scale=lambda v, a, w_star, a_star: (norm(a) * (norm(a) + norm(a_star) * norm(w_star)) / norm(v))[..., None],
    as_printed="$\\partial_v\\ell = -\\frac{a\\cdot a^*(\\pi-\\phi)}{2\\pi\\|v\\|}\\bigl(I - vv^\\top/\\|v\\|^2\\bigr)w^*$.",
    control=Form("The right-hand side one per cent larger.", factor=1.01),
)

THEOREM_2_2_OUTPUT = Claim(
    id=f"{PAPER}.theorem-2.2.output",
    title="gradient in the output weights",
    hypotheses=_GAUSSIAN,
    **BY_QUADRATURE,
    left=output_gradient,
    right=lambda v, a, w_star, a_star, shift=0.0: (
        printed_output_gradient(v, a, w_star, a_star) - times(shift * norm(w_star) / (2 * np.pi), a_star)
    ),
    scale=lambda a, w_star, a_star: (norm(a) + norm(a_star) * norm(w_star))[..., None],
    as_printed="$\\partial_a\\ell = \\frac1{2\\pi}(\\mathbf{11}^\\top + (\\pi-1)I)a - "
    "\\frac{\\|w^*\\|}{2\\pi}(\\mathbf{11}^\\top + (g(\\phi)-1)I)a^*$.",
    control=Form("The same with $g(\\phi) - 0.99$ in place of $g(\\phi) - 1$.", shift=0.01),
)


def _unnormalised_gradient(v, a, w_star, a_star, sign=1.0):
    """The aggregated gradient in w (called v here), the teacher's terms with a sign."""
    phi, ratio = angle(v, w_star), norm(w_star) / norm(v)
    cross = total(a) * total(a_star) - dot(a, a_star)
    along = dot(a, a) / 2 + (total(a) ** 2 - dot(a, a)) / (2 * np.pi)
    along = along + sign * (dot(a, a_star) * np.sin(phi) + cross) * ratio / (2 * np.pi)
    return times(sign * dot(a, a_star) * (np.pi - phi) / (2 * np.pi), w_star) + times(along, v)


SECTION_A_GRADIENT = Claim(
    id=f"{PAPER}.section-A.unnormalized-gradient",
    title="gradient without weight normalisation",
    hypotheses=("independent standard Gaussian patches", "$w \\ne 0$"),
    **BY_QUADRATURE,
    left=lambda v, a, w_star, a_star: own_gradient(v, a) - teacher_gradient(v, a, w_star, a_star),
    right=_unnormalised_gradient,
    scale=lambda v, a, w_star, a_star: (norm(a) * (norm(a) * norm(v) + norm(a_star) * norm(w_star)))[..., None],
    as_printed=Form(
        "The terms with the teacher enter $\\partial_w\\ell$ with a plus sign.",
        recipe=PATCHES
        + """
hidden = Z @ v
residual = relu(hidden) @ a - relu(Z @ w_star) @ a_star
left = np.mean(residual[:, None] * np.einsum("nk,nkp->np", a * (hidden > 0), Z), axis=0)  # sampled
off = lambda x, y: x.sum() * y.sum() - x @ y
r = norm(w_star) / norm(v)
right = a @ a_star * (np.pi - phi) / (2 * np.pi) * w_star + (a @ a / 2 + off(a, a) / (2 * np.pi)
    + (a @ a_star * np.sin(phi) + off(a, a_star)) * r / (2 * np.pi)) * v
""",
    ),
    as_meant=Form("They enter with a minus sign.", sign=-1.0),
    supplied="Equation (8), which is subtracted, and Theorem 2.2",
    correction="The teacher's terms come from subtracting (8): all three change sign. Theorem 2.2 itself has them right.",
    control=Form("They enter with a minus sign, one per cent larger.", sign=-1.01),
)


def _identity(number: int, printed: str, recipe: str = "", corrected: str = "", correction: str = "", **parts) -> Claim:
    """An identity of Lemma A.1; the print has the parameter `letter` one, the proof has it zero."""
    meant = Form(corrected, letter=0.0, factor=1.0) if corrected else None
    return Claim(
        id=f"{PAPER}.lemma-A.1.identity-{number}",
        place=f"Lemma A.1, identity {number}",
        title=f"Gaussian identity {number}",
        hypotheses=(
            "$z$ is a standard Gaussian vector",
            "$w, w^* \\ne 0$, in the plane that they span",
        ),
        draw={"v": real((2,)), "w_star": real((2,))},
        where=lambda v, w_star: (dot(v, v) > 0) & (dot(w_star, w_star) > 0),
        arithmetic=QUADRATURE,
        relation="==",
        as_printed=Form(printed, letter=1.0 if corrected else 0.0, factor=1.0, recipe=PATCH + recipe if recipe else ""),
        as_meant=meant,
        supplied="the proof of Lemma A.1" if corrected else "",
        correction=correction,
        control=Form("The true right-hand side, one per cent larger.", letter=0.0, factor=1.01),
        **parts,
    )


def _half_norm(v, letter, factor):
    return times(factor * 0.5 * (letter / norm(v) + 1 - letter), v)


def _both_half_spaces(v, w_star, letter, factor):
    phi = angle(v, w_star)
    turned = times(np.pi - phi, w_star) + times(np.sin(phi) * norm(w_star) / norm(v), v)
    return factor * (1 + letter) / (2 * np.pi) * turned


def _product(v, w_star, letter, factor):
    phi = angle(v, w_star)
    sine, cosine = np.sin(phi), np.cos(phi)
    misplaced = cosine * (np.pi - phi + sine * cosine + sine**2)
    return factor * (letter * misplaced + (1 - letter) * g(phi)) / (2 * np.pi) * norm(v) * norm(w_star)


LEMMA_A_1 = (
    _identity(
        1,
        "$E[zz^\\top\\mathbb 1(z\\cdot w \\ge 0)]\\,w = \\frac12\\,w/\\|w\\|$.",
        "left = np.mean(np.maximum(z @ w, 0)[:, None] * z, axis=0)  # sampled\nright = 0.5 * w / norm(w)\n",
        "The right-hand side is $\\frac12w$.",
        "The normalisation of $w$ on the right is too much; the proof ends with $\\frac12w$.",
        left=lambda v: applied(second_moments(v, v), v),
        right=_half_norm,
        scale=lambda v: norm(v)[..., None],
    ),
    _identity(
        2,
        "$E[z\\,\\mathbb 1(z\\cdot w \\ge 0)] = \\frac1{\\sqrt{2\\pi}}\\,w/\\|w\\|$.",
        left=relu_mean,
        right=lambda v, factor: factor * normalised(v) / np.sqrt(2 * np.pi),
        scale=1.0,
    ),
    _identity(
        3,
        "$E[zz^\\top\\mathbb 1(z\\cdot w \\ge 0, z\\cdot w^* \\ge 0)]\\,w^* = \\frac1\\pi(\\pi-\\phi)w^* + "
        "\\frac1\\pi\\sin\\phi\\,\\frac{\\|w^*\\|}{\\|w\\|}w$.",
        """left = np.mean(((z @ w > 0) * np.maximum(z @ w_star, 0))[:, None] * z, axis=0)  # sampled
right = ((np.pi - phi) * w_star + np.sin(phi) * norm(w_star) / norm(w) * w) / np.pi
""",
        "The right-hand side is half of that: $1/(2\\pi)$ for $1/\\pi$.",
        "Both terms are twice too large; the proof's last line has $1/(2\\pi)$.",
        defect=TWICE,
        left=lambda v, w_star: applied(second_moments(v, w_star), w_star),
        right=_both_half_spaces,
        scale=lambda w_star: norm(w_star)[..., None],
    ),
    _identity(
        4,
        "$E[\\sigma(z\\cdot w)\\sigma(z\\cdot w^*)] = \\frac1{2\\pi}\\cos\\phi\\,(\\pi - \\phi + \\sin\\phi\\cos\\phi + "
        "\\sin^2\\phi)\\,\\|w\\|\\|w^*\\|$.",
        """left = np.mean(np.maximum(z @ w, 0) * np.maximum(z @ w_star, 0))  # sampled
right = np.cos(phi) * (np.pi - phi + np.sin(phi) * np.cos(phi) + np.sin(phi) ** 2) / (2 * np.pi) * norm(w) * norm(w_star)
""",
        "The bracket is $\\cos\\phi\\,(\\pi - \\phi + \\sin\\phi\\cos\\phi) + \\sin^3\\phi = g(\\phi)$.",
        "A parenthesis: $\\sin^2\\phi$ inside the bracket should be $\\sin^3\\phi$ outside it, as in the proof.",
        left=overlap,
        right=_product,
        scale=lambda v, w_star: norm(v) * norm(w_star),
    ),
)
