"""`tutelage demo`: everything at quick scale, with one table at the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tutelage.cli import console
from tutelage.cli.options import Fresh, Json, RandomSeed, Workers
from tutelage.papers import PAPERS, STUDIED, recorded_verdicts

if TYPE_CHECKING:
    from tutelage.claims import Verdict
    from tutelage.studies import Reproduced

# Findings shown of a paper; the report has them all.
_FINDINGS = 3


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
    chosen = list(dict.fromkeys(papers or STUDIED))
    unknown = [paper for paper in chosen if paper not in STUDIED]
    if unknown:
        console.bad_input(f"`papers` must be among {', '.join(STUDIED)}, but received {', '.join(unknown)}.")
    folder = console.report_folder(out)
    with console.working():
        studies, verdicts, overview = _run(chosen, folder, seed, workers, fresh)
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
        console.say(f"\nReport: [bold]{escape(str(overview))}[/]")
    from tutelage.cli import auditing, reproducing

    console.end([*reproducing.unexpected(studies), *auditing.unexpected(verdicts)])


def _run(
    papers: Sequence[str], folder: Path, seed: int, workers: int, fresh: bool
) -> tuple[list[Reproduced], list[Verdict], Path]:
    """Run the studies and judge the claims of papers; return studies, verdicts, and the report's overview."""
    from tutelage.claims import find as find_claims
    from tutelage.claims.auditing import pieces_of, stored_verdicts
    from tutelage.cli import reproducing
    from tutelage.studies import find as find_studies

    audited = [paper for paper in papers if paper in PAPERS]
    claims, studies = find_claims(audited) if audited else (), find_studies(papers)
    pieces = pieces_of(claims, "default", seed, folder)
    judged = {} if fresh else stored_verdicts(pieces, console.notice)
    missing = [piece for piece in pieces if piece.key not in judged]
    done, overview = reproducing.run(studies, folder, "quick", seed, workers, fresh, tell=True, others=missing)
    if judged or any(study.reused for study in done):
        console.notice("What was done before is used again; --fresh computes it anew.")
    judged |= stored_verdicts(missing, console.notice)
    verdicts = [verdict for claim in claims for verdict in judged[claim.id]]
    return done, verdicts, overview


def _show(papers: Sequence[str], studies: Sequence[Reproduced], verdicts: Sequence[Verdict]) -> None:
    """Print a row per paper, and the findings that matter most."""
    headings = ("studies", "agree", "claims", "hold", "refuted", "other")
    table = console.table(console.words("paper"), *console.numbers(*headings))
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
        shown = [id for id in STUDIED[paper].important if id in refuted][:_FINDINGS]
        if not shown:
            continue
        console.out.print(f"\n[bold]{escape(STUDIED[paper].title)}[/]")
        findings = Table.grid(padding=(0, 1))
        for id in shown:
            findings.add_row(Text(f"  {id.removeprefix(f'{paper}.')}", style="red"), escape(records[id].finding))
        console.out.print(findings)
