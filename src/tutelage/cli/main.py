"""`tutelage`, the command."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Annotated

import typer

from tutelage import __version__
from tutelage.cli import console, demo, exploring, family, minima, papers, sweeping, training, verify
from tutelage.cli.options import Dask, Fresh, Json, RandomSeed, Workers
from tutelage.papers import STUDIED, recorded_studies

app = typer.Typer(
    name="tutelage",
    cls=console.Commands,
    help="An exact laboratory for teacher–student networks.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"tutelage {__version__}")
        raise typer.Exit()


@app.callback()
def _root(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """An exact laboratory for teacher–student networks."""


@app.command()
def audit(
    claims: Annotated[
        list[str] | None,
        typer.Argument(
            help="Papers, claims or patterns such as '*.lemma-*'; all if left out.", autocompletion=papers.claim_names
        ),
    ] = None,
    effort: Annotated[str, typer.Option(help="How hard to search: default or high.")] = "default",
    seed: Annotated[int, typer.Option(help="Seed of the search.", min=0)] = 0,
    workers: Workers = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder of a report: verdicts are kept there, and used again.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Judge again what the report's folder has.")] = False,
    json: Json = False,
) -> None:
    """Judge claims: as printed, and in the corrected form where the print fails.

    Exit code 0 if every verdict is the one on record, 1 if not, 2 for bad input.

    Example: [bold]tutelage audit convolutional_filter.lemma-4.2[/]
    """
    from tutelage.claims.auditing import audit as judge_all
    from tutelage.claims.outcome import effort_named
    from tutelage.claims.registry import find
    from tutelage.cli import auditing

    chosen = find(claims or [])
    effort_named(effort)
    folder = None if out is None else console.report_folder(out)
    with console.working(keeps=folder is not None), console.watching("claims") as watch:
        verdicts = judge_all(chosen, effort, seed, workers, folder, fresh, watch, console.notice)
    if folder is not None:
        from tutelage.reports import write_report

        console.notice(f"Report: {write_report(folder, console.notice)}")
    if json:
        console.print_document({"claims": [verdict.document() for verdict in verdicts]})
    else:
        auditing.show(verdicts)
    console.end(auditing.unexpected(verdicts))


@app.command()
def reproduce(
    studies: Annotated[
        list[str] | None,
        typer.Argument(
            help="Papers or studies such as 'convolutional_filter.figure-1b'; all if left out.",
            autocompletion=lambda: [*STUDIED, *recorded_studies()],
        ),
    ] = None,
    scale: Annotated[str, typer.Option(help="quick (seconds to minutes) or paper (as large as the print).")] = "quick",
    seed: RandomSeed = 0,
    workers: Workers = 0,
    dask: Dask = None,
    out: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("tutelage-report"),
    fresh: Fresh = False,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Change a setting of one study: name=value; may be repeated.")
    ] = None,
    json: Json = False,
) -> None:
    """Run studies (figures, tables, experiments) and write the report.

    What is done is kept: an interrupted command goes on where it stopped. With other settings, what was published is
    shown and not judged, and the study has a folder of its own beside those of the report. Exit code 0 if every
    outcome is the one on record, 1 if not, 2 for bad input.

    Example: [bold]tutelage reproduce convolutional_filter[/]
    """
    from tutelage.cli import reproducing
    from tutelage.studies import find
    from tutelage.studies.base import checked_scale
    from tutelage.studies.changes import parsed, with_settings

    chosen = find(studies or [])
    size = checked_scale(scale)
    if set_:
        if len(chosen) != 1:
            console.bad_input(f"--set changes one study, but {len(chosen)} are named. Name one.")
        chosen = [with_settings(chosen[0], dict(map(parsed, set_)))]
    folder = console.report_folder(out)
    with console.working():
        done, overview = reproducing.run(chosen, folder, size, seed, workers, fresh, dask=dask)
    if json:
        console.print_document({"studies": [study.document() for study in done], "report": str(overview)})
    else:
        reproducing.show(done, overview)
    console.end(reproducing.unexpected(done))


app.command()(papers.papers)
app.command()(papers.show)
app.command()(papers.errata)
app.command()(minima.minima)
app.command()(verify.verify)
app.command()(family.family)
app.command()(demo.demo)
app.command()(exploring.explore)
app.command()(training.train)
app.command()(training.init)
app.command()(sweeping.sweep)
app.command()(sweeping.status)
app.command()(sweeping.summary)


def main() -> None:
    """Run the command line."""
    # Python looks for garbage after every 700 new objects. Importing and tracing make millions of them and hardly any
    # garbage: a tenth of the time of a short command.
    gc.set_threshold(100_000, 20, 50)
    try:
        app()
    finally:
        # When Python ends it looks for garbage among all of them once more, for half a second, and the system takes the
        # memory back in any case.
        gc.freeze()
