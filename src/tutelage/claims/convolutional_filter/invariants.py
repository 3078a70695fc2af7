"""Section 4 and Appendix C.1: one step of gradient descent, and what it leaves invariant."""

from typing import Any

import numpy as np

from tutelage.claims import Claim, Form, Relation, fitted_order, log_uniform, uniform, unit
from tutelage.claims.convolutional_filter.formulas import (
    angle,
    dot,
    filter_step,
    g,
    next_signal,
    norm,
    output_step,
    printed_filter_gradient,
    product_size,
    rate,
    signal_bound,
    times,
    total,
)
from tutelage.claims.convolutional_filter.instances import (
    ANYWHERE,
    NO_BOUND,
    PAPER,
    STARTS,
    SUPPLIED_BOUND,
    start,
    started_with_step,
    with_step_of_sums,
)

_UNIT_TEACHERS = [{**draw, "w_star": unit(draw["w_star"].shape[0]), "step": uniform(0.0, 2.0)} for draw in ANYWHERE]
# Steps up to the condition of Lemma 4.4.
_SUMS = [{**draw, "share": uniform(0.0, 1.0)} for draw in _UNIT_TEACHERS]


def _sums(v, a, w_star, a_star, step):
    """The product of the sums after a step."""
    return total(output_step(v, a, w_star, a_star, step)) * total(a_star)


def _turned(v, a, w_star, a_star, step):
    """The angle after a step."""
    return angle(filter_step(v, a, w_star, a_star, step), w_star)


G_BOUNDS = Claim(
    id=f"{PAPER}.section-4.1.g",
    title="range of g",
    hypotheses="$0 \\le \\phi \\le \\pi/2$",
    draw={"phi": uniform(0.0, np.pi / 2)},
    left=lambda phi: np.stack([g(phi), -g(phi)], -1),
    relation=">=",
    right=lambda least=1.0, most=np.pi: np.array([least, -most]),
    as_printed="$1 \\le g(\\phi) \\le \\pi$.",
    control=Form("$1 \\le g(\\phi) \\le 3.14$.", most=3.14),
)


def _predicted_signal(v, a, w_star, a_star, step, own=1.0):
    """Equation (4), its middle term with a share of |a|² in place of |a*|²."""
    square = own * (dot(a, a)) + (1 - own) * (dot(a_star, a_star))
    sums = total(a_star) ** 2 - total(a) * total(a_star)
    pulled = (g(angle(v, w_star)) - 1) * square + sums
    return (1 - step * (np.pi - 1) / (2 * np.pi)) * (dot(a, a_star)) + step * pulled / (2 * np.pi)


EQUATION_4 = Claim(
    id=f"{PAPER}.equation-4",
    title="dynamics of the signal of the second layer",
    hypotheses="$\\|w^*\\| = 1$",
    draw=_UNIT_TEACHERS,
    left=next_signal,
    relation="==",
    right=_predicted_signal,
    scale=product_size,
    as_printed="The middle term is $\\frac{\\eta(g(\\phi^t)-1)}{2\\pi}\\|a^t\\|^2$.",
    as_meant=Form("The middle term is $\\frac{\\eta(g(\\phi^t)-1)}{2\\pi}\\|a^*\\|^2$.", own=0.0),
    supplied="the proof of Lemma C.1, where the equation stands again",
    correction="$\\|a^t\\|^2$ should be $\\|a^*\\|^2$, as in the proof of Lemma C.1.",
    glyph=True,
    control=Form("The middle term has $0.99\\|a^*\\|^2 + 0.01\\|a^t\\|^2$.", own=0.01),
)


def _overshoots(v, a, w_star, a_star, step, most, everywhere):
    """Whether ηλ cos 2φ > c cos φ at an angle below π/4; a step of that kind turns the filter by more than twice φ for c = 2.

    If `everywhere` is one: whether ηλ > c cos φ, at any angle. Where a·a* < 0 the filter turns to −w*: φ is the angle to it, λ is −λ.
    """
    phi = angle(v, times(np.sign(dot(a, a_star)), w_star))
    share = everywhere + (1 - everywhere) * np.cos(2 * phi)
    wide = (everywhere > 0) | (phi < np.pi / 4)
    return wide & (step * np.abs(rate(v, a, w_star, a_star)) * share > most * np.cos(phi))


