"""Periodic activations: cosine and sine of any frequency."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.activations.base import Activation, Element
from tutelage.checks import positive


class Cosine(Activation):
    r"""$\sigma(z) = \cos(\omega z)$.

    Args:
        frequency: The frequency $\omega > 0$.
    """

    frequency: float = eqx.field(static=True, default=1.0)
    name = "cosine"
    kink = None
    homogeneity = None
    parity = "even"
    monotone = False

    def __check_init__(self):
        positive("frequency", self.frequency)

    @property
    def lipschitz(self) -> float:
        return self.frequency

    @property
    def strip(self) -> float:
        # Entire; it grows like exp(ω|y|) off the axis, which the Gaussian weight outweighs for |y| up to 3/ω.
        return 3.0 / self.frequency

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

    frequency: float = eqx.field(static=True, default=1.0)
    name = "sine"
    kink = None
    homogeneity = None
    parity = "odd"
    monotone = False

    def __check_init__(self):
        positive("frequency", self.frequency)

    @property
    def lipschitz(self) -> float:
        return self.frequency

    @property
    def strip(self) -> float:
        # Entire; it grows like exp(ω|y|) off the axis, which the Gaussian weight outweighs for |y| up to 3/ω.
        return 3.0 / self.frequency

    @property
    def elements(self) -> tuple[Element, ...]:
        return (Element(1.0, "sine", self.frequency),)

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.sin(self.frequency * z)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.frequency * jnp.cos(self.frequency * z)
