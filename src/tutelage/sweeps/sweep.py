"""`Sweep`: a specification, and what a range of its runs computes.

Nothing here imports JAX before a sweep is made: a worker sets its environment first.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tutelage.files import checked_path
from tutelage.sweeps.tables import Computed, Range
from tutelage.sweeps.workers import Watch

if TYPE_CHECKING:
    from tutelage.sweeps.costs import Estimate
    from tutelage.sweeps.specification.plan import Plan


class Sweep:
    """Many runs over a grid of settings.

    The arguments are the tables and fields of a specification file; see the page on specifications. Values are plain
    (numbers, text, lists, dictionaries) or, for arrays, NumPy arrays.

    Args:
        problem: The problem: `family` and the arguments of that constructor of `tutelage.problems`.
        method: The method: `kind` and its arguments.
        runs: Number of runs of every cell.
        objective: How the expectation is taken: `population` by default.
        starts: The law of the starts: `xavier` by default.
        stop: Conditions that end a run; as in `descend` by default.
        record: What is remembered along every run; nothing by default.
        finish: A Newton finish; none by default.
        restarts: Whether starts that fail are tried again with other signs.
        success: The loss, without what label noise adds to a population loss, at and below which a run has reached the
            teacher.
        seed: Seed of starts and random methods; run number $i$ of a cell depends on the seed and on $i$ alone, so that
            cells of one seed have the same starts where they have the same shape.
        keep_points: Whether the students reached are kept.
        grid: Lists of values by field (`{"problem.students": [6, 7, 8]}`); cells are their product.
        zip: Lists of values by field that advance together, or several such dictionaries.
        folder: Folder that paths are relative to and must not leave; the current one by default.
        allow_outside: Whether paths may leave it.

    Raises:
        SpecificationError: If something is wrong; the message has a line for each thing that is.
    """

    def __init__(
        self,
        problem: Mapping[str, Any],
        method: Mapping[str, Any],
        runs: int,
        *,
        objective: Mapping[str, Any] | str | None = None,
        starts: Mapping[str, Any] | str | None = None,
        stop: Mapping[str, Any] | None = None,
        record: Mapping[str, Any] | None = None,
        finish: Mapping[str, Any] | str | None = None,
        restarts: bool | None = None,
        success: float | None = None,
        seed: int | None = None,
        keep_points: bool | None = None,
        grid: Mapping[str, Sequence[Any]] | None = None,
        zip: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]] | None = None,
        folder: str | os.PathLike[str] = ".",
        allow_outside: bool = False,
    ):
        said = locals()
        from tutelage.sweeps.specification.arrays import Folder
        from tutelage.sweeps.specification.cell import SECTIONS
        from tutelage.sweeps.specification.issues import Source
        from tutelage.sweeps.specification.plan import plan_of

        fields = {name: said[name] for name in (*SECTIONS, "grid", "zip") if said[name] is not None}
        self._plan = plan_of(fields, Folder(checked_path("folder", folder), allow_outside), Source())

    @classmethod
    def _from_plan(cls, plan: Plan) -> Sweep:
        sweep = cls.__new__(cls)
        sweep._plan = plan
        return sweep

    @classmethod
    def from_toml(
        cls, path: str | os.PathLike[str], *, allow_outside: bool = False, overrides: Mapping[str, Any] | None = None
    ) -> Sweep:
        """Return the sweep of a specification file.

        Args:
            path: The file; paths in it are relative to its folder.
            allow_outside: Whether paths in it may leave its folder.
            overrides: Fields at the top of the specification (such as `seed`) that take the place of what it says.

        Raises:
            SpecificationError: If something is wrong; each line of the message names the file and the line in it.
        """
        from tutelage.sweeps.specification.arrays import Folder
        from tutelage.sweeps.specification.issues import Issue
        from tutelage.sweeps.specification.plan import plan_of, read_toml

        fields, source = read_toml(path)
        instead = dict(overrides or {})
        plan = plan_of({**fields, **instead}, Folder(Path(path).resolve().parent, allow_outside), source)
        if twice := instead.keys() & plan.settings[0].keys():
            text = "must be left out where another value takes its place"
            raise source.error([Issue(("grid", name), f"{text}, but is a field of the grid.") for name in twice])
        return cls._from_plan(plan)

    @classmethod
    def from_document(
        cls,
        document: Mapping[str, Any],
        *,
        folder: str | os.PathLike[str] | None = None,
        allow_outside: bool = False,
    ) -> Sweep:
        """Return the sweep that `document` describes.

        Args:
            document: The document.
            folder: For a document that others may have written: the folder that files named in it must not leave.
            allow_outside: Whether they may leave it.

        Raises:
            MalformedData: If it is not the document of a sweep, or a file that it names has changed or lies outside.
        """
        from tutelage.sweeps.specification.arrays import Folder
        from tutelage.sweeps.specification.plan import from_document

        inside = None if folder is None else Folder(checked_path("folder", folder), allow_outside, "of the sweep")
        return cls._from_plan(from_document(document, inside))

    def document(self) -> dict[str, Any]:
        """Return the complete specification as plain JSON: all defaults, all cells, arrays with their digests."""
        return self._plan.document()

    def cells(self) -> pl.DataFrame:
        """Return one row per cell: its number, the value of every field of the grid, and the number of runs."""
        settings = self._plan.settings
        columns = {name: _column([setting[name] for setting in settings]) for name in settings[0]}
        runs = [cell.runs for cell in self._plan.cells]
        return pl.DataFrame({"cell": np.arange(len(runs)), **columns, "runs": runs})

    def ranges(self, seconds: float = 30.0, cores: int = 1) -> list[Range]:
        """Return ranges of runs of similar cost, the most expensive first.

        Args:
            seconds: About how long a range should take on one core; it is at least one tile of runs, which are
                followed side by side and cost as much as one.
            cores: How many cores it has: as many tiles are followed at once.
        """
        from tutelage.checks import count, positive
        from tutelage.sweeps.costs import ranges_of

        return ranges_of(self._plan, positive("seconds", seconds), count("cores", cores))

    def estimate(self) -> Estimate:
        """Return about how many seconds all runs take on one core, and what would make them cheaper."""
        from tutelage.sweeps.costs import estimate_of

        return estimate_of(self._plan)

    def run(self, covered: Range, *, progress: Watch | None = None) -> Computed:
        """Compute a range of runs; a run has the same row whatever the cut, but for its `seconds`.

        Args:
            covered: The range; some runs of one cell, not necessarily one of `ranges`.
            progress: Called now and then with the numbers of ended runs, of all runs, and of steps. What it raises that
                is no `Exception`, such as `KeyboardInterrupt`, ends the range; an `Exception` is a run that failed.

        Returns:
            Its rows. A run that could not be computed has the status `failed` and a reason.
        """
        from tutelage.sweeps.following import failed, follow

        try:
            built = self._plan.build(covered.cell)
        except Exception as error:
            return failed(self._plan, None, covered, str(error))
        return follow(self._plan, built, covered, progress)

    def __len__(self) -> int:
        return len(self._plan.cells)

    def __repr__(self) -> str:
        families = sorted({cell.problem.family for cell in self._plan.cells})
        runs = sum(cell.runs for cell in self._plan.cells)
        return f"Sweep({', '.join(families)}: {len(self)} cell{'s' * (len(self) > 1)}, {runs} runs)"


def _column(values: list[Any]) -> pl.Series:
    """Return values of one field; numbers of two kinds become numbers, everything else text."""
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        return pl.Series([float(value) for value in values])
    return pl.Series(values if len(kinds) == 1 else [str(value) for value in values])