_STEPS = [{**draw, "step": log_uniform(1e-3, 1e3)} for draw in ANYWHERE]
_ANY_STEP = "no condition on the step where the angle is to change one way"


def _before(v, w_star):
    return angle(v, w_star)


def _one_way(sign, relation, opposite) -> dict[str, Any]:
    """What the two halves of the statement on the angle share: the sign of the signal, the relation, and that beyond the bound."""

    def within(v, a, w_star, a_star, step, most=np.inf, everywhere=0.0):
        return (sign * dot(a, a_star) > 0) & ~_overshoots(v, a, w_star, a_star, step, most, everywhere)

    def beyond(v, a, w_star, a_star, step):
        return (sign * dot(a, a_star) > 0) & _overshoots(v, a, w_star, a_star, step, 2.0, 0.0)

    return {
        "draw": _STEPS,
        "where": within,
        "left": _turned,
        "relation": relation,
        "right": _before,
        "scale": 1.0,
        # And it changes the other way beyond the bound, whatever the form.
        "also": [Relation(_STEPS, _turned, opposite, _before, where=beyond, scale=1.0)],
        "defect": _ANY_STEP,
    }


LEMMA_4_2 = Claim(
    id=f"{PAPER}.lemma-4.2",
    title="the angle never increases",
    hypotheses="$a^t\\cdot a^* > 0$",
    **_one_way(1.0, "<=", ">="),
    as_printed="$\\phi^{t+1} \\le \\phi^t$, with no condition on the step.",
    as_meant=Form("The same for $\\eta \\le \\cos\\phi^t/\\lambda^t$.", most=1.0, everywhere=1.0),
    supplied="the proof of Lemma 4.5, which asks for that step; Theorem 3.1 has small steps",
    corrected=Form(
        "$\\phi^{t+1} \\le \\phi^t$ exactly if $\\phi^t \\ge \\pi/4$ or $\\eta\\lambda^t \\le 2\\cos\\phi^t/\\cos2\\phi^t$, $\\lambda^t$ that of "
        "Lemma 4.5. It suffices that $\\eta\\,\\|w^*\\|\\,(a^t\\cdot a^*)(\\pi-\\phi^t) \\le 4\\pi\\|v^t\\|^2$.",
        most=2.0,
    ),
    correction="A large step overshoots the teacher's direction: the filter turns by $\\arctan(\\eta\\lambda^t\\sin\\phi^t)$, "
    "which must be at most $2\\phi^t$; $\\eta\\lambda^t \\le 2$ suffices.",
    control=Form("The same with $2.02\\cos\\phi^t$.", most=2.02),
)

SECTION_4_1_SIGN = Claim(
    id=f"{PAPER}.section-4.1.sign",
    title="against the teacher the angle never decreases",
    hypotheses="$a^t\\cdot a^* < 0$",
    **_one_way(-1.0, ">=", "<="),
    as_printed="If the inner product is negative, a step increases the angle, whatever the step.",
    as_meant=Form("The same for $\\eta|\\lambda^t| \\le |\\cos\\phi^t|$.", most=1.0, everywhere=1.0),
    supplied="Theorem 3.3, which has “$\\eta$ sufficiently small”, and the step of the proof of Lemma 4.5",
    corrected=Form(
        "$\\phi^{t+1} \\ge \\phi^t$ exactly if $\\phi^t \\le 3\\pi/4$ or $\\eta|\\lambda^t| \\le 2|\\cos\\phi^t|/\\cos2\\phi^t$.",
        most=2.0,
    ),
    correction="As in Lemma 4.2, with $-w^*$ for $w^*$: a large step passes $-w^*$.",
    control=Form("The same with $2.02|\\cos\\phi^t|$.", most=2.02),
)

