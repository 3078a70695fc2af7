"""The loss over a fresh batch at every call."""

from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from tutelage.checks import count, flag, random_key
from tutelage.objectives.base import Sampled
from tutelage.objectives.exactness import Exactness
from tutelage.problems import Problem
from tutelage.problems.problem import Batch, checked_problem


class Stream(Sampled):
    """The mean loss of a fresh batch at every call; build one with `stream`. Every method needs a random key.

    Attributes:
        problem: The problem.
        batch: Number of samples a call.
        shared: Whether all runs of `descend` see the same batches.
        held: The batch that all calls use, where one has been drawn for them.
    """

    problem: Problem
    batch: int = eqx.field(static=True)
    shared: bool = eqx.field(static=True, default=False)
    held: Batch | None = None
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

    def with_target(self, target: PyTree) -> "Stream":
        return replace(self, problem=self.problem.with_teacher(target))

    def draw(self, key: PRNGKeyArray) -> Batch:
        """Draw a batch, for `holding`."""
        return self.problem.draw(key, self.batch)

    def holding(self, batch: Batch) -> "Stream":
        """Return this objective with a batch that all its calls use, whatever their keys."""
        return replace(self, held=batch)

    def drawn(self, key: PRNGKeyArray | None) -> "Stream":
        return self if self.held is not None else self.holding(self.draw(random_key("key", key)))

    def _neuron_curvatures(self, point: PyTree, neurons: Int[Array, " chosen"]) -> Float[Array, "chosen dim dim"]:
        raise self._without_curvatures()

    def _loss(self, point: PyTree, key: PRNGKeyArray | None) -> Float[Array, ""]:
        batch = self.drawn(key).held
        assert batch is not None
        return 0.5 * jnp.mean((self.problem.student.predict(point, batch.inputs) - self.problem.labels(batch)) ** 2)


def stream(problem: Problem, batch: int, *, shared: bool = False) -> Stream:
    """The mean loss over fresh batches, one at every call.

    Args:
        problem: The problem.
        batch: Number of samples a batch.
        shared: Whether all runs of a `descend` see the same batch at the same step, so that they differ by their starts
            (and teachers) alone. Each batch is then drawn once for all of them, which is most of the work otherwise.
    """
    return Stream(checked_problem(problem), count("batch", batch), flag("shared", shared))
