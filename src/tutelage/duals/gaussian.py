"""From weight vectors to Gaussian pairs and back: what every dual under a Gaussian law shares."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.duals.norms import binary_scale, safe_norm
from tutelage.modules import Module


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


class Side(NamedTuple):
    r"""Rows of weight vectors as a law $N(m, LL^\top)$ sees them, divided by powers of two.

    Attributes:
        scale: The power of two $r$ by which each row is divided.
        weights: The rows $w/r$.
        vectors: The rows $L^\top w/r$, whose norms are standard deviations.
        means: The means $m\cdot w/r$.
    """

    scale: Float[Array, " n"]
    weights: Float[Array, "n dim"]
    vectors: Float[Array, "n latent"]
    means: Float[Array, " n"]


class Frame(Module):
    r"""A Gaussian law $N(m, LL^\top)$ as it acts on weight vectors.

    Rows $(w, b)$ with a bias meet the inputs $(x, 1)$, whose last coordinate has the mean one and does not vary.

    Attributes:
        mean: The mean $m$; `None` for zero.
        factor: The factor $L$; `None` for the identity.
        biased: Whether the last number of a row is a bias.
    """

    mean: Float[Array, " dim"] | None = None
    factor: Float[Array, "dim latent"] | None = None
    biased: bool = eqx.field(static=True, default=False)

    @property
    def centred(self) -> bool:
        """Whether all rows have the mean zero."""
        return self.mean is None and not self.biased

    @property
    def dimension(self) -> int | None:
        """Length of a row; `None` where the law is standard, and any will do."""
        known = next((array.shape[0] for array in (self.mean, self.factor) if array is not None), None)
        return known if known is None else known + self.biased

    def location(self, length: int) -> Float[Array, " row"]:
        """Return the mean of what rows of a length meet, $m$ or $(m, 1)$."""
        mean = jnp.zeros(length - self.biased) if self.mean is None else self.mean
        return jnp.append(mean, 1.0) if self.biased else mean

    def side(self, rows: Float[Array, "n dim"], least: float = 0.0) -> Side:
        """Return rows in units of their own size, or of `least` where they are smaller."""
        means, vectors = self._means(rows), self._vectors(rows)
        scale = binary_scale(jnp.maximum(jnp.maximum(safe_norm(vectors), jnp.abs(means)), least))
        inverse = (1.0 / scale)[:, None]
        return Side(scale, rows * inverse, vectors * inverse, means / scale)

    def plain_side(self, rows: Float[Array, "n dim"]) -> Side:
        """Return rows as they are."""
        means = self._means(rows)
        return Side(jnp.ones_like(means), rows, self._vectors(rows), means)

    def damped_side(self, rows: Float[Array, "n dim"]) -> Side:
        """Return rows as they are, but none with a deviation above 2²⁰: a wave along it has long died out."""
        side = self.plain_side(rows)
        excess = jnp.maximum(binary_scale(safe_norm(side.vectors)) * 2.0**-20, 1.0)
        return side._replace(vectors=side.vectors / excess[:, None])

    def _means(self, rows):
        weights = rows[:, :-1] if self.biased else rows
        means = jnp.zeros(rows.shape[0]) if self.mean is None else weights @ self.mean
        return means + rows[:, -1] if self.biased else means

    def _vectors(self, rows):
        weights = rows[:, :-1] if self.biased else rows
        return weights if self.factor is None else weights @ self.factor

    def pairs(self, first: Side, second: Side, same: bool) -> GaussianPair:
        """Return the Gaussian pairs of all rows of two sides, each entry of shape `[n, m]`."""
        a = jnp.sum(first.vectors * first.vectors, axis=-1)
        b = jnp.sum(second.vectors * second.vectors, axis=-1)
        c = first.vectors @ second.vectors.T
        if same:
            # The covariance of a neuron with itself is its variance, whatever the rounding of the product.
            c = jnp.where(jnp.eye(c.shape[0], dtype=bool), a[:, None], c)
        return GaussianPair(*jnp.broadcast_arrays(first.means[:, None], second.means, a[:, None], b, c))

    def assemble(self, by_mean: Float[Array, " n"], by_vectors: Float[Array, "n latent"]) -> Float[Array, "n dim"]:
        r"""Return gradients in rows, from those in their means and in $L^\top w$."""
        result = by_vectors if self.factor is None else by_vectors @ self.factor.T
        result = result if self.mean is None else result + by_mean[:, None] * self.mean
        return jnp.concatenate([result, by_mean[:, None]], axis=1) if self.biased else result


def sums_of_gradients(weights: Float[Array, "n m"], first: Side, second: Side, by: GaussianPair):
    r"""Return $\sum_j C_{ij}\,\partial_\mu k$ and $\sum_j C_{ij}(2\,\partial_a k\; w_i + \partial_c k\; v_j)$.

    Args:
        weights: The factors $C_{ij}$.
        first: The vectors $w_i$.
        second: The vectors $v_j$.
        by: Partial derivatives of $k$; those in $\nu$ and $b$ are not used.
    """
    by_vectors = (weights * by.c) @ second.vectors + jnp.sum(2 * weights * by.a, axis=1)[:, None] * first.vectors
    return jnp.sum(weights * by.mu, axis=1), by_vectors
