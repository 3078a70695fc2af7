"""Norms, unit vectors and half angles without overflow, underflow or cancellation."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from tutelage.duals.special import quotient, root
from tutelage.instant import fori_loop
from tutelage.instant.leaves import leaf, matrix_leaf, total

# The smallest number that is not flushed to zero.
_SMALLEST = 2.0**-1022
# Sums of squares between these have lost nothing.
_LOW, _HIGH = 2.0**-900, 2.0**900
# Numbers from which on NumPy does not add one after another along the last axis.
_FEW = 8
# What normalising leaves between the entries of unit vectors of parallel vectors, relative to them.
_ROUNDING = 2.0**-50


@leaf()
def binary_scale(xp, sizes: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the largest powers of two that are not above the given sizes, as constants; dividing by them is exact.

    One half for zero, and for what is not finite.
    """
    _, exponent = xp.frexp(sizes)
    return xp.maximum(xp.ldexp(xp.ones_like(sizes), exponent - 1), _SMALLEST)


def _balanced(xp, vectors: Float[Array, "*batch dim"]) -> tuple[Float[Array, "*batch dim"], Float[Array, "*batch"]]:
    """Return vectors times a power of two, and that power: their squares then neither overflow nor underflow."""
    squares = xp.sum(vectors * vectors, axis=-1)
    # Three powers are enough, and cost less than one for each vector: one more sum of squares.
    power = xp.where(squares < _LOW, 2.0**600, xp.where(squares > _HIGH, 2.0**-600, 1.0))
    return vectors * power[..., None], power


def _norms(xp, vectors):
    balanced, power = _balanced(xp, vectors)
    return xp.sqrt(xp.sum(balanced * balanced, axis=-1)) / power


def _unit_vectors(xp, vectors):
    balanced, _ = _balanced(xp, vectors)
    return balanced * quotient.formula(xp, 1.0, xp.sqrt(xp.sum(balanced * balanced, axis=-1)))[..., None]


def _plain_norms(vectors: np.ndarray) -> np.ndarray | None:
    """Return norms in NumPy where no vector has to be balanced (zero need not be): the same bits, in half the time."""
    squares = vectors * vectors
    if vectors.shape[-1] < _FEW:
        # NumPy is slow along a short axis, and adds one after another along any other.
        columns = np.ascontiguousarray(squares.reshape(-1, vectors.shape[-1]).T)
        squares = np.add.reduce(columns, axis=0).reshape(vectors.shape[:-1])
    else:
        squares = np.add.reduce(squares, axis=-1)
    outside = (squares < _LOW) | (squares > _HIGH)
    return None if outside.any() and vectors[outside].any() else np.sqrt(squares)


def _norms_at_once(vectors):
    norms = _plain_norms(vectors)
    return _norms(np, vectors) if norms is None else norms


def _unit_vectors_at_once(vectors):
    norms = _plain_norms(vectors)
    if norms is None:
        return _unit_vectors(np, vectors)
    return vectors * (1.0 / np.where(norms == 0, 1.0, norms))[..., None]


def _growth_of_norms(arrays, changes):
    return jnp.sum(unit_vectors(*arrays) * changes[0], axis=-1)


def _turning(arrays, changes):
    (vectors,), (change,) = arrays, changes
    units = unit_vectors(vectors)
    across = change - units * jnp.sum(units * change, axis=-1)[..., None]
    return quotient(across, safe_norm(vectors)[..., None])


@matrix_leaf(lambda vectors: vectors[:-1], _growth_of_norms, in_numpy=_norms_at_once)
def safe_norm(vectors: Float[Array, "*batch dim"]) -> Float[Array, "*batch"]:
    """Return Euclidean norms along the last axis, of vectors of any size, with derivative zero at the zero vector."""
    return _norms(jnp, vectors)


@matrix_leaf(lambda vectors: vectors, _turning, in_numpy=_unit_vectors_at_once)
def unit_vectors(vectors: Float[Array, "*batch dim"]) -> Float[Array, "*batch dim"]:
    """Return vectors of any size over their norms; zero, with zero derivatives, for a zero vector."""
    return _unit_vectors(jnp, vectors)


def polar(vectors: Float[Array, "*batch dim"]) -> tuple[Float[Array, "*batch"], Float[Array, "*batch dim"]]:
    """Return norms and unit vectors; compiled, they share what they have in common."""
    return safe_norm(vectors), unit_vectors(vectors)


# Sums over differences of all pairs of vectors are loops over one axis: ten times as fast as the reduction of an array
# of pairs and coordinates, and in less memory. Most pairs do not need them: unit vectors that are not close to each
# other have all digits of their angle in the inner product, and a vector is at no distance from itself.


def _rounded(second, first):
    """Return the difference of two arrays, and zero where entries are equal up to rounding.

    Multiples of one vector have the same unit vector only up to rounding; they count as parallel. What is changed is
    less than 1e-15 of the entries, so that an entry that is zero in one of them is always seen.
    """
    exact = second - first
    return jnp.where(jnp.abs(exact) <= _ROUNDING * jnp.abs(first), 0.0, exact)


