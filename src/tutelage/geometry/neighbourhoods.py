"""Neighbourhoods of a point: the mild over-parameterization paper's (its Definition 2), and the usual one."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray, PyTree

from tutelage.arrays import of_jax
from tutelage.checks import finite_array, not_negative, one_of, positive, random_key
from tutelage.errors import invalid
from tutelage.instant import evaluated
from tutelage.modules import Module
from tutelage.points import Template, fitted

Shape = Literal["ball", "neurons", "orthogonal"]


class Neighbourhood(Module):
    r"""A neighbourhood of a student $\tilde w$; its points can be drawn, recognised and projected on.

    - `ball`: $\|w - \tilde w\| \le \epsilon$, all parameters together.
    - `neurons`: $\|w_i - \tilde w_i\| \le \epsilon$ for every neuron, the paper's $U_\epsilon$.
    - `orthogonal`: besides, $w_i - \tilde w_i \perp \tilde w_i$ for every neuron, the paper's $U^\perp_\epsilon$.

    A neuron is a row of a matrix of parameters; a vector of parameters, or a number alone, counts as one.

    Args:
        centre: The student $\tilde w$.
        radius: The radius $\epsilon$.
        shape: Which of the three.
    """

    centre: PyTree
    radius: Float[Array, ""]
    shape: Shape = eqx.field(static=True)

    def __init__(self, centre: PyTree, radius: float, shape: Shape = "ball"):
        self.centre = _checked_centre(centre)
        self.radius = jnp.asarray(positive("radius", radius))
        self.shape = one_of("shape", shape, ("ball", "neurons", "orthogonal"))

    def tangent(self, direction: PyTree) -> PyTree:
        """Return the part of a direction along which points of the neighbourhood may lie."""
        return evaluated(self._tangent, self._like_centre("direction", direction))

    def size(self, point: PyTree) -> Float[Array, ""]:
        """Return the distance of a point from the centre that the radius bounds."""
        return evaluated(self._size, self._like_centre("point", point))

    def contains(self, point: PyTree, tolerance: float = 1e-12) -> Bool[Array, ""]:
        """Whether a point lies in the neighbourhood, up to rounding.

        Args:
            point: The student.
            tolerance: How far outside it may lie, relative to the radius.
        """
        tolerance = not_negative("tolerance", tolerance)
        return evaluated(self._contains, self._like_centre("point", point), of_jax(tolerance))

    def project(self, point: PyTree) -> PyTree:
        """Return a point of the neighbourhood: what leads there from the centre, tangential and not too long."""
        return evaluated(self._projected, self._like_centre("point", point))

    def sample(self, key: PRNGKeyArray) -> PyTree:
        """Draw a point: a random direction, and a distance whose logarithm is uniform over two decades.

        Distances of all orders are drawn, because what goes wrong near a minimum may go wrong close to it only.
        """
        return evaluated(self._drawn, random_key("key", key))

    def reach(self, direction: PyTree, fraction: Any = 1.0) -> PyTree:
        """Return the point in a direction at a fraction of the radius."""
        fraction = finite_array("fraction", fraction, dimensions=0)
        return evaluated(self._reached, self._like_centre("direction", direction), fraction)

    def _like_centre(self, argument: str, value: PyTree) -> PyTree:
        """Return a student, or a direction, as float64 arrays, or raise if it is not of the form of the centre."""
        leaves, structure = jax.tree.flatten(self.centre)
        template = Template(structure, tuple(leaf.shape for leaf in leaves))
        return fitted(argument, value, template, owner="this neighbourhood")

    def _length(self, difference: PyTree) -> Float[Array, ""]:
        """Return the length of a difference, as the radius bounds it."""
        if self.shape == "ball":
            return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(difference)))  # type: ignore
        norms = [jnp.linalg.norm(jnp.atleast_1d(leaf), axis=-1).ravel() for leaf in jax.tree.leaves(difference)]
        return jnp.max(jnp.concatenate(norms))

    def _tangent(self, direction: PyTree) -> PyTree:
        if self.shape != "orthogonal":
            return direction

        def orthogonal(leaf, centre):
            rows, centres = jnp.atleast_1d(leaf), jnp.atleast_1d(centre)
            square = jnp.sum(centres * centres, axis=-1, keepdims=True)
            along = jnp.sum(rows * centres, axis=-1, keepdims=True)
            part = jnp.where(square > 0, along / jnp.where(square > 0, square, 1.0), 0.0)
            return (rows - part * centres).reshape(leaf.shape)

        # Twice: what the first projection leaves is rounding error, removed by the second.
        once = jax.tree.map(orthogonal, direction, self.centre)
        return jax.tree.map(orthogonal, once, self.centre)

    def _size(self, point: PyTree) -> Float[Array, ""]:
        return self._length(_minus(point, self.centre))

    def _contains(self, point: PyTree, tolerance: Float[Array, ""]) -> Bool[Array, ""]:
        difference = _minus(point, self.centre)
        outside = _minus(difference, self._tangent(difference))
        leaves = [jnp.max(jnp.abs(leaf)) for leaf in jax.tree.leaves(outside)]
        inside = self._length(difference) <= self.radius * (1 + tolerance)
        # A direction is known to rounding errors of the centre's entries, not of its own.
        scale = jnp.max(jnp.stack([jnp.max(jnp.abs(leaf)) for leaf in jax.tree.leaves(self.centre)]))
        return inside & (jnp.max(jnp.stack(leaves)) <= tolerance * jnp.maximum(self.radius, 4e-4 * scale))

    def _projected(self, point: PyTree) -> PyTree:
        difference = self._tangent(_minus(point, self.centre))
        if self.shape == "ball":
            factor = jnp.minimum(1.0, self.radius / jnp.maximum(self._length(difference), 1e-300))
            scaled = jax.tree.map(lambda leaf: factor * leaf, difference)
        else:

            def shorten(leaf):
                length = jnp.linalg.norm(jnp.atleast_1d(leaf), axis=-1, keepdims=leaf.ndim > 0)
                return leaf * jnp.minimum(1.0, self.radius / jnp.maximum(length, 1e-300))

            scaled = jax.tree.map(shorten, difference)
        return jax.tree.map(lambda centre, leaf: centre + leaf, self.centre, scaled)

    def _drawn(self, key: PRNGKeyArray) -> PyTree:
        direction_key, size_key = jax.random.split(key)
        leaves, treedef = jax.tree.flatten(self.centre)
        keys = jax.random.split(direction_key, len(leaves))
        drawn = [jax.random.normal(k, leaf.shape) for k, leaf in zip(keys, leaves, strict=True)]
        fraction = 10.0 ** jax.random.uniform(size_key, minval=-2.0, maxval=0.0)
        return self._reached(jax.tree.unflatten(treedef, drawn), fraction)

    def _reached(self, direction: PyTree, fraction: Float[Array, ""]) -> PyTree:
        moved = self._tangent(direction)
        factor = self.radius * fraction / jnp.maximum(self._length(moved), 1e-300)
        return jax.tree.map(lambda centre, leaf: centre + factor * leaf, self.centre, moved)


def _checked_centre(centre: Any) -> PyTree:
    """Return a student as float64 arrays, or raise if it is not one array, or several in a tuple."""
    leaves, structure = jax.tree.flatten(centre)
    # A list of numbers is one array; a pytree of several is a tuple, named or not.
    if not isinstance(centre, tuple):
        return finite_array("centre", centre)
    if not leaves:
        raise invalid("centre", "be a student", "no array", "Pass its parameters")
    return jax.tree.unflatten(structure, [finite_array("centre", leaf) for leaf in leaves])


def _minus(one: PyTree, other: PyTree) -> PyTree:
    return jax.tree.map(lambda a, b: a - b, one, other)
