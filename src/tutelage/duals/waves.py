r"""Cosines and sines of a Gaussian pair.

With $\mu = w\cdot m$, $\nu = v\cdot m$ and the damping factors $e_\mp = e^{-\frac12 a_\mp}$, where $a_\mp$ is the
variance of $u \mp v$,

$$E[\cos u\cos v] = \tfrac12(e_-\cos(\mu-\nu) + e_+\cos(\mu+\nu)),$$

and likewise with sines: $K = \tfrac12(k_- + k_+)$. All is taken from the vectors $w \mp v$, which have their digits
where $w$ and $v$ are long and close to each other. Where one is short, sines are differences of close numbers:
$e_- - e_+ = e_-(1 - e^{-2c})$ with the covariance $c$, and products of waves of $\mu$ and $\nu$, are taken instead. The
gradient in the latent vector $p$ is $\tfrac12\bigl(q\,(k_- - k_+) - p\,(k_- + k_+)\bigr)$, which is $K(q - p) - k_+q$,
and also $k_-q - K(q + p)$: the first where $c \ge 0$, the second where not.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.duals.base import ClosedForm
from tutelage.duals.gaussian import Frame, Side
from tutelage.duals.norms import over_coordinates, over_rows

# A variance beyond this leaves nothing of a wave.
_DEAD = 3000.0


class GaussianWaves(ClosedForm):
    """The dual of two waves under a Gaussian law.

    Attributes:
        frame: The law.
        factor: What the dual is multiplied by.
        first_sine: Whether the first activation is a sine (else a cosine).
        first_scale: Its frequency.
        second_sine: Whether the second activation is a sine.
        second_scale: Its frequency.
    """

    frame: Frame
    factor: Float[Array, ""]
    first_sine: bool = eqx.field(static=True)
    first_scale: float = eqx.field(static=True)
    second_sine: bool = eqx.field(static=True)
    second_scale: float = eqx.field(static=True)

    def _parts(self, first: Side, second: Side):
        """Return K, k_- and k_+ without the factor, and the derivative of K in the first mean."""
        minus, plus = _damping(first.vectors, second.vectors, 1.0), _damping(first.vectors, second.vectors, -1.0)
        if self.frame.mean is None:
            # An odd and an even wave have no dual without a mean.
            sign = -1.0 if self.first_sine else 1.0
            value = 0.5 * (_gap(minus, plus, first, second) if self.first_sine else minus + plus)
            return value, minus, sign * plus, jnp.zeros_like(value)
        mu, nu = first.means[:, None], second.means
        difference = -_projected(first.weights, second.weights, 1.0, self.frame.mean)
        total = _projected(first.weights, second.weights, -1.0, self.frame.mean)
        gap, short = _gap(minus, plus, first, second), (jnp.abs(mu) < 1) | (jnp.abs(nu) < 1)

        def parts(first_sine: bool, second_sine: bool):
            wave = jnp.cos if first_sine == second_sine else jnp.sin
            one = (-1.0 if second_sine and not first_sine else 1.0) * minus * wave(difference)
            other = (-1.0 if first_sine and second_sine else 1.0) * plus * wave(total)
            # By products of waves of both means, where those of their sum and difference would cancel.
            along = (jnp.sin(mu) if first_sine else jnp.cos(mu)) * (jnp.sin(nu) if second_sine else jnp.cos(nu))
            across = (jnp.cos(mu) if first_sine else jnp.sin(mu)) * (jnp.cos(nu) if second_sine else jnp.sin(nu))
            sign = 1.0 if first_sine == second_sine else -1.0
            return 0.5 * jnp.where(short, (minus + plus) * along + sign * gap * across, one + other), one, other

        slope = parts(not self.first_sine, self.second_sine)[0]
        return *parts(self.first_sine, self.second_sine), slope if self.first_sine else -slope

    def _sides(self, first, second) -> tuple[Side, Side]:
        return self.frame.plain_side(self.first_scale * first), self.frame.plain_side(self.second_scale * second)

    @property
    def dimension(self) -> int | None:
        return self.frame.dimension

    def _gram(self, first, second, same=False):
        return self.factor * self._parts(*self._sides(first, second))[0]

    def _pull(self, first, second, weights, same=False):
        one, other = self._sides(first, second)
        value, minus, plus, by_mean = self._parts(one, other)
        weights = self.factor * self.first_scale * weights
        aligned = one.vectors @ other.vectors.T >= 0
        signs = jnp.where(aligned, 1.0, -1.0)
        along = weights * signs * value

        def term(j):
            return along.T[j][:, None] * (other.vectors[j] - signs.T[j][:, None] * one.vectors)

        by_vectors = over_rows(term, other.vectors, one.vectors)
        by_vectors = by_vectors + (weights * jnp.where(aligned, -plus, minus)) @ other.vectors
        return self.frame.assemble(jnp.sum(weights * by_mean, axis=1), by_vectors)


def _coordinate(first, second, signs, k):
    """Return coordinate k of v − ±w for all pairs."""
    return second.T[k] - signs * first.T[k][:, None]


def _projected(first, second, sign: float, axis):
    """Return (v − ±w)·m for all pairs."""
    pairs = jnp.zeros((first.shape[0], second.shape[0]))
    return over_coordinates(lambda k: _coordinate(first, second, sign, k) * axis[k], first, pairs)


def _damping(first, second, sign: float):
    pairs = jnp.zeros((first.shape[0], second.shape[0]))
    variance = over_coordinates(lambda k: _coordinate(first, second, sign, k) ** 2, first, pairs)
    # Constant where nothing is left: its derivative would be zero times infinity for the longest vectors.
    return jnp.exp(-0.5 * jnp.where(variance < _DEAD, variance, _DEAD))


def _gap(minus, plus, first: Side, second: Side):
    """Return the difference of the damping factors."""
    covariance = first.vectors @ second.vectors.T
    aligned = covariance >= 0
    size = jnp.where(aligned, covariance, -covariance)
    shrinkage = -jnp.expm1(-2 * jnp.where(size < _DEAD, size, _DEAD))
    return jnp.where(aligned, minus, -plus) * shrinkage
