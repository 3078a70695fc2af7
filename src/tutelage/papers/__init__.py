"""The papers, with the verdicts and studies on record. Light: no array library is imported for it.

Each paper has a file here, `<key>.toml`: its title, authors and year, the verdict on record for each of its claims, and
the outcome on record for each of its studies. Beside it, `<key>.verdicts.json` holds the last audit with its witnesses
(`make record` writes it). The tests judge the claims and run the studies again and compare.
"""

from __future__ import annotations

import json
import tomllib
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


@dataclass(frozen=True)
class Paper:
    """A paper.

    Attributes:
        key: How it is called in identifiers.
        title: Its title.
        authors: Its authors.
        year: Its year.
        highlights: What a reader should take away from our audit, a sentence or two each, with formulas in `$…$`.
    """

    key: str
    title: str
    authors: str
    year: int
    highlights: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recorded:
    """The verdicts on record for a claim.

    Attributes:
        id: The claim.
        as_printed: Verdict on the print.
        corrected: Verdict on the corrected form; `None` where there is none.
        finding: What is wrong with the print, in one line; empty where it holds.
    """

    id: str
    as_printed: str
    corrected: str | None
    finding: str


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

PAPERS: dict[str, Paper] = {
    key: Paper(key, document["title"], document["authors"], document["year"], tuple(document.get("highlights", ())))
    for key, document in _DOCUMENTS.items()
}


@lru_cache
def recorded_verdicts() -> dict[str, Recorded]:
    """Return the verdicts on record, by claim, in the order of the papers."""
    records = {}
    for paper, document in _DOCUMENTS.items():
        for name, entry in document["claims"].items():
            id = f"{paper}.{name}"
            records[id] = Recorded(id, entry["as_printed"], entry.get("corrected"), entry.get("finding", ""))
    return records


@lru_cache
def recorded_studies() -> dict[str, RecordedStudy]:
    """Return the outcomes on record, by study, in the order of the papers."""
    records = {}
    for paper, document in _DOCUMENTS.items():
        for name, entry in document.get("studies", {}).items():
            id = f"{paper}.{name}"
            failing, finding = entry.get("failing", 0), entry.get("finding", "")
            records[id] = RecordedStudy(id, entry["title"], entry["verdict"], failing, finding)
    return records


def recorded_witnesses(paper: str) -> list[dict[str, Any]]:
    """Return the verdicts that `make record` has written for a paper, witnesses included; empty if there are none."""
    file = files("tutelage.papers").joinpath(f"{paper}.verdicts.json")
    return json.loads(file.read_text(encoding="utf-8"))["claims"] if file.is_file() else []
