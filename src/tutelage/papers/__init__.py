"""The papers, and the verdicts on record. Light: no array library is imported for it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files


@dataclass(frozen=True)
class Paper:
    """A paper.

    Attributes:
        key: How it is called in identifiers.
        title: Its title.
        authors: Its authors.
        year: Its year.
    """

    key: str
    title: str
    authors: str
    year: int


PAPERS: dict[str, Paper] = {
    paper.key: paper
    for paper in (
        Paper(
            "convolutional_filter",
            "Gradient Descent Learns One-hidden-layer CNN: Don't be Afraid of Spurious Local Minima",
            "S. Du, J. Lee, Y. Tian, B. Póczos, A. Singh",
            2018,
        ),
    )
}


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


@lru_cache
def recorded_verdicts() -> dict[str, Recorded]:
    """Return the verdicts on record, by claim, in the order of the papers."""
    document = tomllib.loads(files("tutelage.papers").joinpath("verdicts.toml").read_text(encoding="utf-8"))
    records = {}
    for paper, claims in document.items():
        for name, entry in claims.items():
            id = f"{paper}.{name}"
            records[id] = Recorded(id, entry["as_printed"], entry.get("corrected"), entry.get("finding", ""))
    return records
