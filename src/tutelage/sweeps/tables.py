"""What a range of runs has computed: its tables and arrays, and how a piece of work holds them.

The columns of a table are arrays of numbers; a column of text is a list in JSON; what is missing in a column is an
array of truth values beside it. So a piece can be read by anybody who has NumPy, and takes no more memory than it says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
from pydantic import Field

from tutelage.errors import MalformedData, TutelageError
from tutelage.work.documents import Document, parsed
from tutelage.work.store import Content

TableName = Literal["runs", "records"]
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
COLUMNS: dict[TableName, dict[str, Any]] = {"runs": RUN_COLUMNS, "records": RECORD_COLUMNS}
"""Columns that every table has, in their order."""
_ARRAYS, _NULL = "arrays/", "/null"
_KINDS = {
    "whole": pl.Int64(),
    "real": pl.Float64(),
    "truth": pl.Boolean(),
    "text": pl.String(),
    "vector": pl.List(pl.Float64),
}
_DTYPES = {"whole": "i8", "real": "f8", "truth": "?", "text": "u1", "vector": "f8"}
_FILL = {"whole": 0, "real": 0.0, "truth": False}
ColumnKind = Literal["whole", "real", "truth", "text", "vector"]


@dataclass(frozen=True)
class Range:
    """Some runs of one cell: a piece of a sweep.

    Attributes:
        cell: Index of the cell (one setting of the grid) in the expanded order.
        first: First run of the cell in this range.
        runs: Number of runs.
        cost: Estimated seconds on one core, for balance only.
    """

    cell: int
    first: int
    runs: int
    cost: float = field(default=0.0, compare=False)


@dataclass(frozen=True)
class Computed:
    """What a range has computed; every row carries `cell` and `run` (the index within the cell), sorted by them.

    Attributes:
        runs: One row per run, always: `cell`, `run`, `status`, `reason`, `steps`, `loss`, `gradient_norm`, `seconds`,
            and diagnostics.
        records: Long: `cell`, `run`, `step`, `time` and the quantities; may be empty, but with its columns.
        arrays: Such as the end points; the leading axis are the runs.
    """

    runs: pl.DataFrame
    records: pl.DataFrame
    arrays: dict[str, np.ndarray]


class Facts(Document):
    """What a piece of a sweep says of itself.

    Attributes:
        runs: Number of its runs.
        failed: Number of them that failed.
        seconds: Time that they took, on one core.
        columns: Kinds of the columns, by table and name.
    """

    runs: Annotated[int, Field(ge=1)]
    failed: Annotated[int, Field(ge=0)]
    seconds: Annotated[float, Field(ge=0)]
    columns: dict[TableName, dict[str, ColumnKind]]


def content_of(covered: Range, outcome: Computed) -> Content:
    """Return what a range has computed as the content of a piece.

    Raises:
        TutelageError: If the outcome has other rows than those of its runs; see `check_rows`.
    """
    try:
        check_rows(covered, outcome)
    except MalformedData as error:
        raise TutelageError(f"{covered} {error}") from error
    runs = outcome.runs
    arrays, columns = {f"{_ARRAYS}{name}": np.asarray(values) for name, values in outcome.arrays.items()}, {}
    for kind, table in (("runs", runs), ("records", outcome.records)):
        columns[kind] = {name: _kind_of(name, dtype) for name, dtype in table.schema.items()}
        for name, column in table.to_dict().items():
            arrays |= _encoded(f"{kind}/{name}", column, columns[kind][name])
    facts = Facts(
        runs=covered.runs,
        failed=runs["status"].to_list().count(FAILED),
        seconds=float(np.nansum(runs["seconds"].to_numpy())),
        columns=columns,
    )
    return Content(facts.model_dump(), arrays)


def check_rows(covered: Range, outcome: Computed) -> None:
    """Compare the rows of an outcome with the runs of its range.

    Raises:
        MalformedData: If there is not exactly one row for each run, a record is of another one, or an array is of
            another length; the text continues a sentence.
    """
    numbers = np.arange(covered.first, covered.first + covered.runs)
    # In NumPy: Polars plans a query for every comparison, which takes longer than all the rest of a small piece.
    cells, runs = (outcome.runs[name].to_numpy() for name in ("cell", "run"))
    if not (np.array_equal(runs, numbers) and (cells == covered.cell).all()):
        raise MalformedData("has other rows than one for each of its runs")
    cells, runs = (outcome.records[name].to_numpy() for name in ("cell", "run"))
    if not (np.isin(runs, numbers).all() and (cells == covered.cell).all()):
        raise MalformedData("has records of other runs")
    for name, values in outcome.arrays.items():
        if np.ndim(values) == 0 or len(values) != covered.runs:
            raise MalformedData(f"has an array `{name}` whose leading axis are not its runs")


def failed_runs(covered: Range, reason: str, columns: Mapping[str, Any] = RUN_COLUMNS) -> pl.DataFrame:
    """Return the rows of a range none of whose runs could be computed."""
    count = covered.runs
    rows: dict[str, list[Any]] = {name: [None] * count for name in columns}
    rows |= {"cell": [covered.cell] * count, "run": list(range(covered.first, covered.first + count))}
    rows |= {"status": [FAILED] * count, "reason": [reason] * count}
    return pl.DataFrame(rows, schema=dict(columns))


def failed_content(covered: Range, reason: str) -> Content:
    """Return the content of a range that has no other rows than those of `failed_runs`."""
    return content_of(covered, Computed(failed_runs(covered, reason), pl.DataFrame(schema=RECORD_COLUMNS), {}))


def computed_of(content: Content, facts: Facts) -> Computed:
    """Return what a range has computed from the content of its piece and what that says of itself.

    Raises:
        MalformedData: If it contradicts itself; the text continues a sentence.
    """
    arrays = {name.removeprefix(_ARRAYS): values for name, values in content.arrays.items() if name.startswith(_ARRAYS)}
    runs, records = (_table(content, kind, facts.columns.get(kind, {})) for kind in COLUMNS)
    return Computed(runs, records, arrays)


def _table(content: Content, kind: TableName, columns: Mapping[str, ColumnKind]) -> pl.DataFrame:
    for name, wanted in COLUMNS[kind].items():
        if name not in columns or _KINDS[columns[name]] != wanted:
            raise MalformedData(f"has no column `{name}` of the right kind")
    table = {name: _decoded(content.arrays, f"{kind}/{name}", one) for name, one in columns.items()}
    if len({len(column) for column in table.values()}) > 1:
        raise MalformedData("has a table whose columns differ in length")
    return pl.DataFrame(table)


def _kind_of(name: str, dtype: pl.DataType) -> ColumnKind:
    for kind, one in _KINDS.items():
        if dtype == one:
            return kind  # type: ignore[return-value]
    raise TutelageError(f"the column `{name}` must hold numbers, words, truth values or vectors, but holds {dtype}")


def _encoded(name: str, column: pl.Series, kind: ColumnKind) -> dict[str, np.ndarray]:
    # Polars plans a query for most of what it does: not where nothing is missing.
    missing = {f"{name}{_NULL}": column.is_null().to_numpy()} if column.null_count() else {}
    if kind == "text":
        text = json.dumps([word or "" for word in column.to_list()], ensure_ascii=False).encode()
        return {name: np.frombuffer(text, np.uint8), **missing}
    if kind == "vector":
        # The runs of one cell have as many vectors each; where a quantity was not recorded, all rows are empty.
        rows = [row for row in column.to_list() if row is not None]
        return {name: np.array(rows, dtype=float).reshape(len(rows), -1 if rows else 0), **missing}
    whole = column.fill_null(_FILL[kind]) if missing else column
    return {name: whole.to_numpy().astype(_DTYPES[kind]), **missing}


def _decoded(arrays: Mapping[str, np.ndarray], name: str, kind: ColumnKind) -> pl.Series:
    values, null = arrays.get(name), arrays.get(f"{name}{_NULL}")
    axes = 2 if kind == "vector" else 1
    if values is None or values.dtype != np.dtype(_DTYPES[kind]) or values.ndim != axes:
        raise MalformedData(f"has no column `{name}`, or one of another kind")
    if kind == "text":
        words = parsed(values.tobytes())
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise MalformedData(f"has a column `{name}` that is no list of words")
        column = pl.Series(words, dtype=pl.String)
    elif kind == "vector":
        column = pl.Series(values).arr.to_list() if values.size else pl.Series([], dtype=_KINDS[kind])
    else:
        column = pl.Series(values, dtype=_KINDS[kind])
    if null is None:
        return column
    rows = len(null) - int(null.sum()) if kind == "vector" and null.dtype == bool else len(null)
    if null.dtype != bool or null.ndim != 1 or len(column) != rows:
        raise MalformedData(f"has a column `{name}` that contradicts itself")
    if kind == "vector":
        places = np.where(null, 0, np.cumsum(~null) - 1)
        column = column.gather(places) if len(column) else pl.Series([None] * len(null), dtype=_KINDS[kind])
    return pl.select(pl.when(pl.lit(pl.Series(~null))).then(pl.lit(column))).to_series()
