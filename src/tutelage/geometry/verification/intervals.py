"""Intervals of numbers with whole numbers of Python alone: no ball arithmetic, and no floats.

An interval has two ends in units of $2^{-b}$. Ends are rounded outwards, so that a result contains the exact value for
all numbers inside the arguments.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

# Arguments of the series of the arc tangent are halved so often, as angles, before it is summed.
_HALVINGS = 6


class Interval:
    """All numbers between two ends, `low` and `high`, whole numbers in units of `2^-bits`."""

    __slots__ = ("bits", "high", "low")

    def __init__(self, low: int, high: int, bits: int):
        self.low, self.high, self.bits = low, high, bits

    @classmethod
    def of(cls, value: int | float | Fraction, bits: int) -> Interval:
        """Return the smallest interval around a number; floats are meant exactly."""
        scaled = Fraction(value) * (1 << bits)
        return cls(math.floor(scaled), math.ceil(scaled), bits)

    def _other(self, value: Interval | int | Fraction) -> Interval:
        return value if isinstance(value, Interval) else Interval.of(value, self.bits)

    def __add__(self, value: Interval | int | Fraction) -> Interval:
        other = self._other(value)
        return Interval(self.low + other.low, self.high + other.high, self.bits)

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low, self.bits)

    def __sub__(self, value: Interval | int | Fraction) -> Interval:
        return self + -self._other(value)

    def __mul__(self, value: Interval | int | Fraction) -> Interval:
        other = self._other(value)
        ends = [one * two for one in (self.low, self.high) for two in (other.low, other.high)]
        return Interval(min(ends) >> self.bits, -(-max(ends) >> self.bits), self.bits)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, value: int | Fraction) -> Interval:
        return self._other(value) - self

    def __truediv__(self, value: Interval | int | Fraction) -> Interval:
        other = self._other(value)
        if other.low <= 0 <= other.high:
            raise ZeroDivisionError("a divisor may be zero")
        tops = [end << self.bits for end in (self.low, self.high)]
        ends = (other.low, other.high)
        return Interval(
            min(top // end for top in tops for end in ends),
            max(-(-top // end) for top in tops for end in ends),
            self.bits,
        )

    def root(self) -> Interval:
        """Return the square roots of the numbers that are not negative."""
        low, high = (max(end, 0) << self.bits for end in (self.low, self.high))
        return Interval(math.isqrt(low), math.isqrt(high) + 1, self.bits)

    @property
    def least(self) -> Fraction:
        """The lower end."""
        return Fraction(self.low, 1 << self.bits)

    @property
    def largest(self) -> Fraction:
        """The upper end."""
        return Fraction(self.high, 1 << self.bits)


@cache
def pi(bits: int) -> Interval:
    """Return an interval around π, by Machin's formula."""
    return 4 * (4 * _series(Interval.of(Fraction(1, 5), bits)) - _series(Interval.of(Fraction(1, 239), bits)))


def _series(small: Interval) -> Interval:
    """Return arc tangents of numbers between zero and one half, by Taylor's series; terms alternate and fall."""
    square, power, total, number = small * small, small, small, 1
    while power.high > 1:
        power, number = power * square, number + 2
        total = total + (power / number if number % 4 == 1 else -(power / number))
    # What is left out is at most as large as the last term.
    return total + Interval(-2, 2, small.bits)


def angle(sine: Interval, cosine: Interval) -> Interval:
    """Return the angles, from zero to π, whose sines and cosines are multiples of these by one positive factor.

    Args:
        sine: Numbers that are not negative.
        cosine: Numbers of one sign, or close to zero beside the others.
    """
    bits = sine.bits
    size = max(abs(cosine.low), abs(cosine.high))
    if sine.low > size:
        return pi(bits) / 2 - _signed(cosine / sine)
    quotient = _arc_tangent(sine / (cosine if cosine.low > 0 else -cosine))
    return quotient if cosine.low > 0 else pi(bits) - quotient


def _signed(quotient: Interval) -> Interval:
    """Return arc tangents of numbers of any sign."""
    if quotient.high <= 0:
        return -_arc_tangent(-quotient)
    if quotient.low >= 0:
        return _arc_tangent(quotient)
    size = max(-quotient.low, quotient.high)
    return Interval(-size, size, quotient.bits)  # an arc tangent is not larger than its argument


def _arc_tangent(quotient: Interval) -> Interval:
    """Return arc tangents of numbers that are not negative: each halving takes t to t/(1 + √(1 + t²))."""
    for _ in range(_HALVINGS):
        quotient = quotient / (1 + (1 + quotient * quotient).root())
    return (1 << _HALVINGS) * _series(Interval(max(quotient.low, 0), quotient.high, quotient.bits))
