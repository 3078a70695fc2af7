"""Sums of the terms of a loss, infinite where one of them overflows."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree


@jax.custom_jvp
def loss_total(terms: tuple[Float[Array, ""], ...], point: PyTree) -> Float[Array, ""]:
    """Return the sum of terms of a loss; infinity if a term overflows, where a difference would not be a number.

    Args:
        terms: The terms. They are finite at a finite point unless they overflow.
        point: The student. What is not finite in it is passed on as it is.
    """
    total: Any = sum(terms)
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(point)]))
    return jnp.where(finite & ~jnp.isfinite(total), jnp.inf, total)


@loss_total.defjvp
def _loss_total_jvp(primals, tangents):
    # The derivative of the plain sum: an overflow must not look like a loss that does not change.
    tangent: Any = sum(tangents[0])
    return loss_total(*primals), tangent
