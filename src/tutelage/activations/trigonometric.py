"""Periodic activations: cosine and sine of any frequency."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.activations.base import Activation, Element
from tutelage.checks import positive


def _checked_frequency(value: float) -> float:
    return positive("frequency", value)


class Cosine(Activation):
    r"""$\sigma(z) = \cos(\omega z)$.

    Args:
        frequency: The frequency $\omega > 0$.
    """

    frequency: float = eqx.field(static=True, default=1.0, converter=_checked_frequency)
    name = "cosine"
    kink = None
    homogeneity = None
    parity = "even"
    monotone = False

    @property
    def lipschitz(self) -> float:
        return self.frequency

    @property
    def strip(self) -> float:
        return _wave_strip(self.frequency)

    @property
    def elements(self) -> tuple[Element, ...]:
        return (Element(1.0, "cosine", self.frequency),)

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.cos(self.frequency * z)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return -self.frequency * jnp.sin(self.frequency * z)


class Sine(Activation):
    r"""$\sigma(z) = \sin(\omega z)$.

    Args:
        frequency: The frequency $\omega > 0$.
    """

    frequency: float = eqx.field(static=True, default=1.0, converter=_checked_frequency)
    name = "sine"
    kink = None
    homogeneity = None
    parity = "odd"
    monotone = False

    @property
    def lipschitz(self) -> float:
        return self.frequency

    @property
    def strip(self) -> float:
        return _wave_strip(self.frequency)

    @property
    def elements(self) -> tuple[Element, ...]:
        return (Element(1.0, "sine", self.frequency),)

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.sin(self.frequency * z)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.frequency * jnp.cos(self.frequency * z)


def _wave_strip(frequency: float) -> float:
    """Return how far off the axis the Gaussian weight outweighs a wave, which grows like exp(ω|y|) there."""
    return 3.0 / frequency
