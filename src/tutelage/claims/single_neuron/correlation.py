r"""Section 4 and Appendix B: when the gradient points towards the teacher."""

import numpy as np
from scipy.special import erf, expit, ndtr

from tutelage.claims.laws import log_uniform, real, uniform, unit
from tutelage.claims.single_neuron import estimators
from tutelage.claims.single_neuron.formulas import (
    FINITE,
    PAPER,
    apply,
    dot,
    finite_law,
    in_plane,
    of_points,
    over_circle,
    spherical_gradient,
)
from tutelage.claims.single_neuron.plane import rule
from tutelage.claims.statement import Claim, Form
from tutelage.dynamics import GradientDescent, descend, step_limit
from tutelage.inputs import ball, gaussian, mixture, sphere, student_t
from tutelage.objectives import population
from tutelage.problems import neuron

_CIRCLE = "Gauss–Legendre rule over the angle"

# Assumption 4.1 -------------------------------------------------------------------------------------------------------


def _spread(law, radii, **about):
    """The density floors of a law for several radii, one row per radius."""
    columns = {name: np.full(len(radii), value) for name, value in about.items()}
    return {**columns, "radius": radii, "density": estimators.trade_off(law, "relu", radii).densities}


def _floor(radius, factor):
    return factor * np.exp(-(radius**2) / 2) / (2 * np.pi)


ASSUMPTION_GAUSSIAN = Claim(
    id=f"{PAPER}.assumption-4.1.gaussian",
    place="Section 4, after Assumption 4.1",
    title="standard Gaussian inputs satisfy the assumption in every dimension",
    hypotheses=("standard Gaussian inputs, $d = 2, 3, 10, 100, 1000$", "$\\alpha = 0.1, 1, 3$"),
    scope="remark",
    draw=lambda count, random: [
        _spread(gaussian(d), np.array([0.1, 1.0, 3.0]), dimension=d) for d in (2, 3, 10, 100, 1000)
    ],
    left=lambda density: density,
    relation="==",
    right=_floor,
    as_printed=Form(
        "$\\alpha, \\beta = \\Theta(1)$ regardless of $d$: the largest $\\beta$ for a given $\\alpha$ is $e^{-\\alpha^2/2}/(2\\pi)$.",
        factor=1.0,
    ),
    control=Form("It is 0.999 of that.", factor=0.999),
)

_FAR, _SHARE = (3.0, 30.0), 0.01

ASSUMPTION_MIXING = Claim(
    id=f"{PAPER}.assumption-4.1.mixing",
    place="Section 4, after Assumption 4.1",
    title="mixing with a Gaussian makes the assumption hold",
    hypotheses=(
        "a narrow Gaussian at distance 3 or 30 of the origin, mixed with a standard Gaussian of weight $p = 0.01$",
    ),
    scope="remark",
    draw=lambda count, random: [
        _spread(
            mixture(
                [gaussian(3, mean=[distance, 0.0, 0.0], covariance=1e-2 * np.eye(3)), gaussian(3)],
                weights=[1 - _SHARE, _SHARE],
            ),
            np.array([0.5, 2.0]),
            distance=distance,
        )
        for distance in _FAR
    ],
    left=lambda density: density,
    relation=">=",
    right=lambda radius, factor: _SHARE * _floor(radius, factor),
    known=0.0,
    as_printed=Form("$\\beta \\ge p\\,e^{-\\alpha^2/2}/(2\\pi)$.", factor=1.0),
    control=Form("$\\beta \\ge 1.01p\\,e^{-\\alpha^2/2}/(2\\pi)$.", factor=1.01),
)

_COVERED = ("relu", "leaky_relu", "softplus", "tanh", "sigmoid", "erf")


def _slopes(count, random, names):
    radii = np.geomspace(1e-2, 3.0, 8)
    several = np.array([estimators.trade_off(gaussian(2), name, radii).slopes for name in names])
    return {"radius": np.tile(radii, len(names)), "slope": several.ravel()}


ASSUMPTION_ACTIVATIONS = Claim(
    id=f"{PAPER}.assumption-4.1.activations",
    place="Section 4, after Assumption 4.1",
    title="common activations satisfy the assumption",
    hypotheses=("$\\alpha \\le 3$",),
    scope="remark",
    draw=_slopes,
    left=lambda slope: slope,
    relation=">=",
    right=1e-16,
    known=0.0,
    scale=1e-30,
    as_printed=Form(
        "ReLU, leaky ReLU, softplus and sigmoidal activations do not decrease and have $\\gamma > 0$; judged as $10^{-16}$ "
        "($3\\cdot10^{-16}$ for erf, $2\\cdot10^{-5}$ and more for the others).",
        names=_COVERED,
    ),
    control=Form("So has GELU, which decreases for some negative arguments.", names=(*_COVERED, "gelu")),
)


