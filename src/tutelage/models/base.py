"""What a model is: an architecture, its parameters and the function it computes."""

import abc
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from tutelage.activations import Activation
from tutelage.duals.special import root
from tutelage.points import Shape, Sizes, fitted, fitted_array, layout_of


class Neurons(NamedTuple):
    r"""A group of neurons $x \mapsto \sum_i c_i\,\sigma(w_i\cdot x)$ with one activation."""

    activation: Activation
    weights: Float[Array, "neuron dim"]
    coefficients: Float[Array, " neuron"]


class Model(eqx.Module):
    """An architecture. Parameters are a pytree that the model does not hold but is given.

    The public methods check what they are given once, here; a model supplies the formulas (the methods whose names
    start with an underscore) and says what its parameters look like.

    Attributes:
        patches: Number of input patches the model reads; `None` if it reads one plain input.
    """

    if TYPE_CHECKING:  # see Activation
        patches: ClassVar[int | None]
    else:
        patches: eqx.AbstractVar[int | None]

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
        return self._predict(parameters, fitted_array("inputs", inputs, shape, sizes, owner="these parameters"))

    def vectors(self, parameters: PyTree) -> Float[Array, "vector dim"]:
        """Return the parameters that live in the space of the inputs, one vector a row."""
        return self._vectors(self._fitted(parameters))

    def with_vectors(self, parameters: PyTree, vectors: Float[Array, "vector dim"]) -> PyTree:
        """Return the parameters with other vectors in the space of the inputs (of any dimension)."""
        parameters = self._fitted(parameters)
        shape = (self._vectors(parameters).shape[0], "other")
        return self._with_vectors(parameters, fitted_array("vectors", vectors, shape, owner="these parameters"))

    def _fitted(self, parameters: PyTree, sizes: Sizes | None = None) -> PyTree:
        return fitted("parameters", parameters, layout_of(self.shapes), sizes, owner=f"a {type(self).__name__}")


class NeuronModel(Model):
    """A model that is a sum of neurons, possibly after a change of variables of its parameters."""

    @abc.abstractmethod
    def _neurons(self, parameters: PyTree) -> tuple[Neurons, ...]:
        """Return the neurons; the parameters have been checked."""

    def neurons(self, parameters: PyTree) -> tuple[Neurons, ...]:
        """Return the neurons whose sum the model computes; differentiable in the parameters."""
        return self._neurons(self._fitted(parameters))

    def _predict(self, parameters: PyTree, inputs: Float[Array, "batch dim"]) -> Float[Array, " batch"]:
        outputs: Any = 0.0
        for group in self._neurons(parameters):
            outputs = outputs + group.activation(inputs @ group.weights.T) @ group.coefficients
        return outputs


def safe_norm(vectors: Float[Array, "*batch dim"]) -> Float[Array, "*batch"]:
    """Return Euclidean norms along the last axis, with derivative zero at the zero vector."""
    return root(jnp.sum(vectors * vectors, axis=-1))
