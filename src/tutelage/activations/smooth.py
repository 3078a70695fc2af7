"""Smooth activations: some with closed-form duals (erf, quadratic), the others by quadrature."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from numpy.polynomial import Polynomial

from tutelage.activations.base import Activation, Element, Sums, slope, sums_of


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


_Z, _ONE = Polynomial([0.0, 1.0]), Polynomial([1.0])
# An exponential of more than this overflows.
_LARGEST = 700.0


def _at(polynomial: Polynomial, x: Float[Array, "..."]) -> Float[Array, "..."]:
    result = jnp.full_like(x, polynomial.coef[-1])
    for coefficient in polynomial.coef[-2::-1]:
        result = result * x + coefficient
    return result


def _of_itself(value: Float[Array, "..."], slope: Polynomial, order: int) -> list[Float[Array, "..."]]:
    """Return derivatives of a function whose slope is a polynomial of the function itself."""
    forms = [_Z]
    for _ in range(order):
        forms.append(forms[-1].deriv() * slope)
    return [value, *(_at(form, value) for form in forms[1:])]


def _with_weight(z: Float[Array, "..."], weight, first: Polynomial, rate: float, order: int):
    """Return a polynomial times a weight with the slope −rate·z times itself, and derivatives."""
    forms = [first]
    for _ in range(order):
        forms.append(forms[-1].deriv() - rate * _Z * forms[-1])
    return [_at(form, z) * weight for form in forms]


def _exponential(x):
    """Return an exponential that times another is neither zero times infinity nor the other way round."""
    return jnp.exp(jnp.clip(x, -_LARGEST, _LARGEST))


# An exponential for each of x and y, and none for their sums.


@sums_of.register
def _of_tanh(_: Tanh) -> Sums:
    return Sums(
        lambda x: _exponential(2 * x),
        lambda x, y, order: _of_itself(1 - 2 / (1 + x * y), _ONE - _Z**2, order),
    )


@sums_of.register
def _of_sigmoid(_: Sigmoid) -> Sums:
    return Sums(
        lambda x: _exponential(-x),
        lambda x, y, order: _of_itself(1 / (1 + x * y), _Z - _Z**2, order),
    )


@sums_of.register
def _of_softplus(activation: Softplus) -> Sums:
    def derivatives(x, y, order):
        value = activation.value(x + y)
        return [value, *_of_itself(activation.derivative(x + y), _Z - _Z**2, order - 1)] if order else [value]

    return Sums(lambda x: x, derivatives)


@sums_of.register
def _of_gelu(_: GELU) -> Sums:
    def derivatives(x, y, order):
        z = x + y
        distribution = jax.scipy.special.ndtr(z)
        density = jnp.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        first = [z * distribution, distribution + z * density]
        return [*first, *_with_weight(z, density, 2 * _ONE - _Z**2, 1.0, order - 2)][: order + 1]

    return Sums(lambda x: x, derivatives)


@sums_of.register
def _of_erf(activation: Erf) -> Sums:
    def derivatives(x, y, order):
        z = x + y
        higher = _with_weight(z, activation.derivative(z), _ONE, 2.0, order - 1)
        return [activation.value(z), *higher][: order + 1]

    return Sums(lambda x: x, derivatives)
