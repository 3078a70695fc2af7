"""What the models of the weight-sharing paper have in common: one vector for all patches, or one a patch."""

import abc
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from tutelage.models.base import Model


class Patchwise(Model):
    """A model with one weight vector a patch, or one vector shared by all patches.

    Attributes:
        sharing: Whether all patches share one vector. Parameters are then that vector, else one row a patch.
    """

    if TYPE_CHECKING:  # see Activation
        patches: ClassVar[int]
        sharing: ClassVar[bool]
    else:
        patches: eqx.AbstractVar[int]
        sharing: eqx.AbstractVar[bool]

    def rows(self, parameters: Float[Array, "..."]) -> Float[Array, "patch dim"]:
        """Return one weight vector a patch, whether shared or not."""
        if self.sharing:
            return jnp.broadcast_to(parameters, (self.patches, parameters.shape[-1]))
        return parameters

    @abc.abstractmethod
    def predict(self, parameters: PyTree, inputs: Float[Array, "batch patch dim"]) -> Float[Array, " batch"]:
        """Return the model's outputs."""

    def vectors(self, parameters: Float[Array, "..."]) -> Float[Array, "vector dim"]:
        return parameters[None] if self.sharing else parameters

    def with_vectors(self, parameters, vectors: Float[Array, "vector dim"]) -> Float[Array, "..."]:
        return vectors[0] if self.sharing else vectors
