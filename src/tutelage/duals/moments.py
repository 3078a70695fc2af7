"""Duals under laws other than the Gaussian: by second moments, characteristic functions or finite sums."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.activations.base import Activation, Element
from tutelage.duals.base import ClosedForm, over_pairs
from tutelage.inputs.base import Inputs


class Affine(ClosedForm):
    r"""The dual of two affine functions, $\sigma(z) = p + qz$ and $\tau(z) = p' + q'z$, under any law.

    $K(w, v) = qq'\,w^\top E[xx^\top]\,v + pp' + qp'\,w\cdot E[x] + pq'\,v\cdot E[x]$.

    Attributes:
        first: The numbers $(p, q)$.
        second: The numbers $(p', q')$.
        mean: The mean of the law.
        moment: Its second moment.
    """

    first: tuple[float, float] = eqx.field(static=True)
    second: tuple[float, float] = eqx.field(static=True)
    mean: Float[Array, " dim"]
    moment: Float[Array, "dim dim"]

    @property
    def dimension(self) -> int:
        return self.mean.shape[0]

    def _gram(self, first, second, same=False):
        (p, q), (p_other, q_other) = self.first, self.second
        linear = (q * q_other) * first @ self.moment @ second.T
        return linear + (p * p_other + q * p_other * (first @ self.mean)[:, None] + p * q_other * (second @ self.mean))

    def _pull(self, first, second, weights, same=False):
        (_, q), (p_other, q_other) = self.first, self.second
        linear = (q * q_other) * weights @ second @ self.moment
        return linear + (q * p_other) * jnp.sum(weights, axis=1)[:, None] * self.mean


class Waves(ClosedForm):
    r"""The dual of two waves under a law with characteristic function $\chi$.

    $E[\cos u\cos v] = \tfrac12\Re(\chi(w - v) + \chi(w + v))$, and likewise with sines.

    Attributes:
        inputs: The law.
        factor: What the dual is multiplied by.
        first: The first wave; its coefficient is part of the factor.
        second: The second one, likewise.
        biased: Whether the last number of a vector is a bias: it turns the characteristic function.
    """

    inputs: Inputs
    factor: Float[Array, ""]
    first: Element = eqx.field(static=True)
    second: Element = eqx.field(static=True)
    biased: bool = eqx.field(static=True, default=False)

    def _characteristic(self, row):
        if not self.biased:
            return self.inputs.characteristic(row)
        return jnp.exp(1j * row[-1]) * self.inputs.characteristic(row[:-1])

    def _value(self, w, v):
        w, v = self.first.scale * w, self.second.scale * v
        difference, total = self._characteristic(w - v), self._characteristic(w + v)
        first_sine, second_sine = self.first.kind == "sine", self.second.kind == "sine"
        if first_sine and second_sine:
            return 0.5 * self.factor * (difference.real - total.real)
        if first_sine:
            return 0.5 * self.factor * (total.imag + difference.imag)
        if second_sine:
            return 0.5 * self.factor * (total.imag - difference.imag)
        return 0.5 * self.factor * (difference.real + total.real)

    @property
    def dimension(self) -> int:
        return self.inputs.dimension + self.biased

    def _gram(self, first, second, same=False):
        return over_pairs(self._value, first, second)

    def _pull(self, first, second, weights, same=False):
        return jnp.einsum("ij,ijk->ik", weights, over_pairs(jax.grad(self._value), first, second))


class Atomic(ClosedForm):
    r"""The dual under a law with finite support: $K(w, v) = \sum_n p_n\,\sigma(w\cdot x_n)\,\tau(v\cdot x_n)$.

    Attributes:
        points: The support.
        weights: The probabilities $p_n$.
        sigma: First activation.
        tau: Second activation.
    """

    points: Float[Array, "atom dim"]
    weights: Float[Array, " atom"]
    sigma: Activation
    tau: Activation

    @property
    def dimension(self) -> int:
        return self.points.shape[1]

    def _gram(self, first, second, same=False):
        return (self.sigma(first @ self.points.T) * self.weights) @ self.tau(second @ self.points.T).T

    def _pull(self, first, second, weights, same=False):
        slopes = self.sigma.derivative(first @ self.points.T) * self.weights
        return (slopes * (weights @ self.tau(second @ self.points.T))) @ self.points
