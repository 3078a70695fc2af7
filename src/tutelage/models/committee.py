r"""A committee of neurons $x \mapsto \sum_i \sigma(w_i\cdot x)$."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.activations import Activation
from tutelage.models.base import NeuronModel, Neurons


class Committee(NeuronModel):
    r"""The sum $x \mapsto \sum_i \sigma(w_i\cdot x)$; its parameters are the rows $w_i$ of a matrix.

    Attributes:
        activation: The activation $\sigma$.
    """

    activation: Activation
    patches = None

    @property
    def shapes(self):
        return ("neuron", "dim")

    def _neurons(self, parameters: Float[Array, "student dim"]) -> tuple[Neurons, ...]:
        return (Neurons(self.activation, parameters, jnp.ones(parameters.shape[0], parameters.dtype)),)

    def _vectors(self, parameters: Float[Array, "student dim"]) -> Float[Array, "student dim"]:
        return parameters

    def _with_vectors(
        self, parameters: Float[Array, "student dim"], vectors: Float[Array, "student other"]
    ) -> Float[Array, "student other"]:
        return vectors
