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

import enum
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PyTree

from tutelage.checks import count, positive
from tutelage.dynamics.base import Method
from tutelage.dynamics.programs import Programs
from tutelage.modules import Module
from tutelage.objectives import Objective
from tutelage.objectives.tiles import Thoroughness, at_once

# Length of the difference by which products with the Hessian are taken. Its error is this times the third derivatives,
# and the rounding of a gradient over this: products are right to about five digits, and two are used.
_DIFFERENCE = 1e-5
# A Newton step solves its equation to this accuracy, and must shrink the gradient to that share of what it was.
_ACCURACY, _CONTRACTION = 0.03, 0.3
_LANCZOS_STEPS = 48
# An entry beside the diagonal of Lanczos' matrix that counts as zero, relative to the largest on the diagonal.
_EXHAUSTED = 1e-8


class NewtonKrylov(Module):
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

    def order(
        self, programs: Programs, objective: Objective, method: Method, points: PyTree, tolerance: float, tile: int
    ) -> None:
        """Begin to compile what `complete` needs."""
        programs.order(finish_tile, _lanes(tile), self._shared(objective, method, tolerance), points, Thoroughness.LOOP)

    def complete(
        self,
        objective: Objective,
        method: Method,
        points: PyTree,
        tolerance: float,
        tile: int,
        programs: Programs | None = None,
    ) -> tuple[PyTree, np.ndarray, np.ndarray]:
        """Try to finish some runs.

        Args:
            objective: A deterministic objective.
            method: The runs' method.
            points: Where the runs stand, runs first.
            tolerance: Gradient norm to reach.
            tile: The width of a tile of the descent.
            programs: What was ordered before, if anything was.

        Returns:
            Points, which of them are finished, and the numbers of Newton steps.
        """
        shared = self._shared(objective, method, tolerance)
        ends = (programs or Programs())(finish_tile, _lanes(tile), shared, points, Thoroughness.LOOP)
        finished = ends.finished & _inside(objective, float(method.traits.reach), points, ends.point)
        return ends.point, finished, ends.steps

    def _shared(self, objective: Objective, method: Method, tolerance: float) -> tuple:
        # Numbers, and neither the method nor the settings themselves: one program serves them all.
        step = float(method.traits.steady_step)
        limits = _Limits(np.asarray(self.most_steps), np.asarray(self.most_products))
        return limits, objective, np.asarray(tolerance, float), np.asarray(2 / step if step else np.inf)


