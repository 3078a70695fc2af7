r"""A single neuron $x \mapsto \sigma(w\cdot x)$."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.activations import Activation
from tutelage.models.base import NeuronModel, Neurons


class Neuron(NeuronModel):
    r"""The neuron $x \mapsto \sigma(w\cdot x)$; its parameter is the vector $w$.

    Attributes:
        activation: The activation $\sigma$.
    """

    activation: Activation
    patches = None

    @property
    def shapes(self):
        return ("dim",)

    def _neurons(self, parameters: Float[Array, " dim"]) -> tuple[Neurons, ...]:
        return (Neurons(self.activation, parameters[None], jnp.ones(1)),)

    def _vectors(self, parameters: Float[Array, " dim"]) -> Float[Array, "1 dim"]:
        return parameters[None]

    def _with_vectors(self, parameters: Float[Array, " dim"], vectors: Float[Array, "1 dim"]) -> Float[Array, " dim"]:
        return vectors[0]
