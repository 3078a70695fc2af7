"""Section A: the lines from which the loss, its gradients and the Gaussian identities are derived."""

from typing import Any

import numpy as np

from tutelage.claims import Claim, Form, real
from tutelage.claims.convolutional_filter.formulas import (
    angle,
    applied,
    defined_loss,
    dot,
    g,
    norm,
    own_gradient,
    second_moments,
    teacher_gradient,
    times,
    total,
)
from tutelage.claims.convolutional_filter.identities import BY_QUADRATURE, PATCH, PATCHES, QUADRATURE, TWICE
from tutelage.claims.convolutional_filter.instances import ANYWHERE, PAPER

_GAUSSIAN = ("independent standard Gaussian patches", "$w \\ne 0$")


def _expanded(v, a, w_star, a_star, factor=1.0):
    """The quadratic form with the print's A(w), A(w*) and B(w, w*)."""

    def form(a, b, own):
        return (total(a) * total(b) + (own - 1) * dot(a, b)) / (2 * np.pi)

    mixed = norm(v) * norm(w_star) * form(a, a_star, g(angle(v, w_star)))
    return factor * (dot(w_star, w_star) * form(a_star, a_star, np.pi) + dot(v, v) * form(a, a, np.pi) - 2 * mixed)


_HALF = Form("The same with a factor $\\frac12$.", factor=0.5)

EXPANSION = Claim(
    id=f"{PAPER}.section-A.expansion",
    title="the loss as a quadratic form",
    hypotheses=_GAUSSIAN,
    **BY_QUADRATURE,
    left=defined_loss,
    right=_expanded,
    scale=lambda v, a, w_star, a_star: dot(v, v) * dot(a, a) + dot(w_star, w_star) * dot(a_star, a_star),
    as_printed=Form(
        "$\\ell = a^{*\\top}A(w^*)a^* + a^\\top A(w)a - 2a^\\top B(w, w^*)a^*$, with $A$ and $B$ as computed below it (the last $a^*$ is printed "
        "as $w^*$).",
        recipe=PATCHES
        + """
difference = relu(Z @ v) @ a - relu(Z @ w_star) @ a_star
left = 0.5 * np.mean(difference**2)  # sampled
k, s, g = len(a), norm(v) * norm(w_star), (np.pi - phi) * np.cos(phi) + np.sin(phi)
A = (np.ones((k, k)) + (np.pi - 1) * np.eye(k)) / (2 * np.pi)
B = s * (np.ones((k, k)) + (g - 1) * np.eye(k)) / (2 * np.pi)
right = w_star @ w_star * (a_star @ A @ a_star) + v @ v * (a @ A @ a) - 2 * a @ B @ a_star
""",
    ),
    as_meant=_HALF,
    supplied="the line above it, and Theorem 2.1, which have the factor",
    correction="The factor $\\frac12$ of the loss is dropped between two lines; Theorem 2.1 has it.",
    control=Form("With $0.505$ for $\\frac12$.", factor=0.505),
)


def _written_out(v, a, w_star, a_star, Z):
    """Equations (7) and (8): sums over pairs of patches, patches in rows."""
    active = np.einsum("...ip,...p->...i", Z, v) >= 0
    seen = np.einsum("...ip,...p->...i", Z, w_star) >= 0
    rows = np.einsum("...i,...ip->...p", a * active, Z)
    own = np.einsum("...j,...jp,...p->...", a * active, Z, v)
    return times(own - np.einsum("...j,...jp,...p->...", a_star * seen, Z, w_star), rows)


def _first_line(v, a, w_star, a_star, Z, letter=1.0):
    hidden, targets = (np.maximum(np.sum(Z * w[..., None, :], -1), 0.0) for w in (v, w_star))
    residual = dot(letter * a_star + (1 - letter) * a, hidden) - dot(a_star, targets)
    return times(residual, np.sum((a * (hidden > 0))[..., None] * Z, -2))


EQUATION_7 = Claim(
    id=f"{PAPER}.equation-7",
    title="the gradient of a sample",
    hypotheses="$w \\ne 0$, any patches",
    draw=[{**draw, "Z": real((draw["a"].shape[0], 2))} for draw in ANYWHERE],
    left=_written_out,
    relation="==",
    right=_first_line,
    scale=lambda v, a, w_star, a_star, Z: (
        norm(a) * (norm(a) * norm(v) + norm(a_star) * norm(w_star)) * np.sum(Z**2, (-1, -2))
    )[..., None],
    glyph=True,
    as_printed=Form(
        "It is $(\\sum_ia_i^*\\sigma(Z_i\\cdot w) - \\sum_ia_i^*\\sigma(Z_i\\cdot w^*))\\sum_ia_iZ_i\\mathbb 1(Z_i\\cdot w \\ge 0)$, which is then written out "
        "as (7) and (8).",
        recipe="""
hidden = np.maximum(Z @ v, 0)
rows = (a * (hidden > 0)) @ Z
left = (a @ hidden - a_star @ np.maximum(Z @ w_star, 0)) * rows  # Equations (7) and (8)
right = (a_star @ hidden - a_star @ np.maximum(Z @ w_star, 0)) * rows
""",
    ),
    as_meant=Form("The first sum has $a_i$ for $a_i^*$.", letter=0.0),
    supplied="the lines that follow it",
    correction="One $a_i^*$ should be $a_i$.",
    control=Form("One per cent of $a_i^*$ in the first sum.", letter=0.01),
)


