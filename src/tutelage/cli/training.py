"""`tutelage train`: the runs of one specification. `tutelage init`: an example of one."""

from __future__ import annotations

import io
import math
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from tutelage.cli import console
from tutelage.errors import TutelageError

if TYPE_CHECKING:
    from tutelage.sweeps import Outcome, Sweep

# What `--out` writes.
_RUNS, _RECORDS, _POINTS, _SPECIFICATION = "runs.parquet", "records.parquet", "points.npz", "specification.json"


def train(
    specification: Annotated[Path, typer.Argument(help="A specification file (TOML).")],
    seed: Annotated[int | None, typer.Option(help="Seed in place of the one in the file.", min=0)] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write runs, records, students and the complete specification to this folder.")
    ] = None,
    allow_outside: Annotated[
        bool, typer.Option("--allow-outside", help="Let paths in the file leave its folder.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document on standard output, nothing else.")
    ] = False,
) -> None:
    """Run one problem of your own: all runs of a specification without a grid.

    Exit code 0 if all runs could be computed, 1 if not, 2 for bad input.

    Example: [bold]tutelage init committee[/], then [bold]tutelage train committee.toml[/]
    """
    from tutelage.sweeps import Shard, Sweep

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
        there = [name for name in (_RUNS, _RECORDS, _POINTS, _SPECIFICATION) if (out / name).exists()]
        if there:
            console.bad_input(f"`--out` must not have results already, but {out / there[0]} exists. Name another.")
    runs = int(sweep.cells()["runs"][0])
    begun = time.monotonic()
    with console.progress(runs, "descending") as advance:
        done = 0

        def progress(ended: int, total: int, steps: int) -> None:
            nonlocal done
            for _ in range(ended - done):
                advance("descending")
            done = max(done, ended)

        outcome = sweep.run(Shard(0, 0, runs, 0.0), progress=progress)
    seconds = time.monotonic() - begun
    summary = _summary(sweep, outcome, seconds)
    if out is not None:
        _write(out, sweep, outcome)
    if json:
        console.print_document(summary)
    else:
        _show(outcome, summary)
    if failed := summary["statuses"].get("failed"):
        reason = outcome.runs.filter(outcome.runs["status"] == "failed")["reason"][0]
        console.err.print(
            f"[bold red]failed:[/] {failed} of {runs} runs could not be computed, the first because of {reason}",
            highlight=False,
            soft_wrap=True,
        )
        raise typer.Exit(console.EXIT_FAILED)


def _write(folder: Path, sweep: Sweep, outcome: Outcome) -> None:
    import numpy as np

    from tutelage.files import write_bytes, write_json

    tables = {_RUNS: outcome.runs, _RECORDS: outcome.records}
    for name, table in tables.items():
        buffer = io.BytesIO()
        table.write_parquet(buffer)
        write_bytes(folder / name, buffer.getvalue())
    if outcome.arrays:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **outcome.arrays)  # type: ignore[arg-type]
        write_bytes(folder / _POINTS, buffer.getvalue())
    write_json(folder / _SPECIFICATION, sweep.document())


def _summary(sweep: Sweep, outcome: Outcome, seconds: float) -> dict[str, Any]:
    """Return what the runs have reached as a JSON document."""
    from tutelage.statistics import wilson_interval

    table = outcome.runs
    base = sweep.document()["base"]
    losses = table["loss"].drop_nulls().drop_nans()
    successes, runs = int(table["success"].sum()), table.height
    low, high = wilson_interval(successes, runs)
    return {
        "specification": base,
        "runs": runs,
        "statuses": dict(sorted(table["status"].value_counts().iter_rows())),
        "steps": int(table["steps"].sum()),
        "loss": {
            name: _number(value)
            for name, value in (("least", losses.min()), ("median", losses.median()), ("most", losses.max()))
        },
        "success": {
            "threshold": base["success"],
            "runs": successes,
            "rate": successes / runs,
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

    table = Table(box=None, header_style="bold", pad_edge=False)
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
    console.out.print(
        f"\nreached the teacher (loss at most {success['threshold']:g}): {success['runs']} of {summary['runs']} runs, "
        f"{success['rate']:.3f} (95 % interval {success['low']:.3f} to {success['high']:.3f}); "
        f"{summary['steps']} steps, {summary['seconds']:.1f} s",
        highlight=False,
    )


def init(
    name: Annotated[Path | None, typer.Argument(help="The file to write; `.toml` is added if it is missing.")] = None,
    family: Annotated[str | None, typer.Option(help="Family of problems; the file's name if it is one.")] = None,
    list_families: Annotated[bool, typer.Option("--list", help="List the families and write nothing.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document on standard output, nothing else.")
    ] = False,
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
        # Made here or not at all: somebody's specification is never overwritten, not even in a race.
        with file.open("x", encoding="utf-8") as written:
            written.write(example(family))
    except FileExistsError:
        console.bad_input(f"{file} exists already. Name another file, or remove it.")
    except OSError as error:
        console.bad_input(f"{file} cannot be written ({error.strerror}).")
    if json:
        console.print_document({"file": str(file), "family": family})
    else:
        console.out.print(f"{file}: {there[family]}", highlight=False, soft_wrap=True)
        console.out.print(f"Run it with: {shlex.join(['tutelage', 'train', str(file)])}", highlight=False)


def _list(there: dict[str, str], json: bool) -> None:
    if json:
        console.print_document({"families": there})
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("family")
    table.add_column("example", overflow="fold")
    for family, text in there.items():
        table.add_row(family, text)
    console.out.print(table)
