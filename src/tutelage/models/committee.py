r"""A committee of neurons $x \mapsto \sum_i \sigma(w_i\cdot x)$."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from tutelage.activations import Activation
from tutelage.models.base import Model, Neurons, Plain, Symmetry


class Committee(Plain):
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

    def rows(self, parameters: Float[Array, "student dim"]) -> Float[Array, "student dim"]:
        return parameters

    def with_rows(self, parameters, rows: Float[Array, "other dim"]) -> Float[Array, "other dim"]:
        return rows

    def doubled(self, neuron: int) -> "Committee":
        return self

    def symmetry(self, parameters: Float[Array, "student dim"]) -> Symmetry:
        return Symmetry(np.zeros(parameters.shape[0], int), self.activation.parity == "even")

    def contains(self, parameters: Float[Array, "student dim"], teacher: Model, target: PyTree) -> bool:
        return parameters.shape[0] >= teacher.vectors(target).shape[0]
