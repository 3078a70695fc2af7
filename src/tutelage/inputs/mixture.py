"""Mixtures of input laws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Float, PRNGKeyArray

from tutelage.errors import UnsupportedCombination, invalid
from tutelage.inputs.base import Atoms, Inputs, PlaneDensity, Symmetry, checked_weights, unsupported
from tutelage.instant import instantly

_FROM_WEAKEST: tuple[Symmetry, ...] = ("none", "reflection", "rotation")


class Mixture(Inputs):
    """A law that picks one of several laws at random; build one with `mixture`.

    Attributes:
        dimension: The number of coordinates.
        components: The laws.
        weights: Their probabilities, all positive.
    """

    dimension: int = eqx.field(static=True)
    components: tuple[Inputs, ...]
    weights: tuple[float, ...] = eqx.field(static=True)

    @property
    def name(self) -> str:
        return f"mixture({', '.join(component.name for component in self.components)})"

    @property
    def symmetry(self) -> Symmetry:
        """The weakest symmetry of a component; how the components are placed may give the mixture more."""
        return _FROM_WEAKEST[min(_FROM_WEAKEST.index(component.symmetry) for component in self.components)]

    @instantly
    def mean(self) -> Float[Array, " dim"]:
        means = jnp.stack([component.mean() for component in self.components])
        return jnp.array(self.weights) @ means

    @instantly
    def covariance(self) -> Float[Array, "dim dim"]:
        """Mean of the covariances plus covariance of the means."""
        means = jnp.stack([component.mean() for component in self.components]) - self.mean()
        between = (means * jnp.array(self.weights)[:, None]).T @ means
        within = [weight * law.covariance() for weight, law in zip(self.weights, self.components, strict=True)]
        return sum(within, start=between)

    @property
    def surrounds_zero(self) -> bool:
        return any(component.surrounds_zero for component in self.components)

    @instantly
    def atoms(self) -> Atoms | None:
        points, weights = [], []
        for weight, component in zip(self.weights, self.components, strict=True):
            atoms = component.atoms()
            if atoms is None:
                return None
            points.append(atoms[0])
            weights.append(weight * atoms[1])
        return jnp.concatenate(points), jnp.concatenate(weights)

    def _draw(self, key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "*shape dim"]:
        choice_key, *keys = jax.random.split(key, 1 + len(self.components))
        level = jax.random.uniform(choice_key, (*shape, 1))
        # How many of the first cumulative weights lie below the draw; the last one is 1 and is left out.
        choice = jnp.sum(level >= jnp.cumsum(jnp.array(self.weights))[:-1], axis=-1)
        samples = [law._draw(law_key, shape) for law, law_key in zip(self.components, keys, strict=True)]
        return jnp.take_along_axis(jnp.stack(samples), choice[None, ..., None], axis=0)[0]

    def _density(self, basis: Float[Array, "2 dim"]) -> PlaneDensity:
        try:
            densities = [component._density(basis) for component in self.components]
        except UnsupportedCombination as error:
            raise unsupported("plane density", self, _reason(error)) from error

        def density(points: Float[ArrayLike, "*batch 2"]) -> Float[Array, "*batch"]:
            values = jnp.stack([one(points) for one in densities], axis=-1)
            return values @ jnp.array(self.weights)

        return density

    def _radial_moment(self, order: float) -> float:
        moments = [component._radial_moment(order) for component in self.components]
        return sum(weight * moment for weight, moment in zip(self.weights, moments, strict=True))

    def _characteristic(self, frequency: Float[Array, "*batch dim"]) -> Complex[Array, "*batch"]:
        try:
            values = [component._characteristic(frequency) for component in self.components]
        except UnsupportedCombination as error:
            raise unsupported("characteristic function", self, _reason(error)) from error
        return jnp.stack(values, axis=-1) @ jnp.array(self.weights, dtype=complex)


def mixture(components: Sequence[Inputs], weights: Any = None) -> Mixture:
    """Inputs of a mixture: one of several laws is picked at random, then an input is drawn from it.

    Args:
        components: The laws, all of the same dimension.
        weights: Their probabilities, non-negative and summing to 1 within 1e-9; equal if left out. A
            component of weight zero is dropped.

    Raises:
        InvalidArgument: If there is no component, one is not a law or has another dimension, or the weights
            are not probabilities.
    """
    if not isinstance(components, Sequence) or isinstance(components, str) or len(components) == 0:
        empty = isinstance(components, Sequence) and len(components) == 0
        raise invalid(
            "components",
            "be a list of at least one input law",
            "none" if empty else f"a value of type {type(components).__name__}",
            "Pass laws of `tutelage.inputs`",
        )
    for position, component in enumerate(components):
        if not isinstance(component, Inputs):
            raise invalid(
                "components",
                "contain input laws only",
                f"a value of type {type(component).__name__} at position {position}",
                "Pass laws of `tutelage.inputs`",
            )
    dimensions = [component.dimension for component in components]
    if len(set(dimensions)) > 1:
        raise invalid(
            "components", "have the same dimension", f"dimensions {dimensions}", "Pass laws in the same space"
        )
    probabilities = checked_weights(weights, len(components), of="components")
    kept = [index for index, weight in enumerate(probabilities) if weight > 0]
    return Mixture(
        dimensions[0],
        tuple(components[index] for index in kept),
        tuple(float(probabilities[index]) for index in kept),
    )


def _reason(error: UnsupportedCombination) -> str:
    """Why a mixture refuses, from what its component said."""
    return f"it needs that of every component ({str(error).rstrip('.')})"
