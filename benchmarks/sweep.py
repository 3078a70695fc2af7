"""Sweeps: speed-up of two workers, overhead of the engine, Dask against processes, and a table of 100,000 runs."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from harness import cores, publish

from tutelage.sweeps import Computed, Range, open_sweep, run_sweep
from tutelage.sweeps.tables import RECORD_COLUMNS
from tutelage.work.engines import Here

RUNS = 40  # of one second each; pass 200 for the full measurement
PIECES = 6  # of five seconds each
ROWS = 100_000


class Spinning:
    """Runs that compute for a given time on one core, without waiting for anything."""

    def __init__(self, cells: int, runs: int, turns: int, seconds: float):
        self._cells, self._runs, self._turns, self._seconds = cells, runs, turns, seconds

    def document(self) -> dict[str, Any]:
        return {
            "kind": "spinning",
            "cells": self._cells,
            "runs": self._runs,
            "turns": self._turns,
            "seconds": self._seconds,
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> "Spinning":
        return cls(document["cells"], document["runs"], document["turns"], document["seconds"])

    def cells(self) -> pl.DataFrame:
        cells = range(self._cells)
        return pl.DataFrame({"cell": cells, "size": cells, "runs": [self._runs] * self._cells})

    def ranges(self, seconds: float, cores: int = 1) -> list[Range]:
        width = max(1, round(seconds / self._seconds)) if self._seconds else self._runs
        return [
            Range(cell, first, min(width, self._runs - first), self._seconds * width)
            for cell in range(self._cells)
            for first in range(0, self._runs, width)
        ]

    def run(self, covered: Range, stop: Callable[[], bool] | None = None, *, progress: Any = None) -> Computed:
        seconds = []
        for _ in range(covered.runs):
            begun = time.perf_counter()
            spin(self._turns)
            seconds.append(time.perf_counter() - begun)
        runs = pl.DataFrame(
            {
                "cell": [covered.cell] * covered.runs,
                "run": range(covered.first, covered.first + covered.runs),
                "status": ["converged" if run % 3 else "step_limit" for run in range(covered.runs)],
                "reason": ["gradient norm 9.7e-13 at most 1e-12"] * covered.runs,
                "steps": np.arange(covered.runs) % 977,
                "loss": np.random.default_rng([covered.cell, covered.first]).random(covered.runs),
                "gradient_norm": np.random.default_rng([covered.first, covered.cell]).random(covered.runs),
                "seconds": seconds,
            }
        )
        return Computed(runs, pl.DataFrame(schema=RECORD_COLUMNS), {})


def spin(turns: int) -> float:
    """Compute for a while."""
    values = np.linspace(0.0, 1.0, 1000)
    for _ in range(turns):
        values = np.sin(values)
    return float(values.sum())


def turns_per_second() -> int:
    """How often this machine can turn in a second."""
    best = np.inf
    for _ in range(5):
        begun = time.perf_counter()
        spin(20_000)
        best = min(best, time.perf_counter() - begun)
    return round(20_000 / best)


@dataclass(frozen=True)
class Timed:
    """Times of a sweep, in seconds.

    Attributes:
        wall: Wall time in all, with the start of workers.
        steady: Wall time from the end of the first piece to the end of the last.
        computing: Time that runs took, all together.
        first: Time that the runs of the first piece took.
    """

    wall: float
    steady: float
    computing: float
    first: float


def swept(folder: Path, work: Spinning, piece_seconds: float, **engine: Any) -> Timed:
    """Sweep, and return how long that took."""
    times: list[float] = []
    begun = time.perf_counter()
    results = run_sweep(
        work, folder, piece_seconds=piece_seconds, watch=lambda _: times.append(time.perf_counter()), **engine
    )
    wall = time.perf_counter() - begun
    seconds = results.runs.collect()["seconds"]
    return Timed(
        wall, times[-1] - times[1], float(seconds.sum()), float(seconds[: work.ranges(piece_seconds)[0].runs].sum())
    )


def bare(turns: int, runs: int) -> float:
    """Return the wall time of two plain processes that do half of the runs each, without an engine."""
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import sweep\n"
    code += f"for _ in range({runs // 2}): sweep.spin({turns})"
    begun = time.perf_counter()
    both = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    for process in both:
        process.wait()
    return time.perf_counter() - begun


def many_rows(folder: Path) -> None:
    """Fill a folder with 100,000 runs in 2,000 pieces, as a long sweep leaves them."""
    run_sweep(Spinning(100, ROWS // 100, 0, 0.2), folder, piece_seconds=10.0, engine=Here())


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    turns = turns_per_second()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        work = Spinning(1, runs, turns, 1.0)
        one = swept(folder / "one", work, 1.0, workers=1)
        two = swept(folder / "two", work, 1.0, workers=2)
        alone = bare(turns, runs)
        dask = swept(folder / "dask", work, 1.0, dask="local:2")
        what = f"two workers against one, {runs} runs of 1 s"
        rows.append([what, f"{one.wall:.1f}, {two.wall:.1f}", f"{one.wall / two.wall:.2f}×", "≥ 1.8×"])
        what = "two workers against two bare processes"
        rows.append([what, f"{two.wall:.1f}, {alone:.1f}", f"{two.wall / alone:.2f}×", "≤ 1.11×"])
        share = two.computing / (2 * two.wall)
        rows.append(["time that both workers spend on runs", f"{two.computing / 2:.1f}", f"{share:.1%}", "≥ 90 %"])
        what = "Dask local:2 against two processes, without start-up"
        rows.append([what, f"{dask.steady:.1f}, {two.steady:.1f}", f"{dask.steady / two.steady:.2f}×", "≤ 1.10×"])
        rows.append(["with start-up", f"{dask.wall:.1f}, {two.wall:.1f}", f"{dask.wall / two.wall:.2f}×", "≤ 1.10×"])
        timed = swept(folder / "overhead", Spinning(1, PIECES, 5 * turns, 5.0), 5.0, workers=1)
        work_after = timed.computing - timed.first
        what = f"overhead, {PIECES} pieces of 5 s"
        rows.append([what, f"{timed.steady:.2f}, {work_after:.2f}", f"{timed.steady / work_after - 1:.2%}", "≤ 2 %"])
        many_rows(folder / "many")
        begun = time.perf_counter()
        table = open_sweep(folder / "many").summary()
        reading = time.perf_counter() - begun
        assert table["runs"].sum() == ROWS and table.height == 100
        rows.append([f"summary of {ROWS:,} runs in Python", f"{reading:.2f}", "", "≤ 2 s"])
        begun = time.perf_counter()
        code = "import sys; from tutelage.cli import main; main()"
        subprocess.run([sys.executable, "-c", code, "summary", str(folder / "many")], check=True, capture_output=True)
        rows.append(["the same by tutelage summary", f"{time.perf_counter() - begun:.2f}", "", "≤ 2 s"])
    publish(
        "sweep",
        "The engine of sweeps",
        ["what", "seconds", "ratio", "wanted"],
        rows,
        "Runs compute sines on one core and wait for nothing. Overhead is the wall time between the end of the first "
        "and of the last piece against the time that the pieces between them spend computing, with one worker. "
        "100,000 runs were kept in 2,000 pieces; the table has 100 settings. "
        f"Speed-up needs two free cores; this machine has {cores()}. On a machine that others use too, the comparison "
        "with two bare processes, which do half of the runs each, says what the engine costs.",
    )


if __name__ == "__main__":
    main()
