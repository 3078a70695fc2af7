r"""The dual of two neurons and its derivatives, from three inner products, in intervals.

With slopes $a, b$ of the activation, inputs of variance $s$, $\alpha = s(b - a)^2/(2\pi)$, $\beta = s(a^2 + b^2)/2$,
$p = w\cdot w$, $q = v\cdot v$, $c = w\cdot v$, the area $A = \sqrt{pq - c^2}$ and the angle $\theta$,

$$K = \alpha A + rc,\qquad r = \beta - \alpha\theta,\qquad \nabla_wK = rv + \tfrac{\alpha A}pw,$$
$$\partial_w^2K = \alpha\Bigl(\tfrac ApI + \tfrac{c^2 - A^2}{p^2A}ww^\top - \tfrac c{pA}(wv^\top + vw^\top)
+ \tfrac1Avv^\top\Bigr),\qquad
\partial_w\partial_vK = rI + \tfrac\alpha A\bigl(wv^\top + vw^\top - \tfrac cpww^\top - \tfrac cqvv^\top\bigr),$$

by integration over the angle in the plane of $w$ and $v$, and differentiation. On parallel vectors, where $A = 0$, the
second derivatives are $0$ and $rI$.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from tutelage.geometry.verification.intervals import Interval, angle, pi


class Quadratic(NamedTuple):
    r"""A symmetric bilinear form, by its factors of $I$, $ww^\top$, $wv^\top + vw^\top$ and $vv^\top$."""

    identity: Interval
    first: Interval
    crossed: Interval
    second: Interval


class Dual(NamedTuple):
    """The dual of two neurons.

    Attributes:
        value: The dual.
        slope: The factor $r$.
        radial: The factor of $w$ in the gradient in $w$.
        own: The second derivative in $w$.
        other: The second derivative in $v$.
        mixed: The mixed derivative.
    """

    value: Interval
    slope: Interval
    radial: Interval
    own: Quadratic
    other: Quadratic
    mixed: Quadratic


class Slopes(NamedTuple):
    """What duals depend on besides the vectors: slopes of the activation, variance of the inputs, and the precision."""

    left: Fraction
    right: Fraction
    scale: Fraction
    bits: int

    @property
    def alpha(self) -> Interval:
        """The number α."""
        return Interval.of(self.scale * (self.right - self.left) ** 2, self.bits) / (2 * pi(self.bits))

    @property
    def beta(self) -> Interval:
        """The number β."""
        return Interval.of(self.scale * (self.left**2 + self.right**2) / 2, self.bits)

    @property
    def even(self) -> Interval:
        """The factor of the even part, which third derivatives are proportional to."""
        return Interval.of(self.scale * ((self.right - self.left) / 2) ** 2, self.bits)

    def dual(self, first: Fraction, second: Fraction, product: Fraction) -> Dual:
        """Return the dual of two vectors.

        Args:
            first: The squared norm of the first vector, positive.
            second: That of the second one.
            product: Their inner product.
        """
        bits, alpha, beta = self.bits, self.alpha, self.beta
        p, q, c = (Interval.of(number, bits) for number in (first, second, product))
        nothing = Interval(0, 0, bits)
        square = first * second - product**2
        area = Interval.of(square, bits).root() if square else nothing
        if not square:
            theta = nothing if product > 0 else pi(bits)
        else:
            theta = angle(area, c)
        slope = beta - alpha * theta
        if not square:
            empty = Quadratic(nothing, nothing, nothing, nothing)
            return Dual(slope * c, slope, nothing, empty, empty, empty._replace(identity=slope))
        bend = alpha / area

        def own(here: Interval) -> Quadratic:
            return Quadratic(
                alpha * area / here, bend * (c * c - area * area) / (here * here), -(bend * c / here), bend
            )

        mixed = Quadratic(slope, -(bend * c / p), bend, -(bend * c / q))
        return Dual(alpha * area + slope * c, slope, alpha * area / p, own(p), own(q), mixed)
