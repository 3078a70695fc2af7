"""Derivatives by finite differences of high order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Central differences of sixth order: what is left at a step of 3e-3 is about 1e-13 for values of order one.
OFFSETS = (-3, -2, -1, 1, 2, 3)
COEFFICIENTS = (-1 / 60, 3 / 20, -3 / 4, 3 / 4, -3 / 20, 1 / 60)


def along(function: Callable, point: np.ndarray, direction: np.ndarray, step: float = 3e-3) -> np.ndarray:
    """The derivative of an array-valued function at a point along a direction."""
    total = 0.0
    for offset, coefficient in zip(OFFSETS, COEFFICIENTS, strict=True):
        total = total + coefficient * np.asarray(function(point + offset * step * direction))
    return np.asarray(total) / step


def jacobian(function: Callable, point: np.ndarray, step: float = 3e-3) -> np.ndarray:
    """The Jacobian of a function of a vector; the derivatives are on the last axis."""
    return np.stack([along(function, point, axis, step) for axis in np.eye(point.size)], axis=-1)
