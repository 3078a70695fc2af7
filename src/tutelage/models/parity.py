r"""Sums of products of neurons over patches, $x \mapsto \sum_{r} \prod_{l \le r} \sigma(w_l\cdot x_l)$.

Section 4 of the weight-sharing paper, with $\sigma = \operatorname{erf}$ and the degrees $(1, k)$: a smooth parity.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.activations import Activation
from tutelage.models.patchwise import Patchwise


class Parity(Patchwise):
    r"""The function $x \mapsto \sum_{r \in \text{degrees}} \prod_{l=1}^{r} \sigma(w_l\cdot x_l)$.

    Attributes:
        activation: The activation $\sigma$.
        patches: Number of patches.
        degrees: How many of the first patches each product takes, increasing.
        sharing: Whether all patches share one vector.
    """

    activation: Activation
    patches: int = eqx.field(static=True)
    degrees: tuple[int, ...] = eqx.field(static=True)
    sharing: bool = eqx.field(static=True)

    def _predict(self, parameters, inputs: Float[Array, "batch patch dim"]) -> Float[Array, " batch"]:
        hidden = self.activation(jnp.einsum("bpd,pd->bp", inputs, self.rows(parameters)))
        products = jnp.cumprod(hidden, axis=1)
        return jnp.sum(jnp.stack([products[:, degree - 1] for degree in self.degrees]), axis=0)
