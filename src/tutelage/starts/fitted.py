"""Starts of the local-convergence paper: random directions, norms fitted by non-negative least squares."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import Array, Float, PRNGKeyArray

from tutelage.arrays import of_jax
from tutelage.checks import affordable, count
from tutelage.duals import Kernel, Quadrature, kernel
from tutelage.errors import invalid
from tutelage.inputs import Gaussian
from tutelage.instant import instantly
from tutelage.models import Homogeneous
from tutelage.points import template_of
from tutelage.problems import Problem
from tutelage.problems.problem import checked_problem
from tutelage.starts.base import batch


def fitted(problem: Problem, runs: int, seed: int = 0, first_run: int = 0) -> Float[Array, "run student dim"]:
    r"""Random directions with fitted norms: the local-convergence paper's Algorithm 1.

    Directions are drawn from $N(0, I)$; then $z \ge 0$ minimises $\tfrac12E(\sum_i z_i\,\sigma(w_i\cdot x) -
    \text{teacher}(x))^2$, a non-negative least-squares problem with the exact Gram matrix, and $w_i$ becomes
    $\sqrt{z_i/\|w_i\|}\,w_i$. Students with $z_i = 0$ start at zero, where the homogeneous student is smooth.

    Args:
        problem: A homogeneous problem without signs and without a linear term.
        runs: Number of starts.
        seed: Seed; start $i$ depends on the seed and on $i$ alone.
        first_run: Number of the first run.
    """
    _require_plain(problem)
    directions = batch(problem, runs, seed, first_run, Partial(_directions, _shape(problem)))
    return _fit_norms(problem, directions)


def subspace(
    problem: Problem, runs: int, samples: int, rank: int | None = None, seed: int = 0, first_run: int = 0
) -> Float[Array, "run student dim"]:
    r"""The same inside a subspace estimated from samples: the local-convergence paper's Algorithm 2.

    The subspace is spanned by the leading eigenvectors of $\frac1N\sum_n y_n(x_nx_n^\top - I)$.

    Args:
        problem: A homogeneous problem without signs or a linear term, under standard Gaussian inputs.
        runs: Number of starts; each draws its own samples.
        samples: Number $N$ of samples.
        rank: Dimension of the subspace; the number of teacher neurons by default.
        seed: Seed; start $i$ depends on the seed and on $i$ alone.
        first_run: Number of the first run.
    """
    return within(problem, leading_axes(problem, runs, samples, rank, seed, first_run), seed, first_run)


def leading_axes(
    problem: Problem, runs: int, samples: int, rank: int | None = None, seed: int = 0, first_run: int = 0
) -> Float[np.ndarray, "run dim rank"]:
    """Return the axes of the subspace of each run, which do not depend on the student; arguments as in `subspace`."""
    _require_plain(problem)
    if not isinstance(problem.inputs, Gaussian) or not problem.inputs.standard:
        remedy = "Leave out the inputs of the problem"
        raise invalid("problem", "have standard Gaussian inputs", problem.inputs.name, remedy)
    samples = count("samples", samples)
    affordable("samples", samples, samples * problem.dimension, "the samples of one start")
    teachers = problem.target.shape[0]
    rank = min(teachers, problem.dimension) if rank is None else count("rank", rank)
    if rank > problem.dimension:
        raise invalid("rank", f"be at most the dimension {problem.dimension}", rank, "Lower it")

    teaching = dataclasses.replace(problem, student=problem.teacher, template=template_of(problem.target))
    moment = Partial(_moment, teaching, samples)
    moments = batch(problem, runs, seed, first_run, moment, samples * problem.dimension)
    # eigh sorts upwards; absolute-value teachers make the leading eigenvalues positive.
    return np.linalg.eigh(np.asarray(moments))[1][..., -rank:]


def within(
    problem: Problem, axes: Float[np.ndarray, "run dim rank"], seed: int = 0, first_run: int = 0
) -> Float[Array, "run student dim"]:
    """Return starts in subspaces, one for each run, that `leading_axes` of the same seed and runs has found."""
    shape = (_shape(problem)[0], axes.shape[-1])
    coordinates = batch(problem, len(axes), seed, first_run, Partial(_coordinates, shape))
    return _fit_norms(problem, np.asarray(coordinates) @ np.swapaxes(axes, 1, 2))


def _moment(problem: Problem, samples: int, key: PRNGKeyArray) -> Float[Array, "dim dim"]:
    inputs, labels = problem.sample(jax.random.split(key)[0], samples)
    return (inputs.T * labels) @ inputs / samples - jnp.mean(labels) * jnp.eye(problem.dimension)


def _coordinates(shape: tuple[int, int], key: PRNGKeyArray) -> Float[Array, "student rank"]:
    return jax.random.normal(jax.random.split(key)[1], shape)


def _require_plain(problem: Problem) -> None:
    checked_problem(problem)
    student = problem.student
    if not isinstance(student, Homogeneous) or student.linear or student.signs is not None:
        raise invalid(
            "problem",
            "be a homogeneous problem without signs and without a linear term",
            problem.name,
            "Build it with tutelage.problems.homogeneous(teacher, students)",
        )


def _shape(problem: Problem) -> tuple[int, int]:
    return problem.template_tree().shape


def _directions(shape: tuple[int, int], key: PRNGKeyArray) -> Float[Array, "student dim"]:
    return jax.random.normal(key, shape)


def _fit_norms(problem: Problem, directions: Any) -> Float[Array, "run student dim"]:
    activation = problem.student.activation  # type: ignore[attr-defined]
    dual = kernel(activation, activation, problem.inputs, Quadrature())
    fit = [_fit_one(dual, problem.target, run) for run in np.asarray(directions)]
    return of_jax(np.stack(fit))


@instantly
def _normal_equations(dual: Kernel, directions: Any, teacher: Array) -> tuple[Array, Array]:
    """Return the Gram matrix of the directions, and their correlations with the teacher."""
    return dual._gram(directions, directions, True), jnp.sum(dual._gram(directions, teacher, False), axis=1)


def _fit_one(dual: Kernel, teacher: Array, directions: np.ndarray) -> np.ndarray:
    import scipy.optimize  # takes a while, and no other start needs it

    gram, correlation = jax.device_get(_normal_equations(dual, directions, teacher))
    # min ½zᵀGz − bᵀz = ½‖Az − r‖² + const with G = AᵀA, b = Aᵀr. Many students make G singular to rounding; b
    # lies in its range, so directions with negligible eigenvalues are left out.
    values, vectors = np.linalg.eigh(gram)
    kept = values > values[-1] * 1e-13
    factor = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    right = (vectors[:, kept].T @ correlation) / np.sqrt(values[kept])
    weights, _ = scipy.optimize.nnls(factor, right, maxiter=30 * len(directions))
    norms = np.linalg.norm(directions, axis=1)
    return np.sqrt(weights / norms)[:, None] * directions
