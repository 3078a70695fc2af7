"""Running studies, writing the report, and showing what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape

from tutelage._html import shown
from tutelage.cli import console
from tutelage.papers import recorded_studies
from tutelage.reports import studies_folder, write_report
from tutelage.studies import Reproduced, Study, reproduce
from tutelage.studies.base import Scale

_STYLES = {"reproduced": "green", "measured": "blue", "differs": "red"}


def run(
    studies: Sequence[Study], folder: Path, scale: Scale, seed: int, *arguments: Any, tell: bool = False, **options: Any
) -> tuple[list[Reproduced], Path]:
    """Run studies with a progress bar, write the report, and return the studies in their order and the overview.

    Arguments are those of `reproduce`, but for the folder, the report's, and `tell`, that of `console.watching`.
    """
    with console.watching("pieces", tell=tell) as watch:
        options |= {"watch": watch, "notice": console.notice}
        running = reproduce(studies, studies_folder(folder), scale, seed, *arguments, **options)
        done = {study.manifest["id"]: study for study in running}
    return [done[study.id] for study in studies], write_report(folder, console.notice)


def show(studies: Sequence[Reproduced], overview: Path) -> None:
    """Print studies and their expectations, and where the report is."""
    for study in studies:
        manifest = study.manifest
        style = _STYLES[manifest["verdict"]]
        reused = ", done before" if study.reused else ""
        changed = study.document()["changed"]
        console.out.print(
            f"[bold]{manifest['id']}[/] [{style}]{manifest['verdict']}[/]"
            f" [dim]({manifest['scale']}, {manifest['seconds']:.0f} s of computing{reused})[/]",
        )
        table = console.table(header_style="dim", pad_edge=True, padding=(0, 1))
        table.add_column("", width=1)
        table.add_column("what", ratio=5, overflow="fold")
        table.add_column("published", ratio=4, overflow="fold")
        table.add_column("measured", ratio=2, overflow="fold")
        for expectation in manifest["expectations"]:
            mark = {True: "[green]✓[/]", False: "[red]✗[/]", None: "·"}[expectation["ok"]]
            cells = (shown(expectation[name]) for name in ("what", "published", "measured"))
            table.add_row(mark, *map(escape, cells))
        console.out.print(table)
        if changed:
            words = ", ".join(f"{name} = {value}" for name, value in changed.items())
            console.say(
                f"  changed: {escape(words)}; what was published is for other settings, and not judged. "
                f"Figures: {escape(str(study.folder))}"
            )
        finding = recorded_studies()[manifest["id"]].finding
        if manifest["verdict"] == "differs" and finding:
            console.out.print(f"  • {escape(finding)}")
    console.say(f"Report: [bold]{escape(str(overview))}[/]")


def unexpected(studies: Sequence[Reproduced]) -> list[str]:
    """Return a sentence for every study whose outcome is not the one on record."""
    sentences = []
    for study in studies:
        if study.document()["changed"]:
            continue  # nothing is on record for other settings
        record = recorded_studies()[study.manifest["id"]]
        failing = sum(not expectation["ok"] for expectation in study.manifest["expectations"])
        if (study.manifest["verdict"], failing) != (record.verdict, record.failing):
            sentences.append(
                f"{record.id} {study.manifest['verdict']} with {failing} expectations not met, "
                f"on record: {record.verdict} with {record.failing}"
            )
    return sentences
