r"""Common ground of the single-neuron paper's claims: its setting, and the numbers that they are judged against.

Symbols: $w$ the student, $v$ the teacher ($\|v\| = 1$ unless stated otherwise), $\theta$ the angle between them, $F$ the
loss of Equation (1), $\eta$ the step, $d$ the dimension; $\alpha, \beta, \gamma$ the constants of Assumption 4.1 and
$c_1, c_2$ those of Assumption 5.2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

from tutelage.activations import ReLU
from tutelage.claims.angles import angle as angle
from tutelage.inputs import Inputs, ball, finite, gaussian, sphere, student_t
from tutelage.objectives import Objective, population
from tutelage.problems import neuron

PAPER = "single_neuron"

# For recipes: the gradient at a student under standard Gaussian inputs, in NumPy.
SAMPLED_GRADIENT = """
norm = np.linalg.norm
x = np.random.default_rng(0).normal(size=(2_000_000, len(w)))
student = x @ w
gradient = np.mean(((student - np.maximum(x @ v, 0)) * (student > 0))[:, None] * x, axis=0)  # sampled
"""

LAWS: dict[str, Callable[[int], Inputs]] = {
    "gaussian": gaussian,
    "axes": lambda dimension: finite(np.eye(dimension)),
    "ball": ball,
    "sphere": lambda dimension: sphere(dimension, radius=0.3),
    "student": lambda dimension: student_t(dimension, degrees=2.5),
}
# One spherical law for each dimension, so that a family of instances of that dimension is judged under it.
SPHERICAL = {2: "gaussian", 3: "ball", 4: "student", 5: "sphere"}


@lru_cache
def law_named(kind: str, dimension: int) -> Inputs:
    """A law by its name in `LAWS`, one object a dimension."""
    # Made of concrete arrays even when first asked for inside a compiled function.
    with jax.ensure_compile_time_eval():
        return LAWS[kind](dimension)


@lru_cache
def _template(kind: str, dimension: int, kink: float) -> Objective:
    with jax.ensure_compile_time_eval():
        return population(neuron(np.ones(dimension), ReLU(kink=kink), law_named(kind, dimension)))


def exact_gradient(w, v, kind: str = "gaussian", kink: float = 0.0):
    """The exact population gradient of a ReLU neuron for a teacher that may be traced."""
    return _template(kind, v.shape[0], kink).with_target(v).gradient(w)


def stochastic_gradient(w, v, x, left_slope, right_slope):
    """Equation (3) for an activation with two slopes, for one input or for one a row."""

    def slope(z):
        return jnp.where(z > 0, right_slope, left_slope)

    student, teacher = x @ w, x @ v
    residual = slope(student) * student - slope(teacher) * teacher
    return (residual * slope(student))[..., None] * x


def flow_step(gradient: Callable, w, time):
    """One Runge–Kutta step of gradient flow, of order four."""
    first = gradient(w)
    second = gradient(w - time / 2 * first)
    third = gradient(w - time / 2 * second)
    fourth = gradient(w - time * third)
    return w - time / 6 * (first + 2 * second + 2 * third + fourth)


def scale_of(kind: str, dimension: int) -> float:
    """The mean square of a coordinate: the natural scale of gradients."""
    law = law_named(kind, dimension)
    with jax.ensure_compile_time_eval():
        return float(jnp.trace(law.second_moment()) / dimension)


def unit(vector):
    """A vector over its norm."""
    return vector / (jnp.linalg.norm(vector) + 1e-150)


def nonzero(vector):
    """Keep a vector away from zero, smoothly, without changing its direction."""
    return vector * (1 + 1e-3 / (jnp.linalg.norm(vector) + 1e-12))


def student_and_teacher(raw):
    """Any student, and a teacher of norm one."""
    return {"w": nonzero(raw["w"]), "v": unit(raw["v"])}


def sigmoid(t):
    """A number between zero and one."""
    return 1 / (1 + jnp.exp(-t))
