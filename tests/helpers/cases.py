"""Small problems of every family, with a student in general position and the student that is the teacher."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

import tutelage as tl
from tutelage.models import FilterAndOutput, WithLinear
from tutelage.problems import Problem


class Case(NamedTuple):
    """A problem, a student in general position, and a student that computes the teacher's function, if there is one."""

    problem: Problem
    point: Any
    solution: Any = None
    kind: str = "closed form"


def normal(seed: int, *shape: int) -> jnp.ndarray:
    """Standard normal numbers that depend on the seed alone."""
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape))


TEACHER = 0.8 * normal(1, 2, 3)
VECTOR = TEACHER[0]


def law(name: str, dimension: int = 3) -> tl.inputs.Inputs:
    """A registered law by name."""
    return tl.inputs.registry()[name](dimension)


def neuron(activation: str, inputs: str, kind: str = "closed form", noise: float = 0.0) -> Case:
    """A single neuron."""
    return Case(tl.problems.neuron(VECTOR, activation, law(inputs), noise), 0.7 * normal(2, 3), VECTOR, kind)


def committee(activation: str, inputs: str, students: int = 3, kind: str = "closed form", noise: float = 0.0) -> Case:
    """A committee with one student more than teachers: the solution has two halves of a teacher, or a zero neuron."""
    problem = tl.problems.committee(TEACHER, students, activation, law(inputs), noise)
    halves = activation in ("relu", "abs")
    solution = jnp.stack([TEACHER[0], 0.3 * TEACHER[1], 0.7 * TEACHER[1]]) if halves and students == 3 else None
    return Case(problem, 0.7 * normal(3, students, 3), TEACHER if students == 2 else solution, kind)


def homogeneous(activation: str, linear: bool = False, signs: Any = None) -> Case:
    """Neurons weighted by their norms."""
    problem = tl.problems.homogeneous(TEACHER, 2, activation, signs=signs, linear=linear)
    weights = 0.8 * normal(4, 2, 3)
    solution = TEACHER / jnp.sqrt(jnp.linalg.norm(TEACHER, axis=1))[:, None]
    if linear:
        return Case(problem, WithLinear(weights, normal(5, 3)), WithLinear(solution, jnp.zeros(3)))
    return Case(problem, weights, solution if signs is None else None)


def convolution(
    normalized: bool, activation: str = "relu", inputs: str = "gaussian", kind: str = "closed form"
) -> Case:
    """One filter and an output layer."""
    output = jnp.array([1.0, -0.4, 0.7, 0.2])
    problem = tl.problems.convolution(VECTOR, output, normalized, activation, law(inputs))
    point = FilterAndOutput(0.9 * normal(6, 3), normal(7, 4))
    solution = FilterAndOutput(VECTOR, output * jnp.linalg.norm(VECTOR) if normalized else output)
    return Case(problem, point, solution, kind)


def wave(sharing: bool, inputs: str = "gaussian") -> Case:
    """The wave over three patches."""
    problem = tl.problems.wave(0.5 * VECTOR, 3, slope=1.3, sharing=sharing, inputs=law(inputs))
    shape = (3,) if sharing else (3, 3)
    return Case(problem, 0.5 * normal(8, *shape), jnp.broadcast_to(0.5 * VECTOR, shape))


def parity(
    sharing: bool, activation: str = "erf", degrees: Any = None, inputs: str = "gaussian", kind: str = "closed form"
) -> Case:
    """Sums of products over three patches."""
    problem = tl.problems.parity(VECTOR, 3, degrees, sharing, activation, law(inputs))
    shape = (3,) if sharing else (3, 3)
    return Case(problem, 0.8 * normal(9, *shape), jnp.broadcast_to(VECTOR, shape), kind)


CASES: dict[str, Callable[[], Case]] = {
    "neuron relu": lambda: neuron("relu", "gaussian", noise=0.3),
    "neuron relu, mean": lambda: neuron("relu", "gaussian_shifted"),
    "neuron sign": lambda: neuron("sign", "gaussian"),
    "neuron gelu, mean and covariance": lambda: neuron("gelu", "gaussian_general", "quadrature"),
    "neuron sine, box": lambda: neuron("sine", "uniform_box_shifted"),
    "neuron tanh, finite": lambda: neuron("tanh", "finite", "exact sum", noise=0.2),
    "committee relu": lambda: committee("relu", "gaussian", noise=0.1),
    "committee relu, covariance": lambda: committee("relu", "gaussian_correlated"),
    "committee abs, ball": lambda: committee("abs", "ball"),
    "committee step, sphere": lambda: committee("step", "sphere", students=2),
    "committee erf": lambda: committee("erf", "gaussian", students=2),
    "committee tanh": lambda: committee("tanh", "gaussian", students=2, kind="quadrature"),
    "homogeneous abs": lambda: homogeneous("abs"),
    "homogeneous abs, signs": lambda: homogeneous("abs", signs=[1, -1]),
    "homogeneous relu, linear": lambda: homogeneous("relu", linear=True),
    "convolution normalized": lambda: convolution(True),
    "convolution plain": lambda: convolution(False),
    "convolution tanh": lambda: convolution(True, "tanh", kind="quadrature"),
    "wave shared": lambda: wave(True),
    "wave separate, box": lambda: wave(False, "uniform_box"),
    "parity erf shared": lambda: parity(True),
    "parity erf separate": lambda: parity(False),
    "parity relu separate": lambda: parity(False, "relu", degrees=(1, 2, 3)),
}


@functools.cache
def case(name: str) -> Case:
    """A case by name, built once."""
    return CASES[name]()


@functools.cache
def objective(name: str) -> tl.objectives.Objective:
    """The population objective of a case, built once."""
    return tl.population(case(name).problem)


class Evaluated(NamedTuple):
    """Losses and gradients at many points, and second derivatives at the first, all flattened."""

    losses: np.ndarray
    gradients: np.ndarray
    hessian: np.ndarray
    products: np.ndarray


def compiled(objective: tl.objectives.Objective, point: Any) -> Callable[[Any, Any], Evaluated]:
    """Everything of an objective in one compiled function of flat points and flat directions."""
    _, unravel = ravel_pytree(point)

    @jax.jit
    def evaluate(points, directions):
        def one(flat):
            return objective.loss(unravel(flat)), ravel_pytree(objective.gradient(unravel(flat)))[0]

        def product(direction):
            return ravel_pytree(objective.hessian_vector(unravel(points[0]), unravel(direction)))[0]

        losses, gradients = jax.lax.map(one, points)
        return Evaluated(losses, gradients, objective.hessian(unravel(points[0])), jax.lax.map(product, directions))

    return lambda points, directions: Evaluated(
        *map(np.asarray, evaluate(jnp.asarray(points), jnp.asarray(directions)))
    )
