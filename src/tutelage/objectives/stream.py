"""The loss over a fresh batch at every call."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from tutelage.checks import count, random_key
from tutelage.objectives.base import Sampled
from tutelage.objectives.exactness import Exactness
from tutelage.problems import Problem
from tutelage.problems.problem import checked_problem


class Stream(Sampled):
    """The mean loss of a fresh batch at every call; build one with `stream`. Every method needs a random key.

    Attributes:
        problem: The problem.
        batch: Number of samples a call.
    """

    problem: Problem
    batch: int = eqx.field(static=True)
    deterministic = False
    taught = False  # a batch has noise of its own
    sample = ()

    @property
    def exactness(self) -> Exactness:
        return Exactness("sampling", detail=f"a fresh batch of {self.batch} at every call")

    @property
    def floor(self) -> float:
        return 0.5 * float(self.problem.noise) ** 2

    @property
    def samples(self) -> int:
        return self.batch

    def _neuron_curvatures(self, point: PyTree, neurons: Int[Array, " chosen"]) -> Float[Array, "chosen dim dim"]:
        raise self._without_curvatures()

    def _loss(self, point: PyTree, key: PRNGKeyArray | None) -> Float[Array, ""]:
        inputs, labels = self.problem.sample(random_key("key", key), self.batch)
        return 0.5 * jnp.mean((self.problem.student.predict(point, inputs) - labels) ** 2)


def stream(problem: Problem, batch: int) -> Stream:
    """The mean loss over fresh batches, one at every call.

    Args:
        problem: The problem.
        batch: Number of samples a batch.
    """
    return Stream(checked_problem(problem), count("batch", batch))
