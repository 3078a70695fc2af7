"""Values at many points at once, and Newton's method to bring a point closer to the critical point beside it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import PyTree
from scipy.sparse.linalg import minres

from tutelage.geometry.spectrum import hessian_operator
from tutelage.objectives import Objective

_STEPS = 5

# A point that moves further than this, relative to its norm, was not close to a critical point.
_FURTHEST = 1e-3


@eqx.filter_jit
def values_at(objective: Objective, point: PyTree):
    """Return loss, gradient norm, error estimate and whether there is no gradient at a point, compiled."""
    gradient = ravel_pytree(objective.gradient(point))[0]
    norm = jnp.sqrt(jnp.sum(gradient * gradient))
    return objective.loss(point), norm, objective.error_estimate(point), objective.singular(point)


@eqx.filter_jit
def _values(objective: Objective, points: PyTree):
    # One after another: a batch of large students would not fit in memory with its pairs of neurons.
    return jax.lax.map(lambda point: values_at(objective, point), points)


def evaluate(objective: Objective, points: PyTree) -> tuple[np.ndarray, ...]:
    """Return what `values_at` does, of a batch of students."""
    return tuple(np.asarray(values) for values in _values(objective, points))


@eqx.filter_jit
def _gradient(objective: Objective, point: PyTree):
    return ravel_pytree(objective.gradient(point))[0]


def polished(objective: Objective, point: PyTree) -> PyTree:
    """Return a point closer to the critical point beside it, by Newton's method; the same one where that fails.

    Newton's steps come from MINRES on Hessian–vector products, which leaves directions without curvature alone. A
    step is taken if it halves the norm of the gradient and stays close to where the point was.
    """
    flat, unravel = ravel_pytree(point)
    current = start = np.asarray(flat)
    gradient = np.asarray(_gradient(objective, point))
    for _ in range(_STEPS):
        operator = hessian_operator(objective, unravel(jnp.asarray(current)))
        direction, _ = minres(operator, gradient, rtol=1e-12, maxiter=20 * len(current))
        moved = current - direction
        after = np.asarray(_gradient(objective, unravel(jnp.asarray(moved))))
        close = np.linalg.norm(moved - start) <= _FURTHEST * max(1.0, float(np.linalg.norm(start)))
        if not close or not np.linalg.norm(after) < 0.5 * np.linalg.norm(gradient):
            break
        current, gradient = moved, after
    return unravel(jnp.asarray(current))
