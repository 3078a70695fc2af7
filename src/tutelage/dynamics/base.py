"""What a method is: a rule that moves a student."""

import abc
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from tutelage._html import briefly
from tutelage.arrays import of_jax
from tutelage.checks import positive, tried
from tutelage.errors import invalid
from tutelage.instant import instantly
from tutelage.modules import Module
from tutelage.objectives import Objective, Stream


class Traits(NamedTuple):
    """What is known of a method; the defaults are what is safe to assume of any.

    Attributes:
        equivariant: Whether the rule commutes with rotations of the inputs and keeps a run in the span of its start and
            the teacher, so that it may be followed in that span.
        random: Whether a run depends on its number, because random numbers are drawn on the way.
        steady_step: The constant step of the gradient descent that it follows, zero for the flow; `None` where there is
            none. Such a method ends at a minimum that it has come close to, if the step is below two over the largest
            eigenvalue of the Hessian.
        stalls: Whether a student that a step has not moved will never be moved.
        reach: Norm at which vectors are pulled back; infinite where nothing is.
        batch: Number of samples that a step draws by itself.
        horizon: Time at which runs end; `None` where time is of no concern.
        keeps_gradients: Whether gradients are part of its state.
    """

    equivariant: bool = False
    random: bool = False
    steady_step: Any = None
    stalls: bool = False
    reach: Any = math.inf
    batch: int = 0
    horizon: float | None = None
    keeps_gradients: bool = False


class Method(Module):
    """A rule that moves a student. One method follows any number of runs at once."""

    def __repr__(self) -> str:
        return briefly(self)

    @property
    @abc.abstractmethod
    def traits(self) -> Traits:
        """What is known of the method."""

    @abc.abstractmethod
    def init(self, objective: Objective, point: PyTree) -> PyTree:
        """Return the method's state at a start."""

    @abc.abstractmethod
    def advance(
        self,
        objective: Objective,
        point: PyTree,
        gradient: PyTree,
        state: PyTree,
        step: Int[Array, ""],
        key: PRNGKeyArray | None,
    ) -> tuple[PyTree, PyTree]:
        """Move a student by one step.

        Args:
            objective: The objective.
            point: The student.
            gradient: The objective's gradient at the student.
            state: The method's state.
            step: Number of steps made so far.
            key: Random key of this run and step; `None` where neither objective nor method draws.

        Returns:
            The moved student and the new state.
        """

    @abc.abstractmethod
    def time(self, state: PyTree, step: Int[Array, ""]) -> Float[Array, ""]:
        """Return the time of the run."""


class Stepwise(Method):
    """A method whose time is the number of its steps."""

    def time(self, state: PyTree, step: Int[Array, ""]) -> Float[Array, ""]:
        return step.astype(float)


def step_size(argument: str, value: Any):
    """Return a step as a number, or a schedule as it is, or raise."""
    if not callable(value):
        return of_jax(positive(argument, value))
    number = jax.ShapeDtypeStruct((), int)
    size = tried(argument, lambda: jax.eval_shape(lambda step: jnp.asarray(value(step), float), number))
    if size.shape != ():
        raise invalid(argument, "return one number for a step number", f"shape {size.shape}", "Return a step")
    return value


def size_at(step, number: Int[Array, ""]) -> Float[Array, ""]:
    """Return the step size at a step number."""
    return jnp.asarray(step(number)) if callable(step) else step


def add_scaled(point: PyTree, factor, direction: PyTree) -> PyTree:
    """Return `point + factor · direction`."""
    return jax.tree.map(lambda x, d: x + factor * d, point, direction)


def select(condition, first: PyTree, second: PyTree) -> PyTree:
    """Return the first pytree where a condition holds, and the second elsewhere."""
    return jax.tree.map(lambda one, other: jnp.where(condition, one, other), first, second)


def norm(tree: PyTree) -> Float[Array, ""]:
    """Return the Euclidean norm of all entries of a pytree."""
    return jnp.sqrt(sum(jnp.sum(leaf * leaf) for leaf in jax.tree.leaves(tree)))


def taught(objective: Objective, teacher: PyTree) -> Objective:
    """Return the objective of a run with a teacher of its own, or the given one if it has none."""
    return objective if teacher is None else objective.with_target(teacher)


def seen_by_run(objective: Objective, teacher: PyTree, key: PRNGKeyArray | None) -> Objective:
    """Return the objective as a run sees it.

    Args:
        objective: The objective; where runs share batches, one that holds the samples of the step.
        teacher: The run's own teacher, if it has one; where runs share batches, the number of the teacher that labels.
        key: The random key of the run and the step.
    """
    if isinstance(objective, Stream) and objective.shared:
        return objective.labelled_by(teacher)
    return taught(objective, teacher).drawn(key)


@instantly
def values_at(objective: Objective, point: PyTree, key: PRNGKeyArray | None = None):
    """Return loss, gradient norm, error estimate and whether there is no gradient at a point."""
    objective = objective.drawn(key)
    size = norm(objective.gradient(point))
    return objective.loss(point), size, objective.error_estimate(point), objective.singular(point)
