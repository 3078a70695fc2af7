"""What a model is: an architecture, its parameters and the function it computes."""

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from tutelage.activations import Activation
from tutelage.duals.norms import safe_norm as safe_norm
from tutelage.instant import evaluated, map_rows
from tutelage.modules import Module
from tutelage.points import Shape, Sizes, fitted, fitted_array, template_of

if TYPE_CHECKING:  # a type checker would take an abstract variable for an argument of the constructor
    from typing import ClassVar as Abstract
else:
    from equinox import AbstractVar as Abstract


class Neurons(NamedTuple):
    r"""A group of neurons $x \mapsto \sum_i c_i\,\sigma(w_i\cdot x + b_i)$ with one activation.

    Attributes:
        activation: The activation $\sigma$.
        weights: The vectors $w_i$.
        coefficients: The numbers $c_i$.
        biases: The biases $b_i$; `None` for none.
    """

    activation: Activation
    weights: Float[Array, "neuron dim"]
    coefficients: Float[Array, " neuron"]
    biases: Float[Array, " neuron"] | None = None

    def with_bias(self) -> "Neurons":
        """Return the neurons with vectors $(w_i, b_i)$, which meet the inputs $(x, 1)$."""
        biases = jnp.zeros(self.weights.shape[0]) if self.biases is None else self.biases
        return self._replace(weights=jnp.concatenate([self.weights, biases[:, None]], axis=1), biases=None)


class Symmetry(NamedTuple):
    """Which changes of a student's vectors leave its function, or its law under rotated inputs, as they are.

    Attributes:
        labels: A label for each vector: those with equal labels may be exchanged.
        even: Whether the sign of a vector does not matter.
        patchwise: Whether each vector reads inputs of its own, which may be rotated apart from the others.
        numbers: What each vector takes along when it is exchanged, such as its bias; one row per vector.
        biased: Whether the first of the numbers is a bias, whose sign changes with that of its vector.
    """

    labels: Int[np.ndarray, " vector"]
    even: bool = False
    patchwise: bool = False
    numbers: Float[np.ndarray, "vector number"] | None = None
    biased: bool = False


class Model(Module):
    """An architecture. Parameters are a pytree that the model does not hold but is given.

    The public methods check what they are given once, here; a model supplies the formulas (the methods whose names
    start with an underscore) and says what its parameters look like.

    Attributes:
        patches: Number of input patches the model reads; `None` if it reads one plain input.
    """

    patches: Abstract[int | None]

    @property
    @abc.abstractmethod
    def shapes(self) -> PyTree[Shape]:
        """The shapes of the parameters, as a pytree of tuples of sizes and names; `"dim"` is the input's dimension."""

    @abc.abstractmethod
    def _predict(self, parameters: PyTree, inputs: Float[Array, "batch ..."]) -> Float[Array, " batch"]:
        """Return the model's outputs; parameters and inputs have been checked."""

    @abc.abstractmethod
    def _vectors(self, parameters: PyTree) -> Float[Array, "vector dim"]:
        """Return the vectors among the parameters, which have been checked."""

    @abc.abstractmethod
    def _with_vectors(self, parameters: PyTree, vectors: Float[Array, "vector dim"]) -> PyTree:
        """Return the parameters with other vectors; both have been checked."""

    @abc.abstractmethod
    def symmetry(self, parameters: PyTree) -> Symmetry | None:
        """Return the symmetries of the vectors; `None` where the vectors are not the whole student."""

    @abc.abstractmethod
    def canonical(self, parameters: PyTree) -> PyTree:
        """Return the student that stands for all with its function that rescalings and changes of signs make of it."""

    @abc.abstractmethod
    def redundancy(self, parameters: PyTree) -> dict[str, int]:
        """Return the numbers of independent directions of the continuous changes that `canonical` undoes, by name."""

    @abc.abstractmethod
    def contains(self, parameters: PyTree, teacher: "Model", target: PyTree) -> bool:
        """Whether some student of these shapes is known to compute the function of a teacher of the same family."""

    @abc.abstractmethod
    def channel(self, parameters: PyTree, gradient: Callable[[PyTree], PyTree]) -> dict[int, float]:
        """Return neurons that run away together while the loss falls, with their output weights; none where none do.

        Args:
            parameters: A student.
            gradient: The gradient of the loss, as a function of a student.
        """

    def predict(self, parameters: PyTree, inputs: Float[Array, "batch ..."]) -> Float[Array, " batch"]:
        """Return the model's outputs.

        Args:
            parameters: Parameters of one model.
            inputs: A batch of inputs, `[batch, dim]`, or `[batch, patch, dim]` if the model reads patches.

        Raises:
            InvalidArgument: If parameters or inputs do not fit the model, or each other.
        """
        sizes: Sizes = {}
        parameters = self._fitted(parameters, sizes)
        shape = ("batch", "dim") if self.patches is None else ("batch", self.patches, "dim")
        inputs = fitted_array("inputs", inputs, shape, sizes, owner="these parameters")
        return evaluated(self._predict, parameters, inputs)

    def vectors(self, parameters: PyTree) -> Float[Array, "vector dim"]:
        """Return the parameters that live in the space of the inputs, one vector per row."""
        return evaluated(self._vectors, self._fitted(parameters))

    def with_vectors(self, parameters: PyTree, vectors: Float[Array, "vector dim"]) -> PyTree:
        """Return the parameters with other vectors in the space of the inputs (of any dimension)."""
        parameters = self._fitted(parameters)
        shape = (evaluated(self._vectors, parameters).shape[0], "other")
        vectors = fitted_array("vectors", vectors, shape, owner="these parameters")
        return evaluated(self._with_vectors, parameters, vectors)

    def _fitted(self, parameters: PyTree, sizes: Sizes | None = None) -> PyTree:
        return fitted("parameters", parameters, template_of(self.shapes), sizes, owner=f"a {type(self).__name__}")