SECTION_B_SIGN = Claim(
    id=f"{PAPER}.section-B.sign",
    title="the gradient in the filter points away from the teacher",
    hypotheses="$a\\cdot a^* > 0$",
    draw=ANYWHERE,
    where=lambda a, a_star: dot(a, a_star) > 0,
    left=lambda v, a, w_star, a_star, sign=1.0: sign * dot(printed_filter_gradient(v, a, w_star, a_star), w_star),
    relation=">=",
    right=lambda v, a, w_star, a_star, factor=1.0: (
        factor
        * dot(a, a_star)
        * dot(w_star, w_star)
        * np.sin(angle(v, w_star)) ** 2
        / (2 * np.pi * norm(v))
        * (np.pi - angle(v, w_star))
    ),
    scale=lambda v, a, w_star, a_star: dot(a, a_star) * dot(w_star, w_star) / norm(v),
    as_printed="The gradient is $c\\,(I - vv^\\top/\\|v\\|^2)w^*$ with $c > 0$, so that $\\langle\\partial_v\\ell, w^*\\rangle = "
    "\\frac{a\\cdot a^*(\\pi-\\phi)}{2\\pi\\|v\\|}\\|w^*\\|^2\\sin^2\\phi$, which is not negative.",
    as_meant=Form("Minus the gradient is.", sign=-1.0),
    supplied="Theorem 2.2, and the conclusion, that an update makes the angle smaller",
    correction="A sign: Theorem 2.2 has the minus.",
    glyph=True,
    control=Form("It is one per cent more.", sign=-1.0, factor=1.01),
)


def _between_zero_and_square(a, a_star):
    sums = total(a) * total(a_star)
    return (sums >= 0) & (sums <= total(a_star) ** 2)


LEMMA_4_3 = Claim(
    id=f"{PAPER}.lemma-4.3",
    title="the signal of the second layer stays positive",
    hypotheses=(
        "$\\|w^*\\| = 1$",
        "$a^t\\cdot a^* > 0$",
        "$0 \\le (\\mathbf 1\\cdot a^*)(\\mathbf 1\\cdot a^t) \\le (\\mathbf 1\\cdot a^*)^2$",
        "$0 < \\phi^t < \\pi/2$",
        "$\\eta < 2$",
    ),
    draw=STARTS,
    build=lambda phi, a, a_star, boost, share, most=2.0: {
        **start(phi, a, a_star, boost),
        "step": share * most,
    },
    where=lambda v, a, w_star, a_star: (
        (dot(a, a_star) > 0) & _between_zero_and_square(a, a_star) & (angle(v, w_star) < np.pi / 2)
    ),
    left=next_signal,
    relation=">=",
    right=0.0,
    scale=product_size,
    as_printed="$a^{t+1}\\cdot a^* > 0$.",
    control=Form("The same for $\\eta < 3$; the sharp bound is $2\\pi/(\\pi-1) = 2.93$.", most=3.0),
)


def _sums_bounded(v, a, w_star, a_star, step, offset=-np.pi - 1, divisor=2.0):
    k = a.shape[-1]
    sums, square, value = total(a) * total(a_star), total(a_star) ** 2, g(angle(v, w_star))
    return (1 - step * (k + offset) / (2 * np.pi)) * sums + step * (k + value - 1) / divisor * square


SUMMATION_BOUND = Claim(
    id=f"{PAPER}.section-4.1.summation-bound",
    title="bound on the sum of output weights",
    hypotheses=(
        "$\\|w^*\\| = 1$",
        "$|\\mathbf 1\\cdot a^t| \\le |\\mathbf 1\\cdot a^*|$",
        "$\\eta < 2\\pi/(k+\\pi-1)$",
    ),
    draw=STARTS,  # signs may differ from two patches on, and the print is large enough from three
    build=started_with_step,
    left=_sums,
    relation="<=",
    right=_sums_bounded,
    scale=lambda a, a_star: total(a_star) ** 2 + 1e-6 * product_size(a, a_star),
    as_printed="$(\\mathbf 1\\cdot a^{t+1})(\\mathbf 1\\cdot a^*) \\le (1 - \\frac{\\eta(k-\\pi-1)}{2\\pi})(\\mathbf 1\\cdot a^t)"
    "(\\mathbf 1\\cdot a^*) + \\frac{\\eta(k+g(\\phi^t)-1)}2(\\mathbf 1\\cdot a^*)^2$.",
    as_meant=Form(
        "The same with $k + \\pi - 1$ for $k - \\pi - 1$ and $2\\pi$ for $2$; it is then an equality, and judged as one.",
        relation="==",
        offset=np.pi - 1,
        divisor=2 * np.pi,
    ),
    supplied="the recursion that follows it, and the proof of Lemma C.4",
    correction="A sign and a factor $\\pi$. The printed bound fails where $\\mathbf 1\\cdot a^t$ and $\\mathbf 1\\cdot a^*$ have "
    "opposite signs and $k \\le 2$; the recursion that follows it is right.",
    control=Form("With $k + 2.1$ for $k - \\pi - 1$.", relation="==", offset=2.1, divisor=2 * np.pi),
)


