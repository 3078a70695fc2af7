r"""Section C.6 and Figure 4: probabilities of strips, an inequality for Owen's function, and moments on wedges."""

import numpy as np
from scipy.special import erf, owens_t

from tutelage.claims import Claim, Form, log_uniform, uniform
from tutelage.claims.local_convergence import formulas as f
from tutelage.claims.local_convergence.formulas import DENSITY, PAPER, five_point

# Lemma C.2: strips ----------------------------------------------------------------------------------------------------


def _overlap(phi, first, second):
    r"""$P(A)$: $|x_1| \le \delta_1$ and $|x_2| \le (\delta_2 + \delta_1|\cos\phi|)/\sin\phi$ are independent."""
    width = (second + first * np.abs(np.cos(phi))) / np.sin(phi)
    return erf(first / np.sqrt(2)) * erf(width / np.sqrt(2))


def _probabilities(phi, first, second):
    single, both = erf(first / np.sqrt(2)), _overlap(phi, first, second)
    return np.stack([single, -single, both, -both], -1)


def _strip_bounds(phi, first, second, factor=1.0, absolute=0.0):
    cosine = absolute * np.abs(np.cos(phi)) + (1 - absolute) * np.cos(phi)
    single = np.sqrt(2 / np.pi) * first
    both = factor * first * (second + first * cosine) / (np.pi * np.sin(phi))
    exponent = (first**2 + second**2 + 2 * first * second * cosine) / (2 * np.sin(phi) ** 2)
    lower = both * np.exp(-np.minimum(exponent, 700))
    return np.stack([single, -single * np.exp(-(first**2) / 2), both, -lower], -1)


LEMMA_C_2_STRIPS = Claim(
    id=f"{PAPER}.lemma-C.2.strips",
    title="probabilities of strips and of their intersections",
    hypotheses="unit vectors at the angle $\\phi$ with $\\sin\\phi > 0$, $\\delta_1, \\delta_2 > 0$",
    draw={"phi": uniform(1e-3, np.pi - 1e-3), "first": log_uniform(1e-3, 10), "second": log_uniform(1e-3, 10)},
    where=lambda phi, most=np.pi: phi <= most,
    left=_probabilities,
    relation="<=",
    right=_strip_bounds,
    as_printed="$\\sqrt{2/\\pi}\\,\\delta_1e^{-\\delta_1^2/2} \\le P(|\\alpha\\cdot x| \\le \\delta_1) \\le \\sqrt{2/\\pi}\\,\\delta_1$, and $P(A)$ is at most "
    "$\\delta_1(\\delta_2 + \\delta_1\\cos\\phi)/(\\pi\\sin\\phi)$ and at least $e^{-(\\delta_1^2+\\delta_2^2+2\\delta_1\\delta_2\\cos\\phi)/(2\\sin^2\\phi)}$ "
    "times this.",
    as_meant=Form("The same for $\\phi \\le \\frac\\pi2$.", most=np.pi / 2),
    supplied="the first line of the proof, $\\phi \\in (0, \\frac\\pi2]$ without loss of generality",
    corrected=Form(
        "The same with $|\\cos\\phi|$ for $\\cos\\phi$ and both bounds on $P(A)$ twice as large.",
        factor=2.0,
        absolute=1.0,
    ),
    correction="The density of a Gaussian pair is $1/(2\\pi)$, not $1/(4\\pi)$; and for obtuse angles, which a change of sign makes acute, the "
    "bound has $|\\cos\\phi|$ (as printed it may be negative). The constants of Lemma 10 change, its order does not.",
    defect=DENSITY,
    control=Form("The corrected form with a factor 1.98 instead of 2.", factor=1.98, absolute=1.0),
)


OVERLAP = Claim(
    id=f"{PAPER}.section-C.4.1.overlap",
    title="how much of a strip other strips take",
    hypotheses="Assumption 1, $\\delta_1 \\le 1$",
    draw={"separation": log_uniform(1e-3, np.pi / 2), "turn": uniform(0, 1), "first": log_uniform(1e-3, 1)},
    build=lambda separation, turn, first: (
        {"separation": separation, "phi": separation + (np.pi - 2 * separation) * turn, "first": first}
    ),
    left=lambda phi, first: np.stack([_overlap(phi, first, first), -erf(first / np.sqrt(2))], -1),
    relation="<=",
    right=lambda separation, first, factor=1.0: np.stack(
        [
            factor * first**2 * (1 + np.cos(separation)) / (np.pi * np.sin(separation)),
            -np.sqrt(2 / np.pi) * np.exp(-0.5) * first,
        ],
        -1,
    ),
    as_printed="$P(S^*_i(\\delta_1)) \\ge \\sqrt{2/\\pi}e^{-1/2}\\delta_1$ and $P(A^*_i(w^*_j, \\delta_1, \\delta_1)) \\le "
    "\\delta_1^2(1+\\cos\\Delta)/(\\pi\\sin\\Delta)$.",
    corrected=Form("The same with twice the second bound.", factor=2.0),
    correction="By Lemma C.2 with the right density. The constants of Lemma C.1 change, its order does not.",
    defect=DENSITY,
    control=Form("The same with 1.98 times the second bound.", factor=1.98),
)


