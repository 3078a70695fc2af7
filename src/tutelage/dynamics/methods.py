"""Discrete methods: descent, stochastic descent, perturbed descent, and any Optax transformation."""

import math
import sys
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from tutelage._html import briefly
from tutelage.arrays import of_jax
from tutelage.checks import count, flag, of_kind, positive
from tutelage.dynamics.base import Method, Stepwise, Traits, add_scaled, size_at, step_size
from tutelage.modules import Module
from tutelage.objectives import Objective, stream


class Ball(Module):
    """Projection of every vector of a student onto a ball around zero.

    Args:
        radius: Radius of the ball.
    """

    radius: Float[Array, ""]

    def __init__(self, radius: float):
        self.radius = of_jax(positive("radius", radius))

    def __repr__(self) -> str:
        return briefly(self)

    def __call__(self, objective: Objective, point: PyTree) -> PyTree:
        """Return the student with every vector in the space of the inputs pulled back into the ball."""
        student = objective.problem.student
        vectors = student.vectors(point)
        norms = jnp.linalg.norm(vectors, axis=-1, keepdims=True)
        return student.with_vectors(point, vectors * jnp.minimum(1.0, self.radius / jnp.maximum(norms, 1e-300)))


def _ball(projection: Any) -> Ball | None:
    if projection is None:
        return None
    return of_kind("projection", projection, Ball, "a Ball or None", "Pass tutelage.Ball(radius)")


def _reach(projection: Ball | None):
    return math.inf if projection is None else projection.radius


class GradientDescent(Stepwise):
    r"""Gradient descent, $w \leftarrow \Pi(w - \eta_t\nabla L(w))$.

    On a `stream` objective this is stochastic descent on its batches.

    Args:
        step: The step $\eta$, or a function of the step number (an Optax schedule, for instance).
        projection: A `Ball`, or `None` for no projection.
    """

    step: Float[Array, ""] | Callable
    projection: Ball | None

    def __init__(self, step: float | Callable, projection: Ball | None = None):
        self.step = step_size("step", step)
        self.projection = _ball(projection)

    @property
    def traits(self) -> Traits:
        steady = not callable(self.step)
        return Traits(
            equivariant=True, steady_step=self.step if steady else None, stalls=steady, reach=_reach(self.projection)
        )

    def init(self, objective: Objective, point: PyTree) -> PyTree:
        return ()

    def advance(self, objective, point, gradient, state, step, key):
        moved = add_scaled(point, -size_at(self.step, step), gradient)
        return (moved if self.projection is None else self.projection(objective, moved)), state


class StochasticGradientDescent(Stepwise):
    r"""Stochastic gradient descent on fresh samples at every step, whatever the objective.

    The objective is still what stops and records see: with a population objective, the exact loss.

    Args:
        step: The step, or a function of the step number.
        batch: Number of fresh samples a step.
        projection: A `Ball`, or `None` for no projection.
    """

    step: Float[Array, ""] | Callable
    batch: int = eqx.field(static=True)
    projection: Ball | None

    def __init__(self, step: float | Callable, batch: int = 1, projection: Ball | None = None):
        self.step = step_size("step", step)
        self.batch = count("batch", batch)
        self.projection = _ball(projection)

    @property
    def traits(self) -> Traits:
        return Traits(random=True, batch=self.batch, reach=_reach(self.projection))

    def init(self, objective: Objective, point: PyTree) -> PyTree:
        return ()

    def advance(self, objective, point, gradient, state, step, key):
        sampled = stream(objective.problem, self.batch).gradient(point, key)
        moved = add_scaled(point, -size_at(self.step, step), sampled)
        return (moved if self.projection is None else self.projection(objective, moved)), state


class PerturbedGradientDescent(Stepwise):
    r"""Gradient descent with random kicks, $w_i \leftarrow w_i - \eta\nabla_i L + \alpha\,\xi_i$.

    The kicks $\xi_i$ are uniform on the unit sphere of the input space: one for all vectors of the student
    (the mild over-parameterization paper's Algorithm 1), or one each.

    Args:
        step: The step $\eta$, or a function of the step number.
        noise: The size $\alpha$ of a kick.
        shared_direction: Whether all vectors are kicked in the same direction.
    """

    step: Float[Array, ""] | Callable
    noise: Float[Array, ""]
    shared_direction: bool = eqx.field(static=True)

    def __init__(self, step: float | Callable, noise: float, shared_direction: bool = True):
        self.step = step_size("step", step)
        self.noise = of_jax(positive("noise", noise))
        self.shared_direction = flag("shared_direction", shared_direction)

    @property
    def traits(self) -> Traits:
        return Traits(random=True)

    def init(self, objective: Objective, point: PyTree) -> PyTree:
        return ()

    def advance(self, objective, point, gradient, state, step, key):
        moved = add_scaled(point, -size_at(self.step, step), gradient)
        student = objective.problem.student
        vectors = student.vectors(moved)
        shape = (1, vectors.shape[1]) if self.shared_direction else vectors.shape
        assert key is not None  # the method is random
        kicks = jax.random.normal(key, shape)
        kicks = kicks / jnp.linalg.norm(kicks, axis=-1, keepdims=True)
        return student.with_vectors(moved, vectors + self.noise * kicks), state


def _transformations() -> tuple[type, ...]:
    # Who has a transformation has imported Optax; nobody else has to.
    optax = sys.modules.get("optax")
    return () if optax is None else (optax.GradientTransformation, optax.GradientTransformationExtraArgs)


class OptaxMethod(Stepwise):
    """Any Optax transformation as a method; `descend` makes one of a transformation that it is given.

    Args:
        transformation: The transformation, such as `optax.adam(1e-3)`.
    """

    transformation: Any = eqx.field(static=True)

    def __check_init__(self):
        of_kind(
            "transformation",
            self.transformation,
            _transformations(),
            "an Optax transformation",
            "Pass for example optax.adam(1e-3)",
        )

    @property
    def traits(self) -> Traits:
        return Traits()  # most transformations act on coordinates

    def init(self, objective: Objective, point: PyTree) -> PyTree:
        return self.transformation.init(point)

    def advance(self, objective, point, gradient, state, step, key):
        import optax

        updates, state = self.transformation.update(gradient, state, point)
        return optax.apply_updates(point, updates), state


def as_method(method: Any) -> Method:
    """Return a method, made of an Optax transformation where it is one, or raise if it is neither."""
    if isinstance(method, Method):
        return method
    what = "a Method or an Optax transformation"
    return OptaxMethod(of_kind("method", method, _transformations(), what, "Pass tutelage.GradientDescent(step)"))
