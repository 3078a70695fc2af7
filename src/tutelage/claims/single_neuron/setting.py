"""Sections 1 and 2: the gradient, the start at the origin, and minibatches."""

import numpy as np

from tutelage.activations import ReLU
from tutelage.claims import Claim, Form, log_uniform, real, uniform, unit
from tutelage.claims.single_neuron.formulas import FINITE, PAPER, applied, dot, finite_law, norm, of_points
from tutelage.inputs import ball, gaussian, sphere, student_t
from tutelage.objectives import population
from tutelage.problems import neuron

_ATOMS = 5


def _soft(z):
    """Softplus, also of complex numbers."""
    return np.log(1 + np.exp(z))


def _losses(w, v, points):
    return 0.5 * np.mean((_soft(applied(points, w)) - _soft(applied(points, v))) ** 2, -1)


def _by_complex_steps(w, v, points):
    """Derivatives of the loss without loss of digits."""
    steps = 1e-30j * np.eye(w.shape[-1])
    return np.stack([_losses(w + step, v, points).imag / 1e-30 for step in steps], -1)


def _expected(w, v, points, slope=1.0):
    student = applied(points, w)
    residual = _soft(student) - _soft(applied(points, v))
    return np.mean((residual / (1 + np.exp(-student)) ** slope)[..., None] * points, -2)


EQUATION_2 = Claim(
    id=f"{PAPER}.equation-2",
    title="gradient of the loss",
    hypotheses="softplus; inputs uniform on five points in dimensions 1 and 3",
    draw=[{"w": real((d,)), "v": unit(d), "points": uniform(-3, 3, (_ATOMS, d))} for d in (1, 3)],
    left=_by_complex_steps,
    relation="==",
    right=_expected,
    scale=1e-3,
    as_printed="$\\nabla F(w) = E[(\\sigma(w\\cdot x) - \\sigma(v\\cdot x))\\,\\sigma'(w\\cdot x)\\,x]$, against complex differences.",
    control=Form("The same with $(\\sigma')^{1.01}$.", slope=1.01),
    arithmetic="exact sums in float64",
)

# Spherical laws, one of them with heavy tails.
LAWS = {
    "gaussian": lambda: gaussian(2),
    "ball": lambda: ball(3),
    "student": lambda: student_t(4, degrees=2.5),
    "sphere": lambda: sphere(5, radius=0.3),
}
SPHERICAL = tuple(LAWS)


def gradients_of(kind, random, size, kink=0.0, count=6):
    """Exact gradients of the library at students of some size, over the second moment of a coordinate."""
    law = LAWS[kind]()
    v = random.normal(size=(count, law.dimension))
    v /= norm(v)[:, None]
    w = size * random.normal(size=v.shape)
    moment = np.trace(np.asarray(law.second_moment())) / law.dimension
    several = [population(neuron(b, ReLU(kink=kink), law)).gradient(a) / moment for a, b in zip(w, v, strict=True)]
    return {"w": w, "v": v, "gradient": np.array(several)}


ORIGIN = Claim(
    id=f"{PAPER}.section-1.1.origin",
    title="the gradient at the origin points along the teacher",
    hypotheses=("ReLU with $\\sigma'(0) = 1$", "Gaussian, ball, $t$ and sphere laws in dimensions 2 to 5"),
    draw=lambda count, random: [gradients_of(kind, random, 0.0, kink=1.0) for kind in SPHERICAL],
    left=lambda gradient: gradient,
    relation="==",
    right=lambda v, factor=0.5: -factor * v,
    as_printed="$\\nabla F(0)$ is proportional to $-v$; it is $-\\frac12E[x_1^2]v$, so that one step reaches the teacher.",
    control=Form("It is $-0.505E[x_1^2]v$.", factor=0.505),
    arithmetic="closed forms of the library",
)


DISCONTINUOUS = Claim(
    id=f"{PAPER}.section-1.1.discontinuous",
    title="close to the origin the gradient is another one",
    hypotheses="ReLU, Gaussian inputs in the plane; 200 students of norm below $10^{-7}$",
    draw=lambda count, random: {
        name: value[None] for name, value in gradients_of("gaussian", random, 1e-8, count=200).items()
    },
    left=lambda v, gradient: np.max(norm(gradient + 0.5 * v), -1),
    relation=">=",
    right=lambda bound=0.49: bound,
    known=0.0,
    as_printed="Near the origin the gradient may differ from $-\\frac12v$, that at the origin, by a fixed amount; judged as 0.49.",
    control=Form("By 0.51; the largest difference is $\\frac12$, opposite to the teacher.", bound=0.51),
    arithmetic="closed forms of the library",
)


def _mean_square(w, v, points, weights, slopes, batch):
    """The mean square of the gradient of a minibatch: its noise is divided by the size."""
    gradient, square = of_points(w, v, points, weights, slopes)
    return dot(gradient, gradient) + (square - dot(gradient, gradient)) / batch


MINIBATCH = Claim(
    id=f"{PAPER}.section-2.minibatch",
    title="the recursion of stochastic descent with minibatches",
    hypotheses="inputs on four points in dimensions 1 and 2, two positive slopes; $c_1 = \\max\\|x\\|^2$; $1 \\le B \\le 32$",
    draw=[{**draw, "batch": log_uniform(1, 32)} for draw in FINITE],
    build=lambda gap, v, points, weights, slopes, batch: {
        **finite_law(gap, v, points, weights, slopes),
        "batch": batch,
    },
    left=_mean_square,
    relation="<=",
    right=lambda w, v, points, slopes, factor=1.0: (
        factor * np.max(dot(points, points), -1) ** 2 * np.max(slopes, -1) ** 4 * dot(w - v, w - v)
    ),
    as_printed="The proofs extend to minibatches: $E\\|g_t\\|^2 \\le c_1^2c_2^4\\|w_t - v\\|^2$, on which they rest, for means of $B$ gradients.",
    control=Form("With 0.98 of that bound.", factor=0.98),
    arithmetic="exact sums in float64",
)
