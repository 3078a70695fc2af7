"""Pieces: what shards have computed, as the bytes of files.

A piece holds the runs of some ranges: a table of runs, a table of records, and arrays. It is encoded where it is
computed, and stays as it is when it is joined with others; only where there are very many, neighbours become one.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from tutelage.errors import MalformedData, TutelageError
from tutelage.files import digest
from tutelage.sweeps.contract import Outcome, Shard
from tutelage.work.archives import archive_arrays
from tutelage.work.parquet import read_table, table_bytes

Range: TypeAlias = tuple[int, int, int]
"""A cell, its first run, and the number of runs."""
Segments: TypeAlias = dict[tuple[int, str, int], np.ndarray]
"""Arrays by cell, name and first run; the leading axis are consecutive runs."""

FAILED = "failed"
"""Status of a run that could not be computed."""
RUN_COLUMNS = {
    "cell": pl.Int64(),
    "run": pl.Int64(),
    "status": pl.String(),
    "reason": pl.String(),
    "steps": pl.Int64(),
    "loss": pl.Float64(),
    "gradient_norm": pl.Float64(),
    "seconds": pl.Float64(),
}
RECORD_COLUMNS = {"cell": pl.Int64(), "run": pl.Int64(), "step": pl.Int64(), "time": pl.Float64()}


@dataclass(frozen=True)
class Part:
    """The runs of some ranges, as the bytes of files.

    Attributes:
        ranges: What it covers, sorted; every run has one row.
        failed: Number of rows with status `failed`.
        seconds: Time that its runs took, on one core.
        form: Digest of the columns of its tables; what has the same can stand in one file.
        files: Content by kind: `runs` and `records` (Parquet; no file if there are no records), `arrays` (`.npz`).
    """

    ranges: tuple[Range, ...]
    failed: int
    seconds: float
    form: str
    files: dict[str, bytes]

    @property
    def runs(self) -> int:
        """Number of runs."""
        return sum(runs for _, _, runs in self.ranges)


def part_of(shard: Shard, outcome: Outcome) -> Part:
    """Encode what a shard has computed.

    Raises:
        TutelageError: If the outcome does not have exactly one row for each run of the shard, or an array is of
            another length.
    """
    runs = outcome.runs
    expected = np.arange(shard.first, shard.first + shard.runs)
    if not (np.array_equal(runs["run"].to_numpy(), expected) and (runs["cell"] == shard.cell).all()):
        raise TutelageError(f"{shard} must give one row for each of its runs, but gave {runs.height} rows")
    for name, values in outcome.arrays.items():
        if len(values) != shard.runs:
            raise TutelageError(f"the array `{name}` of {shard} must have its runs as leading axis")
    segments = {(shard.cell, name, shard.first): np.asarray(values) for name, values in outcome.arrays.items()}
    return _part([(shard.cell, shard.first, shard.runs)], runs, outcome.records, segments)


def failed_part(shard: Shard, reason: str) -> Part:
    """Return the part of a shard none of whose runs could be computed: rows with the reason."""
    count = shard.runs
    columns: dict[str, list[Any]] = {name: [None] * count for name in RUN_COLUMNS}
    columns |= {"cell": [shard.cell] * count, "run": list(range(shard.first, shard.first + count))}
    columns |= {"status": [FAILED] * count, "reason": [reason] * count}
    return _part(
        [(shard.cell, shard.first, count)],
        pl.DataFrame(columns, schema=RUN_COLUMNS),
        pl.DataFrame(schema=RECORD_COLUMNS),
        {},
    )


def merged(pieces: Sequence[Mapping[str, bytes]], without_failed: bool = False) -> Part:
    """Make one piece of several, or of one the same without the runs that failed; then it may have no ranges.

    Args:
        pieces: Content of their files by kind, each; tables of a kind have the same columns.
        without_failed: Whether the runs that failed are taken out.

    Raises:
        MalformedData: If one is something else; the text continues a sentence.
    """
    tables = {
        kind: [read_table(files[kind]) for files in pieces if kind in files] or [pl.DataFrame(schema=columns)]
        for kind, columns in (("runs", RUN_COLUMNS), ("records", RECORD_COLUMNS))
    }
    runs, records = (pl.concat(tables[kind]).sort("cell", "run", maintain_order=True) for kind in tables)
    if without_failed:
        runs = runs.filter(runs["status"] != FAILED)
        records = records.join(runs.select("cell", "run"), on=["cell", "run"], how="semi", maintain_order="left")
    segments: Segments = {}
    for files in pieces:
        segments |= decoded_arrays(files["arrays"]) if "arrays" in files else {}
    ranges = ranges_of(zip(runs["cell"].to_list(), runs["run"].to_list(), strict=True))
    return _part(ranges, runs, records, segments)


def ranges_of(runs: Iterable[tuple[int, int]]) -> list[Range]:
    """Return sorted pairs of cell and run as ranges."""
    ranges: list[Range] = []
    for cell, run in runs:
        if ranges and ranges[-1][0] == cell and ranges[-1][1] + ranges[-1][2] == run:
            ranges[-1] = (cell, ranges[-1][1], ranges[-1][2] + 1)
        else:
            ranges.append((cell, run, 1))
    return ranges


def decoded_arrays(content: bytes) -> Segments:
    """Return the arrays of a file; objects are refused.

    Raises:
        MalformedData: If it is something else; the text continues a sentence.
    """
    found = {}
    for entry, values in archive_arrays(content).items():
        cell, *name, first = entry.split("/")
        if not (name and cell.isdecimal() and first.isdecimal() and values.ndim):
            raise MalformedData("is an archive of something else than arrays of runs")
        found[int(cell), "/".join(name), int(first)] = values
    return found


def consecutive(segments: Segments, ranges: Sequence[Range]) -> Segments:
    """Cut arrays to ranges, and join those that follow each other."""
    wanted: dict[int, list[np.ndarray]] = {}
    for cell, first, count in ranges:
        wanted.setdefault(cell, []).append(np.arange(first, first + count))
    # Arrays of one name and cell have one shape; if they ever had not, they stay apart.
    alike: dict[tuple[Any, ...], list[tuple[np.ndarray, np.ndarray]]] = {}
    for (cell, name, first), values in sorted(segments.items(), key=lambda item: item[0]):
        runs = np.arange(first, first + len(values))
        kept = np.isin(runs, np.concatenate(wanted.get(cell, [runs[:0]])))
        alike.setdefault((cell, name, values.shape[1:], values.dtype.str), []).append((runs[kept], values[kept]))
    result: Segments = {}
    for (cell, name, *_), pieces in alike.items():
        runs = np.concatenate([runs for runs, _ in pieces])
        values = np.concatenate([values for _, values in pieces])
        cuts = np.flatnonzero(np.diff(runs) != 1) + 1
        for part, piece in zip(np.split(runs, cuts), np.split(values, cuts), strict=True):
            if len(part):
                result[cell, name, int(part[0])] = piece
    return result


def _part(ranges: Sequence[Range], runs: pl.DataFrame, records: pl.DataFrame, segments: Segments) -> Part:
    files = {"runs": table_bytes(runs)}
    if records.height:
        files["records"] = table_bytes(records)
    segments = consecutive(segments, ranges)
    if segments:
        buffer = io.BytesIO()
        named = {f"{cell}/{name}/{first}": values for (cell, name, first), values in segments.items()}
        np.savez(buffer, allow_pickle=False, **named)  # type: ignore[arg-type]
        files["arrays"] = buffer.getvalue()
    failed = int((runs["status"] == FAILED).sum())
    form = digest(f"{sorted(files)} {runs.schema} {records.schema if records.height else None}")
    return Part(tuple(sorted(ranges)), failed, float(runs["seconds"].fill_nan(None).sum() or 0.0), form, files)
