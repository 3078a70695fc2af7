"""`tutelage`, the command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.table import Table

from tutelage.cli import console, minima
from tutelage.errors import TutelageError
from tutelage.papers import PAPERS, recorded_verdicts

app = typer.Typer(
    name="tutelage",
    help="An exact laboratory for teacher–student networks.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output, nothing else.")]


@app.callback()
def _root() -> None:
    """An exact laboratory for teacher–student networks."""


@app.command()
def papers(json: Json = False) -> None:
    """What is covered: papers, their claims, and the verdicts on record.

    Example: [bold]tutelage papers[/]
    """
    records = recorded_verdicts().values()
    rows = []
    for paper in PAPERS.values():
        own = [record for record in records if record.id.startswith(f"{paper.key}.")]
        refuted = sum(record.as_printed == "refuted" for record in own)
        rows.append((paper, len(own), refuted))
    if json:
        entries = [
            {"key": paper.key, "title": paper.title, "claims": claims, "refuted_as_printed": refuted, "studies": 0}
            for paper, claims, refuted in rows
        ]
        console.print_document({"papers": entries})
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("paper", "title"):
        table.add_column(heading, overflow="fold")
    for heading in ("claims", "refuted"):
        table.add_column(heading, justify="right")
    for paper, claims, refuted in rows:
        table.add_row(paper.key, f"{paper.title} ({paper.year})", str(claims), str(refuted))
    console.out.print(table)


@app.command()
def audit(
    claims: Annotated[
        list[str] | None, typer.Argument(help="Papers, claims or patterns such as '*.lemma-*'; all if left out.")
    ] = None,
    effort: Annotated[str, typer.Option(help="How hard to search: default or high.")] = "default",
    seed: Annotated[int, typer.Option(help="Seed of the search.", min=0)] = 0,
    workers: Annotated[int, typer.Option(help="Processes; one a core by default.", min=0)] = 0,
    json: Json = False,
) -> None:
    """Judge claims: as printed, and in the corrected form where the print fails.

    Exit code 0 if every verdict is the one on record, 1 if not, 2 for bad input.

    Example: [bold]tutelage audit convolutional_filter.lemma-4.2[/]
    """
    from tutelage.claims.base import effort_named
    from tutelage.claims.registry import find
    from tutelage.cli.auditing import judge_in_processes, show

    try:
        chosen = find(claims or [])
        effort_named(effort)
    except TutelageError as error:
        console.bad_input(str(error))
    with console.progress(len(chosen), "judging") as advance:
        verdicts = judge_in_processes([claim.id for claim in chosen], effort, seed, workers, advance)
    if json:
        console.print_document({"claims": [verdict.document() for verdict in verdicts]})
    else:
        show(verdicts)
    records = recorded_verdicts()
    unexpected = [verdict for verdict in verdicts if getattr(records[verdict.id], verdict.form) != verdict.verdict]
    for verdict in unexpected:
        recorded = getattr(records[verdict.id], verdict.form)
        console.err.print(
            f"[bold red]unexpected:[/] {verdict.id} ({verdict.form}) {verdict.verdict}, on record: {recorded}",
            highlight=False,
            soft_wrap=True,
        )
    if unexpected:
        raise typer.Exit(console.EXIT_FAILED)


app.command()(minima.minima)


def main() -> None:
    """Run the command line."""
    try:
        app()
    except KeyboardInterrupt:
        console.err.print("interrupted", highlight=False)
        sys.exit(130)
