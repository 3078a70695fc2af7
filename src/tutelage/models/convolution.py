r"""One convolutional filter over non-overlapping patches, and an output layer.

The convolutional-filter paper's network is $x \mapsto \sum_j a_j\,\sigma(v\cdot Z_j)/\|v\|$ (its Equation 1) with
weight normalisation, and $\sum_j a_j\,\sigma(w\cdot Z_j)$ without.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from tutelage.activations import Activation
from tutelage.duals.special import quotient
from tutelage.models.base import Model, safe_norm


class FilterAndOutput(NamedTuple):
    """Parameters of a one-filter network: the filter, and one output weight per patch."""

    filter: Float[Array, " dim"]
    output: Float[Array, " patch"]


class Convolution(Model):
    """One filter, applied to every patch, and an output weight per patch.

    Attributes:
        activation: The activation.
        patches: Number of patches.
        normalized: Whether the filter is divided by its norm.
    """

    activation: Activation
    patches: int = eqx.field(static=True)
    normalized: bool = eqx.field(static=True, default=True)

    @property
    def shapes(self):
        return FilterAndOutput(("dim",), (self.patches,))  # type: ignore[arg-type]

    def scale(self, filter: Float[Array, " dim"]) -> Float[Array, ""]:
        """Return what the activation's output is multiplied by: one over the norm of the filter, or one."""
        return quotient(jnp.ones(()), safe_norm(filter)) if self.normalized else jnp.ones(())

    def _predict(self, parameters: FilterAndOutput, inputs: Float[Array, "batch patch dim"]) -> Float[Array, " batch"]:
        hidden = self.activation(inputs @ parameters.filter)
        return self.scale(parameters.filter) * (hidden @ parameters.output)

    def _vectors(self, parameters: FilterAndOutput) -> Float[Array, "1 dim"]:
        return parameters.filter[None]

    def _with_vectors(self, parameters: FilterAndOutput, vectors: Float[Array, "1 dim"]) -> FilterAndOutput:
        return FilterAndOutput(vectors[0], parameters.output)

    def symmetry(self, parameters: FilterAndOutput) -> None:
        return None

    def canonical(self, parameters: FilterAndOutput) -> FilterAndOutput:
        """Return a filter of norm one: its norm does not matter, or is moved to the output weights."""
        if self.activation.homogeneity != 1:
            return parameters
        norm = safe_norm(parameters.filter)
        output = parameters.output if self.normalized else parameters.output * norm
        return FilterAndOutput(parameters.filter * quotient(jnp.ones(()), norm), output)

    def redundancy(self, parameters: FilterAndOutput) -> dict[str, int]:
        return {"rescalings": int(self.activation.homogeneity == 1 and bool(jnp.any(parameters.filter != 0)))}

    def channel(self, parameters, gradient) -> dict[int, float]:
        return {}

    def contains(self, parameters: FilterAndOutput, teacher: Model, target: PyTree) -> bool:
        return True
