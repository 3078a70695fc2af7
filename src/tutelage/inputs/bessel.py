r"""Spherical Bessel functions over powers, $g_n(x) = j_n(x)/x^n$: the transform of an interval and its derivatives.

$g_0(x) = \sin x/x$ and $g_n'(x) = -x\,g_{n+1}(x)$. Derivatives of the quotient $\sin x/x$ itself cancel: the second one
has no digits left at $x = 10^{-8}$.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from tutelage.instant.leaves import leaf

# Below this the power series is summed, with so many terms; above it the recurrence loses no more than a digit.
_SMALL, _TERMS = 2.0, 18


@functools.cache
def spherical_bessel(order: int) -> Callable:
    """Return the function $g_n$, elementwise and with all its derivatives; for the first few orders."""

    @leaf(lambda arrays, changes: -arrays[0] * spherical_bessel(order + 1)(arrays[0]) * changes[0])
    def spherical_bessel_function(xp, x):
        square = x * x
        small = xp.abs(x) < _SMALL
        inner = xp.where(small, square, 0.0)
        series = 0.0
        for term in range(_TERMS, -1, -1):
            odd = math.prod(range(1, 2 * (order + term) + 2, 2))
            series = series * inner + (-0.5) ** term / (math.factorial(term) * odd)
        outer, denominator = xp.where(small, 1.0, x), xp.where(small, 1.0, square)
        value, after = xp.sin(outer) / outer, 0.0
        if order:
            value, after = (value - xp.cos(outer)) / denominator, value
        for step in range(1, order):
            value, after = ((2 * step + 1) * value - after) / denominator, value
        return xp.where(small, series, value)

    return spherical_bessel_function
