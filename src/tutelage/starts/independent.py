"""Starts whose coordinates are independent: Xavier, Gaussian, and any product law."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import PyTree

from tutelage.checks import finite_number, function, positive, tried
from tutelage.errors import invalid
from tutelage.problems import Problem
from tutelage.starts.base import batch, leafwise


def _fans(shape: tuple[int, ...]) -> int:
    """Return fan-in plus fan-out: a matrix maps its columns to its rows, a vector maps to one number."""
    return sum(shape) if len(shape) == 2 else shape[0] + 1


def xavier(problem: Problem, runs: int, seed: int = 0, first_run: int = 0) -> PyTree:
    r"""Xavier (Glorot) normal starts: independent entries $N(0, 2/(\text{fan in} + \text{fan out}))$.

    For $n$ students in dimension $d$ the variance is $2/(n + d)$. Biases of an outer function start at zero.

    Args:
        problem: The problem.
        runs: Number of starts.
        seed: Seed; start $i$ depends on the seed and on $i$ alone.
        first_run: Number of the first run, for cutting one batch into pieces.

    Returns:
        A batch of students, runs first.
    """
    return batch(problem, runs, seed, first_run, leafwise(problem, _glorot))


def _glorot(key, name, shape):
    if not shape or name.endswith("biases"):
        return jnp.zeros(shape)
    return jax.random.normal(key, shape) * jnp.sqrt(2.0 / _fans(shape))


def gaussian(problem: Problem, runs: int, scale: float = 1.0, seed: int = 0, first_run: int = 0) -> PyTree:
    r"""Gaussian starts: independent entries $N(0, \text{scale}^2)$.

    Args:
        problem: The problem.
        runs: Number of starts.
        scale: Standard deviation of an entry.
        seed: Seed; start $i$ depends on the seed and on $i$ alone.
        first_run: Number of the first run.
    """
    return product(problem, runs, Partial(_normal, np.asarray(positive("scale", scale))), seed, first_run)


def _normal(scale, key, shape):
    return scale * jax.random.normal(key, shape)


def product(problem: Problem, runs: int, draw: Callable, seed: int = 0, first_run: int = 0) -> PyTree:
    """Starts from any product law.

    Args:
        problem: The problem.
        runs: Number of starts.
        draw: A function `draw(key, shape)` that returns independent entries, such as `jax.random.laplace`.
        seed: Seed; start $i$ depends on the seed and on $i$ alone.
        first_run: Number of the first run.
    """
    function("draw", draw, "a function of a key and a shape", "Pass for example jax.random.laplace")
    return batch(problem, runs, seed, first_run, leafwise(problem, Partial(_entries, draw)))


def _entries(draw, key, _, shape):
    drawn = tried("draw", lambda: jnp.asarray(draw(key, shape), float))
    if drawn.shape != shape:
        raise invalid("draw", f"return an array of shape {shape}", f"shape {drawn.shape}", "Draw one number per entry")
    return drawn


def signs(problem: Problem, runs: int, scale: float = 1.0, seed: int = 0, first_run: int = 0) -> PyTree:
    r"""Starts with independent entries $\pm\text{scale}$, each with probability one half.

    Args:
        problem: The problem.
        runs: Number of starts.
        scale: Size of every entry.
        seed: Seed; start $i$ depends on the seed and on $i$ alone.
        first_run: Number of the first run.
    """
    return product(problem, runs, Partial(_signs, np.asarray(positive("scale", scale))), seed, first_run)


def _signs(scale, key, shape):
    return scale * jax.random.rademacher(key, shape)


def uniform(
    problem: Problem, runs: int, low: float = -1.0, high: float = 1.0, seed: int = 0, first_run: int = 0
) -> PyTree:
    """Starts with independent entries uniform between two numbers.

    Args:
        problem: The problem.
        runs: Number of starts.
        low: Lower end.
        high: Upper end.
        seed: Seed; start $i$ depends on the seed and on $i$ alone.
        first_run: Number of the first run.
    """
    low, high = finite_number("low", low), finite_number("high", high)
    if low >= high:
        raise invalid("low", "be below `high`", f"{low} and {high}", "Exchange them or widen the interval")
    return product(problem, runs, Partial(_uniform, np.asarray(low), np.asarray(high)), seed, first_run)


def _uniform(low, high, key, shape):
    return jax.random.uniform(key, shape, minval=low, maxval=high)
