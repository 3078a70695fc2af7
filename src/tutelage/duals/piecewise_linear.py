r"""Closed forms for activations with two slopes, $\sigma(z) = p\,z + q\,|z|$ and $\tau(z) = p'z + q'|z|$.

Under a rotation-invariant law scaled to unit covariance, with $\theta$ the angle between $w$ and $v$,

$$K(w, v) = \|w\|\|v\|\Bigl(pp'\cos\theta + qq'\tfrac2\pi\bigl(\sin\theta +
(\tfrac\pi2 - \theta)\cos\theta\bigr)\Bigr),$$

because mixed terms are odd. For ReLU, $p = q = \tfrac12$, this is the arc-cosine kernel of degree one. Only
$E\|x\|^2$ enters, by homogeneity, so that every spherical law has the Gaussian's formula times one factor.

Gradient and second derivatives, with $R = pp' + qq'(1 - 2\theta/\pi)$, unit vectors $\hat w, \hat v$, the unit
bisectors $b \propto \hat w + \hat v$, $e \propto \hat w - \hat v$ and $n \propto \hat v - \cos\theta\,\hat w$:

$$\nabla_w K = R\,v + qq'\tfrac2\pi\|v\|\sin\theta\,\hat w,$$
$$\partial_w\partial_v K = R\,I + qq'\tfrac2\pi\sin\theta\,(bb^\top - ee^\top),$$
$$\partial_w^2 K = qq'\tfrac2\pi\tfrac{\|v\|}{\|w\|}\sin\theta\,(I - \hat w\hat w^\top + nn^\top).$$

In this form nothing is singular: at $\theta \in \{0, \pi\}$ the directions $b, e, n$ are undefined but their
factor vanishes. The mild over-parameterization paper prints the last two (its Theorem 10, for ReLU) with
$\bar n_{w,v}\bar v^\top + \bar n_{v,w}\bar w^\top$, which equals $\sin\theta\,(bb^\top - ee^\top)$.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tutelage.duals.base import ClosedForm
from tutelage.duals.norms import polar
from tutelage.duals.special import angle_of_cosine, quotient

# Vectors whose half angle is below this are parallel in second derivatives: what is dropped is as small as that.
_PARALLEL = 2.0**-53
# Cosines of multiples of one vector may be as far below one as this, by the rounding of their normalisation.
_ALIGNED = 1.0 - 2.0**-52


@dataclass(frozen=True)
class Axes:
    """The first coordinate axes as weight vectors: products with them are slices.

    Attributes:
        count: How many axes.
    """

    count: int

    def dense(self, dimension: int) -> Float[Array, "count dim"]:
        """Return the axes as rows."""
        return jnp.eye(self.count, dimension)


class PiecewiseLinear(ClosedForm):
    r"""The dual of two activations with two slopes under a rotation-invariant law.

    Attributes:
        odd: The factor $pp'$, times the covariance scale of the law.
        even: The factor $qq'$, times the covariance scale of the law.
        kink: The slope $R$ used where the first vector is zero: $\sigma'(0)\,p'$, times the same scale.
    """

    odd: Float[Array, ""]
    even: Float[Array, ""]
    kink: Float[Array, ""]
    dimension = None

    def _gram(self, first, second, same=False):
        return _gram(self, first, second, same)

    def _pull(self, first, second, weights, same=False):
        return _pull(self, first, second, weights, same)


def _dense(second, dimension: int):
    return second.dense(dimension) if isinstance(second, Axes) else second


def _cosines(first_units, second, same: bool):
    """Return the norms of the second vectors, and the cosines of all pairs."""
    if isinstance(second, Axes):
        return jnp.ones(second.count, first_units.dtype), _snapped(first_units[:, : second.count])
    second_norms, second_units = polar(second)
    cosine = _snapped(first_units @ second_units.T)
    if same:
        # A neuron is at angle zero from itself, whatever the rounding of its normalisation.
        cosine = jnp.where(jnp.eye(cosine.shape[0], dtype=bool), 1.0, cosine)
    return second_norms, cosine


def _snapped(cosine):
    """Return cosines with those of parallel and opposite vectors made exact."""
    return jnp.where(cosine >= _ALIGNED, 1.0, jnp.where(cosine <= -_ALIGNED, -1.0, cosine))


def _half_angles(first_units, second_units):
    """Return the sine and cosine of half the angle, accurate however close to parallel the vectors are."""
    half_sine = 0.5 * jnp.linalg.norm(first_units[:, None] - second_units, axis=-1)
    half_cosine = 0.5 * jnp.linalg.norm(first_units[:, None] + second_units, axis=-1)
    return half_sine, half_cosine


def _slopes(kernel: PiecewiseLinear, angle, first_norms):
    # The convention for a zero vector enters by rows: a choice for each pair would cost as much as the rest. The
    # bracket is exactly 1 and -1 at the angles 0 and π: a ReLU neuron is not pulled at all by an opposite one.
    zero = first_norms == 0
    constant = jnp.where(zero, kernel.kink, kernel.odd)
    turning = jnp.where(zero, 0.0, kernel.even)
    return constant[:, None] + turning[:, None] * (1.0 - (2 / np.pi) * angle)


@eqx.filter_custom_jvp
def _gram(kernel: PiecewiseLinear, first, second, same: bool):
    first_norms, first_units = polar(first)
    second_norms, cosine = _cosines(first_units, second, same)
    sine = jnp.sqrt((1.0 - cosine) * (1.0 + cosine))
    angle = angle_of_cosine(cosine)
    even = (2 / np.pi) * (sine + (np.pi / 2 - angle) * cosine)
    return first_norms[:, None] * second_norms * (kernel.odd * cosine + kernel.even * even)


@_gram.def_jvp
def _gram_jvp(primals, tangents):
    """Differentiate by the closed-form gradients: the angle has no derivative where vectors are parallel."""
    kernel, first, second, same = primals
    kernel_direction, first_direction, second_direction, _ = tangents
    value = _gram(kernel, first, second, same)

    second = _dense(second, first.shape[1])
    first_norms, w = polar(first)
    second_norms, v = polar(second)
    _, cosine = _cosines(w, second, same)
    slopes = _slopes(kernel, angle_of_cosine(cosine), first_norms)
    radial = (2 / np.pi) * kernel.even * jnp.sqrt((1.0 - cosine) * (1.0 + cosine))
    tangent = jnp.zeros_like(value)
    if jax.tree.leaves(kernel_direction):
        moved = jax.tree.map(lambda number, move: 0.0 * number if move is None else move, kernel, kernel_direction)
        tangent = tangent + _gram(moved, first, second, same)
    if first_direction is not None:
        growth = jnp.sum(w * first_direction, axis=-1)
        tangent = tangent + slopes * (first_direction @ second.T) + radial * (growth[:, None] * second_norms)
    if second_direction is not None:
        growth = jnp.sum(v * second_direction, axis=-1)
        tangent = tangent + slopes * (first @ second_direction.T) + radial * (first_norms[:, None] * growth)
    return value, tangent


def _pull_value(kernel: PiecewiseLinear, first, second, weights, same: bool):
    first_norms, first_units = polar(first)
    second_norms, cosine = _cosines(first_units, second, same)
    sine = jnp.sqrt((1.0 - cosine) * (1.0 + cosine))
    slopes = weights * _slopes(kernel, angle_of_cosine(cosine), first_norms)
    # A matrix–vector product: a sum over the last axis would not be fused as well.
    radial = (weights * sine) @ second_norms
    if isinstance(second, Axes):
        combined = jnp.pad(slopes, ((0, 0), (0, first.shape[1] - second.count)))
    else:
        combined = slopes @ second
    return combined + ((2 / np.pi) * kernel.even * radial)[:, None] * first_units


_pull = eqx.filter_custom_jvp(_pull_value)


@_pull.def_jvp
def _pull_jvp(primals, tangents):
    kernel, first, second, weights, same = primals
    _, first_direction, second_direction, weights_direction, _ = tangents
    value = _pull_value(kernel, first, second, weights, same)
    tangent = jnp.zeros_like(value)
    if weights_direction is not None:
        tangent = tangent + _pull_value(kernel, first, second, weights_direction, same)

    second = _dense(second, first.shape[1])
    first_norms, w = polar(first)
    second_norms, v = polar(second)
    half_sine, half_cosine = _half_angles(w, v)
    if same:
        half_sine = jnp.where(jnp.eye(half_sine.shape[0], dtype=bool), 0.0, half_sine)
    half_sine = jnp.where(half_sine < _PARALLEL, 0.0, half_sine)
    half_cosine = jnp.where(half_cosine < _PARALLEL, 0.0, half_cosine)
    even = (2 / np.pi) * kernel.even

    if second_direction is not None:
        # Mixed block, ∂_w∂_v K applied to the directions of the second vectors.
        angle = 2.0 * jnp.arctan2(half_sine, half_cosine)
        slopes = weights * _slopes(kernel, angle, first_norms)
        along_w = w @ second_direction.T
        along_v = jnp.sum(v * second_direction, axis=-1)
        plus = weights * 0.5 * quotient(half_sine, half_cosine) * (along_w + along_v)
        minus = weights * 0.5 * quotient(half_cosine, half_sine) * (along_w - along_v)
        mixed = jnp.sum(plus - minus, axis=1)[:, None] * w + (plus + minus) @ v
        tangent = tangent + slopes @ second_direction + even * mixed
    if first_direction is not None:
        # Curvature, ∂_w² K applied to the directions of the first vectors, in units of these: their quotient is in
        # range where that of the norms is not.
        sine = 2.0 * half_sine * half_cosine
        cosine = (half_cosine - half_sine) * (half_cosine + half_sine)
        relative = quotient(first_direction, first_norms[:, None])
        scale = weights * second_norms
        along_first = jnp.sum(w * relative, axis=-1)
        tangential = relative - along_first[:, None] * w
        total = jnp.sum(scale * sine, axis=1)
        normal = scale * quotient(relative @ v.T - cosine * along_first[:, None], sine)
        curvature = total[:, None] * tangential + normal @ v - jnp.sum(normal * cosine, axis=1)[:, None] * w
        tangent = tangent + even * curvature
    return value, tangent
