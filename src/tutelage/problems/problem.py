"""What a problem is: a student model, a fixed teacher, the law of the inputs and the label noise."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from tutelage._html import facts
from tutelage.arrays import of_jax
from tutelage.checks import LARGEST, random_key
from tutelage.errors import invalid
from tutelage.inputs import Inputs
from tutelage.models import Model, Neuronwise
from tutelage.modules import Module
from tutelage.points import Template, fitted, template_of


class Batch(NamedTuple):
    """Samples without their teacher.

    Attributes:
        inputs: Inputs, `[batch, dim]` or `[batch, patch, dim]`.
        errors: What noise adds to their labels.
    """

    inputs: Float[Array, "batch ..."]
    errors: Float[Array, " batch"]


class BatchSource(Module):
    """What draws batches: no student and no teacher has a part in it, so that one program serves them all.

    Attributes:
        inputs: Law of one input, or of one patch.
        noise: Standard deviation of the label noise.
        shape: The shape of a batch of inputs without the last axis.
    """

    inputs: Inputs
    noise: float | Float[Array, ""]
    shape: tuple[int, ...] = eqx.field(static=True)

    def draw(self, key: PRNGKeyArray) -> Batch:
        """Draw inputs, and the errors of their labels."""
        input_key, noise_key = jax.random.split(key)
        inputs = self.inputs.sample(input_key, self.shape)
        if isinstance(self.noise, float) and self.noise == 0:
            # Random numbers that count for nothing would take half the time to compile. An array is not looked at:
            # inside of a compiled function of a user's own it cannot be.
            return Batch(inputs, jnp.zeros(self.shape[0]))
        return Batch(inputs, self.noise * jax.random.normal(noise_key, self.shape[:1]))


class Problem(Module):
    r"""A student model, a teacher, the law of the inputs and the label noise.

    Labels are $y = \text{teacher}(x) + \varepsilon$ with $\varepsilon \sim N(0, \text{noise}^2)$. Build problems with
    the constructors of `tutelage.problems`.

    Attributes:
        name: The family of problems it belongs to.
        student: The student's model.
        teacher: The teacher's model.
        target: The teacher's parameters.
        inputs: Law of one input, or of one patch where the models read patches (which are then independent).
        noise: Standard deviation of the label noise.
        template: What a student's parameters look like.
        decay: Half of these numbers times the squared norms of a student's parts are added to its loss; one number per
            array of the template, or `None`.
    """

    name: str = eqx.field(static=True)
    student: Model
    teacher: Model
    target: PyTree
    inputs: Inputs
    noise: float | Float[Array, ""]
    template: Template = eqx.field(static=True)
    decay: tuple[Float[Array, ""], ...] | None = None

    def penalty(self, point: PyTree) -> Float[Array, ""]:
        """Return what weight decay adds to the loss of a student."""
        parts = zip(self.decay or (), jax.tree.leaves(point), strict=self.decay is not None)
        return sum((0.5 * decay * jnp.sum(leaf**2) for decay, leaf in parts), start=jnp.zeros(()))

    @property
    def biased(self) -> bool:
        """Whether the student's or the teacher's neurons have biases."""
        return any(isinstance(model, Neuronwise) and model.biased for model in (self.student, self.teacher))

    @property
    def dimension(self) -> int:
        """Dimension of one input, or of one patch."""
        return self.inputs.dimension

    @property
    def parameters(self) -> int:
        """Number of real parameters of a student."""
        return sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(self.template_tree()))

    def template_tree(self) -> PyTree:
        """Return the shapes of a student's parameters, as a pytree of `jax.ShapeDtypeStruct`."""
        treedef, shapes = self.template
        return jax.tree.unflatten(treedef, [jax.ShapeDtypeStruct(shape, jnp.float64) for shape in shapes])

    def zero(self) -> PyTree:
        """Return the student whose parameters are all zero, as NumPy arrays."""
        return jax.tree.map(lambda leaf: np.zeros(leaf.shape), self.template_tree())

    def input_shape(self, batch: int) -> tuple[int, ...]:
        """Return the shape of a batch of inputs without the last axis."""
        return (batch,) if self.student.patches is None else (batch, self.student.patches)

    def sample(self, key: PRNGKeyArray, batch: int) -> tuple[Float[Array, "batch ..."], Float[Array, " batch"]]:
        """Draw a batch of inputs and noisy labels.

        Args:
            key: Random key.
            batch: Number of samples.

        Returns:
            Inputs, `[batch, dim]` or `[batch, patch, dim]`, and labels.
        """
        drawn = self.source(batch).draw(random_key("key", key))
        return drawn.inputs, self.labels(drawn)

    def source(self, batch: int) -> BatchSource:
        """Return what draws batches of a number of samples."""
        return BatchSource(self.inputs, self.noise, self.input_shape(batch))

    def labels(self, drawn: Batch) -> Float[Array, " batch"]:
        """Return the labels that the teacher gives a batch, its errors included."""
        return self.teacher.predict(self.target, drawn.inputs) + drawn.errors

    def with_teacher(self, target: PyTree) -> "Problem":
        """Return this problem with another teacher of the same shapes.

        Args:
            target: The teacher's parameters; they may be traced, so that one compiled program serves many teachers.

        Raises:
            InvalidArgument: If the shapes are others, or a number that can be looked at is not finite.
        """
        fitting = self._taught("target", target, template_of(self.target))
        return eqx.tree_at(lambda problem: problem.target, self, jax.tree.map(of_jax, fitting))

    def teachers(self, targets: PyTree | None, argument: str = "teachers") -> PyTree | None:
        """Return the parameters of several teachers, runs first, as float64 arrays, or raise if they do not fit.

        Args:
            targets: The parameters; nothing, if there are none.
            argument: Name to use in the error.
        """
        return None if targets is None else self._taught(argument, targets, template_of(self.target).batched())

    def _taught(self, argument: str, target: PyTree, template: Template) -> PyTree:
        owner = f"the teacher of this {self.name} problem"
        return fitted(argument, target, template, owner=owner, largest=LARGEST)

    def __repr__(self) -> str:
        return f"Problem({self.summary()})"

    def summary(self) -> str:
        """Return what it is in a line: family, activation, shapes, law and noise."""
        activation = getattr(self.student, "activation", None)
        noise = "" if isinstance(self.noise, Tracer) or not self.noise else f"noise {self.noise:g}"
        shapes = f"student {_shapes_of(self.template_tree())}", f"teacher {_shapes_of(self.target)}"
        decay = "" if self.decay is None else "weight decay"
        parts = self.name, "" if activation is None else activation.name, *shapes, self.inputs.name, noise, decay
        return ", ".join(part for part in parts if part)

    def _repr_html_(self) -> str:
        return facts(
            f"{self.name} problem",
            {
                "student": f"{type(self.student).__name__}, {_shapes_of(self.template_tree())}",
                "teacher": f"{type(self.teacher).__name__}, {_shapes_of(self.target)}",
                "parameters": self.parameters,
                "inputs": self.inputs.name,
                "patches": self.student.patches,
                "label noise": float(self.noise) or None,
                "weight decay": None if self.decay is None else ", ".join(f"{float(rate):g}" for rate in self.decay),
            },
        )

    def point(self, point: PyTree, argument: str = "point", largest: float = LARGEST) -> PyTree:
        """Return a student's parameters as float64 arrays, or raise if they do not fit this problem.

        Args:
            point: Parameters of one student; plain arrays, or what the constructor's documentation says. They may be
                traced: then only shapes and types are checked.
            argument: Name to use in the error.
            largest: Numbers beyond this are refused, unless they are traced.
        """
        return fitted_point(self, point, argument, largest=largest)

    def points(self, points: PyTree, argument: str = "starts") -> PyTree:
        """Return a batch of students, runs first, as float64 arrays, or raise if they do not fit."""
        return fitted_point(self, points, argument, self.template.batched())


# A function and not a method: objectives call it at every evaluation, and a method of a module takes longer than that.
def fitted_point(
    problem: Problem, point: PyTree, argument: str, template: Template | None = None, largest: float = LARGEST
) -> PyTree:
    """Return a student's parameters, or (by their template) those of several; see `Problem.point`."""
    return fitted(
        argument,
        point,
        problem.template if template is None else template,
        owner=f"this {problem.name} problem",
        remedy=f"See what a student is in the documentation of tutelage.problems.{problem.name}",
        largest=largest,
    )


def checked_problem(problem: Any) -> Problem:
    """Return what a start or an objective is asked for, or raise if it is no problem."""
    if not isinstance(problem, Problem):
        raise invalid("problem", "be a Problem", repr(problem), "Build one with a constructor of tutelage.problems")
    return problem


def _shapes_of(point: PyTree) -> str:
    return " and ".join(" × ".join(map(str, jnp.shape(leaf))) or "a number" for leaf in jax.tree.leaves(point))
