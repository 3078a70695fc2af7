r"""What an objective is: a problem and how its expectation is taken.

Everywhere the loss is $\tfrac12 E[(\text{student}(x) - y)^2]$ with labels $y$; label noise adds half its variance, and
weight decay, where a problem has it, half its rate times the squared norm.
"""

import abc
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from tutelage.checks import count, sequence
from tutelage.errors import UnsupportedCombination
from tutelage.instant import evaluated, instantly, map_rows
from tutelage.models import Neuronwise
from tutelage.modules import Module
from tutelage.objectives.exactness import Exactness
from tutelage.points import fitted_array
from tutelage.problems import Problem
from tutelage.problems.problem import fitted_point

if TYPE_CHECKING:  # a type checker would take an abstract variable for an argument of the constructor
    from typing import ClassVar as Abstract
else:
    from equinox import AbstractVar as Abstract


class Reduction(NamedTuple):
    """An objective in fewer dimensions, with the same dynamics from the given points.

    Attributes:
        objective: The objective in the reduced coordinates.
        points: The given points in the reduced coordinates, runs first.
        lift: Takes reduced points (runs first) and the numbers of their runs back to the original coordinates.
        teachers: The teachers of the given points in the reduced coordinates, where each has one of its own.
    """

    objective: "Objective"
    points: PyTree
    lift: Callable[[PyTree, Array | np.ndarray], PyTree]
    teachers: PyTree = None


