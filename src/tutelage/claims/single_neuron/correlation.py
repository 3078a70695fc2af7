"""Section 4: Assumption 4.1, the intuition for Theorem 4.2, and the remarks on students opposite to the teacher."""

import numpy as np

from tutelage.claims import Claim, Form, log_uniform, real, uniform, unit
from tutelage.claims.single_neuron import estimators
from tutelage.claims.single_neuron.formulas import (
    ACTIVATIONS,
    FINITE,
    PAPER,
    applied,
    dot,
    finite_law,
    of_points,
    over_circle,
)
from tutelage.dynamics import GradientDescent, descend, step_limit
from tutelage.inputs import ball, gaussian, mixture
from tutelage.objectives import population
from tutelage.problems import neuron

_CIRCLE = "Gauss–Legendre rule over the angle"

# Assumption 4.1 -------------------------------------------------------------------------------------------------------


def _spread(law, radii, **about):
    """The density floors of a law for several radii, one row per radius."""
    columns = {name: np.full(len(radii), value) for name, value in about.items()}
    return {**columns, "radius": radii, "density": estimators.trade_off(law, "relu", radii).densities}


def _floor(radius, factor=1.0):
    return factor * np.exp(-(radius**2) / 2) / (2 * np.pi)


ASSUMPTION_GAUSSIAN = Claim(
    id=f"{PAPER}.assumption-4.1.gaussian",
    title="standard Gaussian inputs satisfy the assumption in every dimension",
    hypotheses=("standard Gaussian inputs, $d = 2, 3, 10, 100, 1000$", "$\\alpha = 0.1, 1, 3$"),
    scope="remark",
    draw=lambda count, random: [
        _spread(gaussian(d), np.array([0.1, 1.0, 3.0]), dimension=d) for d in (2, 3, 10, 100, 1000)
    ],
    left=lambda density: density,
    relation="==",
    right=_floor,
    as_printed="$\\alpha, \\beta = \\Theta(1)$ regardless of $d$: the largest $\\beta$ for a given $\\alpha$ is $e^{-\\alpha^2/2}/(2\\pi)$.",
    control=Form("It is 0.999 of that.", factor=0.999),
)

_SHARE = 0.01


def _mixed(count, random):
    """Floors of narrow Gaussians far away, mixed with a bit of a standard Gaussian or of a uniform ball."""
    radii = np.array([0.5, 2.0])
    # In three dimensions the shadow of a ball of radius R has the density 3(R² − r²)^½/(2πR³).
    floors = {
        "gaussian": (gaussian(3), _floor(radii, 1.0)),
        "ball": (ball(3, radius=3.0), 3 * np.sqrt(9 - radii**2) / (2 * np.pi * 27)),
    }
    return [
        _spread(
            mixture(
                [gaussian(3, mean=[far, 0.0, 0.0], covariance=1e-2 * np.eye(3)), law], weights=[1 - _SHARE, _SHARE]
            ),
            radii,
            distance=far,
        )
        | {"floor": _SHARE * floor, "mixed_with": np.full(2, name)}
        for far, name in ((3.0, "gaussian"), (30.0, "gaussian"), (3.0, "ball"))
        for law, floor in (floors[name],)
    ]


ASSUMPTION_MIXING = Claim(
    id=f"{PAPER}.assumption-4.1.mixing",
    title="mixing with a Gaussian or a uniform law makes the assumption hold",
    hypotheses="a narrow Gaussian at distance 3 or 30 of the origin, mixed with a standard Gaussian or a ball of radius 3, of weight $p = 0.01$",
    scope="remark",
    draw=_mixed,
    left=lambda density: density,
    relation=">=",
    right=lambda floor, factor=1.0: factor * floor,
    known=0.0,
    as_printed="$\\beta$ is at least $p$ times that of the Gaussian, $e^{-\\alpha^2/2}/(2\\pi)$, or of the ball. (If the other law has atoms there is no density, only a part "
    "with one, which is all that Theorem 4.2 needs.)",
    control=Form("It is 1.01 times that.", factor=1.01),
)

_COVERED = ("relu", "leaky_relu", "softplus", "tanh", "sigmoid", "erf")


def _slopes(z):
    """Slopes of several activations, on the last axis."""
    return np.stack([ACTIVATIONS[name][1](z) for name in _COVERED], -1)


