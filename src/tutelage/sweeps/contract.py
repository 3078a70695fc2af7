"""What the engine of sweeps knows of the work it spreads: shards, outcomes, and the contract between the two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import polars as pl


@dataclass(frozen=True)
class Shard:
    """A piece of a sweep: some runs of one cell.

    Attributes:
        cell: Index of the cell (one setting of the grid) in the expanded order.
        first: First run of the cell in this shard.
        runs: Number of runs.
        cost: Estimated seconds on one core, for balance only.
    """

    cell: int
    first: int
    runs: int
    cost: float


@dataclass(frozen=True)
class Outcome:
    """What a shard computed; every row carries `cell` and `run` (the index within the cell), sorted by them.

    Attributes:
        runs: One row per run, always: `cell`, `run`, `status`, `reason`, `steps`, `loss`, `gradient_norm`, `seconds`,
            and diagnostics.
        records: Long: `cell`, `run`, `step`, `time` and the quantities; may be empty, but with its columns.
        arrays: Such as the end points; the leading axis are the runs of the shard.
    """

    runs: pl.DataFrame
    records: pl.DataFrame
    arrays: dict[str, np.ndarray]


Watch: TypeAlias = Callable[[int, int, int], None]
"""Called now and then with the numbers of ended runs, of all runs, and of steps."""


class Work(Protocol):
    """What the engine needs to know of a sweep. It is rebuilt in a worker from its document: never pickled to disk."""

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Work:
        """Return the work that a document describes."""
        ...

    def document(self) -> dict[str, Any]:
        """Return plain JSON: the complete resolved specification (arrays by content digest, embedded or in a file)."""
        ...

    def cells(self) -> pl.DataFrame:
        """Return one row per cell: `cell`, one column per grid field, and the number of `runs`."""
        ...

    def shards(self, seconds: float) -> list[Shard]:
        """Return shards of similar cost near `seconds`, in any order."""
        ...

    def run(self, shard: Shard, stop: Callable[[], bool] | None = None) -> Outcome:
        """Compute a shard; the same rows whatever the sharding."""
        ...
