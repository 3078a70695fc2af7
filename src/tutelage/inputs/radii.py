"""Laws of the radius $|x|$ of spherically symmetric inputs."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from typing import TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from tutelage.inputs.gaussian import chi_moment, gamma_ratio
from tutelage.modules import Module

RadialDensity: TypeAlias = Callable[[Float[Array, "*batch"]], Float[Array, "*batch"]]


class Radius(Module):
    """The law of the radius of a spherically symmetric input in a given dimension."""

    @abc.abstractmethod
    def name(self, dimension: int) -> str:
        """A short human name of the law of the input."""

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray, shape: tuple[int, ...], dimension: int) -> Float[Array, "*shape"]:
        """Independent radii."""

    @abc.abstractmethod
    def moment(self, order: float, dimension: int) -> float:
        """The moment $E|x|^p$, `inf` where it diverges."""

    @abc.abstractmethod
    def plane_density(self, dimension: int) -> RadialDensity | None:
        """The density of the input projected on a plane, a function of the distance to the origin there.

        `None` where there is none, or none in closed form. Asked only for `dimension` of at least 2.
        """


class SphereRadius(Radius):
    """A fixed radius $R$: inputs uniform on a sphere."""

    radius: float = eqx.field(static=True)

    def name(self, dimension: int) -> str:
        return _name("sphere", dimension, self.radius, math.sqrt(dimension))

    def sample(self, key: PRNGKeyArray, shape: tuple[int, ...], dimension: int) -> Float[Array, "*shape"]:
        return jnp.full(shape, self.radius)

    def moment(self, order: float, dimension: int) -> float:
        return self.radius**order

    def plane_density(self, dimension: int) -> RadialDensity | None:
        r"""$\frac{d-2}{2\pi R^2} (1 - r^2/R^2)^{(d-4)/2}$ on the disc, for $d \ge 3$.

        The squared projection $|Qx|^2/R^2$ has the law $\mathrm{Beta}(1, (d-2)/2)$. In $d = 2$ the law
        is on a circle and has no density.
        """
        return None if dimension < 3 else _disc(dimension - 2, self.radius)


class BallRadius(Radius):
    """Inputs uniform in a ball of radius $R$."""

    radius: float = eqx.field(static=True)

    def name(self, dimension: int) -> str:
        return _name("ball", dimension, self.radius, math.sqrt(dimension + 2))

    def sample(self, key: PRNGKeyArray, shape: tuple[int, ...], dimension: int) -> Float[Array, "*shape"]:
        return self.radius * jax.random.uniform(key, shape) ** (1.0 / dimension)

    def moment(self, order: float, dimension: int) -> float:
        r"""$R^p d / (d + p)$, from the density $d\,r^{d-1}/R^d$ of the radius."""
        return math.inf if order <= -dimension else self.radius**order * dimension / (dimension + order)

    def plane_density(self, dimension: int) -> RadialDensity | None:
        r"""$\frac{d}{2\pi R^2} (1 - r^2/R^2)^{(d-2)/2}$ on the disc: the volume of a $(d-2)$-ball."""
        return _disc(dimension, self.radius)


class StudentRadius(Radius):
    r"""Inputs of the multivariate $t$ law, $x = z \sqrt{\nu / \chi^2_\nu}$ with $z$ standard Gaussian."""

    degrees: float = eqx.field(static=True)

    def name(self, dimension: int) -> str:
        return f"student_t({dimension}, degrees={self.degrees:g})"

    def sample(self, key: PRNGKeyArray, shape: tuple[int, ...], dimension: int) -> Float[Array, "*shape"]:
        above, below = jax.random.split(key)
        # A chi-square with k degrees is twice a Gamma(k / 2); the twos cancel.
        square = jax.random.gamma(above, dimension / 2, shape) / jax.random.gamma(below, self.degrees / 2, shape)
        return jnp.sqrt(self.degrees * square)

    def moment(self, order: float, dimension: int) -> float:
        r"""$E|z|^p \cdot (\nu/2)^{p/2} \Gamma((\nu - p)/2) / \Gamma(\nu/2)$ for $-d < p < \nu$."""
        if order >= self.degrees:
            return math.inf
        half = self.degrees / 2
        return chi_moment(dimension, order) * half ** (order / 2) / gamma_ratio(half - order / 2, order)

    def plane_density(self, dimension: int) -> RadialDensity | None:
        r"""$\frac{1}{2\pi} (1 + r^2/\nu)^{-(\nu+2)/2}$: marginals of $t$ laws keep their $\nu$."""

        def density(distance: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
            return jnp.exp(-(self.degrees / 2 + 1) * jnp.log1p(distance**2 / self.degrees)) / (2 * math.pi)

        return density


class GivenRadius(Radius):
    """A radius whose law the user gives by functions."""

    label: str = eqx.field(static=True)
    sampler: Callable[[PRNGKeyArray, tuple[int, ...]], Float[Array, "*shape"]] = eqx.field(static=True)
    moments: Callable[[float], float] = eqx.field(static=True)
    density: RadialDensity | None = eqx.field(static=True)

    def name(self, dimension: int) -> str:
        return self.label

    def sample(self, key: PRNGKeyArray, shape: tuple[int, ...], dimension: int) -> Float[Array, "*shape"]:
        return jnp.asarray(self.sampler(key, shape))

    def moment(self, order: float, dimension: int) -> float:
        return float(self.moments(order))

    def plane_density(self, dimension: int) -> RadialDensity | None:
        return self.density


def _disc(power: int, radius: float) -> RadialDensity:
    r"""The density $\frac{k}{2\pi R^2} (1 - r^2/R^2)^{k/2-1}$ inside the disc of radius $R$, zero outside."""

    def density(distance: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        inside = distance < radius
        # Factored, so that nothing cancels near the edge, where that of the sphere in d = 3 is unbounded.
        share = distance / radius
        height = jnp.where(inside, (1 - share) * (1 + share), 1.0)
        return jnp.where(inside, power / (2 * math.pi * radius**2) * height ** (power / 2 - 1), 0.0)

    return density


def _name(kind: str, dimension: int, radius: float, usual: float) -> str:
    return f"{kind}({dimension})" if radius == usual else f"{kind}({dimension}, radius={radius:g})"
