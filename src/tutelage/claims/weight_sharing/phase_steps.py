"""Appendix C.4: single displays and sentences of the proofs of Theorems 5 to 8."""

import numpy as np
from scipy.special import erf, erfc

from tutelage.claims import Claim, Form, integers, log_uniform, uniform
from tutelage.claims.weight_sharing.formulas import (
    PAPER,
    dot,
    in_plane,
    low_gradient,
    overlap,
    own_factor,
    shared_gradient,
    teacher_norm,
)
from tutelage.claims.weight_sharing.gradients import erf_slope
from tutelage.claims.weight_sharing.shared import RATE
from tutelage.claims.weight_sharing.two_phases import (
    EXACTLY,
    NEAR,
    exactly_near,
    is_far,
    near_the_teacher,
    turning_force,
)

_STUDENTS = {"share": log_uniform(1e-4, 1), "turn": log_uniform(1e-4, np.pi / 2), "k": integers(1, 100)}


def _student(share, turn, k):
    return {**in_plane(share * teacher_norm(k), turn, teacher_norm(k)), "turn": turn, "k": k}


SLOPE = Claim(
    id=f"{PAPER}.section-C.4.slope",
    title="slope of erf at zero",
    hypotheses="$\\sigma = \\operatorname{erf}$",
    draw={"x": log_uniform(1e-6, 1e-3)},
    left=lambda x: (erf(x) - erf(-x)) / (2 * x),
    relation="==",
    right=lambda slope=1.0: slope,
    tolerance=1e-6,
    as_printed="The derivative of erf at 0 is 1.",
    as_meant=Form(
        "$\\sigma(\\sin\\frac\\alpha2) = \\Theta(\\frac\\alpha2)$: the quotient is $2/\\sqrt\\pi$ in the limit.",
        left=lambda x: erf(np.sin(x / 2)) / (x / 2),
        slope=2 / np.sqrt(np.pi),
    ),
    supplied="the next sentence, which uses that the slope is of order one",
    corrected=Form("It is $2/\\sqrt\\pi = 1.128$.", slope=2 / np.sqrt(np.pi)),
    correction="Section 4.1 defines erf with the factor $1/\\sqrt\\pi$ and the interval $[-x, x]$. Only that the slope is of order one is used.",
    control=Form("It is $1.13$.", slope=1.13),
)


def _least_products(u, w, turn):
    """The smallest σ(u·x), σ'(w·x) and x·w⊥ on the set A₂, multiplied; the radius of x is √2/|u| to 2√2/|u|."""
    reach, size = np.sqrt(dot(u, u)), np.sqrt(dot(w, w))
    sine, cosine = np.sin(turn / 2), np.cos(turn / 2)
    return erf(np.sqrt(2) * sine) * erf_slope(2 * np.sqrt(2) * sine * size / reach) * np.sqrt(2) * cosine / reach


MINIMA = Claim(
    id=f"{PAPER}.section-C.4.minima",
    title="the smallest values on a sector",
    hypotheses=(
        "$A_2$: angles within $\\alpha/2$ of $w_\\perp$, $1/\\|u_0\\| \\le r/\\sqrt2 \\le 2/\\|u_0\\|$",
        "$\\|w_0\\| \\le \\|u_0\\|$, $0 < \\alpha \\le \\pi/2$",
    ),
    draw=_STUDENTS,
    build=_student,
    left=_least_products,
    relation=">=",
    right=lambda u, turn, near=1.0, far=2.0, factor=1.0: (
        factor
        * erf(near * np.sin(turn / 2))
        * erf_slope(far * np.sin(turn / 2))
        * near
        * np.cos(turn / 2)
        / np.sqrt(dot(u, u))
    ),
    as_printed="$\\min\\sigma(u_0\\cdot x)\\,\\min\\sigma'(w_0\\cdot x)\\,\\min\\langle x, w_\\perp\\rangle \\ge "
    "\\sigma(\\sin\\frac\\alpha2)\\,\\sigma'(2\\sin\\frac\\alpha2)\\cos\\frac\\alpha2/\\|u_0\\|$.",
    corrected=Form(
        "It is at least $\\sigma(\\sqrt2\\sin\\frac\\alpha2)\\,\\sigma'(2\\sqrt2\\sin\\frac\\alpha2)\\sqrt2\\cos\\frac\\alpha2/\\|u_0\\|$, with equality for "
        "$\\|w_0\\| = \\|u_0\\|$.",
        near=np.sqrt(2),
        far=2 * np.sqrt(2),
    ),
    correction="Radii go from $\\sqrt2/\\|u_0\\|$ to $2\\sqrt2/\\|u_0\\|$, not from $1/\\|u_0\\|$ to $2/\\|u_0\\|$. The printed product is too large for $\\alpha$ above "
    "$0.9$; with $\\sqrt2$ restored the bound on the force changes by a constant.",
    control=Form("It is $1.01$ times that.", near=np.sqrt(2), far=2 * np.sqrt(2), factor=1.01),
)


