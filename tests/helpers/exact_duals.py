r"""Duals of Gaussian pairs to any number of digits, by other formulas than the library's.

Vectors, mean and factor are exact rationals, and so are variances $a, b$, the covariance $c$ and $ab - c^2$: no angle
is too small. Expectations of kinked functions come from truncated moments of a bivariate normal law (Rosenbaum, 1961),
with the orthant probability as an integral over the angle from the degenerate law. Derivatives are central differences
of the values, with so many digits that nothing of the difference is lost.
"""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction
from typing import NamedTuple

from flint import acb, arb, ctx, fmpq

# The activations as sums of elementary functions.
PARTS: dict[str, list[tuple[Fraction, str]]] = {
    "relu": [(Fraction(1, 2), "identity"), (Fraction(1, 2), "absolute")],
    "abs": [(Fraction(1), "absolute")],
    "linear": [(Fraction(1), "identity")],
    "sign": [(Fraction(1), "sign")],
    "step": [(Fraction(1, 2), "one"), (Fraction(1, 2), "sign")],
    "erf": [(Fraction(1), "erf")],
    "quadratic": [(Fraction(1), "square")],
    "cosine": [(Fraction(1), "cosine")],
    "sine": [(Fraction(1), "sine")],
}

HOMOGENEOUS = {"relu", "abs", "linear", "sign", "step", "quadratic"}


def rational(number: float) -> fmpq:
    """A floating-point number, exactly."""
    return fmpq(*float(number).as_integer_ratio())


class Law(NamedTuple):
    """A Gaussian law with exact mean and factor."""

    mean: list[fmpq]
    factor: list[list[fmpq]]

    @staticmethod
    def of(mean, factor) -> Law:
        """The law with a mean and a factor in floating point."""
        return Law([rational(x) for x in mean], [[rational(x) for x in row] for row in factor])

    def pair(self, w: list[fmpq], v: list[fmpq]) -> tuple[fmpq, ...]:
        """Means, variances and covariance of w·x and v·x."""
        p, q = ([_dot(rows, column) for column in zip(*self.factor, strict=True)] for rows in (w, v))
        return _dot(w, self.mean), _dot(v, self.mean), _dot(p, p), _dot(q, q), _dot(p, q)


def _dot(first, second) -> fmpq:
    return sum((x * y for x, y in zip(first, second, strict=True)), fmpq(0))


def _density(x: arb) -> arb:
    return (-x * x / 2).exp() / (2 * arb.pi()).sqrt()


