"""One example of every input law in any dimension, so that tests and tables run over all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import jax
import numpy as np

from tutelage.inputs.base import Inputs
from tutelage.inputs.data import data
from tutelage.inputs.finite import finite
from tutelage.inputs.gaussian import gaussian
from tutelage.inputs.mixture import mixture
from tutelage.inputs.product import rademacher, uniform_box
from tutelage.inputs.spherical import ball, sphere, spherical, student_t


def registry() -> Mapping[str, Callable[[int], Inputs]]:
    """Example constructors: a name and a function of the dimension that gives a law.

    Image patches are left out: they have no free dimension and take seconds to load.
    """
    return {
        "gaussian": gaussian,
        "gaussian_scaled": lambda dimension: gaussian(dimension, covariance=0.25 * np.eye(dimension)),
        "gaussian_correlated": lambda dimension: gaussian(dimension, covariance=_covariance(dimension)),
        "gaussian_shifted": lambda dimension: gaussian(dimension, mean=_vector(dimension)),
        "gaussian_general": lambda dimension: gaussian(dimension, _vector(dimension), _covariance(dimension)),
        "sphere": sphere,
        "ball": ball,
        "student_t": lambda dimension: student_t(dimension, degrees=12),
        "spherical": _exponential,
        "uniform_box": uniform_box,
        "uniform_box_shifted": lambda dimension: uniform_box(dimension, low=-0.5, high=2.0),
        "rademacher": rademacher,
        "finite": lambda dimension: finite(_rows(3, dimension), weights=[0.5, 0.3, 0.2]),
        "finite_symmetric": lambda dimension: finite(np.concatenate([np.eye(dimension), -np.eye(dimension)])),
        "mixture": lambda dimension: mixture(
            [gaussian(dimension, mean=_vector(dimension)), gaussian(dimension)], weights=[0.3, 0.7]
        ),
        "mixture_spherical": lambda dimension: mixture(
            [ball(dimension), student_t(dimension, degrees=12)], weights=[0.4, 0.6]
        ),
        "mixture_finite": lambda dimension: mixture(
            [rademacher(dimension), finite(_rows(3, dimension))], weights=[0.6, 0.4]
        ),
        "data": lambda dimension: data(_rows(40, dimension), center=True, scale="unit_variance"),
    }


def _exponential(dimension: int) -> Inputs:
    r"""A radius with the density $e^{-r}$; its moments are $\Gamma(1 + p)$."""
    return spherical(
        dimension,
        radius=lambda key, shape: jax.random.exponential(key, shape),
        moments=lambda order: math.gamma(1 + order) if order > -1 else math.inf,
        name=f"exponential_radius({dimension})",
    )


def _vector(dimension: int) -> np.ndarray:
    return 0.5 * np.cos(np.arange(1, dimension + 1))


def _covariance(dimension: int) -> np.ndarray:
    """Entries $2^{-|i-j|}$ with growing variances: positive definite in every dimension."""
    index = np.arange(dimension)
    scale = 1 + 0.1 * index
    return 0.5 ** np.abs(index[:, None] - index) * scale[:, None] * scale


def _rows(number: int, dimension: int) -> np.ndarray:
    return np.sin(1.0 + np.arange(number * dimension) ** 2).reshape(number, dimension)