def _fallen(u, w, k, step):
    """By how much the angle falls in a step."""
    moved = w - step[..., None] * shared_gradient(w, u, k)
    return np.arctan2(w[..., 0], w[..., 1]) - np.arctan2(np.abs(moved[..., 0]), moved[..., 1])


DECREASE = Claim(
    id=f"{PAPER}.section-C.4.decrease",
    title="by how much the angle falls in a step",
    hypotheses=("as Theorem 5, $f$ as the proof defines it", "$k \\le 100$", "steps $10^{-3} \\le \\eta \\le 1$"),
    defect="the size of the step is missing",
    draw={**_STUDENTS, "step": log_uniform(1e-3, 1)},
    build=lambda share, turn, k, step, shortest=0.0: {
        **_student(share, turn, k),
        "step": np.maximum(step, shortest),
    },
    left=_fallen,
    relation=">=",
    right=lambda u, turn, step, power=0.0, factor=1.0: np.arctan(
        factor * step**power * turning_force(u, turn) / np.sqrt(dot(u, u))
    ),
    as_printed="$\\alpha^{(t)} - \\alpha^{(t+1)} \\ge \\arctan(f(\\alpha^{(t)}, \\|u_0\\|)/\\|u_0\\|)$, whatever the constant step.",
    as_meant=Form("The same for the step 1.", shortest=1.0),
    supplied="the proof, which adds the gradient itself to $w_0$",
    corrected=Form(
        "The same with $\\eta f$ for $f$, for steps $\\eta \\le 1$; even with $125\\eta f$.", power=1.0, factor=125.0
    ),
    correction="A step of size $\\eta$ turns $w_0$ by $\\eta$ times as much. Theorem 5's number of iterations has the factor $1/\\eta$, which "
    "matters where Theorem 8 takes $\\eta$ of order $\\epsilon^2/k^5$; the total stays polynomial.",
    control=Form("The corrected form with $140\\eta f$.", shortest=0.0, power=1.0, factor=140.0),
)

EVENT = Claim(
    id=f"{PAPER}.section-C.4.event",
    title="how likely all three products are small",
    hypotheses=("$w_0$ on the segment from 0 to $u_0$, where $A_s = \\{|u_0\\cdot x| < s\\}$", "$2 \\le k \\le 10^5$"),
    defect=RATE,
    draw={"k": integers(2, 10**5)},
    left=lambda k, s=1e3, power=0.0: np.sqrt(3 * erfc(s * teacher_norm(k) ** (power - 1) / np.sqrt(2))),
    relation="<=",
    right=lambda k: 1 - 1 / k,
    as_printed="$(3\\Pr(A_s^c))^{1/2} < 1 - \\frac1k$ for some $s = \\Theta(1)$; judged with $s = 1000$, and every fixed $s$ fails for large $k$.",
    corrected=Form("It is so for $s = 1.732\\|u_0\\|$, of order $k$.", s=1.732, power=1.0),
    correction="$\\Pr(A_s)$ is of order $s/k$, and has to be above $\\frac23$. With $s$ of order $k$ the proof's constant $L^2(s) = "
    "\\frac4\\pi e^{-2s^2}$ is exponentially small in $k^2$; the truth is $k^{-3}$ (see Theorem 6).",
    control=Form("It is so for $s = 1.73\\|u_0\\|$.", s=1.73, power=1.0),
)

LOWER = Claim(
    id=f"{PAPER}.section-C.4.lower",
    title="the gradient from below by an event",
    hypotheses=(
        "$w_0$ on the segment from 0 to $u_0$, where $A_s = \\{|u_0\\cdot x| < s\\}$",
        "$0.01 \\le \\|u_0\\| \\le 3$, $1.75\\|u_0\\| \\le s \\le 6\\|u_0\\|$, so that the bound is positive",
    ),
    draw={"share": uniform(0, 0.999), "reach": log_uniform(1e-2, 3), "ratio": uniform(1.75, 6)},
    build=lambda share, reach, ratio: {**in_plane(share * reach, 0 * reach, reach), "ratio": ratio, "s": ratio * reach},
    left=lambda u, w: dot(w - u, low_gradient(w, u)) / dot(w - u, w - u),
    relation=">=",
    right=lambda s, ratio, factor=1.0: factor * erf_slope(s) ** 2 * (1 - np.sqrt(3 * erfc(ratio / np.sqrt(2)))),
    as_printed="$\\langle w_0 - u_0, \\nabla F^{(1)}\\rangle \\ge L^2(s)(1 - (3\\Pr(A_s^c))^{1/2})\\|w_0 - u_0\\|^2$ for every $s$, with $L = \\sigma'$.",
    control=Form("The same with one per cent more.", factor=1.01),
)

