"""Derivatives by finite differences of high order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

# Central differences of sixth order: what is left at a step of 3e-3 is about 1e-13 for values of order one.
OFFSETS = (-3, -2, -1, 1, 2, 3)
COEFFICIENTS = (-1 / 60, 3 / 20, -3 / 4, 3 / 4, -3 / 20, 1 / 60)


def along(function: Callable, point: np.ndarray, direction: np.ndarray, step: float = 3e-3) -> np.ndarray:
    """The derivative of an array-valued function at a point along a direction."""
    return combine([function(shifted) for shifted in stencil(point, direction, step)], step)


def stencil(point: np.ndarray, direction: np.ndarray, step: float = 3e-3) -> np.ndarray:
    """The points at which a function is evaluated, for functions that take all of them at once."""
    return np.stack([point + offset * step * direction for offset in OFFSETS])


def combine(values: Sequence[np.ndarray] | np.ndarray, step: float = 3e-3) -> np.ndarray:
    """The derivative from the values at the points of the stencil."""
    return np.tensordot(COEFFICIENTS, np.asarray([np.asarray(value) for value in values]), axes=1) / step


def jacobian(function: Callable, point: np.ndarray, step: float = 3e-3) -> np.ndarray:
    """The Jacobian of a function of a vector; the derivatives are on the last axis."""
    return np.stack([along(function, point, axis, step) for axis in np.eye(point.size)], axis=-1)
