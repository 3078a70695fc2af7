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
points and their indices are the same there, and the only zero modes that are lost are the rescalings.

**Weight decay.** Decay of vectors and output weights, $\tfrac12\lambda\|w\|^2 + \tfrac12\lambda'a^2$, is smallest
among the rescalings of a neuron at one of them, where it is $\sqrt{\lambda\lambda'}\,\|aw\|$ and curved upwards. So
critical points are those of the loss in $u = |a|w$ with this term added, at that rescaling, with the same indices.

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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tutelage.errors import MissingDependency

if TYPE_CHECKING:
    from flint import arb, arb_mat


def flint_module() -> Any:
    """Return the module of ball arithmetic, or raise if it is not installed."""
    try:
        import flint
    except ImportError as error:
        raise MissingDependency(
            "`certify` needs the python-flint package for its ball arithmetic, but it is not installed. "
            "Run `pip install 'tutelage[certify]'`."
        ) from error
    return flint


class NotProved(Exception):
    """A step of a proof that did not succeed; the message says which."""


class Singular(NotProved):
    """The Hessian is not shown to be regular."""


class Pairs(NamedTuple):
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


@dataclass(frozen=True)
class BallLoss:
    r"""The population loss of a committee in balls; the floats are meant exactly.

    Attributes:
        teacher: The teacher's vectors.
        left: Slope of the activation below zero.
        right: Slope of the activation above zero.
        scale: Variance of the inputs, the same in all directions.
        noise: Standard deviation of the label noise.
        signs: The signs of the student neurons; `None` for all positive.
        outputs: The output weights of the teacher; `None` for all one.
        decay: Rates of weight decay: none, that of the vectors, or those of vectors and output weights. The second,
            up to rescaling, is a rate of the norms: $\tfrac12(\lambda\|w\|^2 + \lambda'a^2) \ge
            \sqrt{\lambda\lambda'}\,\|aw\|$, with equality for one rescaling.
    """

    teacher: np.ndarray
    left: float
    right: float
    scale: float
    noise: float
    signs: np.ndarray | None = None
    outputs: np.ndarray | None = None
    decay: tuple[float, ...] = ()

    @property
    def of_squares(self) -> arb:
        """The rate of half the squared norms."""
        return flint_module().arb(self.decay[0] if len(self.decay) == 1 else 0)

    @property
    def of_norms(self) -> arb:
        """The rate of the norms."""
        arb = flint_module().arb
        if len(self.decay) < 2 or self.decay[0] == self.decay[1]:
            return arb(self.decay[0] if len(self.decay) == 2 else 0)
        return (arb(self.decay[0]) * arb(self.decay[1])).sqrt()

    @property
    def odd(self) -> arb:
        """The factor of the cosine, $sp^2$."""
        arb = flint_module().arb
        return arb(self.scale) * ((arb(self.right) + arb(self.left)) / 2) ** 2

    @property
    def even(self) -> arb:
        """The factor of the rest, $sq^2$."""
        arb = flint_module().arb
        return arb(self.scale) * ((arb(self.right) - arb(self.left)) / 2) ** 2

    @property
    def teachers(self) -> arb_mat:
        """The teacher's vectors times the sizes of its output weights, exactly."""
        teachers = exact(self.teacher)
        if self.outputs is None:
            return teachers
        return _scaled_rows(teachers, [abs(flint_module().arb(float(output))) for output in self.outputs])

    def _signed(self, pairs: Pairs, signs: np.ndarray | None) -> Pairs:
        """Return pairs whose second norms have the signs of their neurons."""
        if signs is None:
            return pairs
        norms = [norm * int(np.sign(sign)) for norm, sign in zip(pairs.other_norms, signs, strict=True)]
        return pairs._replace(other_norms=norms)

    def _own(self, students: arb_mat) -> Pairs:
        return self._signed(pairs_of(students, None), self.signs)

    def _taught(self, students: arb_mat) -> Pairs:
        return self._signed(pairs_of(students, self.teachers), self.outputs)

    def _sign(self, neuron: int) -> int:
        return 1 if self.signs is None else int(np.sign(self.signs[neuron]))

    def lowest(self) -> arb:
        """Return half the variance of the noise, below which no loss is."""
        return flint_module().arb(self.noise) ** 2 / 2

    def excess(self, students: arb_mat) -> arb:
        """Return the loss above half the variance of the noise, weight decay included."""
        arb = flint_module().arb
        total = arb(0)
        if self.decay:
            norms, _ = _polar(students)
            total += sum((self.of_norms * norm + self.of_squares / 2 * norm**2 for norm in norms), arb(0))
        teaching = self._signed(pairs_of(self.teachers, None), self.outputs)
        for pairs, signs, factor in (
            (self._own(students), self.signs, arb(0.5)),
            (self._taught(students), self.signs, arb(-1)),
            (teaching, self.outputs, arb(0.5)),
        ):
            total += factor * self._sum(pairs, signs)
        return total

    def _sum(self, pairs: Pairs, signs: np.ndarray | None) -> arb:
        """Return the sum of the duals of all pairs, times the signs of the first of each."""
        flint = flint_module()
        odd, even, pi = self.odd, self.even, flint.arb.pi()
        total = flint.arb(0)
        numbers = [1] * len(pairs.norms) if signs is None else np.sign(signs).astype(int).tolist()
        norms = [norm * sign for norm, sign in zip(pairs.norms, numbers, strict=True)]
        for norm, cosines, sines, angles in zip(norms, pairs.cosine, pairs.sine, pairs.angle, strict=True):
            for other, c, s, angle in zip(pairs.other_norms, cosines, sines, angles, strict=True):
                total += norm * other * (odd * c + even * (2 / pi) * (s + (pi / 2 - angle) * c))
        return total

    def _slopes(self, pairs: Pairs) -> arb_mat:
        flint = flint_module()
        odd, even, factor = self.odd, self.even, 2 / flint.arb.pi()
        return flint.arb_mat([[odd + even * (1 - factor * angle) for angle in angles] for angles in pairs.angle])

    def gradient(self, students: arb_mat) -> arb_mat:
        """Return the gradient, one row per neuron."""
        flint = flint_module()
        own, taught = self._own(students), self._taught(students)
        mine, theirs = (_scaled_rows(pairs.other_units, pairs.other_norms) for pairs in (own, taught))
        if self.signs is None and self.outputs is None:
            mine, theirs = students, self.teachers  # without rounding
        combined = self._slopes(own) * mine - self._slopes(taught) * theirs
        radial = [
            self.even * (2 / flint.arb.pi()) * (_dot(sines, own.other_norms) - _dot(other_sines, taught.other_norms))
            for sines, other_sines in zip(own.sine, taught.sine, strict=True)
        ]
        gradient = combined + _scaled_rows(own.units, radial)
        if self.signs is not None:
            gradient = _scaled_rows(gradient, [flint.arb(self._sign(i)) for i in range(len(radial))])
        return gradient + students * self.of_squares + own.units * self.of_norms if self.decay else gradient

    def hessian(self, students: arb_mat) -> arb_mat:
        """Return the Hessian; parameters in the order of the rows."""
        flint = flint_module()
        number, dimension = students.nrows(), students.ncols()
        own, taught = self._own(students), self._taught(students)
        slopes, factor = self._slopes(own), self.even * (2 / flint.arb.pi())
        identity = _diagonal(dimension, flint.arb(1))
        rows: list[list[list[arb]]] = [[[] for _ in range(dimension)] for _ in range(number)]
        found: dict[tuple[int, int], list[list[arb]]] = {}
        for i in range(number):
            for j in range(number):
                if i == j:
                    total = (_curvature(own, i, skip=i) - _curvature(taught, i)) * self._sign(i)
                    whole = identity * (self.odd + self.even) + total * (factor / own.norms[i])
                    if self.decay:
                        unit = flint.arb_mat([own.units.tolist()[i]])
                        tangent = identity - unit.transpose() * unit
                        whole = whole + identity * self.of_squares + tangent * (self.of_norms / own.norms[i])
                    block = whole.tolist()
                elif i < j:
                    both = self._sign(i) * self._sign(j)
                    block = ((identity * slopes[i, j] + _mixed(own, i, j) * factor) * both).tolist()
                    found[i, j] = block
                else:
                    block = found[j, i]  # the blocks of a pair are equal: each is symmetric
                for row, part in zip(rows[i], block, strict=True):
                    row.extend(part)
        return flint.arb_mat([row for band in rows for row in band])

    def lipschitz(self, students: arb_mat, radius: float) -> arb:
        r"""Return a bound of the Lipschitz constant of the Hessian in a ball around a student.

        With the constants of the module's text, $\rho_i = \|w_i\| - r$ and unit vectors $(a_i)_i$, the third
        derivative is at most $\sum_i\|a_i\|^3c_{30}e(\sum_{j\ne i}\|w_j\| + \sum_j\|v_j\|)/\rho_i^2 + 3\sum_{i\ne j}
        \|a_i\|^2\|a_j\|c_{21}e/\rho_i$, and $\sum_j\|a_j\| \le \sqrt n$. A rate of the norms adds its
        multiple of $2/(\sqrt3\rho_i^2)$, the largest $3t(1 - t^2)/\rho_i^2$.

        Raises:
            NotProved: If a neuron may be zero in the ball.
        """
        norms, _ = _polar(students)
        teachers = sum(_polar(self.teachers)[0], flint_module().arb(0))
        bound = lipschitz_bound(norms, [1] * len(norms), teachers, self.even, radius)
        if len(self.decay) < 2:
            return bound
        arb = flint_module().arb
        steepest = arb(0)
        for norm in norms:
            steepest = steepest.max(1 / (norm - arb(radius)) ** 2)
        return bound + self.of_norms * 2 / arb(3).sqrt() * steepest


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


def exact(values: np.ndarray) -> arb_mat:
    """Return a matrix of floats as balls of radius zero."""
    return flint_module().arb_mat(np.asarray(values, float).tolist())


def frobenius(matrix: arb_mat) -> arb:
    """Return the Frobenius norm, which bounds the spectral norm."""
    return sum((entry * entry for entry in matrix.entries()), flint_module().arb(0)).nonnegative_part().sqrt()


def _dot(first: list[arb], second: list[arb]) -> arb:
    return sum((a * b for a, b in zip(first, second, strict=True)), flint_module().arb(0))


def _diagonal(size: int, value: arb) -> arb_mat:
    return flint_module().arb_mat([[value if i == j else 0 for j in range(size)] for i in range(size)])


def _scaled_rows(matrix: arb_mat, factors: list[arb]) -> arb_mat:
    rows = zip(matrix.tolist(), factors, strict=True)
    return flint_module().arb_mat([[entry * factor for entry in row] for row, factor in rows])


def _polar(vectors: arb_mat) -> tuple[list[arb], arb_mat]:
    """Return norms and unit vectors, or raise if a vector may be zero."""
    norms = [_dot(row, row).sqrt() for row in vectors.tolist()]
    if not all(norm > 0 for norm in norms):
        raise NotProved("a neuron may be zero, where the loss has no gradient")
    return norms, _scaled_rows(vectors, [1 / norm for norm in norms])


def pairs_of(first: arb_mat, second: arb_mat | None) -> Pairs:
    """Return the angles of all pairs of rows; of the first with themselves if the second are left out."""
    flint = flint_module()
    norms, units = _polar(first)
    other_norms, other_units = (norms, units) if second is None else _polar(second)
    cosine = (units * other_units.transpose()).tolist()
    sine, angle = [], []
    for i, row in enumerate(cosine):
        if second is None:
            row[i] = flint.arb(1)
        together = [sine_and_angle(c) for c in row]
        sine.append([s for s, _ in together])
        angle.append([theta for _, theta in together])
    return Pairs(norms, units, other_norms, other_units, cosine, sine, angle)


def sine_and_angle(cosine: arb) -> tuple[arb, arb]:
    """Return the sine, not below zero, and the angle, between zero and π, of a cosine."""
    flint = flint_module()
    if cosine == 1:
        return flint.arb(0), flint.arb(0)
    square = 1 - cosine * cosine
    if square > 0:
        sine = square.sqrt()
        return sine, flint.arb.atan2(sine, cosine)
    # The sine is between zero and the largest one that the ball allows; the angle to the axis is at most π/2 times it.
    largest = square.upper().max(flint.arb(0)).sqrt().upper()
    middle = largest / 2
    sine = flint.arb(middle, middle.upper())
    pi = flint.arb.pi()
    if cosine > 0:
        return sine, sine * (pi / 2)
    if cosine < 0:
        return sine, pi - sine * (pi / 2)
    return sine, flint.arb(2, 2)  # nothing is known of the angle: [0, π] lies inside [0, 4]


def _mixed(pairs: Pairs, i: int, j: int) -> arb_mat:
    """Return the matrix M of the module's text, for a pair of students."""
    flint = flint_module()
    s, c = pairs.sine[i][j], pairs.cosine[i][j]
    if not s > 0:
        return _bounded(pairs.units.ncols(), s)
    units = pairs.units.tolist()
    both = flint.arb_mat([units[i], units[j]])
    return both.transpose() * (flint.arb_mat([[-c / s, 1 / s], [1 / s, -c / s]]) * both)


def _curvature(pairs: Pairs, i: int, skip: int | None = None) -> arb_mat:
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
    tangential = _diagonal(dimension, flint.arb(1)) - flint.arb_mat([[w] for w in unit]) * flint.arb_mat([unit])
    outer = flint.arb_mat(normals).transpose() * flint.arb_mat(weighted)
    return tangential * total + outer + _bounded(dimension, spread)


def _bounded(dimension: int, bound: arb) -> arb_mat:
    """Return a matrix of balls around zero, as large as a bound."""
    flint = flint_module()
    ball = flint.arb(0, bound.upper())
    return flint.arb_mat([[ball] * dimension] * dimension)
