"""Inputs drawn from the rows of a user's array."""

from __future__ import annotations

from typing import Any

import numpy as np

from tutelage import checks
from tutelage.errors import invalid
from tutelage.inputs.base import checked_weights
from tutelage.inputs.finite import Finite, build


def data(array: Any, weights: Any = None, *, center: bool = False, scale: str | None = None) -> Finite:
    r"""The empirical law of the rows of an array; sampling draws rows with replacement.

    Args:
        array: The data, one input per row.
        weights: The probabilities of the rows; equal if left out.
        center: Whether to subtract the (weighted) mean row. By default nothing is subtracted.
        scale: `"unit_variance"` divides all entries by one number so that the mean square coordinate,
            $\operatorname{tr} E[x x^T] / d$, is 1 (after centring, if that was asked for); `None`, the
            default, leaves the scale alone.

    Returns:
        A law of finite support.

    Raises:
        InvalidArgument: If a shape is wrong, an entry is not finite, or there is nothing to scale.
    """
    points = np.asarray(checks.finite_array("array", array, dimensions=2))
    number, dimension = points.shape
    probabilities = checked_weights(weights, number, of="rows of `array`")
    checks.flag("center", center)
    checks.one_of("scale", scale, (None, "unit_variance"))
    size = np.abs(points).max()
    if center:
        points = points - probabilities @ points
    if scale == "unit_variance":
        square = float(probabilities @ (points**2).mean(axis=1))
        # Centring equal rows leaves their rounding error, which must not be blown up to size one.
        if square <= (1e-13 * size) ** 2:
            raise invalid(
                "scale",
                "be None for data without variation",
                f"{scale!r} with rows that are all {'equal' if center else 'zero'}",
                "Leave `scale` out or pass other data",
            )
        points = points / np.sqrt(square)
    return build(points, probabilities, f"data({number} rows, {dimension})")