def _coordinates(first, second, signs, k):
    """Return coordinate k of v and of ±w for all pairs."""
    return second[..., None, :, k], signs * first[..., :, None, k]


def _difference(first, second, signs, k):
    """Return coordinate k of v − ±w for all pairs."""
    return _rounded(*_coordinates(first, second, signs, k))


def over_rows(term: Callable, second: Float[Array, "*b m dim"], first: Float[Array, "*b n dim"]):
    """Return the sum over the second vectors of a function of their number, with a vector for each of the first."""
    return fori_loop(0, second.shape[-2], lambda j, total: total + term(j), jnp.zeros_like(first))


def over_coordinates(term: Callable, first: Float[Array, "*b n dim"], pairs: Float[Array, "*b n m"]):
    """Return the sum of a function of the number of a coordinate, with a value for each pair."""
    return fori_loop(0, first.shape[-1], lambda k, total: total + term(k), jnp.zeros_like(pairs))


def products(first, second):
    """Return the inner products of all pairs."""
    return first @ jnp.swapaxes(second, -1, -2)


def _signs(product):
    return jnp.where(product < 0, -1.0, 1.0)


def _close(product, own):
    """Whether the half angle to the nearest multiple of π has a sine below a quarter, but for a vector and itself."""
    return (jnp.abs(product) > 0.875) & (own == 0)


def squares_of_pairs(first, other_first, second, other_second):
    """Return the sums of two inner products for all pairs: of the first vectors with others, and of the second."""
    return jnp.sum(first * other_first, axis=-1)[..., :, None] + jnp.sum(second * other_second, axis=-1)[..., None, :]


def pairs_shape(first, second, *_):
    """Return the shape of a matrix of pairs, from those of both lists of vectors."""
    return (*first[:-1], second[-2])


def moving(arrays, changes):
    """Return changes with arrays of zeros where there is none."""
    return [jnp.zeros_like(array) if change is None else change for array, change in zip(arrays, changes, strict=True)]


def _half_distance_change(arrays, changes):
    first, second, own = arrays
    if changes[0] is None and changes[1] is None:
        return None
    return _growth(first, second, own, *moving(arrays[:2], changes[:2])) * quotient(0.25, half_distances(*arrays))


@matrix_leaf(pairs_shape, _half_distance_change)
def half_distances(first, second, own):
    """Return half the distances of unit vectors v to the nearer of w and −w, of zero vectors as for a right angle.

    Args:
        first: The vectors w.
        second: The vectors v.
        own: One for pairs of a vector and itself, zero for all others.
    """
    product = products(first, second)
    apart, close = jnp.where(own > 0, 0.0, root(0.5 - 0.5 * jnp.abs(product))), _close(product, own)
    # Squares of numbers times this neither overflow nor underflow.
    power = 2.0**500

    def with_differences():
        signs = _signs(product)
        squares = over_coordinates(lambda k: (power * _difference(first, second, signs, k)) ** 2, first, signs)
        return jnp.where(close, jnp.sqrt(squares) * (0.5 / power), apart)

    return jax.lax.cond(jnp.any(close), with_differences, lambda: apart)


def _growth_change(arrays, changes):
    first, second, own, by_first, by_second = arrays
    linear = None
    if changes[3] is not None or changes[4] is not None:
        linear = _growth(first, second, own, *moving(arrays[3:], changes[3:]))
    if changes[0] is None and changes[1] is None:
        return linear
    move, other_move = moving(arrays[:2], changes[:2])
    product = products(first, second)
    mixed = -_signs(product) * (products(by_first, other_move) + products(move, by_second))
    # What the differences of close vectors have besides: the inner product of a vector with its change.
    squares = squares_of_pairs(by_first, move, by_second, other_move)
    return total(linear, mixed + jnp.where(_close(product, own), squares, 0.0))


@matrix_leaf(pairs_shape, _growth_change, linear=(3, 4))
def _growth(first, second, own, by_first, by_second):
    """Return half the changes of the squared distances."""
    product = products(first, second)
    signs, close = _signs(product), _close(product, own)
    apart = -signs * (products(by_first, second) + products(first, by_second))

    def term(k):
        second_part, first_part = _coordinates(by_first, by_second, signs, k)
        return _difference(first, second, signs, k) * (second_part - first_part)

    def with_differences():
        return jnp.where(close, over_coordinates(term, first, signs), apart)

    return jax.lax.cond(jnp.any(close), with_differences, lambda: apart)


def _along(vectors, axis):
    """Return the inner products of vectors with one, perhaps for several lists and an axis each."""
    return jnp.squeeze(products(vectors, axis[..., None, :]), -1)