def _gap(sums, a_star):
    return total(a_star) ** 2 - sums


SUMMATION_RECURSION = Claim(
    id=f"{PAPER}.section-4.1.summation-recursion",
    title="recursion for the sum of output weights",
    hypotheses="$\\|w^*\\| = 1$",
    draw=_SUMS,
    build=with_step_of_sums,
    left=lambda v, a, w_star, a_star, step: _gap(_sums(v, a, w_star, a_star, step), a_star),
    relation=">=",
    right=lambda a, a_star, step, offset=np.pi - 1: (
        (1 - step * (a.shape[-1] + offset) / (2 * np.pi)) * _gap(total(a) * total(a_star), a_star)
    ),
    scale=product_size,
    as_printed="$(\\mathbf 1\\cdot a^* - \\mathbf 1\\cdot a^{t+1})\\,\\mathbf 1\\cdot a^* \\ge (1 - \\frac{\\eta(k+\\pi-1)}{2\\pi})"
    "(\\mathbf 1\\cdot a^* - \\mathbf 1\\cdot a^t)\\,\\mathbf 1\\cdot a^*$.",
    control=Form("The same with $k + 2.1$ for $k + \\pi - 1$.", offset=2.1),
)

LEMMA_4_4 = Claim(
    id=f"{PAPER}.lemma-4.4",
    title="the sum of output weights stays small",
    hypotheses=("$\\|w^*\\| = 1$", "$\\eta < 2\\pi/(k+\\pi-1)$"),
    draw=_SUMS,
    build=with_step_of_sums,
    where=lambda a, a_star, most=np.inf: total(a) * total(a_star) <= most * total(a_star) ** 2,
    left=_sums,
    relation="<=",
    right=lambda a_star: total(a_star) ** 2,
    scale=lambda a, a_star: total(a_star) ** 2 + 1e-6 * product_size(a, a_star),
    as_printed="If $(\\mathbf 1\\cdot a^*)(\\mathbf 1\\cdot a^*) \\le (\\mathbf 1\\cdot a^*)^2$ (which always holds) then "
    "$(\\mathbf 1\\cdot a^*)(\\mathbf 1\\cdot a^{t+1}) \\le (\\mathbf 1\\cdot a^*)^2$.",
    as_meant=Form(
        "The same under $(\\mathbf 1\\cdot a^*)(\\mathbf 1\\cdot a^t) \\le (\\mathbf 1\\cdot a^*)^2$.", most=1.0
    ),
    supplied="the summary after the lemma, condition (3)",
    correction="The hypothesis is misprinted: one $a^*$ should be $a^t$.",
    glyph=True,
    control=Form(
        "The same under $(\\mathbf 1\\cdot a^*)(\\mathbf 1\\cdot a^t) \\le 1.01(\\mathbf 1\\cdot a^*)^2$.", most=1.01
    ),
)


def _small_step(phi, a, a_star, boost, share, largest=np.inf):
    """A step up to the middle term of Lemma 4.5's minimum, constant one, and 1/k."""
    begun = start(phi, a, a_star, boost, largest)
    most = np.minimum(np.cos(phi) / signal_bound(begun["w_star"], a_star), 1.0 / a.shape[-1])
    return {**begun, "step": share * most}


