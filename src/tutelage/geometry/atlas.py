"""Atlases as values: their entries, tables, merging, and finding a student among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import PyTree

from tutelage._html import grid
from tutelage.checks import finite_array
from tutelage.errors import invalid
from tutelage.geometry.blocks import Structure
from tutelage.geometry.equivalence import Pattern, Reference, equivalence, signature

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from tutelage.geometry.certificate import Certificate
    from tutelage.geometry.certified import Verification
    from tutelage.objectives import Objective

# The columns of a table, fields of the entries, and their types in Polars.
_COLUMNS = {
    "count": "Int64",
    "kind": "String",
    "loss": "Float64",
    "norm_sum": "Float64",
    "smallest_eigenvalue": "Float64",
    "largest_eigenvalue": "Float64",
    "split_curvature": "Float64",
    "index": "Int64",
    "gradient_norm": "Float64",
    "symmetry": "String",
}


@dataclass(frozen=True)
class AtlasEntry:
    """A critical point up to the symmetries of its problem, and how often it was reached.

    Attributes:
        count: Number of runs that ended there.
        kind: What it is; see `CriticalPoint`.
        loss: Its loss.
        norm_sum: Sum of the Euclidean norms of the student's vectors.
        smallest_eigenvalue: Smallest eigenvalue of the Hessian; not a number where there is none.
        largest_eigenvalue: Largest eigenvalue of the Hessian.
        split_curvature: The largest, over all neurons, of the smallest eigenvalues of the reduced blocks: if it is
            negative, splitting any neuron makes a minimum a saddle. Not a number where neurons cannot be split.
        gradient_norm: Norm of the gradient at `point`.
        index: Number of negative eigenvalues of the Hessian, or at least so many if not all were computed.
        complete: Whether the whole spectrum was computed, not only its ends.
        point: A student of this kind: of those reached, the one with the smallest gradient; its neurons, and the
            teachers where they may be permuted, in the order of the blocks.
        vectors: The vectors of that student.
        structure: Its blocks.
        certificate: What is proved of it, where that was asked for; see `Atlas.certified`.
    """

    count: int
    kind: str
    loss: float
    norm_sum: float
    smallest_eigenvalue: float
    largest_eigenvalue: float
    split_curvature: float
    gradient_norm: float
    index: int
    complete: bool
    point: PyTree = field(repr=False)
    vectors: np.ndarray = field(repr=False)
    structure: Structure = field(repr=False)
    certificate: "Certificate | None" = field(default=None, repr=False)

    @property
    def symmetry(self) -> str:
        """Sizes of the blocks of neurons that play the same part, such as `5+1`."""
        return self.structure.name


@dataclass(frozen=True)
class Atlas:
    """Critical points of a problem up to its symmetries, in the order of their losses; build one with `atlas`.

    Attributes:
        entries: The critical points.
        runs: Number of runs that it was made of.
        left_out: Number of those that did not end at a critical point.
        statuses: How many runs ended with which status.
        steps: Number of steps of all runs together.
        seconds: Wall time of the runs.
        tolerance: Largest difference of entries of equivalent students.
        problem: The problem in words and numbers; atlases of equal problems can be merged.
    """

    entries: tuple[AtlasEntry, ...]
    runs: int
    left_out: int
    statuses: dict[str, int]
    steps: int
    seconds: float
    tolerance: float
    problem: dict[str, Any] = field(repr=False)
    _reference: Reference = field(repr=False)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, number: int) -> AtlasEntry:
        return self.entries[number]

    def __iter__(self) -> Iterator[AtlasEntry]:
        return iter(self.entries)

    @cached_property
    def _patterns(self) -> list[tuple[Pattern, np.ndarray]]:
        patterns = [self._reference.pattern(entry.vectors) for entry in self.entries]
        return [(pattern, signature(pattern)) for pattern in patterns]

    def table(self) -> pl.DataFrame:
        """Return one row per critical point, without the points themselves."""
        import polars as pl

        rows = [[getattr(entry, name) for name in _COLUMNS] for entry in self.entries]
        schema = {name: getattr(pl, kind) for name, kind in _COLUMNS.items()}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def find(self, vectors: Any) -> int | None:
        """Return the number of the entry that a student is equivalent to, or `None`.

        Args:
            vectors: The student's vectors, `[student, dim]`, as in `AtlasEntry.vectors`.

        Raises:
            InvalidArgument: If the vectors are not finite numbers.
        """
        array = np.asarray(finite_array("vectors", vectors))
        if not self.entries or array.shape != self.entries[0].vectors.shape:
            return None
        pattern = self._reference.pattern(array)
        return find_equivalent(pattern, self._patterns, self._reference, self.tolerance)

    def merge(self, other: "Atlas") -> "Atlas":
        """Return the atlas of both atlases' runs.

        Args:
            other: An atlas of the same problem and tolerance.

        Raises:
            InvalidArgument: If the problems differ.
        """
        if not isinstance(other, Atlas) or other.problem != self.problem or other.tolerance != self.tolerance:
            raise invalid(
                "other",
                "be an atlas of the same problem, with the same tolerance",
                f"{other.problem if isinstance(other, Atlas) else other!r}",
                "Merge atlases of equal problems",
            )
        entries = list(self.entries)
        continuum = is_continuum(self.problem)
        for entry in other.entries:
            number = self.find(entry.vectors)
            if continuum and entry.kind == "global minimum":
                kinds = [mine.kind for mine in self.entries]
                number = kinds.index(entry.kind) if entry.kind in kinds else None
            if number is None:
                entries.append(entry)
                continue
            mine = entries[number]
            best = mine if mine.gradient_norm <= entry.gradient_norm else entry
            entries[number] = replace(best, count=mine.count + entry.count)
        statuses = {
            name: self.statuses.get(name, 0) + other.statuses.get(name, 0)
            for name in sorted({*self.statuses, *other.statuses})
        }
        return replace(
            self,
            entries=in_order(entries),
            runs=self.runs + other.runs,
            left_out=self.left_out + other.left_out,
            statuses=statuses,
            steps=self.steps + other.steps,
            seconds=self.seconds + other.seconds,
        )

    def figure(self, number: int | None = None) -> "Figure":
        """Return a picture of one entry, or of all of them: `tutelage.plot.atlas`."""
        from tutelage.geometry import figures

        return figures.atlas(self, number)

    def certified(
        self, objective: "Objective | None" = None, digits: int = 50, progress: Callable[[int], None] | None = None
    ) -> "Atlas":
        """Return the atlas with what is proved of each point, by ball arithmetic; it is kept with it by `save`.

        Needs python-flint, the extra `certify`. See `certify` for what can be proved.

        Args:
            objective: The population loss that it is an atlas of. It can be left out for committees and networks with
                output weights as `tutelage minima` makes them, which the atlas describes in full.
            digits: Decimal digits of the centres, 20 to 250.
            progress: Called with the number of proofs that are done.

        Raises:
            InvalidArgument: If the objective is another one.
            UnsupportedCombination: If the atlas does not say the whole problem, or the loss has no ball arithmetic.
            MissingDependency: If python-flint is not installed.
        """
        from tutelage.geometry.certified import certified

        return certified(self, objective, digits, progress)

    def verify(
        self, objective: "Objective | None" = None, progress: Callable[[int], None] | None = None
    ) -> "tuple[Verification, ...]":
        """Check every certificate again, by code that shares nothing with what found it but the formulas.

        It computes with whole numbers of Python alone, and python-flint is not needed. See the numerics page for what
        is checked, and what is shared.

        Args:
            objective: The population loss, where the atlas does not say the whole problem; see `certified`.
            progress: Called with the number of certificates that are checked.

        Returns:
            What came out, entry by entry.

        Raises:
            InvalidArgument: If the objective is another one.
            UnsupportedCombination: If the atlas does not say the whole problem.
        """
        from tutelage.geometry.certified import verified

        return verified(self, objective, progress)

    def save(self, path: str | Path) -> None:
        """Write the atlas, with its certificates, to one file (`.npz`), complete or not at all; see `load_atlas`."""
        from tutelage.geometry.storage import save

        save(self, Path(path))

    def _repr_html_(self) -> str:
        rows = [
            (entry.count, entry.kind, max(entry.loss, 0.0), entry.smallest_eigenvalue, entry.norm_sum, entry.symmetry)
            for entry in self.entries
        ]
        headings = ("count", "kind", "loss", "smallest eigenvalue", "norm sum", "blocks")
        title = f"Atlas of the {self.problem['name']} problem, {self.runs} runs"
        return grid(title, headings, rows, self._missing.removeprefix("; "))

    def __repr__(self) -> str:
        kinds = {kind: sum(entry.kind == kind for entry in self.entries) for kind in sorted({e.kind for e in self})}
        text = ", ".join(f"{number} {kind}" for kind, number in kinds.items()) or "nothing"
        return f"Atlas({self.problem['name']}, {self.runs} runs: {text}{self._missing})"

    @property
    def _missing(self) -> str:
        """How many runs have no entry, and how runs ended, in words; nothing where all have one."""
        if not self.left_out:
            return ""
        ended = ", ".join(f"{number} {status.replace('_', ' ')}" for status, number in self.statuses.items())
        return f"; {self.left_out} not at a critical point; runs ended: {ended}"


def block_matrix(atlas: Atlas, entry: AtlasEntry) -> np.ndarray:
    """Return the inner products of students and teachers, in the order of the blocks."""
    cross = atlas._reference.pattern(entry.vectors).cross
    return cross[entry.structure.students][:, entry.structure.teachers]


def in_order(entries: Iterable[AtlasEntry]) -> tuple[AtlasEntry, ...]:
    """Return entries in the order of their losses, then the more frequent first."""
    # Losses are rounded: those of global minima are rounding errors, whose order means nothing.
    return tuple(sorted(entries, key=lambda entry: (round(entry.loss, 12), -entry.count, entry.symmetry)))


def find_equivalent(
    pattern: Pattern, known: list[tuple[Pattern, np.ndarray]], reference: Reference, tolerance: float
) -> int | None:
    """Return the number of the known pattern that a pattern is equivalent to, or `None`."""
    if not known:
        return None
    own = signature(pattern)
    distances = np.abs(np.stack([numbers for _, numbers in known]) - own).max(axis=1)
    for number in np.argsort(distances, kind="stable"):
        # Equivalent patterns have signatures as close as their entries, up to the scale of the squared norms.
        if distances[number] > 2 * tolerance:
            return None
        if equivalence(pattern, known[number][0], reference, tolerance) is not None:
            return int(number)
    return None


def is_continuum(problem: dict[str, Any]) -> bool:
    """Whether the global minima form one connected set of positive dimension: more students than teachers."""
    families, first = ("committee", "homogeneous", "two_layer"), problem["shapes"][0]
    # A student that learns a constant alone has one number, and no axis of neurons.
    return problem["name"] in families and bool(first) and first[0] > len(problem["teacher"])


def load_atlas(path: str | Path) -> Atlas:
    """Read an atlas that `Atlas.save` has written.

    Everything in the file is checked, its checksum first, then each array against the problem that it describes.

    Args:
        path: The file.

    Raises:
        MalformedData: If the file is absent, damaged, too large or something else.
    """
    from tutelage.geometry.storage import load

    return load(path)
