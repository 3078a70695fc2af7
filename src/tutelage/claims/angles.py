"""The angle between two vectors, as claims need it: accurate, and smooth to differentiate."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def angle(first: Float[Array, " dim"], second: Float[Array, " dim"]) -> Float[Array, ""]:
    """The angle between two vectors, accurate near zero and near a half turn, and smooth to differentiate."""
    one, other = first / jnp.linalg.norm(first), second / jnp.linalg.norm(second)
    apart = jnp.sqrt(jnp.sum((one - other) ** 2) + 1e-300)
    together = jnp.sqrt(jnp.sum((one + other) ** 2) + 1e-300)
    return 2 * jnp.arctan2(apart, together)
