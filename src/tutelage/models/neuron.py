r"""A single neuron $x \mapsto \sigma(w\cdot x)$."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from tutelage.activations import Activation
from tutelage.errors import invalid
from tutelage.models.base import Model, Neurons, Neuronwise, Plain, Symmetry


class Neuron(Plain):
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

    def rows(self, parameters: Float[Array, " dim"]) -> Float[Array, "1 dim"]:
        return parameters[None]

    def with_rows(self, parameters, rows: Float[Array, "1 dim"]) -> Float[Array, " dim"]:
        return rows[0]

    def doubled(self, neuron: int) -> Neuronwise:
        raise invalid("objective", "be of a committee", "one of a neuron", "Use problems.committee with one student")

    def symmetry(self, parameters: Float[Array, " dim"]) -> Symmetry:
        return Symmetry(np.zeros(1, int), self.activation.parity == "even")

    def contains(self, parameters: Float[Array, " dim"], teacher: Model, target: PyTree) -> bool:
        return teacher.vectors(target).shape[0] == 1