SHORT = Claim(
    id=f"{PAPER}.lemma-13.short",
    scope="proof step",
    title="a student far from the teacher is short",
    hypotheses="$\\alpha < \\arctan\\frac\\epsilon{2\\|u_0\\|}$, $\\|w_0\\| \\le \\|u_0\\|$ (Section 4.6), $\\|u_0 - w_0\\| \\ge \\epsilon$",
    draw=NEAR,
    build=near_the_teacher,
    where=is_far,
    left=lambda u, w: np.sqrt(dot(u, u)) - np.sqrt(dot(w, w)),
    relation=">=",
    right=lambda epsilon, share: share * epsilon,
    scale=lambda epsilon: 1e-3 * epsilon,
    as_printed=Form(
        "$\\|w_0\\| < \\|u_0\\| - \\frac\\epsilon2$. More is true, and judged: $\\frac{\\sqrt3}2\\epsilon$ for $\\frac\\epsilon2$.",
        share=np.sqrt(3) / 2,
    ),
    control=Form("$\\|w_0\\| < \\|u_0\\| - 0.9\\epsilon$.", share=0.9),
)

SPLIT = Claim(
    id=f"{PAPER}.section-C.4.split",
    title="the gradient split",
    hypotheses="$\\sigma = \\operatorname{erf}$, shared weights",
    draw=_STUDENTS,
    build=_student,
    left=shared_gradient,
    relation="==",
    right=lambda u, w, k, factor=1.0: (
        (factor * k * own_factor(w) * (overlap(w, w) ** (k - 1) - overlap(u, w) ** (k - 1)))[..., None] * w
        + (1 + k * overlap(u, w) ** (k - 1))[..., None] * low_gradient(w, u)
    ),
    scale=1e-3,
    as_printed="$\\nabla F^{(1,k)} = kc_1(w_0)(V(w_0, w_0)^{k-1} - V(u_0, w_0)^{k-1})w_0 + (1 + kV(u_0, w_0)^{k-1})\\nabla F^{(1)}$.",
    control=Form("The first term one per cent larger.", factor=1.01),
)

REARRANGED = Claim(
    id=f"{PAPER}.section-C.4.1.rearranged",
    title="what is left to show, rearranged",
    hypotheses="as Lemma 13, with the angle of its corrected form, $k \\le 200$",
    draw=EXACTLY,
    build=exactly_near,
    where=is_far,
    left=lambda u, w, power=0.0: np.sqrt(dot(w, w) / (1 + 2 * dot(w, w)) * (1 + 2 * dot(u, u)) / dot(u, u) ** power),
    relation="<=",
    right=lambda angle: np.cos(angle),
    as_printed="$\\frac{\\|w_0\\|\\sqrt{1+2\\|u_0\\|^2}}{\\sqrt{1+2\\|w_0\\|^2}} \\le \\cos\\alpha$, “which we have from Lemma 13”.",
    as_meant=Form(
        "$\\frac{\\|w_0\\|\\sqrt{1+2\\|u_0\\|^2}}{\\sqrt{1+2\\|w_0\\|^2}\\|u_0\\|} \\le \\cos\\alpha$.", power=1.0
    ),
    supplied="the line that it rearranges, and Lemma 13",
    correction="The norm of $u_0$ is lost on the way; without it the left-hand side is about $\\|u_0\\|$ close to the teacher.",
    glyph=True,
    control=Form("That with the power $0.999$ of $\\|u_0\\|$.", power=0.999),
)

LARGEST = Claim(
    id=f"{PAPER}.section-C.4.2.largest",
    title="size of the gradient",
    hypotheses="$\\|w_0\\| \\le \\|u_0\\| = \\sqrt{12}k/\\pi$, $w_0\\cdot u_0 > 0$",
    draw={**_STUDENTS, "k": integers(1, 10**4)},
    build=_student,
    left=lambda u, w, k: np.linalg.norm(shared_gradient(w, u, k), axis=-1),
    relation="<=",
    right=lambda k, others, first=1.53: np.where(k > 1, others, first),
    as_printed=Form(
        "$\\|\\nabla F^{(1,k)}\\| \\le O(k^2)$. More is true, and judged: it is below $2\\sqrt2/\\pi = 0.9003$ for all $k \\ge 2$, and below $1.53$ for $k = 1$.",
        others=2 * np.sqrt(2) / np.pi,
    ),
    control=Form("It is below $1.51$ and $0.89$.", first=1.51, others=0.89),
)
