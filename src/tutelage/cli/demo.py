"""`tutelage demo`: everything at quick scale, with one table at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.table import Column, Table
from rich.text import Text

from tutelage._configuration import available_cores
from tutelage.cli import console
from tutelage.cli.options import Fresh, Json, RandomSeed, Workers
from tutelage.errors import TutelageError
from tutelage.papers import PAPERS, expected_seconds, recorded_verdicts

if TYPE_CHECKING:
    from tutelage.claims import Verdict
    from tutelage.studies import Reproduced, Study

# For a piece of a study whose time is not on record.
_SECONDS_OF_A_PIECE = 10.0
# Findings shown of a paper; the report has them all.
_FINDINGS = 3
# Without a terminal there is a line each time this share of the work is done.
_SHARE = 0.1


def demo(
    papers: Annotated[list[str] | None, typer.Argument(help="Papers; all if left out.")] = None,
    seed: RandomSeed = 0,
    workers: Workers = 0,
    out: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("tutelage-report"),
    fresh: Fresh = False,
    json: Json = False,
) -> None:
    """Reproduce and audit the papers at quick scale, and write the report.

    What is done is kept: an interrupted command goes on where it stopped. Exit code 0 if every outcome is the one on
    record, 1 if not, 2 for bad input.

    Example: [bold]tutelage demo[/], or [bold]tutelage demo convolutional_filter[/]
    """
    chosen = list(dict.fromkeys(papers or PAPERS))
    unknown = [paper for paper in chosen if paper not in PAPERS]
    if unknown:
        console.bad_input(f"`papers` must be among {', '.join(PAPERS)}, but received {', '.join(unknown)}.")
    folder = console.report_folder(out)
    from tutelage.work.lock import FolderInUse, this_command

    try:
        studies, verdicts, overview = _run(chosen, folder, seed, workers, fresh)
    except KeyboardInterrupt:
        console.interrupted(this_command())
    except FolderInUse as error:
        console.bad_input(str(error))
    except TutelageError as error:
        console.failed(str(error))
    if json:
        console.print_document(
            {
                "studies": [study.document() for study in studies],
                "claims": [verdict.document() for verdict in verdicts],
                "report": str(overview),
            }
        )
    else:
        _show(chosen, studies, verdicts)
        console.out.print(f"\nReport: [bold]{escape(str(overview))}[/]", highlight=False, soft_wrap=True)
    from tutelage.cli import auditing, reproducing

    console.end([*reproducing.unexpected(studies), *auditing.unexpected(verdicts)])


def _run(
    papers: Sequence[str], folder: Path, seed: int, workers: int, fresh: bool
) -> tuple[list[Reproduced], list[Verdict], Path]:
    """Run the studies and judge the claims of papers; return studies, verdicts, and the report's overview."""
    from tutelage.claims import find as find_claims
    from tutelage.cli.auditing import judge_in_processes, longest_first
    from tutelage.reports import kept_verdicts, studies_folder, write_report
    from tutelage.studies import find as find_studies
    from tutelage.studies import reproduce
    from tutelage.studies.running import pieces_to_do

    workers = workers or available_cores()
    claims, studies, store = find_claims(papers), find_studies(papers), studies_folder(folder)
    # The longest first, so that both processes are busy to the end.
    order = sorted(studies, key=lambda study: -expected_seconds().get(study.id, 0.0))
    pieces = pieces_to_do(order, store, "quick", seed, fresh)
    judged = {} if fresh else kept_verdicts(folder, claims, "default", seed)
    waiting = longest_first([claim.id for claim in claims if claim.id not in judged])
    seconds = {name: _seconds_of_a_piece(study) for study, name in pieces}
    seconds |= {id: expected_seconds().get(id, 1.0) for id in waiting}
    before = len(claims) - len(waiting)
    if before or len(pieces) < len(pieces_to_do(order, store, "quick", seed, fresh=True)):
        console.notice("What was done before is used again; --fresh computes it anew.")
    with _progress(seconds, workers) as (begin, advance):
        done = {}
        for study in reproduce(order, store, "quick", seed, workers, fresh, advance, console.notice, begin=begin):
            done[study.manifest["id"]] = study
        verdicts = judge_in_processes(claims, "default", seed, workers, folder, fresh, advance, begin)
        return [done[study.id] for study in studies], verdicts, write_report(folder, console.notice)


