r"""Finishing many runs at once by Newton's method with conjugate gradients.

Near a strict minimum descent gains a constant factor a step, and most of a run to a tiny gradient is this tail. A
Newton step $d$, $Hd = -g$, is found by conjugate gradients; products with the Hessian are differences of gradients, $Hv
\approx (\nabla L(x + tv) - g)/t$, whose errors the next Newton step repairs. The spectra of our problems have few
clusters, so that some ten products do what hundreds or thousands of steps of descent do.

Unlike the finish by a dense Hessian this one proves nothing. It is taken only if all of the following hold, and the run
goes on as it was otherwise: conjugate gradients meet no negative curvature; each Newton step shrinks the gradient by
the stated factor, as it does where the Hessian varies little over the step; at the end Lanczos' method from a random
vector finds the Hessian positive definite, so that a saddle near which descent lingers is not taken for a minimum; and
the largest curvature is below two over the step, so that descent would stay. Tests compare ends with those of plain
descent.
"""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PyTree

from tutelage.checks import count, positive
from tutelage.dynamics.base import Method
from tutelage.objectives import Objective
from tutelage.objectives.tiles import at_once, in_tiles

# Length of the difference by which products with the Hessian are taken. Its error is this times the third derivatives,
# and the rounding of a gradient over this: products are right to about five digits, and two are used.
_DIFFERENCE = 1e-5
# A Newton step solves its equation to this accuracy, and must shrink the gradient to that share of what it was.
_ACCURACY, _CONTRACTION = 0.03, 0.3
_LANCZOS_STEPS = 48


class NewtonKrylov(eqx.Module):
    """A finish by Newton's method and conjugate gradients, for many runs at once and for large students; see `descend`.

    Args:
        gate: Gradient norm at which it is tried first; tried again at each tenth where it is not taken.
        most_steps: Newton steps after which a finish counts as failed.
        most_products: Products with the Hessian in a Newton step after which it counts as failed.
    """

    gate: float = eqx.field(static=True, default=1e-3, converter=partial(positive, "gate"))
    most_steps: int = eqx.field(static=True, default=12, converter=partial(count, "most_steps"))
    most_products: int = eqx.field(static=True, default=100, converter=partial(count, "most_products"))

    def applicable(self, objective: Objective, method: Method, point: PyTree) -> bool:
        """Whether the finish can be tried for this objective and method."""
        return method.traits.steady_step is not None and objective.exactness.kind != "sampling"

    def width(self, tile: int) -> int:
        """Return how many runs are finished at once, given the width of a tile of the descent."""
        return _lanes(tile) * at_once()

    def complete(
        self, objective: Objective, method: Method, points: PyTree, tolerance: float, tile: int
    ) -> tuple[PyTree, np.ndarray, np.ndarray]:
        """Try to finish some runs.

        Args:
            objective: A deterministic objective.
            method: The runs' method.
            points: Where the runs stand, runs first.
            tolerance: Gradient norm to reach.
            tile: The width of a tile of the descent.

        Returns:
            Points, which of them are finished, and the numbers of Newton steps.
        """
        lanes = _lanes(tile)
        ends = in_tiles(_solve_tile, lanes, (self, objective, np.asarray(tolerance)), points)
        finished = ends.finished
        if finished.any():
            lowest, highest = _extremes(in_tiles(_lanczos_tile, lanes, (objective,), (ends.point, ends.slope)))
            finished = finished & (lowest > 0) & (float(method.traits.steady_step) * highest < 2.0)
            finished = finished & _inside(objective, float(method.traits.reach), points, ends)
        return ends.point, finished, ends.steps


