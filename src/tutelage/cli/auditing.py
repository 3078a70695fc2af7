"""Judging claims in one process a core, and showing the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.markup import escape

from tutelage._configuration import release_memory
from tutelage.claims import Claim, Verdict
from tutelage.cli import console
from tutelage.papers import expected_seconds, recorded_verdicts
from tutelage.reports import kept_verdicts, save_verdicts
from tutelage.sweeps import in_processes

_STYLES = {"holds": "green", "refuted": "red", "vacuous": "yellow", "inconclusive": "yellow", "not_applicable": "dim"}


def _judge(id: str, effort: str, seed: int) -> list[Verdict]:
    from tutelage.claims.judge import judge
    from tutelage.claims.registry import find

    verdicts = judge(find([id])[0], effort, seed)
    release_memory()
    return verdicts


def _paper_of(id: str) -> str:
    return id.partition(".")[0]


def longest_first(ids: Sequence[str]) -> list[str]:
    """Return claims in the order in which processes are kept busy to the end."""
    seconds = expected_seconds()
    return sorted(ids, key=lambda id: -seconds.get(id, 0.0))


def judge_in_processes(
    claims: Sequence[Claim],
    effort: str,
    seed: int,
    workers: int,
    folder: Path | None = None,
    fresh: bool = False,
    advance: Callable[[str], None] | None = None,
    begin: Callable[[str], None] | None = None,
) -> list[Verdict]:
    """Judge claims, one process a core, and return the verdicts in the order of the claims.

    Args:
        claims: The claims.
        effort: How hard to search.
        seed: Seed of the search.
        workers: Number of processes; zero for one a core.
        folder: A report's folder; verdicts are kept there as they come, and those that are there are used.
        fresh: Whether to judge again what is there already.
        advance: Called with the identifier of every claim that is done.
        begin: Called with the identifier of every claim that is begun.
    """
    verdicts = {} if folder is None or fresh else kept_verdicts(folder, claims, effort, seed, console.notice)
    if advance is not None:
        for id in verdicts:
            advance(id)
    waiting = longest_first([claim.id for claim in claims if claim.id not in verdicts])
    pieces = {id: (id, effort, seed) for id in waiting}
    for id, found in in_processes(_judge, pieces, workers, family=_paper_of, begin=begin):
        verdicts[id] = found
        if folder is not None:
            save_verdicts(folder, found)
        if advance is not None:
            advance(id)
    return [verdict for claim in claims for verdict in verdicts[claim.id]]


def show(verdicts: Sequence[Verdict]) -> None:
    """Print verdicts as a table, and the findings below it."""
    table = console.table()
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
            console.out.print(f"• [bold]{verdict.id}[/]: {escape(finding)}", highlight=False)


def unexpected(verdicts: Sequence[Verdict]) -> list[str]:
    """Return a sentence for every verdict that is not the one on record."""
    records = recorded_verdicts()
    return [
        f"{verdict.id} ({verdict.form}) {verdict.verdict}, on record: {getattr(records[verdict.id], verdict.form)}"
        for verdict in verdicts
        if getattr(records[verdict.id], verdict.form) != verdict.verdict
    ]
