"""Values at many points at once, and Newton's method to bring a point closer to the critical point beside it."""

import jax
import numpy as np
import scipy
from jaxtyping import PyTree

from tutelage.arrays import of_jax
from tutelage.dynamics.base import norm, values_at
from tutelage.dynamics.newton import newton_steps
from tutelage.dynamics.vectors import as_vector
from tutelage.geometry.spectrum import hessian_operator
from tutelage.instant import instantly
from tutelage.objectives import Objective
from tutelage.objectives.tiles import in_tiles

_STEPS = 5

# A point that moves further than this, relative to its norm, was not close to a critical point.
_FURTHEST = 1e-3

# Points that are evaluated side by side, and numbers of parameters that these may have.
_TILE, _TILE_PARAMETERS = 32, 20_000


@instantly
def _values(objective: Objective, points: PyTree):
    return jax.vmap(lambda point: values_at(objective, point))(points)


def evaluate(objective: Objective, points: PyTree) -> tuple[np.ndarray, ...]:
    """Return what `values_at` does, of a batch of students."""
    tile = int(np.clip(_TILE_PARAMETERS // max(objective.problem.parameters, 1), 1, _TILE))
    return in_tiles(_values, tile, (objective,), points)


def polished(objective: Objective, point: PyTree) -> PyTree:
    """Return a point closer to the critical point beside it, by Newton's method; the same one where that fails.

    Newton's steps come from MINRES on Hessian–vector products, which leaves directions without curvature alone. A
    step is taken if it halves the norm of the gradient and stays close to where the point was.
    """

    def solve(student: PyTree, gradient: np.ndarray) -> np.ndarray:
        operator = hessian_operator(objective, student)
        return scipy.sparse.linalg.minres(operator, gradient, rtol=1e-12, maxiter=20 * len(gradient))[0]

    start = as_vector(point)
    current, size = point, float(norm(objective.gradient(point)))
    for student, gradient in newton_steps(objective, point, solve, _STEPS):
        close = np.linalg.norm(as_vector(student) - start) <= _FURTHEST * max(1.0, float(np.linalg.norm(start)))
        if not close or not np.linalg.norm(gradient) < 0.5 * size:
            break
        current, size = student, float(np.linalg.norm(gradient))
    return jax.tree.map(of_jax, current)
