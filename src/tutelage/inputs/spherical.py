"""Spherically symmetric inputs: a uniform direction times an independent radius."""

from __future__ import annotations

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Float, PRNGKeyArray

from tutelage import checks
from tutelage.arrays import of_jax
from tutelage.errors import invalid
from tutelage.inputs.base import Atoms, Inputs, PlaneDensity, checked_dimension, identity, unsupported
from tutelage.inputs.radii import BallRadius, GivenRadius, RadialDensity, Radius, SphereRadius, StudentRadius

# An input beyond 1e308 has about the probability 10 ** (-308 degrees).
_LEAST_DEGREES = 0.1


class Spherical(Inputs):
    r"""A rotation-symmetric law, $x = r u$ with $u$ uniform on the unit sphere and an independent $r \ge 0$.

    Build one with `sphere`, `ball`, `student_t` or `spherical`.

    Attributes:
        dimension: The number of coordinates.
        radius: The law of the radius.
    """

    dimension: int = eqx.field(static=True)
    radius: Radius
    symmetry = "rotation"

    @property
    def name(self) -> str:
        return self.radius.name(self.dimension)

    def mean(self) -> Float[Array, " dim"]:
        """Zero.

        Raises:
            UnsupportedCombination: If $E|x|$ is infinite, so that there is no mean.
        """
        if not math.isfinite(self._radial_moment(1)):
            raise unsupported("mean", self, "its first moment diverges")
        return of_jax(np.zeros(self.dimension))

    def covariance(self) -> Float[Array, "dim dim"]:
        """$E|x|^2 / d$ times the identity.

        Raises:
            UnsupportedCombination: If $E|x|^2$ is infinite.
        """
        square = self._radial_moment(2)
        if not math.isfinite(square):
            raise unsupported("covariance", self, "its second moment diverges")
        return square / self.dimension * identity(self)

    @property
    def surrounds_zero(self) -> bool:
        return self.atoms() is None

    def atoms(self) -> Atoms | None:
        if self.dimension == 1 and isinstance(self.radius, SphereRadius):  # the "sphere" of a line is two points
            ends = np.array([[-self.radius.radius], [self.radius.radius]])
            return of_jax(ends), of_jax(np.array([0.5, 0.5]))
        return None

    def _draw(self, key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "*shape dim"]:
        direction_key, radius_key = jax.random.split(key)
        normal = jax.random.normal(direction_key, (*shape, self.dimension))
        direction = normal / jnp.linalg.norm(normal, axis=-1, keepdims=True)
        return direction * self.radius.sample(radius_key, shape, self.dimension)[..., None]

    def _density(self, basis: Float[Array, "2 dim"]) -> PlaneDensity:
        radial = self.radius.plane_density(self.dimension)
        if radial is None:
            raise unsupported("plane density", self, "it has no plane marginal density in closed form")

        def density(points: Float[ArrayLike, "*batch 2"]) -> Float[Array, "*batch"]:
            plane = jnp.asarray(points)
            return radial(jnp.hypot(plane[..., 0], plane[..., 1]))

        return density

    def _radial_moment(self, order: float) -> float:
        return self.radius.moment(order, self.dimension)

    def _characteristic(self, frequency: Float[Array, "*batch dim"]) -> Complex[Array, "*batch"]:
        raise unsupported("characteristic function", self, "tutelage has no closed form for its radius")


def sphere(dimension: int, radius: float | None = None) -> Spherical:
    r"""Inputs uniform on a sphere.

    Args:
        dimension: The number of coordinates.
        radius: The radius $R$; $\sqrt{d}$ if left out, which makes the covariance the identity.
    """
    dimension = checked_dimension(dimension)
    radius = math.sqrt(dimension) if radius is None else checks.positive("radius", radius)
    return Spherical(dimension, SphereRadius(radius))


def ball(dimension: int, radius: float | None = None) -> Spherical:
    r"""Inputs uniform in a ball.

    Args:
        dimension: The number of coordinates.
        radius: The radius $R$; $\sqrt{d + 2}$ if left out, which makes the covariance the identity.
    """
    dimension = checked_dimension(dimension)
    radius = math.sqrt(dimension + 2) if radius is None else checks.positive("radius", radius)
    return Spherical(dimension, BallRadius(radius))


def student_t(dimension: int, degrees: float) -> Spherical:
    r"""Inputs of the multivariate $t$ law with identity scale, $x = z \sqrt{\nu / \chi^2_\nu}$.

    The covariance is $\nu / (\nu - 2) I$ for $\nu > 2$ and does not exist otherwise.

    Args:
        dimension: The number of coordinates.
        degrees: The degrees of freedom $\nu \ge 0.1$; small ones have heavy tails.
    """
    degrees = checks.positive("degrees", degrees)
    if degrees < _LEAST_DEGREES:
        raise invalid(
            "degrees", f"be at least {_LEAST_DEGREES}", f"{degrees:g}", "Inputs would be beyond the range of numbers"
        )
    return Spherical(checked_dimension(dimension), StudentRadius(degrees))


def spherical(
    dimension: int,
    radius: Callable[[PRNGKeyArray, tuple[int, ...]], Float[Array, "*shape"]],
    moments: Callable[[float], float],
    plane_density: RadialDensity | None = None,
    name: str | None = None,
) -> Spherical:
    r"""Spherically symmetric inputs of any radius.

    Args:
        dimension: The number of coordinates.
        radius: A function of a random key and a shape that draws independent radii $r \ge 0$ of that shape.
        moments: A function of a real $p$ that gives $E[r^p]$, `inf` where it diverges.
        plane_density: The density of the input projected on a plane, as a function of the distance to the
            origin of that plane; leave it out if it is not known or does not exist.
        name: What messages call the law; `spherical(d)` if left out.

    Raises:
        InvalidArgument: If a function is not one, or gives what no law of a radius could give.
    """
    dimension = checked_dimension(dimension)
    for argument, function in (("radius", radius), ("moments", moments), ("plane_density", plane_density)):
        if not (argument == "plane_density" and function is None):
            checks.function(argument, function, "a function")
    drawn = checks.tried("radius", lambda: np.asarray(radius(jax.random.key(0), (3,)), float))
    if drawn.shape != (3,):
        raise invalid(
            "radius",
            "return radii of the shape it is given, (3,)",
            f"shape {drawn.shape}",
            "Draw that many radii",
        )
    if not (np.isfinite(drawn).all() and (drawn >= 0).all()):
        raise invalid("radius", "return finite, non-negative radii", str(drawn), "Draw lengths")
    for order in (0.0, 2.0):
        value = checks.tried("moments", lambda order=order: float(moments(order)))
        if not value >= 0 or (order == 0 and abs(value - 1) > 1e-9):
            required = "1" if order == 0 else "a non-negative number"
            raise invalid(
                "moments",
                f"give {required} at order {order:g}",
                repr(value),
                "Return the moment E[r ** order]",
            )
    if plane_density is not None:
        _require_density(plane_density)
    label = f"spherical({dimension})" if name is None else checks.text("name", name)
    return Spherical(dimension, GivenRadius(label, radius, moments, plane_density))


def _require_density(density: RadialDensity) -> None:
    """Raise if a user's function of distances does not give one density for each."""
    values = checks.tried("plane_density", lambda: np.asarray(density(jnp.asarray([0.5, 1.0, 2.0])), float))
    if values.shape != (3,) or not (values >= 0).all():
        raise invalid(
            "plane_density", "give one density for each distance", str(values), "Return an array of the same shape"
        )