# Theorem 4.2 ----------------------------------------------------------------------------------------------------------

_LAWS = (
    ("gaussian(2)", lambda: gaussian(2), 9.0),
    ("ball(2, radius=3)", lambda: ball(2, radius=3.0), 3.0),
    ("ball(4)", lambda: ball(4), np.sqrt(6.0)),
    ("sphere(4, radius=0.5)", lambda: sphere(4, radius=0.5), 0.5),
    ("student_t(3, degrees=3)", lambda: student_t(3, degrees=3.0), 40.0),
    ("gaussian(2, mean=(0, 1))", lambda: gaussian(2, mean=[0.0, 1.0]), 10.0),
)
_ACTIVATIONS = ("relu", "leaky_relu", "linear", "softplus", "tanh", "sigmoid")
# Values and slopes of activations, by the library's names.
_VALUES = {
    "relu": lambda z: np.maximum(z, 0),
    "leaky_relu": lambda z: np.where(z > 0, z, 0.01 * z),
    "linear": lambda z: z,
    "softplus": lambda z: np.logaddexp(0, z),
    "tanh": np.tanh,
    "sigmoid": expit,
    "erf": erf,
    "gelu": lambda z: z * ndtr(z),
}
_SLOPES = {
    "relu": lambda z: np.where(z > 0, 1.0, 0.0),
    "leaky_relu": lambda z: np.where(z > 0, 1.0, 0.01),
    "linear": np.ones_like,
    "softplus": expit,
    "tanh": lambda z: 1 - np.tanh(z) ** 2,
    "sigmoid": lambda z: expit(z) * expit(-z),
    "erf": lambda z: 2 / np.sqrt(np.pi) * np.exp(-(z**2)),
    "gelu": lambda z: ndtr(z) + z * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi),
}


def _term(name, student, teacher):
    return (_VALUES[name](student) - _VALUES[name](teacher)) * _SLOPES[name](student) * (student - teacher)


def _inner_products(count, random):
    """Exact inner products over laws, activations and students, with the largest α⁴βγ² over a few radii."""
    extra = 2 + count // 100
    sizes = np.concatenate([[1e-3, 1.0, 2.0], random.uniform(0, 2, size=extra)])
    turns = np.concatenate([[0.0, np.pi / 2, np.pi - 0.1], random.uniform(0, np.pi, size=extra)])
    pairs = [(size, turn) for size in sizes for turn in turns if size != 1 or turn > 0]
    batches = []
    for name, make, reach in _LAWS:
        law = make()
        radii = reach * np.array([0.1, 0.5, 0.9, 1 - 1e-9]) if reach < 5 else np.array([0.3, 1.0, 1.9, 3.5])
        densities = estimators.trade_off(law, "linear", radii).densities
        rules = [rule(law, size, turn, reach) for size, turn in pairs]
        for activation in _ACTIVATIONS:
            slopes = estimators.trade_off(gaussian(2), activation, radii).slopes
            # A truncated rule leaves out what is not negative.
            inner = [nodes.mean(lambda s, t, a=activation: _term(a, s, t)) for nodes in rules]
            batch = {"size": [size for size, _ in pairs], "turn": [turn for _, turn in pairs], "inner": inner}
            batch["rate"] = np.full(len(pairs), np.max(radii**4 * densities * slopes**2))
            about = {"law": np.full(len(pairs), name), "activation": np.full(len(pairs), activation)}
            batches.append({key: np.array(value) for key, value in batch.items()} | about)
    return batches


