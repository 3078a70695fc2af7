"""What a method is: a rule that moves a student."""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from tutelage.checks import positive, tried
from tutelage.errors import invalid
from tutelage.objectives import Objective


class Method(eqx.Module):
    """A rule that moves a student. One method follows any number of runs at once.

    Attributes:
        equivariant: Whether the rule commutes with rotations of the inputs and keeps a run in the span of its
            start and the teacher, so that it may be followed in that span.
    """

    @property
    @abc.abstractmethod
    def equivariant(self) -> bool:
        """Whether the rule commutes with rotations and stays in the span of start and teacher."""

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
        key: PRNGKeyArray,
    ) -> tuple[PyTree, PyTree]:
        """Move a student by one step.

        Args:
            objective: The objective.
            point: The student.
            gradient: The objective's gradient at the student.
            state: The method's state.
            step: Number of steps made so far.
            key: Random key of this run and step.

        Returns:
            The moved student and the new state.
        """

    def time(self, state: PyTree, step: Int[Array, ""]) -> Float[Array, ""]:
        """Return the time of the run: the number of steps, unless the method has a clock of its own."""
        return step.astype(float)


def step_size(argument: str, value: Any):
    """Return a step as a number, or a schedule as it is, or raise."""
    if not callable(value):
        return jnp.asarray(positive(argument, value))
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