# Lemma C.3: Owen's function -------------------------------------------------------------------------------------------


def owen_expression(tau, phi):
    r"""$4T(\tau, \cot\phi) - 1 + \frac{2\phi}\pi + \frac\tau{\sqrt{2\pi}}\mathrm{erf}(\tau\cot\phi/\sqrt2)$."""
    cotangent = 1 / np.tan(phi)
    main = 4 * owens_t(tau, cotangent) - 1 + 2 * phi / np.pi
    return main + tau / np.sqrt(2 * np.pi) * erf(tau * cotangent / np.sqrt(2))


_OWEN_RECIPE = """
from math import erf
t = (np.arange(200_000) + 0.5) / 200_000 / np.tan(phi)
owen = np.mean(np.exp(-(tau**2) * (1 + t**2) / 2) / (1 + t**2)) / np.tan(phi) / (2 * np.pi)
left = 4 * owen - 1 + 2 * phi / np.pi + tau / np.sqrt(2 * np.pi) * erf(tau / np.tan(phi) / np.sqrt(2))
"""
_OWEN = {
    "draw": {"tau": log_uniform(0.01, 1.6), "phi": log_uniform(1e-6, np.pi / 4)},
    "where": lambda tau, phi, width, angle: (tau <= width) & (phi <= angle),
    "left": owen_expression,
    "relation": "<=",
    "right": 0.0,
    # Below this size the expression is a difference of numbers of order one.
    "scale": lambda tau: tau**3,
}

LEMMA_C_3_OWEN = Claim(
    id=f"{PAPER}.lemma-C.3.owen",
    title="an inequality for Owen's function",
    hypotheses="$0.01 \\le \\tau \\le c$, $0 \\le \\phi \\le c$ with $c = \\frac12$",
    **_OWEN,
    as_printed=Form(
        "$4T(\\tau, \\cot\\phi) - 1 + \\frac{2\\phi}\\pi + \\frac\\tau{\\sqrt{2\\pi}}\\mathrm{erf}(\\tau\\cot\\phi/\\sqrt2) \\le 0$.",
        width=0.5,
        angle=0.5,
    ),
    control=Form(
        "The same up to $c = 0.53$; for small $\\tau$ the sign changes at $\\phi = \\frac\\pi6$.",
        width=0.53,
        angle=0.53,
    ),
)

OWEN_RANGE = Claim(
    id=f"{PAPER}.section-C.6.owen-range",
    title="for which angles the inequality holds",
    hypotheses="$0.01 \\le \\tau \\le c$, judged with $c = 0.24$, for which the bound before it is negative",
    **_OWEN,
    as_printed=Form(
        "The expression is at most $h(\\tau, \\phi_0) \\le 0$ with $\\phi_0 = \\mathrm{arccot}\\,3$, for all $\\phi \\le \\frac\\pi4$.",
        width=0.24,
        angle=np.pi / 4,
        recipe=_OWEN_RECIPE,
    ),
    as_meant=Form(
        "The same for all $\\phi \\le \\phi_0 = \\mathrm{arccot}\\,3 = 0.32$.", width=0.24, angle=np.arctan(1 / 3)
    ),
    supplied="the lemma, where $\\phi$ is small, and the sentence after $h_1 \\ge 0$: the expression increases with $\\phi$",
    corrected=Form("The expression is negative for all $\\phi \\le 0.52$.", width=0.24, angle=0.52),
    correction="The expression increases with $\\phi$, so that it is at most $h(\\tau, \\phi_0)$ for $\\phi \\le \\phi_0$ only; for small $\\tau$ its sign "
    "changes at $\\phi = \\frac\\pi6 = 0.5236$, and it is positive at $\\frac\\pi4$. The lemma, for small $c$, stands.",
    control=Form("The same for all $\\phi \\le 0.53$.", width=0.24, angle=0.53),
)


