"""A kind of work for the tests of sweeps: a few random numbers per run, without JAX.

Run as a program, it sweeps: `python cheap_work.py FOLDER [name=value…]`, options of the work and of `run_sweep`; where
`workers` is 0, in its own process. It waits while as many runs are done as a file `FOLDER.leash` says, so that a test
on a busy machine is not outrun.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tutelage.sweeps.tables import Computed, Range

STEPS = 3


class CheapWork:
    """Random numbers that depend on seed, cell and run alone.

    Args:
        cells: Number of cells.
        runs: Number of runs of each.
        seconds: Time that a run takes, spent asleep.
        unlucky: Whether every seventh run fails unless a file `lucky` lies in the current folder.
        deadly: Whether run 5 of cell 0 kills its process.
        raising: Whether a range that holds run 3 of cell 1 raises an error.
        cost: What a run is said to cost.
        slow: Time that a run takes in every cell but the first.
    """

    def __init__(
        self,
        cells: int = 3,
        runs: int = 20,
        seconds: float = 0.0,
        unlucky: bool = False,
        deadly: bool = False,
        raising: bool = False,
        cost: float = 1.0,
        slow: float = 0.0,
        seed: int = 0,
    ):
        self._options = {
            "cells": cells,
            "runs": runs,
            "seconds": seconds,
            "unlucky": unlucky,
            "deadly": deadly,
            "raising": raising,
            "cost": cost,
            "slow": slow,
            "seed": seed,
        }

    def document(self) -> dict[str, Any]:
        return {"kind": "cheap", **self._options}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> CheapWork:
        return cls(**{name: value for name, value in document.items() if name != "kind"})

    def cells(self) -> pl.DataFrame:
        count = self._options["cells"]
        letters = ["ab"[cell % 2] for cell in range(count)]
        return pl.DataFrame(
            {
                "cell": range(count),
                "size": [10 * (1 + cell // 2) for cell in range(count)],
                "letter": letters,
                "runs": [self._options["runs"]] * count,
            }
        )

    def ranges(self, seconds: float, cores: int = 1) -> list[Range]:
        width = max(1, round(seconds / self._options["cost"]))
        found = []
        for cell in range(self._options["cells"]):
            for first in range(0, self._options["runs"], width):
                runs = min(width, self._options["runs"] - first)
                found.append(Range(cell, first, runs, runs * self._options["cost"]))
        return found

    def run(self, covered: Range, *, progress: Any = None) -> Computed:
        rows, records, ends = [], [], []
        numbers = range(covered.first, covered.first + covered.runs)
        if self._options["raising"] and covered.cell == 1 and 3 in numbers:
            raise ArithmeticError("no luck")
        for run in numbers:
            if self._options["deadly"] and (covered.cell, run) == (0, 5):
                os.kill(os.getpid(), signal.SIGKILL)
            began = time.perf_counter()
            time.sleep(self._options["slow" if covered.cell and self._options["slow"] else "seconds"])
            values = np.random.default_rng([self._options["seed"], covered.cell, run]).normal(size=STEPS)
            failed = self._options["unlucky"] and run % 7 == 6 and not Path("lucky").exists()
            rows.append(
                {
                    "cell": covered.cell,
                    "run": run,
                    "status": "failed" if failed else "converged" if values[-1] > 0 else "step_limit",
                    "reason": "bad luck" if failed else "",
                    "steps": STEPS,
                    "loss": float(values[-1] ** 2),
                    "gradient_norm": float("nan") if run == 2 else abs(float(values[0])),
                    "seconds": time.perf_counter() - began,
                    "angle": float(values[1]),
                }
            )
            # Later runs end earlier.
            for step in range(STEPS - run % 2):
                records.append((covered.cell, run, step, 0.5 * step, float(np.exp(values[step]))))
            ends.append(values)
        schema = {"cell": pl.Int64, "run": pl.Int64, "step": pl.Int64, "time": pl.Float64, "loss": pl.Float64}
        return Computed(
            pl.DataFrame(rows),
            pl.DataFrame(records, schema=schema, orient="row"),
            # Cells differ in the shape of their arrays.
            {"end": np.stack(ends)[:, : 1 + covered.cell % STEPS], "number": np.array(numbers)},
        )


def hold(folder: Path, runs: int) -> None:
    """Let a sweep that is computed by this program wait once so many of its runs are done."""
    written = Path(f"{folder}.leash.tmp")
    written.write_text(str(runs))
    written.replace(f"{folder}.leash")


def release(folder: Path) -> None:
    """Let it go on to its end."""
    Path(f"{folder}.leash").unlink()


def main() -> None:
    from tutelage.sweeps import run_sweep
    from tutelage.work.engines import Here

    leash = Path(f"{sys.argv[1]}.leash")

    def wait(progress: Any) -> None:
        with contextlib.suppress(FileNotFoundError):
            while progress.done >= int(leash.read_text()):
                time.sleep(0.01)

    options = dict(argument.split("=") for argument in sys.argv[2:])
    values = {name: float(value) if "." in value else int(value) for name, value in options.items()}
    engine = {name: values.pop(name) for name in ("workers", "piece_seconds", "retry_failed") if name in values}
    # Without workers, this process computes.
    where = Here() if engine.get("workers") == 0 else None
    run_sweep(CheapWork(**values), sys.argv[1], watch=wait, engine=where, **engine)


if __name__ == "__main__":
    # Workers find the class under the name that the tests know.
    import cheap_work

    cheap_work.main()
