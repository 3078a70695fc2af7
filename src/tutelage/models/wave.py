r"""The sum of a low and a high wave, $x \mapsto c\,w_1\cdot x_1 + \cos(\sum_i w_i\cdot x_i)$.

Section 3 of the weight-sharing paper.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.models.patchwise import Patchwise


class Wave(Patchwise):
    r"""The wave $x \mapsto c\,w_1\cdot x_1 + \cos(\sum_i w_i\cdot x_i)$.

    Attributes:
        slope: The factor $c$ of the linear part.
        patches: Number of patches.
        sharing: Whether all patches share one vector.
    """

    slope: float
    patches: int = eqx.field(static=True)
    sharing: bool = eqx.field(static=True)

    def _predict(self, parameters, inputs: Float[Array, "batch patch dim"]) -> Float[Array, " batch"]:
        products = jnp.einsum("bpd,pd->bp", inputs, self.rows(parameters))
        return self.slope * products[:, 0] + jnp.cos(jnp.sum(products, axis=1))
