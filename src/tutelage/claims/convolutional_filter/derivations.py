"""Section A: the lines from which the loss, its gradients and the Gaussian identities are derived."""

from typing import Any

import jax.numpy as jnp

from tutelage.claims.convolutional_filter.formulas import angle, exact, g
from tutelage.claims.convolutional_filter.identities import PATCH, PATCHES, TWICE, directions
from tutelage.claims.convolutional_filter.instances import ANYWHERE, PAPER
from tutelage.claims.laws import real
from tutelage.claims.statement import Claim, Form
from tutelage.models import FilterAndOutput

_norm = jnp.linalg.norm
_GAUSSIAN = ("independent standard Gaussian patches", "$w \\ne 0$")


def _matrices(v, w_star, k):
    """The print's A(w), A(w*) and B(w, w*)."""
    ones, identity = jnp.ones((k, k)), jnp.eye(k)
    own = (ones + (jnp.pi - 1) * identity) / (2 * jnp.pi)
    mixed = (ones + (g(angle(v, w_star)) - 1) * identity) / (2 * jnp.pi)
    return (v @ v) * own, (w_star @ w_star) * own, _norm(v) * _norm(w_star) * mixed


def _expanded(v, a, w_star, a_star, factor):
    own, teacher, mixed = _matrices(v, w_star, a.shape[0])
    return factor * (a_star @ teacher @ a_star + a @ own @ a - 2 * a @ mixed @ a_star)


_HALF = Form("The same with a factor $\\frac12$.", factor=0.5)

