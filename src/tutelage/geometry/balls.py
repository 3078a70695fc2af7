r"""Loss, gradient and Hessian of neurons with two slopes in ball arithmetic: enclosures instead of numbers.

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
whether two vectors are parallel. A neuron is at angle exactly zero from itself, and
$\tfrac12K(w, w) = \tfrac12(o + e)\|w\|^2$.

**Signs.** In $\sum_i s_i\sigma(w_i\cdot x)$ with signs $s_i$ every dual is multiplied by those of its pair. That is a
network with two layers up to rescalings: where no output weight is zero, $(w_i, a_i) \mapsto |a_i|w_i$ takes it to such
a sum with $s_i = \operatorname{sgn}a_i$, the loss depends on the image alone, and the map has full rank. So critical
points and their indices are the same there, and the only zero modes that are lost are the rescalings. Weight decay is
added (`tutelage.geometry.decay`).

**Factors.** With factors $f$ and $g$ of the outputs of student and teacher the loss is $f^2$ times that of the students
alone and the teachers times $g/f$.

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

from collections.abc import Callable
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
    scaled_rows,
    sine_and_angle,
)
from tutelage.geometry.ball_losses import LossInBalls

if TYPE_CHECKING:
    from flint import arb, arb_mat


class BallPairs(NamedTuple):
    """Norms and units of vectors, and the angles of all pairs, in balls.

    Attributes:
        norms: Norms of the first vectors, above zero.
        units: The first vectors over their norms.
        other_norms: Norms of the second vectors.
        other_units: The second vectors over their norms.
        cosine: Cosines of the angles.
        sine: Sines of the angles, not below zero.
        angle: The angles.
    """

    norms: list[arb]
    units: arb_mat
    other_norms: list[arb]
    other_units: arb_mat
    cosine: list[list[arb]]
    sine: list[list[arb]]
    angle: list[list[arb]]


class BallLoss(LossInBalls):
    """The population loss of neurons without biases, under inputs of mean zero."""

    @property
    def odd(self) -> arb:
        """The factor of the cosine, $sp^2$."""
        return flint_module().arb(self.scale) * self.slopes[0] ** 2

    @property
    def even(self) -> arb:
        """The factor of the rest, $sq^2$."""
        return flint_module().arb(self.scale) * self.slopes[1] ** 2

    @property
    def teachers(self) -> arb_mat:
        """The teacher's vectors times the sizes of its output weights, over the factor of the student's output."""
        teachers, arb = exact(self.teacher), flint_module().arb
        if self.outputs is None and self.factors[0] == self.factors[1]:
            return teachers
        outputs = np.ones(len(self.teacher)) if self.outputs is None else self.outputs
        ratio = abs(arb(self.factors[1]) / arb(self.factors[0]))
        return scaled_rows(teachers, [abs(arb(float(output))) * ratio for output in outputs])

    def _signed(self, pairs: BallPairs, signs: np.ndarray | None) -> BallPairs:
        """Return pairs whose second norms have the signs of their neurons."""
        if signs is None:
            return pairs
        norms = [norm * int(np.sign(sign)) for norm, sign in zip(pairs.other_norms, signs, strict=True)]
        return pairs._replace(other_norms=norms)

    def _own(self, students: arb_mat) -> BallPairs:
        return self._signed(pairs_of(students, None), self.signs)

    def _taught(self, students: arb_mat) -> BallPairs:
        return self._signed(pairs_of(students, self.teachers), self.outputs)

    def _sign(self, neuron: int) -> int:
        return 1 if self.signs is None else int(np.sign(self.signs[neuron]))

    @property
    def _unit(self) -> arb:
        """The square of the factor of the student's output: the loss is that of the bare students times it."""
        return flint_module().arb(self.factors[0]) ** 2

    def _excess(self, students: arb_mat) -> arb:
        flint = flint_module()
        odd, even, pi = self.odd, self.even, flint.arb.pi()
        total = flint.arb(0)
        # Half the sum of the duals of all pairs, of students and of teachers with the opposite sign.
        theirs = np.ones(len(self.teacher)) if self.outputs is None else self.outputs
        signs = np.append([self._sign(i) for i in range(students.nrows())], -theirs)
        pairs = self._signed(pairs_of(flint.arb_mat(students.tolist() + self.teachers.tolist()), None), signs)
        norms = pairs.other_norms
        for norm, cosines, sines, angles in zip(norms, pairs.cosine, pairs.sine, pairs.angle, strict=True):
            for other, c, s, angle in zip(norms, cosines, sines, angles, strict=True):
                total += norm * other * (odd * c + even * (2 / pi) * (s + (pi / 2 - angle) * c))
        return total / 2 * self._unit

    def _slopes(self, pairs: BallPairs) -> arb_mat:
        flint = flint_module()
        odd, even, factor = self.odd, self.even, 2 / flint.arb.pi()
        return flint.arb_mat([[odd + even * (1 - factor * angle) for angle in angles] for angles in pairs.angle])

    def _gradient(self, students: arb_mat) -> arb_mat:
        flint = flint_module()
        own, taught = self._own(students), self._taught(students)
        mine, theirs = (scaled_rows(pairs.other_units, pairs.other_norms) for pairs in (own, taught))
        if self.signs is None and self.outputs is None:
            mine, theirs = students, self.teachers  # without rounding
        combined = self._slopes(own) * mine - self._slopes(taught) * theirs
        radial = [
            self.even * (2 / flint.arb.pi()) * (dot(sines, own.other_norms) - dot(other_sines, taught.other_norms))
            for sines, other_sines in zip(own.sine, taught.sine, strict=True)
        ]
        gradient = combined + scaled_rows(own.units, radial)
        if self.signs is not None:
            gradient = scaled_rows(gradient, [flint.arb(self._sign(i)) for i in range(len(radial))])
        return gradient * self._unit

    def _blocks(self, students: arb_mat) -> Callable[[int, int], arb_mat]:
        flint = flint_module()
        own, taught = self._own(students), self._taught(students)
        slopes, factor = self._slopes(own), self.even * (2 / flint.arb.pi())
        identity = diagonal(students.ncols(), flint.arb(1))

        def block(i: int, j: int) -> arb_mat:
            if i != j:
                both = self._unit * (self._sign(i) * self._sign(j))
                return (identity * slopes[i, j] + _mixed(own, i, j) * factor) * both
            total = (_curvature(own, i, skip=i) - _curvature(taught, i)) * self._sign(i)
            return (identity * (self.odd + self.even) + total * (factor / own.norms[i])) * self._unit

        return block

    def reduced_block(self, students: arb_mat, neuron: int) -> arb_mat:
        own, taught = self._own(students), self._taught(students)
        total = (_curvature(own, neuron, skip=neuron) - _curvature(taught, neuron)) * self._sign(neuron)
        return total * (self._unit * self.even * (2 / flint_module().arb.pi()) / own.norms[neuron])

    def _lipschitz(self, students: arb_mat, radius: float) -> arb:
        r"""Return a bound of the Lipschitz constant of the Hessian in a ball around a student.

        With the constants of the module's text, $\rho_i = \|w_i\| - r$ and unit vectors $(a_i)_i$, the third
        derivative is at most $\sum_i\|a_i\|^3c_{30}e(\sum_{j\ne i}\|w_j\| + \sum_j\|v_j\|)/\rho_i^2 + 3\sum_{i\ne j}
        \|a_i\|^2\|a_j\|c_{21}e/\rho_i$, and $\sum_j\|a_j\| \le \sqrt n$.

        Raises:
            NotProved: If a neuron may be zero in the ball.
        """
        norms, _ = polar(students)
        teachers = sum(polar(self.teachers)[0], flint_module().arb(0))
        return lipschitz_bound(norms, [1] * len(norms), teachers, self.even, radius) * self._unit


