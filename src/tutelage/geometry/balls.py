r"""Duals of neurons with two slopes, and their derivatives, in ball arithmetic: enclosures instead of numbers.

Every number is an Arb ball, a midpoint with a radius that bounds all rounding errors; a result contains the exact value
of its formula for all exact values inside the arguments. The precision is that of `flint.ctx` when a method is called.

Rows $w$ and $v$ meet the input $\xi = \mu + \sqrt s\,(z, 0)$ with a standard normal $z$: the last number of a row is a
bias where that of $\mu$ is a one. Let $\hat w, \hat v$ be the unit vectors of the numbers that meet $z$, at the angle
$\theta$; $\|w\|$ their norm; $h = \mu\cdot w/(\sqrt s\|w\|)$ and $k$ the levels; $\phi$ the normal density; $G$ the
mean signs. With $\sigma(x) = px + q|x|$, $\sigma(x) = \sigma'(x)\,x$, so that the dual is $K = w^\top Bv$, its gradient
$Bv$ and its mixed second derivative $B$, for

$$B = E[\sigma'(w\cdot\xi)\,\sigma'(v\cdot\xi)\,\xi\xi^\top],\qquad
C = E[\sigma''(w\cdot\xi)\,\sigma(v\cdot\xi)\,\xi\xi^\top]$$

with $C$ its second derivative in $w$.

**Slopes.** For a function $F$ of $z$, $E[Fz]$ and $E[F(zz^\top - I)]$ are the derivatives of $E[F]$ as $z$ is shifted.
Of $S = E[\operatorname{sgn}(w\cdot\xi)\operatorname{sgn}(v\cdot\xi)]$ they are $S_h\hat w + S_k\hat v$ and
$-hS_h\hat w\hat w^\top - kS_k\hat v\hat v^\top + PM$ with $\zeta = k - h\cos\theta$, $\zeta' = h - k\cos\theta$,

$$S_h = 2\phi(h)\operatorname{erf}\tfrac\zeta{\sqrt2\sin\theta},\quad
S_k = 2\phi(k)\operatorname{erf}\tfrac{\zeta'}{\sqrt2\sin\theta},\quad
P = 4\phi(h)\,\phi(\tfrac\zeta{\sin\theta}),\quad
M = \frac{\hat w\hat v^\top + \hat v\hat w^\top - \cos\theta\,(\hat w\hat w^\top + \hat v\hat v^\top)}{\sin\theta},$$

so that with $R = p^2 + pq(G_h + G_k) + q^2S$, the mean product of both slopes, its derivatives $R_h = 2pq\phi(h) +
q^2S_h$ and $R_k$ in the levels, and $l = R_h\hat w + R_k\hat v$,

$$B = R\,(\mu\mu^\top + sI) + \sqrt s\,(\mu l^\top + l\mu^\top)
+ s\,(q^2PM - hR_h\hat w\hat w^\top - kR_k\hat v\hat v^\top).$$

Without levels $S = 1 - 2\theta/\pi$ and $B = s(RI + \tfrac2\pi q^2M)$, for all isotropic laws of variance $s$, which
homogeneous functions see through nothing else. With levels, by Plackett's formula,

$$S = G_hG_k + \tfrac2\pi\int_0^{\pi/2 - \theta}
\exp\Bigl(-\tfrac{(h - k)^2}{2\cos^2\alpha} - \tfrac{hk}{1 + \sin\alpha}\Bigr)\,d\alpha,$$

which Arb integrates with an enclosure. Obtuse angles are taken to acute ones by $v \mapsto -v$.

**Given that a neuron is at its kink.** Given $w\cdot\xi = 0$, of density $f = \phi(h)/(\sqrt s\|w\|)$, $\xi$ has the
mean $x = \mu - \sqrt s\,h\hat w$ and the covariance $s(I - \hat w\hat w^\top)$, and $y = v\cdot\xi$ the mean
$y_0 = t\zeta$ and the deviation $\rho = t\sin\theta$, $t = \sqrt s\|v\|$. Then
$C = 2qf\,E[\sigma(y)\,\xi\xi^\top \mid w\cdot\xi = 0]$, where with $g = \operatorname{erf}(y_0/\sqrt2\rho)$ and
$v_\perp = \|v\|(\hat v - \cos\theta\,\hat w)$

$$E[|y|\,\xi\xi^\top] = E|y|\,(xx^\top + s(I - \hat w\hat w^\top)) + sg\,(xv_\perp^\top + v_\perp x^\top)
+ 2s^2\tfrac{\phi(y_0/\rho)}\rho\,v_\perp v_\perp^\top,$$

and $E[y\,\xi\xi^\top]$ has $y_0$, one and zero in place of $E|y|$, $g$ and $\phi$. In these numbers, with $v$ without
its bias in the first term,

$$Bv = sRv + 2\sqrt s\,\phi(h)\,(pqy_0 + q^2E|y|)\,\hat w
+ t\,(kR + R_h\cos\theta + R_k)\,\mu.$$

**Parallel rows.** $M = \sin\theta\,(bb^\top - cc^\top)$ with the orthonormal bisectors $b, c$, so that no entry of it
exceeds $\sin\theta$, nor does one of $v_\perp v_\perp^\top/(\|v\|^2\sin\theta)$: second derivatives are continuous
where no row is zero, and that bound is taken where a ball leaves open whether two rows are parallel. There $S$ lies
within $\tfrac2\pi\theta$ below $1 - |G_h - G_k|$; the derivative in the angle is at most $\tfrac2\pi$, those in the
levels at most $2\phi(0)$; and $S_h + S_k$, which is all that matters for coincident rows, is at most
$2\phi(h)\sqrt{2/\pi}\,|h + k|\tan\tfrac\theta2 + \tfrac12|h - k|$, because erf has slopes of at most $2/\sqrt\pi$,
$\zeta + \zeta' = (h + k)(1 - \cos\theta)$, and $\phi$ has slopes below $\tfrac14$. A neuron is at angle exactly zero
from itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tutelage.geometry.ball_arithmetic import (
    bounded,
    diagonal,
    dot,
    exact,
    flint_module,
    polar,
    scaled_rows,
    sine_and_angle,
)
from tutelage.geometry.lipschitz import lipschitz_bound, shifted_bound

if TYPE_CHECKING:
    from flint import arb, arb_mat

    from tutelage.geometry.ball_losses import LossInBalls


class Row(NamedTuple):
    """A row: norm and unit vector of what meets inputs that vary, its level h, 2φ(h), and its mean sign."""

    norm: arb
    unit: list[arb]
    level: arb
    jump: arb
    sign: arb


class Angle(NamedTuple):
    """An angle between two vectors, with its cosine and its sine, which is not below zero."""

    cosine: arb
    sine: arb
    angle: arb


class Given(NamedTuple):
    """The second neuron's argument y, given that the first one is at its kink: its mean, mean size and mean sign.

    Beside them twice the normal density of its mean, in units of its deviation.
    """

    mean: arb
    size: arb
    sign: arb
    jump: arb


class Slopes(NamedTuple):
    r"""The mean product R of both slopes, and what it changes by with the levels.

    Attributes:
        mean: The number R.
        turn: Minus one if the angle is obtuse, so that v is turned; else one.
        of_both: The number $R_h + R_k$, or $R_h - R_k$ if v is turned: what is left of $l$ for parallel vectors.
        of_second: The number $R_k$, or $-R_k$.
    """

    mean: arb
    turn: int
    of_both: arb
    of_second: arb


@dataclass(frozen=True)
class PairsInBalls:
    """Duals of pairs of neurons, with their derivatives in the first neuron of a pair.

    Attributes:
        loss: The activation, and the law of the inputs.
        matrix: All rows, in none of which the numbers that meet inputs that vary are all zero.
        number: How many of them, the first ones, are first in a pair.
    """

    loss: LossInBalls
    matrix: arb_mat
    number: int

    @cached_property
    def centre(self) -> list[arb]:
        r"""The vector $\mu$."""
        mean = np.zeros(self.loss.dimension) if self.loss.mean is None else self.loss.mean
        return exact(np.append(mean, np.ones(int(self.loss.biased)))[None]).tolist()[0]

    @cached_property
    def rows(self) -> list[Row]:
        """The rows; raises if nothing of one may vary."""
        norms, units = polar(self.loss.vectors(self.matrix))
        levels = [self._zero] * len(norms)
        if self.loss.shifted:
            means = [dot(self.centre, row) for row in self.matrix.tolist()]
            levels = [mean / (self._deviation * norm) for mean, norm in zip(means, norms, strict=True)]
        parts = zip(norms, units.tolist(), levels, strict=True)
        return [Row(norm, unit, level, _jump(level), _sign(level)) for norm, unit, level in parts]

    @cached_property
    def _scale(self) -> arb:
        return flint_module().arb(self.loss.scale)

    @cached_property
    def _deviation(self) -> arb:
        return self._scale.sqrt()

    @cached_property
    def _zero(self) -> arb:
        return flint_module().arb(0)

    @cached_property
    def _largest(self) -> arb:
        r"""The number $2\phi(0)$, whose square is $2/\pi$."""
        return _jump(self._zero)

    @cached_property
    def _products(self) -> tuple[arb, arb, arb]:
        r"""The numbers $p^2$, $pq$ and $q^2$."""
        p, q = self.loss.slopes
        return p * p, p * q, q * q

    @cached_property
    def angles(self) -> list[list[Angle]]:
        """Angles of the first vectors with all; exactly zero of one with itself."""
        flint, units = flint_module(), [row.unit for row in self.rows]
        cosines = (flint.arb_mat(units[: self.number]) * flint.arb_mat(units).transpose()).tolist()
        for i, row in enumerate(cosines):
            row[i] = flint.arb(1)
        return [[Angle(c, *sine_and_angle(c)) for c in row] for row in cosines]

    def _given(self, i: int, j: int) -> Given:
        w, v, (cosine, sine, _) = self.rows[i], self.rows[j], self.angles[i][j]
        deviation = self._deviation * v.norm
        spread = deviation * sine
        if not self.loss.shifted:
            return Given(self._zero, spread * self._largest, self._zero, self._largest)
        mean = self._zero if i == j else deviation * (v.level - w.level * cosine)
        if spread > 0:
            ratio = mean / spread
            jump, sign = _jump(ratio), _sign(ratio)
            return Given(mean, spread * jump + mean * sign, sign, jump)
        size = abs(mean) + _up_to(spread * self._largest)
        return Given(mean, size, _sign_of_quotient(mean, spread), _up_to(self._largest))

    @cached_property
    def _integrals(self) -> dict[tuple[int, int], arb]:
        """The mean products of signs that are known, which do not depend on the order of a pair."""
        return {}

    def _slopes(self, i: int, j: int) -> Slopes:
        odd, crossed, even = self._products
        w, v, (cosine, sine, angle) = self.rows[i], self.rows[j], self.angles[i][j]
        if not self.loss.shifted:
            return Slopes(odd + even * (1 - self._largest**2 * angle), 1, self._zero, self._zero)
        arb, pi = flint_module().arb, flint_module().arb.pi()
        turn = -1 if cosine.mid() < 0 else 1
        h, k, cosine, angle = w.level, v.level * turn, cosine * turn, angle if turn > 0 else pi - angle
        across, of_second = k - h * cosine, v.jump * _sign_of_quotient(h - k * cosine, sine)
        of_both = w.jump * _sign_of_quotient(across, sine) + of_second
        if i == j:
            both, of_both = arb(1), arb(0)
        elif sine > 0:
            if (both := self._integrals.get((j, i))) is None:
                both = self._integrals[i, j] = _signs_together(h, k, angle)
        else:
            both = 1 - abs(w.sign - v.sign * turn) - _up_to(2 / pi * angle)
            if 0 in across:
                half = angle / 2  # below π/4
                spread = w.jump * (2 / pi).sqrt() * abs(h + k) * (half.sin() / half.cos()) + abs(h - k) / 2
                of_both = arb(0, spread.upper())
        return Slopes(
            odd + crossed * (w.sign + v.sign) + even * turn * both,
            turn,
            crossed * (w.jump + v.jump * turn) + even * turn * of_both,
            (crossed * v.jump + even * of_second) * turn,
        )

    def _pull(self, i: int, j: int) -> tuple[arb, arb, arb]:
        r"""Return the factors of $v$, $\hat w$ and $\mu$ in the gradient of a dual."""
        w, v, slopes, given = self.rows[i], self.rows[j], self._slopes(i, j), self._given(i, j)
        _, crossed, even = self._products
        along = self._deviation * w.jump * (crossed * given.mean + even * given.size)
        if not self.loss.shifted:
            return self._scale * slopes.mean, along, self._zero
        acute = self.angles[i][j].cosine * slopes.turn
        turned = slopes.of_both - (slopes.of_both - slopes.of_second) * (1 - acute)
        by_mean = self._deviation * v.norm * (v.level * slopes.mean + turned * slopes.turn)
        return self._scale * slopes.mean, along, by_mean

    def pulls(self, coefficients: list[arb]) -> arb_mat:
        """Return the gradients of the duals of each first neuron with all, added up with coefficients."""
        flint, places = flint_module(), range(self.number)
        pulls = [[self._pull(i, j) for j in range(len(self.rows))] for i in places]
        slopes = flint.arb_mat([[by_v for by_v, _, _ in row] for row in pulls])
        along, by_mean = ([dot([one[part] for one in row], coefficients) for row in pulls] for part in (1, 2))
        units = scaled_rows(flint.arb_mat([self.rows[i].unit for i in places]), along)
        varying = slopes * scaled_rows(self.loss.vectors(self.matrix), coefficients) + units
        return self._padded(varying) + _column(by_mean) * _column(self.centre).transpose()

    def total(self, coefficients: list[arb]) -> arb:
        """Return the duals of each first neuron with all, added up with the coefficients of both."""
        first = scaled_rows(self.pulls(coefficients), coefficients[: self.number]).entries()
        return dot(first, self.matrix.entries()[: len(first)])

    def mixed(self, i: int, j: int) -> arb_mat:
        """Return the mixed second derivative of a dual: the matrix B of two rows."""
        flint, dimension = flint_module(), self.loss.dimension
        w, v, (cosine, sine, _) = self.rows[i], self.rows[j], self.angles[i][j]
        slopes, even = self._slopes(i, j), self._products[2]
        if sine > 0:
            vectors, bend = flint.arb_mat([w.unit, v.unit]), w.jump * self._given(i, j).jump / sine
            inner = flint.arb_mat([[-cosine * bend, bend], [bend, -cosine * bend]])
            bent = vectors.transpose() * (inner * vectors)
        else:
            bent = bounded(dimension, self._largest**2 * sine)
        varying = diagonal(dimension, slopes.mean) + bent * even
        if not self.loss.shifted:
            return varying * self._scale
        first, acute, centre = _column(w.unit), _column(v.unit) * slopes.turn, _column(self.centre)
        apart = _outer(first) * w.level - _outer(acute) * (v.level * slopes.turn)
        varying += apart * slopes.of_second - _outer(first) * (w.level * slopes.of_both)
        shift = self._padded((first * slopes.of_both + (acute - first) * slopes.of_second).transpose()).transpose()
        return _outer(centre) * slopes.mean + _both(centre, shift * self._deviation) + self._square(varying)

    def curved(self, i: int, coefficients: list[arb]) -> arb_mat:
        """Return the second derivatives of the duals of a neuron with all others, added up: the sum of matrices C."""
        flint, dimension, w = flint_module(), self.loss.dimension, self.rows[i]
        p, q = self.loss.slopes
        total, spread, nothing = flint.arb(0), flint.arb(0), [flint.arb(0)] * dimension
        normals, peaks, across = [nothing], [nothing], [nothing]
        for j, v in enumerate(self.rows):
            if j == i:
                continue
            (cosine, sine, _), given, size = self.angles[i][j], self._given(i, j), coefficients[j] * v.norm
            total += coefficients[j] * (p * given.mean + q * given.size)
            normal = [b - cosine * a for a, b in zip(w.unit, v.unit, strict=True)]
            peak = q * self._deviation * size * given.jump
            if sine > 0:
                normals.append(normal)
                peaks.append([peak / sine * entry for entry in normal])
            else:
                spread += abs(peak) * sine
            across.append([(p + q * given.sign) * size * entry for entry in normal])
        unit = _column(w.unit)
        outer = flint.arb_mat(normals).transpose() * flint.arb_mat(peaks)
        varying = (diagonal(dimension, flint.arb(1)) - _outer(unit)) * total + outer + bounded(dimension, spread)
        found = self._square(varying)
        if self.loss.shifted:
            place = _column(self.centre) - self._padded(unit.transpose()).transpose() * (self._deviation * w.level)
            shift = self._padded(flint.arb_mat([[sum(column, flint.arb(0)) for column in zip(*across, strict=True)]]))
            found += _outer(place) * total + _both(place, shift.transpose() * self._scale)
        return found * (q * w.jump / (self._deviation * w.norm))

    def _padded(self, rows: arb_mat) -> arb_mat:
        """Return rows with a zero for the bias where there is one."""
        return flint_module().arb_mat([row + [0] * int(self.loss.biased) for row in rows.tolist()])

    def _square(self, varying: arb_mat) -> arb_mat:
        """Return what varies times the variance, with zeros for the bias where there is one."""
        return self._padded(self._padded(varying * self._scale).transpose())

    def lipschitz(self, coefficients: list[arb], radius: float) -> arb:
        """Return a bound of the Lipschitz constant of the Hessian in a ball around the first neurons.

        The coefficients of the first neurons differ by signs alone.

        Raises:
            NotProved: If a neuron may be zero in the ball.
        """
        if self.loss.shifted:
            return shifted_bound(self, coefficients, radius)
        number, unit, norms = self.number, abs(coefficients[0]), [row.norm for row in self.rows]
        others = zip(norms[number:], coefficients[number:], strict=True)
        teachers = sum((norm * abs(coefficient) / unit for norm, coefficient in others), flint_module().arb(0))
        even = self._scale * self._products[2]
        return lipschitz_bound(norms[:number], [1] * number, teachers, even, radius) * unit**2


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


def _jump(level: arb) -> arb:
    """Return twice the standard normal density."""
    arb = flint_module().arb
    return (-(level**2) / 2).exp() * (2 / arb.pi()).sqrt()


def _sign(level: arb) -> arb:
    """Return the mean sign of a normal number of deviation one."""
    return (level / flint_module().arb(2).sqrt()).erf()


def _up_to(bound: arb) -> arb:
    """Return a ball of all numbers from zero to a bound."""
    half = bound.upper() / 2
    return flint_module().arb(half, half.upper())


def _column(numbers: list[arb]) -> arb_mat:
    return flint_module().arb_mat([[entry] for entry in numbers])


def _outer(column: arb_mat) -> arb_mat:
    return column * column.transpose()


def _both(first: arb_mat, second: arb_mat) -> arb_mat:
    return first * second.transpose() + second * first.transpose()
