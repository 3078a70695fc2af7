"""What is on record: papers, their statements, one statement in full, errata to send."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.padding import Padding

from tutelage.cli import console
from tutelage.cli.options import Json
from tutelage.papers import (
    PAPERS,
    STANDINGS,
    STUDIED,
    Recorded,
    counted,
    coverage,
    recorded_studies,
    recorded_verdicts,
    recorded_witnesses,
    records_of,
)

if TYPE_CHECKING:
    from tutelage.claims import Claim, Verdict

STYLES = {
    "holds": "green",
    "slip": "yellow",
    "fails": "red",
    "refuted": "red",
    "vacuous": "magenta",
    "open": "cyan",
    "inconclusive": "cyan",
    "not_applicable": "dim",
}
_READINGS = {"as_printed": "As printed", "as_meant": "As meant", "corrected": "Corrected"}


def claim_names() -> list[str]:
    """Return the papers and claims that a shell may offer; Typer takes those that begin as what was typed."""
    return [*PAPERS, *recorded_verdicts()]


def papers(
    paper: Annotated[
        str | None, typer.Argument(help="A paper, to list its statements.", autocompletion=lambda: list(STUDIED))
    ] = None,
    json: Json = False,
) -> None:
    """What is covered: the papers, or the statements of one, and how they stand.

    Example: [bold]tutelage papers single_neuron[/]
    """
    if paper is None:
        _overview(json)
        return
    key = _paper(paper, STUDIED)
    records = records_of(key)
    if json:
        console.print_document({"paper": key, "claims": [_document(record) for record in records]})
        return
    if not records:
        studies = [id for id in recorded_studies() if id.startswith(f"{key}.")]
        say(f"No statement of it is judged. Its experiments: tutelage reproduce {' '.join(studies)}")
        return
    table = console.table(console.words("claim"), "scope", "stands", console.words("what is wrong with the print"))
    for record in records:
        style = STYLES[record.standing]
        table.add_row(
            record.id.removeprefix(f"{key}."), record.scope, f"[{style}]{record.standing}[/]", escape(record.finding)
        )
    console.out.print(table)
    shown = ", ".join(f"{number} {name}" for name, number in reversed(counted(records).items()) if number)
    console.out.print(f"\n[bold]{len(records)} statements:[/] {shown}")
    console.out.print(f"One in full: tutelage show {records[0].id}")


def _overview(json: bool) -> None:
    rows = []
    for key, paper in STUDIED.items():
        records = records_of(key)
        studies = sum(id.startswith(f"{key}.") for id in recorded_studies())
        refuted = sum(record.as_printed == "refuted" for record in records)
        rows.append((paper, counted(records), len(records), refuted, studies))
    if json:
        entries = [
            {
                "key": paper.key,
                "title": paper.title,
                "claims": claims,
                "refuted_as_printed": refuted,
                **standing,
                "studies": studies,
                "lines": len(coverage(paper.key)) if claims else 0,
            }
            for paper, standing, claims, refuted, studies in rows
        ]
        console.print_document({"papers": entries})
        return
    headings = ("year", "claims", "hold", "slips", "fail", "other", "studies")
    table = console.table(console.words("paper"), *console.numbers(*headings))
    for paper, standing, claims, _, studies in rows:
        plain = [standing[name] for name in ("holds", "slip", "fails")]
        numbers = (claims, *plain, claims - sum(plain), studies)
        table.add_row(paper.key, *map(str, (paper.year, *numbers)))
    console.out.print(table)


def _document(record: Recorded) -> dict[str, Any]:
    names = ("id", "scope", "as_printed", "as_meant", "corrected", "kind", "defect", "glyph", "finding")
    return {**{name: getattr(record, name) for name in names}, "standing": record.standing}


def show(
    claim: Annotated[str, typer.Argument(help="A claim, as single_neuron.lemma-6.3.", autocompletion=claim_names)],
    paste: Annotated[
        bool, typer.Option("--paste", help="Print the witness as NumPy to paste, and nothing else.")
    ] = False,
    json: Json = False,
) -> None:
    """One statement in full: what it says, what it assumes, how it was judged and how strong that is.

    The verdicts are those on record; [bold]tutelage audit[/] judges again.

    Example: [bold]tutelage show single_neuron.lemma-6.3 --paste | python[/]
    """
    from tutelage.claims import Verdict
    from tutelage.claims.registry import find

    chosen = find([claim])
    if claim in PAPERS:
        console.bad_input(
            f"`claim` must be one statement, but received {claim!r}. `tutelage papers {claim}` lists them."
        )
    documents = {(entry["id"], entry["form"]): entry for one in chosen for entry in recorded_witnesses(one.paper)}
    judged = [[Verdict.from_document(documents[one.id, form]) for form in one.forms] for one in chosen]
    if paste:
        sources = [source for one, verdicts in zip(chosen, judged, strict=True) if (source := _source(one, verdicts))]
        if not sources:
            console.bad_input(f"`--paste` needs a witness that NumPy can evaluate, but {claim} has none on record.")
        typer.echo("\n".join(sources), nl=False)
    elif json:
        entries = [
            {**_about(one), "verdicts": [verdict.document() for verdict in verdicts]}
            for one, verdicts in zip(chosen, judged, strict=True)
        ]
        console.print_document({"claims": entries})
    else:
        for one, verdicts in zip(chosen, judged, strict=True):
            _show(one, verdicts)


def _source(claim: Claim, verdicts: list[Verdict]) -> str:
    """Return what to paste: of the first reading that fails, else of the print, where there is a witness."""
    failing = [verdict for verdict in verdicts if verdict.verdict == "refuted"]
    verdict = (failing or verdicts)[0]
    return claim.paste(verdict) if verdict.witness and claim.recipe(verdict.form, verdict.witness) else ""


def _about(claim: Claim) -> dict[str, Any]:
    return {
        "id": claim.id,
        "place": claim.place,
        "title": claim.title,
        "scope": claim.scope,
        "hypotheses": list(claim.hypotheses),
        "statements": {name: form.statement for name, form in claim.forms.items()},
        "supplied": claim.supplied,
        "correction": claim.correction,
        "standing": recorded_verdicts()[claim.id].standing,
    }


def _show(claim: Claim, verdicts: list[Verdict]) -> None:
    record = recorded_verdicts()[claim.id]
    style = STYLES[record.standing]
    say(f"[bold]{escape(claim.place)}: {escape(claim.title)}[/]  [dim]{claim.id}[/]")
    facts = [f"[{style}]{record.standing}[/]", claim.scope, *([record.kind] if record.kind else [])]
    facts += ["by one glyph"] * record.glyph
    say(f"{' · '.join(facts)}: {STANDINGS[record.standing]}")
    if claim.hypotheses:
        say("\n[bold]Assuming[/]")
        for hypothesis in claim.hypotheses:
            say(f"• {escape(hypothesis)}", indent=2)
    for verdict in verdicts:
        form = claim.forms[verdict.form]
        supplied = f" (by {escape(claim.supplied)})" if verdict.form == "as_meant" else ""
        found = f"[{STYLES[verdict.verdict]}]{verdict.verdict}{', proved' * verdict.proved}[/]"
        say(f"\n[bold]{_READINGS[verdict.form]}[/]{supplied}: {found}")
        say(escape(form.statement), indent=2)
        judged = [part for part in (verdict.tried, verdict.arithmetic, verdict.power, verdict.note) if part]
        say(f"[dim]{escape('; '.join(judged))}[/]", indent=2)
    if claim.correction:
        say("\n[bold]Why[/]")
        say(escape(claim.correction), indent=2)
    if record.defect:
        others = [other.id for other in records_of(claim.paper) if other.defect == record.defect and other != record]
        shared = f" It also shows in {', '.join(others)}." if others else ""
        say(f"\n[bold]Root[/]  {escape(record.defect)}.{escape(shared)}")
    if record.downstream:
        say(f"\n[bold]What rests on it[/]  {escape(record.downstream)}")
    if _source(claim, verdicts):
        say(f"\nNumPy to paste: tutelage show {claim.id} --paste")
    say(f"Judge it again: tutelage audit {claim.id}")


def say(text: str, indent: int = 0) -> None:
    """Print a paragraph, wrapped to the terminal."""
    console.out.print(Padding(text, (0, 0, 0, indent)))


def errata(
    paper: Annotated[str, typer.Argument(help="The paper.", autocompletion=lambda: list(PAPERS))],
    out: Annotated[Path, typer.Option(help="Folder of the two files.")] = Path(),
) -> None:
    """Write what the authors of a paper may want to know: Markdown and LaTeX, two pages, the gravest first.

    Example: [bold]tutelage errata single_neuron --out letters[/]
    """
    from tutelage.reports.errata import write_errata

    key = _paper(paper, PAPERS)
    for path in write_errata(key, console.writable_folder(out)):
        console.say(escape(str(path)))


def _paper(name: str, among: Collection[str]) -> str:
    # Imported here: lists need no array library.
    from tutelage.checks import one_of

    return one_of("paper", name, among)