def _lanes(tile: int) -> int:
    """Return how many runs are finished side by side, given the width of a tile of the descent."""
    return max(2, tile // 4)


class _Ends(NamedTuple):
    point: PyTree
    slope: Float[Array, " parameter"]  # the gradient there
    finished: Bool[Array, ""]
    steps: Int[Array, ""]


def _flat_gradient(objective: Objective, unravel):
    return lambda flat: ravel_pytree(objective.gradient(unravel(flat)))[0]


def _product(gradient, flat, slope, vector):
    """Return the Hessian at a point times a vector, given the gradient there."""
    size = jnp.linalg.norm(vector)
    length = _DIFFERENCE / jnp.where(size > 0, size, 1.0)
    return (gradient(flat + length * vector) - slope) / length


class _Solving(NamedTuple):
    solution: Float[Array, " parameter"]
    residual: Float[Array, " parameter"]
    direction: Float[Array, " parameter"]
    square: Float[Array, ""]  # of the residual
    products: Int[Array, ""]
    convex: Bool[Array, ""]


def _newton_step(settings: NewtonKrylov, gradient, flat, slope) -> tuple[Float[Array, " parameter"], Bool[Array, ""]]:
    """Return the Newton step by conjugate gradients, and whether it was found."""
    square = jnp.sum(slope * slope)
    enough = _ACCURACY**2 * square

    def going(state: _Solving):
        return state.convex & (state.square > enough) & (state.products < settings.most_products)

    def body(state: _Solving) -> _Solving:
        image = _product(gradient, flat, slope, state.direction)
        curvature = jnp.sum(state.direction * image)
        convex = curvature > 0
        length = state.square / jnp.where(convex, curvature, 1.0)
        residual = state.residual - length * image
        square = jnp.sum(residual * residual)
        direction = residual + (square / state.square) * state.direction
        return _Solving(
            state.solution + length * state.direction, residual, direction, square, state.products + 1, convex
        )

    zero = jnp.zeros((), int)
    start = _Solving(jnp.zeros_like(slope), -slope, -slope, square, zero, jnp.ones((), bool))
    end = jax.lax.while_loop(going, body, start)
    return end.solution, end.convex & (end.square <= enough)


def _solve(settings: NewtonKrylov, objective: Objective, point: PyTree, tolerance) -> _Ends:
    flat, unravel = ravel_pytree(point)
    gradient = _flat_gradient(objective, unravel)

    def going(state):
        _, _, size, steps, good = state
        return good & (size > tolerance) & (steps < settings.most_steps)

    def body(state):
        flat, slope, size, steps, _ = state
        step, found = _newton_step(settings, gradient, flat, slope)
        moved = flat + step
        slope = gradient(moved)
        reached = jnp.linalg.norm(slope)
        good = found & (reached <= jnp.maximum(_CONTRACTION * size, tolerance))
        return moved, slope, reached, steps + 1, good

    slope = gradient(flat)
    state = (flat, slope, jnp.linalg.norm(slope), jnp.zeros((), int), jnp.ones((), bool))
    flat, slope, size, steps, good = jax.lax.while_loop(going, body, state)
    return _Ends(unravel(flat), slope, good & (size <= tolerance), steps)


@eqx.filter_jit
def _solve_tile(settings: NewtonKrylov, objective: Objective, tolerance, points: PyTree) -> _Ends:
    return jax.vmap(lambda point: _solve(settings, objective, point, tolerance))(points)


def _lanczos(objective: Objective, point: PyTree, slope) -> tuple[Float[Array, " step"], Float[Array, " step"]]:
    """Return the tridiagonal matrix of Lanczos' method on the Hessian, from a fixed random vector."""
    flat, unravel = ravel_pytree(point)
    gradient = _flat_gradient(objective, unravel)
    vector = jax.random.normal(jax.random.key(0), flat.shape)

    def step(state, _):
        vector, before, beside = state
        image = _product(gradient, flat, slope, vector) - beside * before
        diagonal = jnp.sum(vector * image)
        image = image - diagonal * vector
        beside = jnp.linalg.norm(image)
        return (image / jnp.where(beside > 0, beside, 1.0), vector, beside), (diagonal, beside)

    start = (vector / jnp.linalg.norm(vector), jnp.zeros_like(vector), jnp.zeros(()))
    return jax.lax.scan(step, start, None, length=min(_LANCZOS_STEPS, flat.size))[1]


@eqx.filter_jit
def _lanczos_tile(objective: Objective, rows: tuple[PyTree, Float[Array, "run parameter"]]):
    return jax.vmap(lambda point, slope: _lanczos(objective, point, slope))(*rows)


def _extremes(tridiagonals: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest Ritz value of each run; not numbers where there are none."""
    values = []
    for diagonal, beside in zip(*tridiagonals, strict=True):
        if not (np.isfinite(diagonal).all() and np.isfinite(beside).all()):
            values.append((np.nan, np.nan))
            continue
        # A Krylov space that is exhausted early: what follows belongs to another one.
        small = np.flatnonzero(beside[:-1] <= 1e-8 * np.abs(diagonal).max())
        size = int(small[0]) + 1 if small.size else len(diagonal)
        ritz = scipy.linalg.eigvalsh_tridiagonal(diagonal[:size], beside[: size - 1])
        values.append((ritz[0], ritz[-1]))
    lowest, highest = np.array(values).T
    return lowest, highest


def _inside(objective: Objective, reach: float, points: PyTree, ends: _Ends) -> np.ndarray:
    """Return for which runs no vector comes near the boundary of the projection's ball, where descent may differ."""
    if not np.isfinite(reach):
        return np.ones(len(ends.finished), bool)
    vectors = jax.vmap(objective.problem.student.vectors)
    begun, ended = np.asarray(vectors(points)), np.asarray(vectors(ends.point))
    moved = np.linalg.norm(ended - begun, axis=(1, 2))
    norms = np.linalg.norm(ended, axis=-1).max(axis=-1)
    return norms + 2 * moved <= reach
