"""Appendices C.1 to C.3: single displays and sentences of the proofs of Lemmas 2, 3, 7 and 8 and of Theorem 3."""

import numpy as np

from tutelage.claims import Claim, Form, choice, integers, log_uniform, uniform
from tutelage.claims.weight_sharing.formulas import PAPER, dot, overlap, parity_loss, teacher_norm
from tutelage.claims.weight_sharing.gradients import loss_by_quadrature, overlap_by_quadrature
from tutelage.claims.weight_sharing.unshared import one_not_learned

# The print's displays expand E(p_w − p_u)², twice the loss.
HALF = "a factor $\\frac12$ of the loss"
_SINE = np.sin(np.pi / 32)

OVERLAP = Claim(
    id=f"{PAPER}.section-C.1.overlap",
    title="overlap of the teacher with itself",
    hypotheses="$\\|u_0\\|^2 \\ge \\frac{12}{\\pi^2}k^2$",
    draw={"k": integers(1, 10**5), "stretch": log_uniform(1, 100)},
    build=lambda k, stretch: {"u": (teacher_norm(k) * stretch)[..., None], "k": k},
    # What it lacks to one, without cancellation: 1 − (2/π)arcsin x = (2/π)arccos x.
    left=lambda u: 4 / np.pi * np.arcsin(np.sqrt(0.5 / (1 + 2 * dot(u, u)))),
    relation="<=",
    right=lambda k, share: share / k,
    as_printed=Form(
        "$V(u_0, u_0) > 1 - \\frac1k$. More is true, and judged: it lacks at most $1/(\\sqrt3k)$ to one (the proof needs half of $\\|u_0\\|^2$ only).",
        share=1 / np.sqrt(3),
    ),
    control=Form("$V(u_0, u_0) > 1 - \\frac{0.57}k$.", share=0.57),
)

TAYLOR = Claim(
    id=f"{PAPER}.section-C.1.taylor",
    title="bound on the square of the norm that suffices",
    hypotheses="$f(a) = \\sin\\frac{\\pi(1-a)}2/(1 - \\sin\\frac{\\pi(1-a)}2)$, $0 < a \\le \\frac12$",
    draw={"a": log_uniform(1e-4, 0.5)},
    left=lambda a: np.cos(np.pi * a / 2) / (2 * np.sin(np.pi * a / 4) ** 2),
    relation="<=",
    right=lambda a, constant=2.0: constant / (np.pi * a / 2) ** 2,
    as_printed="$f(a) \\le 3/(\\frac\\pi2a)^2$. More is true, and judged: $2$ for $3$, approached as $a \\to 0$.",
    control=Form("$f(a) \\le 1.98/(\\frac\\pi2a)^2$.", constant=1.98),
)


EXPANSION = Claim(
    id=f"{PAPER}.section-C.2.expansion",
    title="the loss as an expectation",
    hypotheses="$k = 2$, $d = 1$",
    defect=HALF,
    glyph=True,
    draw={"u": uniform(-2, 2), "w": uniform(-2, 2, (2,))},
    left=lambda u, w: parity_loss(w[..., None], u[..., None]),
    relation="==",
    right=lambda u, w, factor=1.0: factor * 2 * loss_by_quadrature(u, w),
    scale=1e-2,
    as_printed="$F^{(1,k)}(w) = E[(p_w - p_{u_0})^2]$.",
    as_meant=Form("$F^{(1,k)}(w) = \\frac12E[(p_w - p_{u_0})^2]$.", factor=0.5),
    supplied="Equation (1), the definition of the loss",
    correction="Equation (1) has a factor $\\frac12$; nothing in Lemma 3 depends on it.",
    control=Form("With $0.505$ for $\\frac12$.", factor=0.505),
)

_PAIR = {"reach": log_uniform(1e-3, 5), "size": log_uniform(1e-3, 5), "cosine": uniform(0.01, 1)}


def _pair(reach, size, cosine):
    zero = 0 * (reach + size + cosine)
    u = np.stack([reach + zero, zero], axis=-1)
    return {"u": u, "w": size[..., None] * np.stack([cosine, np.sqrt(1 - cosine**2)], axis=-1)}


def _product(u, w, own=1.0):
    first, second = 1 + 2 * dot(u, u), 1 + 2 * dot(w, w)
    return 2 / np.pi * np.arcsin(2 * dot(u, w) / np.sqrt(first * first**own * second ** (1 - own)))


REWRITING = Claim(
    id=f"{PAPER}.section-C.3.rewriting",
    title="the overlap written out",
    hypotheses="$u_0\\cdot w_j > 0$",
    glyph=True,
    draw=_PAIR,
    build=_pair,
    where=lambda u, w: 2 * dot(u, w) <= 1 + 2 * dot(u, u),
    left=overlap_by_quadrature,
    relation="==",
    right=_product,
    scale=1e-3,
    arithmetic="trapezoidal quadrature in float64",
    as_printed="$V(w_j, u_0) = \\frac2\\pi\\arcsin\\frac{2u_0\\cdot w_j}{\\sqrt{1+2\\|u_0\\|^2}\\sqrt{1+2\\|u_0\\|^2}}$.",
    as_meant=Form("The second root has $w_j$ for $u_0$.", own=0.0),
    supplied="Lemma 1, and the next line of the display",
    correction="One root of $u_0$ should be that of $w_j$.",
    control=Form("The second root has a power 0.01 of that of $u_0$ besides.", own=0.01),
)

