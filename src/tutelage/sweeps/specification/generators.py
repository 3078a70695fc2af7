"""Teachers that need no array: their rows follow from a few numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import jax
import numpy as np

from tutelage.checks import count, finite_number, positive, random_seed
from tutelage.errors import invalid


def orthonormal(neurons: int, dimension: int | None = None, norm: float = 1.0) -> np.ndarray:
    """Rows along the first axes, all of one norm.

    Args:
        neurons: Number of rows.
        dimension: Length of a row; as many as rows by default.
        norm: Norm of every row.
    """
    neurons = count("neurons", neurons)
    dimension = neurons if dimension is None else count("dimension", dimension)
    if dimension < neurons:
        remedy = "Raise it, or choose another generator"
        raise invalid("dimension", f"be at least the number of rows, {neurons}", dimension, remedy)
    return positive("norm", norm) * np.eye(neurons, dimension)


def gaussian_rows(neurons: int, dimension: int, scale: float = 1.0, seed: int = 0) -> np.ndarray:
    """Rows of independent Gaussian entries.

    Args:
        neurons: Number of rows.
        dimension: Length of a row.
        scale: Standard deviation of an entry.
        seed: Seed of the entries.
    """
    return positive("scale", scale) * _normal((count("neurons", neurons), count("dimension", dimension)), seed)


def sphere_rows(neurons: int, dimension: int, norm: float = 1.0, seed: int = 0) -> np.ndarray:
    """Rows in independent, uniformly random directions.

    Args:
        neurons: Number of rows.
        dimension: Length of a row.
        norm: Norm of every row.
        seed: Seed of the directions.
    """
    rows = _normal((count("neurons", neurons), count("dimension", dimension)), seed)
    return positive("norm", norm) * rows / np.linalg.norm(rows, axis=1, keepdims=True)


def axis(dimension: int, norm: float = 1.0) -> np.ndarray:
    """A vector along the first axis.

    Args:
        dimension: Number of entries.
        norm: Its norm.
    """
    return positive("norm", norm) * np.eye(1, count("dimension", dimension))[0]


def constant(dimension: int, value: float = 1.0) -> np.ndarray:
    """A vector of equal entries.

    Args:
        dimension: Number of entries.
        value: Every entry.
    """
    return np.full(count("dimension", dimension), finite_number("value", value))


def _single(rows: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Return the generator of a vector: the only one of the rows that another makes."""

    @wraps(rows)
    def vector(**arguments: Any) -> np.ndarray:
        return rows(neurons=1, **arguments)[0]

    return vector


def _normal(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.asarray(jax.random.normal(jax.random.key(random_seed("seed", seed)), shape))


MATRICES: Mapping[str, Callable[..., np.ndarray]] = {
    "orthonormal": orthonormal,
    "gaussian": gaussian_rows,
    "sphere": sphere_rows,
}
VECTORS: Mapping[str, Callable[..., np.ndarray]] = {
    "axis": axis,
    "constant": constant,
    "gaussian": _single(gaussian_rows),
    "sphere": _single(sphere_rows),
}
