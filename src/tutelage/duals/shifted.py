r"""Activations with two slopes, $\sigma(z) = p\,z + q\,|z|$ and $\tau(z) = p'z + q'|z|$, of a Gaussian pair with means.

With the numbers $S$, $A$, $F$ and $\zeta$ of `kinked`, the mean absolute values $F_u, F_v$ and mean signs $G_u, G_v$ of
one number, and the covariance $c$,

$$K = pp'(\mu\nu + c) + pq'(\mu F_v + cG_v) + qp'(\nu F_u + cG_u) + qq'E|u||v|,$$

$$\nabla_wK = \bigl(pp'\nu + pq'F_v + qp'(\nu G_u + 2\phi(h)t\cos\varphi) + qq'A\bigr)\,m
+ \bigl(pp' + pq'G_v + qp'G_u + qq'S\bigr)\,v + 2\phi(h)\bigl(qp't\zeta + qq'F\bigr)\,\hat p.$$

All of it is one evaluation: pairs of elementary functions, each by itself, would evaluate most of it several times.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.duals.base import ClosedForm
from tutelage.duals.gaussian import Frame
from tutelage.duals.kinked import Polar, kinks_of
from tutelage.duals.special import folded_mean, folded_sign


class TwoSlopes(ClosedForm):
    r"""The dual of two activations with two slopes under a Gaussian law, with a mean or without.

    Attributes:
        frame: The law.
        first: The numbers $(p, q)$ of the first activation.
        second: The numbers $(p', q')$ of the second one.
        kink: The slope $\sigma'(0)$, used in place of $p$ where the first vector is zero.
    """

    frame: Frame
    first: tuple[Float[Array, ""], Float[Array, ""]]
    second: tuple[Float[Array, ""], Float[Array, ""]]
    kink: Float[Array, ""]

    @property
    def dimension(self) -> int | None:
        return self.frame.dimension

    def _gram(self, first, second, same=False):
        one, other = self.frame.side(first), self.frame.side(second)
        kinks = kinks_of(self.frame, one, other, same)
        (p, q), (p_other, q_other) = self.first, self.second
        w, v, mean = kinks.w, kinks.v, kinks.w.mean[:, None]
        covariance = one.vectors @ other.vectors.T
        odd = mean * (p_other * v.mean + q_other * _mean(v)) + covariance * (p_other + q_other * _sign(v))
        mixed = v.mean * _mean(w)[:, None] + covariance * _sign(w)[:, None]
        sums = p * odd + (q * p_other) * mixed + (q * q_other) * kinks.absolutes
        return (one.scale[:, None] * other.scale) * sums

    def _pull(self, first, second, weights, same=False):
        one, other = self.frame.side(first), self.frame.side(second)
        kinks = kinks_of(self.frame, one, other, same)
        (p, q), (p_other, q_other) = self.first, self.second
        w, v, sign = kinks.w, kinks.v, _sign(kinks.w)[:, None]
        # The convention for a zero vector enters by rows.
        slope = jnp.where(jnp.all(first == 0, axis=-1), self.kink, p)[:, None]
        by_mean = slope * (p_other * v.mean + q_other * _mean(v)) + (q * q_other) * kinks.sign_absolute
        by_mean = by_mean + (q * p_other) * (v.mean * sign + kinks.jump * v.deviation * kinks.pair.cosine)
        by_v = slope * (p_other + q_other * _sign(v)) + (q * p_other) * sign + (q * q_other) * kinks.both
        along = (q * p_other) * (v.deviation * kinks.pair.conditional_mean + v.beyond) + (
            q * q_other
        ) * kinks.given_zero
        weights = weights * other.scale
        by_vectors = (weights * by_v) @ other.vectors + jnp.sum(weights * kinks.jump * along, axis=1)[:, None] * w.unit
        return self.frame.assemble(jnp.sum(weights * by_mean, axis=1), by_vectors)


def _mean(row: Polar) -> Float[Array, " n"]:
    return folded_mean(row.mean, row.deviation)


def _sign(row: Polar) -> Float[Array, " n"]:
    return folded_sign(row.mean, row.deviation)
