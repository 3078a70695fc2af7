"""Periodic activations: cosine and sine of any frequency."""

from functools import partial

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.activations.base import Activation, Element
from tutelage.checks import positive


class _Periodic(Activation):
    """What cosine and sine share."""

    frequency: float = eqx.field(static=True, default=1.0, converter=partial(positive, "frequency"))
    kink = None
    homogeneity = None
    monotone = False

    @property
    def lipschitz(self) -> float:
        return self.frequency

    @property
    def strip(self) -> float:
        # How far off the axis the Gaussian weight outweighs a wave, which grows like exp(ω|y|) there.
        return 3.0 / self.frequency

    @property
    def elements(self) -> tuple[Element, ...]:
        return (Element(1.0, self.name, self.frequency),)  # type: ignore[arg-type]


class Cosine(_Periodic):
    r"""$\sigma(z) = \cos(\omega z)$.

    Args:
        frequency: The frequency $\omega > 0$.
    """

    name = "cosine"
    parity = "even"

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.cos(self.frequency * z)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return -self.frequency * jnp.sin(self.frequency * z)


class Sine(_Periodic):
    r"""$\sigma(z) = \sin(\omega z)$.

    Args:
        frequency: The frequency $\omega > 0$.
    """

    name = "sine"
    parity = "odd"

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.sin(self.frequency * z)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.frequency * jnp.cos(self.frequency * z)
