r"""Cosines and sines of a Gaussian pair.

With $\mu = w\cdot m$, $\nu = v\cdot m$ and the damping factors $e_\mp = e^{-\frac12 a_\mp}$, where $a_\mp$ is the
variance of $u \mp v$,

$$E[\cos u\cos v] = \tfrac12(e_-\cos(\mu-\nu) + e_+\cos(\mu+\nu)),$$

and likewise with sines: $K = \tfrac12(k_- + k_+)$. All is taken from the vectors $w \mp v$, which have their digits
where $w$ and $v$ are long and close to each other. Where one is short, sines are differences of close numbers:
$e_- - e_+ = e_-(1 - e^{-2c})$ with the covariance $c$, and products of waves of $\mu$ and $\nu$, are taken instead. The
gradient in the latent vector $p$ is $\tfrac12\bigl(q\,(k_- - k_+) - p\,(k_- + k_+)\bigr)$, which is $K(q - p) - k_+q$,
and also $k_-q - K(q + p)$: the first where $c \ge 0$, the second where not.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.activations.base import Element
from tutelage.duals.base import ClosedForm
from tutelage.duals.gaussian import Frame, Side
from tutelage.duals.norms import moving, over_coordinates, over_rows, pairs_shape, products, squares_of_pairs
from tutelage.instant.leaves import matrix_leaf, total

# A variance beyond this leaves nothing of a wave.
_DEAD = 3000.0


class GaussianWaves(ClosedForm):
    """The dual of two waves under a Gaussian law.

    Attributes:
        frame: The law.
        factor: What the dual is multiplied by.
        first: The first wave; its coefficient is part of the factor.
        second: The second one, likewise.
    """

    frame: Frame
    factor: Float[Array, ""]
    first: Element = eqx.field(static=True)
    second: Element = eqx.field(static=True)

    def _parts(self, first: Side, second: Side):
        """Return K, k_- and k_+ without the factor, and the derivative of K in the first mean."""
        minus, plus = _damping(first.vectors, second.vectors, 1.0), _damping(first.vectors, second.vectors, -1.0)
        sine, other_sine = self.first.kind == "sine", self.second.kind == "sine"
        if self.frame.centred:
            # An odd and an even wave have no dual without a mean.
            sign = -1.0 if sine else 1.0
            value = 0.5 * (_gap(minus, plus, first, second) if sine else minus + plus)
            return value, minus, sign * plus, jnp.zeros_like(value)
        mu, nu = first.means[:, None], second.means
        location = self.frame.location(first.weights.shape[1])
        difference = -_projected(first.weights, second.weights, 1.0, location)
        summed = _projected(first.weights, second.weights, -1.0, location)
        gap, short = _gap(minus, plus, first, second), (jnp.abs(mu) < 1) | (jnp.abs(nu) < 1)

        def parts(first_sine: bool, second_sine: bool):
            wave = jnp.cos if first_sine == second_sine else jnp.sin
            one = (-1.0 if second_sine and not first_sine else 1.0) * minus * wave(difference)
            other = (-1.0 if first_sine and second_sine else 1.0) * plus * wave(summed)
            # By products of waves of both means, where those of their sum and difference would cancel.
            along = (jnp.sin(mu) if first_sine else jnp.cos(mu)) * (jnp.sin(nu) if second_sine else jnp.cos(nu))
            across = (jnp.cos(mu) if first_sine else jnp.sin(mu)) * (jnp.cos(nu) if second_sine else jnp.sin(nu))
            sign = 1.0 if first_sine == second_sine else -1.0
            return 0.5 * jnp.where(short, (minus + plus) * along + sign * gap * across, one + other), one, other

        slope = parts(not sine, other_sine)[0]
        return *parts(sine, other_sine), slope if sine else -slope

    def _sides(self, first, second) -> tuple[Side, Side]:
        return self.frame.plain_side(self.first.scale * first), self.frame.plain_side(self.second.scale * second)

    @property
    def dimension(self) -> int | None:
        return self.frame.dimension

    def _gram(self, first, second, same=False):
        return self.factor * self._parts(*self._sides(first, second))[0]

    def _pull(self, first, second, weights, same=False):
        one, other = self._sides(first, second)
        value, minus, plus, by_mean = self._parts(one, other)
        weights = self.factor * self.first.scale * weights
        aligned = one.vectors @ other.vectors.T >= 0
        signs = jnp.where(aligned, 1.0, -1.0)
        along = weights * signs * value

        by_vectors = _sums_of_differences(along, one.vectors, other.vectors, signs)
        by_vectors = by_vectors + (weights * jnp.where(aligned, -plus, minus)) @ other.vectors
        return self.frame.assemble(jnp.sum(weights * by_mean, axis=1), by_vectors)


def _coordinate(first, second, signs, k):
    """Return coordinate k of v − ±w for all pairs."""
    return second.T[k] - signs * first.T[k][:, None]


def _projected(first, second, sign: float, axis):
    """Return (v − ±w)·m for all pairs."""
    pairs = jnp.zeros((first.shape[0], second.shape[0]))
    return over_coordinates(lambda k: _coordinate(first, second, sign, k) * axis[k], first, pairs)


# Differences of vectors that are not long have all the digits that a wave sees in inner products, too.
_LONG = 4.0


def _squares(first, second):
    """Return the sums of the squares of both vectors for all pairs."""
    return squares_of_pairs(first, first, second, second)


def _distance_change(arrays, changes):
    if changes[0] is None and changes[1] is None:
        return None
    return _growth(*arrays, *moving(arrays, changes))


@matrix_leaf(pairs_shape, _distance_change)
def _square_distances(first, second):
    """Return |v − w|² for all pairs."""
    squares = _squares(first, second)
    short, long = squares - 2 * products(first, second), squares > _LONG

    def with_differences():
        def term(k):
            return (second[..., None, :, k] - first[..., :, None, k]) ** 2

        return jnp.where(long, over_coordinates(term, first, squares), short)

    # What is not a number is long, too.
    return jax.lax.cond(jnp.all(~long), lambda: short, with_differences)


def _growth_change(arrays, changes):
    first, second, by_first, by_second = arrays
    linear = None
    if changes[2] is not None or changes[3] is not None:
        linear = _growth(first, second, *moving(arrays[2:], changes[2:]))
    if changes[0] is None and changes[1] is None:
        return linear
    move, other_move = moving(arrays[:2], changes[:2])
    mixed = products(by_first, other_move) + products(move, by_second)
    return total(linear, 2 * (squares_of_pairs(by_first, move, by_second, other_move) - mixed))


@matrix_leaf(pairs_shape, _growth_change, linear=(2, 3))
def _growth(first, second, by_first, by_second):
    """Return the changes of the squared distances."""
    squares = _squares(first, second)
    own = squares_of_pairs(first, by_first, second, by_second)
    short, long = 2 * (own - products(by_first, second) - products(first, by_second)), squares > _LONG

    def with_differences():
        def term(k):
            difference = second[..., None, :, k] - first[..., :, None, k]
            return 2 * difference * (by_second[..., None, :, k] - by_first[..., :, None, k])

        return jnp.where(long, over_coordinates(term, first, squares), short)

    return jax.lax.cond(jnp.all(~long), lambda: short, with_differences)


def _sums_change(arrays, changes):
    weights, first, second, signs = arrays
    by_weights, by_first, by_second, _ = changes
    return total(
        None if by_weights is None else _sums_of_differences(by_weights, first, second, signs),
        None if by_first is None else -jnp.sum(weights * signs, axis=1)[:, None] * by_first,
        None if by_second is None else weights @ by_second,
    )


@matrix_leaf(lambda weights, first, *_: first, _sums_change, linear=(0,))
def _sums_of_differences(weights, first, second, signs):
    """Return the weighted sums over j of v_j − ±w_i."""
    long = jnp.max(_squares(first, second), axis=-1) > _LONG
    short = weights @ second - jnp.sum(weights * signs, axis=-1)[..., None] * first

    def with_differences():
        def term(j):
            difference = second[..., None, j, :] - signs[..., :, j, None] * first
            return weights[..., :, j, None] * difference

        return jnp.where(long[..., None], over_rows(term, second, first), short)

    return jax.lax.cond(jnp.all(~long), lambda: short, with_differences)


def _damping(first, second, sign: float):
    variance = _square_distances(sign * first, second)
    # Constant where nothing is left: its derivative would be zero times infinity for the longest vectors.
    return jnp.exp(-0.5 * jnp.where(variance < _DEAD, variance, _DEAD))


def _gap(minus, plus, first: Side, second: Side):
    """Return the difference of the damping factors."""
    covariance = first.vectors @ second.vectors.T
    aligned = covariance >= 0
    size = jnp.where(aligned, covariance, -covariance)
    shrinkage = -jnp.expm1(-2 * jnp.where(size < _DEAD, size, _DEAD))
    return jnp.where(aligned, minus, -plus) * shrinkage
