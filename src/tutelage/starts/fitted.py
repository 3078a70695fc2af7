"""Starts of the local-convergence paper: random directions, norms fitted by non-negative least squares."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jaxtyping import Array, Float, PRNGKeyArray

from tutelage.checks import count
from tutelage.duals import Kernel, Quadrature, kernel
from tutelage.errors import invalid
from tutelage.inputs import Gaussian
from tutelage.models import Homogeneous
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
    directions = batch(problem, runs, seed, first_run, lambda key: _directions(key, problem))
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
    _require_plain(problem)
    if not isinstance(problem.inputs, Gaussian) or not problem.inputs.standard:
        remedy = "Leave out the inputs of the problem"
        raise invalid("problem", "have standard Gaussian inputs", problem.inputs.name, remedy)
    samples = count("samples", samples)
    teachers = problem.target.shape[0]
    rank = min(teachers, problem.dimension) if rank is None else count("rank", rank)
    if rank > problem.dimension:
        raise invalid("rank", f"be at most the dimension {problem.dimension}", rank, "Lower it")

    def draw(key: PRNGKeyArray):
        sample_key, direction_key = jax.random.split(key)
        inputs, labels = problem.sample(sample_key, samples)
        moment = (inputs.T * labels) @ inputs / samples - jnp.mean(labels) * jnp.eye(problem.dimension)
        # eigh sorts upwards; absolute-value teachers make the leading eigenvalues positive.
        basis = jnp.linalg.eigh(moment)[1][:, -rank:]
        shape = (problem.template_tree().shape[0], rank)
        return jax.random.normal(direction_key, shape) @ basis.T

    directions = batch(problem, runs, seed, first_run, draw, numbers=samples * problem.dimension)
    return _fit_norms(problem, directions)


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


def _directions(key: PRNGKeyArray, problem: Problem) -> Float[Array, "student dim"]:
    return jax.random.normal(key, problem.template_tree().shape)


def _fit_norms(problem: Problem, directions: Any) -> Float[Array, "run student dim"]:
    activation = problem.student.activation  # type: ignore[attr-defined]
    dual = kernel(activation, activation, problem.inputs, Quadrature())
    fit = [_fit_one(dual, problem.target, run) for run in np.asarray(directions)]
    return jnp.asarray(np.stack(fit))


# Compiled as a whole: operation by operation, every number of students would be a dozen programs.
@eqx.filter_jit
def _gram(dual: Kernel, first: Array, second: Array, same: bool) -> Float[Array, "first second"]:
    return dual.gram(first, second, same)


def _fit_one(dual: Kernel, teacher: Array, directions: np.ndarray) -> np.ndarray:
    rows = jnp.asarray(directions)
    gram = np.asarray(_gram(dual, rows, rows, same=True))
    correlation = np.asarray(_gram(dual, rows, teacher, same=False)).sum(axis=1)
    # min ½zᵀGz − bᵀz = ½‖Az − r‖² + const with G = AᵀA, b = Aᵀr. Many students make G singular to rounding; b
    # lies in its range, so directions with negligible eigenvalues are left out.
    values, vectors = np.linalg.eigh(gram)
    kept = values > values[-1] * 1e-13
    factor = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    right = (vectors[:, kept].T @ correlation) / np.sqrt(values[kept])
    weights, _ = scipy.optimize.nnls(factor, right, maxiter=30 * len(directions))
    norms = np.linalg.norm(directions, axis=1)
    return np.sqrt(weights / norms)[:, None] * directions
