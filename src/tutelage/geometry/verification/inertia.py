r"""How many eigenvalues of a symmetric matrix are below a number, by whole numbers alone.

Gaussian elimination in units of $2^{-b}$, rounded anyhow, gives $L$ and $D$ with $A \approx LDL^\top$. As these are
exact numbers, the difference $E$ is computed exactly, and Sylvester's law of inertia says that $LDL^\top$ has as many
negative eigenvalues as $D$ negative entries. By Weyl's inequality the eigenvalues of $A$ differ from its by at most
$\|E\|$, for which the largest sum of a row is a bound.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np


class Matrix(NamedTuple):
    """A symmetric matrix in intervals.

    Attributes:
        middle: Middles of the entries, whole numbers in units of `2^-bits`.
        spread: Largest differences from them.
        bits: The precision.
    """

    middle: np.ndarray
    spread: np.ndarray
    bits: int


class Undecided(Exception):
    """A number that is not known well enough to decide what it was computed for."""


def negative(matrix: Matrix, weights: list[int], shift: Fraction, slack: Fraction) -> int:
    """Return how many eigenvalues are negative of a matrix less a shift times a diagonal matrix, to within a slack.

    That number of them is at most the slack, and the others are at least minus the slack.

    Args:
        matrix: The matrix.
        weights: The diagonal matrix, positive whole numbers.
        shift: The shift.
        slack: By how much eigenvalues may be misjudged.

    Raises:
        Undecided: If a pivot is zero, or the slack is exceeded.
    """
    bits, size = matrix.bits, len(weights)
    shifted = matrix.middle.copy()
    for place, weight in enumerate(weights):
        shifted[place, place] -= round(shift * weight * (1 << bits))
    lower = np.zeros((size, size), object)
    pivots = np.zeros(size, object)
    rest = shifted.copy()
    for place in range(size):
        pivot = pivots[place] = rest[place, place]
        if pivot == 0:
            raise Undecided("a pivot of the Hessian is zero")
        lower[place, place] = 1 << bits
        below = (rest[place + 1 :, place] << bits) // pivot
        lower[place + 1 :, place] = below
        rest[place + 1 :, place + 1 :] -= (below[:, None] * rest[place, place + 1 :][None]) >> bits
    # All in whole numbers: nothing is rounded here.
    error = (shifted << (2 * bits)) - lower @ (pivots[:, None] * lower.T)
    rows = (abs(error) >> (2 * bits)) + matrix.spread + 1 + np.diag(np.ones(size, object))
    if Fraction(int(max(rows.sum(axis=1))), 1 << bits) > slack:
        raise Undecided("rounding errors of the elimination are too large")
    return int(sum(pivot < 0 for pivot in pivots))
