"""Sections 2 and A: the population loss, its gradients, and the Gaussian identities behind them."""

import jax.numpy as jnp
import numpy as np

from tutelage.claims.convolutional_filter.formulas import (
    angle,
    exact,
    g,
    loss,
    printed_filter_gradient,
    printed_output_gradient,
)
from tutelage.claims.convolutional_filter.instances import ANYWHERE, PAPER
from tutelage.claims.laws import real
from tutelage.claims.statement import Claim, Form
from tutelage.models import FilterAndOutput

_GAUSSIAN = ("patches are independent standard Gaussian vectors", "$v \\ne 0$")
_norm = jnp.linalg.norm
# One root error, in two places.
TWICE = "the third identity of Lemma A.1 is twice too large"

_ANGLE = """norm = np.linalg.norm
phi = np.arccos(np.clip(v @ w_star / norm(v) / norm(w_star), -1, 1))
"""
PATCHES = f"""{_ANGLE}Z = np.random.default_rng(0).normal(size=(400_000, len(a), len(v)))
relu = lambda x: np.maximum(x, 0)
"""
PATCH = f"{_ANGLE}z = np.random.default_rng(0).normal(size=(2_000_000, len(v)))\nw = v\n"

_LOSS = Form("The same with the cross term divided by $2\\pi$, as the other terms are.", cross=1 / (2 * np.pi))

THEOREM_2_1 = Claim(
    id=f"{PAPER}.theorem-2.1",
    place="Theorem 2.1, Equation (3)",
    title="population loss",
    hypotheses=_GAUSSIAN,
    draw=ANYWHERE,
    left=lambda v, a, w_star, a_star: exact(w_star, a_star).loss(FilterAndOutput(v, a)),
    derivatives=False,
    relation="==",
    right=loss,
    scale=lambda a, w_star, a_star: (w_star @ w_star) * (a_star @ a_star) + a @ a,
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
    as_meant=_LOSS,
    supplied="Section A, the matrix B, from which Equation (3) follows",
    corrected=_LOSS,
    correction="The last term of Equation (3) misses the factor $1/(2\\pi)$ that its derivation in Section A gives it.",
    control=Form("The cross term divided by $2\\pi$, and one per cent larger.", cross=1.01 / (2 * np.pi)),
)

THEOREM_2_2_FILTER = Claim(
    id=f"{PAPER}.theorem-2.2.filter",
    place="Theorem 2.2, first formula",
    title="gradient in the filter",
    hypotheses=_GAUSSIAN,
    draw=ANYWHERE,
    left=lambda v, a, w_star, a_star: exact(w_star, a_star).gradient(FilterAndOutput(v, a)).filter,
    derivatives=False,
    relation="==",
    right=lambda v, a, w_star, a_star, factor: factor * printed_filter_gradient(v, a, w_star, a_star),
    # The gradient vanishes at angles 0 and π; its natural size is that of its factors.
    scale=lambda v, a, w_star, a_star: _norm(a) * _norm(a_star) * _norm(w_star) / _norm(v),
    as_printed=Form(
        "$\\partial_v\\ell = -\\frac{a\\cdot a^*(\\pi-\\phi)}{2\\pi\\|v\\|}\\bigl(I - vv^\\top/\\|v\\|^2\\bigr)w^*$.",
        factor=1.0,
    ),
    control=Form("The right-hand side one per cent larger.", factor=1.01),
)

THEOREM_2_2_OUTPUT = Claim(
    id=f"{PAPER}.theorem-2.2.output",
    place="Theorem 2.2, second formula",
    title="gradient in the output weights",
    hypotheses=_GAUSSIAN,
    draw=ANYWHERE,
    left=lambda v, a, w_star, a_star: exact(w_star, a_star).gradient(FilterAndOutput(v, a)).output,
    derivatives=False,
    relation="==",
    right=lambda v, a, w_star, a_star, shift: (
        printed_output_gradient(v, a, w_star, a_star) - shift * _norm(w_star) / (2 * jnp.pi) * a_star
    ),
    scale=lambda a, w_star, a_star: _norm(a) + _norm(a_star) * _norm(w_star),
    as_printed=Form(
        "$\\partial_a\\ell = \\frac1{2\\pi}(\\mathbf{11}^\\top + (\\pi-1)I)a - "
        "\\frac{\\|w^*\\|}{2\\pi}(\\mathbf{11}^\\top + (g(\\phi)-1)I)a^*$.",
        shift=0.0,
    ),
    control=Form("The same with $g(\\phi) - 0.99$ in place of $g(\\phi) - 1$.", shift=0.01),
)


def _unnormalised_gradient(v, a, w_star, a_star, sign):
    """The aggregated gradient in w (called v here), the teacher's terms with a sign."""
    phi = angle(v, w_star)
    ratio = _norm(w_star) / _norm(v)
    own = jnp.sum(a) ** 2 - a @ a
    cross = jnp.sum(a) * jnp.sum(a_star) - a @ a_star
    along = (a @ a) / 2 + own / (2 * jnp.pi)
    along = along + sign * ((a @ a_star) * jnp.sin(phi) + cross) * ratio / (2 * jnp.pi)
    return sign * (a @ a_star) * (jnp.pi - phi) / (2 * jnp.pi) * w_star + along * v


_MINUS = Form("They enter with a minus sign.", sign=-1.0)

