"""The constant function one, whose coefficient is the output constant of a network."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.activations.base import Activation, Element


class One(Activation):
    r"""$\sigma(z) = 1$."""

    name = "one"
    kink = None
    homogeneity = 0
    parity = "even"
    monotone = True
    lipschitz = 0.0
    elements = (Element(1.0, "one"),)
    strip = float("inf")

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.ones_like(z)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.zeros_like(z)
