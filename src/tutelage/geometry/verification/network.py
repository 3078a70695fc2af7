r"""Loss, gradient and second derivatives of a sum of neurons at a point of exact numbers, in intervals.

Vectors are whole numbers in units of $1/D$, so that all inner products are exact; only roots, angles and quotients are
intervals. With signs $s_i$ of the students and $t_j$ of the teachers,

$$L = \tfrac12\sum_{i,j}s_is_jK(w_i, w_j) - \sum_{i,j}s_it_jK(w_i, v_j) + \tfrac12\sum_{i,j}t_it_jK(v_i, v_j).$$
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tutelage.geometry.verification.inertia import Matrix
from tutelage.geometry.verification.intervals import Interval, pi
from tutelage.geometry.verification.pairs import Dual, Quadratic, Slopes


class Pair(NamedTuple):
    """Two neurons, the first a student: their numbers, whether the second is a student too, signs, and the dual."""

    i: int
    j: int
    student: bool
    sign: int
    dual: Dual


class Network:
    """A sum of neurons that learns another one.

    Args:
        students: The students' vectors.
        teachers: The teachers' vectors.
        signs: The signs of the students.
        outputs: The signs of the teachers.
        slopes: The activation, the inputs and the precision.
    """

    def __init__(
        self,
        students: list[list[Fraction]],
        teachers: list[list[Fraction]],
        signs: list[int],
        outputs: list[int],
        slopes: Slopes,
    ):
        self.unit = math.lcm(*(entry.denominator for row in (*students, *teachers) for entry in row))
        self.students, self.teachers = (self._whole(rows) for rows in (students, teachers))
        self.signs, self.outputs, self.slopes = signs, outputs, slopes
        self._known: dict[tuple[int, int, int], Dual] = {}

    def _whole(self, rows: list[list[Fraction]]) -> np.ndarray:
        return np.array([[int(entry * self.unit) for entry in row] for row in rows], object)

    def _dual(self, first: int, second: int, product: int) -> Dual:
        """Return a dual, computed once for all pairs with the same inner products."""
        key = first, second, product
        if key not in self._known:
            square = self.unit**2
            self._known[key] = self.slopes.dual(*(Fraction(number, square) for number in key))
        return self._known[key]

    @cached_property
    def _squares(self) -> tuple[list[int], list[int]]:
        return tuple((rows * rows).sum(axis=1).tolist() for rows in (self.students, self.teachers))  # type: ignore

    @cached_property
    def pairs(self) -> list[Pair]:
        """All pairs of different students, each once, and of a student and a teacher."""
        own, theirs = self._squares
        together, taught = (self._products(self.students, rows) for rows in (self.students, self.teachers))
        found = []
        for i, sign in enumerate(self.signs):
            for j in range(i + 1, len(own)):
                found.append(Pair(i, j, True, sign * self.signs[j], self._dual(own[i], own[j], together[i][j])))
            for j, output in enumerate(self.outputs):
                found.append(Pair(i, j, False, -sign * output, self._dual(own[i], theirs[j], taught[i][j])))
        return found

    @staticmethod
    def _products(first: np.ndarray, second: np.ndarray) -> list[list[int]]:
        """Return all inner products; where few numbers occur, each product of two is computed once and counted."""
        mine, theirs = (sorted(set(rows.flat)) for rows in (first, second))
        if len(mine) * len(theirs) > 200:
            return (first @ second.T).tolist()
        total: np.ndarray = np.zeros((len(first), len(second)), object)
        for one in mine:
            for two in theirs:
                # Counts are small whole numbers, which float64 adds up exactly.
                counts = (first == one).astype(float) @ (second == two).astype(float).T
                total = total + one * two * counts.astype(int).astype(object)
        return total.tolist()

    def norms(self) -> list[Interval]:
        """Return the norms of the students."""
        return [self._length(square) for square in self._squares[0]]

    def _length(self, square: int) -> Interval:
        return Interval.of(Fraction(square, self.unit**2), self.slopes.bits).root()

    def loss(self) -> Interval:
        """Return the loss, without the noise."""
        total = self.slopes.beta * Fraction(sum(map(sum, self._squares)), self.unit**2) / 2
        counts: dict[int, tuple[int, Dual]] = {}
        for pair in self.pairs:
            number, _ = counts.get(id(pair.dual), (0, pair.dual))
            counts[id(pair.dual)] = number + pair.sign, pair.dual
        for number, dual in counts.values():
            total = total + dual.value * number
        theirs = self._squares[1]
        among = self._products(self.teachers, self.teachers)
        for i, output in enumerate(self.outputs):
            for j in range(i):
                total = total + self._dual(theirs[i], theirs[j], among[i][j]).value * (output * self.outputs[j])
        return total

    def gradient_norm(self) -> Interval:
        """Return the norm of the gradient."""
        bits, squares = self.slopes.bits, self._squares[0]
        radial = [self.slopes.beta] * len(squares)
        pulls: dict[tuple[int, int], tuple[Interval, np.ndarray]] = {}
        for pair in self.pairs:
            w, v = self.students[pair.i], (self.students if pair.student else self.teachers)[pair.j]
            sides = [(pair.i, v, pair.dual.radial)]
            if pair.student:
                sides.append((pair.j, w, pair.dual.radial * Fraction(squares[pair.i], squares[pair.j])))
            for place, other, factor in sides:
                radial[place] = radial[place] + factor * pair.sign
                slope, total = pulls.get((place, id(pair.dual)), (pair.dual.slope, 0))
                pulls[place, id(pair.dual)] = slope, total + pair.sign * other
        terms = [(place, slope, total) for (place, _), (slope, total) in pulls.items()]
        terms += [(place, factor, self.students[place]) for place, factor in enumerate(radial)]
        middle, spread = (np.zeros(self.students.shape, object) for _ in range(2))
        for place, factor, vector in terms:
            mid, wide = _scaled(factor, vector)
            middle[place] += mid
            spread[place] += wide
        # Squares are exact: as numbers in units of 2^-bits they would be too small.
        sizes = [(max(abs(mid) - wide, 0), abs(mid) + wide) for mid, wide in zip(middle.flat, spread.flat, strict=True)]
        low, high = (math.isqrt(sum(size[end] ** 2 for size in sizes)) for end in (0, 1))
        return Interval(low // self.unit, -(-(high + 1) // self.unit), bits)

    def hessian(self) -> Matrix:
        """Return the whole Hessian."""
        number, dimension = self.students.shape
        middle, spread = (np.zeros((number * dimension,) * 2, object) for _ in range(2))
        for i in range(number):
            self._put(middle, spread, i, i, 1, (self.slopes.beta,), (self._identity,))
        for pair in self.pairs:
            for row, column, *terms in self._curvatures(pair):
                self._put(middle, spread, row, column, pair.sign, *terms)
        return self._matrix(middle, spread)

    def reduced_block(self, neuron: int) -> Matrix:
        """Return the second derivative in one student less that of its own dual: what splitting it depends on."""
        middle, spread = (np.zeros(self._identity.shape, object) for _ in range(2))
        for pair in self.pairs:
            if pair.i == neuron or (pair.student and pair.j == neuron):
                for row, column, *terms in self._curvatures(pair):
                    if row == column == neuron:
                        self._put(middle, spread, 0, 0, pair.sign, *terms)
        return self._matrix(middle, spread)

    @cached_property
    def _identity(self) -> np.ndarray:
        return np.eye(self.students.shape[1], dtype=int).astype(object) * self.unit**2

    def _curvatures(self, pair: Pair) -> list[tuple[int, int, Quadratic, tuple[np.ndarray, ...]]]:
        """Return what a pair adds to the Hessian: places of blocks, factors, and what these multiply."""
        w, v = self.students[pair.i], (self.students if pair.student else self.teachers)[pair.j]
        forms = (self._identity, np.outer(w, w), np.outer(w, v) + np.outer(v, w), np.outer(v, v))
        own = (pair.i, pair.i, pair.dual.own, forms)
        if not pair.student:
            return [own]
        other = (pair.j, pair.j, pair.dual.other, (forms[0], forms[3], forms[2], forms[1]))
        return [own, other, (pair.i, pair.j, pair.dual.mixed, forms), (pair.j, pair.i, pair.dual.mixed, forms)]

    def _put(self, middle, spread, row: int, column: int, sign: int, factors: Iterable, forms: Iterable) -> None:
        size = self.students.shape[1]
        place = np.s_[row * size : (row + 1) * size, column * size : (column + 1) * size]
        for factor, form in zip(factors, forms, strict=True):
            mid, wide = _scaled(factor, form)
            middle[place] += sign * mid
            spread[place] += wide

    def _matrix(self, middle: np.ndarray, spread: np.ndarray) -> Matrix:
        """Return a matrix of numbers that are multiples of the squared unit."""
        squared = self.unit**2
        return Matrix(middle // squared, spread // squared + 2, self.slopes.bits)

    def second_derivatives(self, directions: list[np.ndarray]) -> Matrix:
        """Return the Hessian's values at all pairs of some directions, matrices of whole numbers like the students."""
        changes = np.array(directions)  # [direction, student, dimension]
        number, squared = len(directions), self.unit**2
        along = [self._along(changes, rows) for rows in (self.students, self.teachers)]  # [direction, student, vector]
        grams = np.einsum("aid,bjd->ijab", changes, changes, optimize=True)
        middle, spread = _scaled(self.slopes.beta, grams.trace().astype(object) * squared)
        for count, pair in _counted(self.pairs, along, grams, self._squares[0]):
            a_w, a_v = along[0][:, pair.i, pair.i], along[0 if pair.student else 1][:, pair.i, pair.j]
            terms = list(
                zip(pair.dual.own, _forms(grams[pair.i, pair.i].astype(object) * squared, a_w, a_v), strict=True)
            )
            if pair.student:
                b_w, b_v = along[0][:, pair.j, pair.i], along[0][:, pair.j, pair.j]
                terms += zip(
                    pair.dual.other, _forms(grams[pair.j, pair.j].astype(object) * squared, b_v, b_w), strict=True
                )
                crossed = (
                    grams[pair.i, pair.j].astype(object) * squared,
                    np.outer(a_w, b_w),
                    np.outer(a_w, b_v) + np.outer(a_v, b_w),
                    np.outer(a_v, b_v),
                )
                terms += [(factor, part + part.T) for factor, part in zip(pair.dual.mixed, crossed, strict=True)]
            for factor, part in terms:
                mid, wide = _scaled(factor, part)
                middle = middle + count * pair.sign * mid
                spread = spread + count * wide
        assert middle.shape == (number, number)
        return self._matrix(middle, spread)

    @staticmethod
    def _along(changes: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the inner products of all rows of all directions with some vectors, exactly."""
        values = sorted(set(rows.flat))
        if len(values) > 60:
            return np.array([change.astype(object) @ rows.T for change in changes])
        total: np.ndarray = np.zeros((*changes.shape[:2], len(rows)), object)
        for value in values:
            counts = changes.astype(float) @ (rows == value).astype(float).T
            total = total + value * counts.astype(int).astype(object)
        return total

    def lipschitz(self, radius: Fraction) -> Interval | None:
        """Return a Lipschitz constant of the Hessian in a ball, or `None` if a neuron may be zero there.

        Third derivatives of a dual are at most 3√3/π, or 4/π, times the even factor over norms.
        """
        bits, even = self.slopes.bits, self.slopes.even
        norms, reach = self.norms(), Interval.of(radius, self.slopes.bits)
        if min(norm.least for norm in norms) <= radius:
            return None
        total = reach * len(norms)
        for norm in (*norms, *map(self._length, self._squares[1])):
            total = total + norm
        pure = Interval.of(27, bits).root() / pi(bits) * even
        least = min((norm - reach for norm in norms), key=lambda norm: norm.low)
        several = {(norm.low, norm.high): norm for norm in norms}.values()
        cubic = [pure * (total - norm - reach) / ((norm - reach) * (norm - reach)) for norm in several]
        result = max(cubic, key=lambda one: one.high)
        if len(norms) > 1:
            result = result + 12 * Interval.of(len(norms), bits).root() / pi(bits) * even / least
        return result

    def steepness(self) -> Fraction:
        """Return a coarse bound of the Hessian's norm, in terms of norms alone."""
        alpha, beta = self.slopes.alpha.largest, self.slopes.beta.largest
        norms = self.norms()
        total = sum((norm.largest for norm in norms), sum(self._length(q).largest for q in self._squares[1]))
        return len(norms) * (beta + 5 * alpha) + 2 * alpha * total / min(norm.least for norm in norms)


def _scaled(factor: Interval, exact: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return an interval times an array of whole numbers: middles, and largest differences from them."""
    middle = (factor.low + factor.high) // 2
    return middle * exact, (factor.high - middle) * abs(exact)


def _forms(plain: np.ndarray, along: np.ndarray, across: np.ndarray) -> Iterator[np.ndarray]:
    yield plain
    yield np.outer(along, along)
    yield np.outer(along, across) + np.outer(across, along)
    yield np.outer(across, across)


def _counted(
    pairs: list[Pair], along: list[np.ndarray], grams: np.ndarray, squares: list[int]
) -> Iterator[tuple[int, Pair]]:
    """Yield pairs with how many others have the very same inner products with all directions."""
    found: dict[tuple, list] = {}
    rows: dict[tuple, int] = {}
    marks = []
    for i in range(grams.shape[0]):
        key = squares[i], tuple(along[0][:, i, i].tolist()), grams[i, i].tobytes()
        marks.append(rows.setdefault(key, len(rows)))
    for pair in pairs:
        i, j = pair.i, pair.j
        key = (
            id(pair.dual),
            pair.sign,
            pair.student,
            marks[i],
            tuple(along[0 if pair.student else 1][:, i, j].tolist()),
        )
        if pair.student:
            key += (marks[j], tuple(along[0][:, j, i].tolist()), grams[i, j].tobytes())
        found.setdefault(key, [0, pair])[0] += 1
    return ((count, pair) for count, pair in found.values())
