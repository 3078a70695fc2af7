"""Starts with a geometric meaning: on a sphere and in a ball, near a point, with a large sum of norms."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.tree_util import Partial
from jaxtyping import PyTree

from tutelage.checks import positive
from tutelage.errors import invalid
from tutelage.models import Convolution, FilterAndOutput
from tutelage.problems import Problem
from tutelage.problems.problem import checked_problem
from tutelage.starts.base import batch, leafwise


def _unit(key, shape):
    vector = jax.random.normal(key, shape)
    return vector / jnp.linalg.norm(vector)


def sphere_ball(problem: Problem, runs: int, radius: float | None = None, seed: int = 0, first_run: int = 0) -> PyTree:
    r"""The convolutional-filter paper's starts: filter uniform on the sphere, output weights in a ball.

    Args:
        problem: A convolution problem.
        runs: Number of starts.
        radius: Radius of the ball; $|\mathbf 1\cdot a^*|\,\|w^*\|/\sqrt k$ by default, the paper's (its
            Theorem 3.2).
        seed: Seed; start $i$ depends on the seed and on $i$ alone.
        first_run: Number of the first run.
    """
    checked_problem(problem)
    if not isinstance(problem.student, Convolution):
        raise invalid("problem", "be a convolution problem", problem.name, "Use another start")
    target: FilterAndOutput = problem.target
    patches = target.output.shape[0]
    if radius is None:
        output, filters = np.asarray(target.output), np.asarray(target.filter)
        radius = float(np.abs(np.sum(output)) * np.linalg.norm(filters) / np.sqrt(patches))
        if radius == 0:
            raise invalid(
                "radius",
                "be given where the teacher's output weights sum to zero",
                "None",
                "Pass a positive radius",
            )
    size = np.asarray(positive("radius", radius))
    return batch(problem, runs, seed, first_run, Partial(_sphere_ball, size, target.filter.shape[0], patches))


def _sphere_ball(radius, dimension, patches, key):
    filter_key, direction_key, radius_key = jax.random.split(key, 3)
    distance = radius * jax.random.uniform(radius_key) ** (1.0 / patches)
    return FilterAndOutput(_unit(filter_key, (dimension,)), distance * _unit(direction_key, (patches,)))


def near(problem: Problem, runs: int, point: Any, distance: float, seed: int = 0, first_run: int = 0) -> PyTree:
    """Starts at a given distance from a point, in uniformly random directions of the parameter space.

    Args:
        problem: The problem.
        runs: Number of starts.
        point: The point, a student.
        distance: Euclidean distance of all parameters together.
        seed: Seed; start $i$ depends on the seed and on $i$ alone.
        first_run: Number of the first run.
    """
    checked_problem(problem)
    draw = Partial(_near, problem.point(point), np.asarray(positive("distance", distance)))
    return batch(problem, runs, seed, first_run, draw)


def _near(point, distance, key):
    centre, unravel = ravel_pytree(point)
    return unravel(centre + distance * _unit(key, centre.shape))


def large_norm(problem: Problem, runs: int, norm_sum: float, seed: int = 0, first_run: int = 0) -> PyTree:
    """Gaussian starts scaled so that the norms of the student's vectors sum to a given number.

    Args:
        problem: The problem.
        runs: Number of starts.
        norm_sum: The sum of norms.
        seed: Seed; start $i$ depends on the seed and on $i$ alone.
        first_run: Number of the first run.
    """
    gaussian = leafwise(problem, _entry)
    draw = Partial(_scaled, problem.student, gaussian, np.asarray(positive("norm_sum", norm_sum)))
    return batch(problem, runs, seed, first_run, draw)


def _entry(key, _, shape):
    return jax.random.normal(key, shape)


def _scaled(student, gaussian, norm_sum, key):
    point = gaussian(key)
    vectors = student.vectors(point)
    total = jnp.sum(jnp.linalg.norm(vectors, axis=-1))
    return student.with_vectors(point, vectors * (norm_sum / total))