def _turn_slope(tau, phi):
    """π times the derivative of the expression in φ, as printed."""
    ratio = (tau / np.sin(phi)) ** 2
    return -2 * np.expm1(-ratio / 2) - ratio * np.exp(-ratio * np.cos(phi) ** 2 / 2)


OWEN_SLOPE = Claim(
    id=f"{PAPER}.section-C.6.owen-slope",
    title="derivative of the expression in the angle",
    hypotheses="$0.01 \\le \\tau \\le 1$, $0.1 \\le \\phi \\le 1.5$",
    draw={"tau": log_uniform(0.01, 1), "phi": uniform(0.1, 1.5)},
    left=lambda tau, phi: five_point(lambda angle: owen_expression(tau, angle), phi),
    relation="==",
    right=lambda tau, phi, factor=1.0: factor * _turn_slope(tau, phi) / np.pi,
    scale=1e-2,
    tolerance=1e-6,
    as_printed="$\\frac{dh}{d\\phi} = \\frac1\\pi(2 - 2e^{-\\tau^2/2\\sin^2\\phi} - \\frac{\\tau^2}{\\sin^2\\phi}e^{-\\tau^2\\cot^2\\phi/2})$.",
    control=Form("One per cent more.", factor=1.01),
    arithmetic="differences of the expression against the printed derivative",
)

OWEN_GROWS = Claim(
    id=f"{PAPER}.section-C.6.owen-grows",
    title="the expression increases with the angle",
    hypotheses="$0.02 \\le \\tau \\le 10$",
    draw={"tau": log_uniform(0.02, 10), "phi": log_uniform(0.01, np.pi / 3)},
    where=lambda phi, most=np.pi / 4: phi <= most,
    left=_turn_slope,
    relation=">=",
    right=0.0,
    scale=lambda tau, phi: np.minimum((tau / np.sin(phi)) ** 4, 1.0),
    as_printed="$h_1(\\tau, \\phi) \\ge 0$ for $\\phi \\le \\frac\\pi4$.",
    control=Form("The same for $\\phi \\le 0.8$; for small $\\tau$ the sign changes at $\\frac\\pi4$.", most=0.8),
)


def _width_slope(tau):
    """The derivative of the expression in τ at φ₀ = arccot 3."""
    core = erf(3 * tau / np.sqrt(2))
    return np.exp(-9 * tau**2 / 2) * 3 * tau / np.pi + core * (0.5 - np.exp(-(tau**2) / 2)) * np.sqrt(2 / np.pi)


OWEN_WIDTH = Claim(
    id=f"{PAPER}.section-C.6.owen-width",
    title="the expression falls with the width at one angle",
    hypotheses="$\\phi_0 = \\mathrm{arccot}\\,3$, $0.01 \\le \\tau \\le 0.24$",
    draw={"tau": log_uniform(0.01, 0.24)},
    left=lambda tau: np.stack(
        [
            _width_slope(tau),
            np.abs(_width_slope(tau) - five_point(lambda t: owen_expression(t, np.arctan(1 / 3)), tau)),
        ],
        -1,
    ),
    relation="<=",
    right=lambda tau, coefficient=1.5: np.stack(
        [(-coefficient * tau**3 + 207 / 8 * tau**5) / np.pi, 1e-7 + 0 * tau], -1
    ),
    scale=lambda tau: tau[..., None] ** 3,
    as_printed="$\\frac{dh(\\tau, \\phi_0)}{d\\tau}$ is the printed expression, and at most $-\\frac3{2\\pi}\\tau^3 + \\frac{207}{8\\pi}\\tau^5 \\le 0$. (To "
    "leading order it is $-\\frac6\\pi\\tau^3$.)",
    control=Form("The same with 6.1 for $\\frac32$.", coefficient=6.1),
)


# Lemmas C.4 and C.5, Figure 4: wedges ---------------------------------------------------------------------------------

_TURNS = (np.arange(1000) + 0.5) * 2 * np.pi / 1000


def _in_wedge(phi):
    """Whether the signs of α·x and β·x differ, on directions of the plane of both."""
    return np.cos(_TURNS) * np.cos(_TURNS - phi[..., None]) < 0


