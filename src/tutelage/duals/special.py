"""Scalar functions behind the closed forms: the angle of a cosine, safe quotients, normal numbers and pairs of them."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jaxtyping import Array, Bool, Float

from tutelage.instant import fori_loop
from tutelage.instant.leaves import leaf, total

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


def _horner(coefficients: tuple[float, ...], x):
    result = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        result = result * x + coefficient
    return result


@leaf(in_numpy=np.arccos)
def angle_of_cosine(xp, cosine: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""Return $\arccos(x)$ for $x \in [-1, 1]$, to about one unit in the last place.

    Branch-free, so that it vectorises: about three times as fast on a CPU as the library's function. It is not
    meant to be differentiated; the derivatives of the duals are written out where they are used.
    """
    magnitude = xp.abs(cosine)
    central = magnitude < 0.5
    square = xp.where(central, cosine * cosine, 0.5 * (1.0 - magnitude))
    root = xp.where(central, cosine, xp.sqrt(square))
    arcsine = root + root * (square * _horner(_NUMERATOR, square) / _horner(_DENOMINATOR, square))
    outer = xp.where(cosine > 0, 2.0 * arcsine, np.pi - 2.0 * arcsine)
    return xp.where(central, 0.5 * np.pi - arcsine, outer)


def _quotient_change(arrays, changes):
    (numerator, denominator), (by_numerator, by_denominator) = arrays, changes
    first = None if by_numerator is None else quotient(by_numerator, denominator)
    if by_denominator is None:
        return first
    return total(first, -quotient(quotient(numerator, denominator), denominator) * by_denominator)


