r"""Theorem 4.2 and what follows from it step by step: Remarks 4.3 and 5.4, Theorem 5.3 (1) and (2), Lemma C.1.

The laws are the hardest that Assumption 4.1 allows: uniform in a disc of radius $\alpha$, mixed with a few points anywhere in the
plane (limits of densities), and activations with two slopes. All integrands are products that are not negative, so that the disc
alone bounds $\langle\nabla F(w), w - v\rangle$ from below for every law in any dimension, by $\beta\gamma^2$ times the integral of
ReLU over the disc.
"""

import numpy as np

from tutelage.claims import Claim, Form, Relation, log_uniform, real, uniform
from tutelage.claims.single_neuron.formulas import ACTIVATIONS, PAPER, dot, in_plane, sectors, terms
from tutelage.claims.single_neuron.plane import rule

_LAW = {
    "alpha": log_uniform(0.1, 10),
    "share": log_uniform(1e-3, 1),
    "atoms": real((2, 2)),
    "weights": log_uniform(1 / 400, 1, (2,)),
}
_SLOPES = {"left_slope": uniform(0, 3), "slope": log_uniform(0.4, 2.7)}
# Students within the distance one of the teacher: those with ‖w‖ < 2 cos θ.
NEAR = {"size": log_uniform(1e-6, 2), "theta": uniform(0, np.pi / 2), **_LAW, **_SLOPES}


def near(size, theta):
    r"""Whether $\|w - v\| < 1$."""
    return size < 2 * np.cos(theta)


def of_spread(size, theta, alpha, share, atoms, weights, left_slope=0.0, slope=1.0):
    r"""What the statements are about, for a teacher on the first axis: inner product, moments and constants.

    Returns:
        `inner` $= \langle\nabla F(w), w - v\rangle$, `square` $= \|\nabla F(w)\|^2$, `mean_square` $= E\|g\|^2$, `gap` $= \|w - v\|^2$,
        `spread` $= \alpha^4\beta\gamma^2$, `bound` $= c_1c_2^2$ and `fourth` $= E\|x\|^4c_2^4$, with the student.
    """
    turns, masses = sectors(theta, 12)  # squares of sines and cosines, and their squares: exact to 12 digits
    # The gradient is of degree two in the input, and E r² = α²/2 in a disc.
    circle = np.expand_dims(alpha, (-1, -2)) / np.sqrt(2) * np.stack([np.cos(turns), np.sin(turns)], -1)
    atoms = np.expand_dims(alpha, (-1, -2)) * atoms
    masses = np.expand_dims(share, -1) * masses
    weights = np.expand_dims(1 - share, -1) * weights / np.sum(weights, -1, keepdims=True)
    w, v = in_plane(size, theta), np.array([1.0, 0.0])
    slopes = np.broadcast_to(left_slope, np.shape(size)), np.broadcast_to(slope, np.shape(size))
    of_circle, of_atoms = (terms(w, v + 0 * w, points, *slopes) for points in (circle, atoms))
    gradient = np.sum(masses[..., None] * of_circle, -2) + np.sum(weights[..., None] * of_atoms, -2)
    # Squares are of degree four, and E r⁴ = α⁴/3.
    squares = 4 / 3 * np.sum(masses * dot(of_circle, of_circle), -1) + np.sum(weights * dot(of_atoms, of_atoms), -1)
    steepest = np.maximum(*slopes)
    lengths = dot(atoms, atoms)
    return {
        "size": size,
        "theta": theta,
        "inner": dot(gradient, w - v),
        "square": dot(gradient, gradient),
        "mean_square": squares,
        "gap": dot(w - v, w - v),
        "spread": share * alpha**2 / np.pi * slopes[1] ** 2,
        "bound": np.maximum(alpha**2, np.max(lengths, -1)) * steepest**2,
        "fourth": (share * alpha**4 / 3 + np.sum(weights * lengths**2, -1)) * steepest**4,
    }