class Objective(Module):
    """A problem and how its expectation is taken.

    Points are pytrees as the problem's documentation says. All methods are pure, and can be compiled and batched. They
    check what they are given once, here, and refuse what is no student of the problem; an objective supplies the
    formulas (the methods whose names start with an underscore).

    Attributes:
        problem: The problem; its `template` is in the coordinates of the target.
        target: The teacher's parameters; in other coordinates than those of the inputs after a reduction.
        exactness: How the expectation is taken.
        span_suffices: Whether gradients stay in the span of the point and the teacher, so that runs can be reduced to
            it.
        deterministic: Whether the loss is the same at every call, without a random key.
        shared: Whether runs that are followed side by side see the same batches.
        floor: A lower bound of the loss: half the noise variance, or zero for a fixed sample.
        taught: Whether students that compute the teacher have the loss `floor`.
        samples: Number of samples that an evaluation takes; zero where there are none.
        sample: The arrays that an expectation is taken over; empty where it is taken over the law of the inputs.
    """

    problem: Abstract[Problem]
    target: Abstract[PyTree]
    exactness: Abstract[Exactness]
    span_suffices: Abstract[bool]
    deterministic: Abstract[bool]
    shared: Abstract[bool]
    floor: Abstract[float]
    taught: Abstract[bool]
    samples: Abstract[int]
    sample: Abstract[PyTree]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.problem.summary()}: {self.exactness})"

    @abc.abstractmethod
    def with_target(self, target: PyTree) -> "Objective":
        """Return the objective of the same problem with another teacher of the same shapes.

        What was computed from the teacher is computed anew. Where integrals are taken by quadrature, they stay as fine
        as they are; `error_estimate` tells the error.

        Args:
            target: The teacher's parameters; they may be traced, so that one compiled program serves many teachers.

        Raises:
            TutelageError: If labels were drawn from the teacher, as in `empirical`.
        """

    @abc.abstractmethod
    def drawn(self, key: PRNGKeyArray | None) -> "Objective":
        """Return the objective whose calls all see what a key draws; itself, where nothing is drawn."""

    @abc.abstractmethod
    def _loss(self, point: PyTree, key: PRNGKeyArray | None) -> Float[Array, ""]:
        """Return the loss without weight decay; the point has been checked."""

    @abc.abstractmethod
    def _gradient(self, point: PyTree, key: PRNGKeyArray | None) -> PyTree:
        """Return the gradient without weight decay; the point has been checked."""

    @abc.abstractmethod
    def _error_estimate(self, point: PyTree) -> Float[Array, ""]:
        """Return the estimate of the error; the point has been checked."""

    @abc.abstractmethod
    def _singular(self, point: PyTree) -> Bool[Array, ""]:
        """Return whether there is no gradient; the point has been checked."""

    @abc.abstractmethod
    def _hessian_lipschitz(self, point: PyTree, radius: Float[Array, ""]) -> Float[Array, ""]:
        """Return the Lipschitz constant; point and radius have been checked."""

    @abc.abstractmethod
    def _neuron_curvatures(self, point: PyTree, neurons: Int[Array, " chosen"]) -> Float[Array, "chosen dim dim"]:
        """Return the blocks; all has been checked, and the student is a sum of neurons with vectors."""

    @abc.abstractmethod
    def _reduced(self, points: PyTree, teachers: PyTree) -> Reduction:
        """Return the reduction; points and teachers have been checked, and the span suffices."""

    def loss(self, point: PyTree, key: PRNGKeyArray | None = None) -> Float[Array, ""]:
        """Return the loss of a student.

        Args:
            point: The student's parameters; several students are mapped over with `jax.vmap`.
            key: Random key for objectives that draw samples at every call; the others ignore it.

        Raises:
            InvalidArgument: If the point is no student of the problem, by structure, shapes or types, or is not finite
                where its values are known. So in all methods.
        """
        return _loss(self, _point(self, point), key)

    def gradient(self, point: PyTree, key: PRNGKeyArray | None = None) -> PyTree:
        """Return the gradient of the loss, a pytree like the point. Arguments as in `loss`."""
        return evaluated(_slope, self, _point(self, point), key)

    def hessian_vector(self, point: PyTree, direction: PyTree, key: PRNGKeyArray | None = None) -> PyTree:
        """Return the Hessian applied to a direction, a pytree like the point."""
        return _hessian_vector(self, _point(self, point), _point(self, direction, "direction"), key)

    def hessian(self, point: PyTree, key: PRNGKeyArray | None = None) -> Float[Array, "parameter parameter"]:
        """Return the dense Hessian, over the parameters in the order of `jax.flatten_util.ravel_pytree`."""
        return _hessian(self, _point(self, point), key)

    def error_estimate(self, point: PyTree) -> Float[Array, ""]:
        """Return an estimate of the error of the loss at a point, beyond rounding; zero if there is none.

        The error of the part that depends on the teacher alone is not in it.
        """
        return evaluated(self._error_estimate, _point(self, point))

    def singular(self, point: PyTree) -> Bool[Array, ""]:
        """Return whether the loss has no gradient at a point, so that `gradient` follows a convention there."""
        return evaluated(self._singular, _point(self, point))

    def hessian_lipschitz(self, point: PyTree, radius: float) -> Float[Array, ""]:
        """Return a Lipschitz constant of the Hessian in the ball of a radius around a point; infinite if unknown."""
        return evaluated(self._hessian_lipschitz, _point(self, point), fitted_array("radius", radius, ()))

    def neuron_curvatures(self, point: PyTree, neurons: Sequence[int] | None = None) -> Float[Array, "chosen dim dim"]:
        r"""Return $E[r\,\nabla^2\varphi(w_i, x)]$ for neurons $\varphi(w_i, x)$ of a student with residual $r$.

        Args:
            point: The student.
            neurons: Which neurons, from zero; all if left out.

        Raises:
            InvalidArgument: If there is no such neuron.
            UnsupportedCombination: If the student is not a sum of neurons with a vector each, or the expectation is
                not known.
        """
        student = self.problem.student
        number = len(student.rows(self.problem.zero())) if isinstance(student, Neuronwise) else 0
        if not number:
            raise self._without_curvatures()
        given = range(number) if neurons is None else sequence("neurons", neurons, "a list of neurons")
        chosen = np.array([count("neurons", one, least=0, most=number - 1) for one in given], int)
        return evaluated(self._neuron_curvatures, _point(self, point), chosen)

    def _without_curvatures(self) -> UnsupportedCombination:
        return UnsupportedCombination(
            f"Reduced blocks are known for sums of neurons that learn their vectors, not for this "
            f"{self.problem.name} problem under a {type(self).__name__.lower()} objective."
        )

    def reduced(self, points: PyTree, teachers: PyTree | None = None) -> Reduction:
        """Return this objective in the span of the teacher and the given points, runs first.

        Args:
            points: Students, runs first.
            teachers: A teacher for each of them in place of the objective's, runs first.

        Raises:
            UnsupportedCombination: If the span does not suffice; see `span_suffices`.
        """
        if not self.span_suffices:
            raise UnsupportedCombination(
                f"The {self.problem.name} problem cannot be reduced to the span of student and teacher: its loss does "
                "not depend on norms and angles alone. Work in the space of the inputs."
            )
        return self._reduced(self.problem.points(points, "points"), self.problem.teachers(teachers))