def lipschitz_bound(norms: list[arb], counts: list[int], teachers: arb, even: arb, radius: float) -> arb:
    """Return the bound of `BallLoss.lipschitz`, which depends on norms alone.

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
    reach, students = arb(radius), sum(counts)
    others = sum((count * (norm + reach) for norm, count in zip(norms, counts, strict=True)), teachers)
    cubic = mixed = arb(0)
    for norm in norms:
        least = norm - reach
        if not least > 0:
            raise NotProved(f"a neuron may be zero within {radius:.3g} of the point")
        cubic = cubic.max(pure_constant() * even * (others - norm - reach) / least**2)
        if students > 1:
            mixed = mixed.max(3 * arb(students).sqrt() * mixed_constant() * even / least)
    return cubic + mixed


def pure_constant() -> arb:
    r"""Return $c_{30}$ of the module's text."""
    arb = flint_module().arb
    return arb(27).sqrt() / arb.pi()


def mixed_constant() -> arb:
    r"""Return $c_{21}$ of the module's text."""
    return 4 / flint_module().arb.pi()


def pairs_of(first: arb_mat, second: arb_mat | None) -> BallPairs:
    """Return the angles of all pairs of rows; of the first with themselves if the second are left out."""
    flint = flint_module()
    norms, units = polar(first)
    other_norms, other_units = (norms, units) if second is None else polar(second)
    cosine = (units * other_units.transpose()).tolist()
    sine, angle = [], []
    for i, row in enumerate(cosine):
        if second is None:
            row[i] = flint.arb(1)
        together = [sine_and_angle(c) for c in row]
        sine.append([s for s, _ in together])
        angle.append([theta for _, theta in together])
    return BallPairs(norms, units, other_norms, other_units, cosine, sine, angle)


def _mixed(pairs: BallPairs, i: int, j: int) -> arb_mat:
    """Return the matrix M of the module's text, for a pair of students."""
    flint = flint_module()
    s, c = pairs.sine[i][j], pairs.cosine[i][j]
    if not s > 0:
        return bounded(pairs.units.ncols(), s)
    units = pairs.units.tolist()
    both = flint.arb_mat([units[i], units[j]])
    return both.transpose() * (flint.arb_mat([[-c / s, 1 / s], [1 / s, -c / s]]) * both)


def _curvature(pairs: BallPairs, i: int, skip: int | None = None) -> arb_mat:
    r"""Return $\sum_j\|v_j\|(\sin\theta_{ij}(I - \hat w_i\hat w_i^\top) + N_{ij})$, without the term `skip`."""
    flint = flint_module()
    dimension = pairs.units.ncols()
    unit, others = pairs.units.tolist()[i], pairs.other_units.tolist()
    total, spread = flint.arb(0), flint.arb(0)
    normals, weighted = [[flint.arb(0)] * dimension], [[flint.arb(0)] * dimension]
    for j, (norm, c, s) in enumerate(zip(pairs.other_norms, pairs.cosine[i], pairs.sine[i], strict=True)):
        if j == skip:
            continue
        total += norm * s
        if not s > 0:
            spread += abs(norm) * s
            continue
        normal = [v - c * w for v, w in zip(others[j], unit, strict=True)]
        normals.append(normal)
        weighted.append([norm / s * entry for entry in normal])
    tangential = diagonal(dimension, flint.arb(1)) - flint.arb_mat([[w] for w in unit]) * flint.arb_mat([unit])
    outer = flint.arb_mat(normals).transpose() * flint.arb_mat(weighted)
    return tangential * total + outer + bounded(dimension, spread)