@leaf(_quotient_change, linear=True)
def quotient(xp, numerator: Float[Array, "..."] | float, denominator: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return `numerator / denominator`, and zero (with zero derivatives) where the denominator is zero.

    Used where a formula has a factor that tends to zero faster than its denominator, or where symmetry makes
    zero the natural value at a point without a derivative.
    """
    vanishes = denominator == 0
    return xp.where(vanishes, 0.0, numerator / xp.where(vanishes, 1.0, denominator))


def _root_change(arrays, changes):
    return quotient(0.5 * changes[0], root(arrays[0]))


@leaf(_root_change)
def root(xp, square: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the square root of the positive part, with zero derivatives where that is zero."""
    return xp.sqrt(xp.maximum(square, 0.0))


def _density_change(arrays, changes):
    return -arrays[0] * normal_density(arrays[0]) * changes[0]


@leaf(_density_change)
def normal_density(xp, x: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""Return the standard normal density $\varphi(x)$."""
    return xp.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


# Beyond this many standard deviations a normal tail is zero in floating point, and so is its density.
FAR = 40.0


def _inverse_change(arrays, changes):
    return None if changes[1] is None else -(_inverse_inside(*arrays) ** 2) * changes[1]


@leaf(_inverse_change)
def _inverse_inside(xp, mean, deviation):
    """Return one over the deviation where the mean is less than 40 of them."""
    far = xp.abs(mean) >= FAR * deviation
    return xp.where(far, 0.0, 1.0 / xp.where(far, 1.0, deviation))


def _standardised_change(arrays, changes):
    by_mean, by_deviation = changes
    inverse = _inverse_inside(*arrays)
    along = None if by_deviation is None else -standardised(*arrays) * by_deviation
    return inverse * total(by_mean, along)


@leaf(_standardised_change)
def standardised(xp, mean: Float[Array, "..."], deviation: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return mean/deviation within ±40, with zero derivatives at these ends; zero if both are zero."""
    far = xp.abs(mean) >= FAR * deviation
    return xp.where(far, FAR * xp.sign(mean), mean / xp.where(far, 1.0, deviation))


def _folded_sign_change(arrays, changes):
    change = _standardised_change(arrays, changes)
    return 2 * normal_density(standardised(*arrays)) * change


@leaf(_folded_sign_change)
def folded_sign(xp, mean: Float[Array, "..."], deviation: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the mean sign of a normal number; zero for the number zero."""
    return _erf(xp, standardised.formula(xp, mean, deviation) / math.sqrt(2))


def _erf(xp, x):
    return scipy.special.erf(x) if xp is np else jax.scipy.special.erf(x)


def _folded_mean_change(arrays, changes):
    by_mean, by_deviation = changes
    return total(
        None if by_mean is None else folded_sign(*arrays) * by_mean,
        None if by_deviation is None else 2 * normal_density(standardised(*arrays)) * by_deviation,
    )


@leaf(_folded_mean_change)
def folded_mean(xp, mean: Float[Array, "..."], deviation: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the mean absolute value of a normal number, whose slope at the number zero is that of both sides, none."""
    ratio = standardised.formula(xp, mean, deviation)
    return 2 * deviation * normal_density.formula(xp, ratio) + mean * _erf(xp, ratio / math.sqrt(2))


class StandardPair(NamedTuple):
    r"""Two numbers $h + X$ and $k + Y$ with standard normal $X, Y$ at an angle $\varphi$, their correlation its cosine.

    Attributes:
        h: The first mean.
        k: The second mean.
        difference: $k - h$, or $k + h$ where the angle is obtuse; for almost parallel vectors the difference of the
            means has fewer digits.
        half_sine: $\sin(\varphi/2)$.
        half_cosine: $\cos(\varphi/2)$.
        opposed: Whether the angle is taken as obtuse.
    """

    h: Float[Array, "..."]
    k: Float[Array, "..."]
    difference: Float[Array, "..."]
    half_sine: Float[Array, "..."]
    half_cosine: Float[Array, "..."]
    opposed: Bool[Array, "..."]

    @property
    def sine(self) -> Float[Array, "..."]:
        return 2.0 * self.half_sine * self.half_cosine

    @property
    def cosine(self) -> Float[Array, "..."]:
        return (self.half_cosine - self.half_sine) * (self.half_cosine + self.half_sine)

    @property
    def conditional_mean(self) -> Float[Array, "..."]:
        r"""The mean $k - h\cos\varphi$ of $k + Y$ where $h + X = 0$; its deviation is the sine."""
        acute = self.difference + 2 * self.half_sine**2 * self.h
        return jnp.where(self.opposed, self.difference - 2 * self.half_cosine**2 * self.h, acute)

    def swapped(self) -> "StandardPair":
        """Return the pair in the other order."""
        difference = jnp.where(self.opposed, self.difference, -self.difference)
        return self._replace(h=self.k, k=self.h, difference=difference)


_LEGENDRE_NODES, _LEGENDRE_WEIGHTS = np.polynomial.legendre.leggauss(20)


def _legendre_sum(xp, at_node, start):
    """Return `start` plus the sum of a function of node and weight: at once, or by a loop, which compiles quickly."""
    if xp is np:
        shape = (-1,) + (1,) * np.ndim(start)
        return start + np.add.reduce(at_node(_LEGENDRE_NODES.reshape(shape), _LEGENDRE_WEIGHTS.reshape(shape)))
    nodes, weights = jnp.asarray(_LEGENDRE_NODES), jnp.asarray(_LEGENDRE_WEIGHTS)
    return fori_loop(0, nodes.shape[0], lambda i, total: total + at_node(nodes[i], weights[i]), start)


def _distribution(xp, x):
    return scipy.special.ndtr(x) if xp is np else jax.scipy.special.ndtr(x)


def _by_correlation(xp, h, k, correlation):
    """Plackett's integral: what correlation adds to the probability of an orthant, for |correlation| < 0.925."""
    half_sum = 0.5 * (h * h + k * k)
    arc = xp.arcsin(correlation)

    def at_node(node, weight):
        sine = xp.sin(0.5 * arc * (1.0 + node))
        return weight * xp.exp((sine * h * k - half_sum) / (1.0 - sine * sine))

    integral = _legendre_sum(xp, at_node, xp.zeros_like(h))
    return integral * arc / (4 * np.pi)


def _upper_orthant_extreme(xp, h, k, difference, sine, negative):
    """Integral from the degenerate law |correlation| = 1 inwards, its singular part in closed form."""
    k = xp.where(negative, -k, k)
    product = h * k
    width = xp.abs(sine)
    tail = sine * sine
    gap = difference * difference
    c = (4.0 - product) / 8.0
    d = (12.0 - product) / 16.0

    def exponent_at(square):
        # At width zero nothing is left to add, and 0 · exp(∞) must not be, where the product is very negative.
        return xp.where(square > 0, -0.5 * (quotient.formula(xp, gap, square) + product), -np.inf)

    exponent = exponent_at(tail)
    start = (
        width
        * xp.exp(xp.maximum(exponent, -700.0))
        * (1.0 - c * (gap - tail) * (1.0 - d * gap / 5.0) / 3.0 + c * d * tail * tail / 5.0)
    )
    distance = xp.abs(difference)
    scaled = xp.where(width > 0, quotient.formula(xp, distance, width), np.inf)
    correction = (
        xp.exp(-0.5 * xp.maximum(product, -100.0))
        * math.sqrt(2 * math.pi)
        * _distribution(xp, -scaled)
        * distance
        * (1.0 - c * gap * (1.0 - d * gap / 5.0) / 3.0)
    )
    begin = xp.where(exponent > -100.0, start, 0.0) - xp.where(product > -100.0, correction, 0.0)

    def at_node(node, weight):
        square = (0.5 * width * (1.0 + node)) ** 2
        rest = xp.sqrt(1.0 - square)
        exponent = exponent_at(square)
        series = 1.0 + c * square * (1.0 + d * square)
        exact = xp.exp(-0.5 * product * square / (1.0 + rest) ** 2) / rest
        contribution = 0.5 * width * weight * xp.exp(xp.maximum(exponent, -700.0)) * (exact - series)
        return xp.where(exponent > -100.0, contribution, 0.0)

    integral = -_legendre_sum(xp, at_node, begin) / (2 * np.pi)
    aligned = integral + _distribution(xp, -xp.maximum(h, k))
    opposed = -integral + xp.maximum(0.0, _distribution(xp, -h) - _distribution(xp, -k))
    return xp.where(negative, opposed, aligned)


def mean_of_signs(pair: StandardPair, cosine: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""Return $E[\operatorname{sgn}(h + X)\operatorname{sgn}(k + Y)]$, small ones with all their digits.

    It is $4P - 2\Phi(h) - 2\Phi(k) + 1$ with the probability $P$ of the orthant, which cancels where the mean is small.
    Plackett's integral is what correlation adds to the product of the means of both signs. Accurate to about 4e-15 for
    every angle in $[0, \pi]$. Its derivatives are the closed forms $2\varphi(h)(2\Phi(\eta) - 1)$ with
    $\eta = (k - \rho h)/\sqrt{1-\rho^2}$, the same with $h, k$ exchanged, and, in the angle,
    $-4\varphi(h)\,\varphi(\eta)$: nothing is singular.

    Args:
        pair: The pair.
        cosine: The cosine of its angle, with all its digits for almost orthogonal directions.

    Reference: A. Genz, Numerical computation of rectangular bivariate and trivariate normal and t probabilities,
    Statistics and Computing 14, 2004.
    """
    return _signs(*pair, cosine)


def _signs_change(arrays, changes):
    # The cosine says no more than the half angles do: it has no change of its own.
    pair = StandardPair(*arrays[:6])._replace(opposed=arrays[5] > 0)
    by_h, by_k, _, by_sine, by_cosine, _, _ = changes
    sign = folded_sign(pair.conditional_mean, pair.sine)
    other_sign = folded_sign(pair.swapped().conditional_mean, pair.sine)
    ratio = standardised(pair.conditional_mean, pair.sine)
    by_angle = -8 * normal_density(pair.h) * normal_density(ratio)
    return total(
        None if by_h is None else 2 * normal_density(pair.h) * sign * by_h,
        None if by_k is None else 2 * normal_density(pair.k) * other_sign * by_k,
        None if by_sine is None else by_angle * pair.half_cosine * by_sine,
        None if by_cosine is None else -by_angle * pair.half_sine * by_cosine,
    )


@leaf(_signs_change)
def _signs(xp, h, k, difference, half_sine, half_cosine, opposed, cosine):
    moderate = xp.abs(cosine) < 0.925
    means = _erf(xp, h / math.sqrt(2)) * _erf(xp, k / math.sqrt(2))
    inner = means + 4 * _by_correlation(xp, h, k, xp.where(moderate, cosine, 0.0))
    sine = xp.where(moderate, 0.0, 2.0 * half_sine * half_cosine)
    orthant = xp.clip(_upper_orthant_extreme(xp, -h, -k, difference, sine, opposed > 0), 0.0, 1.0)
    outer = 4 * orthant - 2 * _distribution(xp, h) - 2 * _distribution(xp, k) + 1
    return xp.where(moderate, inner, outer)