class Unambiguous(Model):
    """A model whose students compute other functions, unless vectors are exchanged, and do not run away."""

    def canonical(self, parameters: PyTree) -> PyTree:
        return parameters

    def redundancy(self, parameters: PyTree) -> dict[str, int]:
        return {}

    def channel(self, parameters: PyTree, gradient: Callable[[PyTree], PyTree]) -> dict[int, float]:
        return {}


class NeuronModel(Model):
    """A model that is a sum of neurons, possibly after a change of variables of its parameters."""

    @abc.abstractmethod
    def _neurons(self, parameters: PyTree) -> tuple[Neurons, ...]:
        """Return the neurons; the parameters have been checked."""

    def neurons(self, parameters: PyTree) -> tuple[Neurons, ...]:
        """Return the neurons whose sum the model computes; differentiable in the parameters."""
        return evaluated(self._neurons, self._fitted(parameters))

    def _predict(self, parameters: PyTree, inputs: Float[Array, "batch dim"]) -> Float[Array, " batch"]:
        outputs: Any = 0.0
        for group in self._neurons(parameters):
            arguments = inputs @ group.weights.T
            arguments = arguments if group.biases is None else arguments + group.biases
            outputs = outputs + group.activation(arguments) @ group.coefficients
        return outputs


class Neuronwise(NeuronModel):
    r"""A sum of neurons $c_i\,\sigma(u(w_i)\cdot x)$, each with a row $w_i$ of numbers of its own, its bias among them.

    Attributes:
        activation: The activation $\sigma$.
        biased: Whether neurons have biases.
        fixed_coefficients: Whether the coefficients of the neurons do not depend on the parameters.
        degree: Degree of homogeneity of a neuron in what is shared out when it is split; `None` where it cannot be.
        plain: Whether $u(w) = w$; else $u$ is smooth, but for second derivatives at zero.
    """

    activation: Abstract[Activation]
    biased: Abstract[bool]
    fixed_coefficients: Abstract[bool]
    degree: Abstract[int | None]
    plain: Abstract[bool]

    @abc.abstractmethod
    def rows(self, parameters: PyTree) -> Float[Array, "neuron row"]:
        """Return the rows $w_i$ of the neurons, without those of other terms."""

    @abc.abstractmethod
    def with_rows(self, parameters: PyTree, rows: Float[Array, "neuron row"]) -> PyTree:
        """Return the parameters with other neurons, of any number where nothing else is learned."""

    @abc.abstractmethod
    def reordered(self, parameters: PyTree, order: Int[np.ndarray, " neuron"]) -> PyTree:
        """Return the parameters with the neurons in another order."""

    @abc.abstractmethod
    def weights(self, rows: Float[Array, "*neuron row"]) -> Float[Array, "*neuron row"]:
        """Return the vectors $u(w)$ that are multiplied with the inputs."""

    @abc.abstractmethod
    def rows_of(self, weights: Float[Array, "*neuron row"]) -> Float[Array, "*neuron row"]:
        """Return the rows with the given $u(w)$, the inverse of `weights`."""

    @abc.abstractmethod
    def doubled(self, neuron: int) -> "Neuronwise":
        """Return the model with a neuron more, a copy of this one that stands next to it.

        Raises:
            InvalidArgument: If the model has one neuron only.
        """

    def curvatures(
        self,
        parameters: PyTree,
        group: Neurons,
        neurons: Int[Array, " chosen"],
        gradient: Callable[[Float[Array, " dim"]], Float[Array, " dim"]],
    ) -> Float[Array, "chosen row row"]:
        """Return the second derivatives of a function of each neuron's vector $u(w)$ in its row, times its coefficient.

        They are not a number at a zero row, unless $u(w) = w$.

        Args:
            parameters: A student.
            group: Its neurons, with their biases among their vectors where there are any.
            neurons: Which of them.
            gradient: The gradient of the function.
        """
        rows = self.rows(parameters)[neurons]

        def by_row(row, rest):
            vector, back = jax.vjp(lambda row: jnp.concatenate([self.weights(row), rest]), row)
            return back(gradient(vector))[0]

        # A bias that is not learned stands behind the row.
        pairs = rows, group.weights[neurons, rows.shape[1] :]
        blocks = map_rows(lambda pair: jax.jacfwd(by_row)(*pair), pairs)
        blocks = jnp.asarray(group.coefficients)[neurons, None, None] * blocks
        zero = jnp.all(rows == 0, axis=-1) & (not self.plain)
        return jnp.where(zero[:, None, None], jnp.nan, 0.5 * (blocks + jnp.swapaxes(blocks, 1, 2)))
