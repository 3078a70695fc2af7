"""Judging claims in one process a core, and showing the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.table import Table

from tutelage.claims.base import Verdict
from tutelage.cli import console
from tutelage.papers import recorded_verdicts
from tutelage.sweeps import in_processes

_STYLES = {"holds": "green", "refuted": "red", "inconclusive": "yellow", "not_applicable": "dim"}


def _judge(id: str, effort: str, seed: int) -> list[Verdict]:
    from tutelage.claims.judge import judge
    from tutelage.claims.registry import find

    return judge(find([id])[0], effort, seed)


def judge_in_processes(
    ids: Sequence[str], effort: str, seed: int, workers: int, advance: Callable[[str], None]
) -> list[Verdict]:
    """Judge claims, one process a core, and return the verdicts in the order of the claims.

    Args:
        ids: The claims.
        effort: How hard to search.
        seed: Seed of the search.
        workers: Number of processes; zero for one a core.
        advance: Called with the identifier of every claim that is done.
    """
    verdicts = {}
    for id, found in in_processes(_judge, {id: (id, effort, seed) for id in ids}, workers):
        verdicts[id] = found
        advance(id)
    return [verdict for id in ids for verdict in verdicts[id]]


def show(verdicts: Sequence[Verdict]) -> None:
    """Print verdicts as a table, and the findings below it."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("claim", overflow="fold")
    table.add_column("form")
    table.add_column("verdict")
    table.add_column("margin", justify="right")
    table.add_column("tried", justify="right")
    for verdict in verdicts:
        style = _STYLES[verdict.verdict]
        table.add_row(
            verdict.id,
            verdict.form.replace("_", " "),
            f"[{style}]{verdict.verdict}[/]",
            f"{verdict.margin:.1e}",
            str(verdict.instances),
        )
    console.out.print(table)
    printed = [verdict for verdict in verdicts if verdict.form == "as_printed"]
    counts = {name: sum(verdict.verdict == name for verdict in printed) for name in _STYLES}
    summary = ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in counts.items() if number)
    console.out.print(f"\n[bold]{len(printed)} claims as printed:[/] {summary}", highlight=False)
    records = recorded_verdicts()
    for verdict in printed:
        finding = records[verdict.id].finding
        if verdict.verdict == "refuted" and finding:
            console.out.print(f"• [bold]{verdict.id}[/]: {finding}", highlight=False)
