"""Showing verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape

from tutelage._html import counted
from tutelage.claims import Verdict
from tutelage.cli import console
from tutelage.cli.papers import STYLES
from tutelage.papers import recorded_verdicts, standing

# How one statement stands, and how several do.
_COUNTED = {
    "holds": ("holds", "hold"),
    "slip": ("fails by the letter only", "fail by the letter only"),
    "fails": ("fails as meant", "fail as meant"),
    "vacuous": ("could not have failed",) * 2,
    "open": ("open",) * 2,
}


def show(verdicts: Sequence[Verdict]) -> None:
    """Print verdicts as a table, and the findings below it."""
    table = console.table(console.words("claim"), "form", "verdict", *console.numbers("margin", "tried"))
    for verdict in verdicts:
        style = STYLES[verdict.verdict]
        table.add_row(
            verdict.id,
            verdict.form.replace("_", " "),
            f"[{style}]{verdict.verdict}[/]",
            f"{verdict.margin:.1e}",
            str(verdict.instances),
        )
    console.out.print(table)
    printed = [verdict for verdict in verdicts if verdict.form == "as_printed"]
    meant = {verdict.id: verdict.verdict for verdict in verdicts if verdict.form == "as_meant"}
    found = [standing(verdict.verdict, meant.get(verdict.id)) for verdict in printed]
    summary = ", ".join(
        f"{found.count(name)} {words[found.count(name) > 1]}" for name, words in _COUNTED.items() if name in found
    )
    console.out.print(f"\n[bold]{counted(len(printed), 'statement')}:[/] {summary}")
    records = recorded_verdicts()
    for verdict in printed:
        record = records.get(verdict.id)
        if verdict.verdict == "refuted" and record and record.finding:
            console.out.print(f"• [bold]{verdict.id}[/]: {escape(record.finding)}")


def unexpected(verdicts: Sequence[Verdict]) -> list[str]:
    """Return a sentence for every verdict that is not the one on record."""
    records = recorded_verdicts()
    # A claim that was just written is on no record yet.
    kept = [getattr(records.get(verdict.id), verdict.form, None) or "nothing" for verdict in verdicts]
    return [
        f"{verdict.id} ({verdict.form}) {verdict.verdict}, on record: {recorded}"
        for verdict, recorded in zip(verdicts, kept, strict=True)
        if recorded != verdict.verdict
    ]
