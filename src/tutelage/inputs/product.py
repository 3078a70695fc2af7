"""Inputs with independent coordinates: the uniform box and Rademacher signs."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Float, PRNGKeyArray

from tutelage import checks
from tutelage.arrays import of_jax
from tutelage.errors import invalid
from tutelage.inputs.base import (
    Atoms,
    Discrete,
    Inputs,
    PlaneDensity,
    Symmetry,
    checked_dimension,
    identity,
    unsupported,
)
from tutelage.inputs.bessel import spherical_bessel
from tutelage.instant import instantly

# 2 ** 16 corners of 16 coordinates are 8 megabytes; beyond that nobody wants the list.
_LISTED_DIMENSION = 16


class UniformBox(Inputs):
    r"""The uniform law on a box $\prod_j [l_j, h_j]$; build one with `uniform_box`.

    Attributes:
        dimension: The number of coordinates.
        low: The lower corner.
        high: The upper corner.
        symmetric: Whether the box is centred at zero.
        name: The name of the law.
    """

    dimension: int = eqx.field(static=True)
    low: Float[Array, " dim"]
    high: Float[Array, " dim"]
    symmetric: bool = eqx.field(static=True)
    name: str = eqx.field(static=True)

    @property
    def symmetry(self) -> Symmetry:
        return "reflection" if self.symmetric else "none"

    @instantly
    def mean(self) -> Float[Array, " dim"]:
        return (self.low + self.high) / 2

    @instantly
    def covariance(self) -> Float[Array, "dim dim"]:
        return (self.high - self.low) ** 2 / 12 * identity(self)

    @property
    def surrounds_zero(self) -> bool:
        return bool(np.all((np.asarray(self.low) < 0) & (np.asarray(self.high) > 0)))

    def atoms(self) -> None:
        return None

    def _draw(self, key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "*shape dim"]:
        share = jax.random.uniform(key, (*shape, self.dimension))
        return self.low + (self.high - self.low) * share

    def _density(self, basis: Float[Array, "2 dim"]) -> PlaneDensity:
        if self.dimension != 2:
            raise unsupported("plane density", self, "a projected box has a closed form in dimension 2 only")

        def density(points: Float[ArrayLike, "*batch 2"]) -> Float[Array, "*batch"]:
            original = jnp.asarray(points) @ basis  # the basis is orthogonal, its transpose undoes it
            inside = jnp.all((self.low <= original) & (original <= self.high), axis=-1)
            return jnp.where(inside, 1.0 / jnp.prod(self.high - self.low), 0.0)

        return density

    def _radial_moment(self, order: float) -> float:
        raise unsupported("radial moment", self, "it is not rotation symmetric")

    def _characteristic(self, frequency: Float[Array, "*batch dim"]) -> Complex[Array, "*batch"]:
        # The transform of a centred interval of half-width h is sin(t h) / (t h).
        waves = spherical_bessel(0)(frequency * (self.high - self.low) / 2)
        return jnp.exp(1j * (frequency @ self.mean())) * jnp.prod(waves, axis=-1)


class Rademacher(Discrete):
    r"""Independent signs times a scale, $x_j = \pm s$; build one with `rademacher`.

    Attributes:
        dimension: The number of coordinates.
        scale: The size $s$ of every coordinate.
    """

    dimension: int = eqx.field(static=True)
    scale: float = eqx.field(static=True)
    symmetry = "reflection"

    @property
    def name(self) -> str:
        scale = "" if self.scale == 1 else f", scale={self.scale:g}"
        return f"rademacher({self.dimension}{scale})"

    @instantly
    def mean(self) -> Float[Array, " dim"]:
        return of_jax(np.zeros(self.dimension))

    @instantly
    def covariance(self) -> Float[Array, "dim dim"]:
        return self.scale**2 * identity(self)

    def atoms(self) -> Atoms | None:
        if self.dimension > _LISTED_DIMENSION:
            return None
        number = 2**self.dimension
        bits = (np.arange(number)[:, None] >> np.arange(self.dimension)) & 1
        return of_jax(self.scale * (2.0 * bits - 1.0)), of_jax(np.full(number, 1.0 / number))

    def _draw(self, key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "*shape dim"]:
        return self.scale * jax.random.rademacher(key, (*shape, self.dimension), dtype=float)

    def _characteristic(self, frequency: Float[Array, "*batch dim"]) -> Complex[Array, "*batch"]:
        return jnp.prod(jnp.cos(self.scale * frequency), axis=-1).astype(complex)


def uniform_box(dimension: int, low: Any = -1.0, high: Any = 1.0) -> UniformBox:
    """Inputs uniform on a box.

    Args:
        dimension: The number of coordinates.
        low: The lower end of every coordinate, one number or one per coordinate.
        high: The upper end, above `low`, in the same form.

    Raises:
        InvalidArgument: If a shape is wrong or an end is not above the other.
    """
    dimension = checked_dimension(dimension)
    ends = []
    for argument, value in (("low", low), ("high", high)):
        array = np.asarray(checks.finite_array(argument, value))
        if array.shape not in ((), (dimension,)):
            raise invalid(
                argument,
                f"be one number or {dimension} numbers",
                f"shape {array.shape}",
                "Pass one end for all coordinates or one for each",
            )
        ends.append(np.broadcast_to(array, (dimension,)))
    lower, upper = ends
    if not (lower < upper).all():
        where = int(np.argmin(upper - lower))
        raise invalid(
            "high",
            f"be above `low`, here {lower[where]}",
            f"{upper[where]}",
            "Exchange them or widen the box",
        )
    usual = bool((lower == -1).all() and (upper == 1).all())
    name = f"uniform_box({dimension})" if usual else f"uniform_box({dimension}, {_shown(lower)}, {_shown(upper)})"
    return UniformBox(dimension, of_jax(lower), of_jax(upper), bool(np.array_equal(lower, -upper)), name)


def rademacher(dimension: int, scale: float = 1.0) -> Rademacher:
    r"""Inputs of independent signs, $x_j = \pm s$ with equal probability.

    Args:
        dimension: The number of coordinates.
        scale: The size $s$ of every coordinate.
    """
    return Rademacher(checked_dimension(dimension), checks.positive("scale", scale))


def _shown(ends: np.ndarray) -> str:
    """One end of a box for its name: the number if all coordinates share it."""
    return f"{ends[0]:g}" if (ends == ends[0]).all() else "…"