SINE = Claim(
    id=f"{PAPER}.section-C.3.sine",
    title="an inequality for the sine",
    hypotheses="$0 \\le c \\le 1$",
    defect="$c \\le \\sin c$",
    draw={"c": uniform(0, 1)},
    left=lambda c: c,
    relation="<=",
    right=lambda c, factor: factor * np.arcsin(c),
    as_printed=Form("$c \\le \\sin c$.", right=lambda c: np.sin(c)),
    corrected=Form(
        "$\\sin c \\le c \\le \\arcsin c$; judged is the second half, which Lemma 7 would need.", factor=1.0
    ),
    correction="The sine is below its argument. What the proof needs is an upper bound on $\\arcsin c$, which is $c$ at best from below.",
    control=Form("$c \\le 0.99\\arcsin c$.", factor=0.99),
)

SIXTEENTH = Claim(
    id=f"{PAPER}.section-C.3.sixteenth",
    title="overlap of a patch that is not learned",
    hypotheses="$|\\cos(w_j, u_0)| < \\sin\\frac\\pi{32}$, or $\\|w_j\\| \\le \\frac1{\\sqrt2}\\sin\\frac\\pi{32}$",
    draw={"reach": log_uniform(1e-3, 1e4), "size": log_uniform(1e-3, 1e4), "cosine": uniform(-1, 1)},
    build=_pair,
    where=lambda u, w: (
        (np.abs(dot(u, w)) < _SINE * np.sqrt(dot(u, u) * dot(w, w))) | (np.sqrt(dot(w, w)) <= _SINE / np.sqrt(2))
    ),
    left=lambda u, w: np.abs(overlap(u, w)),
    relation="<=",
    right=lambda bound=1 / 16: bound,
    as_printed="$|V(w_j, u_0)| < \\frac1{16}$, by Lemma 7. (It is what the corrected Lemma 7 gives, exactly: $\\frac2\\pi\\arcsin\\sin\\frac\\pi{32}$.)",
    control=Form("It is at most $0.0624$, which is what Lemma 7 prints.", bound=0.0624),
)


def _cross(u, w):
    return np.prod(overlap(u[..., None, :], w), -1)


CHAIN = Claim(
    id=f"{PAPER}.section-C.3.chain",
    title="the chain that gives 1/8",
    hypotheses="as Lemma 8, $\\|u_0\\|^2 = \\frac{12}{\\pi^2}k^2$, $k = 2$, the second patch not learned",
    defect=HALF,
    draw={"stretch": choice((1.0,)), "sizes": log_uniform(1e-4, 10, (2,)), "tilts": uniform(-1, 1, (2,))},
    build=one_not_learned,
    left=lambda u, w: 0.5 * (np.prod(overlap(w, w), -1) - 2 * _cross(u, w) + overlap(u, u) ** 2),
    relation=">=",
    right=lambda u, w, factor=1.0, level=0.25: factor * (level - 2 * _cross(u, w)),
    as_printed="$F^{(k)} = E[(p_w^{(k)} - p_{u_0}^{(k)})^2] \\ge \\frac14 - 2\\prod_lV(w_l, u_0)$.",
    corrected=Form("$F^{(k)} \\ge \\frac12(\\frac12 - 2\\prod_lV(w_l, u_0)) \\ge \\frac3{16}$.", factor=0.5, level=0.5),
    correction="With the factor $\\frac12$ of the loss the chain ends with $\\frac1{16}$. Lemma 8 keeps its $\\frac18$, since Lemma 2 holds with "
    "$\\frac12$ for $\\frac14$.",
    control=Form("With $\\frac12(0.53 - 2\\prod_lV(w_l, u_0))$.", factor=0.5, level=0.53),
)


TURN = Claim(
    id=f"{PAPER}.section-C.3.turn",
    title="how far a short push turns a vector",
    hypotheses=("a push of length at most $\\delta$", "the pushed vector is longer than $r > \\delta$"),
    # In units of r.
    draw={"long": log_uniform(1, 10), "share": uniform(0, 1), "push": log_uniform(1e-3, 0.99)},
    build=lambda long, share, push: {
        # The pushed vector has length `long`; a push of length `push` across the first direction, or less.
        "first": np.stack([np.sqrt(long**2 - (share * push) ** 2), 0 * push], axis=-1),
        "second": np.stack([np.sqrt(long**2 - (share * push) ** 2), share * push], axis=-1),
        "push": push,
    },
    left=lambda second: np.arctan2(second[..., 1], second[..., 0]),
    relation="<=",
    right=lambda push, factor: factor * np.arcsin(push),
    as_printed=Form("The angle changes by less than $\\arctan(\\delta/r)$.", right=lambda push: np.arctan(push)),
    corrected=Form("It changes by at most $\\arcsin(\\delta/r)$.", factor=1.0),
    correction="The length after the step is the hypotenuse, not the side. The bound $\\delta/r$ on the change of the cosine survives up to a "
    "factor that tends to one, and with it the induction.",
    control=Form("It changes by at most $0.99\\arcsin(\\delta/r)$.", factor=0.99),
)
