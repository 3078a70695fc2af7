"""The loss over a fixed sample, or over a law with finite support (then exact)."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from tutelage.arrays import of_jax
from tutelage.checks import finite_array
from tutelage.errors import TutelageError, invalid
from tutelage.instant import evaluated
from tutelage.models import Neuronwise
from tutelage.objectives.base import Sampled
from tutelage.objectives.exactness import Exactness
from tutelage.problems import Problem
from tutelage.problems.problem import checked_problem


class Empirical(Sampled):
    r"""The loss $\tfrac12\sum_n p_n(\text{student}(x_n) - y_n)^2$ over fixed samples; build one with `empirical`.

    Attributes:
        problem: The problem.
        inputs: The samples, `[sample, dim]` or `[sample, patch, dim]`.
        labels: Their labels.
        weights: The weights $p_n$, which sum to one; `None` for equal ones.
        offset: Added to the loss (the label noise of a population).
        support: Whether the samples are the whole support of the law, so that the sum is exact.
    """

    problem: Problem
    inputs: Float[Array, "sample ..."]
    labels: Float[Array, " sample"]
    weights: Float[Array, " sample"] | None
    offset: Float[Array, ""]
    support: bool = eqx.field(static=True)
    deterministic = True
    shared = False

    @property
    def exactness(self) -> Exactness:
        size = self.labels.shape[0]
        if self.support:
            return Exactness("exact sum", detail=f"over a support of {size} points")
        return Exactness("sampling", detail=f"fixed sample of {size}")

    @property
    def floor(self) -> float:
        return float(self.offset)

    @property
    def taught(self) -> bool:
        if self.problem.decay is not None:
            return False
        labels = self.problem.teacher.predict(self.target, self.inputs)
        return bool(jnp.allclose(self.labels, labels, rtol=0, atol=1e-12))

    @property
    def samples(self) -> int:
        return self.labels.shape[0]

    def drawn(self, key: PRNGKeyArray | None) -> "Empirical":
        return self

    def with_target(self, target: PyTree) -> "Empirical":
        raise TutelageError("Empirical has its labels from its teacher. Build it anew, for problem.with_teacher(...).")

    @property
    def sample(self) -> PyTree:
        return self.inputs, self.labels, self.weights

    def _neuron_curvatures(self, point: PyTree, neurons: Int[Array, " chosen"]) -> Float[Array, "chosen dim dim"]:
        student = self.problem.student
        assert isinstance(student, Neuronwise)
        residuals = student._predict(point, self.inputs) - self.labels
        size = residuals.shape[0]
        weights = jnp.full(size, 1.0 / size) if self.weights is None else self.weights
        group, inputs = student._neurons(point)[0], self.inputs
        if group.biases is not None:
            group, inputs = group.with_bias(), jnp.concatenate([inputs, jnp.ones((size, 1))], axis=1)

        def coupling(vector):
            return jnp.sum(weights * residuals * group.activation(inputs @ vector))

        return student.curvatures(point, group, neurons, jax.grad(coupling))

    def _loss(self, point: PyTree, key) -> Float[Array, ""]:
        residuals = self.problem.student._predict(point, self.inputs) - self.labels
        if self.weights is None:
            return 0.5 * jnp.mean(residuals**2) + self.offset
        return 0.5 * jnp.sum(self.weights * residuals**2) + self.offset


def empirical(problem: Problem, inputs: Any, labels: Any = None) -> Empirical:
    """The loss over a fixed sample.

    Args:
        problem: The problem.
        inputs: The sample, `[sample, dim]`, or `[sample, patch, dim]` where the models read patches.
        labels: Labels, `[sample]`; the teacher's (without noise) if left out.

    Raises:
        InvalidArgument: If shapes do not fit the problem.
    """
    problem = checked_problem(problem)
    array = finite_array("inputs", inputs)
    wanted = (*problem.input_shape(0)[1:], problem.dimension)
    if array.shape[1:] != wanted:
        raise invalid(
            "inputs",
            f"have shape (samples, {', '.join(map(str, wanted))}) for this {problem.name} problem",
            f"shape {array.shape}",
            "Put samples on the first axis",
        )
    if labels is None:
        values = evaluated(problem.teacher._predict, problem.target, array)
    else:
        values = finite_array("labels", labels, dimensions=1)
        if values.shape[0] != array.shape[0]:
            raise invalid("labels", f"have {array.shape[0]} entries", f"{values.shape[0]}", "Pass one label a sample")
    return Empirical(problem, array, of_jax(values), None, of_jax(0.0), support=False)


def over_support(problem: Problem, points: Float[Array, "atom dim"], weights: Float[Array, " atom"]) -> Empirical:
    """The population loss under a law with finite support, an exact sum."""
    labels = evaluated(problem.teacher._predict, problem.target, points)
    return Empirical(problem, points, of_jax(labels), weights, of_jax(0.5 * problem.noise**2), support=True)
