r"""Families: the critical points of one symmetry class, for any number of neurons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tutelage import checks
from tutelage._html import grid
from tutelage.errors import TutelageError, invalid, shown
from tutelage.geometry.ball_arithmetic import NotProved
from tutelage.geometry.families.branches import Branch, followed
from tutelage.geometry.families.classes import SymmetryClass, symmetry_class
from tutelage.geometry.families.isotypes import isotypes
from tutelage.geometry.families.layout import Layout
from tutelage.geometry.families.reduced import Geometry
from tutelage.geometry.families.search import critical_tables

if TYPE_CHECKING:
    from tutelage.geometry.certificate import Certificate
    from tutelage.geometry.families.expansions import FamilyExpansion

# Beyond, rounding errors of sums over all neurons are no longer small beside curvatures.
_MOST_NEURONS = 10**7

# A student with more entries is not written out.
_MOST_ENTRIES = 10**8

# Eigenvalues are equal, or zero, up to this part of one, or of the eigenvalue if that is larger.
_EQUAL, _ZERO = 1e-12, 1e-9


class Eigenvalue(NamedTuple):
    """An eigenvalue of the Hessian.

    Attributes:
        eigenvalue: The eigenvalue.
        multiplicity: How often it is repeated: a whole number, but for blocks whose sizes are not.
        types: Types of symmetry of its eigenvectors, blocks numbered from one; see
            `tutelage.geometry.families.isotypes`.
    """

    eigenvalue: float
    multiplicity: float
    types: tuple[str, ...]


@dataclass(frozen=True)
class FamilyPoint:
    """A critical point of a symmetry class.

    Attributes:
        neurons: Number of teachers, any real number.
        loss: Its loss.
        table: A row for each orbit of students; its entries at the blocks of teachers and, last, at a student's own
            teacher. Cells that stand for nothing are zero.
        spectrum: All eigenvalues of the Hessian, in increasing order.
    """

    neurons: float
    loss: float
    table: np.ndarray = field(repr=False)
    spectrum: tuple[Eigenvalue, ...] = field(repr=False)
    _class: SymmetryClass = field(repr=False)

    @property
    def entries(self) -> tuple[float, ...]:
        """The distinct entries, orbit by orbit and block by block; at its own block, a student's own teacher first."""
        return tuple(float(self.table[cell]) for cell in cells_in_order(self.layout))

    @property
    def layout(self) -> Layout:
        """The blocks and orbits."""
        return self._class.layout(self.neurons)

    def whole_layout(self) -> Layout:
        """Return the blocks and orbits, or raise if there are parts of neurons."""
        layout = self.layout
        if not layout.whole:
            sizes = "+".join(f"{size:g}" for size in layout.sizes)
            raise invalid(
                "neurons", f"give every block of {self._class.blocks!r} a whole number of members",
                f"{self.neurons:g}, for blocks of {sizes}", "Take a point with whole blocks",
            )  # fmt: skip
        return layout

    @property
    def index(self) -> float:
        """Number of negative eigenvalues of the Hessian."""
        return sum(one.multiplicity for one in self.spectrum if one.eigenvalue < -_ZERO)

    @property
    def smallest_eigenvalue(self) -> float:
        """The smallest eigenvalue of the Hessian."""
        return self.spectrum[0].eigenvalue

    @property
    def kind(self) -> str:
        """What it is: `global minimum`, `minimum`, `saddle`, or `degenerate` if an eigenvalue is zero."""
        if self.index:
            return "saddle"
        if self.smallest_eigenvalue <= _ZERO:
            return "degenerate"
        return "global minimum" if self.loss <= 1e-12 else "minimum"

    def student(self) -> np.ndarray:
        """Return the student in full, one row per neuron, block after block.

        Raises:
            InvalidArgument: If a block has no whole number of neurons, or there are more than memory allows.
        """
        layout = self.whole_layout()
        entries = float(layout.members[: len(layout.owners)].sum()) * self.neurons
        if entries > _MOST_ENTRIES:
            raise invalid(
                "neurons", "be small enough for a student in full", f"{self.neurons:g}", "Use `entries` or `table`"
            )
        return layout.matrix(self.table)

    def certify(self, digits: int = 50) -> Certificate:
        """Prove what the point is, among all students, by ball arithmetic on its few entries.

        Needs python-flint, the extra `certify`. The argument is written out in `tutelage.geometry.families.proofs`.

        Args:
            digits: Decimal digits of the centre, 20 to 250.

        Returns:
            The certificate, whose decimals are those of the table; its kind is `not proved` where the proof fails.

        Raises:
            InvalidArgument: If a block has no whole number of neurons, or that of digits is out of range.
            MissingDependency: If python-flint is not installed.
        """
        from tutelage.geometry.proving import certified_point

        return certified_point(self, digits)

    def document(self) -> dict[str, Any]:
        """Return loss, entries, index and spectrum as plain numbers."""
        return {
            "loss": self.loss,
            "entries": list(self.entries),
            "index": self.index,
            "spectrum": [{"eigenvalue": one.eigenvalue, "multiplicity": one.multiplicity} for one in self.spectrum],
        }


