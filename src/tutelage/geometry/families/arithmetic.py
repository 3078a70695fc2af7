"""One text for formulas in float64 and in balls: arrays of floats, or of Arb balls as objects.

NumPy adds and multiplies arrays of objects entry by entry; what it cannot do with balls is here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tutelage.geometry.ball_arithmetic import NotProved, entrywise, flint_module


def is_ball(array: np.ndarray) -> bool:
    """Whether the entries are balls."""
    return array.dtype == object


def pi(array: np.ndarray) -> Any:
    """Return π in the arithmetic of an array."""
    return flint_module().arb.pi() if is_ball(array) else np.pi


def square(values: Any) -> Any:
    """Return squares: a ball around zero has one, but its power is not a number."""
    return values * values


def root(squares: np.ndarray) -> np.ndarray:
    """Return square roots of numbers that are not negative, whatever rounding makes of them."""
    if is_ball(squares):
        return entrywise(lambda entry: entry.nonnegative_part().sqrt(), squares)
    return np.sqrt(np.maximum(squares, 0.0))


def angle(sine: np.ndarray, cosine: np.ndarray) -> np.ndarray:
    """Return angles from multiples, by one positive factor, of their sines and cosines."""
    if is_ball(sine):
        return entrywise(lambda one, other: type(one).atan2(one, other), sine, cosine)
    return np.arctan2(sine, cosine)


def reciprocal(values: np.ndarray) -> np.ndarray:
    """Return reciprocals, and zero for zero.

    Raises:
        NotProved: If a ball leaves open whether its number is zero.
    """
    if is_ball(values):
        return entrywise(_reciprocal, values)
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def _reciprocal(value: Any) -> Any:
    if value == 0:
        return 0 * value
    if not value > 0:
        raise NotProved("two neurons may be parallel, or one may be zero")
    return 1 / value
