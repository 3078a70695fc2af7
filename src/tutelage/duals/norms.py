"""Norms, unit vectors and half angles without overflow, underflow or cancellation."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from tutelage.duals.special import quotient, root
from tutelage.instant.leaves import leaf

# The smallest number that is not flushed to zero.
_SMALLEST = 2.0**-1022
# What normalising leaves between the entries of unit vectors of parallel vectors, relative to them.
_ROUNDING = 2.0**-50


@leaf()
def binary_scale(xp, sizes: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the largest powers of two that are not above the given sizes, as constants; dividing by them is exact.

    One half for zero, and for what is not finite.
    """
    _, exponent = xp.frexp(sizes)
    return xp.maximum(xp.ldexp(xp.ones_like(sizes), exponent - 1), _SMALLEST)


def _balanced(vectors: Float[Array, "*batch dim"]) -> tuple[Float[Array, "*batch dim"], Float[Array, "*batch"]]:
    """Return vectors times a power of two, and that power: their squares then neither overflow nor underflow."""
    squares = jnp.sum(vectors * vectors, axis=-1)
    # Three powers are enough, and cost less than one for each vector: one more sum of squares.
    power = jnp.where(squares < 2.0**-900, 2.0**600, jnp.where(squares > 2.0**900, 2.0**-600, 1.0))
    return vectors * power[..., None], power


@jax.custom_jvp
def polar(vectors: Float[Array, "*batch dim"]) -> tuple[Float[Array, "*batch"], Float[Array, "*batch dim"]]:
    """Return norms and unit vectors, of vectors of any size; zero, with zero derivatives, for a zero vector."""
    balanced, power = _balanced(vectors)
    norms = root(jnp.sum(balanced * balanced, axis=-1))
    return norms / power, balanced * quotient(1.0, norms)[..., None]


@polar.defjvp
def _polar_jvp(primals, tangents):
    (vectors,), (direction,) = primals, tangents
    norms, units = polar(vectors)
    growth = jnp.sum(units * direction, axis=-1)
    return (norms, units), (growth, quotient(direction - units * growth[..., None], norms[..., None]))


def safe_norm(vectors: Float[Array, "*batch dim"]) -> Float[Array, "*batch"]:
    """Return Euclidean norms along the last axis, of vectors of any size, with derivative zero at the zero vector."""
    return polar(vectors)[0]


# Sums over differences of all pairs of vectors are loops over one axis: ten times as fast as the reduction of an array
# of pairs and coordinates, and in less memory.


def _rounded(second, first):
    """Return the difference of two arrays, and zero where entries are equal up to rounding.

    Multiples of one vector have the same unit vector only up to rounding; they count as parallel. What is changed is
    less than 1e-15 of the entries, so that an entry that is zero in one of them is always seen.
    """
    exact = second - first
    return jnp.where(jnp.abs(exact) <= _ROUNDING * jnp.abs(first), 0.0, exact)


def _difference(first, second, signs, k):
    """Return coordinate k of v − ±w for all pairs."""
    return _rounded(second.T[k], signs * first.T[k][:, None])


def over_rows(term: Callable, second: Float[Array, "m dim"], first: Float[Array, "n dim"]) -> Float[Array, "n dim"]:
    """Return the sum over the second vectors of a function of their number, with a vector for each of the first."""
    return jax.lax.fori_loop(0, second.shape[0], lambda j, total: total + term(j), jnp.zeros_like(first))


def over_coordinates(term: Callable, first: Float[Array, "n dim"], pairs: Float[Array, "n m"]) -> Float[Array, "n m"]:
    """Return the sum of a function of the number of a coordinate, with a value for each pair."""
    return jax.lax.fori_loop(0, first.shape[1], lambda k, total: total + term(k), jnp.zeros_like(pairs))


@jax.custom_jvp
def distances(first: Float[Array, "n dim"], second: Float[Array, "m dim"], signs: Float[Array, "n m"]):
    """Return the norms of v − ±w for all pairs of vectors of norm up to one, with derivative zero where they vanish."""
    # Squares of numbers times this neither overflow nor underflow.
    power = 2.0**500
    return (
        jnp.sqrt(over_coordinates(lambda k: (power * _difference(first, second, signs, k)) ** 2, first, signs)) / power
    )


@distances.defjvp
def _distances_jvp(primals, tangents):
    first, second, signs = primals
    by_first, by_second, _ = tangents

    def growth(k):
        return _difference(first, second, signs, k) * (by_second.T[k] - signs * by_first.T[k][:, None])

    distance = distances(first, second, signs)
    return distance, quotient(over_coordinates(growth, first, signs), distance)


