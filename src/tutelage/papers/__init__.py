"""The papers, with the verdicts and studies on record. Light: no array library is imported for it.

Each paper has three files here. `<key>.toml` is what a person says: title, the kind and the finding of each failure,
which failures matter most, the outcome on record for each study. `<key>.verdicts.json` is what was judged, witnesses
included; `make record` writes it. `<key>.coverage.toml` is a map of the whole print. The tests judge the claims and run
the studies again and compare. A paper of which experiments are run and nothing is judged has the first file alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from tutelage.papers.documents import KEYS, STUDIED_KEYS, document
from tutelage.papers.documents import recorded_witnesses as recorded_witnesses
from tutelage.papers.maps import REASONS as REASONS
from tutelage.papers.maps import Line as Line
from tutelage.papers.maps import coverage as coverage
from tutelage.papers.maps import printed_at as printed_at
from tutelage.papers.record import KINDS as KINDS
from tutelage.papers.record import STANDINGS as STANDINGS
from tutelage.papers.record import Defect as Defect
from tutelage.papers.record import Recorded as Recorded
from tutelage.papers.record import RecordedStudy as RecordedStudy
from tutelage.papers.record import counted as counted
from tutelage.papers.record import defects as defects
from tutelage.papers.record import expected_seconds as expected_seconds
from tutelage.papers.record import failures as failures
from tutelage.papers.record import kind_on_record as kind_on_record
from tutelage.papers.record import recorded_studies as recorded_studies
from tutelage.papers.record import recorded_verdicts as recorded_verdicts
from tutelage.papers.record import records_of as records_of
from tutelage.papers.record import standing as standing


@dataclass(frozen=True)
class Paper:
    """A paper.

    Attributes:
        key: How it is called in identifiers.
        title: Its title.
        authors: Its authors.
        year: Its year.
        arxiv: Its number at arXiv.
        edition: Which of its texts was read, as far as the text says.
        highlights: What a reader should take away from our audit, a sentence or two each, with formulas in `$…$`.
        headline: The same in one sentence.
        important: The claims whose failure matters most, the most important first.
    """

    key: str
    title: str
    authors: str
    year: int
    arxiv: str
    edition: str
    highlights: tuple[str, ...] = ()
    headline: str = ""
    important: tuple[str, ...] = ()


def _paper(key: str) -> Paper:
    said = document(key)
    plain = {name: said[name] for name in ("title", "authors", "year", "arxiv", "edition")}
    important = tuple(f"{key}.{name}" for name in said.get("important", ()))
    return Paper(
        key,
        **plain,
        highlights=tuple(said.get("highlights", ())),
        headline=said.get("headline", ""),
        important=important,
    )


PAPERS: dict[str, Paper] = {key: _paper(key) for key in KEYS}
# With those of which experiments are run again, and no statement is judged.
STUDIED: dict[str, Paper] = PAPERS | {key: _paper(key) for key in STUDIED_KEYS}
