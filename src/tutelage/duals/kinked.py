r"""Absolute values and signs of a Gaussian pair with means.

With standard deviations $s, t$ and means $\mu = sh$, $\nu = tk$, write $u = s(h + X)$ and $v = t(k + Y)$ with standard
normal $X, Y$ at an angle $\varphi$, and $\hat p, \hat q$ for the unit vectors of $w$ and $v$. Given $u = 0$, the number
$v$ has the mean $t\zeta$, $\zeta = k - h\cos\varphi$, and the deviation $t\sin\varphi$. With
$g = \operatorname{erf}(\zeta/(\sqrt2\sin\varphi))$ its mean sign, $F$ its mean absolute value, $g'$ the mean sign of
$u$ given $v = 0$, and the normal density $\phi$,

$$S = E[\operatorname{sgn}u\operatorname{sgn}v] = 4P(u > 0, v > 0) - 2P(u > 0) - 2P(v > 0) + 1,$$
$$A = E[\operatorname{sgn}u\,|v|] = \nu S + 2t\phi(h)\,g\cos\varphi + 2t\phi(k)\,g',$$
$$E|u||v| = \mu A + 2s\phi(h)F + st\cos\varphi\,S.$$

The gradients in $w$, with the mean $m$ of the inputs and the normal $n \propto \hat q - \cos\varphi\,\hat p$, are

$$\nabla E|u||v| = A\,m + 2\phi(h)F\,\hat p + S\,v,$$
$$\nabla E[|u|\operatorname{sgn}v] = S\,m + 2\phi(h)g\,\hat p + 2\phi(k)g'\,\hat q,$$
$$\nabla E[\operatorname{sgn}u\,|v|] =
\tfrac{2\phi(h)}s\bigl(F(m - h\hat p) + tg\,(\hat q - \cos\varphi\,\hat p)\bigr),$$
$$\nabla E[\operatorname{sgn}u\operatorname{sgn}v] =
\tfrac{2\phi(h)}s\bigl(g\,(m - h\hat p) + 2\phi(\zeta/\sin\varphi)\,n\bigr).$$

Nothing but the last is singular for parallel vectors, and nothing cancels there: sine and $\zeta$ are taken from
differences of vectors, and derivatives in the angle from half angles.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.duals.gaussian import Frame, Side
from tutelage.duals.norms import Angles, angles, normals, polar, projections
from tutelage.duals.special import (
    FAR,
    StandardPair,
    folded_mean,
    folded_sign,
    mean_of_signs,
    normal_density,
    quotient,
    standardised,
)
from tutelage.instant.leaves import leaf, total


class Polar(NamedTuple):
    """Rows by deviation and direction.

    Attributes:
        deviation: Standard deviation of the row times the input.
        unit: Unit vector in the latent space; zero where nothing varies.
        mean: Mean of the row times the input.
        level: Mean in units of the deviation, within ±40.
        beyond: What the mean has beyond 40 deviations.
    """

    deviation: Float[Array, " n"]
    unit: Float[Array, "n latent"]
    mean: Float[Array, " n"]
    level: Float[Array, " n"]
    beyond: Float[Array, " n"]


def _polar(side: Side) -> Polar:
    deviation, unit = polar(side.vectors)
    level = standardised(side.means, deviation)
    far = jnp.abs(side.means) > FAR * deviation
    return Polar(deviation, unit, side.means, level, jnp.where(far, side.means - level * deviation, 0.0))


def _differences(frame: Frame, first: Side, second: Side, w: Polar, v: Polar, between: Angles):
    """Return the differences of the levels (their sums where the angle is obtuse), from differences of vectors."""
    if frame.centred:
        return jnp.zeros_like(between.half_sine)

    def in_units(side: Side, row: Polar):
        # The mean of such a row is its level, also where that ends at ±40.
        return side.weights * quotient(1.0, jnp.maximum(row.deviation, jnp.abs(side.means) / FAR))[:, None]

    near = jnp.where(between.close, 1.0, 0.0)
    return projections(
        in_units(first, w), in_units(second, v), between.signs, near, frame.location(first.weights.shape[1])
    )


class Kinks(NamedTuple):
    """What the duals of absolute values and signs are made of, for all pairs of two sides."""

    w: Polar
    v: Polar
    pair: StandardPair
    between: Angles
    both: Float[Array, "n m"]  # S

    @property
    def sign_absolute(self) -> Float[Array, "n m"]:
        """The number A."""
        return self.v.deviation * _standard_sign_absolute(*self.pair, self.both) + self.v.beyond * self.both

    @property
    def absolute_sign(self) -> Float[Array, "n m"]:
        """The number A in the other order."""
        standard = _standard_sign_absolute(*self.pair.swapped(), self.both)
        return self.w.deviation[:, None] * standard + self.w.beyond[:, None] * self.both

    @property
    def absolutes(self) -> Float[Array, "n m"]:
        """The mean product of both absolute values."""
        deviation = self.w.deviation[:, None]
        return (
            self.w.mean[:, None] * self.sign_absolute
            + deviation * self.jump * self.given_zero
            + deviation * self.v.deviation * self.pair.cosine * self.both
        )

    @property
    def jump(self) -> Float[Array, "n 1"]:
        """Twice the density of h + X at zero."""
        return 2 * normal_density(self.w.level)[:, None]

    @property
    def other_jump(self) -> Float[Array, " m"]:
        """Twice the density of k + Y at zero."""
        return 2 * normal_density(self.v.level)

    @property
    def given_zero(self) -> Float[Array, "n m"]:
        """The number F."""
        folded = folded_mean(self.pair.conditional_mean, self.pair.sine)
        return self.v.deviation * folded + jnp.abs(self.v.beyond)

    @property
    def sign_given_zero(self) -> Float[Array, "n m"]:
        """The number g."""
        return folded_sign(self.pair.conditional_mean, self.pair.sine)

    @property
    def other_sign_given_zero(self) -> Float[Array, "n m"]:
        """The number g'."""
        return folded_sign(self.pair.swapped().conditional_mean, self.pair.sine)


