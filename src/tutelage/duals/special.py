"""Scalar functions behind the closed forms: the angle of a cosine, safe quotients, the bivariate normal law."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

# Numerator and denominator of the rational approximation of (arcsin(s) − s)/s³ as a function of s² on [0, ¼],
# as published with the freely distributable C mathematics library (Sun Microsystems, 1993).
_NUMERATOR = (
    1.66666666666666657415e-01,
    -3.25565818622400915405e-01,
    2.01212532134862925881e-01,
    -4.00555345006794114027e-02,
    7.91534994289814532176e-04,
    3.47933107596021167570e-05,
)
_DENOMINATOR = (
    1.0,
    -2.40339491173441421878e00,
    2.02094576023350569471e00,
    -6.88283971605453293030e-01,
    7.70381505559019352791e-02,
)


def _horner(coefficients: tuple[float, ...], x: Float[Array, "..."]) -> Float[Array, "..."]:
    result = jnp.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        result = result * x + coefficient
    return result


def angle_of_cosine(cosine: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""Return $\arccos(x)$ for $x \in [-1, 1]$, to about one unit in the last place.

    Branch-free, so that it vectorises: about three times as fast on a CPU as the library's function. It is not
    meant to be differentiated; the derivatives of the duals are written out where they are used.
    """
    magnitude = jnp.abs(cosine)
    central = magnitude < 0.5
    square = jnp.where(central, cosine * cosine, 0.5 * (1.0 - magnitude))
    root = jnp.where(central, cosine, jnp.sqrt(square))
    arcsine = root + root * (square * _horner(_NUMERATOR, square) / _horner(_DENOMINATOR, square))
    outer = jnp.where(cosine > 0, 2.0 * arcsine, np.pi - 2.0 * arcsine)
    return jnp.where(central, 0.5 * np.pi - arcsine, outer)


def quotient(numerator: Float[Array, "..."] | float, denominator: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return `numerator / denominator`, and zero (with zero derivatives) where the denominator is zero.

    Used where a formula has a factor that tends to zero faster than its denominator, or where symmetry makes
    zero the natural value at a point without a derivative.
    """
    vanishes = denominator == 0
    return jnp.where(vanishes, 0.0, numerator / jnp.where(vanishes, 1.0, denominator))


def root(square: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the square root of the positive part, with zero derivatives where that is zero."""
    positive = square > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, square, 1.0)), 0.0)