def _projections_change(arrays, changes):
    first, second, signs, near, axis = arrays
    by_first, by_second, _, _, by_axis = changes
    return total(
        None if by_first is None else -signs * _along(by_first, axis)[..., :, None],
        None if by_second is None else jnp.broadcast_to(_along(by_second, axis)[..., None, :], signs.shape),
        None if by_axis is None else projections(first, second, signs, near, by_axis),
    )


@matrix_leaf(pairs_shape, _projections_change, linear=(4,))
def projections(first, second, signs, near, axis):
    """Return (v − ±w)·m for all pairs, from the difference of the vectors where they are near each other."""
    apart = _along(second, axis)[..., None, :] - signs * _along(first, axis)[..., :, None]

    def term(k):
        return _difference(first, second, signs, k) * axis[..., None, None, k]

    def with_differences():
        return jnp.where(near > 0, over_coordinates(term, first, signs), apart)

    return jax.lax.cond(jnp.any(near > 0), with_differences, lambda: apart)


def _directions_change(arrays, changes):
    weights, first, second, own = arrays
    by_weights, by_first, by_second, _ = changes
    if by_first is None and by_second is None:
        return None if by_weights is None else directions(by_weights, first, second, own)
    # The change of a unit vector is that of the vector less its part along it, over the length.
    moves = moving((first, second), (by_first, by_second))
    inverse = quotient(0.5, half_distances(first, second, own))
    scaled = weights * inverse
    along = -scaled * (_growth(first, second, own, *moves) * inverse)
    along = along if by_weights is None else by_weights + along
    across = scaled @ moves[1] - jnp.sum(scaled * _signs(products(first, second)), axis=-1, keepdims=True) * moves[0]
    return directions(along, first, second, own) + across


@matrix_leaf(lambda weights, first, *_: first, _directions_change, linear=(0,))
def directions(weights, first, second, own):
    """Return the weighted sums over j of the unit vectors along v_j − ±w_i, zero where that vanishes.

    Weights are zero for vectors that are not close to each other.
    """
    product = products(first, second)

    def with_differences():
        signs = _signs(product)
        inverse = quotient(0.5, half_distances(first, second, own))

        def term(j):
            difference = _rounded(second[..., None, j, :], signs[..., :, j, None] * first)
            return (inverse[..., :, j, None] * difference) * weights[..., :, j, None]

        return over_rows(term, second, first)

    return jax.lax.cond(jnp.any(_close(product, own)), with_differences, lambda: jnp.zeros_like(first))


class Angles(NamedTuple):
    r"""The angles $\varphi$ of all pairs of two lists of unit vectors, by their halves.

    Attributes:
        half_sine: $\sin(\varphi/2)$.
        half_cosine: $\cos(\varphi/2)$.
        product: The cosine, with all its digits for almost orthogonal vectors.
        own: One for pairs of a vector and itself, zero for all others.
    """

    half_sine: Float[Array, "n m"]
    half_cosine: Float[Array, "n m"]
    product: Float[Array, "n m"]
    own: Float[Array, "n m"]

    @property
    def opposed(self) -> Bool[Array, "n m"]:
        """Whether the angle is obtuse."""
        return self.product < 0

    @property
    def signs(self) -> Float[Array, "n m"]:
        """Minus one where the angle is obtuse, else one."""
        return _signs(self.product)

    @property
    def close(self) -> Bool[Array, "n m"]:
        """Whether the vectors are close to each other, or one to the negative of the other."""
        return _close(self.product, self.own)

    @property
    def sine(self) -> Float[Array, "n m"]:
        return 2.0 * self.half_sine * self.half_cosine


def angles(first: Float[Array, "n dim"], second: Float[Array, "m dim"], same: bool = False) -> Angles:
    """Return the angles between unit vectors; a zero vector is orthogonal to all others.

    An angle has an absolute error of about 1e-16, and a relative one where the difference of the vectors is exact.

    Args:
        first: Unit vectors.
        second: Unit vectors.
        same: Whether both are the same.
    """
    product = products(first, second)
    own = jnp.eye(product.shape[0], product.shape[1]) if same else jnp.zeros(product.shape)
    # A zero vector is orthogonal to itself, too.
    own = jnp.where(jnp.any(first != 0, axis=-1)[:, None], own, 0.0)
    opposed, lesser = product < 0, half_distances(first, second, own)
    greater = jnp.sqrt((1.0 - lesser) * (1.0 + lesser))
    return Angles(jnp.where(opposed, greater, lesser), jnp.where(opposed, lesser, greater), product, own)


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
    close = between.close
    inverse = quotient(1.0, jnp.where(close, 0.0, between.sine))
    by_difference = jnp.where(close & (lesser > 0), weights / greater, 0.0)
    tilt = jnp.where(between.opposed, -lesser, lesser)
    along_first = jnp.sum(by_difference * tilt - weights * inverse * between.product, axis=1)
    by_close = directions(by_difference, first, second, between.own)
    return by_close + (weights * inverse) @ second + along_first[:, None] * first
