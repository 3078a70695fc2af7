"""What a problem is: a student model, a fixed teacher, the law of the inputs and the label noise."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from tutelage._html import facts
from tutelage.checks import finite_array
from tutelage.errors import invalid
from tutelage.inputs import Inputs
from tutelage.models import Model


class Problem(eqx.Module):
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
        template: The shapes of a student's parameters.
    """

    name: str = eqx.field(static=True)
    student: Model
    teacher: Model
    target: PyTree
    inputs: Inputs
    noise: float
    template: Any = eqx.field(static=True)

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
        input_key, noise_key = jax.random.split(key)
        inputs = self.inputs.sample(input_key, self.input_shape(batch))
        labels = self.teacher.predict(self.target, inputs)
        if not isinstance(self.noise, Tracer) and self.noise == 0:
            return inputs, labels  # random numbers that count for nothing would take half the time to compile
        return inputs, labels + self.noise * jax.random.normal(noise_key, (batch,))

    def with_teacher(self, target: PyTree) -> "Problem":
        """Return this problem with another teacher of the same shapes.

        Args:
            target: The teacher's parameters; they may be traced, so that one compiled program serves many teachers.

        Raises:
            InvalidArgument: If the shapes are others, or a number that can be looked at is not finite.
        """
        leaves, received = jax.tree.flatten(target)
        own, wanted = jax.tree.flatten(self.target)
        if received != wanted or [jnp.shape(leaf) for leaf in leaves] != [jnp.shape(leaf) for leaf in own]:
            raise invalid(
                "target",
                f"have the shapes of this problem's teacher, {_shapes_of(self.target)}",
                _shapes_of(target),
                "Build another problem for a teacher of other shapes",
            )
        arrays = [
            jnp.asarray(leaf, jnp.float64) if isinstance(leaf, Tracer) else finite_array("target", leaf)
            for leaf in leaves
        ]
        return eqx.tree_at(lambda problem: problem.target, self, jax.tree.unflatten(wanted, arrays))

    def _repr_html_(self) -> str:
        return facts(
            f"{self.name} problem",
            {
                "student": f"{type(self.student).__name__}, {_shapes_of(self.template_tree())}",
                "teacher": f"{type(self.teacher).__name__}, {_shapes_of(self.target)}",
                "parameters": self.parameters,
                "inputs": self.inputs.name,
                "patches": self.student.patches,
                "label noise": self.noise or None,
            },
        )

    def point(self, point: PyTree, argument: str = "point") -> PyTree:
        """Return a student's parameters as float64 arrays, or raise if they do not fit this problem.

        Args:
            point: Parameters of one student; plain arrays, or what the constructor's documentation says.
            argument: Name to use in the error.
        """
        return self._checked(point, argument, batched=False)

    def points(self, points: PyTree, argument: str = "starts") -> PyTree:
        """Return a batch of students, runs first, as float64 arrays, or raise if they do not fit."""
        return self._checked(points, argument, batched=True)

    def _checked(self, point: PyTree, argument: str, *, batched: bool) -> PyTree:
        treedef, shapes = self.template
        leaves, received = jax.tree.flatten(point)
        if treedef == jax.tree.structure(0):
            leaves = [point]  # one array is meant: lists of numbers will do
        elif isinstance(point, (tuple, list)) and len(point) == len(shapes):
            leaves = list(point)  # several are meant, one an entry
        elif len(leaves) != len(shapes):
            parts = " and ".join(str(shape) for shape in shapes)
            raise invalid(
                argument,
                f"have {len(shapes)} arrays, of shapes {parts}{' behind a leading axis for the runs' * batched}",
                f"{len(leaves)}" if received != jax.tree.structure(0) else "one array",
                f"See what a student is in the documentation of tutelage.problems.{self.name}",
            )
        arrays = []
        for leaf, shape in zip(leaves, shapes, strict=True):
            array = finite_array(argument, leaf)
            wanted = ("runs", *shape) if batched else shape
            fits = array.shape[1:] == shape and array.ndim == len(shape) + 1 if batched else array.shape == shape
            if not fits:
                text = "(" + ", ".join(str(size) for size in wanted) + ("," if len(wanted) == 1 else "") + ")"
                raise invalid(
                    argument,
                    f"have shape {text} for this {self.name} problem",
                    f"shape {array.shape}",
                    "Add a leading axis for the runs" if batched and array.shape == shape else "Reshape it",
                )
            arrays.append(array)
        return jax.tree.unflatten(treedef, arrays)


def checked_problem(problem: Any) -> Problem:
    """Return what a start or an objective is asked for, or raise if it is no problem."""
    if not isinstance(problem, Problem):
        raise invalid("problem", "be a Problem", repr(problem), "Build one with a constructor of tutelage.problems")
    return problem


def _shapes_of(point: PyTree) -> str:
    return " and ".join(" × ".join(map(str, jnp.shape(leaf))) or "a number" for leaf in jax.tree.leaves(point))


def template_of(point: PyTree) -> tuple[Any, tuple[tuple[int, ...], ...]]:
    """Return the hashable description of a pytree of arrays or shapes."""
    leaves, treedef = jax.tree.flatten(point, is_leaf=lambda node: type(node) is tuple)
    return treedef, tuple(tuple(leaf) if type(leaf) is tuple else tuple(leaf.shape) for leaf in leaves)
