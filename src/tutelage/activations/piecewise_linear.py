r"""Activations with two slopes: ReLU, leaky ReLU, absolute value and the identity.

All four are $\sigma(z) = p\,z + q\,|z|$, so one closed form serves every pair of them.
"""

from functools import partial

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.activations.base import Activation, Element
from tutelage.checks import finite_number


def _kinked(z, left: float, right: float, at_kink: float):
    return jnp.where(z > 0, right, jnp.where(z < 0, left, at_kink))


class ReLU(Activation):
    r"""$\sigma(z) = \max(0, z)$.

    Args:
        kink: Value of $\sigma'(0)$: 0 for the convention $\mathbb 1(z > 0)$, 1 for $\mathbb 1(z \ge 0)$, or any
            number between.
    """

    kink: float = eqx.field(static=True, default=0.0, converter=partial(finite_number, "kink"))
    name = "relu"
    homogeneity = 1
    parity = "none"
    monotone = True
    lipschitz = 1.0
    elements = (Element(0.5, "identity"), Element(0.5, "absolute"))
    strip = None

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.maximum(z, 0.0)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return _kinked(z, 0.0, 1.0, self.kink)


class LeakyReLU(Activation):
    r"""$\sigma(z) = \max(0, z) + \alpha \min(0, z)$.

    Args:
        negative_slope: The slope $\alpha$ for negative arguments.
        kink: Value of $\sigma'(0)$; the negative slope if not given.
    """

    negative_slope: float = eqx.field(static=True)
    kink: float = eqx.field(static=True)
    name = "leaky_relu"
    homogeneity = 1
    parity = "none"
    strip = None

    def __init__(self, negative_slope: float = 0.01, kink: float | None = None):
        self.negative_slope = finite_number("negative_slope", negative_slope)
        self.kink = self.negative_slope if kink is None else finite_number("kink", kink)

    @property
    def monotone(self) -> bool:
        return self.negative_slope >= 0

    @property
    def lipschitz(self) -> float:
        return max(1.0, abs(self.negative_slope))

    @property
    def elements(self) -> tuple[Element, ...]:
        return (
            Element((1 + self.negative_slope) / 2, "identity"),
            Element((1 - self.negative_slope) / 2, "absolute"),
        )

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.where(z > 0, z, self.negative_slope * z)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return _kinked(z, self.negative_slope, 1.0, self.kink)


class Absolute(Activation):
    r"""$\sigma(z) = |z|$.

    Args:
        kink: Value of $\sigma'(0)$.
    """

    kink: float = eqx.field(static=True, default=0.0, converter=partial(finite_number, "kink"))
    name = "abs"
    homogeneity = 1
    parity = "even"
    monotone = False
    lipschitz = 1.0
    elements = (Element(1.0, "absolute"),)
    strip = None

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.abs(z)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return _kinked(z, -1.0, 1.0, self.kink)


class Linear(Activation):
    r"""$\sigma(z) = z$."""

    name = "linear"
    kink = None
    homogeneity = 1
    parity = "odd"
    monotone = True
    lipschitz = 1.0
    elements = (Element(1.0, "identity"),)
    strip = float("inf")

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return z

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.ones_like(z)