LEMMA_C_4_WEDGE = Claim(
    id=f"{PAPER}.lemma-C.4.wedge",
    title="mass of a wedge in three dimensions",
    hypotheses="$\\angle(\\alpha, \\beta) = \\phi \\in [0, \\pi]$",
    draw={"phi": uniform(0, np.pi)},
    # In the plane of both E‖x‖² = 2, and the third direction adds one, whatever the angle.
    left=lambda phi: 3 * np.mean(_in_wedge(phi), -1),
    relation="==",
    right=lambda phi, constant=3 / np.pi: constant * phi,
    scale=1.0,
    tolerance=4e-3,
    as_printed="$E[\\|x\\|^2\\mathbb 1_{\\mathrm{sgn}(\\alpha\\cdot x) \\ne \\mathrm{sgn}(\\beta\\cdot x)}] = O(\\phi)$; judged as equal to $\\frac3\\pi\\phi$.",
    control=Form("Two per cent more.", constant=3.06 / np.pi),
    arithmetic="means over 1000 directions",
)

FIGURE_4 = Claim(
    id=f"{PAPER}.figure-4",
    title="height of a spike",
    hypotheses="$\\|x\\| = 1$, $0.01 \\le \\delta_j \\le \\pi$",
    draw={"phi": log_uniform(0.01, np.pi)},
    left=lambda phi: np.max(2 * np.abs(np.cos(_TURNS - phi[..., None])) * _in_wedge(phi), -1),
    relation="<=",
    right=lambda phi, constant=2.0: constant * phi,
    as_printed="$\\|w_j\\|w_j\\cdot x(\\mathrm{sgn}(w_j\\cdot x) - \\mathrm{sgn}(w^*_i\\cdot x)) = O(\\|w_j\\|^2\\delta_j)$; judged with the constant 2 (it is at most "
    "$2\\sin\\delta_j$ for acute angles, reached at the edge of the wedge).",
    control=Form("The same with the constant 1.9.", constant=1.9),
    arithmetic="maxima over 1000 directions",
)


def wedge_product(students: np.ndarray, target: np.ndarray) -> np.ndarray:
    r"""$E[|w_j\cdot x||w_k\cdot x|(1-s_js)(1-s_ks)]$ with $s = \mathrm{sgn}(w^*\cdot x)$, from products of three signs.

    Only pairs of signs enter: expanding the product leaves $K(w_j, w_k)$, $\langle w_k, E[|w_j\cdot x|x\,s]\rangle$ twice, and $w_j\cdot w_k$.
    """
    first, second = students[..., 0, :], students[..., 1, :]
    pair = f.kernel(first[..., None, :], second[..., None, :])[..., 0, 0]

    def mixed(a, b):
        turn = f.angle_between(target, a)
        return (1 - 2 / np.pi * turn) * np.sum(a * b, axis=-1) + 2 / np.pi * np.sin(turn) * np.sum(target * b, axis=-1)

    return pair - mixed(first, second) - mixed(second, first) + np.sum(first * second, axis=-1)


def _around(turn, azimuth):
    """Two unit students at angles to the first axis, one of them turned around it."""
    around = np.stack([0 * azimuth, azimuth], -1)
    across = np.stack([np.cos(around), np.sin(around)], -1)
    students = np.concatenate([np.cos(turn)[..., None], np.sin(turn)[..., None] * across], -1)
    return {"students": students, "turn": turn}


LEMMA_C_5 = Claim(
    id=f"{PAPER}.lemma-C.5.pair",
    title="product of two spikes",
    hypotheses="unit vectors in dimension 3 at the angles $\\phi_j, \\phi_k \\in [0.01, \\pi]$ to $w^*$",
    draw={"turn": log_uniform(0.01, np.pi, (2,)), "azimuth": uniform(0, np.pi)},
    build=_around,
    left=lambda students: np.multiply.outer(wedge_product(students, np.eye(3)[0]), np.array([1.0, -1.0])),
    relation="<=",
    right=lambda turn, constant=4 / np.pi: np.stack([constant * turn.prod(-1) * turn.min(-1), 0 * turn[..., 0]], -1),
    scale=lambda turn: (turn.prod(-1) * turn.min(-1))[..., None],
    as_printed=Form(
        "$0 \\le E[w_j\\cdot x\\,w_k\\cdot x\\,(\\mathrm{sgn}(w_j\\cdot x) - s)(\\mathrm{sgn}(w_k\\cdot x) - s)] = O(\\phi_j\\phi_k\\min\\{\\phi_j, \\phi_k\\})$, $s = "
        "\\mathrm{sgn}(w^*\\cdot x)$; judged with the constant $4/\\pi$.",
        slack=1e-8,
    ),
    control=Form(
        "The same with the constant 1.24; $4/\\pi = 1.273$ is approached by very different angles.", constant=1.24
    ),
)