SECTION_A_GRADIENT = Claim(
    id=f"{PAPER}.section-A.unnormalized-gradient",
    place="Section A, proof of Theorem 2.2, the aggregated gradient",
    title="gradient without weight normalisation",
    hypotheses=("independent standard Gaussian patches", "$w \\ne 0$"),
    draw=ANYWHERE,
    left=lambda v, a, w_star, a_star: exact(w_star, a_star, normalized=False).gradient(FilterAndOutput(v, a)).filter,
    derivatives=False,
    relation="==",
    right=_unnormalised_gradient,
    scale=lambda v, a, w_star, a_star: _norm(a) * (_norm(a) * _norm(v) + _norm(a_star) * _norm(w_star)),
    as_printed=Form(
        "The terms with the teacher enter $\\partial_w\\ell$ with a plus sign.",
        sign=1.0,
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
    as_meant=_MINUS,
    supplied="Equation (8), which is subtracted, and Theorem 2.2",
    corrected=_MINUS,
    correction="The teacher's terms come from subtracting (8): all three change sign. Theorem 2.2 itself has them right.",
    control=Form("They enter with a minus sign, one per cent larger.", sign=-1.01),
)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def directions(v, w_star):
    """Directions u of the plane with u·v ≥ 0 and u·w* ≥ 0, and their weights: Gauss–Legendre nodes in the angle."""
    middle = v / _norm(v) + w_star / _norm(w_star)
    middle = middle / _norm(middle)
    half = (jnp.pi - angle(v, w_star)) / 2
    turned = jnp.stack([-middle[1], middle[0]])
    u = jnp.cos(half * _NODES)[:, None] * middle + jnp.sin(half * _NODES)[:, None] * turned
    return u, half * _WEIGHTS


def _second_moment(v, w_star):
    """E[zzᵀ1(z·w ≥ 0, z·w* ≥ 0)]w* in polar coordinates, where the radius contributes ∫r³exp(−r²/2)dr = 2."""
    u, weights = directions(v, w_star)
    return weights @ (u * (u @ w_star)[:, None]) / jnp.pi


def _first_moment(v):
    """E[z1(z·w ≥ 0)], where the radius contributes ∫r²exp(−r²/2)dr = √(π/2)."""
    u, weights = directions(v, v)
    return weights @ u / np.sqrt(8 * np.pi)


def _identity(number: int, printed: str, recipe: str = "", corrected: str = "", correction: str = "", **parts) -> Claim:
    """An identity of Lemma A.1; the print has the parameter `letter` one, the proof has it zero."""
    meant = Form(corrected, letter=0.0, factor=1.0) if corrected else None
    return Claim(
        id=f"{PAPER}.lemma-A.1.identity-{number}",
        place=f"Lemma A.1, identity {number}",
        title=f"Gaussian identity {number}",
        hypotheses=(
            "$z$ is a standard Gaussian vector",
            "$w, w^* \\ne 0$ at angle $\\phi < \\pi$, in the plane that they span",
        ),
        draw={"v": real((2,)), "w_star": real((2,))},
        where=lambda v, w_star: (v @ v > 0) & (w_star @ w_star > 0) & (angle(v, w_star) < 3.14),
        arithmetic="Gauss–Legendre quadrature in polar coordinates, float64",
        relation="==",
        as_printed=Form(printed, letter=1.0 if corrected else 0.0, factor=1.0, recipe=PATCH + recipe if recipe else ""),
        as_meant=meant,
        supplied="the proof of Lemma A.1" if corrected else "",
        corrected=meant,
        correction=correction,
        control=Form("The true right-hand side, one per cent larger.", letter=0.0, factor=1.01),
        **parts,
    )


def _half_norm(v, letter, factor):
    return factor * 0.5 * v * (letter / _norm(v) + 1 - letter)


def _both_half_spaces(v, w_star, letter, factor):
    phi = angle(v, w_star)
    turned = (jnp.pi - phi) * w_star + jnp.sin(phi) * _norm(w_star) / _norm(v) * v
    return factor * (1 + letter) / (2 * jnp.pi) * turned


def _product(v, w_star, letter, factor):
    phi = angle(v, w_star)
    sine, cosine = jnp.sin(phi), jnp.cos(phi)
    misplaced = cosine * (jnp.pi - phi + sine * cosine + sine**2)
    return factor * (letter * misplaced + (1 - letter) * g(phi)) / (2 * jnp.pi) * _norm(v) * _norm(w_star)


LEMMA_A_1 = (
    _identity(
        1,
        "$E[zz^\\top\\mathbb 1(z\\cdot w \\ge 0)]\\,w = \\frac12\\,w/\\|w\\|$.",
        "left = np.mean(np.maximum(z @ w, 0)[:, None] * z, axis=0)  # sampled\nright = 0.5 * w / norm(w)\n",
        "The right-hand side is $\\frac12w$.",
        "The normalisation of $w$ on the right is too much; the proof ends with $\\frac12w$.",
        left=lambda v: _second_moment(v, v),
        right=_half_norm,
        scale=lambda v: _norm(v),
    ),
    _identity(
        2,
        "$E[z\\,\\mathbb 1(z\\cdot w \\ge 0)] = \\frac1{\\sqrt{2\\pi}}\\,w/\\|w\\|$.",
        left=_first_moment,
        right=lambda v, factor: factor * v / _norm(v) / jnp.sqrt(2 * jnp.pi),
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
        left=_second_moment,
        right=_both_half_spaces,
        scale=lambda w_star: _norm(w_star),
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
        left=lambda v, w_star: v @ _second_moment(v, w_star),
        right=_product,
        scale=lambda v, w_star: _norm(v) * _norm(w_star),
    ),
)

CLAIMS = (THEOREM_2_1, THEOREM_2_2_FILTER, THEOREM_2_2_OUTPUT, SECTION_A_GRADIENT, *LEMMA_A_1)
