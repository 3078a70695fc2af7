"""The loss over a fresh batch at every call."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from tutelage.checks import count
from tutelage.errors import invalid
from tutelage.objectives.base import Objective
from tutelage.objectives.exactness import Exactness
from tutelage.problems import Problem
from tutelage.problems.problem import checked_problem


class Stream(Objective):
    """The mean loss of a fresh batch at every call; build one with `stream`. Every method needs a random key.

    Attributes:
        problem: The problem.
        batch: Number of samples a call.
    """

    problem: Problem
    batch: int = eqx.field(static=True)

    @property
    def target(self) -> PyTree:
        """The teacher's parameters."""
        return self.problem.target

    @property
    def exactness(self) -> Exactness:
        return Exactness("sampling", detail=f"a fresh batch of {self.batch} at every call")

    def loss(self, point: PyTree, key: PRNGKeyArray | None = None) -> Float[Array, ""]:
        if key is None:
            raise invalid("key", "be a random key for a stream objective", "None", "Pass jax.random.key(seed)")
        inputs, labels = self.problem.sample(key, self.batch)
        return 0.5 * jnp.mean((self.problem.student.predict(point, inputs) - labels) ** 2)

    def gradient(self, point: PyTree, key: PRNGKeyArray | None = None) -> PyTree:
        return jax.grad(self.loss)(point, key)


def stream(problem: Problem, batch: int) -> Stream:
    """The mean loss over fresh batches, one at every call.

    Args:
        problem: The problem.
        batch: Number of samples a batch.
    """
    return Stream(checked_problem(problem), count("batch", batch))