@jax.custom_jvp
def projections(
    first: Float[Array, "n dim"], second: Float[Array, "m dim"], signs: Float[Array, "n m"], axis: Float[Array, " dim"]
) -> Float[Array, "n m"]:
    """Return (v − ±w)·m for all pairs."""
    return over_coordinates(lambda k: _difference(first, second, signs, k) * axis[k], first, signs)


@projections.defjvp
def _projections_jvp(primals, tangents):
    first, second, signs, axis = primals
    by_first, by_second, _, by_axis = tangents
    moved = by_second @ axis - signs * (by_first @ axis)[:, None]
    return projections(*primals), moved + projections(first, second, signs, by_axis)


@jax.custom_jvp
def directions(
    weights: Float[Array, "n m"],
    first: Float[Array, "n dim"],
    second: Float[Array, "m dim"],
    signs: Float[Array, "n m"],
) -> Float[Array, "n dim"]:
    """Return the weighted sums over j of the unit vectors along v_j − ±w_i, zero where that vanishes."""
    inverse = quotient(1.0, distances(first, second, signs))

    def term(j):
        return (inverse.T[j][:, None] * _rounded(second[j], signs.T[j][:, None] * first)) * weights.T[j][:, None]

    return over_rows(term, second, first)


@directions.defjvp
def _directions_jvp(primals, tangents):
    weights, first, second, signs = primals
    by_weights, by_first, by_second, _ = tangents
    distance, growth = jax.jvp(lambda w, v: distances(w, v, signs), (first, second), (by_first, by_second))
    scaled = quotient(weights, distance)
    # The change of a unit vector is that of the vector less its part along it, over the length.
    along = directions(by_weights - scaled * growth, first, second, signs)
    across = scaled @ by_second - jnp.sum(scaled * signs, axis=1)[:, None] * by_first
    return directions(weights, first, second, signs), along + across


class Angles(NamedTuple):
    r"""The angles $\varphi$ of all pairs of two lists of unit vectors, by their halves.

    Attributes:
        half_sine: $\sin(\varphi/2)$.
        half_cosine: $\cos(\varphi/2)$.
        product: The cosine, with all its digits for almost orthogonal vectors.
    """

    half_sine: Float[Array, "n m"]
    half_cosine: Float[Array, "n m"]
    product: Float[Array, "n m"]

    @property
    def opposed(self) -> Bool[Array, "n m"]:
        """Whether the angle is obtuse."""
        return self.product < 0

    @property
    def signs(self) -> Float[Array, "n m"]:
        """Minus one where the angle is obtuse, else one."""
        return jnp.where(self.opposed, -1.0, 1.0)

    @property
    def sine(self) -> Float[Array, "n m"]:
        return 2.0 * self.half_sine * self.half_cosine


def angles(first: Float[Array, "n dim"], second: Float[Array, "m dim"]) -> Angles:
    """Return the angles between unit vectors; a zero vector is orthogonal to all others.

    An angle has an absolute error of about 1e-16, and a relative one where the difference of the vectors is exact.
    """
    product = first @ second.T
    opposed = product < 0
    lesser = 0.5 * distances(first, second, jnp.where(opposed, -1.0, 1.0))
    zero = jnp.all(first == 0, axis=-1)[:, None] | jnp.all(second == 0, axis=-1)
    lesser = jnp.where(zero, 0.5**0.5, lesser)
    greater = jnp.sqrt((1.0 - lesser) * (1.0 + lesser))
    return Angles(jnp.where(opposed, greater, lesser), jnp.where(opposed, lesser, greater), product)


def normals(
    weights: Float[Array, "n m"], first: Float[Array, "n dim"], second: Float[Array, "m dim"], between: Angles
) -> Float[Array, "n dim"]:
    r"""Return $\sum_j C_{ij}\,n_{ij}$, with the unit vector $n = (\hat v - \cos\varphi\,\hat w)/\sin\varphi$.

    Zero where the vectors are parallel. Close to that, $\hat v - \cos\varphi\,\hat w$ would cancel, and the normal is
    taken from the difference of the vectors: with $d$ its direction and $l < g$ sine and cosine of half the angle to
    the nearest multiple of $\pi$, it is $(d \pm l\,\hat w)/g$.
    """
    lesser = jnp.minimum(between.half_sine, between.half_cosine)
    greater = jnp.maximum(between.half_sine, between.half_cosine)
    # Far from parallel a difference would cost the digits of the shorter of two augmented vectors.
    close = lesser < 0.25
    inverse = quotient(1.0, jnp.where(close, 0.0, between.sine))
    by_difference = jnp.where(close & (lesser > 0), weights / greater, 0.0)
    tilt = jnp.where(between.opposed, -lesser, lesser)
    along_first = jnp.sum(by_difference * tilt - weights * inverse * between.product, axis=1)
    by_close = directions(by_difference, first, second, between.signs)
    return by_close + (weights * inverse) @ second + along_first[:, None] * first
