"""Reading the folder of a sweep, finished or not, also while another process works on it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tutelage.errors import MalformedData, invalid
from tutelage.files import checked_path
from tutelage.statistics import wilson_interval
from tutelage.sweeps.coverage import JOB, Coverage, key_of, read_coverage, read_range
from tutelage.sweeps.manifest import Manifest, read_manifest
from tutelage.sweeps.tables import COLUMNS, FAILED, Computed, Range, TableName
from tutelage.work.folder import MANIFEST, OtherFormat
from tutelage.work.store import Store

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Fields = str | Sequence[str] | None


def open_sweep(folder: str | Path) -> Results:
    """Open the folder of a sweep for reading: what is there at this moment.

    Args:
        folder: The folder, finished or not.

    Raises:
        MalformedData: If it is not the folder of a sweep, its manifest is damaged, or another version has written it.
        Unreadable: If something in it cannot be read, is not a regular file, or too large.
    """
    path = checked_path("folder", folder)
    manifest = manifest_of(path)
    return Results(path, manifest, read_coverage(Store(path, JOB), manifest, thorough=False))


def manifest_of(folder: Path) -> Manifest:
    """Return the manifest of a folder that has to be one of a sweep; the errors are those of `open_sweep`."""
    try:
        return read_manifest(folder)
    except FileNotFoundError:
        raise MalformedData(f"{folder} is not the folder of a sweep: it has no {MANIFEST}.") from None
    except OtherFormat:
        raise
    except MalformedData as error:
        raise MalformedData(f"{error} `tutelage sweep` with its specification writes it again.") from error


class Results:
    """What a sweep has computed so far, as tables and arrays.

    Runs whose files do not match their checksums are left out, with a warning; `tutelage sweep` computes them again.

    Attributes:
        folder: Where the files are.
        manifest: The specification, and how, where and when it was swept.
        coverage: Which runs there are.
    """

    def __init__(self, folder: Path, manifest: Manifest, coverage: Coverage):
        self.folder, self.manifest, self.coverage = folder, manifest, coverage
        self._store, self._told = Store(folder, JOB), False

    def __repr__(self) -> str:
        done, runs, cells = self.coverage.runs, self.manifest.runs, self._grid.height
        return f"Results({self.folder}: {done} of {runs} runs in {cells} cell{'s' * (cells > 1)})"

    @property
    def complete(self) -> bool:
        """Whether every run is there."""
        return self.coverage.runs == self.manifest.runs

    @property
    def fields(self) -> list[str]:
        """The fields of the grid."""
        return [name for name in self._grid.columns if name not in ("cell", "runs")]

    @cached_property
    def _grid(self) -> pl.DataFrame:
        return pl.DataFrame(self.manifest.grid)

    @property
    def cells(self) -> pl.LazyFrame:
        """One row per cell: `cell`, the fields of the grid, and the number of `runs`."""
        return self._grid.lazy()

    @property
    def runs(self) -> pl.LazyFrame:
        """One row per run, sorted by cell and run: the fields of the grid, how it ended, what is known of its end."""
        return self._with_fields(self._runs.lazy())

    @property
    def records(self) -> pl.LazyFrame:
        """One row per run and step, sorted by them: the fields of the grid, and what was recorded on the way."""
        return self._with_fields(self._tables("records")[0].lazy())

    @cached_property
    def _runs(self) -> pl.DataFrame:
        return self._tables("runs")[0]

    def both(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return `runs` and `records`; every file is read once."""
        runs, records = self._tables("runs", "records")
        return self._with_fields(runs.lazy()).collect(), self._with_fields(records.lazy()).collect()

    def _with_fields(self, table: pl.LazyFrame) -> pl.LazyFrame:
        """Add the fields of the grid to a table; a measured column of the same name keeps it."""
        taken = set(table.collect_schema().names()) - {"cell"}
        fields = [name for name in self.fields if name not in taken]
        return table.join(self.cells.select("cell", *fields), on="cell", how="left", maintain_order="left")

    def _tables(self, *kinds: TableName) -> list[pl.DataFrame]:
        found = [[getattr(outcome, kind) for kind in kinds] for _, outcome in self._outcomes()]
        columns = zip(*found, strict=True) if found else [()] * len(kinds)
        return [self._joined(kind, tables) for kind, tables in zip(kinds, columns, strict=True)]

    def _joined(self, kind: TableName, tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
        known, tables = COLUMNS[kind], [table for table in tables if table.height]
        if not tables:
            return pl.DataFrame(schema=known)
        # Pieces of failed runs have fewer columns than others.
        table = pl.concat(tables, how="diagonal_relaxed")
        # One order of columns, whatever the pieces.
        order = [*known, *sorted(name for name in table.columns if name not in known)]
        return table.select(order).sort("cell", "run", maintain_order=True)

    def _outcomes(self, cell: int | None = None) -> Iterator[tuple[Range, Computed]]:
        """Yield what is there, of one cell or of all; what is damaged is left out, with a warning."""
        for sentence in () if self._told else self.coverage.damaged:
            warnings.warn(f"{sentence}: its runs are left out", stacklevel=6)
        for covered in self.coverage.ranges:
            if cell not in (None, covered.cell):
                continue
            path = self._store.path(key_of(covered))
            try:
                found = read_range(self._store, covered, self.manifest.specification)
                if found is None:
                    raise MalformedData(f"{path} has gone.")
                yield covered, found[1]
            except MalformedData as error:
                if not self._told:
                    warnings.warn(f"{str(error).rstrip('.')}: {covered.runs} runs are left out", stacklevel=6)
        self._told = True

    def arrays(self, name: str, cell: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return an array of a cell: the runs that have it, and its values with the runs as leading axis.

        Args:
            name: Name of the array.
            cell: Index of the cell.

        Raises:
            InvalidArgument: If no run of the cell has such an array.
        """
        runs, values, names = [], [], set()
        for covered, outcome in self._outcomes(cell):
            names |= outcome.arrays.keys()
            if name in outcome.arrays:
                runs.append(np.arange(covered.first, covered.first + covered.runs))
                values.append(outcome.arrays[name])
        if not values:
            there = ", ".join(sorted(names)) or "none"
            raise invalid("name", f"be an array of cell {cell} ({there})", repr(name), "Choose one of these")
        return np.concatenate(runs), np.concatenate(values)

    def success(self, by: Fields = None, below: float | None = None) -> pl.DataFrame:
        """Return how many runs succeed, with Wilson's intervals (95 %), for every setting.

        Runs that failed, that is, could not be computed, are counted apart and are no trials.

        Args:
            by: Fields of the grid to group by; all by default, none with an empty list.
            below: A run succeeds if its loss is at most this; by default if it has reached the teacher as the
                specification says (column `success`), or, where that says nothing, if its status is `converged`.

        Returns:
            One row per setting: `runs`, `failed`, `successes`, `rate`, `low` and `high`.
        """
        return self._grouped(by, below, [])

    def summary(self, by: Fields = None, below: float | None = None) -> pl.DataFrame:
        """Return the rates of success, and besides the median of steps and losses and the time on one core.

        Args:
            by: See `success`.
            below: See `success`.

        Returns:
            The columns of `success`, then `diverged`, `steps`, `lowest_loss`, `loss` and `seconds`. Where a run that
            diverged was when it was given up says nothing: losses are those of the others.
        """
        diverged = pl.col("status") == "diverged"
        loss = pl.col("loss").fill_nan(None).filter(~diverged)
        more = [
            diverged.sum().cast(pl.Int64).alias("diverged"),
            pl.col("steps").median(),
            loss.min().alias("lowest_loss"),
            loss.median().alias("loss"),
            pl.col("seconds").fill_nan(None).sum(),
        ]
        return self._grouped(by, below, more)

    def _grouped(self, by: Fields, below: float | None, more: list[pl.Expr]) -> pl.DataFrame:
        fields = self.checked_fields("by", by)
        if below is not None and math.isnan(below):
            raise invalid("below", "be a loss", repr(below), "Pass a number")
        runs = self._runs.lazy()
        names = runs.collect_schema().names()
        if below is not None:
            # Not a number is not below anything.
            succeeds = (pl.col("loss") <= below) & pl.col("loss").is_not_nan()
        elif "success" in names:
            succeeds = pl.col("success")
        else:
            succeeds = pl.col("status") == "converged"
        failed = pl.col("status") == FAILED
        counts = [
            pl.len().cast(pl.Int64).alias("runs"),
            failed.sum().cast(pl.Int64).alias("failed"),
            (succeeds & ~failed).fill_null(False).sum().cast(pl.Int64).alias("successes"),
        ]
        if fields:
            # A field may have the name of something measured, such as `success`.
            keys = {f"field {name}": name for name in fields}
            grid = self.cells.select("cell", *(pl.col(name).alias(key) for key, name in keys.items()))
            grouped = runs.join(grid, on="cell", how="left").group_by(list(keys)).agg(counts + more)
            table = grouped.rename(keys).sort(fields).collect()
        else:
            table = runs.select(counts + more).collect()
        intervals = [
            (done / trials, *wilson_interval(done, trials)) if trials else (None, None, None)
            for done, trials in zip(table["successes"], table["runs"] - table["failed"], strict=True)
        ]
        schema = {"rate": pl.Float64, "low": pl.Float64, "high": pl.Float64}
        rates = pl.DataFrame(intervals, schema=schema, orient="row")
        at = len(fields) + len(counts)
        return pl.concat([table[:, :at], rates, table[:, at:]], how="horizontal")

    def statuses(self) -> dict[str, int]:
        """Return how many of the runs that are there have each status."""
        return dict(sorted(self._runs["status"].value_counts().iter_rows()))

    def checked_fields(self, argument: str, fields: Fields) -> list[str]:
        """Return fields of the grid as a list, or raise if there is no such field."""
        chosen = self.fields if fields is None else [fields] if isinstance(fields, str) else list(dict.fromkeys(fields))
        for name in chosen:
            if name not in self.fields:
                there = ", ".join(self.fields) or "there is none"
                raise invalid(argument, f"be a field of the grid ({there})", repr(name), "Choose one of these")
        return chosen

    def plot_success(self, field: str, by: Fields = (), below: float | None = None, ax: Axes | None = None) -> Axes:
        """Draw the rate of success against a field of the grid, with Wilson's intervals.

        Args:
            field: The field on the horizontal axis.
            by: Fields that tell curves apart.
            below: See `success`.
            ax: Where to draw; a new figure by default.
        """
        from tutelage.sweeps.figures import plot_success

        return plot_success(self, field, by, below, ax)

    def plot_history(
        self,
        quantity: str,
        by: Fields = (),
        quantiles: tuple[float, float] = (0.1, 0.9),
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the median of a recorded quantity against the step, with a band of quantiles over runs.

        A run that has ended keeps its last value.

        Args:
            quantity: A recorded quantity.
            by: Fields that tell curves apart.
            quantiles: The band.
            ax: Where to draw; a new figure by default.
        """
        from tutelage.sweeps.figures import plot_history

        return plot_history(self, quantity, by, quantiles, ax)
