r"""When two students are the same up to the symmetries of their problem.

A student's neurons may be permuted. Under a rotation-invariant law a loss sees the vectors through their inner
products alone, so that a rotation of student and teacher together changes nothing: what matters is $A = WV^\top$ and
$B = WW^\top$, up to permutations of the students and those permutations of the teachers that leave $VV^\top$ as it is
(all of them, for an orthonormal teacher). Two students are equivalent if permutations take $(A, B)$ of one to those
of the other. Biases and output weights go along with their neurons; rescalings and signs that change no function are
undone before.

Neurons of an even activation may also be turned, $(w, b)$ into $(-w, -b)$, and so may those of the teacher. Sizes of
inner products are compared first; permutations count if signs of all neurons take the inner products themselves to
each other. Sizes alone do not tell all: of three vectors with inner products $\pm c$ the product of the three signs
never changes.

The permutations are found by colour refinement, as for graphs: entries that are equal up to the tolerance get the
same code, a neuron's colour is refined by the codes and colours of all others, and where a colour is shared by
several neurons, one choice is tried after the other. Codes are given to the entries of both students together, and by
gaps in their sorted list, so that rounding errors never separate equal entries; a code that joins different entries
only makes the search longer. What is found is then verified entry by entry.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import PyTree

from tutelage.models import Symmetry
from tutelage.objectives import Objective

# Trials after which two students count as different; highly symmetric ones need a handful.
_TRIALS = 500


class Pattern(NamedTuple):
    """A student without its coordinates.

    Attributes:
        cross: Inner products of students and teachers; plain coordinates where the law is not rotation invariant.
        own: Inner products of students with each other.
        numbers: What each student takes along, such as its bias; one row per student.
        signs: Signs of `cross` and of `own`, which then have none: those of neurons that may be turned. `None` where
            neurons may not.
    """

    cross: np.ndarray
    own: np.ndarray
    numbers: np.ndarray
    signs: tuple[np.ndarray, np.ndarray] | None = None


class Equivalence(NamedTuple):
    """Permutations that take one student to another: `cross[students][:, teachers]` is the other's."""

    students: np.ndarray
    teachers: np.ndarray
    distance: float


@dataclass(frozen=True)
class Reference:
    """What patterns are taken relative to: all that two students of one problem share.

    Attributes:
        teacher: The vectors of the teacher, or `None` where coordinates are fixed.
        even: Whether neurons may be turned, as those of the absolute value.
        rows: A label for every student vector; only vectors with equal labels may be exchanged.
        columns: A label for every teacher (or coordinate), likewise.
        numbers: How many numbers every student vector takes along; they stand behind its coordinates.
        biased: Whether the first of these is the bias of a neuron that may be turned.
        turns: Signs of the biases of teachers that may be turned; `None` where no teacher has one.
    """

    teacher: np.ndarray | None
    even: bool
    rows: np.ndarray
    columns: np.ndarray
    numbers: int = 0
    biased: bool = False
    turns: np.ndarray | None = None

    @cached_property
    def axes(self) -> np.ndarray:
        """The vectors of the teacher, turned so that none has a negative bias."""
        assert self.teacher is not None
        return self.teacher if self.turns is None else np.where(self.turns < 0, -1.0, 1.0)[:, None] * self.teacher

    @cached_property
    def products(self) -> np.ndarray:
        """Inner products of the teachers with each other; zero where coordinates are fixed."""
        if self.teacher is None:
            return np.zeros((len(self.columns), len(self.columns)))
        return self.axes @ self.axes.T

    @cached_property
    def between(self) -> np.ndarray:
        """Inner products of the teachers with each other, without their signs where neurons may be turned."""
        return np.abs(self.products) if self.even else self.products

    @cached_property
    def upright(self) -> np.ndarray:
        """Which teachers may not be turned: those with a bias, and coordinates."""
        if self.teacher is None:
            return np.ones(len(self.columns), bool)
        return np.zeros(len(self.columns), bool) if self.turns is None else self.turns != 0

    @property
    def orthonormal(self) -> bool:
        """Whether the teacher is orthonormal and its neurons are alike, so that they may be permuted at will."""
        alike = self.teacher is not None and len(set(self.columns.tolist())) == 1
        return alike and bool(np.allclose(self.between, np.eye(len(self.columns)), atol=1e-12, rtol=0))

    def pattern(self, vectors: np.ndarray) -> Pattern:
        """Return the pattern of a student's vectors, with the numbers that they take along behind them."""
        vectors, numbers = np.split(vectors, [vectors.shape[1] - self.numbers], axis=1)
        if self.biased:  # no bias is negative after this
            turns = np.where(numbers[:, :1] < 0, -1.0, 1.0)
            vectors, numbers = turns * vectors, np.hstack([turns * numbers[:, :1], numbers[:, 1:]])
        cross = vectors if self.teacher is None else vectors @ self.axes.T
        own = vectors @ vectors.T if self.teacher is not None else np.zeros((len(vectors), len(vectors)))
        if not self.even:
            return Pattern(cross, own, numbers)
        return Pattern(np.abs(cross), np.abs(own), numbers, (np.sign(cross), np.sign(own)))