def with_number(name):
    """What is built of `NEAR` and one number more, which is kept."""

    def build(instance):
        return {**of_spread(**{key: instance[key] for key in NEAR}), name: instance[name]}

    return build


_FAMILY = (
    "inputs uniform in a disc of radius $\\alpha$, mixed with two points anywhere, as limits of densities; two slopes, "
    "$\\gamma$ the one at positive arguments"
)
_EXACT = "Gauss–Legendre rules over the circle, exact sums"

# Theorem 4.2 ----------------------------------------------------------------------------------------------------------


def _sharp(gap, spread, theta, factor=1.0):
    """Lemma B.1 exactly, in place of its bound."""
    opening = np.pi - theta
    return factor * spread * (opening - np.sin(opening)) / 8 * gap


def _squared(points):
    return np.sum(points**2, -1)


# Plane densities of laws in two to four dimensions, and how far they reach (up to rounding).
PLANE_LAWS = {
    "gaussian(2)": (lambda y: np.exp(-_squared(y) / 2) / (2 * np.pi), 9.0),
    "ball(2, radius=3.0)": (lambda y: np.full(y.shape[:-1], 1 / (9 * np.pi)), 3.0),
    "ball(4)": (lambda y: (1 - _squared(y) / 6) / (3 * np.pi), np.sqrt(6.0)),
    "sphere(4, radius=0.5)": (lambda y: np.full(y.shape[:-1], 4 / np.pi), 0.5),
    "student_t(3, degrees=3.0)": (lambda y: (1 + _squared(y) / 3) ** -2.5 / (2 * np.pi), 40.0),
    "gaussian(2, mean=[0.0, 1.0])": (lambda y: np.exp(-_squared(y - np.array([0.0, 1.0])) / 2) / (2 * np.pi), 10.0),
}
_NAMES = ("relu", "leaky_relu", "linear", "softplus", "tanh", "sigmoid")


def _inner_products(count, random):
    """Exact inner products over laws, activations and students, with the largest α⁴βγ² over a few radii."""
    extra = 2 + count // 100
    sizes = np.concatenate([[1e-3, 1.0, 2.0], random.uniform(0, 2, size=extra)])
    turns = np.concatenate([[0.0, np.pi / 2, np.pi - 0.1], random.uniform(0, np.pi, size=extra)])
    inside = np.linspace(1e-9, 1 - 1e-9, 400)
    around = np.linspace(0, 2 * np.pi, 65)
    batches = []
    for law, (density, reach) in PLANE_LAWS.items():
        radii = reach * np.array([0.1, 0.5, 0.9, 1 - 1e-9]) if reach < 5 else np.array([0.3, 1.0, 1.9, 3.5])
        # These densities fall with the distance to their centre: they are smallest at the edge of a disc.
        densities = np.min(density(in_plane(radii[:, None] * np.ones(65), around)), -1)
        rules = [rule(density, turn, reach) for turn in turns]
        for name in _NAMES:
            value, slope = ACTIVATIONS[name]
            slopes = np.min(slope(2 * radii[:, None] * inside), -1)
            rows = []
            for nodes, turn in zip(rules, turns, strict=True):
                teacher = value(nodes.teacher)
                for size in sizes:
                    if size == 1 and turn == 0:
                        continue
                    z = size * nodes.student
                    # A truncated rule leaves out what is not negative.
                    inner = np.sum(nodes.weights * (value(z) - teacher) * slope(z) * (z - nodes.teacher))
                    rows.append((size, turn, inner, size**2 + 1 - 2 * size * np.cos(turn)))
            about = {"law": law, "activation": name, "spread": np.max(radii**4 * densities * slopes**2)}
            batches.append(
                dict(zip(("size", "theta", "inner", "gap"), np.array(rows).T, strict=True))
                | {key: np.full(len(rows), value) for key, value in about.items()}
            )
    return batches


