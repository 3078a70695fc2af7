"""Inputs of finite support: points with weights."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, Int, PRNGKeyArray

from tutelage import checks
from tutelage.arrays import of_jax
from tutelage.inputs.base import Atoms, Discrete, Symmetry, checked_weights
from tutelage.instant import instantly


class Finite(Discrete):
    """A law on finitely many points; build one with `finite` or `data`.

    Attributes:
        dimension: The number of coordinates.
        points: The points, one per row.
        weights: Their probabilities.
        symmetric: Whether every point and its negative have the same probability.
        name: The name of the law.
    """

    dimension: int = eqx.field(static=True)
    points: Float[Array, "atom dim"]
    weights: Float[Array, " atom"]
    symmetric: bool = eqx.field(static=True)
    name: str = eqx.field(static=True)

    @property
    def symmetry(self) -> Symmetry:
        return "reflection" if self.symmetric else "none"

    @instantly
    def mean(self) -> Float[Array, " dim"]:
        return self.weights @ self.points

    @instantly
    def covariance(self) -> Float[Array, "dim dim"]:
        centred = self.points - self.mean()
        return (centred * self.weights[:, None]).T @ centred

    def atoms(self) -> Atoms:
        return self.points, self.weights

    def _draw(self, key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "*shape dim"]:
        cumulative = jnp.cumsum(self.weights)
        # Measured against the rounded total, so that no draw falls beyond the last point. A point of weight
        # zero is never drawn: the search looks for the first cumulative weight strictly above the draw.
        level = jax.random.uniform(key, shape) * cumulative[-1]
        return self.points[_up_to(cumulative, level)]

    def _characteristic(self, frequency: Float[Array, "*batch dim"]) -> Complex[Array, "*batch"]:
        return jnp.exp(1j * (frequency @ self.points.T)) @ self.weights.astype(complex)


def _up_to(increasing: Float[Array, " entry"], level: Float[Array, "*shape"]) -> Int[Array, "*shape"]:
    """Return how many numbers of an increasing sequence are not above a level.

    By bisection as in `jax.numpy.searchsorted`, which takes a second to trace and to compile.
    """
    size = increasing.shape[0]
    number = jnp.zeros(level.shape, int)
    for step in (2**bit for bit in reversed(range(size.bit_length()))):
        farther = number + step
        reached = (farther <= size) & (increasing[jnp.minimum(farther, size) - 1] <= level)
        number = jnp.where(reached, farther, number)
    return number


def finite(points: Any, weights: Any = None) -> Finite:
    """Inputs that take finitely many values.

    Args:
        points: The values, one per row.
        weights: Their probabilities, non-negative and summing to 1 within 1e-9; equal if left out.

    Raises:
        InvalidArgument: If a shape is wrong or the weights are not probabilities.
    """
    array = np.asarray(checks.finite_array("points", points, dimensions=2))
    number, dimension = array.shape
    return build(array, checked_weights(weights, number, of="points"), f"finite({number} points, {dimension})")


def build(points: np.ndarray, weights: np.ndarray, name: str) -> Finite:
    """The law of checked points and weights."""
    return Finite(points.shape[1], of_jax(points), of_jax(weights), _symmetric(points, weights), name)


def _symmetric(points: np.ndarray, weights: np.ndarray) -> bool:
    """Whether every point and its negative have the same total weight."""
    signed = np.concatenate([points, -points]) + 0.0  # adding zero turns -0.0 into 0.0
    _, index = np.unique(signed, axis=0, return_inverse=True)
    difference = np.bincount(index.reshape(-1), weights=np.concatenate([weights, -weights]))
    return bool(np.abs(difference).max() <= 1e-12)