THEOREM_4_2 = Claim(
    id=f"{PAPER}.theorem-4.2",
    place="Theorem 4.2",
    title="the gradient points towards the teacher",
    hypotheses=(
        "Assumption 4.1 in dimension two or more, with the largest $\\beta$ and $\\gamma$ for each $\\alpha$",
        "$\\|w\\| \\le 2$, $\\theta(w, v) \\le \\pi - \\delta$; five spherical laws and a Gaussian with a mean, six activations",
    ),
    draw=_inner_products,
    runs=True,
    left=lambda inner: inner,
    relation=">=",
    # The angle may be anything up to π − δ, and the bound is largest for the largest δ.
    right=lambda size, turn, rate, factor: (
        factor * rate * np.sin((np.pi - turn) / 4) ** 3 / (8 * np.sqrt(2)) * (size**2 + 1 - 2 * size * np.cos(turn))
    ),
    known=0.0,
    as_printed=Form(
        "$\\langle\\nabla F(w), w - v\\rangle \\ge \\frac{\\alpha^4\\beta\\gamma^2}{8\\sqrt2}\\sin^3(\\delta/4)\\,\\|w - v\\|^2$. (The constant of the proof "
        "can be improved by $4\\pi$: for ReLU in a disc and $w$ along $v$ the left side is $4\\pi$ times the right one.)",
        factor=1.0,
    ),
    control=Form("The same with 13 times the constant.", factor=13.0),
    arithmetic="Gauss–Legendre rules in the plane; densities and slopes by tutelage.claims.single_neuron.estimators",
)


# The proof of Theorem 4.2 ---------------------------------------------------------------------------------------------


def _terms_of(student, teacher, names):
    """The integrand for several activations, on the last axis."""
    return np.stack([_term(name, student, teacher) for name in names], -1)


MONOTONE = Claim(
    id=f"{PAPER}.section-4.monotone",
    place="Section 4, intuition for Theorem 4.2, first note, and Equation (6)",
    title="the integrand is not negative",
    hypotheses=("$\\sigma$ does not decrease; seven activations",),
    draw={"student": real(), "teacher": real()},
    left=_terms_of,
    relation=">=",
    right=0.0,
    scale=1e-9,
    as_printed=Form(
        "$(\\sigma(w\\cdot x) - \\sigma(v\\cdot x))\\,\\sigma'(w\\cdot x)\\,(w\\cdot x - v\\cdot x) \\ge 0$ for every $x$.",
        names=(*_ACTIVATIONS, "erf"),
    ),
    control=Form("The same with GELU, which decreases for some negative arguments.", names=(*_ACTIVATIONS, "gelu")),
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
    place="Section 4, intuition for Theorem 4.2, first note, last sentence, and the sentence after the list",
    title="the integrand where both arguments are positive",
    hypotheses=("Assumption 4.1 (2): softplus, tanh and the logistic function", "$0 < z, z' \\le 3$"),
    kind="condition",
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
    corrected=_WITH_SLOPE,
    correction="For activations other than ReLU the slope enters: a factor $\\gamma^2$, as the theorem has it.",
    control=Form(
        "It is at least $1.02\\gamma^2(z' - z)^2$.", relation=">=", right=_WITH_SLOPE.varied["right"], factor=1.02
    ),
)


def _where_both_positive(w, v, points, weights, slopes):
    """γ²E[(w·x − v·x)²; w·x > 0, v·x > 0], γ the slope at positive arguments."""
    student, teacher = apply(points, w), apply(points, v)
    return slopes[..., 1] ** 2 * np.sum(weights * (student > 0) * (teacher > 0) * (student - teacher) ** 2, -1)


CHAIN = Claim(
    id=f"{PAPER}.section-B.chain",
    place="Appendix B, proof of Theorem 4.2, from Equation (6) to the third display",
    title="lower bound on the correlation with the gradient",
    hypotheses=(
        "inputs on four points with weights, $d = 1, 2$; two positive slopes, $\\gamma$ the one at positive arguments",
    ),
    draw=FINITE,
    build=finite_law,
    left=lambda w, v, points, weights, slopes: dot(of_points(w, v, points, weights, slopes)[0], w - v),
    relation=">=",
    right=lambda w, v, points, weights, slopes, factor: factor * _where_both_positive(w, v, points, weights, slopes),
    scale=lambda w, v, points, weights: 1e-6 * np.sum(weights * dot(points, points), -1) * dot(w - v, w - v),
    as_printed=Form(
        "$\\langle\\nabla F(w), w - v\\rangle \\ge \\gamma^2E[1_{w\\cdot x > 0}1_{v\\cdot x > 0}(w\\cdot x - v\\cdot x)^2]$.",
        factor=1.0,
    ),
    control=Form("The same with $1.01\\gamma^2$.", factor=1.01),
    arithmetic="exact sums in float64",
)


# Remarks 4.3 and 4.4 --------------------------------------------------------------------------------------------------

