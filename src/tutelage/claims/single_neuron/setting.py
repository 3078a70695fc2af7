"""Sections 1 and 2: the loss, its gradient, stochastic gradients, and the start at the origin."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tutelage.activations import LeakyReLU, ReLU, Softplus, Tanh
from tutelage.claims.base import Claim, Effort, Form, Outcome, worst_of
from tutelage.claims.pointwise import Family, Pointwise, equal
from tutelage.claims.single_neuron.formulas import PAPER, SPHERICAL, law_named, scale_of, student_and_teacher
from tutelage.claims.single_neuron.plane import rule
from tutelage.inputs import ball, gaussian
from tutelage.objectives import population
from tutelage.problems import neuron

_ATOMS = 5


def _loss_is(factor: float):
    """Compare the library's closed form with the definition, integrated over the plane of student and teacher."""

    def test(effort: Effort, seed: int) -> Outcome:
        random = np.random.default_rng(seed)
        found = []
        cases = (gaussian(2), 10.0, ReLU()), (ball(4), np.sqrt(6.0), LeakyReLU(0.2))
        for law, reach, activation in cases:
            objective = population(neuron(np.eye(law.dimension)[0], activation, law))
            sizes = 10.0 ** random.uniform(-2, 1, size=effort.runs // 10)
            turns = np.pi * np.append(random.uniform(size=len(sizes) - 2), [0.0, 1.0])
            students = np.zeros((len(sizes), law.dimension))
            students[:, 0], students[:, 1] = sizes * np.cos(turns), sizes * np.sin(turns)
            losses = np.asarray(jax.jit(jax.vmap(lambda w, o=objective: o.loss(w)))(jnp.asarray(students)))
            for size, turn, loss in zip(sizes, turns, losses, strict=True):
                nodes = rule(law, size, turn, reach)
                value = factor * nodes.mean(partial(_squared_residual, activation))
                shown = {"law": law.name, "activation": activation.name, "size": size, "turn": turn}
                found.append((1e-9 - abs(value - loss) / (1 + size**2), shown | {"left": loss, "right": value}))
        return worst_of(found)

    return test


def _squared_residual(activation, student, teacher):
    return np.asarray(activation.value(student) - activation.value(teacher)) ** 2


EQUATION_1 = Claim(
    id=f"{PAPER}.equation-1",
    place="Equation (1)",
    title="population loss",
    hypotheses=("ReLU with Gaussian inputs, leaky ReLU with a ball", "$\\|v\\| = 1$"),
    as_printed=Form(
        "$F(w) = E[\\frac12(\\sigma(w\\cdot x) - \\sigma(v\\cdot x))^2]$: the closed form of the library is this integral.",
        _loss_is(0.5),
    ),
    control=Form("The same without the factor one half.", _loss_is(1.0)),
    arithmetic="closed form in float64 against Gauss–Legendre rules in the plane",
)


def _finite_loss(activation, w, v, points):
    return 0.5 * jnp.mean((activation(points @ w) - activation(points @ v)) ** 2)


def _stochastic_gradients(activation, w, v, points):
    """Equation (3) for every atom of a finite law."""
    residual = activation.value(points @ w) - activation.value(points @ v)
    return (residual * activation.derivative(points @ w))[:, None] * points


def _activation(dimension: int):
    """An activation for each dimension, so that several are judged."""
    return {1: LeakyReLU(0.3), 3: Tanh()}[dimension]


def _gradient_is(slope: bool):
    def check(i):
        w, v, points = i["w"], i["v"], i["points"]
        activation = _activation(w.shape[0])
        gradient = jax.grad(lambda u: _finite_loss(activation, u, v, points))(w)
        terms = _stochastic_gradients(activation, w, v, points)
        if not slope:
            terms = (activation.value(points @ w) - activation.value(points @ v))[:, None] * points
        return equal(gradient, jnp.mean(terms, axis=0), jnp.mean(jnp.sum(points**2, axis=1)))

    def build(raw):
        return {**student_and_teacher(raw), "points": raw["points"]}

    return Pointwise(check, [Family({"w": (d,), "v": (d,), "points": (_ATOMS, d)}, build) for d in (1, 3)])


EQUATION_2 = Claim(
    id=f"{PAPER}.equation-2",
    place="Equation (2)",
    title="gradient of the loss",
    hypotheses=("inputs uniform on five points", "leaky ReLU ($d = 1$), tanh ($d = 3$)"),
    as_printed=Form(
        "$\\nabla F(w) = E[(\\sigma(w\\cdot x) - \\sigma(v\\cdot x))\\,\\sigma'(w\\cdot x)\\,x]$.",
        _gradient_is(True),
    ),
    control=Form("The same without $\\sigma'$, the update of the perceptron.", _gradient_is(False)),
    arithmetic="exact sums and automatic differentiation in float64",
)


def _unbiased(kept: int):
    points = np.random.default_rng(5).normal(size=(_ATOMS, 2))

    def check(i):
        w, v = i["w"], i["v"]
        terms = _stochastic_gradients(Softplus(), w, v, jnp.asarray(points))
        gradient = jax.grad(lambda u: _finite_loss(Softplus(), u, v, jnp.asarray(points)))(w)
        return equal(jnp.sum(terms[:kept], axis=0) / _ATOMS, gradient, 1.0)

    return Pointwise(check, [Family({"w": (2,), "v": (2,)}, student_and_teacher)])


EQUATION_3 = Claim(
    id=f"{PAPER}.equation-3",
    place="Equation (3)",
    title="stochastic gradients are unbiased",
    hypotheses=("inputs uniform on five points", "softplus"),
    as_printed=Form(
        "$g_t = (\\sigma(w_t\\cdot x_t) - \\sigma(v\\cdot x_t))\\,\\sigma'(w_t\\cdot x_t)\\,x_t$ has the mean $\\nabla F(w_t)$.",
        _unbiased(_ATOMS),
    ),
    control=Form("The mean without the last point is the same.", _unbiased(_ATOMS - 1)),
    arithmetic="exact sums in float64",
)


def _origin(kinds):
    """Is the gradient at the origin not zero, with nothing across the teacher?"""

    def test(effort: Effort, seed: int) -> Outcome:
        random = np.random.default_rng(seed)
        found = []
        for kind, dimension in kinds:
            for _ in range(2):
                v = random.normal(size=dimension)
                v /= np.linalg.norm(v)
                objective = population(neuron(v, ReLU(kink=1.0), law_named(kind, dimension)))
                gradient = np.asarray(eqx.filter_jit(objective.gradient)(jnp.zeros(dimension)))
                along = -gradient @ v
                off = np.linalg.norm(gradient + along * v) / (abs(along) + 1e-300)
                margin = min(1e-9 - off, along / scale_of(kind, dimension) - 0.1)
                found.append((margin, {"law": kind, "v": v, "gradient": gradient}))
        return worst_of(found)

    return test


ORIGIN = Claim(
    id=f"{PAPER}.section-1.1.origin",
    place="Section 1.1, on the start at the origin",
    title="the gradient at the origin points along the teacher",
    hypotheses=("ReLU with $\\sigma'(0) = 1$", "spherically symmetric inputs with a finite second moment"),
    as_printed=Form(
        "$\\nabla F(0) = -c\\,v$ with $c > 0$.", _origin([(kind, dimension) for dimension, kind in SPHERICAL.items()])
    ),
    control=Form("The same for inputs uniform on the unit vectors of the axes.", _origin([("axes", 2)])),
)

CLAIMS = (EQUATION_1, ORIGIN, EQUATION_2, EQUATION_3)