ASSUMPTION_ACTIVATIONS = Claim(
    id=f"{PAPER}.assumption-4.1.activations",
    title="common activations satisfy the assumption",
    hypotheses="$0 < z < 2\\alpha$, $\\alpha \\le 10$; ReLU, leaky ReLU, softplus, tanh, logistic function, erf",
    scope="remark",
    draw={"alpha": log_uniform(1e-2, 10), "share": uniform(1e-6, 1)},
    # As logarithms: the slope of erf at 20 is 10^-174.
    left=lambda alpha, share: np.log(_slopes(2 * alpha * share)),
    relation=">=",
    right=lambda alpha, factor=1.0: np.log(factor * np.minimum(_slopes(2 * alpha), _slopes(1e-9 + 0 * alpha))),
    as_printed="They have slopes with a positive minimum over every bounded interval of positive numbers: it is at one of the ends, $0$ or $2\\alpha$, and "
    "positive there (ReLU 1, softplus $\\frac12$, tanh $\\cosh^{-2}2\\alpha$, erf $\\frac2{\\sqrt\\pi}e^{-4\\alpha^2}$).",
    control=Form("The minimum is 1.01 times as large.", factor=1.01),
)


# The proof of Theorem 4.2 ---------------------------------------------------------------------------------------------


def _term(name, student, teacher):
    value, slope = ACTIVATIONS[name]
    return (value(student) - value(teacher)) * slope(student) * (student - teacher)


def _terms_of(student, teacher, names):
    """The integrand for several activations, on the last axis."""
    return np.stack([_term(name, student, teacher) for name in names], -1)


def _dipping(z, dip):
    """tanh, less a multiple of the identity: it decreases where its slope is smaller than that."""
    return np.tanh(z) - dip * z


def _all_terms(student, teacher, dip=0.0):
    change = (_dipping(student, dip) - _dipping(teacher, dip)) * (ACTIVATIONS["tanh"][1](student) - dip)
    return np.concatenate(
        [_terms_of(student, teacher, (*_COVERED, "linear")), (change * (student - teacher))[..., None]], -1
    )


MONOTONE = Claim(
    id=f"{PAPER}.section-4.monotone",
    title="the integrand is not negative",
    hypotheses="$\\sigma$ does not decrease; seven activations",
    draw={"student": real(), "teacher": real()},
    left=_all_terms,
    relation=">=",
    right=0.0,
    scale=1e-9,
    as_printed="$(\\sigma(w\\cdot x) - \\sigma(v\\cdot x))\\,\\sigma'(w\\cdot x)\\,(w\\cdot x - v\\cdot x) \\ge 0$ for every $x$.",
    control=Form("The same with $\\tanh z - 0.01z$, which decreases for large arguments.", dip=0.01),
)


def _slopes_above(student, teacher):
    """The smallest slope of softplus, tanh and the logistic function between zero and the larger argument."""
    reach = np.maximum(student, teacher)
    return np.stack([0.5 + 0 * reach, 1 - np.tanh(reach) ** 2, 1 / (2 + np.exp(reach) + np.exp(-reach))], -1)


_SMOOTH = ("softplus", "tanh", "sigmoid")
_WITH_SLOPE = Form(
    "It is at least $\\gamma^2(z' - z)^2$, $\\gamma$ the smallest slope there.",
    relation=">=",
    right=lambda student, teacher, factor: (
        factor * _slopes_above(student, teacher) ** 2 * ((student - teacher) ** 2)[..., None]
    ),
    factor=1.0,
)

LINEAR = Claim(
    id=f"{PAPER}.section-4.linear",
    title="the integrand where both arguments are positive",
    hypotheses=("Assumption 4.1 (2): softplus, tanh and the logistic function", "$0 < z, z' \\le 3$"),
    draw={"student": uniform(1e-3, 3), "teacher": uniform(1e-3, 3)},
    left=lambda student, teacher: _terms_of(student, teacher, _SMOOTH),
    relation="==",
    right=lambda student, teacher: ((student - teacher) ** 2)[..., None] * np.ones(3),
    scale=1e-6,
    as_printed=Form(
        "$\\sigma(z) = z$ for the positive $z = w\\cdot x$ and $z' = v\\cdot x$, so that no $\\sigma$ is left in $(\\sigma(z') - \\sigma(z))\\sigma'(z')(z' - z)$.",
        recipe="""
sigma = lambda z: 1 / (1 + np.exp(-z))  # the logistic function
left = (sigma(student) - sigma(teacher)) * sigma(student) * sigma(-student) * (student - teacher)
right = (student - teacher) ** 2
""",
    ),
    as_meant=_WITH_SLOPE,
    supplied="Appendix B, which has $\\gamma^2$ in its place; for ReLU the sentence is right as it stands",
    correction="For activations other than ReLU the slope enters: a factor $\\gamma^2$, as the theorem has it.",
    control=Form(
        "It is at least $1.02\\gamma^2(z' - z)^2$.", relation=">=", right=_WITH_SLOPE.varied["right"], factor=1.02
    ),
)


