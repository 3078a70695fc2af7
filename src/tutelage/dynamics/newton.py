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

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree

from tutelage.checks import count, positive
from tutelage.dynamics.base import Method
from tutelage.dynamics.programs import Programs
from tutelage.dynamics.vectors import as_student, as_vector
from tutelage.modules import Module
from tutelage.objectives import Objective


class Newton(Module):
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
        bound = objective.hessian_lipschitz(jax.tree.map(np.ones_like, point), 0.0)
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
        outcome = finish(self, objective, method, jax.tree.map(lambda leaf: leaf[0], points), tolerance)
        if outcome is None:
            return points, np.array([False]), np.array([0])
        return jax.tree.map(lambda leaf: leaf[None], outcome.point), np.array([True]), np.array([outcome.steps])


class Finish(NamedTuple):
    """Where a Newton finish ended."""

    point: PyTree
    gradient_norm: float
    steps: int


def newton_steps(
    objective: Objective, point: PyTree, solve: Callable[[PyTree, np.ndarray], np.ndarray], most: int
) -> Iterator[tuple[PyTree, np.ndarray]]:
    """Yield the students of Newton's method after a point, and their gradients as vectors.

    Args:
        objective: A deterministic objective.
        point: Where it begins.
        solve: Returns the Hessian's inverse times the gradient, given a student and its gradient.
        most: Number of steps.
    """
    current, gradient = as_vector(point), as_vector(objective.gradient(point))
    for _ in range(most):
        current = current - solve(as_student(current, point), gradient)
        student = as_student(current, point)
        gradient = as_vector(objective.gradient(student))
        yield student, gradient


def finish(newton: Newton, objective: Objective, method: Method, point: PyTree, tolerance: float) -> Finish | None:
    """Try to finish a run; return `None` where the conditions fail.

    Args:
        newton: The settings.
        objective: A deterministic objective.
        method: The run's method.
        point: Where the run stands.
        tolerance: Gradient norm to reach.
    """
    point = jax.tree.map(np.asarray, point)
    start, hessian = as_vector(point), np.asarray(objective.hessian(point))
    if not np.isfinite(hessian).all():
        return None
    eigenvalues = np.linalg.eigvalsh(hessian)
    if not eigenvalues[0] > 0:
        return None
    distance = float(np.linalg.norm(np.linalg.solve(hessian, as_vector(objective.gradient(point)))))
    radius = 2.5 * distance
    lipschitz = float(objective.hessian_lipschitz(point, radius))
    if not distance * lipschitz <= 0.25 * eigenvalues[0]:
        return None
    traits = method.traits
    if not float(traits.steady_step) * (eigenvalues[-1] + radius * lipschitz) < 2.0:
        return None
    # Where the projection could act, descent may end elsewhere.
    norms = np.linalg.norm(objective.problem.student.vectors(point), axis=-1)
    if norms.max() + radius > float(traits.reach):
        return None

    def solve(student: PyTree, gradient: np.ndarray) -> np.ndarray:
        return np.linalg.solve(np.asarray(objective.hessian(student)), gradient)

    try:
        for number, (student, gradient) in enumerate(newton_steps(objective, point, solve, newton.most_steps), 1):
            size = float(np.linalg.norm(gradient))
            if size <= tolerance:
                near = np.linalg.norm(as_vector(student) - start) <= radius
                return Finish(student, size, number) if near else None
    except np.linalg.LinAlgError:
        return None
    return None
