"""`tutelage sweep`, `status` and `summary`."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import threading
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from tutelage._html import counted
from tutelage.cli import console
from tutelage.cli.options import AllowOutside, Dask, Json, OtherSeed, Workers

if TYPE_CHECKING:
    from tutelage.sweeps import Results
    from tutelage.work.engines import Engine


def sweep(
    specification: Annotated[
        Path, typer.Argument(metavar="SPEC.toml", help="The specification, or the folder of a sweep to continue.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results; the specification's name and -sweep by default.")
    ] = None,
    workers: Workers = 0,
    dask: Dask = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Compute pieces again in which runs could not be computed.")
    ] = False,
    mixed: Annotated[
        bool, typer.Option("--mixed", help="Continue what another version of the program has begun; its runs stay.")
    ] = False,
    piece_seconds: Annotated[
        float, typer.Option(help="About how long a piece of work takes; what is lost when a worker is killed.")
    ] = 10.0,
    seed: OtherSeed = None,
    allow_outside: AllowOutside = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List cells, pieces and the time they may take; compute nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Compute all runs of a specification; continue where an earlier command stopped.

    Exit code 0 if every run is computed, 1 if some failed, 2 for bad input.

    Example: [bold]tutelage sweep committee.toml --out results --workers 4[/]
    """
    from tutelage.sweeps.running import checked_seconds, run_sweep
    from tutelage.work.engines import choose_engine

    usual = specification if specification.is_dir() else Path(f"{specification.stem}-sweep")
    folder = usual if out is None else out
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not (there.is_dir() and os.access(there, os.W_OK)):
        console.bad_input(f"`--out` must be a folder that can be written to, but received {folder}. Name another.")
    with console.working():
        work = _work(specification, seed, allow_outside)
        if dry_run:
            _show_plan(work, checked_seconds(piece_seconds), choose_engine(workers, dask), json)
            return
        options: dict[str, Any] = {"workers": workers, "dask": dask, "piece_seconds": piece_seconds}
        options |= {"retry_failed": retry_failed, "mixed": mixed}
        with _terminating(), console.watching("runs") as watch:
            results = run_sweep(work, folder, **options, watch=watch, notice=console.notice)
    _show_end(results, json)


def status(
    folder: Annotated[Path, typer.Argument(help="The folder of a sweep.")],
    json: Json = False,
) -> None:
    """How far a sweep is, from another terminal.

    Example: [bold]tutelage status committee-sweep[/]
    """
    from tutelage.sweeps import open_sweep

    document = _status(open_sweep(folder))
    if json:
        console.print_document(document)
        return
    share = document["done"] / document["runs"] if document["runs"] else 1.0
    console.say(
        f"[bold]{escape(str(folder))}[/]: {document['done']} of {counted(document['runs'], 'run')} ({share:.0%}) "
        f"in {counted(document['cells'], 'cell')}, {document['failed']} failed{_named(document['statuses'])}"
    )
    running = document["running"]
    if running:
        speed = f"; {_rate(document['rate'])}, {_left(document['seconds_left'])}" if document["rate"] else ""
        console.say(escape(f"running: process {running['pid']} on {running['host']} since {running['since']}{speed}"))
    elif document["complete"]:
        command = escape(shlex.join(["tutelage", "summary", str(folder)]))
        console.say(f"complete; read it with: {command}")
    else:
        console.say(f"not running; go on with: {escape(document['command'])}")
    for sentence in document["damaged"]:
        console.notice(f"{sentence}. `tutelage sweep` computes its runs again.")