def _contracted(v, a, w_star, a_star, step, linear=1.0, square=0.0):
    phi, x = angle(v, w_star), step * rate(v, a, w_star, a_star)
    return (1 - linear * x * np.cos(phi) + square * x**2) * np.sin(phi) ** 2


_CONTRACTION = {
    "draw": STARTS,
    "where": lambda v, w_star: angle(v, w_star) < np.pi / 2,
    "left": lambda v, a, w_star, a_star, step: np.sin(_turned(v, a, w_star, a_star, step)) ** 2,
    "relation": "<=",
    "right": _contracted,
    "scale": lambda v, w_star: np.sin(angle(v, w_star)) ** 2 + 1e-12,
}

LEMMA_4_5 = Claim(
    id=f"{PAPER}.lemma-4.5",
    title="contraction of the angle",
    hypotheses=(
        "Theorem 3.1's conditions on the start, $\\|w^*\\| = \\|v\\| = 1$",
        "$\\eta \\le \\min\\{\\cos\\phi^t/((\\|a^*\\|^2+(\\mathbf 1\\cdot a^*)^2)\\|w^*\\|^2), 1/k\\}$, the hidden constant set to one",
    ),
    **_CONTRACTION,
    build=_small_step,
    # Where the factor is sharp: a signal as large as Lemma C.2 allows, close to the teacher's direction.
    corners=[
        {
            "v": np.array([np.cos(1e-3), np.sin(1e-3)]),
            "a": np.array([4.0, 0.0]),
            "w_star": np.array([1.0, 0.0]),
            "a_star": np.array([2.0, -2.0]),
            "step": np.cos(1e-3) / 8,
        }
    ],
    as_printed="$\\sin^2\\phi^{t+1} \\le (1 - \\eta\\cos\\phi^t\\lambda^t)\\sin^2\\phi^t$.",
    as_meant=Form(f"The same if moreover {SUPPLIED_BOUND}", largest=1.0),
    supplied="Lemma C.2, which the proof cites",
    correction="The proof has the bound on the signal from Lemma C.2, whose induction has no base; from $a^0 = 10a^*$ the filter may overshoot.",
    defect=NO_BOUND,
    control=Form("That with $1.52\\eta\\cos\\phi^t\\lambda^t$; the sharp factor is $3/2$.", linear=1.52, largest=1.0),
)

EQUATION_9 = Claim(
    id=f"{PAPER}.equation-9",
    title="contraction of the angle, before choosing the step",
    hypotheses=("$\\phi^t < \\pi/2$", "$\\lambda^t = \\|w^*\\|(\\pi-\\phi^t)\\,a^t\\cdot a^*/(2\\pi\\|v^t\\|^2)$"),
    **_CONTRACTION,
    build=lambda phi, a, a_star, boost, share: {
        **start(phi, a, a_star, boost),
        "step": 50 * share**2,
    },
    as_printed=Form(
        "$\\sin^2\\phi^{t+1} \\le (1 - 2\\eta\\cos\\phi^t\\lambda^t + \\eta^2(\\lambda^t)^2)\\sin^2\\phi^t$, for every step.",
        linear=2.0,
        square=1.0,
    ),
    control=Form("The same with $2.02\\eta\\cos\\phi^t\\lambda^t$.", linear=2.02, square=1.0),
)

_SHARES = np.geomspace(1e-3, 1e-1, 5)


def _dropped(phi, sign):
    """What the first inequality leaves out, at steps with ηλ from 0.001 to 0.1; its sign by the display."""
    sine, cosine = np.sin(phi)[..., None] ** 2, np.cos(phi)[..., None]
    whole = 1 + _SHARES**2 * sine
    exact = np.sin(phi[..., None] - np.arctan(_SHARES * np.sqrt(sine))) ** 2
    return sign * (exact - 1 + (cosine**2 + 2 * _SHARES * sine * cosine) / whole)


