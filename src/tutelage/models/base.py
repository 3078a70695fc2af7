"""What a model is: an architecture, its parameters and the function it computes."""

import abc
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import equinox as eqx
from jaxtyping import Array, Float, PyTree

from tutelage.activations import Activation
from tutelage.duals.norms import safe_norm as safe_norm


class Neurons(NamedTuple):
    r"""A group of neurons $x \mapsto \sum_i c_i\,\sigma(w_i\cdot x)$ with one activation."""

    activation: Activation
    weights: Float[Array, "neuron dim"]
    coefficients: Float[Array, " neuron"]


class Model(eqx.Module):
    """An architecture. Parameters are a pytree that the model does not hold but is given.

    Attributes:
        patches: Number of input patches the model reads; `None` if it reads one plain input.
    """

    if TYPE_CHECKING:  # see Activation
        patches: ClassVar[int | None]
    else:
        patches: eqx.AbstractVar[int | None]

    @abc.abstractmethod
    def predict(self, parameters: PyTree, inputs: Float[Array, "batch ..."]) -> Float[Array, " batch"]:
        """Return the model's outputs.

        Args:
            parameters: Parameters of one model.
            inputs: A batch of inputs, `[batch, dim]`, or `[batch, patch, dim]` if the model reads patches.
        """

    @abc.abstractmethod
    def vectors(self, parameters: PyTree) -> Float[Array, "vector dim"]:
        """Return the parameters that live in the space of the inputs, one vector a row."""

    @abc.abstractmethod
    def with_vectors(self, parameters: PyTree, vectors: Float[Array, "vector dim"]) -> PyTree:
        """Return the parameters with other vectors in the space of the inputs (of any dimension)."""


class NeuronModel(Model):
    """A model that is a sum of neurons, possibly after a change of variables of its parameters."""

    @abc.abstractmethod
    def neurons(self, parameters: PyTree) -> tuple[Neurons, ...]:
        """Return the neurons whose sum the model computes; differentiable in the parameters."""

    def predict(self, parameters: PyTree, inputs: Float[Array, "batch dim"]) -> Float[Array, " batch"]:
        outputs: Any = 0.0
        for group in self.neurons(parameters):
            outputs = outputs + group.activation(inputs @ group.weights.T) @ group.coefficients
        return outputs
