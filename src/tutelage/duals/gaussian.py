"""From weight vectors to Gaussian pairs and back: what every dual under a Gaussian law shares."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class GaussianPair(NamedTuple):
    """Means, variances and covariance of two jointly Gaussian numbers."""

    mu: Float[Array, "..."]
    nu: Float[Array, "..."]
    a: Float[Array, "..."]
    b: Float[Array, "..."]
    c: Float[Array, "..."]

    def swapped(self) -> "GaussianPair":
        """Return the pair in the other order."""
        return GaussianPair(self.nu, self.mu, self.b, self.a, self.c)


class Frame(eqx.Module):
    r"""A Gaussian law $N(m, LL^\top)$ as it acts on weight vectors.

    Attributes:
        mean: The mean $m$; `None` for zero.
        factor: The factor $L$; `None` for the identity.
    """

    mean: Float[Array, " dim"] | None = None
    factor: Float[Array, "dim latent"] | None = None

    @property
    def centred(self) -> bool:
        """Whether the mean is zero."""
        return self.mean is None

    def pairs(self, first: Float[Array, "n dim"], second: Float[Array, "m dim"], same: bool) -> GaussianPair:
        """Return the Gaussian pairs of all rows of two weight arrays, each entry of shape `[n, m]`."""
        mu = jnp.zeros(first.shape[0]) if self.mean is None else first @ self.mean
        nu = jnp.zeros(second.shape[0]) if self.mean is None else second @ self.mean
        if self.factor is not None:
            first, second = first @ self.factor, second @ self.factor
        a = jnp.sum(first * first, axis=-1)
        b = jnp.sum(second * second, axis=-1)
        c = first @ second.T
        if same:
            # The covariance of a neuron with itself is its variance, whatever the rounding of the product.
            c = jnp.where(jnp.eye(c.shape[0], dtype=bool), a[:, None], c)
        return GaussianPair(*jnp.broadcast_arrays(mu[:, None], nu, a[:, None], b, c))

    def assemble(
        self,
        first: Float[Array, "n dim"],
        second: Float[Array, "m dim"],
        weights: Float[Array, "n m"],
        by: GaussianPair,
    ) -> Float[Array, "n dim"]:
        r"""Return $\sum_j C_{ij}(\partial_\mu k\; m + 2\,\partial_a k\; \Sigma w_i + \partial_c k\; \Sigma v_j)$.

        Args:
            first: The vectors $w_i$.
            second: The vectors $v_j$.
            weights: The factors $C_{ij}$.
            by: Partial derivatives of $k$; those in $\nu$ and $b$ are not used.
        """
        result = (weights * by.c) @ second + jnp.sum(2 * weights * by.a, axis=1)[:, None] * first
        if self.factor is not None:
            result = (result @ self.factor) @ self.factor.T
        if self.mean is not None:
            result = result + jnp.sum(weights * by.mu, axis=1)[:, None] * self.mean
        return result
