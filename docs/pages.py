"""Parts of pages that are written from the records of the package, so that they cannot drift away from it.

`docs/hooks.py` puts them in the place of marks such as `<!-- findings: single_neuron -->`.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

from tutelage.claims import Claim, Verdict, claims_of
from tutelage.papers import (
    KINDS,
    PAPERS,
    STANDINGS,
    Recorded,
    counted,
    failures,
    recorded_verdicts,
    recorded_witnesses,
    records_of,
)
from tutelage.reports.content import KIND_WORDS
from tutelage.studies import studies_of

GALLERY = Path(__file__).parent / "assets" / "gallery"
HEADINGS = {
    "statement": "Further statements that fail",
    "condition": "Further missing conditions",
    "constant": "Further constants and exponents",
    "misprint": "Misprints",
    "slip": "Slips: the letter fails, and the context mends it",
}


def expand(markdown: str) -> str:
    """Put what the marks of a page ask for in their places."""
    writers: dict[str, Callable[[str], str]] = {
        "findings": findings,
        "gallery": gallery,
        "summary": lambda _: summary(),
    }

    def written(mark: re.Match[str]) -> str:
        return writers[mark[1]](mark[2])

    return re.sub(r"^<!-- (findings|gallery|summary): (\w+) -->$", written, markdown, flags=re.MULTILINE)


def summary() -> str:
    """How many statements stand how, and in which way those fail that do."""
    records = recorded_verdicts().values()
    found = counted(records)
    failing = [record for record in records if record.standing == "fails"]
    counts = {kind: sum(record.kind == kind for record in failing) for kind in KINDS}
    stands = [f"| {name} | {found[name]} | {meaning} |" for name, meaning in STANDINGS.items()]
    rows = [f"| {KIND_WORDS[kind]} | {counts[kind]} | {meaning} |" for kind, meaning in KINDS.items()]
    return "\n".join(
        [
            f"Of {len(records)} statements {found['fails']} fail as meant:",
            "",
            "| stands | how many | what it means |",
            "| --- | ---: | --- |",
            *stands,
            "",
            "Those that fail as meant, by kind:",
            "",
            "| kind of failure | how many | what it means |",
            "| --- | ---: | --- |",
            *rows,
        ]
    )


def findings(paper: str) -> str:
    """All statements of a paper that fail as printed: the important ones in full, the others to be opened."""
    claims = {claim.id: claim for claim in claims_of(paper)}
    entries = {(entry["id"], entry["form"]): entry for entry in recorded_witnesses(paper)}
    important = PAPERS[paper].important
    found = counted(records_of(paper))
    could_not = f", {found['vacuous']} could not have failed" if found["vacuous"] else ""
    parts = [
        f"*Of {len(claims)} statements {found['holds']} hold, {found['slip']} fail by the letter only{could_not}, and "
        f"{found['fails']} fail as meant.*"
    ]
    heading = ""
    for record in failures(paper):
        claim = claims[record.id]
        if record.id in important:
            title = f"### {claim.place}: {claim.title} {{ #{record.id} }}"
            parts += [
                title,
                f"*{KIND_WORDS[record.kind].capitalize()}.* {record.finding}",
                *_body(claim, record, entries),
            ]
            continue
        if heading != (group := _group(record)):
            heading = group
            number = sum(_group(other) == group and other.id not in important for other in failures(paper))
            parts.append(f"### {HEADINGS[group]} ({number}) {{ #{paper}.{group} }}")
        inner = "\n\n".join(_body(claim, record, entries))
        quoted = f"{claim.place}: {record.finding}".replace('"', "”")
        parts.append(f'??? quote "{quoted}"\n\n' + _indented(inner))
    return "\n\n".join(parts)


def _group(record: Recorded) -> str:
    """Under which heading a failure is listed: by its kind, or as a slip."""
    return record.kind if record.standing == "fails" else "slip"


def _body(claim: Claim, record: Recorded, entries: dict) -> list[str]:
    printed = entries[claim.id, "as_printed"]
    parts = [f"**Printed.** {claim.as_printed.statement}"]
    if claim.hypotheses:
        parts.append(f"**Assuming** {'; '.join(claim.hypotheses)}.")
    if claim.as_meant is not None:
        verdict = entries[claim.id, "as_meant"]["verdict"]
        parts.append(f"**As meant**, by {claim.supplied}: {claim.as_meant.statement} *({verdict}.)*")
    if claim.corrected is not None:
        judged = entries[claim.id, "corrected"]
        tried = f"{judged['instances']:,} instances tried, {judged['arithmetic']}"
        parts.append(f"**What holds.** {claim.corrected.statement} *({tried}.)*")
    parts.append(f"**Why.** {claim.correction}")
    if record.downstream:
        parts.append(f"**What rests on it.** {record.downstream}")
    command = f"`tutelage audit {claim.id}`"
    if printed["verdict"] == "refuted":
        source = claim.paste(Verdict.from_document(printed))
        witness = f"```python\n{source.strip()}\n```\n\nJudge it again: {command}"
        parts.append('??? example "A witness, to paste into NumPy"\n\n' + _indented(witness))
    else:
        parts.append(f"Judge it again: {command}")
    return parts


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.splitlines())


def gallery(paper: str) -> str:
    """The figures of a paper's studies, each with the command that makes it."""
    shown = json.loads((GALLERY / "gallery.json").read_text(encoding="utf-8"))
    parts = []
    for study in studies_of(paper):
        entry = shown[study.id]
        parts += [
            f"### {study.title[0].upper()}{study.title[1:]} {{ #{study.id} }}",
            f"{study.question} *({study.place})*",
        ]
        for figure in entry["figures"]:
            parts.append(f"![{_plain(figure['caption'])}](assets/gallery/{figure['file']}){{ loading=lazy }}")
            parts.append(f"{figure['caption']}")
        parts.append(f"Verdict: **{entry['verdict']}**.\n\n```sh\ntutelage reproduce {study.id}\n```")
    return "\n\n".join(parts)


def _plain(text: str) -> str:
    return re.sub(r"[\[\]$\\\"]", "", text)