@dataclass(frozen=True)
class FamilyPoints:
    """The critical points of a symmetry class for one number of teachers, in the order of their losses.

    Attributes:
        blocks: The blocks.
        neurons: Number of teachers.
        points: The points.
    """

    blocks: str
    neurons: float
    points: tuple[FamilyPoint, ...]

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, number: int) -> FamilyPoint:
        return self.points[number]

    def __iter__(self) -> Iterator[FamilyPoint]:
        return iter(self.points)

    def document(self) -> dict[str, Any]:
        """Return all points as plain numbers."""
        return {"points": [point.document() for point in self.points]}

    def _repr_html_(self) -> str:
        rows = [
            (point.kind, point.loss, point.smallest_eigenvalue, float(point.index), list(point.entries))
            for point in self.points
        ]
        headings = ("kind", "loss", "smallest eigenvalue", "index", "entries")
        return grid(f"Critical points with blocks {self.blocks}, k = {self.neurons:g}", headings, rows)


@dataclass(frozen=True)
class Family:
    """A symmetry class of students of a committee, for any number of teachers; build one with `family`.

    Attributes:
        blocks: Sizes of the blocks of teachers, as expressions in their number $k$.
        students: Sizes of the orbits of students.
    """

    blocks: str
    students: str
    _class: SymmetryClass = field(repr=False)

    def points(self, neurons: float, seed: int = 0) -> FamilyPoints:
        """Return the critical points of the class, as far as a systematic search finds them.

        Newton's method is started from many tables in the few distinct entries, until each point has been found four
        times, or thousands of starts are used up. Points at which students are parallel are left out: they compute
        what fewer students do, and are not isolated. Points with more symmetry than the class asks for, such as the
        global minimum, are listed too.

        Args:
            neurons: Number of teachers, which may be any real number for which every block has two members or more.
            seed: Seed of the starts.

        Raises:
            InvalidArgument: If the blocks do not have so many members.
        """
        layout = self._layout(neurons)
        tables = critical_tables(layout, checks.random_seed("seed", seed))
        points = [self.point(neurons, table) for table in tables]
        return FamilyPoints(self.blocks, neurons, tuple(sorted(points, key=lambda point: (point.loss, point.entries))))

    def point(self, neurons: float, table: Any) -> FamilyPoint:
        """Return loss and spectrum of a table of the class, which need not be a critical point.

        Args:
            neurons: Number of teachers.
            table: A row for each orbit of students, as in `FamilyPoint.table`.

        Raises:
            InvalidArgument: If the table does not fit the class.
        """
        layout = self._layout(neurons)
        table = checks.checked_array("table", table, dimensions=2)
        if table.shape != layout.weights.shape:
            raise invalid("table", f"have the shape {layout.weights.shape}", f"{table.shape}", "Pass a row per orbit")
        table = np.where(layout.weights != 0, table, 0.0)
        loss = max(float(Geometry(layout, table).loss()), 0.0)
        return FamilyPoint(neurons, loss, table, _spectrum(layout, table), self._class)

    def follow(self, point: FamilyPoint, to: float) -> Branch:
        """Follow a critical point through real numbers of teachers.

        The branch is followed around turning points. They, and the numbers of teachers at which an eigenvalue of the
        Hessian crosses zero, where a saddle becomes a minimum, are located to about twelve digits.

        Args:
            point: A critical point of this class.
            to: The number of teachers to go to.

        Raises:
            InvalidArgument: If the point is of another class, or the blocks cannot have so many members.
            TutelageError: If events are too close to each other to be told apart.
        """
        self._check(point)
        checks.positive("to", to)
        self._layout(to)
        try:
            return followed(self._class, point.table, float(point.neurons), float(to))
        except NotProved as failure:
            raise TutelageError(f"The branch cannot be followed: {failure}. Follow it to a closer number.") from failure

    def expand(self, point: FamilyPoint, terms: int = 4) -> FamilyExpansion:
        """Return the expansions of loss, entries and eigenvalues as the number of teachers grows.

        The branch is followed to eight million teachers; powers of the square root of their number are fitted to what
        is computed there with sixty digits. Needs python-flint, the extra `certify`.

        Args:
            point: A critical point of this class.
            terms: How many terms are returned, up to eight.

        Raises:
            InvalidArgument: If the point is of another class, or the number of terms is out of range.
            TutelageError: If the branch ends before, or a quantity has no such expansion.
            MissingDependency: If python-flint is not installed.
        """
        from tutelage.geometry.families.expansions import expansions

        self._check(point)
        terms = checks.count("terms", terms, most=8)
        try:
            return expansions(self._class, point.table, float(point.neurons), cells_in_order(point.layout), terms)
        except NotProved as failure:
            raise TutelageError(f"The branch has no expansion: {failure}.") from failure

    def _check(self, point: FamilyPoint) -> None:
        if not isinstance(point, FamilyPoint) or point._class != self._class:
            raise invalid("point", "be a point of this family", shown(point), "Pass one of `family.points(…)`")

    def _layout(self, neurons: Any) -> Layout:
        number = checks.positive("neurons", neurons)
        if number > _MOST_NEURONS:
            raise invalid("neurons", f"be at most {_MOST_NEURONS}", f"{number:g}", "Pass a smaller number")
        return self._class.layout(number)