THEOREM_4_2 = Claim(
    id=f"{PAPER}.theorem-4.2",
    title="the gradient points towards the teacher",
    hypotheses=(
        "Assumption 4.1: "
        + _FAMILY
        + "; besides, five spherical laws and a Gaussian with a mean, in dimensions 2 to 4, with six "
        "activations, three of them smooth, and the largest $\\beta$ and $\\gamma$ for each of four $\\alpha$",
        "$\\|w\\| \\le 2$, $\\theta(w, v) = \\pi - \\delta$, for which the bound is largest; for $w$ along $v$ any plane through both",
    ),
    draw={"size": uniform(1e-3, 2), "theta": uniform(0, np.pi), **_LAW, **_SLOPES},
    build=of_spread,
    left=lambda inner: inner,
    relation=">=",
    right=_sharp,
    known=0.0,
    also=(Relation(draw=_inner_products, left=lambda inner: inner, relation=">=", right=_sharp, known=0.0, runs=True),),
    as_printed="$\\langle\\nabla F(w), w - v\\rangle \\ge \\frac{\\alpha^4\\beta\\gamma^2}{8\\sqrt2}\\sin^3(\\delta/4)\\,\\|w - v\\|^2$. More is true, and judged: the same "
    "with $\\frac18(\\delta - \\sin\\delta)$, at least $4\\pi$ times $\\frac1{8\\sqrt2}\\sin^3(\\delta/4)$ (Lemma B.1), with equality for ReLU in a disc and $w$ along $v$.",
    control=Form("The sharper form with 1.01 times the constant.", factor=1.01),
    arithmetic="Gauss–Legendre rules in the plane",
)

_OF_RELU = {"size": log_uniform(1e-3, 1e3), "theta": uniform(0, np.pi), **_LAW}

STATIONARY = Claim(
    id=f"{PAPER}.remark-4.3.stationary",
    title="no stationary points but the teacher and the origin",
    hypotheses=("ReLU; inputs uniform in a disc, mixed with two points anywhere", "any norm of $w \\ne 0$"),
    draw=_OF_RELU,
    build=of_spread,
    left=lambda inner: inner,
    relation=">=",
    right=_sharp,
    known=0.0,
    as_printed="Off the ray $-av$ the gradient vanishes at $v$ alone: $\\langle\\nabla F(w), w - v\\rangle \\ge \\frac18\\alpha^4\\beta(\\delta - \\sin\\delta)\\|w - v\\|^2$ "
    "with $\\delta = \\pi - \\theta(w, v)$, for students of any norm.",
    control=Form("The same with 1.01 times the constant.", factor=1.01),
    arithmetic=_EXACT,
)


# Theorem 5.3 (1) and (2), Remark 5.4 ----------------------------------------------------------------------------------

_CLOSE = {"where": near, "relation": ">=", "known": 0.0, "arithmetic": _EXACT}


def _rate(gap, spread, factor=1.0):
    """The sharp rate: the least of 2⟨∇F(w), w − v⟩/‖w − v‖² is that at the origin, orthogonally to v."""
    return factor * np.pi / 8 * spread * gap


FLOW = Claim(
    id=f"{PAPER}.theorem-5.3.flow",
    title="convergence of gradient flow",
    hypotheses=("Assumptions 4.1 and 5.2: " + _FAMILY, "$\\|w - v\\|^2 < 1$"),
    draw=NEAR,
    build=of_spread,
    left=lambda inner: 2 * inner,
    right=_rate,
    **_CLOSE,
    as_printed="$\\|w(t) - v\\|^2 \\le \\|w(0) - v\\|^2e^{-\\lambda t}$ with $\\lambda = \\alpha^4\\beta\\gamma^2/210$. More is true, and judged: "
    "$\\frac{d}{dt}\\|w - v\\|^2 \\le -\\frac\\pi8\\alpha^4\\beta\\gamma^2\\|w - v\\|^2$, at 82 times that rate, with equality for ReLU in a disc as $w \\to 0$, $w \\perp v$.",
    control=Form("The sharper form with 1.01 times the rate.", factor=1.01),
)