def _where_both_positive(w, v, points, weights, slopes):
    """γ²E[(w·x − v·x)²; w·x > 0, v·x > 0], γ the slope at positive arguments."""
    student, teacher = applied(points, w), applied(points, v)
    return slopes[..., 1] ** 2 * np.sum(weights * (student > 0) * (teacher > 0) * (student - teacher) ** 2, -1)


CHAIN = Claim(
    id=f"{PAPER}.section-B.chain",
    title="lower bound on the correlation with the gradient",
    hypotheses="inputs on four points with weights, $d = 1, 2$; two positive slopes, $\\gamma$ the one at positive arguments",
    draw=FINITE,
    build=finite_law,
    left=lambda w, v, points, weights, slopes: dot(of_points(w, v, points, weights, slopes)[0], w - v),
    relation=">=",
    right=lambda w, v, points, weights, slopes, factor=1.0: (
        factor * _where_both_positive(w, v, points, weights, slopes)
    ),
    scale=lambda w, v, points, weights: 1e-6 * np.sum(weights * dot(points, points), -1) * dot(w - v, w - v),
    as_printed="$\\langle\\nabla F(w), w - v\\rangle \\ge \\gamma^2E[1_{w\\cdot x > 0}1_{v\\cdot x > 0}(w\\cdot x - v\\cdot x)^2]$.",
    control=Form("The same with $1.01\\gamma^2$.", factor=1.01),
    arithmetic="exact sums in float64",
)


# Remarks 4.3 and 4.4 --------------------------------------------------------------------------------------------------


def _on_ray(v, points, a, kink):
    """Arguments of the teacher at several points, of the student −a·v, and ReLU's slope there."""
    teacher = applied(points, v)
    student = -np.expand_dims(a, -1) * teacher
    return teacher, student, np.where(student > 0, 1.0, np.where(student < 0, 0.0, np.expand_dims(kink, -1)))


def _with_inner(gradient, v):
    """A gradient, and its inner product with the teacher."""
    return np.concatenate([gradient, np.expand_dims(dot(gradient, v), -1)], -1)


def _gradient_on_ray(v, points, a, kink):
    teacher, student, slope = _on_ray(v, points, a, kink)
    residual = np.maximum(student, 0) - np.maximum(teacher, 0)
    return _with_inner(np.mean((residual * slope)[..., None] * points, -2), v)


def _formula_on_ray(v, points, a, kink, factor=1.0):
    teacher, student, slope = _on_ray(v, points, a, kink)
    inner = -a * np.mean(slope * teacher**2, -1)
    gradient = np.mean((student * slope)[..., None] * points, -2)
    return factor * np.concatenate([gradient, np.expand_dims(inner, -1)], -1)


RAY = Claim(
    id=f"{PAPER}.remark-4.3.ray",
    title="gradient opposite to the teacher",
    hypotheses=(
        "ReLU with any convention $\\sigma'(0) \\in [0, 1]$, as Section 2 allows",
        "$a \\ge 0$; inputs on four points",
    ),
    draw={"v": unit(2), "points": real((4, 2)), "a": uniform(0, 10), "kink": uniform(0, 1)},
    where=lambda a, least=0.0: a >= least,
    left=_gradient_on_ray,
    relation="==",
    right=_formula_on_ray,
    scale=1e-3,
    as_printed="$\\sigma(z)\\sigma'(-az) = 0$ for all $a \\ge 0$, so that $\\nabla F(-av) = E[(-av\\cdot x)\\,\\sigma'(-av\\cdot x)\\,x]$ and "
    "$\\nabla F(-av)\\cdot v = -aE[\\sigma'(-av\\cdot x)(v\\cdot x)^2]$.",
    as_meant=Form("The same for $a > 0$; at the origin for $\\sigma'(0) = 0$ only.", least=1e-6),
    supplied="Section 5, where the origin may be stationary, and Section 1.1, where it is not with $\\sigma'(0) > 0$",
    correction="At $a = 0$ the product is $\\sigma(z)\\sigma'(0)$, which vanishes only with the convention $\\sigma'(0) = 0$. The "
    "conclusion stands: no other point of the ray is stationary.",
    control=Form("The corrected form with one per cent more on the right.", least=1e-6, factor=1.01),
    arithmetic="exact sums in float64",
)

