"""Balls that depend on the number of neurons: a value and its derivative, by the rules of differentiation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tutelage.geometry.ball_arithmetic import flint_module


def _of_one(operation: Callable[[Moving, Moving], Moving]) -> Callable[[Moving, Any], Moving]:
    """Return an operation that leaves arrays to NumPy, and takes balls and numbers as they are."""

    def operate(self: Moving, other: Any) -> Moving:
        return NotImplemented if isinstance(other, np.ndarray) else operation(self, _moving(other))

    return operate


class Moving:
    """A ball and its derivative; formulas that are written for balls take them as they are."""

    __slots__ = ("slope", "value")

    def __init__(self, value: Any, slope: Any = 0):
        self.value, self.slope = flint_module().arb(value), flint_module().arb(slope)

    @_of_one
    def __add__(self, other: Moving) -> Moving:
        return Moving(self.value + other.value, self.slope + other.slope)

    def __neg__(self) -> Moving:
        return Moving(-self.value, -self.slope)

    def __sub__(self, other: Any) -> Moving:
        return self + -other

    def __rsub__(self, other: Any) -> Moving:
        return -self + other

    @_of_one
    def __mul__(self, other: Moving) -> Moving:
        return Moving(self.value * other.value, self.slope * other.value + self.value * other.slope)

    __radd__, __rmul__ = __add__, __mul__

    @_of_one
    def __truediv__(self, other: Moving) -> Moving:
        quotient = self.value / other.value
        return Moving(quotient, (self.slope - quotient * other.slope) / other.value)

    @_of_one
    def __rtruediv__(self, other: Moving) -> Moving:
        return other / self

    def __eq__(self, other: object) -> bool:
        """Whether it is zero for all numbers of neurons, which is all that formulas ask for."""
        other = _moving(other)
        return bool(self.value == other.value and self.slope == other.slope)

    __hash__ = None  # type: ignore[assignment]

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > _moving(other).value)

    def __float__(self) -> float:
        return float(self.value)

    def nonnegative_part(self) -> Moving:
        """Return the same, known not to be negative."""
        return Moving(self.value.nonnegative_part(), self.slope)

    def sqrt(self) -> Moving:
        """Return the square root."""
        root = self.value.sqrt()
        return Moving(root, 0 if self.slope == 0 else self.slope / (2 * root))

    def atan2(self, cosine: Moving) -> Moving:
        """Return the angle of a multiple of a sine, and the same multiple of its cosine."""
        square = self.value * self.value + cosine.value * cosine.value
        angle = flint_module().arb.atan2(self.value, cosine.value)
        return Moving(angle, (self.slope * cosine.value - self.value * cosine.slope) / square)


def _moving(value: Any) -> Moving:
    return value if isinstance(value, Moving) else Moving(value)


def moving(table: np.ndarray) -> np.ndarray:
    """Return a table of balls that do not depend on the number of neurons."""
    return np.array([[Moving(entry) for entry in row] for row in table], object)
