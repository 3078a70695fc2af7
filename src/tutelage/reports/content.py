"""What the report shows: papers, their claims with verdicts, their studies, all as plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tutelage.claims import Claim, Verdict, claims_of
from tutelage.claims.auditing import STUDIES, read_verdicts
from tutelage.errors import MalformedData
from tutelage.papers import (
    PAPERS,
    STUDIED,
    Line,
    Paper,
    Recorded,
    coverage,
    recorded_studies,
    recorded_verdicts,
    recorded_witnesses,
    standing,
)
from tutelage.studies import Study, studies_of
from tutelage.studies.manifest import read_study
from tutelage.work.folder import inner_folder

KIND_WORDS = {
    "statement": "statement fails",
    "condition": "missing condition",
    "constant": "false constant",
    "misprint": "misprint",
}


@dataclass(frozen=True)
class JudgedClaim:
    """A claim, with the verdicts on its forms.

    Attributes:
        claim: The claim.
        verdicts: The verdicts on its forms.
        record: What is said of it.
        fresh: Whether the verdicts were made for this report, or are the ones on record.
    """

    claim: Claim
    verdicts: tuple[Verdict, ...]
    record: Recorded
    fresh: bool

    @property
    def standing(self) -> str:
        """How the statement stands, one of `tutelage.papers.STANDINGS`."""
        found = {verdict.form: verdict.verdict for verdict in self.verdicts}
        return standing(found["as_printed"], found.get("as_meant"))


@dataclass(frozen=True)
class ShownStudy:
    """A study with what it has measured.

    Attributes:
        study: The study.
        manifest: What was measured; `None` if it has not been run.
        folder: Its folder, relative to the report.
        finding: What differs from the print, in one line.
    """

    study: Study
    manifest: dict[str, Any] | None
    folder: str
    finding: str


@dataclass(frozen=True)
class PaperContent:
    """What the report shows of a paper.

    Attributes:
        paper: The paper.
        claims: Its claims; none where no statement is judged.
        studies: Its studies.
        lines: The map of its print.
    """

    paper: Paper
    claims: tuple[JudgedClaim, ...]
    studies: tuple[ShownStudy, ...]
    lines: tuple[Line, ...]

    def count(self, standing: str) -> int:
        """Return the number of claims that stand so."""
        return sum(claim.standing == standing for claim in self.claims)

    def count_kind(self, kind: str) -> int:
        """Return the number of claims that fail as meant in one way."""
        return sum(claim.record.kind == kind and claim.standing == "fails" for claim in self.claims)

    def unjudged(self) -> int:
        """Return the number of lines of the print that assert something and are judged by nothing."""
        return sum(line.standing == "not judged" for line in self.lines)

    def studies_with(self, verdict: str) -> int:
        """Return the number of studies that were run and have a verdict."""
        return sum(study.manifest is not None and study.manifest["verdict"] == verdict for study in self.studies)


def studies_folder(folder: Path) -> Path:
    """Return where a report keeps its studies."""
    return folder / STUDIES


def gather(folder: Path, notice: Callable[[str], None]) -> tuple[PaperContent, ...]:
    """Return the content of the report in a folder: fresh verdicts where there are some, else those on record.

    Args:
        folder: The report's folder.
        notice: Called with a sentence for every file that is damaged, and left out.
    """
    return tuple(_paper(folder, paper, notice) for paper in STUDIED.values())


def _paper(folder: Path, paper: Paper, notice: Callable[[str], None]) -> PaperContent:
    records = recorded_studies()
    studies = tuple(
        _shown(folder, study, records[study.id].finding if study.id in records else "", notice)
        for study in studies_of(paper.key)
    )
    if paper.key not in PAPERS:
        return PaperContent(paper, (), studies, ())
    recorded = {(entry["id"], entry["form"]): entry for entry in recorded_witnesses(paper.key)}
    fresh = {(verdict.id, verdict.form): verdict for verdict in read_verdicts(folder, paper.key, notice)}
    claims = tuple(
        JudgedClaim(
            claim,
            tuple(
                fresh.get((claim.id, form)) or Verdict.from_document(recorded[claim.id, form]) for form in claim.forms
            ),
            recorded_verdicts()[claim.id],
            (claim.id, "as_printed") in fresh,
        )
        for claim in claims_of(paper.key)
    )
    return PaperContent(paper, claims, studies, coverage(paper.key))


def _shown(folder: Path, study: Study, finding: str, notice: Callable[[str], None]) -> ShownStudy:
    # The larger scale is shown where both were run.
    for scale in ("paper", "quick"):
        place = (STUDIES, study.paper, study.name, scale)
        own = inner_folder(folder, *place, make=False)
        try:
            manifest = read_study(own)
        except FileNotFoundError:
            continue
        except MalformedData as error:
            notice(f"{error} `tutelage reproduce {study.id} --scale {scale}` writes it again.")
            continue
        if manifest["id"] != study.id:
            notice(f"{own} holds {manifest['id']}, which is another study.")
        elif manifest["complete"]:
            return ShownStudy(study, manifest, "/".join(place), finding)
    return ShownStudy(study, None, "", finding)