def family(blocks: str, students: str | None = None) -> Family:
    """Return a symmetry class of students of a committee of ReLU neurons, for any number of teachers.

    The teachers are $k$ orthonormal vectors, in blocks. Students come in orbits of the permutations within blocks, and
    their entries are equal within blocks, but for a student's own teacher: a few numbers, whatever $k$ is.

    Args:
        blocks: Sizes of the blocks of teachers, separated by commas, as expressions in $k$: `"k-1,1"`, `"k-2,2"`,
            `"k/2,k/2"`, `"k"`.
        students: Sizes of the orbits of students, those of the blocks by default. With `"k-1,1,1"` for the blocks
            `"k-1,1"` there is one student more than there are teachers.

    Raises:
        InvalidArgument: If the sizes cannot be read, or an orbit has the size of no block.
    """
    found = symmetry_class(blocks, students)
    return Family(found.blocks, found.blocks if students is None else students, found)


def cells_in_order(layout: Layout) -> list[tuple[int, int]]:
    """Return the cells of a table that stand for something: orbit by orbit, block by block, own teachers first."""
    order = []
    for orbit, owner in enumerate(layout.owners):
        for block in range(layout.blocks):
            columns = [layout.blocks, block] if block == owner else [block]
            order += [(orbit, column) for column in columns if layout.weights[orbit, column] != 0]
    return order


def _spectrum(layout: Layout, table: np.ndarray) -> tuple[Eigenvalue, ...]:
    """Return all eigenvalues; those of several types that agree up to rounding are one."""
    values: list[tuple[float, float, str]] = []
    for kind in isotypes(layout):
        values += [(float(one), float(kind.dimension), kind.name) for one in np.linalg.eigvalsh(kind.matrix(table))]
    merged: list[Eigenvalue] = []
    for value, dimension, name in sorted(values):
        last = merged[-1] if merged else None
        if last is not None and value - last.eigenvalue <= _EQUAL * max(1.0, abs(value)):
            names = last.types if name in last.types else (*last.types, name)
            merged[-1] = Eigenvalue(last.eigenvalue, last.multiplicity + dimension, names)
        else:
            merged.append(Eigenvalue(value, dimension, (name,)))
    if layout.whole:
        return tuple(one._replace(multiplicity=round(one.multiplicity)) for one in merged)
    return tuple(merged)
