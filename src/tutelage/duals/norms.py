"""Norms, unit vectors and half angles without overflow, underflow or cancellation."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from tutelage.duals.special import quotient, root

# The smallest number that is not flushed to zero.
_SMALLEST = 2.0**-1022
# What normalising leaves between the entries of unit vectors of parallel vectors, relative to them.
_ROUNDING = 2.0**-50


def binary_scale(sizes: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the largest powers of two that are not above the given sizes, as constants; dividing by them is exact.

    One half for zero, and for what is not finite.
    """
    _, exponent = jnp.frexp(jax.lax.stop_gradient(sizes))
    return jnp.maximum(jnp.ldexp(jnp.ones_like(sizes), exponent - 1), _SMALLEST)


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


def difference(second: Float[Array, "..."], first: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return `second - first`, and zero where they are equal up to rounding.

    Multiples of one vector have the same unit vector only up to rounding; they count as parallel. What is changed is
    less than 1e-15 of the entries, so that an entry that is zero in one of them is always seen.
    """
    exact = second - first
    equal = jnp.abs(exact) <= _ROUNDING * jnp.abs(first)
    return exact - jax.lax.stop_gradient(jnp.where(equal, exact, 0.0))


class Angles(NamedTuple):
    r"""The angles $\varphi$ of all pairs of two lists of unit vectors, by their halves.

    Attributes:
        half_sine: $\sin(\varphi/2)$.
        half_cosine: $\cos(\varphi/2)$.
        opposed: Whether the angle is obtuse.
        product: The cosine, with all its digits for almost orthogonal vectors.
        towards: Unit vectors along $\hat v - \hat w$, or $\hat v + \hat w$ where the angle is obtuse: the smaller
            of both, so that it has all its digits for almost parallel vectors. Zero for parallel vectors.
    """

    half_sine: Float[Array, "n m"]
    half_cosine: Float[Array, "n m"]
    opposed: Bool[Array, "n m"]
    product: Float[Array, "n m"]
    towards: Float[Array, "n m dim"]

    @property
    def sine(self) -> Float[Array, "n m"]:
        return 2.0 * self.half_sine * self.half_cosine


def angles(first: Float[Array, "n dim"], second: Float[Array, "m dim"]) -> Angles:
    """Return the angles between unit vectors; a zero vector is orthogonal to all others.

    An angle has an absolute error of about 1e-16, and a relative one where the difference of the vectors is exact.
    """
    product = first @ second.T
    opposed = product < 0
    lesser, towards = polar(difference(second, jnp.where(opposed[..., None], -first[:, None], first[:, None])))
    zero = jnp.all(first == 0, axis=-1)[:, None] | jnp.all(second == 0, axis=-1)
    lesser = jnp.where(zero, 0.5**0.5, 0.5 * lesser)
    greater = jnp.sqrt((1.0 - lesser) * (1.0 + lesser))
    return Angles(jnp.where(opposed, greater, lesser), jnp.where(opposed, lesser, greater), opposed, product, towards)


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
    by_close = jnp.einsum("ij,ijk->ik", by_difference, between.towards)
    return by_close + (weights * inverse) @ second + along_first[:, None] * first