def _distribution(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def angle(mu, nu, a, b, c) -> arb:
    """The angle between the two vectors."""
    return arb.atan2(arb(a * b - c * c).sqrt(), arb(c))


def _orthant(mu, nu, a, b, c) -> arb:
    """P(u > 0, v > 0), computed once: several duals of the same vectors need it, and its integral is slow."""
    return _orthant_to(ctx.prec, mu, nu, a, b, c)


@functools.lru_cache(maxsize=4096)
def _orthant_to(precision: int, mu, nu, a, b, c) -> arb:
    """P(u > 0, v > 0) to the precision of the context, from the degenerate law with both numbers on one line."""
    if c < 0:
        # P(u > 0) − P(u > 0, −v > 0), whose angle is acute.
        return _distribution(arb(mu) / arb(a).sqrt()) - _orthant(mu, -nu, a, b, -c)
    s, t, theta = arb(a).sqrt(), arb(b).sqrt(), angle(mu, nu, a, b, c)
    h, k = arb(mu) / s, arb(nu) / t
    if mu == 0 and nu == 0:
        return (1 - theta / arb.pi()) / 2
    lowest = h if mu * abs(mu) * b < nu * abs(nu) * a else k
    gap = (k - h) ** 2
    start = arb(0)
    if nu * nu * a != mu * mu * b or mu * nu < 0:
        # Below this angle the integrand is below two to the minus precision.
        start = abs(k - h) / arb(2 * ctx.prec).sqrt()
    elif a * b == c * c:
        return _distribution(lowest)
    if not start < theta:
        return _distribution(lowest)

    def integrand(t, _):
        quarter = (t / 2).cos() ** 2
        apart = 0 if start == 0 else gap / (8 * (t / 2).sin() ** 2 * quarter)
        return (-(apart + h * k / (2 * quarter))).exp()

    edges = [start]
    while start != 0 and edges[-1] * 2 < theta:
        edges.append(edges[-1] * 2)
    edges.append(theta)
    total = arb(0)
    for left, right in itertools.pairwise(edges):
        total += acb.integral(integrand, left, right).real
    return _distribution(lowest) - total / (2 * arb.pi())


def _kinked(first: str, second: str, mu, nu, a, b, c) -> arb:
    """Absolute values and signs, from truncated moments."""
    if a == 0 or b == 0:
        return arb(0)
    s, t = arb(a).sqrt(), arb(b).sqrt()
    h, k, rho, width = arb(mu) / s, arb(nu) / t, arb(c) / (s * t), arb(a * b - c * c).sqrt() / (s * t)
    both = _orthant(mu, nu, a, b, c)
    if first == second == "sign":
        return 4 * both - 2 * _distribution(h) - 2 * _distribution(k) + 1
    if first == "sign":
        return _kinked(second, first, nu, mu, b, a, c)
    # P(v > 0 | u = 0), and the density there; on a line by the side on which the other is.
    if a * b == c * c:
        side, other = arb(nu) - arb(c) / arb(a) * arb(mu), arb(mu) - arb(c) / arb(b) * arb(nu)
        given_u, given_v = ((arb(1) if x > 0 else arb(0) if x < 0 else arb(0.5)) for x in (side, other))
        density = arb(0)
    else:
        side = (arb(nu * a - c * mu) / arb(a)) / (t * width)
        other = (arb(mu * b - c * nu) / arb(b)) / (s * width)
        given_u, given_v = _distribution(side), _distribution(other)
        density = width * _density(h) * _density(side)
    by_x = _density(h) * given_u + rho * _density(k) * given_v
    by_y = _density(k) * given_v + rho * _density(h) * given_u
    by_xy = rho * both - rho * (h * _density(h) * given_u + k * _density(k) * given_v) + density
    single, square = h * _distribution(h) + _density(h), (1 + h * h) * _distribution(h) + h * _density(h)
    if second == "sign":
        half = arb(mu) * _distribution(k) + s * rho * _density(k)
        return 4 * s * (h * both + by_x) - 2 * s * single - 2 * half + arb(mu)
    positive = s * t * (h * k * both + h * by_y + k * by_x + by_xy)
    single_v, square_v = k * _distribution(k) + _density(k), (1 + k * k) * _distribution(k) + k * _density(k)
    first_with = s * t * ((k - rho * h) * single + rho * square)
    second_with = s * t * ((h - rho * k) * single_v + rho * square_v)
    return 4 * positive - 2 * first_with - 2 * second_with + arb(mu * nu + c)


def _moments(kind: str, nu, b) -> tuple[arb, arb, arb]:
    """E[τ], E[(v − ν)τ] and E[(v − ν)²τ] of one function of one number."""
    nu, variance = arb(nu), arb(b)
    if kind in ("absolute", "sign"):
        t = variance.sqrt()
        k = nu / t
        p, d = 2 * _distribution(k) - 1, 2 * _density(k)
        # Moments of sgn(k + Y): E[sgn], E[Y sgn], E[Y² sgn], E[Y³ sgn].
        sign = [p, d, p - k * d, d * (2 + k * k)]
        if kind == "sign":
            return sign[0], t * sign[1], variance * sign[2]
        return tuple(t ** (j + 1) * (k * sign[j] + sign[j + 1]) for j in range(3))  # type: ignore[return-value]
    if kind == "erf":
        width = (1 + 2 * variance).sqrt()
        slope = 2 / arb.pi().sqrt() / width * (-nu * nu / width**2).exp()
        value = (nu / width).erf()
        return value, variance * slope, variance * value - 2 * variance**2 * nu / width**2 * slope
    damping = (-variance / 2).exp()
    cosine, sine = damping * nu.cos(), damping * nu.sin()
    if kind == "cosine":
        return cosine, -variance * sine, (variance - variance**2) * cosine
    if kind == "sine":
        return sine, variance * cosine, (variance - variance**2) * sine
    raise AssertionError(kind)


def _polynomial(power: int, kind: str, mu, nu, a, b, c) -> arb:
    """E[u^power τ(v)], from the moments of τ(v) and of u given v."""
    if kind in ("one", "identity", "square"):
        if power == 0 or kind == "one":
            degree = power or {"one": 0, "identity": 1, "square": 2}[kind]
            mean, variance = (mu, a) if power else (nu, b)
            return arb([1, mean, mean * mean + variance][degree])
        if power == 1 and kind == "identity":
            return arb(mu * nu + c)
        if power == 2 and kind == "square":
            return arb((mu * mu + a) * (nu * nu + b) + 4 * mu * nu * c + 2 * c * c)
        if power == 1:
            return arb(mu * (nu * nu + b) + 2 * nu * c)
        return arb(nu * (mu * mu + a) + 2 * mu * c)
    if b == 0:
        value = {"erf": arb(nu).erf(), "cosine": arb(nu).cos(), "sine": arb(nu).sin()}.get(kind, arb(0))
        return value * _polynomial(power, "one", mu, nu, a, b, c)
    value, once, twice = _moments(kind, nu, b)
    if power == 0:
        return value
    slope = arb(c / b)
    if power == 1:
        return arb(mu) * value + slope * once
    return arb(mu * mu + a - c * c / b) * value + 2 * arb(mu) * slope * once + slope * slope * twice


def _pair_value(first: str, second: str, pair) -> arb:
    powers = {"one": 0, "identity": 1, "square": 2}
    mu, nu, a, b, c = pair
    if first in powers:
        return _polynomial(powers[first], second, *pair)
    if second in powers:
        return _polynomial(powers[second], first, nu, mu, b, a, c)
    if {first, second} <= {"absolute", "sign"}:
        return _kinked(first, second, *pair)
    if {first, second} <= {"cosine", "sine"}:
        minus, plus = arb(-(a + b - 2 * c) / 2).exp(), arb(-(a + b + 2 * c) / 2).exp()
        if first == second:
            sign = 1 if first == "cosine" else -1
            return (minus * arb(mu - nu).cos() + sign * plus * arb(mu + nu).cos()) / 2
        sign = 1 if first == "sine" else -1
        return (plus * arb(mu + nu).sin() + sign * minus * arb(mu - nu).sin()) / 2
    assert mu == nu == 0
    first_one, second_one = (fmpq(int(kind == "erf")) for kind in (first, second))
    square = (first_one + 2 * a) * (second_one + 2 * b)
    return arb(0) if square == 0 else (2 * arb(c) / arb(square).sqrt()).asin() * 2 / arb.pi()


def value(sigma: str, tau: str, law: Law, w: list[fmpq], v: list[fmpq]) -> arb:
    """E[σ(w·x)τ(v·x)]."""
    pair = law.pair(w, v)
    total = arb(0)
    for one, first in PARTS[sigma]:
        for other, second in PARTS[tau]:
            weight = one * other
            total += _pair_value(first, second, pair) * weight.numerator / weight.denominator
    return total


class Exact(NamedTuple):
    """A dual with derivatives in units of the vectors: |w|∇K, and its change along (|w|D, |v|E)."""

    value: arb
    gradient: list[arb]
    turn: list[arb]
    angle: float


def exact(sigma: str, tau: str, law: Law, w, v, direction, other, bits: int = 60) -> Exact:
    """The dual at vectors of floating-point numbers; derivatives to about two to the minus `bits` of their scale.

    Args:
        sigma: First activation.
        tau: Second activation.
        law: The law.
        w: First vector.
        v: Second vector.
        direction: Direction of w, in units of its size.
        other: Direction of v, in units of its size.
        bits: Digits of the step of the differences.
    """
    size, other_size = (max(abs(x) for x in vector) or 1.0 for vector in (w, v))
    w, v, direction, other = ([rational(x) for x in row] for row in (w, v, direction, other))
    one, two = rational(size), rational(other_size)
    _, _, a, b, c = law.pair(w, v)
    spread = a * b - c * c
    ctx.prec = 100
    between = 1.0 if spread == 0 else min(1.0, float((arb(spread).sqrt() / arb(a * b).sqrt()).mid()))
    flat = math.ceil(-math.log2(between))
    step_bits, short = bits + flat, 0
    if not {sigma, tau} <= HOMOGENEOUS:
        # Long vectors see the unit of the other functions as a small angle; short ones make numbers that cancel.
        lengths = [math.ceil(math.log2(length)) for length in (size, other_size)]
        step_bits += max(0, *lengths)
        short = sum(max(0, -length) for length in lengths)
    ctx.prec = 2 * (step_bits + short + flat) + 200
    step = fmpq(1, 2**step_bits)

    def at(moved, turned) -> arb:
        first = [x + one * step * turned * d for x, d in zip(w, direction, strict=True)]
        first[moved[0]] += one * step * moved[1]
        second = [x + two * step * turned * d for x, d in zip(v, other, strict=True)]
        return value(sigma, tau, law, first, second)

    axes = range(len(w))
    gradient = [(at((i, 1), 0) - at((i, -1), 0)) / (2 * arb(step)) for i in axes]
    turn = [(at((i, 1), 1) - at((i, -1), 1) - at((i, 1), -1) + at((i, -1), -1)) / (4 * arb(step) ** 2) for i in axes]
    return Exact(at((0, 0), 0), gradient, turn, between if spread != 0 else 0.0)
