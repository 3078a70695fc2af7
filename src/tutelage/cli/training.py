"""`tutelage train`: the runs of one specification. `tutelage init`: an example of one."""

from __future__ import annotations

import io
import math
import os
import shlex
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from tutelage.cli import console
from tutelage.cli.options import AllowOutside, Json, OtherSeed
from tutelage.errors import TutelageError

if TYPE_CHECKING:
    from tutelage.sweeps import Outcome, Sweep

# What `--out` writes, the last with checksums of the others.
_RUNS, _RECORDS, _POINTS, _SPECIFICATION = "runs.parquet", "records.parquet", "points.npz", "specification.json"
_MANIFEST = "manifest.json"


def train(
    specification: Annotated[Path, typer.Argument(help="A specification file (TOML).")],
    seed: OtherSeed = None,
    out: Annotated[
        Path | None, typer.Option(help="Write runs, records, students and the complete specification to this folder.")
    ] = None,
    allow_outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Run one problem of your own: all runs of a specification without a grid.

    Exit code 0 if all runs could be computed, 1 if not, 2 for bad input.

    Example: [bold]tutelage init committee[/], then [bold]tutelage train committee.toml[/]
    """
    from tutelage.sweeps import Sweep

    overrides = {} if seed is None else {"seed": seed}
    try:
        sweep = Sweep.from_toml(specification, allow_outside=allow_outside, overrides=overrides)
    except TutelageError as error:
        console.bad_inputs(str(error).splitlines())
    if len(sweep) > 1:
        command = shlex.join(["tutelage", "sweep", str(specification)])
        console.bad_input(f"{specification} has a grid of {len(sweep)} cells. Run them with `{command}`.")
    if out is not None:
        console.writable_folder(out)
        names = (_RUNS, _RECORDS, _POINTS, _SPECIFICATION, _MANIFEST)
        there = [name for name in names if os.path.lexists(out / name)]
        if there:
            console.bad_input(f"`--out` must not have results already, but {out / there[0]} exists. Name another.")
    begun = time.monotonic()
    outcome = _followed(sweep)
    summary = _summary(sweep, outcome, time.monotonic() - begun)
    if out is not None:
        _write(out, sweep, outcome)
    if json:
        console.print_document(summary)
    else:
        _show(outcome, summary)
    if failed := summary["statuses"].get("failed"):
        reason = outcome.runs.filter(outcome.runs["status"] == "failed")["reason"][0]
        console.failed(f"{failed} of {summary['runs']} runs could not be computed, the first because of {reason}")


def _followed(sweep: Sweep) -> Outcome:
    """Follow all runs, with a progress bar."""
    from tutelage.sweeps import Shard

    runs = int(sweep.cells()["runs"][0])
    with console.descending(runs) as progress:
        return sweep.run(Shard(0, 0, runs, 0.0), progress=progress)


def _write(folder: Path, sweep: Sweep, outcome: Outcome) -> None:
    import numpy as np

    from tutelage.files import digest, json_text, write_bytes
    from tutelage.work.documents import seal
    from tutelage.work.parquet import table_bytes

    contents = {_RUNS: table_bytes(outcome.runs), _RECORDS: table_bytes(outcome.records)}
    if outcome.arrays:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **outcome.arrays)  # type: ignore[arg-type]
        contents[_POINTS] = buffer.getvalue()
    contents[_SPECIFICATION] = json_text(sweep.document())
    checksums = {name: digest(content) for name, content in contents.items()}
    manifest = {"format": 2, "kind": "train", "version": version("tutelage"), "files": checksums}
    contents[_MANIFEST] = json_text(seal(manifest))
    for name, content in contents.items():
        try:
            write_bytes(folder / name, content, new=True)
        except FileExistsError:
            console.failed(f"{folder / name} was written by another process meanwhile; it is left as it is.")


def _summary(sweep: Sweep, outcome: Outcome, seconds: float) -> dict[str, Any]:
    """Return what the runs have reached as a JSON document."""
    from tutelage.statistics import wilson_interval

    table = outcome.runs
    base = sweep.document()["base"]
    losses = table["loss"].drop_nulls().drop_nans()
    successes = int(table["success"].sum())
    # As in the summary of a sweep, a run that could not be computed is no trial.
    trials = int((table["status"] != "failed").sum())
    low, high = wilson_interval(successes, trials) if trials else (None, None)
    return {
        "specification": base,
        "runs": table.height,
        "statuses": dict(sorted(table["status"].value_counts().iter_rows())),
        "steps": int(table["steps"].sum()),
        "loss": {
            name: _number(value)
            for name, value in (("least", losses.min()), ("median", losses.median()), ("most", losses.max()))
        },
        "success": {
            "threshold": base["success"],
            "runs": successes,
            "rate": successes / trials if trials else None,
            "low": low,
            "high": high,
        },
        "seconds": seconds,
    }


def _number(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _show(outcome: Outcome, summary: dict[str, Any]) -> None:
    """Print a row a status, and the rate of success with its interval."""
    import polars as pl

    table = console.table()
    table.add_column("status")
    for heading in ("runs", "success", "median steps", "least loss", "median loss", "most loss"):
        table.add_column(heading, justify="right")
    losses = pl.col("loss").drop_nans()
    groups = outcome.runs.group_by("status").agg(
        pl.len(),
        pl.col("success").sum().alias("success"),
        pl.col("steps").median(),
        losses.min().alias("least"),
        losses.median().alias("median"),
        losses.max().alias("most"),
    )
    for status, number, successes, steps, *quantiles in groups.sort("len", descending=True).iter_rows():
        shown = ("–" if value is None else f"{value:.3g}" for value in quantiles)
        middle = "–" if steps is None else f"{steps:g}"
        table.add_row(status.replace("_", " "), str(number), str(successes), middle, *shown)
    console.out.print(table)
    success = summary["success"]
    rate = ""
    if success["rate"] is not None:
        rate = f", {success['rate']:.3f} (95 % interval {success['low']:.3f} to {success['high']:.3f})"
    console.out.print(
        f"\nreached the teacher (loss at most {success['threshold']:g}): {success['runs']} of {summary['runs']} runs"
        f"{rate}; {summary['steps']} steps, {summary['seconds']:.1f} s",
        highlight=False,
    )


def init(
    name: Annotated[Path | None, typer.Argument(help="The file to write; `.toml` is added if it is missing.")] = None,
    family: Annotated[str | None, typer.Option(help="Family of problems; the file's name if it is one.")] = None,
    list_families: Annotated[bool, typer.Option("--list", help="List the families and write nothing.")] = False,
    json: Json = False,
) -> None:
    """Write a commented example of a specification. Nothing is overwritten.

    Example: [bold]tutelage init first --family convolution[/]
    """
    from tutelage.sweeps.specification.examples import example, families

    there = families()
    if list_families:
        _list(there, json)
        return
    if name is None:
        console.bad_input("name a file to write, or pass --list")
    file = name if name.suffix == ".toml" else name.with_name(f"{name.name}.toml")
    family = family or (file.stem if file.stem in there else "committee")
    if family not in there:
        console.bad_input(f"--family must be one of {', '.join(there)}, but received {family}")
    try:
        _create(file, example(family))
    except FileExistsError:
        console.bad_input(f"{file} exists already. Name another file, or remove it.")
    except OSError as error:
        console.bad_input(f"{file} cannot be written ({error.strerror}).")
    if json:
        console.print_document({"file": str(file), "family": family})
    else:
        command = shlex.join(["tutelage", "train", str(file)])
        console.out.print(f"{escape(str(file))}: {there[family]}", highlight=False, soft_wrap=True)
        console.out.print(f"Run it with: {escape(command)}", highlight=False, soft_wrap=True)


def _create(file: Path, text: str) -> None:
    """Write a new file, all of it or none: somebody's specification is never overwritten, not even in a race."""
    with file.open("x", encoding="utf-8") as written:
        try:
            written.write(text)
            written.flush()
        except BaseException:
            file.unlink(missing_ok=True)
            raise


def _list(there: dict[str, str], json: bool) -> None:
    if json:
        console.print_document({"families": there})
        return
    table = console.table()
    table.add_column("family")
    table.add_column("example", overflow="fold")
    for family, text in there.items():
        table.add_row(family, text)
    console.out.print(table)
