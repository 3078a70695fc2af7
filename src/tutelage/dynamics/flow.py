r"""Gradient flow, $\dot w = -\nabla L(w)$, by Diffrax.

Diffrax is imported where a flow is made: it takes as long as JAX.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from tutelage.checks import positive
from tutelage.dynamics.base import Method, Traits
from tutelage.errors import invalid
from tutelage.objectives import Objective

if TYPE_CHECKING:
    import diffrax


class _FlowState(NamedTuple):
    time: Float[Array, ""]
    next_time: Float[Array, ""]
    made_jump: Bool[Array, ""]
    solver: PyTree
    controller: PyTree


def _horizon(value: Any) -> float:
    return math.inf if isinstance(value, float) and value == math.inf else positive("horizon", value)


def _tsitouras() -> diffrax.AbstractSolver:
    import diffrax

    return diffrax.Tsit5()


class GradientFlow(Method):
    r"""Gradient flow, $\dot w = -\nabla L(w)$, by an adaptive Runge–Kutta method of Diffrax.

    A step of the run is one attempted step of the solver. The flow ends where a stop says so (the gradient
    norm is the steady-state event) or at the horizon.

    Args:
        relative_tolerance: Relative tolerance of the step-size controller.
        absolute_tolerance: Absolute tolerance of the step-size controller.
        horizon: Time at which to end; infinite by default.
        solver: An explicit solver with an error estimate; Tsitouras' method of order five by default.
    """

    relative_tolerance: float = eqx.field(static=True, default=1e-8, converter=partial(positive, "relative_tolerance"))
    absolute_tolerance: float = eqx.field(static=True, default=1e-10, converter=partial(positive, "absolute_tolerance"))
    horizon: float = eqx.field(static=True, default=math.inf, converter=_horizon)
    solver: Any = eqx.field(default_factory=_tsitouras)

    def __check_init__(self):
        import diffrax

        adaptive = isinstance(self.solver, diffrax.AbstractAdaptiveSolver)
        if not adaptive or isinstance(self.solver, diffrax.AbstractImplicitSolver):
            raise invalid(
                "solver",
                "be an explicit Diffrax solver with an error estimate",
                repr(self.solver),
                "Leave it out",
            )

    @property
    def traits(self) -> Traits:
        return Traits(equivariant=True, steady_step=0.0, horizon=self.horizon)

    def _controller(self) -> diffrax.PIDController:
        import diffrax

        # The Euclidean norm does not depend on the number of coordinates, so that a run in the span of its
        # start and the teacher takes the same steps as in the full space.
        return diffrax.PIDController(
            rtol=self.relative_tolerance,
            atol=self.absolute_tolerance,
            norm=lambda tree: jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree))),
        )

    @staticmethod
    def _term(objective: Objective) -> diffrax.ODETerm:
        import diffrax

        return diffrax.ODETerm(lambda time, point, key: jax.tree.map(jnp.negative, objective.gradient(point, key)))

    def init(self, objective: Objective, point: PyTree) -> _FlowState:
        term = self._term(objective)
        key = jax.random.key(0)
        start = jnp.zeros(())
        first, controller = self._controller().init(
            term, start, jnp.asarray(self.horizon), point, None, key, self.solver.func, self._order(term)
        )
        first = jnp.minimum(jnp.asarray(first), self.horizon)
        solver = self.solver.init(term, start, first, point, key)
        return _FlowState(start, first, jnp.zeros((), bool), solver, controller)

    def _order(self, term: diffrax.ODETerm):
        order = self.solver.error_order(term)
        assert order is not None  # the solver estimates its error: checked when the method was made
        return order

    def advance(self, objective, point, gradient, state, step, key):
        term = self._term(objective)
        candidate, error, _, solver, _ = self.solver.step(
            term, state.time, state.next_time, point, key, state.solver, state.made_jump
        )
        keep, time, next_time, made_jump, controller, _ = self._controller().adapt_step_size(
            state.time, state.next_time, point, candidate, key, error, self._order(term), state.controller
        )
        next_time = jnp.minimum(next_time, self.horizon)
        moved, solver = jax.tree.map(
            lambda new, old: jnp.where(keep, new, old), (candidate, solver), (point, state.solver)
        )
        return moved, _FlowState(jnp.asarray(time), next_time, jnp.asarray(made_jump), solver, controller)

    def time(self, state: _FlowState, step) -> Float[Array, ""]:
        return state.time
