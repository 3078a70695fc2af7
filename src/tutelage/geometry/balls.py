r"""Duals of neurons with two slopes, and their derivatives, in ball arithmetic: enclosures instead of numbers.

Every number is an Arb ball, a midpoint with a radius that bounds all rounding errors; a result contains the exact value
of its formula for all exact values inside the arguments. The precision is that of `flint.ctx` when a method is called.

With $\sigma(z) = pz + q|z|$, an isotropic law of variance $s$, $o = sp^2$, $e = sq^2$ and the angle $\theta$ between
$w$ and $v$,

$$K(w, v) = \|w\|\|v\|\bigl(o\cos\theta + \tfrac{2e}\pi(\sin\theta + (\tfrac\pi2 - \theta)\cos\theta)\bigr),\qquad
R = o + e(1 - 2\theta/\pi),$$
$$\nabla_wK = R\,v + \tfrac{2e}\pi\|v\|\sin\theta\,\hat w,$$
$$\partial_w\partial_vK = R\,I + \tfrac{2e}\pi\,M,\qquad
M = \frac{\hat w\hat v^\top + \hat v\hat w^\top - \cos\theta\,(\hat w\hat w^\top + \hat v\hat v^\top)}{\sin\theta},$$
$$\partial_w^2K = \tfrac{2e}\pi\tfrac{\|v\|}{\|w\|}\,(\sin\theta\,(I - \hat w\hat w^\top) + N),\qquad
N = \frac{(\hat v - \cos\theta\,\hat w)(\hat v - \cos\theta\,\hat w)^\top}{\sin\theta}.$$

The second line follows from $\nabla_w\theta = -n/\|w\|$ with the unit vector $n \propto \hat v - \cos\theta\,\hat w$,
the others by differentiating it. $M = \sin\theta\,(bb^\top - cc^\top)$ with the orthonormal bisectors $b, c$, and
$N = \sin\theta\,nn^\top$, so that no entry of either exceeds $\sin\theta$: that bound is taken where a ball leaves open
whether two vectors are parallel. A neuron is at angle exactly zero from itself.

**Third derivatives.** At $a$, with parts $a_w$ along $\hat w$, $a_n$ along $n$ and $a_\perp$ beyond both,

$$\partial_w^3K[a, a, a] = -\tfrac{2e}\pi\tfrac{\|v\|}{\|w\|^2}\bigl(\cos\theta\,a_n(2a_n^2 + 3\|a_\perp\|^2)
+ 3\sin\theta\,a_w(2a_n^2 + \|a_\perp\|^2)\bigr).$$

By Cauchy–Schwarz in $\theta$, the square of the bracket is at most $a_n^2(m + 2t)^2 + 9a_w^2m^2$ with
$t = \|a_\perp\|^2$ and $m = 2a_n^2 + t$, which for unit vectors is $9m^2 - 4m^3 - 3tm^2 - 2t^3 \le 27/4$. With $b$ a
change of $v$, of parts $b_v$ along $\hat v$, $b_n$ along its normal in the plane towards $w$, and $b_\perp$,

$$\partial_w^2\partial_vK[a, a, b] = \tfrac{2e}\pi\tfrac1{\|w\|}\bigl((\sin\theta\,b_v - \cos\theta\,b_n)
(2a_n^2 + \|a_\perp\|^2) + 2a_n\,a_\perp\cdot b_\perp\bigr),$$

whose bracket is at most $\sqrt{4a_n^4 + 8a_n^2t + t^2} \le 2$. So these derivatives are at most
$c_{30}e\|v\|/\|w\|^2$ and $c_{21}e/\|w\|$ with $c_{30} = 3\sqrt3/\pi$ and $c_{21} = 4/\pi$. They exist wherever the
vectors are not parallel; on a segment that is everywhere, or but for finitely many points, or nowhere (then the Hessian
of the pair is constant), and the Hessian is continuous where no vector is zero, so that they bound its Lipschitz
constant; the norm of a symmetric trilinear form is attained at three equal vectors (Banach).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from tutelage.geometry.ball_arithmetic import (
    NotProved,
    bounded,
    diagonal,
    dot,
    flint_module,
    polar,
    scaled_rows,
    sine_and_angle,
)

if TYPE_CHECKING:
    from flint import arb, arb_mat

    from tutelage.geometry.ball_losses import LossInBalls


class Angle(NamedTuple):
    """An angle between two vectors, with its cosine and its sine, which is not below zero."""

    cosine: arb
    sine: arb
    angle: arb


@dataclass(frozen=True)
class CentredPairs:
    """Duals of neurons without biases, under inputs of mean zero, with their derivatives in the first neuron of a pair.

    Attributes:
        loss: The activation, and the variance of the inputs.
        rows: All vectors, none of them zero.
        number: How many of them, the first ones, are first in a pair.
    """

    loss: LossInBalls
    rows: arb_mat
    number: int

    @property
    def odd(self) -> arb:
        """The factor of the cosine, $sp^2$."""
        return flint_module().arb(self.loss.scale) * self.loss.slopes[0] ** 2

    @property
    def even(self) -> arb:
        """The factor of the rest, $sq^2$."""
        return flint_module().arb(self.loss.scale) * self.loss.slopes[1] ** 2

    @property
    def _factor(self) -> arb:
        return self.even * (2 / flint_module().arb.pi())

    @cached_property
    def _polar(self) -> tuple[list[arb], arb_mat]:
        return polar(self.rows)

    @property
    def norms(self) -> list[arb]:
        """Norms of the vectors."""
        return self._polar[0]

    @cached_property
    def units(self) -> list[list[arb]]:
        """The vectors over their norms."""
        return self._polar[1].tolist()

    @cached_property
    def angles(self) -> list[list[Angle]]:
        """Angles of the first vectors with all; exactly zero of one with itself."""
        flint = flint_module()
        cosines = (flint.arb_mat(self.units[: self.number]) * self._polar[1].transpose()).tolist()
        for i, row in enumerate(cosines):
            row[i] = flint.arb(1)
        return [[Angle(c, *sine_and_angle(c)) for c in row] for row in cosines]

    def dual(self, i: int, j: int) -> arb:
        """Return the dual of a pair."""
        c, s, angle = self.angles[i][j]
        turned = s + (flint_module().arb.pi() / 2 - angle) * c
        return self.norms[i] * self.norms[j] * (self.odd * c + self._factor * turned)

    @cached_property
    def _slopes(self) -> arb_mat:
        """The numbers R of the module's text."""
        both, factor = self.odd + self.even, self._factor
        return flint_module().arb_mat([[both - factor * angle for _, _, angle in row] for row in self.angles])

    def pulls(self, coefficients: list[arb]) -> arb_mat:
        """Return the gradients of the duals of each first neuron with all, added up with coefficients."""
        sizes = [norm * coefficient for norm, coefficient in zip(self.norms, coefficients, strict=True)]
        radial = [self._factor * dot([s for _, s, _ in row], sizes) for row in self.angles]
        along = scaled_rows(flint_module().arb_mat(self.units[: self.number]), radial)
        return self._slopes * scaled_rows(self.rows, coefficients) + along

    def mixed(self, i: int, j: int) -> arb_mat:
        """Return the mixed second derivative of a dual."""
        flint = flint_module()
        dimension = self.rows.ncols()
        c, s, _ = self.angles[i][j]
        if s > 0:
            both = flint.arb_mat([self.units[i], self.units[j]])
            bend = both.transpose() * (flint.arb_mat([[-c / s, 1 / s], [1 / s, -c / s]]) * both)
        else:
            bend = bounded(dimension, s)
        return diagonal(dimension, self._slopes[i, j]) + bend * self._factor

    def curved(self, i: int, coefficients: list[arb]) -> arb_mat:
        """Return the second derivatives of the duals of a neuron with all others, added up with coefficients."""
        flint = flint_module()
        dimension, unit = self.rows.ncols(), self.units[i]
        total, spread = flint.arb(0), flint.arb(0)
        normals, weighted = [[flint.arb(0)] * dimension], [[flint.arb(0)] * dimension]
        for j, (c, s, _) in enumerate(self.angles[i]):
            if j == i:
                continue
            size = self.norms[j] * coefficients[j]
            total += size * s
            if not s > 0:
                spread += abs(size) * s
                continue
            normal = [v - c * w for v, w in zip(self.units[j], unit, strict=True)]
            normals.append(normal)
            weighted.append([size / s * entry for entry in normal])
        tangential = diagonal(dimension, flint.arb(1)) - flint.arb_mat([[w] for w in unit]) * flint.arb_mat([unit])
        outer = flint.arb_mat(normals).transpose() * flint.arb_mat(weighted)
        return (tangential * total + outer + bounded(dimension, spread)) * (self._factor / self.norms[i])

    def lipschitz(self, coefficients: list[arb], radius: float) -> arb:
        r"""Return a bound of the Lipschitz constant of the Hessian in a ball around the first neurons.

        With the constants of the module's text, $\rho_i = \|w_i\| - r$ and unit vectors $(a_i)_i$, the third
        derivative is at most $\sum_i\|a_i\|^3c_{30}e(\sum_{j\ne i}\|w_j\| + \sum_j\|v_j\|)/\rho_i^2 + 3\sum_{i\ne j}
        \|a_i\|^2\|a_j\|c_{21}e/\rho_i$, and $\sum_j\|a_j\| \le \sqrt n$. The coefficients of the first
        neurons differ by signs alone.

        Raises:
            NotProved: If a neuron may be zero in the ball.
        """
        number, unit = self.number, abs(coefficients[0])
        others = zip(self.norms[number:], coefficients[number:], strict=True)
        teachers = sum((norm * abs(coefficient) / unit for norm, coefficient in others), flint_module().arb(0))
        return lipschitz_bound(self.norms[:number], [1] * number, teachers, self.even, radius) * unit**2


def lipschitz_bound(norms: list[arb], counts: list[int], teachers: arb, even: arb, radius: float) -> arb:
    """Return the bound of `CentredPairs.lipschitz`, which depends on norms alone.

    Args:
        norms: Different norms of students.
        counts: How many students have each.
        teachers: Sum of the norms of the teachers.
        even: The factor $sq^2$.
        radius: Radius of the ball around the student.

    Raises:
        NotProved: If a neuron may be zero in the ball.
    """
    arb = flint_module().arb
    reach, students, pure = arb(radius), sum(counts), arb(27).sqrt() / arb.pi()
    others = sum((count * (norm + reach) for norm, count in zip(norms, counts, strict=True)), teachers)
    cubic = mixed = arb(0)
    for norm in norms:
        least = norm - reach
        if not least > 0:
            raise NotProved(f"a neuron may be zero within {radius:.3g} of the point")
        cubic = cubic.max(pure * even * (others - norm - reach) / least**2)
        if students > 1:
            mixed = mixed.max(3 * arb(students).sqrt() * mixed_constant() * even / least)
    return cubic + mixed


def mixed_constant() -> arb:
    r"""Return $c_{21}$ of the module's text."""
    return 4 / flint_module().arb.pi()
