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
_VECTOR = pl.List(pl.Float64)
# What stands in the places of what is missing, in columns that are arrays as they are.
_FILL: dict[Any, Any] = {pl.Int64(): 0, pl.Float64(): 0.0, pl.Boolean(): False}


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
    """

    runs: Annotated[int, Field(ge=1)]
    failed: Annotated[int, Field(ge=0)]
    seconds: Annotated[float, Field(ge=0)]
    # Kinds of columns, which arrays tell themselves: version 0.2.0 has written them.
    columns: Annotated[Any, Field(exclude=True)] = None


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
    arrays = {f"{_ARRAYS}{name}": np.asarray(values) for name, values in outcome.arrays.items()}
    for kind, table in (("runs", runs), ("records", outcome.records)):
        for name, column in table.to_dict().items():
            arrays |= _encoded(f"{kind}/{name}", column)
    facts = Facts(
        runs=covered.runs,
        failed=runs["status"].to_list().count(FAILED),
        seconds=float(np.nansum(runs["seconds"].to_numpy())),
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


def computed_of(content: Content) -> Computed:
    """Return what a range has computed from the content of its piece.

    Raises:
        MalformedData: If it contradicts itself; the text continues a sentence.
    """
    arrays = {name.removeprefix(_ARRAYS): values for name, values in content.arrays.items() if name.startswith(_ARRAYS)}
    runs, records = (_table(content.arrays, kind) for kind in COLUMNS)
    return Computed(runs, records, arrays)


def _table(arrays: Mapping[str, np.ndarray], kind: TableName) -> pl.DataFrame:
    table = {
        name.removeprefix(f"{kind}/"): _decoded(name, values, arrays.get(f"{name}{_NULL}"))
        for name, values in arrays.items()
        if name.startswith(f"{kind}/") and not name.endswith(_NULL)
    }
    for name, wanted in COLUMNS[kind].items():
        if name not in table or table[name].dtype != wanted:
            raise MalformedData(f"has no column `{name}` of the right kind")
    if len({len(column) for column in table.values()}) > 1:
        raise MalformedData("has a table whose columns differ in length")
    return pl.DataFrame(table)


def _encoded(name: str, column: pl.Series) -> dict[str, np.ndarray]:
    # Polars plans a query for most of what it does: not where nothing is missing.
    missing = {f"{name}{_NULL}": column.is_null().to_numpy()} if column.null_count() else {}
    if column.dtype == pl.String:
        text = json.dumps([word or "" for word in column.to_list()], ensure_ascii=False).encode()
        return {name: np.frombuffer(text, np.uint8), **missing}
    if column.dtype == _VECTOR:
        # The runs of one cell have as many vectors each; where a quantity was not recorded, all rows are empty.
        rows = [row for row in column.to_list() if row is not None]
        return {name: np.array(rows, dtype=float).reshape(len(rows), -1 if rows else 0), **missing}
    if column.dtype not in _FILL:
        held = "must hold numbers, words, truth values or vectors"
        raise TutelageError(f"the column `{name}` {held}, but holds {column.dtype}")
    return {name: (column.fill_null(_FILL[column.dtype]) if missing else column).to_numpy(), **missing}


def _decoded(name: str, values: np.ndarray, null: np.ndarray | None) -> pl.Series:
    vectors = values.dtype == np.float64 and values.ndim == 2
    if values.dtype == np.uint8 and values.ndim == 1:
        words = parsed(values.tobytes())
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise MalformedData(f"has a column `{name}` that is no list of words")
        column = pl.Series(words, dtype=pl.String)
    elif vectors:
        column = pl.Series(values).arr.to_list() if values.size else pl.Series([], dtype=_VECTOR)
    elif values.dtype in (np.int64, np.float64, np.bool_) and values.ndim == 1:
        column = pl.Series(values)
    else:
        raise MalformedData(f"has a column `{name}` of no kind that columns have")
    if null is None:
        return column
    rows = len(null) - int(null.sum()) if vectors and null.dtype == bool else len(null)
    if null.dtype != bool or null.ndim != 1 or len(column) != rows:
        raise MalformedData(f"has a column `{name}` that contradicts itself")
    if vectors:
        places = np.where(null, 0, np.cumsum(~null) - 1)
        column = column.gather(places) if len(column) else pl.Series([None] * len(null), dtype=_VECTOR)
    return pl.select(pl.when(pl.lit(pl.Series(~null))).then(pl.lit(column))).to_series()