class Expected(Objective):
    """A loss whose expectation is taken over the law of the inputs."""

    deterministic = True
    shared = False
    samples = 0
    sample = ()

    def drawn(self, key: PRNGKeyArray | None) -> "Objective":
        return self

    @property
    def floor(self) -> float:
        return 0.5 * float(self.problem.noise) ** 2

    @property
    def taught(self) -> bool:
        return self.problem.decay is None


class Sampled(Objective):
    """A loss over samples: nothing is known of it but its value and its derivatives."""

    span_suffices = False

    @property
    def target(self) -> PyTree:
        """The teacher's parameters."""
        return self.problem.target

    def _gradient(self, point, key):
        return jax.grad(self._loss)(point, key)

    def _error_estimate(self, point):
        return jnp.zeros(())

    def _singular(self, point):
        return jnp.zeros((), bool)

    def _hessian_lipschitz(self, point, radius):
        return jnp.asarray(jnp.inf)

    def _reduced(self, points, teachers):
        raise AssertionError("the span does not suffice")


def _point(objective: Objective, point: PyTree, argument: str = "point") -> PyTree:
    # Of any size: a loss may overflow, but is not wrong then.
    return fitted_point(objective.problem, point, argument, largest=math.inf)


# Columns of a Hessian that are computed at once.
_COLUMNS = 128


@instantly
def _loss(objective: Objective, point: PyTree, key: PRNGKeyArray | None) -> Float[Array, ""]:
    loss = objective._loss(point, key)
    return loss if objective.problem.decay is None else loss + objective.problem.penalty(point)


def _slope(objective: Objective, point: PyTree, key: PRNGKeyArray | None) -> PyTree:
    """Return the gradient, that of weight decay included."""
    gradient, decay = objective._gradient(point, key), objective.problem.decay
    if decay is None:
        return gradient
    leaves, structure = jax.tree.flatten(gradient)
    parts = zip(leaves, decay, jax.tree.leaves(point), strict=True)
    return jax.tree.unflatten(structure, [slope + rate * leaf for slope, rate, leaf in parts])


@instantly
def _hessian_vector(objective: Objective, point: PyTree, direction: PyTree, key: PRNGKeyArray | None) -> PyTree:
    return jax.jvp(lambda point: _slope(objective, point, key), (point,), (direction,))[1]


@instantly
def _hessian(objective: Objective, point: PyTree, key: PRNGKeyArray | None) -> Float[Array, "parameter parameter"]:
    flat, unravel = ravel_pytree(point)

    def gradient(flat):
        return ravel_pytree(_slope(objective, unravel(flat), key))[0]

    def product(direction):
        return jax.jvp(gradient, (flat,), (direction,))[1]

    # What depends on the point alone is computed once for as many columns: linearising takes longer to trace.
    directions = jnp.eye(flat.size)
    if flat.size <= _COLUMNS:
        columns = jax.vmap(product)(directions)
    else:
        columns = map_rows(product, directions, _COLUMNS)
    return 0.5 * (columns + columns.T)
