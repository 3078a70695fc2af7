r"""Polynomials of a Gaussian pair.

With the means $P_k(\mu, a) = E[p^{(k)}(u)] = \sum_j \frac{a^j}{2^jj!}\,p^{(k + 2j)}(\mu)$ of the derivatives of one
polynomial, and $Q_k(\nu, b)$ likewise,

$$E[p(u)\,q(v)] = \sum_k \frac{c^k}{k!}\,P_k\,Q_k,$$

a finite sum. The derivatives in $\mu$, $a$ and $c$ shift indices: $P_{k+1}Q_k$, $\tfrac12P_{k+2}Q_k$, $P_{k+1}Q_{k+1}$.
"""

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.activations.polynomial import derived, horner
from tutelage.duals.base import ClosedForm
from tutelage.duals.gaussian import Frame, GaussianPair, Side, sums_of_gradients


class Polynomials(ClosedForm):
    """The dual of two polynomials under a Gaussian law.

    Attributes:
        frame: The law.
        factor: What the dual is multiplied by.
        first: Coefficients of the first polynomial, the constant first.
        second: Those of the second one.
    """

    frame: Frame
    factor: Float[Array, ""]
    first: tuple[float, ...] = eqx.field(static=True)
    second: tuple[float, ...] = eqx.field(static=True)

    @property
    def dimension(self) -> int | None:
        return self.frame.dimension

    def _parts(self, first, second, same: bool):
        one, other = self.frame.plain_side(first), self.frame.plain_side(second)
        covariance = self.frame.pairs(one, other, same).c
        return one, other, covariance, _means(self.first, one), _means(self.second, other)

    def _gram(self, first, second, same=False):
        _, _, covariance, means, others = self._parts(first, second, same)
        return self.factor * _series(covariance, means, others)

    def _pull(self, first, second, weights, same=False):
        one, other, covariance, means, others = self._parts(first, second, same)
        by_mean = _series(covariance, means[1:], others)
        by_variance = 0.5 * _series(covariance, means[2:], others)
        by_covariance = _series(covariance, means[1:], others[1:])
        by = GaussianPair(by_mean, by_mean, by_variance, by_variance, by_covariance)
        return self.frame.assemble(*sums_of_gradients(self.factor * weights, one, other, by))


def _means(coefficients: tuple[float, ...], side: Side) -> list[Float[Array, " n"]]:
    """Return the means of a polynomial and of all its derivatives."""
    variance = jnp.sum(side.vectors * side.vectors, axis=-1)
    values = [horner(derived(coefficients, order), side.means) for order in range(len(coefficients))]
    return [
        sum(values[k + 2 * j] * variance**j / (2**j * math.factorial(j)) for j in range((len(values) - k + 1) // 2))
        for k in range(len(values))
    ]  # type: ignore[return-value]


def _series(covariance: Float[Array, "n m"], means: list, others: list) -> Float[Array, "n m"]:
    total = jnp.zeros_like(covariance)
    for k in reversed(range(min(len(means), len(others)))):
        total = total * covariance / (k + 1) + means[k][:, None] * others[k]
    return total