def kinks_of(frame: Frame, first: Side, second: Side, same: bool) -> Kinks:
    """Return the numbers of all pairs of two sides."""
    w, v = _polar(first), _polar(second)
    between = angles(w.unit, v.unit, same)
    of_levels = _differences(frame, first, second, w, v, between)
    h, k = jnp.broadcast_arrays(w.level[:, None], v.level)
    pair = StandardPair(h, k, of_levels, between.half_sine, between.half_cosine, between.opposed)
    return Kinks(w, v, pair, between, mean_of_signs(pair, between.product))


def _sign_absolute_change(arrays, changes):
    pair, both = StandardPair(*arrays[:6])._replace(opposed=arrays[5] > 0), arrays[6]
    by_h, by_k, _, by_sine, by_cosine, _, _ = changes
    density = 2 * normal_density(pair.h)
    by_angle = -2 * density * pair.sine * folded_sign(pair.conditional_mean, pair.sine)
    return total(
        None if by_h is None else density * folded_mean(pair.conditional_mean, pair.sine) * by_h,
        None if by_k is None else both * by_k,
        None if by_sine is None else by_angle * pair.half_cosine * by_sine,
        None if by_cosine is None else -by_angle * pair.half_sine * by_cosine,
    )


@leaf(_sign_absolute_change)
def _standard_sign_absolute(xp, h, k, difference, half_sine, half_cosine, opposed, both):
    """Return E[sgn(h + X)|k + Y|], given the mean product of both signs."""
    sine = 2.0 * half_sine * half_cosine
    cosine = (half_cosine - half_sine) * (half_cosine + half_sine)
    versed = xp.where(opposed > 0, -2 * half_cosine**2, 2 * half_sine**2)
    sign = folded_sign.formula(xp, difference + versed * h, sine)
    other_sign = folded_sign.formula(xp, xp.where(opposed > 0, difference, -difference) + versed * k, sine)
    densities = normal_density.formula(xp, h) * sign * cosine + normal_density.formula(xp, k) * other_sign
    return k * both + 2 * densities


def value(first_sign: bool, second_sign: bool, frame: Frame, first: Side, second: Side, same: bool = False):
    """Return the dual of two functions, each the absolute value or the sign, for all pairs."""
    kinks = kinks_of(frame, first, second, same)
    if first_sign and second_sign:
        return kinks.both
    if first_sign:
        return kinks.sign_absolute
    if second_sign:
        return kinks.absolute_sign
    return kinks.absolutes


def pull(
    first_sign: bool,
    second_sign: bool,
    frame: Frame,
    first: Side,
    second: Side,
    weights: Float[Array, "n m"],
    same: bool = False,
) -> tuple[Float[Array, " n"], Float[Array, "n latent"]]:
    """Return the weighted sums of gradients, in the means and in the vectors of the first rows."""
    kinks = kinks_of(frame, first, second, same)
    w, v = kinks.w, kinks.v
    if not first_sign:
        if second_sign:
            by_mean, by_v = kinks.both, kinks.other_jump * kinks.other_sign_given_zero
            by_w, v_rows = kinks.jump * kinks.sign_given_zero, v.unit
        else:
            by_mean, by_v = kinks.sign_absolute, kinks.both
            by_w, v_rows = kinks.jump * kinks.given_zero, second.vectors
        along = jnp.sum(weights * by_w, axis=1)[:, None] * w.unit
        return jnp.sum(weights * by_mean, axis=1), (weights * by_v) @ v_rows + along
    weights = weights * kinks.jump * quotient(1.0, w.deviation)[:, None]
    if second_sign:
        by_mean = weights * kinks.sign_given_zero
        ratio = standardised(kinks.pair.conditional_mean, kinks.pair.sine)
        turn = normals(weights * 2 * normal_density(ratio), w.unit, v.unit, kinks.between)
        return jnp.sum(by_mean, axis=1), turn - jnp.sum(by_mean * kinks.pair.h, axis=1)[:, None] * w.unit
    by_mean = weights * kinks.given_zero
    by_v = weights * v.deviation * kinks.sign_given_zero
    along = jnp.sum(by_mean * kinks.pair.h + by_v * kinks.pair.cosine, axis=1)
    return jnp.sum(by_mean, axis=1), by_v @ v.unit - along[:, None] * w.unit
