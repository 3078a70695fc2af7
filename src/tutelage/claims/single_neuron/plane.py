r"""Expectations $E[f(w\cdot x, v\cdot x)]$ by a rule in the plane of $w$ and $v$, for laws with a plane density; in NumPy.

The plane is cut into the four sectors in which $w\cdot x$ and $v\cdot x$ keep their signs. In each, the rule is a product of
Gauss–Legendre rules in the angle and in the distance, so that kinks at zero are never crossed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class PlaneRule(NamedTuple):
    """Nodes of a plane rule: both arguments, and the weights with the density."""

    student: np.ndarray
    teacher: np.ndarray
    weights: np.ndarray

    def mean(self, function: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> float:
        """The expectation of a function of both arguments."""
        return float(np.sum(self.weights * function(self.student, self.teacher)))


_ANGULAR = np.polynomial.legendre.leggauss(20)
_RADIAL = np.polynomial.legendre.leggauss(60)


def rule(density: Callable[[np.ndarray], np.ndarray], turn: float, reach: float) -> PlaneRule:
    r"""The rule for $\|w\| = \|v\| = 1$, angle `turn`, and a plane density that lives within `reach` (up to rounding).

    The teacher is on the first axis; `density` acts on points, in the last axis.
    """
    half = reach / 2
    distances = half * (_RADIAL[0] + 1)
    radial = half * _RADIAL[1] * distances
    # w·y changes sign at turn ± π/2 and v·y at ± π/2.
    edges = np.unique(np.mod([turn + np.pi / 2, turn - np.pi / 2, np.pi / 2, -np.pi / 2], 2 * np.pi))
    edges = np.append(edges, edges[0] + 2 * np.pi)
    middle, width = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    angles = (middle[:, None] + width[:, None] * _ANGULAR[0]).ravel()
    angular = (width[:, None] * _ANGULAR[1]).ravel()
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return PlaneRule(
        student=distances * np.cos(angles[:, None] - turn),
        teacher=distances * directions[:, :1],
        weights=angular[:, None] * radial * density(distances[:, None] * directions[:, None, :]),
    )
