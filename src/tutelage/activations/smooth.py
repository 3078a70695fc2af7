"""Smooth activations: some with closed-form duals (erf, quadratic), the others by quadrature."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.activations.base import Activation, Element, slope


class Erf(Activation):
    r"""$\sigma(z) = \operatorname{erf}(z) = \frac{2}{\sqrt\pi}\int_0^z e^{-t^2}\,dt$."""

    name = "erf"
    kink = None
    homogeneity = None
    parity = "odd"
    monotone = True
    lipschitz = 2 / math.sqrt(math.pi)
    elements = (Element(1.0, "erf"),)
    # Entire, but it grows like exp(y²) off the axis: the trapezoidal rule then behaves as with a strip of 1.4.
    strip = 1.4

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jax.scipy.special.erf(z)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return (2 / math.sqrt(math.pi)) * jnp.exp(-(z**2))


class Quadratic(Activation):
    r"""$\sigma(z) = z^2$."""

    name = "quadratic"
    kink = None
    homogeneity = 2
    parity = "even"
    monotone = False
    lipschitz = float("inf")
    elements = (Element(1.0, "square"),)
    strip = float("inf")

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return z * z

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return 2 * z


class Tanh(Activation):
    r"""$\sigma(z) = \tanh(z)$; poles at $\pm i\pi/2$."""

    name = "tanh"
    kink = None
    homogeneity = None
    parity = "odd"
    monotone = True
    lipschitz = 1.0
    elements = None
    strip = math.pi / 2

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.tanh(z)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return 1 - jnp.tanh(z) ** 2


class Sigmoid(Activation):
    r"""$\sigma(z) = 1/(1 + e^{-z})$; poles at $\pm i\pi$."""

    name = "sigmoid"
    kink = None
    homogeneity = None
    parity = "none"
    monotone = True
    lipschitz = 0.25
    elements = None
    strip = math.pi

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jax.nn.sigmoid(z)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jax.nn.sigmoid(z) * jax.nn.sigmoid(-z)


class Softplus(Activation):
    r"""$\sigma(z) = \log(1 + e^z)$; branch points at $\pm i\pi$."""

    name = "softplus"
    kink = None
    homogeneity = None
    parity = "none"
    monotone = True
    lipschitz = 1.0
    elements = None
    strip = math.pi

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jax.nn.softplus(z)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return jax.nn.sigmoid(z)


class GELU(Activation):
    r"""$\sigma(z) = z\,\Phi(z)$ with the exact normal distribution function $\Phi$."""

    name = "gelu"
    kink = None
    homogeneity = None
    parity = "none"
    monotone = False
    lipschitz = 1.1289042  # the maximum of Φ(z) + zφ(z), at z = √2, rounded up
    elements = None
    # Entire; growth like exp(y²/2) off the axis, as for erf(z/√2).
    strip = 2.0

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return z * jax.scipy.special.ndtr(z)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return slope(self.value, z)
