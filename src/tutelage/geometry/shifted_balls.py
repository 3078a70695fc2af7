r"""Duals of neurons with two slopes and biases, or of inputs with a mean, in ball arithmetic.

Rows $w$ and $v$ meet the input $\xi = \mu + \sqrt s\,(z, 0)$ with a standard normal $z$: the last number of a row is a
bias where that of $\mu$ is a one. Let $\hat w, \hat v$ be the unit vectors of the numbers that meet $z$, at the angle
$\theta$; $h = \mu\cdot w/(\sqrt s\|w\|)$ and $k$ the levels; $\phi$ the normal density; $\zeta = k - h\cos\theta$,
$\zeta' = h - k\cos\theta$. With $\sigma(x) = px + q|x|$, $\sigma(x) = \sigma'(x)\,x$, so that the dual is $w^\top Bv$,
its gradient $Bv$ and its mixed second derivative $B$, for

$$B = E[\sigma'(w\cdot\xi)\,\sigma'(v\cdot\xi)\,\xi\xi^\top],\qquad
C = E[\sigma''(w\cdot\xi)\,\sigma(v\cdot\xi)\,\xi\xi^\top]$$

with $C$ its second derivative in $w$. For a function $F$ of $z$, $E[Fz]$ and $E[F(zz^\top - I)]$ are the derivatives of
$E[F]$ as $z$ is shifted. Of $S = E[\operatorname{sgn}(w\cdot\xi)\operatorname{sgn}(v\cdot\xi)]$ they are
$S_h\hat w + S_k\hat v$ and $-hS_h\hat w\hat w^\top - kS_k\hat v\hat v^\top + PM$ with

$$S_h = 2\phi(h)\operatorname{erf}\tfrac\zeta{\sqrt2\sin\theta},\quad
S_k = 2\phi(k)\operatorname{erf}\tfrac{\zeta'}{\sqrt2\sin\theta},\quad
P = 4\phi(h)\,\phi(\tfrac\zeta{\sin\theta})$$

and the matrix $M$ of `tutelage.geometry.balls`; by Plackett's formula, with $G$ the mean signs,

$$S = G_hG_k + \tfrac2\pi\int_0^{\pi/2 - \theta}
\exp\Bigl(-\tfrac{(h - k)^2}{2\cos^2\alpha} - \tfrac{hk}{1 + \sin\alpha}\Bigr)\,d\alpha,$$

which Arb integrates with an enclosure. Obtuse angles are taken to acute ones by $v \mapsto -v$. Where a ball leaves
open whether rows are parallel: $S$ lies within $\tfrac2\pi\theta$ below $1 - |G_h - G_k|$; the derivative in the angle
is at most $\tfrac2\pi$, those in the levels at most $2\phi(0)$; and $S_h + S_k$, which is all that matters for
coincident rows, is at most $2\phi(h)\sqrt{2/\pi}\,|h + k|\tan\tfrac\theta2 + \tfrac12|h - k|$, because erf has
slopes of at most $2/\sqrt\pi$, $\zeta + \zeta' = (h + k)(1 - \cos\theta)$, and $\phi$ has slopes below $\tfrac14$.

Given $w\cdot\xi = 0$, of density $f = \phi(h)/(\sqrt s\|w\|)$, $\xi$ has the mean $x = \mu - \sqrt s\,h\hat w$ and the
covariance $s(I - \hat w\hat w^\top)$, and $y = v\cdot\xi$ the mean $y_0 = v\cdot x$ and the deviation
$\rho = \sqrt s\|v_\perp\|$. Then
$C = 2qf\,E[\sigma(y)\,\xi\xi^\top \mid w\cdot\xi = 0]$, where with $g = \operatorname{erf}(y_0/\sqrt2\rho)$

$$E[|y|\,\xi\xi^\top] = E|y|\,(xx^\top + s(I - \hat w\hat w^\top)) + sg\,(xv_\perp^\top + v_\perp x^\top)
+ 2s^2\tfrac{\phi(y_0/\rho)}\rho\,v_\perp v_\perp^\top,$$

and $E[y\,\xi\xi^\top]$ has $y_0$, one and zero in place of $E|y|$, $g$ and $\phi$.

**Third derivatives.** $\sigma'' = 2q\delta$. With $T$ the larger slope, unit vectors $a, b$, and
$m \ge E[(a\cdot\xi)^2 \mid w\cdot\xi = 0]$ for all of them, so that $E(a\cdot\xi)^4 \le 3m^2$ and
$E(a\cdot\xi)^6 \le 15m^3$, Cauchy and Schwarz give

$$|\partial_w^2\partial_vK[a, a, b]| = |E[\sigma''(w\cdot\xi)\,\sigma'(v\cdot\xi)(a\cdot\xi)^2\,b\cdot\xi]|
\le 2|q|Tf\sqrt3\,m^{3/2},$$
$$|\partial_w^3K[a, a, a]| \le \tfrac{2|q|Tf}{\sqrt s\|w\|}\,\|v\|\,(\sqrt{15}\,|h|m^2 + 4\sqrt{3s}\,m^{3/2}),$$

the second after an integration by parts along $\hat w$, which takes the derivative of $\delta$ to the other factors;
and $\tfrac12E[\sigma(w\cdot\xi)^2]$ has a third derivative of at most $4|pq|f\sqrt3\,m^{3/2}$. They hold uniformly for
smooth functions close to $\sigma$ in one place of the pair, whose Hessians converge, so that they bound Lipschitz
constants wherever $w \ne 0$.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tutelage.geometry.ball_arithmetic import (
    NotProved,
    bounded,
    diagonal,
    dot,
    exact,
    flint_module,
    polar,
    sine_and_angle,
)

if TYPE_CHECKING:
    from flint import arb, arb_mat

    from tutelage.geometry.ball_losses import LossInBalls


class Row(NamedTuple):
    """A row: all its numbers, the norm and the unit vector of those that meet inputs that vary, and its level."""

    numbers: list[arb]
    norm: arb
    unit: list[arb]
    level: arb


@dataclass(frozen=True)
class ShiftedPairs:
    """Duals of neurons with biases, or under Gaussian inputs with a mean; see `CentredPairs` for what it has."""

    loss: LossInBalls
    matrix: arb_mat
    number: int

    @cached_property
    def _centre(self) -> list[arb]:
        r"""The vector $\mu$."""
        mean = np.zeros(self.loss.dimension) if self.loss.mean is None else self.loss.mean
        return exact(np.append(mean, np.ones(int(self.loss.biased)))[None]).tolist()[0]

    @cached_property
    def rows(self) -> list[Row]:
        """The rows; raises if nothing of one may vary."""
        flint = flint_module()
        centre, deviation, whole = self._centre, flint.arb(self.loss.scale).sqrt(), self.matrix.tolist()
        norms, units = polar(self.loss.vectors(self.matrix))
        return [
            Row(row, norm, unit, dot(centre, row) / (deviation * norm))
            for row, norm, unit in zip(whole, norms, units.tolist(), strict=True)
        ]

    def dual(self, i: int, j: int) -> arb:
        """Return the dual of a pair."""
        pulled = self.mixed(i, j) * _column(self.rows[j].numbers)
        return dot(self.rows[i].numbers, pulled.entries())

    def pulls(self, coefficients: list[arb]) -> arb_mat:
        """Return the gradients of the duals of each first neuron with all, added up with coefficients."""
        flint = flint_module()
        pulls = [_column([flint.arb(0)] * len(self._centre)) for _ in range(self.number)]
        for i in range(self.number):
            for j, coefficient in enumerate(coefficients):
                if j <= i or j >= self.number:
                    block = self.mixed(i, j)
                    pulls[i] += block * _column(self.rows[j].numbers) * coefficient
                    if j < i:
                        pulls[j] += block * _column(self.rows[i].numbers) * coefficients[i]
        return flint.arb_mat([pull.entries() for pull in pulls])

    def curved(self, i: int, coefficients: list[arb]) -> arb_mat:
        """Return the second derivatives of the duals of a neuron with all others, added up with coefficients."""
        total = diagonal(len(self._centre), flint_module().arb(0))
        for j, (v, coefficient) in enumerate(zip(self.rows, coefficients, strict=True)):
            if j != i:
                total += self._curved(self.rows[i], v) * coefficient
        return total

    def mixed(self, i: int, j: int) -> arb_mat:
        """Return the mixed second derivative of a dual: the matrix B of two rows."""
        w, v = self.rows[i], self.rows[j]
        flint = flint_module()
        p, q = self.loss.slopes
        first, second = _column(w.unit), _column(v.unit)
        one, other = _density(w.level), _density(v.level)
        total = p * p + p * q * (_sign(w.level) + _sign(v.level))
        linear = (first * one + second * other) * (2 * p * q)
        square = (_outer(first) * (w.level * one) + _outer(second) * (v.level * other)) * (-2 * p * q)
        if i == j:
            total += q * q
        else:
            turn = -1 if dot(w.unit, v.unit).mid() < 0 else 1
            acute, level = second * turn, v.level * turn
            joint = _joint(w.level, level, [entry * turn for entry in v.unit], w.unit)
            total += q * q * turn * joint.both
            linear += (first * joint.of_sum + (acute - first) * joint.of_second) * (q * q * turn)
            apart = _outer(first) * w.level - _outer(acute) * level
            square += (apart * joint.of_second - _outer(first) * (w.level * joint.of_sum) + joint.bend) * (q * q * turn)
        scale = flint.arb(self.loss.scale)
        centre, shift = _column(self._centre), self._padded(linear) * scale.sqrt()
        varying = (diagonal(self.loss.dimension, total) + square) * scale
        return _outer(centre) * total + _both(centre, shift) + self._padded_square(varying)

    def _curved(self, w: Row, v: Row) -> arb_mat:
        """Return the matrix C of two rows."""
        flint = flint_module()
        p, q = self.loss.slopes
        scale, unit = flint.arb(self.loss.scale), _column(w.unit)
        deviation = scale.sqrt()
        place = _column(self._centre) - self._padded(unit * (deviation * w.level))
        vector = v.numbers[: self.loss.dimension]
        along = dot(vector, w.unit)
        rest = [entry - along * direction for entry, direction in zip(vector, w.unit, strict=True)]
        mean = dot(v.numbers, [row[0] for row in place.tolist()])
        sine = sine_and_angle(dot(w.unit, v.unit))[0]
        spread = deviation * v.norm * sine
        across = self._padded(_column(rest))
        tangent = diagonal(self.loss.dimension, flint.arb(1)) - _outer(unit)
        if spread > 0:
            sharp = q * 2 * scale * scale * _density(mean / spread) / spread
            peak = _outer(_column(rest)) * sharp
            size = spread * 2 * _density(mean / spread) + mean * _sign(mean / spread)
        else:
            peak = bounded(self.loss.dimension, abs(q) * 2 * scale * spread * _density(flint.arb(0)))
            size = abs(mean) + _up_to(spread * 2 * _density(flint.arb(0)))
        value, slope = p * mean + q * size, p + q * _sign_of_quotient(mean, spread)
        found = _outer(place) * value + _both(place, across) * (scale * slope)
        found += self._padded_square(tangent * (scale * value) + peak)
        return found * (2 * q * _density(w.level) / (deviation * w.norm))

    def _padded(self, column: arb_mat) -> arb_mat:
        zeros = [[0]] * int(self.loss.biased)
        return flint_module().arb_mat(column.tolist() + zeros)

    def _padded_square(self, matrix: arb_mat) -> arb_mat:
        rows = [row + [0] * int(self.loss.biased) for row in matrix.tolist()]
        return flint_module().arb_mat(rows + [[0] * len(self._centre)] * int(self.loss.biased))

    def lipschitz(self, coefficients: list[arb], radius: float) -> arb:
        r"""Return a bound of the Lipschitz constant of the Hessian in a ball around the first neurons.

        By the bounds of the module's text, at the largest density and the largest $|h|$ in the ball, with
        $m = \max(1 + sh^2, s)$ where the inputs have mean zero, since $x$ is orthogonal to all that varies there, and
        $m = (\|\mu\| + \sqrt s|h|)^2 + s$ else. Pairs are added up as in `CentredPairs.lipschitz`.
        """
        arb = flint_module().arb
        p, q = self.loss.slopes
        reach, scale = arb(radius), arb(self.loss.scale)
        steepest = abs(arb(self.loss.left)).max(abs(arb(self.loss.right)))
        centre = _norm(self._centre)
        unit = abs(coefficients[0])
        sizes = [abs(c) * _norm(row.numbers) for row, c in zip(self.rows, coefficients, strict=True)]
        others = sum(sizes, (self.number - 1) * unit * reach)
        pure = mixed = arb(0)
        for row, size in zip(self.rows[: self.number], sizes[: self.number], strict=True):
            least = row.norm - reach
            if not least > 0:
                raise NotProved(f"a neuron may be zero within {radius:.3g} of the point")
            offset = abs(dot(self._centre, row.numbers))
            high = (offset + centre * reach) / (scale.sqrt() * least)
            low = (offset - centre * reach).max(arb(0)) / (scale.sqrt() * (row.norm + reach))
            if self.loss.mean is None:
                moment = (1 + scale * high**2).max(scale)
            else:
                moment = (centre + scale.sqrt() * high) ** 2 + scale
            density = _density(low) / (scale.sqrt() * least)
            cubed = arb(3).sqrt() * moment * moment.sqrt()
            bend = 2 * abs(q) * steepest * density
            along = (arb(15).sqrt() * high * moment**2 + 4 * scale.sqrt() * cubed) / (scale.sqrt() * least)
            own_part = 4 * abs(p * q) * density * cubed
            pure = pure.max(unit * (bend * along * (others - size) + unit * own_part))
            mixed = mixed.max(unit * bend * cubed)
        if self.number > 1:
            pure += 3 * arb(self.number).sqrt() * mixed * unit
        return pure


class Joint(NamedTuple):
    """Two signs at an acute angle, or at one that may be zero.

    Attributes:
        both: The number S.
        of_sum: The number $S_h + S_k$.
        of_second: The number $S_k$.
        bend: The matrix $PM$.
    """

    both: arb
    of_sum: arb
    of_second: arb
    bend: arb_mat


def _joint(h: arb, k: arb, other: list[arb], unit: list[arb]) -> Joint:
    """Return what the matrix B has of two signs, with levels and unit vectors."""
    flint = flint_module()
    arb, pi = flint.arb, flint.arb.pi()
    cosine = dot(unit, other)
    sine, angle = sine_and_angle(cosine)
    across = k - h * cosine
    of_second = 2 * _density(k) * _sign_of_quotient(h - k * cosine, sine)
    of_sum = 2 * _density(h) * _sign_of_quotient(across, sine) + of_second
    if sine > 0:
        ratio = across / sine
        vectors = flint.arb_mat([unit, other])
        inner = flint.arb_mat([[-cosine, 1], [1, -cosine]]) * (4 * _density(h) * _density(ratio) / sine)
        return Joint(_signs_together(h, k, angle), of_sum, of_second, vectors.transpose() * (inner * vectors))
    if 0 in across:
        half = angle / 2  # below π/4
        spread = 2 * _density(h) * (2 / pi).sqrt() * abs(h + k) * (half.sin() / half.cos()) + abs(h - k) / 2
        of_sum = arb(0, spread.upper())
    both = 1 - abs(_sign(h) - _sign(k)) - _up_to(2 / pi * angle)
    bend = bounded(len(unit), 4 * _density(arb(0)) ** 2 * sine)
    return Joint(both, of_sum, of_second, bend)


def _signs_together(h: arb, k: arb, angle: arb) -> arb:
    """Return the mean product of two signs with levels at an acute angle."""
    flint = flint_module()
    one, two, end = h.mid(), k.mid(), (flint.arb.pi() / 2 - angle).mid()
    apart, product = (one - two) ** 2 / 2, one * two

    def integrand(z, _):
        cosine = z.cos()
        return (-(apart / (cosine * cosine) + product / (1 + z.sin()))).exp()

    integral = flint.acb.integral(integrand, flint.acb(0), flint.acb(end)).real
    # Derivatives in the angle and in the levels times what is left out of the balls.
    left_out = 2 / flint.arb.pi() * (flint.arb.pi() / 2 - angle - end) + (h - one) * 0.8 + (k - two) * 0.8
    whole = _sign(one) * _sign(two) + 2 / flint.arb.pi() * integral
    return whole + flint.arb(0, abs(left_out).upper())


def _sign_of_quotient(value: arb, size: arb) -> arb:
    """Return the mean sign of a normal number with mean and deviation, of which the deviation may be zero."""
    arb = flint_module().arb
    if size > 0:
        return _sign(value / size)
    if 0 not in value:
        if not size.upper() > 0:
            return arb(1 if value > 0 else -1)
        least = _sign(abs(value).lower() / size.upper())
        between = least.lower().union(arb(1))
        return between if value > 0 else -between
    return arb(0, 1)


def _density(value: arb) -> arb:
    """Return the standard normal density."""
    arb = flint_module().arb
    return (-(value**2) / 2).exp() / (2 * arb.pi()).sqrt()


def _sign(level: arb) -> arb:
    """Return the mean sign of a normal number of deviation one."""
    return (level / flint_module().arb(2).sqrt()).erf()


def _up_to(bound: arb) -> arb:
    """Return a ball of all numbers from zero to a bound."""
    half = bound.upper() / 2
    return flint_module().arb(half, half.upper())


def _norm(numbers: list[arb]) -> arb:
    return dot(numbers, numbers).sqrt()


def _column(numbers: list[arb]) -> arb_mat:
    return flint_module().arb_mat([[entry] for entry in numbers])


def _outer(column: arb_mat) -> arb_mat:
    return column * column.transpose()


def _both(first: arb_mat, second: arb_mat) -> arb_mat:
    return first * second.transpose() + second * first.transpose()
