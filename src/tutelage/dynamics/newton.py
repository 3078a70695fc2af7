r"""Finishing a run by Newton's method, where that provably ends at the critical point that descent would reach.

At a point with gradient $g$ and positive definite Hessian $H$, let $\beta = \|H^{-1}\|$, $\eta = \|H^{-1}g\|$ and let
$\Lambda$ be a Lipschitz constant of the Hessian in the ball of radius $2\eta$. If $\beta\eta\Lambda \le \tfrac12$
(Newton–Kantorovich), the ball contains exactly one critical point and Newton's method converges to it. The Hessian stays
positive definite there, so that gradient descent with a stable step goes to the same point. A run that does not meet the
condition goes on as it was.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jax.flatten_util import ravel_pytree
from jaxtyping import PyTree
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from tutelage.checks import count, positive
from tutelage.dynamics.base import Method
from tutelage.dynamics.methods import GradientDescent
from tutelage.objectives import Objective


class Newton(eqx.Module):
    """A Newton finish for gradient descent; pass it as `finish` to `descend`.

    Args:
        gate: Gradient norm at which it is tried first; tried again at each tenth of it where the condition fails.
        most_parameters: Larger students are left to plain descent (the Hessian is dense).
        most_steps: Newton steps after which a finish counts as failed.
    """

    gate: float = eqx.field(static=True, default=1e-3)
    most_parameters: int = eqx.field(static=True, default=3000)
    most_steps: int = eqx.field(static=True, default=12)

    def __check_init__(self):
        positive("gate", self.gate)
        count("most_parameters", self.most_parameters)
        count("most_steps", self.most_steps)


class Finish(NamedTuple):
    """Where a Newton finish ended."""

    point: PyTree
    gradient_norm: float
    steps: int


@eqx.filter_jit
def _derivatives(objective: Objective, point: PyTree):
    return ravel_pytree(objective.gradient(point))[0], objective.hessian(point)


def _extreme(matrix, dimension: int, solve=None) -> float:
    """Return the largest eigenvalue of a symmetric matrix, or of its inverse given a solver."""
    operator = matrix if solve is None else LinearOperator((dimension, dimension), matvec=solve, dtype=float)
    if dimension < 4:
        values = np.linalg.eigvalsh(matrix)
        return float(values[-1] if solve is None else 1 / values[0])
    start = np.random.default_rng(0).normal(size=dimension)  # fixed, so that the outcome is
    try:
        value = eigsh(operator, k=1, which="LA", v0=start, tol=1e-4, return_eigenvectors=False)[0]
    except ArpackNoConvergence:
        return float("inf")
    return float(value) * 1.01  # Lanczos approaches from below


def finish(newton: Newton, objective: Objective, method: Method, point: PyTree, tolerance: float) -> Finish | None:
    """Try to finish a run; return `None` where the conditions fail.

    Args:
        newton: The settings.
        objective: A deterministic objective.
        method: The run's method.
        point: Where the run stands.
        tolerance: Gradient norm to reach.
    """
    flat, unravel = ravel_pytree(point)
    start = np.asarray(flat)
    gradient, hessian = (np.asarray(array) for array in _derivatives(objective, point))
    try:
        factor = scipy.linalg.cho_factor(hessian, lower=True)
    except np.linalg.LinAlgError:
        return None
    if isinstance(method, GradientDescent):
        step = 2.0 if callable(method.step) else float(method.step)
        if callable(method.step) or step * _extreme(hessian, len(start)) >= 2.0:
            return None
    direction = scipy.linalg.cho_solve(factor, gradient)
    distance = float(np.linalg.norm(direction))
    inverse_norm = _extreme(hessian, len(start), lambda vector: scipy.linalg.cho_solve(factor, vector))
    lipschitz = float(objective.hessian_lipschitz(point, 2 * distance))
    if not inverse_norm * distance * lipschitz <= 0.5:
        return None
    current = start
    for steps in range(1, newton.most_steps + 1):
        current = current - direction
        gradient, hessian = (np.asarray(array) for array in _derivatives(objective, unravel(jnp.asarray(current))))
        size = float(np.linalg.norm(gradient))
        if size <= tolerance:
            if np.linalg.norm(current - start) > 2 * distance * (1 + 1e-9):
                return None
            return Finish(unravel(jnp.asarray(current)), size, steps)
        try:
            direction = scipy.linalg.cho_solve(scipy.linalg.cho_factor(hessian, lower=True), gradient)
        except np.linalg.LinAlgError:
            return None
    return None


def applicable(newton: Newton | None, objective: Objective, point: PyTree) -> bool:
    """Whether a Newton finish can be tried for this objective at all."""
    if newton is None or objective.exactness.kind == "sampling":
        return False
    size = sum(leaf.size for leaf in jax.tree.leaves(point))
    return size <= newton.most_parameters and bool(np.isfinite(objective.hessian_lipschitz(point, 0.0)))