OPPOSITE = Claim(
    id=f"{PAPER}.remark-4.4.gradient",
    title="gradient opposite to the teacher, Gaussian inputs",
    hypotheses=("ReLU, standard Gaussian inputs", "$w = -cv$ with $c > 0$"),
    draw={"c": log_uniform(1e-3, 1e3)},
    # Along w; a mean of degree two over Gaussian inputs is twice that over the circle.
    left=lambda c: (
        2 * over_circle(np.pi + 0 * c, lambda s, t: (c[..., None] * s - np.maximum(t, 0)) * np.where(s > 0, s, 0.0))
    ),
    relation="==",
    right=lambda c, factor=0.5: factor * c,
    as_printed="$\\nabla F(w) = \\frac12w$.",
    control=Form("It is $0.505w$.", factor=0.505),
    arithmetic=_CIRCLE,
)


IMPOSSIBLE = Claim(
    id=f"{PAPER}.remark-4.4.impossible",
    title="no bound opposite to the teacher",
    hypotheses=("ReLU, standard Gaussian inputs", "$w = -cv$ with $c > 0$"),
    draw={"c": log_uniform(1e-3, 1e3)},
    left=lambda c: (
        2
        * over_circle(
            np.pi + 0 * c, lambda s, t: (c[..., None] * s - np.maximum(t, 0)) * (s > 0) * (c[..., None] * s - t)
        )
        / (1 + c) ** 2
    ),
    relation="==",
    right=lambda c, factor=0.5: factor * c / (1 + c),
    as_printed="Theorem 4.2 cannot be generalised to $w = -cv$: $\\langle\\nabla F(w), w - v\\rangle = \\frac c{2(1+c)}\\|w - v\\|^2$, so that no constant will do. (For "
    "every $c > 0$ it is positive: the distance falls, and runs end at the origin all the same.)",
    control=Form("It is $\\frac{0.505c}{1+c}\\|w - v\\|^2$.", factor=0.505),
    arithmetic=_CIRCLE,
)


def _opposite_runs(count, random, largest):
    # On the first axis the opposite of the teacher is exactly representable; elsewhere rounding leaves the ray.
    objective = population(neuron(np.array([1.0, 0.0]), "relu", gaussian(2)))
    starts = np.stack([-np.geomspace(0.02, 2.0, 20), np.zeros(20)], -1)
    batches = []
    for step in (0.1, 0.5, 1.0, 1.5, largest):
        # As many steps as the printed gradient needs; beyond them rounding errors are all that is left of the student.
        enough = int(np.ceil(np.log(2e3) / -np.log(abs(1 - step / 2)))) + 1
        ends = np.asarray(descend(objective, starts, GradientDescent(step), step_limit(enough)).points)
        batches.append({"start": starts, "step": np.full(20, step), "end": ends})
    return batches


DESCENT = Claim(
    id=f"{PAPER}.remark-4.4.descent",
    title="gradient descent opposite to the teacher",
    hypotheses=(
        "ReLU, standard Gaussian inputs, $w_0 = -cv$ with $0.02 \\le c \\le 2$, five steps from 0.1 to 1.9",
        "$\\eta < 2$: the remark names no step; larger ones jump over the origin, and descent then goes to $v$",
    ),
    draw=_opposite_runs,
    left=lambda end: np.sqrt(dot(end, end)),
    relation="<=",
    right=1e-3,
    known=lambda start: np.sqrt(dot(start, start)),
    as_printed=Form("Gradient descent converges to the origin; judged as a norm of $10^{-3}$.", largest=1.9),
    control=Form("So it does with $\\eta = 2.1$.", largest=2.1),
    arithmetic="closed forms of the library",
)