def _lanes(tile: int) -> int:
    """Return how many runs are finished side by side, given the width of a tile of the descent."""
    return max(2, tile // 4)


class _Limits(NamedTuple):
    """After how much a finish counts as failed."""

    steps: Int[Array, ""] | np.ndarray
    products: Int[Array, ""] | np.ndarray


class Ends(NamedTuple):
    """Where finishes ended, runs first."""

    point: PyTree
    finished: Bool[Array, " run"]
    steps: Int[Array, " run"]


class _Phase(enum.IntEnum):
    """What the next gradient of a run is for."""

    ARRIVED = 0  # the gradient where it stands
    SOLVING = 1  # a product with the Hessian, for conjugate gradients
    TESTING = 2  # a product with the Hessian, for Lanczos' method
    FINISHED = 3
    FAILED = 4


class _State(NamedTuple):
    """A run on its way. Conjugate gradients and Lanczos' method do not work at once, and share their vectors."""

    phase: Int[Array, ""]
    flat: Float[Array, " parameter"]
    slope: Float[Array, " parameter"]  # the gradient there
    size: Float[Array, ""]  # its norm
    steps: Int[Array, ""]  # Newton steps made
    products: Int[Array, ""]  # of the present Newton step, or of Lanczos' method
    direction: Float[Array, " parameter"]  # the vector that is multiplied next
    other: Float[Array, " parameter"]  # the residual, or the vector of Lanczos' method before
    solution: Float[Array, " parameter"]
    square: Float[Array, ""]  # of the residual's norm, or of the entry beside the diagonal
    pivots: Float[Array, " 2"]  # of the tridiagonal matrix, and of two over the step less that matrix
    scale: Float[Array, ""]  # largest entry of its diagonal


@eqx.filter_jit
def finish_tile(limits: _Limits, objective: Objective, tolerance, bound, points: PyTree) -> Ends:
    """Try to finish a tile of runs, whose largest curvature has to be below a bound.

    A gradient is most of what there is to compile and to execute. So there is one: in each round every run takes the
    gradient that it needs next, and goes on by its phase.
    """
    unravel = ravel_pytree(jax.tree.map(lambda leaf: leaf[0], points))[1]

    def move(state: _State) -> _State:
        arrived = state.phase == _Phase.ARRIVED
        length = jnp.where(arrived, 0.0, _DIFFERENCE / _positive(_norm(state.direction)))
        slope = ravel_pytree(objective.gradient(unravel(state.flat + length * state.direction)))[0]
        image = jnp.where(arrived, slope, (slope - state.slope) / _positive(length))
        return _moved(limits, state._replace(slope=jnp.where(arrived, slope, state.slope)), image, tolerance, bound)

    states = jax.vmap(_begin)(points)
    states = jax.lax.while_loop(lambda states: jnp.any(states.phase < _Phase.FINISHED), jax.vmap(move), states)
    return Ends(jax.vmap(unravel)(states.flat), states.phase == _Phase.FINISHED, states.steps)


def _begin(point: PyTree) -> _State:
    flat = ravel_pytree(point)[0]
    nothing, none, zero = jnp.zeros_like(flat), jnp.zeros((), int), jnp.zeros(())
    return _State(none, flat, nothing, zero, none, none, nothing, nothing, nothing, zero, jnp.ones(2), zero)


def _norm(vector):
    return jnp.sqrt(jnp.sum(vector * vector))


def _positive(number):
    return jnp.where(number > 0, number, 1.0)


def _moved(limits: _Limits, state: _State, image, tolerance, bound) -> _State:
    """Go on by the phase, given the gradient where the run has arrived, or the product with the Hessian.

    Operations on vectors are most of the work beside the gradient: phases share those that they have in common. Of runs
    that have ended only the point stays as it is.
    """
    arrived, solving, testing = (state.phase == phase for phase in list(_Phase)[:3])
    image = image - jnp.where(testing, jnp.sqrt(state.square), 0.0) * state.other
    diagonal = jnp.sum(state.direction * image)
    convex = diagonal > 0
    length = state.square / jnp.where(convex, diagonal, 1.0)
    # What is left of the equation, or the next vector of Lanczos' method.
    rest = jnp.where(solving, state.other - length * image, image - diagonal * state.direction)
    rest = jnp.where(arrived, -image, rest)
    square = jnp.sum(rest * rest)
    solution = state.solution + length * state.direction
    solved = solving & convex & (square <= (_ACCURACY * state.size) ** 2)
    size = jnp.where(arrived, jnp.sqrt(square), state.size)
    small = arrived & (size <= tolerance)
    pivots = jnp.stack([diagonal, bound - diagonal]) - state.square / state.pivots
    scale = jnp.maximum(state.scale, jnp.abs(diagonal))
    products = jnp.where(arrived, 0, state.products + 1)

    # A Krylov space that is exhausted early: what follows would belong to another one.
    last = (products >= min(_LANCZOS_STEPS, image.size)) | (square <= (_EXHAUSTED * scale) ** 2)
    good = (state.steps == 0) | (size <= jnp.maximum(_CONTRACTION * state.size, tolerance))
    going = good & (state.steps < limits.steps) & jnp.isfinite(size)
    begun = jnp.where(good & small, _Phase.TESTING, jnp.where(going, _Phase.SOLVING, _Phase.FAILED))
    further = jnp.where(convex & (products < limits.products), _Phase.SOLVING, _Phase.FAILED)
    tested = jnp.where(jnp.all(pivots > 0), jnp.where(last, _Phase.FINISHED, _Phase.TESTING), _Phase.FAILED)
    phase = jnp.where(arrived, begun, jnp.where(solving, jnp.where(solved, _Phase.ARRIVED, further), tested))

    start = np.random.default_rng(0).normal(size=image.shape)  # fixed, so that the outcome is
    turned = jnp.where(solving, square / _positive(state.square), 0.0) * state.direction
    direction = rest / jnp.where(testing, _positive(jnp.sqrt(square)), 1.0) + turned
    return _State(
        phase=jnp.where(state.phase < _Phase.FINISHED, phase, state.phase),
        flat=jnp.where(solved, state.flat + solution, state.flat),
        slope=state.slope,
        size=size,
        steps=state.steps + solved,
        products=products,
        direction=jnp.where(small, start / np.linalg.norm(start), direction),
        other=jnp.where(testing, state.direction, jnp.where(small, 0.0, rest)),
        solution=jnp.where(arrived, 0.0, solution),
        square=jnp.where(small, 0.0, square),
        pivots=jnp.where(testing, pivots, state.pivots),
        scale=jnp.where(testing, scale, state.scale),
    )


def _inside(objective: Objective, reach: float, points: PyTree, ends: PyTree) -> np.ndarray:
    """Return for which runs no vector comes near the boundary of the projection's ball, where descent may differ."""
    if not np.isfinite(reach):
        return np.ones(len(jax.tree.leaves(ends)[0]), bool)
    vectors = jax.vmap(objective.problem.student.vectors)
    begun, ended = np.asarray(vectors(points)), np.asarray(vectors(ends))
    moved = np.linalg.norm(ended - begun, axis=(1, 2))
    norms = np.linalg.norm(ended, axis=-1).max(axis=-1)
    return norms + 2 * moved <= reach