def reference_of(objective: Objective) -> Reference:
    """Return what students of an objective are compared by."""
    problem = objective.problem
    symmetry = _symmetry(objective, objective.problem.zero())
    if symmetry is None:
        return Reference(None, False, np.zeros(1, int), np.arange(problem.parameters))
    numbers = 0 if symmetry.numbers is None else symmetry.numbers.shape[1]
    if not objective.span_suffices:
        columns = np.arange(problem.dimension)
        return Reference(None, symmetry.even, symmetry.labels, columns, numbers, symmetry.biased)
    teacher = np.asarray(problem.teacher.vectors(problem.target))
    teacher = teacher[:1] if symmetry.patchwise else teacher  # the same vector for all patches
    columns, turns = _of_teacher(problem.teacher.symmetry(problem.target), len(teacher), symmetry.even)
    return Reference(teacher, symmetry.even, symmetry.labels, columns, numbers, symmetry.biased, turns)


def _of_teacher(symmetry: Symmetry | None, teachers: int, even: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Return a label for every teacher, and the signs of the biases of those that may be turned.

    Teachers with equal biases and output weights may be exchanged, after turns if these are allowed.
    """
    if symmetry is None or symmetry.numbers is None:
        return np.zeros(teachers, int), None
    numbers, turns = symmetry.numbers, None
    if even and symmetry.biased:
        turns = np.sign(numbers[:, 0])
        numbers = np.column_stack([np.abs(numbers[:, 0]), numbers[:, 1:]])
    return np.unique(numbers, axis=0, return_inverse=True)[1].reshape(-1), turns


def vectors_of(objective: Objective, point: PyTree) -> np.ndarray:
    """Return the vectors of a student that its pattern is taken of, with what they take along; see `reference_of`."""
    student = objective.problem.student
    point = student.canonical(point)
    symmetry = _symmetry(objective, point)
    if symmetry is None:
        return np.asarray(jax.device_get(ravel_pytree(point)[0]))[None]
    vectors = np.asarray(student.vectors(point))
    return vectors if symmetry.numbers is None else np.hstack([vectors, symmetry.numbers])


def _symmetry(objective: Objective, point: PyTree) -> Symmetry | None:
    """Return the symmetries of a student's vectors, or `None` where students are compared number by number."""
    symmetry = objective.problem.student.symmetry(point)
    return None if symmetry is not None and symmetry.patchwise and not objective.span_suffices else symmetry


def signature(pattern: Pattern) -> np.ndarray:
    """Return numbers that permutations do not change, and that move no further than the pattern's entries do.

    Sorting moves no number further than the largest difference, and neither does a mean. Squared norms are scaled as in
    `equivalence`.
    """
    squares = np.sort(np.diag(pattern.own))
    return np.concatenate(
        [
            np.sort(pattern.cross, axis=None),
            squares / (2 * max(1.0, float(np.sqrt(squares.max(initial=0.0))))),
            np.sort(pattern.cross.sum(axis=1)) / max(pattern.cross.shape[1], 1),
            np.sort(pattern.cross.sum(axis=0)) / max(pattern.cross.shape[0], 1),
            np.sort(pattern.numbers, axis=0).ravel(),
        ]
    )


def codes(values: np.ndarray, tolerance: float) -> np.ndarray:
    """Return whole numbers for the entries of an array: equal where a chain of entries closer than this joins them."""
    flat = values.reshape(-1)
    order = np.argsort(flat, kind="stable")
    steps = np.concatenate([[0], np.cumsum(np.diff(flat[order]) > tolerance)])
    numbers = np.empty(len(flat), np.int64)
    numbers[order] = steps
    return numbers.reshape(values.shape)


def _mix(numbers: np.ndarray) -> np.ndarray:
    """Scramble 64-bit numbers (the finaliser of SplitMix64), so that sums of them stand for multisets."""
    mixed = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


class _Coded(NamedTuple):
    """Codes of the entries of one or several patterns, stacked on the first axis."""

    cross: np.ndarray
    own: np.ndarray
    between: np.ndarray


def _coded(patterns: list[Pattern], reference: Reference, tolerance: float) -> _Coded:
    cross = codes(np.stack([pattern.cross for pattern in patterns]), tolerance)
    # Inner products are sums of many entries' products; their errors are larger than the entries'.
    scale = 2.0 * max(1.0, max(float(np.sqrt(np.diag(pattern.own).max(initial=0.0))) for pattern in patterns))
    own_tolerance = tolerance * scale
    own = codes(np.stack([pattern.own for pattern in patterns]), own_tolerance)
    between = codes(reference.between, 1e-12)
    if not reference.even:
        return _Coded(_mix(cross), _mix(own), _mix(between))
    cross_cycles, own_cycles = _coded_cycles(patterns, reference, tolerance, own_tolerance)
    with np.errstate(over="ignore"):
        return _Coded(_mix(_mix(cross) + cross_cycles), _mix(_mix(own) + own_cycles), _mix(between))


def _coded_cycles(
    patterns: list[Pattern], reference: Reference, tolerance: float, own_tolerance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return scrambled codes of numbers that no turn of a neuron changes, for the entries of `cross` and of `own`.

    These are entries times sums over the ways around them by two others, $A_{ij}(BA)_{ij}$ and the like. Where sizes
    are equal and signs are not, they tell most neurons apart, so that few permutations are left to try. As polynomials
    without minus signs they move no further than they do at the sizes, when these grow by their errors.
    """
    between = reference.products + np.outer(reference.upright, reference.upright)

    def cycles(cross: np.ndarray, own: np.ndarray, between: np.ndarray) -> tuple[tuple[np.ndarray, ...], ...]:
        return (
            (cross * (own @ cross), cross * (cross @ between)),
            (own * (own @ own), own * (cross @ cross.mT), own * (cross @ between @ cross.mT)),
        )

    cross, own = (np.stack(parts) for parts in zip(*map(_signed, patterns), strict=True))
    with np.errstate(over="ignore", invalid="ignore"):  # of huge vectors codes say nothing
        if reference.biased:
            biases = np.stack([pattern.numbers[:, :1] for pattern in patterns])
            own, own_tolerance = own + biases * biases.mT, own_tolerance + 3 * tolerance * biases.max(initial=0.0)
        sizes = np.abs(cross), np.abs(own), np.abs(between)
        low, high = cycles(*sizes), cycles(sizes[0] + tolerance, sizes[1] + own_tolerance, sizes[2])
        mixed = []
        for kind, below, above in zip(cycles(cross, own, between), low, high, strict=True):
            numbers = np.zeros(kind[0].shape, np.uint64)
            for values, less, more in zip(kind, below, above, strict=True):
                numbers = _mix(numbers + _mix(codes(values, float((more - less).max()))))
            mixed.append(numbers)
    return mixed[0], mixed[1]


def _signed(pattern: Pattern) -> tuple[np.ndarray, np.ndarray]:
    """Return inner products with their signs."""
    if pattern.signs is None:
        return pattern.cross, pattern.own
    return pattern.cross * pattern.signs[0], pattern.own * pattern.signs[1]


def _relabel(numbers: np.ndarray) -> np.ndarray:
    """Replace numbers by their ranks, the same for all patterns."""
    return np.unique(numbers, return_inverse=True)[1].reshape(numbers.shape)


def refine(coded: _Coded, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Refine the colours of students and teachers until they are stable.

    Args:
        coded: The codes of one or several patterns.
        rows: Colours of the students, `[pattern, student]`.
        columns: Colours of the teachers, `[pattern, teacher]`.
    """
    classes = -1
    with np.errstate(over="ignore"):
        while True:
            rows, columns = _relabel(rows), _relabel(columns)
            now = int(rows.max()) + int(columns.max())
            if now == classes:
                return rows, columns
            classes = now
            row_keys, column_keys = _mix(2 * rows), _mix(2 * columns + 1)
            by_teachers = _mix(coded.cross ^ column_keys[:, None, :]).sum(axis=2, dtype=np.uint64)
            by_students = _mix(coded.own ^ row_keys[:, None, :]).sum(axis=2, dtype=np.uint64)
            from_students = _mix(coded.cross ^ row_keys[:, :, None]).sum(axis=1, dtype=np.uint64)
            from_teachers = _mix(coded.between ^ column_keys[:, None, :]).sum(axis=2, dtype=np.uint64)
            rows = _mix(row_keys ^ _mix(by_teachers)) + _mix(by_students)
            columns = _mix(column_keys ^ _mix(from_students)) + _mix(from_teachers)


def blocks_of(pattern: Pattern, reference: Reference, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the block of every student and of every teacher: those that refinement cannot tell apart."""
    coded = _coded([pattern], reference, tolerance)
    rows, columns = refine(coded, _row_colours([pattern], reference, tolerance), reference.columns[None])
    return rows[0], columns[0]


def _row_colours(patterns: list[Pattern], reference: Reference, tolerance: float) -> np.ndarray:
    """Return the colours of the students to begin with: their labels, and the numbers that they take along."""
    colours = np.stack([reference.rows for _ in patterns])
    numbers = np.stack([pattern.numbers for pattern in patterns])
    with np.errstate(over="ignore"):
        for place in range(numbers.shape[2]):
            colours = _relabel(_mix(colours) + _mix(_mix(codes(numbers[:, :, place], tolerance))))
    return colours


def equivalence(first: Pattern, second: Pattern, reference: Reference, tolerance: float) -> Equivalence | None:
    """Return permutations that take the first pattern to the second up to a tolerance, or `None`.

    Args:
        first: A pattern.
        second: Another one of the same reference.
        reference: What both are taken relative to.
        tolerance: Largest difference of two entries of `cross`; those of `own` are allowed twice that times the
            largest norm.
    """
    quick = _by_largest_entries(first, second, reference, tolerance)
    if quick is not None:
        return quick
    coded = _coded([first, second], reference, tolerance)
    search = _Search(first, second, reference, coded, tolerance)
    rows = _row_colours([first, second], reference, tolerance)
    columns = np.stack([reference.columns, reference.columns])
    return search.run(rows, columns)


def _by_largest_entries(first: Pattern, second: Pattern, reference: Reference, tolerance: float) -> Equivalence | None:
    """Return permutations found by sorting, if they are right: so they are at most minima, in a tenth of the time.

    Near most minima every student has a teacher of its own, the one of its largest entry. Pairs of student and teacher
    are then sorted by what permutations of pairs leave alone; those that this cannot tell apart usually form a block,
    in which the order does not matter.
    """
    orders = [_order_of_pairs(pattern, tolerance) for pattern in (first, second)]
    if orders[0] is None or orders[1] is None:
        return None
    students, teachers = (np.empty(len(ours), int) for ours in orders[0])
    students[orders[1][0]], teachers[orders[1][1]] = orders[0]
    if (reference.rows[students] != reference.rows).any() or (reference.columns[teachers] != reference.columns).any():
        return None
    return _verified(first, second, reference, students, teachers, tolerance)


def _order_of_pairs(pattern: Pattern, tolerance: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Return students and their own teachers in the order of their numbers, or `None` if two share a teacher."""
    cross = pattern.cross
    if cross.shape[0] != cross.shape[1] or not cross.size:
        return None
    teachers = np.abs(cross).argmax(axis=1)
    if len(np.unique(teachers)) < len(teachers):
        return None
    numbers = (np.diag(pattern.own), cross.sum(axis=1), cross[:, teachers].sum(axis=0), cross.max(axis=1))
    # Numbers that differ by rounding alone are to be the same.
    students = np.lexsort([np.round(number / (1000 * tolerance)) for number in numbers])
    return students, teachers[students]


def _verified(
    first: Pattern, second: Pattern, reference: Reference, students: np.ndarray, teachers: np.ndarray, tolerance: float
) -> Equivalence | None:
    """Return permutations if they take the first pattern to the second up to a tolerance."""
    apart = float(np.abs(first.cross[np.ix_(students, teachers)] - second.cross).max(initial=0.0))
    own = np.abs(first.own[np.ix_(students, students)] - second.own).max(initial=0.0)
    norm = max(1.0, float(np.sqrt(np.diag(second.own).max(initial=0.0))))
    carried = np.abs(first.numbers[students] - second.numbers).max(initial=0.0)
    teaching = np.abs(reference.between[np.ix_(teachers, teachers)] - reference.between).max(initial=0.0)
    if max(apart, own / (2 * norm), carried) > tolerance or teaching > 1e-9:
        return None
    if reference.even and not _turned_alike(first, second, reference, students, teachers, tolerance, 2 * norm):
        return None
    return Equivalence(students, teachers, apart)


def _turned_alike(
    first: Pattern,
    second: Pattern,
    reference: Reference,
    students: np.ndarray,
    teachers: np.ndarray,
    tolerance: float,
    own_scale: float,
) -> bool:
    """Return whether turning neurons takes the signs of the first pattern, permuted, to those of the second.

    Every entry that is not zero ties two neurons: both are turned, or one of them. What may not be turned, neurons with
    a bias among it, is tied to one more place that stays as it is. Signs spread along the ties, and must fit all.
    """
    number, last = len(students), len(students) + len(teachers)
    ties = np.zeros((last + 1, last + 1))
    (cross, own), (other_cross, other_own) = _signed(first), _signed(second)
    ties[:number, :number] = _ties(own[np.ix_(students, students)], other_own, own_scale * tolerance)
    ties[:number, number:last] = _ties(cross[np.ix_(students, teachers)], other_cross, tolerance)
    products = reference.products
    ties[number:last, number:last] = _ties(products[np.ix_(teachers, teachers)], products, 1e-9)
    ties[number:last, last] = reference.upright
    if reference.biased:
        ties[:number, last] = _ties(first.numbers[students, 0], second.numbers[:, 0], tolerance)
    ties = np.where(ties == 0, ties.T, ties)
    signs = np.zeros(last + 1)
    for place in range(last + 1):
        if signs[place] == 0:
            signs[place] = 1.0
            signs = _spread(signs, ties)
    return bool(((ties == 0) | (ties == np.outer(signs, signs))).all())


def _spread(signs: np.ndarray, ties: np.ndarray) -> np.ndarray:
    """Return signs with those that follow along ties from the ones that are known; zero stands for unknown."""
    while True:
        followed = ties * signs
        chosen = followed[np.arange(len(signs)), np.argmax(followed != 0, axis=1)]
        further = np.where(signs == 0, chosen, signs)
        if np.array_equal(further, signs):
            return signs
        signs = further


def _ties(first: np.ndarray, second: np.ndarray, tolerance: float) -> np.ndarray:
    """Return one where entries have one sign, minus one where they have two, and zero where either is about zero."""
    return np.where(np.minimum(np.abs(first), np.abs(second)) > tolerance, np.sign(first) * np.sign(second), 0.0)


@dataclass
class _Search:
    """Individualisation and refinement, from coarse colours to permutations."""

    first: Pattern
    second: Pattern
    reference: Reference
    coded: _Coded
    tolerance: float
    trials: int = 0

    def run(self, rows: np.ndarray, columns: np.ndarray) -> Equivalence | None:
        self.trials += 1
        if self.trials > _TRIALS:
            return None
        rows, columns = refine(self.coded, rows, columns)
        for colours in (rows, columns):
            if not np.array_equal(np.sort(colours[0]), np.sort(colours[1])):
                return None
        shared = _shared(rows)
        colours = rows if shared is not None else columns
        if shared is None:
            shared = _shared(columns)
        if shared is None:
            return self._matched(rows, columns)
        ours, theirs = (np.flatnonzero(colours[side] == shared) for side in (0, 1))
        # All members at once: right away correct where they may be exchanged at will, as in a block.
        if found := self.run(*self._told_apart(rows, columns, colours, ours, theirs)):
            return found
        for other in theirs:
            if found := self.run(*self._told_apart(rows, columns, colours, ours[:1], np.asarray([other]))):
                return found
        return None

    @staticmethod
    def _told_apart(rows, columns, colours, ours: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        marked = colours.copy()
        fresh = int(colours.max()) + 1 + np.arange(len(ours))
        marked[0, ours] = fresh
        marked[1, theirs] = fresh
        return (marked, columns) if colours is rows else (rows, marked)

    def _matched(self, rows: np.ndarray, columns: np.ndarray) -> Equivalence | None:
        students = np.empty(rows.shape[1], int)
        students[np.argsort(rows[1])] = np.argsort(rows[0])
        teachers = np.empty(columns.shape[1], int)
        teachers[np.argsort(columns[1])] = np.argsort(columns[0])
        return _verified(self.first, self.second, self.reference, students, teachers, self.tolerance)


def _shared(colours: np.ndarray) -> int | None:
    """Return the colour that the fewest, but more than one, share; `None` if every colour has one owner."""
    numbers, sizes = np.unique(colours[0], return_counts=True)
    several = sizes > 1
    if not several.any():
        return None
    return int(numbers[several][np.argmin(sizes[several])])