def _seconds_of_a_piece(study: Study) -> float:
    seconds = expected_seconds().get(study.id)
    return _SECONDS_OF_A_PIECE if seconds is None else seconds / len(study.pieces(study.values("quick")))


@contextmanager
def _progress(
    seconds: Mapping[str, float], workers: int
) -> Iterator[tuple[Callable[[str], None], Callable[[str], None]]]:
    """Show what is running and how long is left.

    Yield two functions to call with the name of every part: one when it is begun, one when it is done.

    Args:
        seconds: About how long each part takes on one core.
        workers: How many are done at once.
    """
    left, in_work = dict(seconds), dict[str, None]()
    total, begun, told = sum(seconds.values()), time.monotonic(), 0.0
    latest = begun
    if not left:
        yield (lambda name: None), (lambda name: None)
        return

    def remaining() -> str:
        rest = sum(left.values())
        done = total - rest
        # At first the times on record are all there is; later, how fast this machine is compared with them.
        estimate = rest / workers if done < 0.05 * total else rest * (latest - begun) / done
        return console.about(estimate - (time.monotonic() - latest))

    def finish(name: str) -> float:
        nonlocal latest
        latest = time.monotonic()
        in_work.pop(name, None)
        return left.pop(name, 0.0)

    def begin(name: str) -> None:
        in_work[name] = None

    def running() -> str:
        return ", ".join(in_work)

    if not console.err.is_terminal:
        console.notice(f"{len(left)} parts, {remaining()} …")

        def tell(name: str) -> None:
            nonlocal told
            finish(name)
            share = 1 - sum(left.values()) / total
            if share >= told + _SHARE and left:
                told = share
                console.notice(f"{share:.0%} done, {remaining()}; running: {running()}")

        yield begin, tell
        return
    columns = (
        BarColumn(bar_width=16),
        TextColumn("{task.percentage:.0f}%"),
        TimeElapsedColumn(),
        _Live(remaining),
        TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
    )
    with Progress(*columns, console=console.err, transient=True, expand=True) as bar:
        task = bar.add_task("", total=total)

        def show_begun(name: str) -> None:
            begin(name)
            bar.update(task, description=running())

        yield show_begun, lambda name: bar.update(task, advance=finish(name), description=running())


class _Live(ProgressColumn):
    """A column with a text that changes with time."""

    def __init__(self, text: Callable[[], str]):
        super().__init__()
        self._text = text

    def render(self, task: Task) -> Text:
        return Text(self._text())


def _show(papers: Sequence[str], studies: Sequence[Reproduced], verdicts: Sequence[Verdict]) -> None:
    """Print a row a paper, and the findings that matter most."""
    table = console.table()
    table.add_column("paper", overflow="fold")
    for heading in ("studies", "agree", "claims", "hold", "refuted", "other"):
        table.add_column(heading, justify="right")
    printed = [verdict for verdict in verdicts if verdict.form == "as_printed"]
    for paper in papers:
        outcomes = [study.manifest["verdict"] for study in studies if study.manifest["id"].startswith(f"{paper}.")]
        judged = [verdict.verdict for verdict in printed if verdict.id.startswith(f"{paper}.")]
        agree, hold, refuted = len(outcomes) - outcomes.count("differs"), judged.count("holds"), judged.count("refuted")
        numbers = (len(outcomes), agree, len(judged), hold, refuted, len(judged) - hold - refuted)
        table.add_row(paper, *map(str, numbers))
    console.out.print(table)
    refuted = {verdict.id for verdict in printed if verdict.verdict == "refuted"}
    records = recorded_verdicts()
    for paper in papers:
        shown = [id for id in PAPERS[paper].important if id in refuted][:_FINDINGS]
        if not shown:
            continue
        console.out.print(f"\n[bold]{escape(PAPERS[paper].title)}[/]", highlight=False)
        findings = Table.grid(padding=(0, 1))
        for id in shown:
            findings.add_row(Text(f"  {id.removeprefix(f'{paper}.')}", style="red"), escape(records[id].finding))
        console.out.print(findings)
