"""Reading the folder of a sweep, finished or not, also while another process works on it."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from tutelage.errors import MalformedData, invalid
from tutelage.files import about, checked_path
from tutelage.statistics import wilson_interval
from tutelage.sweeps.entries import Entry
from tutelage.sweeps.ledger import Ledger, read_ledger
from tutelage.sweeps.manifest import read_cells, read_manifest
from tutelage.sweeps.parts import FAILED, RECORD_COLUMNS, RUN_COLUMNS, consecutive, decoded_arrays
from tutelage.work.parquet import check_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Fields = str | Sequence[str] | None
Result = TypeVar("Result")
_TRIES = 10


def _check_columns(content: bytes, kind: str) -> None:
    """Refuse a table that cannot be one of runs or records, whatever its checksum says."""
    schema = pl.read_parquet_schema(io.BytesIO(content))
    wanted = {"cell": pl.Int64, "run": pl.Int64} | ({"status": pl.String, "loss": pl.Float64} if kind == "runs" else {})
    for name, wanted_kind in wanted.items():
        if schema.get(name) != wanted_kind:
            raise MalformedData(f"has no column `{name}` of the right kind")


class _Moved(Exception):
    """A part has become part of another one since the folder was opened."""


def open_sweep(folder: str | Path) -> Results:
    """Open the folder of a sweep for reading: what is there at this moment.

    Args:
        folder: The folder, finished or not.

    Raises:
        MalformedData: If it is not the folder of a sweep, or its manifest is damaged.
        Unreadable: If something in it cannot be read, is not a regular file, or too large.
    """
    path = checked_path("folder", folder)
    manifest = read_manifest(path)
    return Results(path, manifest, read_ledger(path, manifest["specification"], thorough=False))


class Results:
    """What a sweep has computed so far, as tables and arrays.

    Runs whose files do not match their checksums are left out, with a warning; `tutelage sweep` computes them again. A
    lazy frame is to be collected soon while a sweep is running, which joins small files now and then.

    Attributes:
        folder: Where the files are.
        manifest: The specification, and how, where and when it was swept.
        ledger: Which parts there are.
    """

    def __init__(self, folder: Path, manifest: dict[str, Any], ledger: Ledger):
        self.folder, self.manifest, self.ledger = folder, manifest, ledger

    def __repr__(self) -> str:
        done, runs = self.ledger.runs, self.manifest["runs"]
        return f"Results({self.folder}: {done} of {runs} runs in {self.manifest['cells']} cells)"

    @property
    def complete(self) -> bool:
        """Whether every run is there."""
        return self.ledger.runs == self.manifest["runs"]

    @property
    def fields(self) -> list[str]:
        """The fields of the grid."""
        return [name for name in self._grid.columns if name not in ("cell", "runs")]

    @cached_property
    def _grid(self) -> pl.DataFrame:
        return read_cells(self.folder, self.manifest)

    @property
    def cells(self) -> pl.LazyFrame:
        """One row a cell: `cell`, the fields of the grid, and the number of `runs`."""
        return self._grid.lazy()

    @property
    def runs(self) -> pl.LazyFrame:
        """One row a run, sorted by cell and run: the fields of the grid, how it ended, and what is known of its end."""
        return self._settled(lambda: self._with_fields(self._table("runs", RUN_COLUMNS)))

    @property
    def records(self) -> pl.LazyFrame:
        """One row a run and step, sorted by them: the fields of the grid, and what was recorded on the way."""
        return self._settled(lambda: self._with_fields(self._table("records", RECORD_COLUMNS)))

    def _with_fields(self, table: pl.LazyFrame) -> pl.LazyFrame:
        """Add the fields of the grid to a table; a measured column of the same name keeps it."""
        taken = set(table.collect_schema().names()) - {"cell"}
        fields = [name for name in self.fields if name not in taken]
        return table.join(self.cells.select("cell", *fields), on="cell", how="left", maintain_order="left")

    def _table(self, kind: str, known: dict[str, Any]) -> pl.LazyFrame:
        # Parts of failed runs have fewer columns than others; pieces of a damaged part are read from memory.
        alike: dict[tuple[Any, ...], list[Path | io.BytesIO]] = {}
        for source in self._sources(kind):
            columns = pl.read_parquet_schema(source)
            if isinstance(source, io.BytesIO):
                source.seek(0)
            alike.setdefault((isinstance(source, Path), *columns.items()), []).append(source)
        if not alike:
            return pl.LazyFrame(schema=known)
        tables = [pl.scan_parquet(group) for group in alike.values()]  # type: ignore[arg-type]
        table = pl.concat(tables, how="diagonal_relaxed")
        names = table.collect_schema().names()
        # One order of columns, whatever the parts.
        order = [*(name for name in known if name in names), *sorted(name for name in names if name not in known)]
        return table.select(order).sort("cell", "run", maintain_order=True)

    def _sources(self, kind: str) -> list[Path | io.BytesIO]:
        """Return the tables of a kind that match their checksums: files, or pieces of damaged ones."""
        if kind not in self._checked:
            sources: list[Path | io.BytesIO] = []
            for entry in self.ledger.entries:
                if kind in entry.files:
                    found = self._intact(entry, kind)
                    for content in [entry.read(kind)] if found is None else found.values():
                        with about(entry.path(kind)):
                            check_table(content)
                            _check_columns(content, kind)
                    sources += [entry.path(kind)] if found is None else [io.BytesIO(frame) for frame in found.values()]
            self._checked[kind] = sources
        return self._checked[kind]

    def _intact(self, entry: Entry, kind: str) -> dict[int, bytes] | None:
        """Return `None` if a file is as it was written, or else its intact pieces, with a warning for the others."""
        try:
            entry.read(kind)
            return None if not entry.lost else self._pieces(entry, kind)
        except MalformedData as error:
            if not entry.path(kind).exists() and entry not in self._ledger_now().entries:
                raise _Moved from error
            frames = self._pieces(entry, kind) if entry.path(kind).exists() else {}
            left = sum(piece.runs for place, piece in enumerate(entry.pieces) if place in frames)
            # What the ledger has found damaged was told when it was opened.
            if left < entry.runs:
                warnings.warn(f"{error}: {entry.runs - left} runs are left out", stacklevel=7)
            return frames

    @staticmethod
    def _pieces(entry: Entry, kind: str) -> dict[int, bytes]:
        return {place: frame for place, frame in entry.frames(kind).items() if place not in entry.lost}

    @cached_property
    def _checked(self) -> dict[str, list[Path | io.BytesIO]]:
        for sentence in self.ledger.damaged:
            warnings.warn(f"{sentence}: its lost runs are left out", stacklevel=7)
        return {}

    def _ledger_now(self) -> Ledger:
        return read_ledger(self.folder, self.manifest["specification"], thorough=False)

    def _settled(self, read: Callable[[], Result]) -> Result:
        """Read; if parts were joined by a running sweep in the meantime, read again what they have become."""
        for _ in range(_TRIES):
            try:
                return read()
            except (_Moved, FileNotFoundError) as error:
                now = self._ledger_now()
                if now == self.ledger:
                    raise MalformedData(f"{self.folder} cannot be read ({error}).") from error
                self.ledger = now
                self.__dict__.pop("_checked", None)
        raise MalformedData(f"{self.folder} changes too quickly to be read.")

    def arrays(self, name: str, cell: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return an array of a cell: the runs that have it, and its values with the runs as leading axis.

        Args:
            name: Name of the array.
            cell: Index of the cell.

        Raises:
            InvalidArgument: If no run of the cell has such an array.
        """
        return self._settled(lambda: self._arrays(name, cell))

    def _arrays(self, name: str, cell: int) -> tuple[np.ndarray, np.ndarray]:
        segments, names = {}, set()
        for entry in self.ledger.entries:
            if "arrays" not in entry.files or all(covered[0] != cell for covered in entry.ranges):
                continue
            found = self._intact(entry, "arrays")
            frames = entry.frames("arrays") if found is None else found
            for place, frame in frames.items():
                if any(covered[0] == cell for covered in entry.pieces[place].ranges):
                    with about(entry.path("arrays")):
                        decoded = decoded_arrays(frame)
                    names |= {key[1] for key in decoded if key[0] == cell}
                    segments |= {key: values for key, values in decoded.items() if key[:2] == (cell, name)}
        if not segments:
            there = ", ".join(sorted(names)) or "none"
            raise invalid("name", f"be an array of cell {cell} ({there})", repr(name), "Choose one of these")
        ranges = [covered for entry in self.ledger.entries for covered in entry.ranges]
        pieces = sorted(consecutive(segments, ranges).items())
        runs = np.concatenate([np.arange(first, first + len(values)) for (_, _, first), values in pieces])
        return runs, np.concatenate([values for _, values in pieces])

    def success(self, by: Fields = None, below: float | None = None) -> pl.DataFrame:
        """Return how many runs succeed, with Wilson's intervals (95 %), for every setting.

        Runs that failed, that is, could not be computed, are counted apart and are no trials.

        Args:
            by: Fields of the grid to group by; all by default, none with an empty list.
            below: A run succeeds if its loss is at most this; by default if it has reached the teacher as the
                specification says (column `success`), or, where that says nothing, if its status is `converged`.

        Returns:
            One row a setting: `runs`, `failed`, `successes`, `rate`, `low` and `high`.
        """
        return self._settled(lambda: self._grouped(by, below, []))

    def summary(self, by: Fields = None, below: float | None = None) -> pl.DataFrame:
        """Return the rates of success, and besides the median of steps and losses and the time on one core.

        Args:
            by: See `success`.
            below: See `success`.

        Returns:
            The columns of `success`, then `steps`, `lowest_loss`, `loss` and `seconds`.
        """
        loss = pl.col("loss").fill_nan(None)
        more = [
            pl.col("steps").median(),
            loss.min().alias("lowest_loss"),
            loss.median().alias("loss"),
            pl.col("seconds").fill_nan(None).sum(),
        ]
        return self._settled(lambda: self._grouped(by, below, more))

    def _grouped(self, by: Fields, below: float | None, more: list[pl.Expr]) -> pl.DataFrame:
        fields = self.checked_fields("by", by)
        if below is not None and math.isnan(below):
            raise invalid("below", "be a loss", repr(below), "Pass a number")
        runs = self._table("runs", RUN_COLUMNS)
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
