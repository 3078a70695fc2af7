"""`tutelage train`: the runs of one specification. `tutelage init`: an example of one."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from tutelage.cli import console
from tutelage.cli.options import AllowOutside, Json, OtherSeed
from tutelage.files import write_bytes

if TYPE_CHECKING:
    import polars as pl

    from tutelage.sweeps import Sweep


def train(
    specification: Annotated[Path, typer.Argument(help="A specification file (TOML).")],
    seed: OtherSeed = None,
    out: Annotated[
        Path | None, typer.Option(help="Keep runs, records and students in this folder; an interrupted one goes on.")
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
    sweep = Sweep.from_toml(specification, allow_outside=allow_outside, overrides=overrides)
    if len(sweep) > 1:
        command = shlex.join(["tutelage", "sweep", str(specification)])
        console.bad_input(f"{specification} has a grid of {len(sweep)} cells. Run them with `{command}`.")
    console.forewarn(sweep)
    begun = time.monotonic()
    with console.working(keeps=out is not None, fails=False):
        runs = _followed(sweep) if out is None else _kept(sweep, console.writable_folder(out))
    summary = _summary(sweep, runs, time.monotonic() - begun)
    if json:
        console.print_document(summary)
    else:
        _show(runs, summary)
    if failed := summary["statuses"].get("failed"):
        reason = runs.filter(runs["status"] == "failed")["reason"][0]
        console.failed(f"{failed} of {summary['runs']} runs could not be computed, the first because of {reason}")


def _followed(sweep: Sweep) -> pl.DataFrame:
    """Follow all runs, with a progress bar, and return their table."""
    from tutelage.sweeps import Range

    with console.descending() as progress:
        return sweep.run(Range(0, 0, int(sweep.cells()["runs"][0])), progress=progress).runs


def _kept(sweep: Sweep, folder: Path) -> pl.DataFrame:
    """Follow all runs as a sweep of one cell in this process, which keeps them as they come, and return their table."""
    from tutelage.sweeps import run_sweep
    from tutelage.sweeps.workers import followed
    from tutelage.work.engines import Here

    with console.descending() as progress, followed(progress):
        results = run_sweep(sweep, folder, engine=Here(), notice=console.notice)
    return results.runs.collect()


def _summary(sweep: Sweep, table: pl.DataFrame, seconds: float) -> dict[str, Any]:
    """Return what the runs have reached as a JSON document."""
    from tutelage.statistics import wilson_interval

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
        "loss": {"least": losses.min(), "median": losses.median(), "most": losses.max()},
        "success": {
            "threshold": base["success"],
            "runs": successes,
            "rate": successes / trials if trials else None,
            "low": low,
            "high": high,
        },
        "seconds": seconds,
    }


def _show(runs: pl.DataFrame, summary: dict[str, Any]) -> None:
    """Print a row per status, and the rate of success with its interval."""
    import polars as pl

    headings = ("runs", "success", "median steps", "least loss", "median loss", "most loss")
    table = console.table("status", *console.numbers(*headings))
    losses = pl.col("loss").drop_nans()
    groups = runs.group_by("status").agg(
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
        write_bytes(file, example(family).encode(), new=True)
    except FileExistsError:
        console.bad_input(f"{file} exists already. Name another file, or remove it.")
    except OSError as error:
        console.bad_input(f"{file} cannot be written ({error.strerror}).")
    if json:
        console.print_document({"file": str(file), "family": family})
    else:
        command = shlex.join(["tutelage", "train", str(file)])
        console.say(f"{escape(str(file))}: {there[family]}")
        console.say(f"Run it with: {escape(command)}")


def _list(there: dict[str, str], json: bool) -> None:
    if json:
        console.print_document({"families": there})
        return
    table = console.table("family", console.words("example"))
    for family, text in there.items():
        table.add_row(family, text)
    console.out.print(table)
