r"""Finishing a run by Newton's method, where that provably ends at the point that descent would reach.

At a point $x$ with gradient $g$ and positive definite Hessian $H$, let $\beta = \|H^{-1}\|$, $\eta =
\|H^{-1}g\|$ and let $\Lambda$ be a Lipschitz constant of the Hessian in the ball of radius $\tfrac52\eta$. If
$\beta\eta\Lambda \le \tfrac14$ (Newton–Kantorovich asks for $\tfrac12$), Newton's method converges to a
critical point $x^*$ with $r = \|x - x^*\| \le (4 - 2\sqrt2)\,\eta$. The ball of radius $r$ around $x^*$ lies
in the one of radius $2r < \tfrac52\eta$ around $x$, where the Hessian is at least $(1 - 2r\Lambda\beta)/\beta
> 0$ and at most $\lambda_{\max}(H) + \tfrac52\eta\Lambda$. So descent with a step below two over the latter,
and the flow, come closer to $x^*$ with every step and go to the same point. A run that does not meet the
condition goes on as it was.
"""

from functools import partial
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
from tutelage.dynamics.programs import Programs
from tutelage.objectives import Objective


class Newton(eqx.Module):
    """A Newton finish for gradient descent with a constant step and for gradient flow; see `descend`.

    Args:
        gate: Gradient norm at which it is tried first; tried again at each tenth where the condition fails.
        most_parameters: Larger students are left to plain descent (the Hessian is dense).
        most_steps: Newton steps after which a finish counts as failed.
    """

    gate: float = eqx.field(static=True, default=1e-5, converter=partial(positive, "gate"))
    most_parameters: int = eqx.field(static=True, default=3000, converter=partial(count, "most_parameters"))
    most_steps: int = eqx.field(static=True, default=12, converter=partial(count, "most_steps"))

    def applicable(self, objective: Objective, method: Method, point: PyTree) -> bool:
        """Whether the finish can be tried for this objective and method, at any point of this shape."""
        if objective.exactness.kind == "sampling" or method.traits.steady_step is None:
            return False
        size = sum(leaf.size for leaf in jax.tree.leaves(point))
        bound = objective.hessian_lipschitz(jax.tree.map(jnp.ones_like, point), 0.0)
        return size <= self.most_parameters and bool(np.isfinite(bound))

    def width(self, tile: int) -> int:
        """Return how many runs are finished side by side: one, since a dense Hessian is large."""
        return 1

    def order(
        self, programs: Programs, objective: Objective, method: Method, points: PyTree, tolerance: float, tile: int
    ) -> None:
        """Do nothing: few runs need the dense finish, and what it compiles is small."""

    def complete(
        self,
        objective: Objective,
        method: Method,
        points: PyTree,
        tolerance: float,
        tile: int,
        programs: Programs | None = None,
    ) -> tuple[PyTree, np.ndarray, np.ndarray]:
        """Try to finish one run; return its point, whether it is finished and the number of Newton steps."""
        outcome = finish(self, objective, method, jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), points), tolerance)
        if outcome is None:
            return points, np.array([False]), np.array([0])
        return jax.tree.map(lambda leaf: leaf[None], outcome.point), np.array([True]), np.array([outcome.steps])


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
    shape = (dimension, dimension)
    operator = matrix if solve is None else LinearOperator(shape, matvec=solve, dtype=float)  # type: ignore
    if dimension < 4:
        values = np.linalg.eigvalsh(matrix)
        return float(values[-1] if solve is None else 1 / values[0])
    start = np.random.default_rng(0).normal(size=dimension)  # fixed, so that the outcome is
    try:
        value = eigsh(operator, k=1, which="LA", v0=start, tol=1e-4, return_eigenvectors=False)[0]  # type: ignore
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
    direction = scipy.linalg.cho_solve(factor, gradient)
    distance = float(np.linalg.norm(direction))
    inverse_norm = _extreme(hessian, len(start), lambda vector: scipy.linalg.cho_solve(factor, vector))
    radius = 2.5 * distance
    lipschitz = float(objective.hessian_lipschitz(point, radius))
    if not inverse_norm * distance * lipschitz <= 0.25:
        return None
    traits = method.traits
    if not float(traits.steady_step) * (_extreme(hessian, len(start)) + radius * lipschitz) < 2.0:
        return None
    # Where the projection could act, descent may end elsewhere.
    norms = np.linalg.norm(objective.problem.student.vectors(point), axis=-1)
    if norms.max() + radius > float(traits.reach):
        return None
    current = start
    for steps in range(1, newton.most_steps + 1):
        current = current - direction
        gradient, hessian = (np.asarray(array) for array in _derivatives(objective, unravel(jnp.asarray(current))))
        size = float(np.linalg.norm(gradient))
        if size <= tolerance:
            if np.linalg.norm(current - start) > radius:
                return None
            return Finish(unravel(jnp.asarray(current)), size, steps)
        try:
            direction = scipy.linalg.cho_solve(scipy.linalg.cho_factor(hessian, lower=True), gradient)
        except np.linalg.LinAlgError:
            return None
    return None