OWN_PART = Claim(
    id=f"{PAPER}.section-A.own-part",
    title="the student's part of the gradient",
    hypotheses=_GAUSSIAN,
    **BY_QUADRATURE,
    left=own_gradient,
    right=lambda v, a, factor=1.0: times(dot(a, a) / 2 + factor * (total(a) ** 2 - dot(a, a)) / (2 * np.pi), v),
    scale=lambda v, a: (dot(a, a) * norm(v))[..., None],
    as_printed="It is $\\sum_ia_i^2\\frac w2 + \\sum_{i\\ne j}a_ia_j\\frac w{2\\pi}$.",
    control=Form("The second sum one per cent larger.", factor=1.01),
)


def _teacher_part(v, a, w_star, a_star, twice=2.0):
    phi, ratio = angle(v, w_star), norm(w_star) / norm(v)
    own = times(np.pi - phi, w_star) + times(np.sin(phi) * ratio, v)
    pairs = times((total(a) * total(a_star) - dot(a, a_star)) * ratio, v)
    return (times(twice * dot(a, a_star), own) + pairs) / (2 * np.pi)


TEACHER_PART = Claim(
    id=f"{PAPER}.section-A.teacher-part",
    title="the teacher's part of the gradient",
    hypotheses=_GAUSSIAN,
    **BY_QUADRATURE,
    left=teacher_gradient,
    right=_teacher_part,
    scale=lambda a, w_star, a_star: (norm(a) * norm(a_star) * norm(w_star))[..., None],
    defect=TWICE,
    as_printed=Form(
        "It is $a\\cdot a^*(\\frac1\\pi(\\pi-\\phi)w^* + \\frac1\\pi\\sin\\phi\\frac{\\|w^*\\|}{\\|w\\|}w) + \\sum_{i\\ne j}a_ia_j^*\\frac1{2\\pi}"
        "\\frac{\\|w^*\\|}{\\|w\\|}w$.",
        recipe=PATCHES
        + """
hidden = np.einsum("nk,nkp->np", a * (Z @ v > 0), Z)
left = np.mean((relu(Z @ w_star) @ a_star)[:, None] * hidden, axis=0)  # sampled
r = norm(w_star) / norm(v)
right = a @ a_star * ((np.pi - phi) * w_star + np.sin(phi) * r * v) / np.pi + (
    a.sum() * a_star.sum() - a @ a_star) * r * v / (2 * np.pi)
""",
    ),
    as_meant=Form("The first term has $1/(2\\pi)$ for $1/\\pi$.", twice=1.0),
    supplied="the proof of Lemma A.1, and the aggregated gradient below",
    correction="It inherits the factor two of the third identity of Lemma A.1; the sum below has $1/(2\\pi)$.",
    control=Form("The first term one per cent larger.", twice=1.01),
)

_ANY_PAIR: dict[str, Any] = {
    "draw": {"v": real((2,)), "w_star": real((2,))},
    "relation": "==",
    "scale": 1e-2,
    "arithmetic": QUADRATURE,
}


def _turned(v):
    return np.stack([-v[..., 1], v[..., 0]], -1)


def _across(v):
    """E[z₂²1(z·w ≥ 0)] for a direction 2 orthogonal to w."""
    return dot(_turned(v), applied(second_moments(v, v), _turned(v))) / dot(v, v)


DIAGONAL = Claim(
    id=f"{PAPER}.lemma-A.1.diagonal",
    scope="proof step",
    title="second moment across the filter",
    hypotheses=("$z$ is a standard Gaussian vector", "$e_i \\perp w$"),
    **_ANY_PAIR,
    where=lambda v: dot(v, v) > 0,
    left=_across,
    right=lambda value=1.0: value,
    as_printed=Form(
        "$\\langle e_ie_i^\\top, E[zz^\\top\\mathbb 1(z\\cdot w \\ge 0)]\\rangle = 1$ for $i \\ne 1$.",
        recipe=PATCH
        + """
across = np.array([-v[1], v[0]]) / norm(v)
left = np.mean((z @ across) ** 2 * (z @ v >= 0))  # sampled
""",
    ),
    corrected=Form("It is $\\frac12$.", value=0.5),
    correction="Half of the inputs count in every direction. The identity multiplies by $w$, so that nothing depends on it.",
    control=Form("It is $0.505$.", value=0.505),
)


def _moments(v, w_star):
    """The entries 11, 12 and 22 of E[zzᵀ1(z·w ≥ 0, z·w* ≥ 0)], the first direction along w*, the second on w's side."""
    first = times(1 / norm(w_star), w_star)
    second = times(np.where(dot(v, _turned(first)) >= 0, 1.0, -1.0), _turned(first))
    matrix = second_moments(v, w_star)
    return np.stack([dot(x, applied(matrix, y)) for x, y in ((first, first), (first, second), (second, second))], -1)


def _printed_moments(v, w_star, factor=1.0):
    phi = angle(v, w_star)
    mixed = np.sin(phi) * np.cos(phi)
    return factor * np.stack([np.pi - phi + mixed, np.sin(phi) ** 2, np.pi - phi - mixed], -1) / (2 * np.pi)


POLAR = Claim(
    id=f"{PAPER}.lemma-A.1.polar",
    scope="proof step",
    title="three integrals in polar coordinates",
    hypotheses=("$z$ is a standard Gaussian vector", "$w, w^* \\ne 0$"),
    **_ANY_PAIR,
    where=lambda v, w_star: (dot(v, v) > 0) & (dot(w_star, w_star) > 0),
    left=_moments,
    right=_printed_moments,
    as_printed="The entries are $\\frac1{2\\pi}$ times $\\pi-\\phi+\\sin\\phi\\cos\\phi$, $\\sin^2\\phi$ and $\\pi-\\phi-\\sin\\phi\\cos\\phi$.",
    control=Form("One per cent more.", factor=1.01),
)