@jax.custom_jvp
def arcsine(x: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""Return $\arcsin$ of $x$ clipped to $[-1, 1]$; its derivative at $\pm 1$ is set to zero."""
    return jnp.arcsin(jnp.clip(x, -1.0, 1.0))


@arcsine.defjvp
def _arcsine_jvp(primals, tangents):
    (x,), (direction,) = primals, tangents
    return arcsine(x), quotient(direction, root((1.0 - x) * (1.0 + x)))


def normal_density(x: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""Return the standard normal density $\varphi(x)$."""
    return jnp.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def normal_distribution(x: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""Return the standard normal distribution function $\Phi(x)$."""
    return jax.scipy.special.ndtr(x)


_LEGENDRE_NODES, _LEGENDRE_WEIGHTS = np.polynomial.legendre.leggauss(20)


def _legendre_sum(at_node, start):
    """Return `start` plus the sum of a function of node and weight: a loop compiles in half the time."""
    nodes, weights = jnp.asarray(_LEGENDRE_NODES), jnp.asarray(_LEGENDRE_WEIGHTS)
    return jax.lax.fori_loop(0, nodes.shape[0], lambda i, total: total + at_node(nodes[i], weights[i]), start)


def _upper_orthant_moderate(h, k, correlation):
    """Plackett's integral over the correlation, for |correlation| < 0.925."""
    half_sum = 0.5 * (h * h + k * k)
    arc = jnp.arcsin(correlation)

    def at_node(node, weight):
        sine = jnp.sin(0.5 * arc * (1.0 + node))
        return weight * jnp.exp((sine * h * k - half_sum) / (1.0 - sine * sine))

    total = _legendre_sum(at_node, jnp.zeros_like(h))
    return total * arc / (4 * np.pi) + normal_distribution(-h) * normal_distribution(-k)


def _upper_orthant_extreme(h, k, correlation):
    """Integral from the degenerate law |correlation| = 1 inwards, its singular part in closed form."""
    negative = correlation < 0
    k = jnp.where(negative, -k, k)
    product = h * k
    tail = (1.0 - jnp.abs(correlation)) * (1.0 + jnp.abs(correlation))
    width = root(tail)
    gap = (h - k) ** 2
    c = (4.0 - product) / 8.0
    d = (12.0 - product) / 16.0

    def exponent_at(square):
        # At width zero nothing is left to add, and 0 · exp(∞) must not be, where the product is very negative.
        return jnp.where(square > 0, -0.5 * (quotient(gap, square) + product), -jnp.inf)

    exponent = exponent_at(tail)
    start = (
        width
        * jnp.exp(jnp.maximum(exponent, -700.0))
        * (1.0 - c * (gap - tail) * (1.0 - d * gap / 5.0) / 3.0 + c * d * tail * tail / 5.0)
    )
    distance = root(gap)
    scaled = jnp.where(width > 0, quotient(distance, width), jnp.inf)
    correction = (
        jnp.exp(-0.5 * jnp.maximum(product, -100.0))
        * math.sqrt(2 * math.pi)
        * normal_distribution(-scaled)
        * distance
        * (1.0 - c * gap * (1.0 - d * gap / 5.0) / 3.0)
    )
    total = jnp.where(exponent > -100.0, start, 0.0) - jnp.where(product > -100.0, correction, 0.0)

    def at_node(node, weight):
        square = (0.5 * width * (1.0 + node)) ** 2
        rest = jnp.sqrt(1.0 - square)
        exponent = exponent_at(square)
        series = 1.0 + c * square * (1.0 + d * square)
        exact = jnp.exp(-0.5 * product * square / (1.0 + rest) ** 2) / rest
        contribution = 0.5 * width * weight * jnp.exp(jnp.maximum(exponent, -700.0)) * (exact - series)
        return jnp.where(exponent > -100.0, contribution, 0.0)

    total = _legendre_sum(at_node, total)
    total = -total / (2 * np.pi)
    aligned = total + normal_distribution(-jnp.maximum(h, k))
    opposed = -total + jnp.maximum(0.0, normal_distribution(-h) - normal_distribution(-k))
    return jnp.where(negative, opposed, aligned)


@jax.custom_jvp
def orthant_probability(
    h: Float[Array, "..."], k: Float[Array, "..."], correlation: Float[Array, "..."]
) -> Float[Array, "..."]:
    r"""Return $P(X > -h,\ Y > -k)$ for standard normal $X, Y$ with the given correlation.

    Accurate to about 1e-15 for every correlation in $[-1, 1]$. Its derivatives are the closed forms
    $\varphi(h)\,\Phi\bigl((k - \rho h)/\sqrt{1-\rho^2}\bigr)$, the same with $h, k$ exchanged, and the bivariate
    density $\varphi_2(h, k; \rho)$.

    Reference: A. Genz, Numerical computation of rectangular bivariate and trivariate normal and t probabilities,
    Statistics and Computing 14, 2004.
    """
    return _orthant_value(h, k, correlation)


@jax.jit  # traced once a shape, however often a closed form uses it
def _orthant_value(h, k, correlation):
    h, k, correlation = jnp.broadcast_arrays(-h, -k, jnp.clip(correlation, -1.0, 1.0))
    moderate = jnp.abs(correlation) < 0.925
    inner = _upper_orthant_moderate(h, k, jnp.where(moderate, correlation, 0.0))
    outer = _upper_orthant_extreme(h, k, jnp.where(moderate, 1.0, correlation))
    return jnp.clip(jnp.where(moderate, inner, outer), 0.0, 1.0)


# What rounding leaves of one minus the correlation of parallel vectors.
ROUNDING = 8 * 2.0**-52


def given_zero(
    h: Float[Array, "..."], k: Float[Array, "..."], correlation: Float[Array, "..."]
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Return mean and deviation of $k + Y$ given $h + X = 0$, for standard normal $X, Y$ with a correlation.

    A mean that is only rounding is zero: its sign would count where the deviation vanishes. At correlation ±1 the
    signs in both orders are opposite (or equal) to the last bit, as the cancellation of singular terms needs.
    """
    mean = k - correlation * h
    negligible = jnp.abs(mean) <= ROUNDING * (jnp.abs(h) + jnp.abs(k))
    return jnp.where(negligible, 0.0, mean), root((1.0 - correlation) * (1.0 + correlation))


def _positive_given_zero(h, k, correlation):
    """Return P(k + Y > 0 | h + X = 0), one half where both vanish together."""
    mean, deviation = given_zero(h, k, correlation)
    certain = 0.5 + 0.5 * jnp.sign(mean)
    return jnp.where(deviation == 0, certain, normal_distribution(quotient(mean, deviation)))


def bivariate_density(
    h: Float[Array, "..."], k: Float[Array, "..."], correlation: Float[Array, "..."]
) -> Float[Array, "..."]:
    r"""Return the bivariate standard normal density at $(h, k)$, and zero where $|\rho| = 1$."""
    # As the density of one number times that of the other given the first: no cancellation near |ρ| = 1.
    mean, deviation = given_zero(h, k, correlation)
    return quotient(normal_density(h) * normal_density(quotient(mean, deviation)), deviation)


@orthant_probability.defjvp
def _orthant_probability_jvp(primals, tangents):
    h, k, correlation = primals
    h_direction, k_direction, correlation_direction = tangents
    by_h = normal_density(h) * _positive_given_zero(h, k, correlation)
    by_k = normal_density(k) * _positive_given_zero(k, h, correlation)
    by_correlation = bivariate_density(h, k, correlation)
    tangent = by_h * h_direction + by_k * k_direction + by_correlation * correlation_direction
    return orthant_probability(h, k, correlation), tangent
