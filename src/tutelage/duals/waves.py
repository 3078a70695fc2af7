r"""Cosines and sines of a Gaussian pair.

With $\mu = w\cdot m$, $\nu = v\cdot m$, the covariance $c$ and the damping factors $e_\mp = e^{-\frac12 a_\mp}$, where
$a_\mp$ is the variance of $u \mp v$,

$$E[\cos u\cos v] = \tfrac12(e_-\cos(\mu-\nu) + e_+\cos(\mu+\nu)),$$

and likewise with sines. All is taken from the vectors $w \mp v$, which have their digits where $w$ and $v$ are long and
close to each other. Where both are short, the sines are the difference of numbers close to one, and
$e_- - e_+ = e_-(1 - e^{-2c})$ is taken instead.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.duals.base import Kernel, over_pairs
from tutelage.duals.gaussian import Frame
from tutelage.duals.norms import binary_scale, safe_norm


class GaussianWaves(Kernel):
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

    def _value(self, w, v):
        w, v = self.first_scale * w, self.second_scale * v
        minus, plus = self._damping(w - v), self._damping(w + v)
        if self.frame.mean is None:
            # An odd and an even wave have no dual without a mean.
            return 0.5 * self.factor * (_gap(minus, plus, self._covariance(w, v)) if self.first_sine else minus + plus)
        mu, nu = w @ self.frame.mean, v @ self.frame.mean
        difference, total = (w - v) @ self.frame.mean, (w + v) @ self.frame.mean
        if self.first_sine and self.second_sine:
            apart = minus * jnp.cos(difference) - plus * jnp.cos(total)
            gap = _gap(minus, plus, self._covariance(w, v))
            close = gap * jnp.cos(mu) * jnp.cos(nu) + (minus + plus) * jnp.sin(mu) * jnp.sin(nu)
            value = jnp.where((jnp.abs(mu) < 1) & (jnp.abs(nu) < 1), close, apart)
        elif self.first_sine:
            value = minus * jnp.sin(difference) + plus * jnp.sin(total)
        elif self.second_sine:
            value = plus * jnp.sin(total) - minus * jnp.sin(difference)
        else:
            value = minus * jnp.cos(difference) + plus * jnp.cos(total)
        return 0.5 * self.factor * value

    def _vector(self, weights):
        """Return the vector in the latent space, none longer than 2²¹: a wave along it has died out all the same."""
        vector = weights if self.frame.factor is None else weights @ self.frame.factor
        return vector / jnp.maximum(binary_scale(safe_norm(vector)) * 2.0**-20, 1.0)

    def _damping(self, weights):
        vector = self._vector(weights)
        return jnp.exp(-0.5 * jnp.sum(vector * vector))

    def _covariance(self, w, v):
        return self._vector(w) @ self._vector(v)

    def gram(self, first, second, same=False):
        return over_pairs(self._value, first, second)

    def pull(self, first, second, weights, same=False):
        return jnp.einsum("ij,ijk->ik", weights, over_pairs(jax.grad(self._value), first, second))


def _gap(minus, plus, covariance):
    """Return the difference of the damping factors."""
    aligned = covariance >= 0
    by_minus = -minus * jnp.expm1(-2 * jnp.where(aligned, covariance, 0.0))
    by_plus = plus * jnp.expm1(2 * jnp.where(aligned, 0.0, covariance))
    return jnp.where(aligned, by_minus, by_plus)