DROPPED = Claim(
    id=f"{PAPER}.section-C.1.dropped",
    scope="proof step",
    title="the order of the term that is dropped",
    hypotheses="$0.2 \\le \\phi^t \\le 1.5$, $\\eta\\lambda^t$ from 0.001 to 0.1",
    draw={"phi": uniform(0.2, 1.5)},
    left=lambda phi: fitted_order(_SHARES, _dropped(phi, -1.0)),
    relation=">=",
    right=lambda order=3.9: order,
    note="the fitted power of $\\eta$",
    as_printed=Form(
        "The first inequality drops a negative term proportional to $\\eta^4$ (fitted power at least 3.9).",
        recipe="""
x, s, c = np.geomspace(1e-3, 1e-1, 5), np.sin(phi) ** 2, np.cos(phi)
after = np.sin(phi - np.arctan(x * np.sqrt(s))) ** 2  # the squared sine after a step with ηλ = x
line = 1 - (c**2 + 2 * x * s * c) / (1 + x**2 * s)  # what the display has on its next line
left = np.polyfit(np.log(x), np.log(line - after), 1)[0]
""",
    ),
    as_meant=Form(
        "It is negative and proportional to $\\eta^2$: $-(\\eta\\lambda^t)^2\\sin^4\\phi^t$ to first order.", order=1.98
    ),
    supplied="the display, in which it is the square of a term with $\\eta$",
    correction="One exponent: it is the fourth power of the sine that it has.",
    glyph=True,
    control=Form("Proportional to $\\eta^{2.05}$.", order=2.03),
)

RATE_BOUND = Claim(
    id=f"{PAPER}.section-C.1.rate-bound",
    title="upper bound on the rate",
    hypotheses=("$\\|w^*\\| = 1 \\le \\|v^t\\|$", "$a^t\\cdot a^* \\le \\|a^*\\|^2 + (\\mathbf 1\\cdot a^*)^2$"),
    draw=STARTS,
    build=lambda phi, a, a_star, boost: start(phi, a, a_star, boost, 1.0),
    left=rate,
    relation="<=",
    right=lambda w_star, a_star, fraction=0.25: fraction * signal_bound(w_star, a_star),
    as_printed="$\\lambda^t \\le (\\|a^*\\|^2 + (\\mathbf 1\\cdot a^*)^2)\\|w^*\\|^2/4$.",
    corrected=Form("The same with $1/2$ for $1/4$.", fraction=0.5),
    correction="$\\pi - \\phi \\le \\pi$, not $\\pi/2$: the bound holds with $1/2$, reached as $\\phi \\to 0$.",
    control=Form("The same with $0.49$.", fraction=0.49),
)


def _goal(v, w_star, a_star):
    return (g(angle(v, w_star)) - 1) / (np.pi - 1) * (dot(a_star, a_star))


def _grown(v, a, w_star, a_star, step, factor=1.0):
    goal, signal = _goal(v, w_star, a_star), dot(a, a_star)
    return np.minimum(signal + step * factor * (goal - signal), goal)


LEMMA_C_1 = Claim(
    id=f"{PAPER}.lemma-C.1",
    title="growth of the signal of the second layer",
    hypotheses=("$\\|w^*\\| = 1$", "the conditions of Lemmas 4.3 and 4.4, those on the sums as in Theorem 3.1"),
    draw=STARTS,
    build=started_with_step,
    left=next_signal,
    relation=">=",
    right=_grown,
    scale=product_size,
    as_printed="$a^{t+1}\\cdot a^* \\ge \\min\\{a^t\\cdot a^* + \\eta(\\tfrac{g(\\phi^t)-1}{\\pi-1}\\|a^*\\|^2 - a^t\\cdot a^*), "
    "\\tfrac{g(\\phi^t)-1}{\\pi-1}\\|a^*\\|^2\\}$.",
    corrected=Form("The same with $\\eta\\frac{\\pi-1}{2\\pi}$ for $\\eta$.", factor=(np.pi - 1) / (2 * np.pi)),
    correction="The growth is slower by the factor $(\\pi-1)/(2\\pi) \\approx 0.34$ that the line before it carries.",
    defect="the growth of Lemma C.1 lacks (π−1)/(2π)",
    control=Form("The same with $0.35\\eta$ for $\\eta$.", factor=0.35),
)
