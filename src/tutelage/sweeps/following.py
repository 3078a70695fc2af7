"""Following the runs of a range, and the tables of what they reached."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import polars as pl

from tutelage.dynamics import Runs, descend, restarts
from tutelage.dynamics.records import QUANTITIES
from tutelage.dynamics.restarts import sign_choices
from tutelage.sweeps.specification.build import Built
from tutelage.sweeps.specification.cell import Cell
from tutelage.sweeps.specification.plan import Plan
from tutelage.sweeps.tables import RECORD_COLUMNS, Computed, Range, failed_runs
from tutelage.sweeps.workers import Watch

RUN_COLUMNS: dict[str, Any] = {
    "cell": pl.Int64,
    "run": pl.Int64,
    "status": pl.String,
    "reason": pl.String,
    "steps": pl.Int64,
    "newton_steps": pl.Int64,
    "attempts": pl.Int64,
    "loss": pl.Float64,
    "gradient_norm": pl.Float64,
    "error_estimate": pl.Float64,
    "success": pl.Boolean,
    "seconds": pl.Float64,
}

# One number per vector of the student; a list for every student, so that all cells of a sweep have the same columns.
_PER_VECTOR = ("norms", "angle", "distance")


def record_columns(plan: Plan) -> dict[str, Any]:
    """Return the columns of the records of all cells; a quantity that a cell does not record is empty there."""
    kinds = {name: pl.List(pl.Float64) if name in _PER_VECTOR else pl.Float64 for name in QUANTITIES}
    return RECORD_COLUMNS | {name: kind for name, kind in kinds.items() if name in plan.recorded}


def follow(plan: Plan, built: Built, covered: Range, watch: Watch | None) -> Computed:
    """Follow the runs of a range.

    Args:
        plan: The sweep.
        built: The objects of the cell.
        covered: The range.
        watch: Called now and then with the numbers of ended runs, of all runs, and of steps; may raise.

    Returns:
        Its rows. If following them together fails, each is followed alone, so that one cannot take the others along.
    """
    try:
        return _followed(plan, built, covered, watch)
    except Exception as error:
        if covered.runs == 1:
            return failed(plan, built, covered, f"{type(error).__name__}: {error}")
    alone = [
        follow(plan, built, replace(covered, first=run, runs=1), watch)
        for run in range(covered.first, covered.first + covered.runs)
    ]
    names = alone[0].arrays
    return Computed(
        pl.concat([one.runs for one in alone]),
        pl.concat([one.records for one in alone]),
        {name: np.concatenate([one.arrays[name] for one in alone]) for name in names},
    )


def failed(plan: Plan, built: Built | None, covered: Range, reason: str) -> Computed:
    """Return the rows of a range none of whose runs could be computed; `built` is `None` if its cell cannot be."""
    runs = failed_runs(covered, reason, RUN_COLUMNS).with_columns(success=pl.lit(False))
    arrays = {}
    if built is not None and plan.cells[covered.cell].keep_points:
        shapes = _named(built.problem.template_tree())
        arrays = {name: np.full((covered.runs, *leaf.shape), np.nan) for name, leaf in shapes.items()}
    return Computed(runs, pl.DataFrame(schema=record_columns(plan)), arrays)


def _named(points: Any) -> dict[str, Any]:
    """Return the arrays of students by name: `points`, or `points.filter` where there are several."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(points)
    return {f"points{jax.tree_util.keystr(path)}": leaf for path, leaf in leaves}


def _followed(plan: Plan, built: Built, covered: Range, watch: Watch | None) -> Computed:
    cell = plan.cells[covered.cell]
    begun = time.monotonic()
    starts = built.starts(covered.first, covered.runs)
    if cell.restarts:
        points, table, records = _restarted(built, cell, covered, starts, watch)
    else:
        reached = descend(
            built.objective,
            starts,
            built.method,
            built.stop,
            built.record,
            seed=cell.seed,
            first_run=covered.first,
            finish=built.finish,
            progress=watch,
        )
        points, table = reached.points, reached.frame().with_columns(attempts=pl.lit(1))
        records = None if built.record is None else reached.history()
    arrays = _named(jax.tree.map(np.asarray, points)) if cell.keep_points else {}
    table = table.with_columns(
        cell=pl.lit(covered.cell),
        success=(pl.col("loss") - built.floor <= cell.success) & pl.col("loss").is_not_nan(),
        # Runs are followed side by side: each has its share of the time.
        seconds=pl.lit((time.monotonic() - begun) / covered.runs),
    )
    return Computed(
        table.select(pl.col(name).cast(kind) for name, kind in RUN_COLUMNS.items()),
        _records(records, covered.cell, record_columns(plan)),
        arrays,
    )


def _records(history: pl.DataFrame | None, cell: int, columns: dict[str, Any]) -> pl.DataFrame:
    if history is None:
        return pl.DataFrame(schema=columns)
    table = history.with_columns(cell=pl.lit(cell))
    chosen = []
    for name, kind in columns.items():
        value = pl.col(name) if name in table.columns else pl.lit(None)
        # A student of one vector has one number, without a list around it.
        if name in table.columns and isinstance(kind, pl.List) and not isinstance(table.schema[name], pl.List):
            value = pl.concat_list(name)
        chosen.append(value.cast(kind).alias(name))
    return table.select(chosen).sort("run", "step")


def _restarted(
    built: Built, cell: Cell, covered: Range, starts: Any, watch: Watch | None
) -> tuple[Any, pl.DataFrame, pl.DataFrame | None]:
    """Follow starts and, where they fail, copies with other signs; the row of a start is that of its best copy."""
    outcome = restarts(
        built.objective,
        starts,
        built.method,
        cell.success + built.floor,
        seed=cell.seed,
        first_run=covered.first,
        progress=watch,
        stop=built.stop,
        record=built.record,
        finish=built.finish,
    )
    choices = sign_choices(starts)
    best = np.array([choices.index(tuple(int(sign) for sign in signs)) for signs in outcome.signs])
    tables, records = [], []
    for attempt, reached in enumerate(outcome.runs):
        followed = _starts_of(attempt, reached, outcome.attempts)
        kept = np.flatnonzero(best[followed] == attempt)
        numbers = pl.DataFrame({"run": reached.first_run + np.arange(len(reached)), "start": covered.first + followed})[
            kept
        ]
        tables.append(_renumbered(reached.frame(), numbers))
        if built.record is not None:
            records.append(_renumbered(reached.history(), numbers))
    attempts = pl.DataFrame({"run": covered.first + np.arange(covered.runs), "attempts": outcome.attempts})
    table = pl.concat(tables).sort("run").join(attempts, on="run", how="left", maintain_order="left")
    return outcome.points, table, pl.concat(records) if records else None


def _starts_of(attempt: int, reached: Runs, attempts: np.ndarray) -> np.ndarray:
    """Return the starts that an attempt followed: all, or those that no earlier attempt had finished."""
    still_open = np.flatnonzero(attempts > attempt)
    return still_open if len(still_open) == len(reached) else np.arange(len(attempts))


def _renumbered(table: pl.DataFrame, numbers: pl.DataFrame) -> pl.DataFrame:
    table = table.join(numbers, on="run", how="inner", maintain_order="left")
    return table.with_columns(run=pl.col("start")).drop("start")
