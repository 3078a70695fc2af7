"""The loss over a fresh batch at every call."""

from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from tutelage.checks import count, flag, random_key
from tutelage.objectives.base import Sampled
from tutelage.objectives.exactness import Exactness
from tutelage.problems import Problem
from tutelage.problems.problem import BatchSource, checked_problem


class Samples(NamedTuple):
    """A batch with its labels: `[batch, …]`, and `[batch]` or, where several teachers give some, `[teacher, batch]`."""

    inputs: Float[Array, "batch ..."]
    labels: Float[Array, "..."]


class Stream(Sampled):
    """The mean loss of a fresh batch at every call; build one with `stream`. Every method needs a random key.

    Attributes:
        problem: The problem.
        batch: Number of samples a call.
        shared: Whether all runs of `descend` see the same batches.
        held: The samples that all calls use, where some have been drawn for them.
    """

    problem: Problem
    batch: int = eqx.field(static=True)
    shared: bool = eqx.field(static=True, default=False)
    held: Samples | None = None
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

    @property
    def source(self) -> BatchSource:
        """What draws its batches."""
        return self.problem.source(self.batch)

    def holding(self, samples: Samples) -> "Stream":
        """Return this objective with samples that all its calls use, whatever their keys."""
        return replace(self, held=samples)

    def labelled_by(self, teacher: Int[Array, ""]) -> "Stream":
        """Return this objective with the labels of one of the teachers whose labels it holds."""
        assert self.held is not None
        return self.holding(self.held._replace(labels=self.held.labels[teacher]))

    def drawn(self, key: PRNGKeyArray | None) -> "Stream":
        if self.held is not None:
            return self
        batch = self.source.draw(random_key("key", key))
        return self.holding(Samples(batch.inputs, self.problem.labels(batch)))

    def _neuron_curvatures(self, point: PyTree, neurons: Int[Array, " chosen"]) -> Float[Array, "chosen dim dim"]:
        raise self._without_curvatures()

    def _loss(self, point: PyTree, key: PRNGKeyArray | None) -> Float[Array, ""]:
        samples = self.drawn(key).held
        assert samples is not None
        return 0.5 * jnp.mean((self.problem.student.predict(point, samples.inputs) - samples.labels) ** 2)


def stream(problem: Problem, batch: int, *, shared: bool = False) -> Stream:
    """The mean loss over fresh batches, one at every call.

    Args:
        problem: The problem.
        batch: Number of samples a batch.
        shared: Whether all runs of a `descend` see the same batch at the same step, so that they differ by their starts
            (and teachers) alone. Each batch is then drawn once for all of them, which is most of the work otherwise.
    """
    return Stream(checked_problem(problem), count("batch", batch), flag("shared", shared))
