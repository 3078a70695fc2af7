"""The papers, with the verdicts and studies on record. Light: no array library is imported for it.

Each paper has a file here, `<key>.toml`: its title, authors and year, the verdict on record for each of its claims, the
kind of each failure and which failures matter most, and the outcome on record for each of its studies. Beside it,
`<key>.verdicts.json` holds the last audit with its witnesses (`make record` writes it). The tests judge the claims and
run the studies again and compare.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

_KEYS = (
    "weight_sharing",
    "single_neuron",
    "mild_overparameterization",
    "local_convergence",
    "convolutional_filter",
)

KINDS: dict[str, str] = {
    "statement": "What is asserted is not so; the corrected form says what remains of it.",
    "condition": "It is true under a condition that the print leaves out or uses without saying so.",
    "constant": "A constant, exponent, threshold or probability is another one; with it the statement holds.",
    "misprint": "A sign, index or factor that the text around it has right, or on which nothing depends.",
}


@dataclass(frozen=True)
class Paper:
    """A paper.

    Attributes:
        key: How it is called in identifiers.
        title: Its title.
        authors: Its authors.
        year: Its year.
        highlights: What a reader should take away from our audit, a sentence or two each, with formulas in `$…$`.
        headline: The same in one sentence.
        important: The claims whose failure matters most, the most important first.
    """

    key: str
    title: str
    authors: str
    year: int
    highlights: tuple[str, ...] = ()
    headline: str = ""
    important: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recorded:
    """The verdicts on record for a claim.

    Attributes:
        id: The claim.
        as_printed: Verdict on the print.
        corrected: Verdict on the corrected form; `None` where there is none.
        finding: What is wrong with the print, in one line; empty where it holds.
        kind: In which way the print fails, one of `KINDS`; empty where it holds.
        as_meant: Verdict on the statement with what the context supplies; `None` where that is no other reading.
    """

    id: str
    as_printed: str
    corrected: str | None
    finding: str
    kind: str = ""
    as_meant: str | None = None


@dataclass(frozen=True)
class RecordedStudy:
    """The outcome on record for a study.

    Attributes:
        id: The study.
        title: What it shows, in a few words.
        verdict: Its outcome at quick scale.
        failing: How many of its expectations fail.
        finding: What differs from the print, in one line; empty where nothing does.
    """

    id: str
    title: str
    verdict: str
    failing: int
    finding: str


def _document(key: str) -> dict[str, Any]:
    return tomllib.loads(files("tutelage.papers").joinpath(f"{key}.toml").read_text(encoding="utf-8"))


_DOCUMENTS = {key: _document(key) for key in _KEYS}


def _paper(key: str, document: dict[str, Any]) -> Paper:
    return Paper(
        key,
        document["title"],
        document["authors"],
        document["year"],
        tuple(document.get("highlights", ())),
        document.get("headline", ""),
        tuple(f"{key}.{name}" for name in document.get("important", ())),
    )


PAPERS: dict[str, Paper] = {key: _paper(key, document) for key, document in _DOCUMENTS.items()}


def _entries(section: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the entries of a section of all papers, by identifier."""
    for paper, document in _DOCUMENTS.items():
        for name, entry in document.get(section, {}).items():
            yield f"{paper}.{name}", entry


@lru_cache
def recorded_verdicts() -> dict[str, Recorded]:
    """Return the verdicts on record, by claim, in the order of the papers."""
    return {
        id: Recorded(
            id,
            entry["as_printed"],
            entry.get("corrected"),
            entry.get("finding", ""),
            entry.get("kind", ""),
            entry.get("as_meant"),
        )
        for id, entry in _entries("claims")
    }


@lru_cache
def recorded_studies() -> dict[str, RecordedStudy]:
    """Return the outcomes on record, by study, in the order of the papers."""
    return {
        id: RecordedStudy(id, entry["title"], entry["verdict"], entry.get("failing", 0), entry.get("finding", ""))
        for id, entry in _entries("studies")
    }


def failures(paper: str) -> tuple[Recorded, ...]:
    """Return the statements of a paper that fail as printed: the important ones first, then by kind.

    Args:
        paper: The paper's key.
    """
    important, kinds = PAPERS[paper].important, list(KINDS)
    failing = [record for record in recorded_verdicts().values() if record.id.startswith(f"{paper}.") and record.kind]

    def weight(record: Recorded) -> tuple[int, int]:
        rank = important.index(record.id) if record.id in important else len(important)
        return rank, kinds.index(record.kind)

    return tuple(sorted(failing, key=weight))


def recorded_witnesses(paper: str) -> list[dict[str, Any]]:
    """Return the verdicts that `make record` has written for a paper, witnesses included; empty if there are none."""
    file = files("tutelage.papers").joinpath(f"{paper}.verdicts.json")
    return json.loads(file.read_text(encoding="utf-8"))["claims"] if file.is_file() else []


@lru_cache
def expected_seconds() -> dict[str, float]:
    """Return about how long each claim and each study (at quick scale) takes on one core.

    It decides what is begun first and how long is left, nothing else.
    """
    seconds = {id: float(entry["seconds"]) for id, entry in _entries("studies") if "seconds" in entry}
    for paper in PAPERS:
        for entry in recorded_witnesses(paper):
            seconds[entry["id"]] = seconds.get(entry["id"], 0.0) + entry["seconds"]
    return seconds