def _descent(step_bound):
    """The decrease of ‖w − v‖² in one step of at most λ/(2c), over the step; c as given."""

    def decrease(inner, square, spread, share_of_step, bound, fourth):
        step = share_of_step * np.minimum(1, spread / 210) / (2 * step_bound(bound, fourth))
        return 2 * inner - step * square

    return decrease


_STEPS = {"draw": {**NEAR, "share_of_step": uniform(0, 1)}, "build": with_number("share_of_step"), "right": _rate}

DESCENT = Claim(
    id=f"{PAPER}.theorem-5.3.descent",
    title="convergence of gradient descent",
    hypotheses=(
        "Assumptions 4.1 and 5.2: " + _FAMILY,
        "$\\|w_t - v\\|^2 < 1$, $\\eta \\le \\lambda/(2c_1^2c_2^4)$, $\\lambda = \\min\\{1, \\alpha^4\\beta\\gamma^2/210\\}$",
    ),
    **_STEPS,
    left=_descent(lambda bound, fourth: bound**2),
    **_CLOSE,
    as_printed=Form(
        "$\\|w_T - v\\|^2 \\le \\|w_0 - v\\|^2(1 - \\eta\\lambda/2)^T$. More is true, and judged: each step has $\\|w_{t+1} - v\\|^2 \\le "
        "(1 - 0.999\\frac\\pi8\\alpha^4\\beta\\gamma^2\\eta)\\|w_t - v\\|^2$, and so stays within the distance one.",
        factor=0.999,
    ),
    control=Form("The sharper form with 1.01 for 0.999.", factor=1.01),
)

REMARK_5_4 = Claim(
    id=f"{PAPER}.remark-5.4.descent",
    title="gradient descent with unbounded inputs",
    hypotheses=(
        "Assumption 4.1: " + _FAMILY + ", so that rare inputs may be large",
        "$\\|w_t - v\\|^2 < 1$, $\\eta \\le \\lambda/(2E\\|x\\|^4c_2^4)$",
    ),
    **_STEPS,
    left=_descent(lambda bound, fourth: fourth),
    **_CLOSE,
    as_printed=Form(
        "A bounded fourth moment suffices: $\\|w_{t+1} - v\\|^2 \\le (1 - \\eta\\lambda/2)\\|w_t - v\\|^2$, judged with "
        "$0.99\\frac\\pi8\\alpha^4\\beta\\gamma^2$ for $\\lambda/2$. (By the norm of the mean gradient the second moment suffices.)",
        factor=0.99,
    ),
    control=Form("The same with 1.01 for 0.99.", factor=1.01),
)


# Lemma C.1 ------------------------------------------------------------------------------------------------------------

LEMMA_C_1 = Claim(
    id=f"{PAPER}.lemma-C.1",
    title="one stochastic step in expectation",
    hypotheses=(
        "Assumptions 4.1 and 5.2: " + _FAMILY.replace("two points", "one point").replace("limits", "a limit"),
        "$\\|w_t - v\\|^2 < 1$; steps from $10^{-4}$ to 100 over $c_1c_2^2$",
    ),
    # One point is the hardest case for the square of the step.
    draw={**NEAR, "atoms": real((1, 2)), "weights": uniform(1, 2, (1,)), "product": log_uniform(1e-4, 1e2)},
    build=with_number("product"),
    where=near,
    left=lambda inner, mean_square, bound, product: -2 * inner + product / bound * mean_square,
    relation="<=",
    right=lambda gap, spread, bound, product, constant=1.0: (-2 * spread / 210 + product * bound * constant) * gap,
    scale=lambda gap, bound: 1e-6 * gap * bound,
    as_printed="$E\\|w_{t+1} - v\\|^2 \\le (1 - 2\\eta\\lambda + \\eta^2c)\\|w_t - v\\|^2$ with $c = c_1^2c_2^4$; the change, over $\\eta$.",
    control=Form("The same with $c = 0.95c_1^2c_2^4$.", constant=0.95),
    arithmetic=_EXACT,
)