STATIONARY = Claim(
    id=f"{PAPER}.remark-4.3.stationary",
    place="Remark 4.3",
    title="no stationary points but the teacher and the origin",
    hypotheses=("ReLU, spherical inputs, in units of $E[x_1^2]$", "any norm of $w \\ne 0$"),
    draw={"size": log_uniform(1e-3, 1e3), "theta": uniform(0, np.pi)},
    left=lambda size, theta: dot(spherical_gradient(size, theta), in_plane(size, theta) - np.array([1.0, 0.0])),
    relation=">=",
    # The smallest eigenvalue of E[xxᵀ; w·x > 0, v·x > 0]: Lemma B.1, exactly.
    right=lambda size, theta, factor: (
        factor * (np.pi - theta - np.sin(theta)) / (2 * np.pi) * (size**2 + 1 - 2 * size * np.cos(theta))
    ),
    scale=lambda size: 1e-6 * (1 + size**2),
    as_printed=Form(
        "Off the ray $-av$ the gradient vanishes at $v$ alone: $\\langle\\nabla F(w), w - v\\rangle \\ge "
        "E[x_1^2]\\,\\frac{\\delta - \\sin\\delta}{2\\pi}\\,\\|w - v\\|^2$ with $\\delta = \\pi - \\theta(w, v)$, with equality along $v$.",
        factor=1.0,
    ),
    control=Form("The same with 1.02 times the constant.", factor=1.02),
)


def _on_ray(v, points, a, kink):
    """Arguments of the teacher at several points, of the student −a·v, and ReLU's slope there."""
    teacher = apply(points, v)
    student = -np.expand_dims(a, -1) * teacher
    return teacher, student, np.where(student > 0, 1.0, np.where(student < 0, 0.0, np.expand_dims(kink, -1)))


def _with_inner(gradient, v):
    """A gradient, and its inner product with the teacher."""
    return np.concatenate([gradient, np.expand_dims(dot(gradient, v), -1)], -1)


def _gradient_on_ray(v, points, a, kink):
    teacher, student, slope = _on_ray(v, points, a, kink)
    residual = np.maximum(student, 0) - np.maximum(teacher, 0)
    return _with_inner(np.mean((residual * slope)[..., None] * points, -2), v)


def _formula_on_ray(v, points, a, kink, factor):
    teacher, student, slope = _on_ray(v, points, a, kink)
    inner = -a * np.mean(slope * teacher**2, -1)
    gradient = np.mean((student * slope)[..., None] * points, -2)
    return factor * np.concatenate([gradient, np.expand_dims(inner, -1)], -1)


_OFF_ORIGIN = Form("The same for $a > 0$; at the origin for $\\sigma'(0) = 0$ only.", least=1e-6, factor=1.0)

RAY = Claim(
    id=f"{PAPER}.remark-4.3.ray",
    place="Remark 4.3, both displays",
    title="gradient opposite to the teacher",
    hypotheses=(
        "ReLU with any convention $\\sigma'(0) \\in [0, 1]$, as Section 2 allows",
        "$a \\ge 0$; inputs on four points",
    ),
    kind="condition",
    draw={"v": unit(2), "points": real((4, 2)), "a": uniform(0, 10), "kink": uniform(0, 1)},
    where=lambda a, least: a >= least,
    left=_gradient_on_ray,
    relation="==",
    right=_formula_on_ray,
    scale=1e-3,
    as_printed=Form(
        "$\\sigma(z)\\sigma'(-az) = 0$ for all $a \\ge 0$, so that $\\nabla F(-av) = E[(-av\\cdot x)\\,\\sigma'(-av\\cdot x)\\,x]$ and "
        "$\\nabla F(-av)\\cdot v = -aE[\\sigma'(-av\\cdot x)(v\\cdot x)^2]$.",
        least=0.0,
        factor=1.0,
    ),
    as_meant=_OFF_ORIGIN,
    supplied="Section 5, where the origin may be stationary, and Section 1.1, where it is not with $\\sigma'(0) > 0$",
    corrected=_OFF_ORIGIN,
    correction="At $a = 0$ the product is $\\sigma(z)\\sigma'(0)$, which vanishes only with the convention $\\sigma'(0) = 0$. The "
    "conclusion stands: no other point of the ray is stationary.",
    control=Form("The corrected form with one per cent more on the right.", least=1e-6, factor=1.01),
    arithmetic="exact sums in float64",
)