def summary(
    folder: Annotated[Path, typer.Argument(help="The folder of a sweep.")],
    by: Annotated[
        list[str] | None, typer.Option(help="Field of the grid to group by, repeatedly; all by default.")
    ] = None,
    below: Annotated[
        float | None,
        typer.Option(help="A run succeeds if its loss is at most this; by default as the specification says."),
    ] = None,
    json: Json = False,
) -> None:
    """Rates of success with their 95 % intervals, steps and losses, for every setting.

    Example: [bold]tutelage summary committee-sweep --by problem.students[/]
    """
    from tutelage.sweeps import open_sweep

    results = open_sweep(folder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = results.summary(by, below)
    for warning in caught:
        console.notice(str(warning.message))
    fields = results.checked_fields("by", by)
    if json:
        rows = table.to_dicts()
        console.print_document({**_status(results), "by": fields, "settings": rows})
        return
    console.out.print(_summary_table(table, fields))
    _tell_diverged(results)
    done, runs = results.coverage.runs, results.manifest.runs
    if done < runs:
        console.notice(f"{done} of {runs} runs are there; the rest: {results.manifest.command}")


def _summary_table(table: Any, fields: Sequence[str]) -> Table:
    """Return a summary to print; in a narrow terminal without what matters least, before words are broken."""
    for left_out in ((), ("seconds",), ("seconds", "steps")):
        shown = _summary_columns(table, fields, left_out)
        if console.out.measure(shown, options=console.out.options.update(max_width=1000)).maximum <= console.out.width:
            break
    return shown


def _summary_columns(table: Any, fields: Sequence[str], left_out: Sequence[str]) -> Table:
    columns: dict[tuple, list[str]] = {}
    for name in fields:
        columns.setdefault(tuple(table[name].to_list()), []).append(name)  # what is always equal shares a column
    short = [name.rsplit(".", 1)[-1] for name in fields]
    shown = console.table(collapse_padding=bool(left_out))
    for names in columns.values():
        right = "right" if table[names[0]].dtype.is_numeric() else "left"
        lasts = {name: name.rsplit(".", 1)[-1] for name in names}
        headings = (last if short.count(last) == 1 else name for name, last in lasts.items())
        shown.add_column(",\n".join(headings), justify=right, overflow="fold")
    any_failed = [name for name in ("failed", "diverged") if table[name].sum()]
    measured = {
        **{name: lambda row, name=name: str(row[name]) for name in ("runs", *any_failed)},
        "success": lambda row: "–" if row["rate"] is None else f"{row['rate']:.3f}",
        "95 %": lambda row: "–" if row["rate"] is None else f"{row['low']:.3f}–{row['high']:.3f}",
        "steps": lambda row: "–" if row["steps"] is None else f"{row['steps']:.0f}",
        "loss": lambda row: "–" if row["loss"] is None else f"{row['loss']:.2e}",
        "seconds": lambda row: f"{row['seconds']:.1f}",
    }
    kept = {name: written for name, written in measured.items() if name not in left_out}
    for heading in kept:
        shown.add_column(heading, justify="right", no_wrap=True)
    for row in table.iter_rows(named=True):
        settings = (row[names[0]] for names in columns.values())
        shown.add_row(
            *(f"{value:g}" if isinstance(value, float) else escape(str(value)) for value in settings),
            *(written(row) for written in kept.values()),
        )
    return shown


def _show_plan(work: Any, piece_seconds: float, engine: Engine, json: bool) -> None:
    """Print the cells of a sweep, its pieces as an engine would compute them, and how long they may take."""
    ranges, cells = work.ranges(piece_seconds, engine.cores), work.cells()
    seconds = sum(one.cost for one in ranges)
    rows = [
        {
            **cell,
            "pieces": sum(one.cell == cell["cell"] for one in ranges),
            "seconds": sum(one.cost for one in ranges if one.cell == cell["cell"]),
        }
        for cell in cells.iter_rows(named=True)
    ]
    if json:
        total = {"runs": sum(one.runs for one in ranges), "pieces": len(ranges), "core_seconds": seconds}
        console.print_document({**total, "workers": engine.workers, "cells": rows})
        return
    table = console.table()
    for name in rows[0]:
        table.add_column(name.rsplit(".", 1)[-1], overflow="fold")
    for row in rows:
        table.add_row(*(f"{value:.3g}" if isinstance(value, float) else escape(str(value)) for value in row.values()))
    console.out.print(table)
    console.say(
        f"{counted(len(rows), 'cell')}, {counted(sum(one.runs for one in ranges), 'run')}, "
        f"{counted(len(ranges), 'piece')}; about {seconds:.0f} s of computing, {seconds / engine.workers:.0f} s in "
        f"{engine.workers} at once. A guess from the sizes; compiling comes on top."
    )


def _work(specification: Path, seed: int | None, allow_outside: bool) -> Any:
    """Return what a specification, or the folder of a sweep, describes."""
    from tutelage.sweeps import Sweep
    from tutelage.sweeps.results import manifest_of

    if specification.is_dir():
        if seed is not None:
            console.bad_input("`--seed` must not be given with the folder of a sweep, which has its own. Leave it out.")
        document = manifest_of(specification).document
        return Sweep.from_document(document, folder=specification, allow_outside=allow_outside)
    overrides = {} if seed is None else {"seed": seed}
    return Sweep.from_toml(specification, allow_outside=allow_outside, overrides=overrides)


def _status(results: Results) -> dict[str, Any]:
    from tutelage.sweeps.folder import read_progress
    from tutelage.work.lock import holder

    running = holder(results.folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is damaged is told below
        statuses = results.statuses()
    speed = read_progress(results.folder) if running else {}
    return {
        "folder": str(results.folder),
        "specification": results.manifest.specification,
        "complete": results.complete,
        "cells": results.cells.collect().height,
        "runs": results.manifest.runs,
        "done": results.coverage.runs,
        "failed": results.coverage.failed,
        "statuses": statuses,
        "seconds": results.coverage.seconds,
        "running": running,
        "rate": speed.get("rate"),
        "seconds_left": speed.get("seconds_left"),
        "damaged": list(results.coverage.damaged),
        "command": results.manifest.command,
    }


def _show_end(results: Results, json: bool) -> None:
    document = _status(results)
    session = results.manifest.sessions[-1].model_dump()
    if json:
        console.print_document({**document, "computed": session["runs"], "session_seconds": session["seconds"]})
    else:
        again = document["done"] - session["runs"]
        before = f", {again} done before" if again else ""
        command = shlex.join(["tutelage", "summary", str(results.folder)])
        console.say(
            f"{counted(document['runs'], 'run')} in {counted(document['cells'], 'cell')} "
            f"({document['failed']} failed{before}), {session['seconds']:.1f} s{_named(document['statuses'])}. "
            f"Read them with: [bold]{escape(command)}[/]"
        )
        _tell_diverged(results)
    if document["failed"]:
        reasons = results.runs.filter(status="failed").select("reason").unique().sort("reason").head(3).collect()
        for reason in reasons["reason"]:
            console.notice(f"failed: {reason}")
        console.notice(f"{document['failed']} runs failed; --retry-failed computes them again.")
        raise typer.Exit(console.EXIT_FAILED)


def _named(statuses: dict[str, int]) -> str:
    """Return in words how runs ended, where they did."""
    words = [f"{number} {name.replace('_', ' ')}" for name, number in statuses.items() if name != "failed"]
    return f"; {', '.join(words)}" if words else ""


def _tell_diverged(results: Results) -> None:
    """Say in which settings runs diverged, and what to do."""
    for row in results.summary().iter_rows(named=True):
        if row["diverged"]:
            where = ", ".join(f"{name} = {row[name]}" for name in results.fields) or "the only cell"
            told = f"{row['diverged']} of {counted(row['runs'], 'run')} diverged ({where})"
            console.notice(f"{told}: choose a smaller method.step there.")


@contextlib.contextmanager
def _terminating() -> Iterator[None]:
    """Treat the polite request to end, which batch systems send, as Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _rate(rate: float) -> str:
    return f"{rate:.1f} runs/s" if rate >= 0.1 or rate == 0 else f"{60 * rate:.1f} runs/min"


def _left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d} left"
