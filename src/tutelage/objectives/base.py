r"""What an objective is: a problem and how its expectation is taken.

Everywhere the loss is $\tfrac12 E[(\text{student}(x) - y)^2]$ with labels $y$; label noise adds half its variance.
"""

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, PRNGKeyArray, PyTree

from tutelage.errors import TutelageError
from tutelage.objectives.exactness import Exactness
from tutelage.problems import Problem


class Reduction(NamedTuple):
    """An objective in fewer dimensions, with the same dynamics from the given points.

    Attributes:
        objective: The objective in the reduced coordinates.
        points: The given points in the reduced coordinates, runs first.
        lift: Takes reduced points (runs first) and the numbers of their runs back to the original coordinates.
    """

    objective: "Objective"
    points: PyTree
    lift: Callable[[PyTree, Array], PyTree]


class Objective(eqx.Module):
    """A problem and how its expectation is taken.

    Points are pytrees as the problem's documentation says. All methods are pure, and can be compiled and batched.

    Attributes:
        problem: The problem.
        target: The teacher's parameters; in other coordinates than the problem's after a reduction.
    """

    if TYPE_CHECKING:  # see Activation
        problem: ClassVar[Problem]
        target: ClassVar[PyTree]
    else:
        problem: eqx.AbstractVar[Problem]
        target: eqx.AbstractVar[PyTree]

    @property
    @abc.abstractmethod
    def exactness(self) -> Exactness:
        """How the expectation is taken."""

    @abc.abstractmethod
    def loss(self, point: PyTree, key: PRNGKeyArray | None = None) -> Float[Array, ""]:
        """Return the loss of a student.

        Args:
            point: The student's parameters.
            key: Random key for objectives that draw samples at every call; the others ignore it.
        """

    @abc.abstractmethod
    def gradient(self, point: PyTree, key: PRNGKeyArray | None = None) -> PyTree:
        """Return the gradient of the loss, a pytree like the point. Arguments as in `loss`."""

    def with_target(self, target: PyTree) -> "Objective":
        """Return the objective of the same problem with another teacher of the same shapes.

        What was computed from the teacher is computed anew. Where integrals are taken by quadrature, they stay as fine
        as they are; `error_estimate` tells the error.

        Args:
            target: The teacher's parameters; they may be traced, so that one compiled program serves many teachers.

        Raises:
            TutelageError: If labels were drawn from the teacher, as in `empirical`.
        """
        raise TutelageError(
            f"{type(self).__name__} has its labels from its teacher. Build it anew, for problem.with_teacher(...)."
        )

    # Second derivatives are compiled as a whole: operation by operation takes several times as long.
    @eqx.filter_jit
    def hessian_vector(self, point: PyTree, direction: PyTree, key: PRNGKeyArray | None = None) -> PyTree:
        """Return the Hessian applied to a direction, a pytree like the point."""
        return jax.jvp(lambda point: self.gradient(point, key), (point,), (direction,))[1]

    @eqx.filter_jit
    def hessian(self, point: PyTree, key: PRNGKeyArray | None = None) -> Float[Array, "parameter parameter"]:
        """Return the dense Hessian, over the parameters in the order of `jax.flatten_util.ravel_pytree`."""
        flat, unravel = ravel_pytree(point)

        def gradient(flat):
            return ravel_pytree(self.gradient(unravel(flat), key))[0]

        # Linearised once: what depends on the point alone is computed once, not once per column.
        _, product = jax.linearize(gradient, flat)
        columns = jax.lax.map(product, jnp.eye(flat.size), batch_size=min(flat.size, 128))
        return 0.5 * (columns + columns.T)

    def error_estimate(self, point: PyTree) -> Float[Array, ""]:
        """Return an estimate of the error of the loss at a point, beyond rounding; zero if there is none.

        The error of the part that depends on the teacher alone is not in it.
        """
        return jnp.zeros(())

    def singular(self, point: PyTree) -> Bool[Array, ""]:
        """Return whether the loss has no gradient at a point, so that `gradient` follows a convention there."""
        return jnp.zeros((), bool)

    def hessian_lipschitz(self, point: PyTree, radius: float) -> Float[Array, ""]:
        """Return a Lipschitz constant of the Hessian in the ball of a radius around a point; infinite if unknown."""
        return jnp.asarray(jnp.inf)

    @property
    def span_suffices(self) -> bool:
        """Whether gradients stay in the span of the point and the teacher, so that runs can be reduced to it."""
        return False

    def reduced(self, points: PyTree) -> Reduction:
        """Return this objective in the span of the teacher and the given points; see `span_suffices`."""
        raise NotImplementedError(f"{type(self).__name__} has no reduction")
