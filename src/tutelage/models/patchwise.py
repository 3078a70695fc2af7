"""What the models of the weight-sharing paper have in common: one vector for all patches, or one a patch."""

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from tutelage.models.base import Model, Symmetry, Unambiguous

if TYPE_CHECKING:  # a type checker would take an abstract variable for an argument of the constructor
    from typing import ClassVar as Abstract
else:
    from equinox import AbstractVar as Abstract


class Patchwise(Unambiguous):
    """A model with one weight vector per patch, or one vector shared by all patches.

    Attributes:
        sharing: Whether all patches share one vector. Parameters are then that vector, else one row per patch.
    """

    patches: Abstract[int]
    sharing: Abstract[bool]

    @property
    def shapes(self):
        return ("dim",) if self.sharing else (self.patches, "dim")

    def rows(self, parameters: Float[Array, "..."]) -> Float[Array, "patch dim"]:
        """Return one weight vector per patch, whether shared or not."""
        if self.sharing:
            return jnp.broadcast_to(parameters, (self.patches, parameters.shape[-1]))
        return parameters

    def _vectors(self, parameters: Float[Array, "..."]) -> Float[Array, "vector dim"]:
        return parameters[None] if self.sharing else parameters

    def _with_vectors(self, parameters, vectors: Float[Array, "vector dim"]) -> Float[Array, "..."]:
        return vectors[0] if self.sharing else vectors

    def symmetry(self, parameters: Float[Array, "..."]) -> Symmetry:
        # Patches are not exchanged, but the inputs of each may be rotated.
        return Symmetry(np.arange(1 if self.sharing else self.patches), patchwise=True)

    def contains(self, parameters: Float[Array, "..."], teacher: Model, target: PyTree) -> bool:
        return True
