"""Gaussian inputs, standard or with a mean and a covariance."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Float, PRNGKeyArray

from tutelage import checks
from tutelage.arrays import of_jax
from tutelage.errors import invalid
from tutelage.inputs.base import Inputs, PlaneDensity, Symmetry, checked_dimension, identity, unsupported


class Gaussian(Inputs):
    """The Gaussian law $N(m, C)$; build one with `gaussian`.

    A field that is `None` stands for the standard value, so that a standard Gaussian in a million dimensions
    stores nothing and compiled code knows that it is standard.

    Attributes:
        dimension: The number of coordinates.
        location: The mean $m$, or `None` for zero.
        scatter: The covariance $C$, or `None` for the identity.
        factor: A lower triangular $L$ with $L L^T = C$, or `None` for the identity.
        variance: The number $c > 0$ with $C = c I$, or `None` if there is none.
        singular: Whether $C$ is singular to working precision.
    """

    dimension: int = eqx.field(static=True)
    location: Float[Array, " dim"] | None
    scatter: Float[Array, "dim dim"] | None
    factor: Float[Array, "dim dim"] | None
    variance: float | None = eqx.field(static=True)
    singular: bool = eqx.field(static=True)

    @property
    def name(self) -> str:
        parts = [str(self.dimension)]
        parts += ["mean"] if self.location is not None else []
        parts += ["covariance"] if self.scatter is not None else []
        return f"gaussian({', '.join(parts)})"

    @property
    def symmetry(self) -> Symmetry:
        if self.location is not None:
            return "none"
        return "reflection" if self.variance is None else "rotation"

    @property
    def centred(self) -> bool:
        """Whether the mean is exactly zero."""
        return self.location is None

    @property
    def standard(self) -> bool:
        """Whether the mean is exactly zero and the covariance exactly the identity."""
        return self.location is None and self.scatter is None

    def mean(self) -> Float[Array, " dim"]:
        return of_jax(np.zeros(self.dimension)) if self.location is None else self.location

    def covariance(self) -> Float[Array, "dim dim"]:
        return identity(self) if self.scatter is None else self.scatter

    @property
    def surrounds_zero(self) -> bool:
        return not self.singular

    def atoms(self) -> None:
        return None

    def _draw(self, key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "*shape dim"]:
        samples = jax.random.normal(key, (*shape, self.dimension))
        if self.factor is not None:
            samples = samples @ self.factor.T
        return samples if self.location is None else samples + self.location

    def _density(self, basis: Float[Array, "2 dim"]) -> PlaneDensity:
        centre = jnp.zeros(2) if self.location is None else basis @ self.location
        spread = jnp.eye(2) if self.scatter is None else basis @ self.scatter @ basis.T
        if self.singular and _flat(spread):
            raise unsupported("plane density", self, "its covariance is singular in the plane of the two vectors")
        determinant = spread[0, 0] * spread[1, 1] - spread[0, 1] * spread[1, 0]

        def density(points: Float[ArrayLike, "*batch 2"]) -> Float[Array, "*batch"]:
            offset = jnp.asarray(points) - centre
            first, second = offset[..., 0], offset[..., 1]
            square = spread[1, 1] * first**2 - 2 * spread[0, 1] * first * second + spread[0, 0] * second**2
            return jnp.exp(-0.5 * square / determinant) / (2 * math.pi * jnp.sqrt(determinant))

        return density

    def _radial_moment(self, order: float) -> float:
        assert self.variance is not None  # symmetry is "rotation" only then
        return self.variance ** (order / 2) * chi_moment(self.dimension, order)

    def _characteristic(self, frequency: Float[Array, "*batch dim"]) -> Complex[Array, "*batch"]:
        scaled = frequency if self.factor is None else frequency @ self.factor
        phase = jnp.zeros(()) if self.location is None else frequency @ self.location
        return jnp.exp(1j * phase - 0.5 * jnp.sum(scaled**2, axis=-1))


def chi_moment(dimension: int, order: float) -> float:
    r"""The moment $E|z|^p = 2^{p/2} \Gamma((d+p)/2) / \Gamma(d/2)$ of a standard Gaussian $z$."""
    return math.inf if order <= -dimension else 2 ** (order / 2) * gamma_ratio(dimension / 2, order)


def gamma_ratio(start: float, order: float) -> float:
    r"""The ratio $\Gamma(x + p/2) / \Gamma(x)$ for $x > 0$ and $x + p/2 > 0$.

    For the whole numbers $p$ that duals use it is a product, where a difference of logarithms would lose digits in
    high dimensions.
    """
    if not (0 <= order <= 64 and order == int(order)):
        return math.exp(math.lgamma(start + order / 2) - math.lgamma(start))
    ratio = 1.0
    if order % 2 == 1:
        ratio, start = _half_step(start), start + 0.5
    return ratio * math.prod(start + step for step in range(int(order) // 2))


def _half_step(x: float) -> float:
    r"""The ratio $\Gamma(x + \tfrac12) / \Gamma(x)$, for large $x$ by its asymptotic series."""
    if x < 150:
        return math.gamma(x + 0.5) / math.gamma(x)
    series = (1.0, -1 / 8, 1 / 128, 5 / 1024, -21 / 32768, -399 / 262144)
    return math.sqrt(x) * sum(coefficient / x**power for power, coefficient in enumerate(series))


def gaussian(dimension: int, mean: Any = None, covariance: Any = None) -> Gaussian:
    r"""Gaussian inputs $x \sim N(m, C)$.

    Args:
        dimension: The number of coordinates.
        mean: The mean $m$, `dimension` numbers; zero if left out.
        covariance: The covariance $C$, symmetric and positive semi-definite; the identity if left out.

    Returns:
        The law. A mean of zeros or a covariance equal to the identity counts as left out.

    Raises:
        InvalidArgument: If a shape is wrong or the covariance is not symmetric positive semi-definite.
    """
    dimension = checked_dimension(dimension)
    location = None
    if mean is not None:
        location = checks.checked_array("mean", mean, dimensions=1)
        if location.shape[0] != dimension:
            raise invalid(
                "mean",
                f"have {dimension} entries, one per coordinate",
                f"{location.shape[0]} entries",
                "Pass a mean of that length or change `dimension`",
            )
        location = of_jax(location) if isinstance(location, Tracer) or location.any() else None
    matrix = None if covariance is None else _checked_covariance(covariance, dimension)
    if matrix is None or np.array_equal(matrix, np.eye(dimension)):
        return Gaussian(dimension, location, None, None, 1.0, False)
    factor, singular = _factored(matrix)
    diagonal = float(matrix[0, 0])
    isotropic = diagonal > 0 and np.array_equal(matrix, diagonal * np.eye(dimension))
    variance = diagonal if isotropic else None
    return Gaussian(dimension, location, of_jax(matrix), of_jax(factor), variance, singular)


def _checked_covariance(covariance: Any, dimension: int) -> np.ndarray:
    """Return a covariance as an exactly symmetric matrix, or raise if its shape is wrong or it is not symmetric."""
    matrix = np.asarray(checks.finite_array("covariance", covariance, dimensions=2))
    if matrix.shape != (dimension, dimension):
        raise invalid(
            "covariance",
            f"have shape {(dimension, dimension)}",
            f"shape {matrix.shape}",
            "Pass a square matrix with one row per coordinate",
        )
    asymmetry = np.abs(matrix - matrix.T).max()
    if asymmetry > 1e-10 * np.abs(matrix).max():
        raise invalid("covariance", "be symmetric", f"entries that differ by {asymmetry:.3g}", "Pass (C + C.T) / 2")
    return (matrix + matrix.T) / 2


def _factored(matrix: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return a lower triangular factor and whether the matrix is singular, or raise if it is not semi-definite."""
    eigenvalues, eigenvectors = np.linalg.eigh(matrix)
    if eigenvalues[0] < -1e-10 * np.abs(matrix).max():
        raise invalid(
            "covariance",
            "be positive semi-definite",
            f"an eigenvalue of {eigenvalues[0]:.3g}",
            "Pass a covariance without negative eigenvalues",
        )
    if eigenvalues[0] > 1e-12 * eigenvalues[-1]:
        return np.linalg.cholesky(matrix), False
    # The root of a rounding error is far above rounding, and would push samples off the support.
    floor = 16 * len(matrix) * np.finfo(float).eps * eigenvalues[-1]
    root = eigenvectors * np.sqrt(np.where(eigenvalues > floor, eigenvalues, 0.0))
    factor = np.linalg.qr(root.T).R.T
    # QR leaves signs free; a Cholesky factor has a non-negative diagonal.
    return factor * np.where(np.diag(factor) < 0, -1.0, 1.0), True


def _flat(spread: Float[Array, "2 2"]) -> bool:
    """Whether a plane covariance is singular; a traced one, which cannot be looked at, counts as such."""
    if isinstance(spread, Tracer):
        return True
    smallest, largest = np.linalg.eigvalsh(np.asarray(spread))
    return bool(smallest <= 1e-12 * largest)