OPPOSITE = Claim(
    id=f"{PAPER}.remark-4.4.gradient",
    place="Remark 4.4",
    title="gradient opposite to the teacher, Gaussian inputs",
    hypotheses=("ReLU, standard Gaussian inputs", "$w = -cv$ with $c > 0$"),
    draw={"c": log_uniform(1e-3, 1e3)},
    # Along w; a mean of degree two over Gaussian inputs is twice that over the circle.
    left=lambda c: (
        2 * over_circle(np.pi + 0 * c, lambda s, t: (c[..., None] * s - np.maximum(t, 0)) * np.where(s > 0, s, 0.0))
    ),
    relation="==",
    right=lambda c, factor: factor * c,
    as_printed=Form("$\\nabla F(w) = \\frac12w$.", factor=0.5),
    control=Form("It is $0.505w$.", factor=0.505),
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
    place="Remark 4.4",
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


# Appendix B -----------------------------------------------------------------------------------------------------------

_NODES, _MASSES = np.polynomial.legendre.leggauss(40)


def slice_moments(opening):
    r"""Second moments of a slice of the unit disc along and across its axis, by quadrature: $(o \pm \sin o)/8$."""
    turns = opening[..., None] / 2 * _NODES
    weights = opening[..., None] / 2 * _MASSES / 4
    return np.sum(weights * np.cos(turns) ** 2, -1), np.sum(weights * np.sin(turns) ** 2, -1)


def smaller_moment(opening):
    """The smaller of the two."""
    return np.minimum(*slice_moments(opening))


# The angle between a and b is at most π − δ: the slice opens by δ or more.
_SLICES = {"delta": log_uniform(1e-3, np.pi), "share": uniform(0, 1)}


def _slice(delta, share):
    return {"delta": delta, "opening": delta + share * (np.pi - delta)}


LEMMA_B_1 = Claim(
    id=f"{PAPER}.lemma-B.1",
    place="Lemma B.1",
    title="second moment of a slice of a disc",
    hypotheses=(
        "$\\theta(a, b) \\le \\pi - \\delta$, $\\delta \\in (0, \\pi]$, $a, b \\ne 0$; in units of $\\alpha^4$",
    ),
    draw=_SLICES,
    build=_slice,
    left=smaller_moment,
    relation=">=",
    right=lambda delta, factor: factor * np.sin(delta / 4) ** 3 / (8 * np.sqrt(2)),
    scale=1e-15,
    as_printed=Form(
        "$\\inf_{\\|u\\| = 1}\\int_{a\\cdot y > 0,\\,b\\cdot y > 0,\\,\\|y\\| \\le \\alpha}(u\\cdot y)^2dy \\ge "
        "\\frac{\\alpha^4}{8\\sqrt2}\\sin^3(\\delta/4)$. (The infimum is $\\alpha^4(\\delta - \\sin\\delta)/8$, from 12.57 to 15.1 times that.)",
        factor=1.0,
    ),
    control=Form("The same with 12.6 times the right-hand side.", factor=12.6),
    arithmetic=_CIRCLE,
)

INFIMUM = Claim(
    id=f"{PAPER}.section-B.infimum",
    place="Appendix B, proof of Lemma B.1, the infimum over $b$",
    title="the largest angle is the worst",
    hypotheses=("$\\theta(a, b) \\le \\pi - \\delta$; the text has the sign of $\\pi - \\delta$ reversed twice",),
    draw=_SLICES,
    build=_slice,
    left=smaller_moment,
    relation=">=",
    right=lambda delta, factor: factor * smaller_moment(delta),
    scale=1e-15,
    as_printed=Form("The infimum over $b$ is attained at $\\theta(a, b) = \\pi - \\delta$.", factor=1.0),
    control=Form("All values are at least 1.01 times that.", factor=1.01),
    arithmetic=_CIRCLE,
)


def _moment_of_smaller(opening):
    turns = opening[..., None] / 2 * _NODES
    smaller = np.minimum(np.cos(turns) ** 2, np.sin(turns) ** 2)
    return np.sum(opening[..., None] / 2 * _MASSES / 4 * smaller, -1)


EQUATION_5 = Claim(
    id=f"{PAPER}.equation-5",
    place="Equation (5)",
    title="the smaller of two moments",
    hypotheses=("$P$ a slice of the unit disc that is symmetric about the first axis",),
    draw={"opening": log_uniform(1e-3, np.pi)},
    left=smaller_moment,
    relation=">=",
    right=lambda opening, factor: factor * _moment_of_smaller(opening),
    scale=1e-15,
    as_printed=Form(
        "$\\min\\{\\int_Py_1^2, \\int_Py_2^2\\} \\ge \\int_P\\min\\{y_1^2, y_2^2\\}$; there is equality for openings up to $\\pi/2$.",
        factor=1.0,
    ),
    control=Form("The same with 1.01 times the right-hand side.", factor=1.01),
    arithmetic=_CIRCLE,
)


def _corners(delta, high):
    """The angle of the steepest corner over half the opening, and the distance of the farthest one."""
    first, second = np.cos(delta / 4), high * np.sin(delta / 4)
    return np.stack([np.arctan2(second, first / 2) / (delta / 2), np.sqrt(first**2 + second**2)], -1)


RECTANGLES = Claim(
    id=f"{PAPER}.section-B.rectangles",
    place="Appendix B, proof of Lemma B.1 and Figure 2",
    title="the slice contains two rectangles",
    hypotheses=("$0 < \\delta \\le \\pi$",),
    draw={"delta": log_uniform(1e-3, np.pi)},
    left=_corners,
    relation="<=",
    right=1.0,
    as_printed=Form("$P \\supseteq P_1' \\cup P_2'$: corners lie within the opening and the radius.", high=1.0),
    control=Form("The same with rectangles one per cent higher.", high=1.01),
)


def _over_rectangles(delta):
    """The integral of min{y₁², y₂²} over both rectangles, exact along y₂."""
    c, s = np.cos(delta / 4)[..., None], np.sin(delta / 4)[..., None]
    y = 0.75 * c + 0.25 * c * _NODES
    middle = np.clip(y, s / 2, s)
    inner = (middle**3 - (s / 2) ** 3) / 3 + y**2 * (s - middle)
    return 2 * np.sum(0.25 * c * _MASSES * inner, -1)


_BELOW = Form("It is at least that.", relation=">=", factor=1.0)

MINIMUM = Claim(
    id=f"{PAPER}.section-B.minimum",
    place="Appendix B, proof of Lemma B.1, last two displays",
    title="an integral and the minimum of its integrand",
    hypotheses=("$0 < \\delta \\le \\pi$, $\\alpha = 1$",),
    kind="misprint",
    glyph=True,
    draw={"delta": log_uniform(1e-2, np.pi)},
    left=_over_rectangles,
    relation="==",
    right=lambda delta, factor: factor * np.sin(delta / 4) ** 3 * np.cos(delta / 4) / 8,
    scale=1e-12,
    as_printed=Form(
        "$\\int_{P_1'\\cup P_2'}\\min\\{y_1^2, y_2^2\\}dy$ is the minimum of the integrand times the area, $\\frac18\\sin^3\\frac\\delta4\\cos\\frac\\delta4$.",
        factor=1.0,
    ),
    as_meant=_BELOW,
    supplied="the words before it, which ask for a lower bound",
    corrected=_BELOW,
    correction="An equality sign for a lower bound: the integral is from 1.83 to $\\frac73$ times as large.",
    control=Form("It is at least 1.85 times that.", relation=">=", factor=1.85),
    arithmetic="Gauss–Legendre rule",
)

LAST = Claim(
    id=f"{PAPER}.section-B.last",
    place="Appendix B, proof of Lemma B.1, last display",
    title="the last step to the constant",
    hypotheses=("$0 < \\delta \\le \\pi$",),
    draw={"delta": uniform(1e-3, np.pi)},
    left=lambda delta: np.cos(delta / 4),
    relation=">=",
    right=lambda delta, factor: np.maximum(factor / np.sqrt(2), np.sin(delta / 4)),
    as_printed=Form(
        "$\\cos\\frac\\delta4 \\ge \\sin\\frac\\delta4$ and $\\sin^3\\frac\\delta4\\cos\\frac\\delta4 \\ge \\frac1{\\sqrt2}\\sin^3\\frac\\delta4$.",
        factor=1.0,
    ),
    control=Form("The same with $1.01/\\sqrt2$.", factor=1.01),
)

MAIN = (
    ASSUMPTION_GAUSSIAN,
    ASSUMPTION_MIXING,
    ASSUMPTION_ACTIVATIONS,
    THEOREM_4_2,
    MONOTONE,
    LINEAR,
    STATIONARY,
    RAY,
    OPPOSITE,
    DESCENT,
)
APPENDIX = (LEMMA_B_1, INFIMUM, EQUATION_5, RECTANGLES, MINIMUM, LAST, CHAIN)