EXPANSION = Claim(
    id=f"{PAPER}.section-A.expansion",
    place="Section A, first display",
    title="the loss as a quadratic form",
    hypotheses=_GAUSSIAN,
    draw=ANYWHERE,
    left=lambda v, a, w_star, a_star: exact(w_star, a_star, normalized=False).loss(FilterAndOutput(v, a)),
    derivatives=False,
    relation="==",
    right=_expanded,
    scale=lambda v, a, w_star, a_star: (v @ v) * (a @ a) + (w_star @ w_star) * (a_star @ a_star),
    kind="misprint",
    as_printed=Form(
        "$\\ell = a^{*\\top}A(w^*)a^* + a^\\top A(w)a - 2a^\\top B(w, w^*)a^*$, with $A$ and $B$ as computed below it (the last $a^*$ is printed "
        "as $w^*$).",
        factor=1.0,
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
    corrected=_HALF,
    correction="The factor $\\frac12$ of the loss is dropped between two lines; Theorem 2.1 has it.",
    control=Form("With $0.505$ for $\\frac12$.", factor=0.505),
)


def _filter_gradient(v, a, w_star, a_star):
    return exact(w_star, a_star, normalized=False).gradient(FilterAndOutput(v, a)).filter


OWN_PART = Claim(
    id=f"{PAPER}.section-A.own-part",
    place="Section A, expectation of Equation (7)",
    title="the student's part of the gradient",
    hypotheses=_GAUSSIAN,
    draw=ANYWHERE,
    left=lambda v, a, w_star, a_star: _filter_gradient(v, a, w_star, 0.0 * a_star),
    derivatives=False,
    relation="==",
    right=lambda v, a, factor: ((a @ a) / 2 + factor * (jnp.sum(a) ** 2 - a @ a) / (2 * jnp.pi)) * v,
    scale=lambda v, a: (a @ a) * _norm(v),
    as_printed=Form("It is $\\sum_ia_i^2\\frac w2 + \\sum_{i\\ne j}a_ia_j\\frac w{2\\pi}$.", factor=1.0),
    control=Form("The second sum one per cent larger.", factor=1.01),
)


def _teacher_part(v, a, w_star, a_star, twice):
    phi, ratio = angle(v, w_star), _norm(w_star) / _norm(v)
    own = (a @ a_star) * ((jnp.pi - phi) * w_star + jnp.sin(phi) * ratio * v)
    return (twice * own + (jnp.sum(a) * jnp.sum(a_star) - a @ a_star) * ratio * v) / (2 * jnp.pi)


_ONCE = Form("The first term has $1/(2\\pi)$ for $1/\\pi$.", twice=1.0)

TEACHER_PART = Claim(
    id=f"{PAPER}.section-A.teacher-part",
    place="Section A, expectation of Equation (8)",
    title="the teacher's part of the gradient",
    hypotheses=_GAUSSIAN,
    draw=ANYWHERE,
    left=lambda v, a, w_star, a_star: (
        _filter_gradient(v, a, w_star, 0.0 * a_star) - _filter_gradient(v, a, w_star, a_star)
    ),
    derivatives=False,
    relation="==",
    right=_teacher_part,
    scale=lambda v, a, w_star, a_star: _norm(a) * (_norm(a) * _norm(v) + _norm(a_star) * _norm(w_star)),
    defect=TWICE,
    as_printed=Form(
        "It is $a\\cdot a^*(\\frac1\\pi(\\pi-\\phi)w^* + \\frac1\\pi\\sin\\phi\\frac{\\|w^*\\|}{\\|w\\|}w) + \\sum_{i\\ne j}a_ia_j^*\\frac1{2\\pi}"
        "\\frac{\\|w^*\\|}{\\|w\\|}w$.",
        twice=2.0,
        recipe=PATCHES
        + """
hidden = np.einsum("nk,nkp->np", a * (Z @ v > 0), Z)
left = np.mean((relu(Z @ w_star) @ a_star)[:, None] * hidden, axis=0)  # sampled
r = norm(w_star) / norm(v)
right = a @ a_star * ((np.pi - phi) * w_star + np.sin(phi) * r * v) / np.pi + (
    a.sum() * a_star.sum() - a @ a_star) * r * v / (2 * np.pi)
""",
    ),
    as_meant=_ONCE,
    supplied="the proof of Lemma A.1, and the aggregated gradient below",
    corrected=_ONCE,
    correction="It inherits the factor two of the third identity of Lemma A.1; the sum below has $1/(2\\pi)$.",
    control=Form("The first term one per cent larger.", twice=1.01),
)

_ANY_PAIR: dict[str, Any] = {
    "draw": {"v": real((2,)), "w_star": real((2,))},
    "relation": "==",
    "scale": 1e-2,
    "arithmetic": "Gauss–Legendre quadrature in polar coordinates, float64",
}


def _across(v):
    """E[z₂²1(z·w ≥ 0)] for a direction 2 orthogonal to w."""
    u, weights = directions(v, v)
    return weights @ ((u @ jnp.stack([-v[1], v[0]])) ** 2) / (v @ v) / jnp.pi


DIAGONAL = Claim(
    id=f"{PAPER}.lemma-A.1.diagonal",
    place="Lemma A.1, proof of the first identity",
    scope="proof step",
    title="second moment across the filter",
    hypotheses=("$z$ is a standard Gaussian vector", "$e_i \\perp w$"),
    **_ANY_PAIR,
    where=lambda v: v @ v > 0,
    left=_across,
    right=lambda value: value,
    as_printed=Form(
        "$\\langle e_ie_i^\\top, E[zz^\\top\\mathbb 1(z\\cdot w \\ge 0)]\\rangle = 1$ for $i \\ne 1$.",
        value=1.0,
        recipe=PATCH
        + """
across = np.array([-v[1], v[0]]) / norm(v)
left = np.mean((z @ across) ** 2 * (z @ v >= 0))  # sampled
right = 1.0
""",
    ),
    corrected=Form("It is $\\frac12$.", value=0.5),
    correction="Half of the inputs count in every direction. The identity multiplies by $w$, so that nothing depends on it.",
    control=Form("It is $0.505$.", value=0.505),
)


def _moments(v, w_star):
    """The entries 11, 12 and 22 of E[zzᵀ1(z·w ≥ 0, z·w* ≥ 0)], the first direction along w*, the second on w's side."""
    u, weights = directions(v, w_star)
    first = w_star / _norm(w_star)
    rest = v - (v @ first) * first
    second = rest / (_norm(rest) + 1e-150)
    x, y = u @ first, u @ second
    return jnp.stack([weights @ (x * x), weights @ (x * y), weights @ (y * y)]) / jnp.pi


def _printed_moments(v, w_star, factor):
    phi = angle(v, w_star)
    mixed = jnp.sin(phi) * jnp.cos(phi)
    return factor * jnp.stack([jnp.pi - phi + mixed, jnp.sin(phi) ** 2, jnp.pi - phi - mixed]) / (2 * jnp.pi)


POLAR = Claim(
    id=f"{PAPER}.lemma-A.1.polar",
    place="Lemma A.1, proof of the third identity",
    scope="proof step",
    title="three integrals in polar coordinates",
    hypotheses=("$z$ is a standard Gaussian vector", "$0.01 < \\phi < 3.14$"),
    **_ANY_PAIR,
    where=lambda v, w_star: (angle(v, w_star) > 0.01) & (angle(v, w_star) < 3.14),
    left=_moments,
    right=_printed_moments,
    as_printed=Form(
        "The entries are $\\frac1{2\\pi}$ times $\\pi-\\phi+\\sin\\phi\\cos\\phi$, $\\sin^2\\phi$ and $\\pi-\\phi-\\sin\\phi\\cos\\phi$.",
        factor=1.0,
    ),
    control=Form("One per cent more.", factor=1.01),
)

CLAIMS = (EXPANSION, OWN_PART, TEACHER_PART, DIAGONAL, POLAR)
