"""Activations with a jump at zero: sign and step. Their derivative vanishes except at the jump."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.activations.base import Activation, Element


class Sign(Activation):
    r"""$\sigma(z) = \operatorname{sign}(z)$, with $\sigma(0) = 0$.

    Sampled gradients vanish almost surely; population gradients do not, and have a closed form.
    """

    name = "sign"
    kink = 0.0
    homogeneity = 0
    parity = "odd"
    monotone = True
    lipschitz = float("inf")
    elements = (Element(1.0, "sign"),)
    strip = None

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.sign(z)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.zeros_like(z)


class Step(Activation):
    r"""$\sigma(z) = \mathbb 1(z > 0)$, with $\sigma(0) = \tfrac12$."""

    name = "step"
    kink = 0.0
    homogeneity = 0
    parity = "none"
    monotone = True
    lipschitz = float("inf")
    elements = (Element(0.5, "one"), Element(0.5, "sign"))
    strip = None

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return 0.5 + 0.5 * jnp.sign(z)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.zeros_like(z)
