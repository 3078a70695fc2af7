"""Minima that are known: a data set of all classes that descent has reached, each proved, inside the package.

One row per class of minima of $n$ ReLU students that learn $k$ orthonormal teachers, up to permutations of neurons and
coordinates. How it was made is written in the documentation, on the page of the data set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from tutelage._html import grid
from tutelage.checks import count
from tutelage.errors import invalid
from tutelage.geometry.families.points import FamilyPoint, family

if TYPE_CHECKING:
    import polars as pl

DATA = "known_minima.parquet"
"""Name of the file, beside this module."""


@dataclass(frozen=True, repr=False)
class KnownMinimum:
    """A class of minima, up to permutations of neurons and coordinates.

    Attributes:
        neurons: Number of teachers, $k$.
        students: Number of students, $n$.
        kind: `global minimum` or `spurious minimum`, as it is proved; `not proved` otherwise.
        reason: Why it is not proved, or that it is one of a continuum; empty otherwise.
        blocks: Sizes of the blocks of teachers that play the same part.
        orbits: Sizes of the blocks of students: those of the teachers and, with more students, single ones.
        table: The distinct entries, as in `FamilyPoint.table`.
        loss: The loss.
        norm_sum: Sum of the Euclidean norms of the neurons.
        smallest_eigenvalue: Smallest eigenvalue of the Hessian.
        largest_eigenvalue: Largest eigenvalue of the Hessian.
        split_curvature: As in `AtlasEntry`.
        counts: How many runs ended there, by the kind of their starts.
        runs: How many runs there were.
        loss_bounds: Proved bounds of the loss.
        eigenvalue_bounds: Proved bounds of the smallest eigenvalue.
        radius: The critical point is within this distance of the student of the table.
        unique_radius: It is the only one within this distance, where the loss is strictly convex.
    """

    neurons: int
    students: int
    kind: str
    reason: str
    blocks: tuple[int, ...]
    orbits: tuple[int, ...]
    table: np.ndarray = field(repr=False)
    loss: float
    norm_sum: float
    smallest_eigenvalue: float
    largest_eigenvalue: float
    split_curvature: float
    counts: dict[str, int]
    runs: dict[str, int]
    loss_bounds: tuple[float, float]
    eigenvalue_bounds: tuple[float, float]
    radius: float
    unique_radius: float

    @property
    def point(self) -> FamilyPoint:
        """The minimum as a point of its family: its complete spectrum, and `certify`, which proves it again.

        Points of a continuum, the global minima of more students than teachers, are proved by `tutelage.certify`.
        """
        blocks, orbits = (",".join(map(str, sizes)) for sizes in (self.blocks, self.orbits))
        return family(blocks, orbits).point(self.neurons, self.table)

    def student(self) -> np.ndarray:
        """Return the student in full, one row per neuron."""
        return self.point.student()

    def __repr__(self) -> str:
        return f"KnownMinimum({self.kind}, blocks {'+'.join(map(str, self.orbits))}, loss {self.loss:.8g})"


@dataclass(frozen=True, repr=False)
class KnownMinima:
    """The known classes of minima for one number of teachers and students, in the order of their losses.

    Attributes:
        neurons: Number of teachers.
        students: Number of students.
        minima: The classes.
    """

    neurons: int
    students: int
    minima: tuple[KnownMinimum, ...]

    def __len__(self) -> int:
        return len(self.minima)

    def __getitem__(self, number: int) -> KnownMinimum:
        return self.minima[number]

    def __iter__(self) -> Iterator[KnownMinimum]:
        return iter(self.minima)

    def __repr__(self) -> str:
        return f"KnownMinima({self.students} students, {self.neurons} teachers: {len(self)} classes)"

    def table(self) -> pl.DataFrame:
        """Return one row per class, all that the data set has of it."""
        return _of(self.neurons, self.students)

    def _repr_html_(self) -> str:
        rows = [
            (
                one.kind,
                one.loss,
                one.smallest_eigenvalue,
                "+".join(map(str, one.orbits)),
                float(sum(one.counts.values())),
            )
            for one in self.minima
        ]
        headings = ("kind", "loss", "smallest eigenvalue", "blocks", "runs that ended there")
        return grid(f"Known minima of {self.students} students and {self.neurons} teachers", headings, rows)


def known_minima(neurons: int, students: int | None = None) -> KnownMinima:
    """Return the known minima of ReLU students that learn orthonormal teachers, from the data set in the package.

    Args:
        neurons: Number of teachers, $k$.
        students: Number of students, $n$; as many as teachers by default.

    Returns:
        All classes that descent has reached, in the order of their losses.

    Raises:
        InvalidArgument: If the data set does not cover these numbers; the sentence says what it covers.
    """
    neurons = count("neurons", neurons)
    students = neurons if students is None else count("students", students)
    rows = _of(neurons, students)
    if not len(rows):
        extra = students - neurons
        covered = _coverage()
        if extra in covered:
            argument, received, range_ = "neurons", f"{neurons}", f"from {covered[extra][0]} to {covered[extra][1]}"
        else:
            argument, received = "students", f"{students} for {neurons} teachers"
            range_ = " or ".join("as many as the teachers" if one == 0 else f"{one} more" for one in sorted(covered))
        raise invalid(
            argument, f"be {range_}, which the data set covers", received,
            "Search for minima with `tutelage minima`, or take critical points of a class from `tutelage.family`",
        )  # fmt: skip
    return KnownMinima(neurons, students, tuple(_minimum(row) for row in rows.iter_rows(named=True)))


@lru_cache
def _frame() -> pl.DataFrame:
    import polars as pl

    with files("tutelage.geometry").joinpath(DATA).open("rb") as file:
        return pl.read_parquet(file)


def _of(neurons: int, students: int) -> pl.DataFrame:
    return _frame().filter(neurons=neurons, students=students)


def _coverage() -> dict[int, tuple[int, int]]:
    """Return the smallest and the largest number of teachers, by how many more students there are."""
    frame = _frame()
    extra = (frame["students"] - frame["neurons"]).to_numpy()
    neurons = frame["neurons"].to_numpy()
    return {int(one): (int(neurons[extra == one].min()), int(neurons[extra == one].max())) for one in np.unique(extra)}


def _minimum(row: dict[str, Any]) -> KnownMinimum:
    blocks, orbits = tuple(row["blocks"]), tuple(row["orbits"])
    return KnownMinimum(
        **{name: row[name] for name in ("neurons", "students", "kind", "reason", "loss", "norm_sum")},
        **{name: row[name] for name in ("smallest_eigenvalue", "largest_eigenvalue", "split_curvature")},
        blocks=blocks,
        orbits=orbits,
        table=np.array(row["table"]).reshape(len(orbits), len(blocks) + 1),
        counts={"xavier": row["xavier"], "large": row["large"]},
        runs={"xavier": row["xavier_runs"], "large": row["large_runs"]},
        loss_bounds=(row["loss_low"], row["loss_high"]),
        eigenvalue_bounds=(row["eigenvalue_low"], row["eigenvalue_high"]),
        radius=row["radius"],
        unique_radius=row["unique_radius"],
    )
