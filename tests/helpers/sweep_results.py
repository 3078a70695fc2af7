"""Comparing the results of sweeps, bit for bit, and sweeping by programs of one's own."""

import io
import os
import subprocess
import sys
from pathlib import Path

import polars as pl

from tutelage.sweeps import Results, open_sweep


def content(results: Results | Path) -> dict[str, bytes]:
    """Everything a sweep has computed but the times, as bytes."""
    opened = results if isinstance(results, Results) else open_sweep(results)
    found = {"runs": _bytes(opened.runs.drop("seconds").collect()), "records": _bytes(opened.records.collect())}
    for cell in opened.cells.collect()["cell"]:
        for name in ("end", "number"):
            runs, values = opened.arrays(name, cell)
            found[f"{name} {cell}"] = runs.tobytes() + values.tobytes() + str((values.shape, values.dtype)).encode()
    return found


def _bytes(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.rechunk().write_ipc(buffer)
    return buffer.getvalue()


def run_program(source: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program that sweeps into the folder it is given, `sweep`, in a process that finds what tests find."""
    (folder / "program.py").write_text(source)
    paths = [str(Path(__file__).parent), *filter(None, sys.path)]
    return subprocess.run(
        [sys.executable, str(folder / "program.py"), str(folder / "sweep")],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
