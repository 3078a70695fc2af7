"""Verdicts in a report's folder: one file a paper, kept as they come, and used again while nothing has changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from tutelage.claims import Claim, Verdict, claims_of, judge
from tutelage.errors import MalformedData
from tutelage.files import checked_path, digest
from tutelage.work import folder as folders
from tutelage.work.documents import Document, read_sealed, write_sealed
from tutelage.work.lock import locked
from tutelage.work.program import modules_of, program_digest

# Seconds to wait for another process that keeps verdicts in the same report; each takes a moment.
_PATIENCE = 60.0
_FOLDER = "verdicts"
STUDIES = "studies"
"""Folder of a report's studies, each of which has a manifest of its own."""


class _Verdict(Document):
    id: str
    form: Literal["as_printed", "as_meant", "corrected"]
    verdict: Literal["holds", "refuted", "vacuous", "not_applicable", "inconclusive"]
    margin: float | Literal["inf", "-inf", "nan"]
    instances: Annotated[int, Field(ge=0)]
    arithmetic: str
    # Names become names of variables in a text to paste.
    witness: dict[Annotated[str, Field(pattern=r"^[^\W\d]\w*$")], Any] | None
    control_refuted: bool
    note: str
    seconds: Annotated[float, Field(ge=0)]
    effort: str
    seed: Annotated[int, Field(ge=0)]
    reading: str = "as_printed"
    scope: str = ""
    kind: str = ""
    defect: str = ""
    at_risk: float | None = None
    refuted_from: dict[str, Any] | None = None
    specification: str


class _Verdicts(Document):
    version: str
    claims: list[_Verdict]


def claim_report(folder: Path) -> None:
    """Make a folder that is empty or absent one of a report, or see that it is one.

    Args:
        folder: The folder.

    Raises:
        NotOurs: If it holds something that tutelage has not written; nothing in it is changed then.
    """
    folders.claim(checked_path("folder", folder), "report", {STUDIES})


def save_verdicts(folder: Path, verdicts: Sequence[Verdict]) -> None:
    """Keep verdicts for the report: one file a paper, replacing earlier verdicts on the same claims.

    A damaged file is set aside.

    Args:
        folder: The report's folder.
        verdicts: Verdicts of any papers.

    Raises:
        NotOurs: If the folder holds something that tutelage has not written.
    """
    claim_report(folder)
    by_paper: dict[str, list[dict[str, Any]]] = {}
    for verdict in verdicts:
        document = verdict.document() | {"specification": _specification(verdict.id, verdict.effort, verdict.seed)}
        by_paper.setdefault(_paper(verdict.id), []).append(document)
    # Two audits may keep verdicts in one report: neither may lose those of the other.
    with locked(folders.inner_folder(folder, _FOLDER), patience=_PATIENCE):
        for paper, documents in by_paper.items():
            judged = {document["id"] for document in documents}
            damaged: list[str] = []
            there = read_verdicts(folder, paper, damaged.append)
            if damaged:
                folders.set_aside(folder, _path(folder, paper))
            kept = [document for document in there if document["id"] not in judged]
            write_sealed(_path(folder, paper), {"version": version("tutelage"), "claims": kept + documents})


def kept_verdicts(
    folder: Path, claims: Iterable[Claim], effort: str, seed: int, notice: Callable[[str], None] | None = None
) -> dict[str, list[Verdict]]:
    """Return the verdicts that a report's folder holds already, by claim.

    A verdict counts if it was made with this effort and seed, by this version and this program; a claim counts if all
    its forms have one.

    Args:
        folder: The report's folder.
        claims: The claims.
        effort: How hard to search.
        seed: Seed of the search.
        notice: Called with a sentence for every damaged file.
    """
    documents: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
    kept = {}
    for claim in claims:
        if claim.paper not in documents:
            found = read_verdicts(folder, claim.paper, notice)
            documents[claim.paper] = {(document["id"], document["form"]): document for document in found}
        own = [documents[claim.paper].get((claim.id, form)) for form in claim.forms]
        wanted = _specification(claim.id, effort, seed)
        if all(document is not None and document.get("specification") == wanted for document in own):
            kept[claim.id] = [Verdict.from_document(document) for document in own if document is not None]
    return kept


def _paper(id: str) -> str:
    return id.split(".", 1)[0]


def _path(folder: Path, paper: str) -> Path:
    return folder / _FOLDER / f"{paper}.json"


def read_verdicts(folder: Path, paper: str, notice: Callable[[str], None] | None = None) -> list[dict[str, Any]]:
    """Return the verdicts on a paper's claims in a report's folder, as documents.

    Args:
        folder: The report's folder.
        paper: The paper.
        notice: Called with a sentence if the file is damaged; then there are none.

    Raises:
        Unreadable: If it cannot be read, or is not a regular file.
    """
    path = _path(folder, paper)
    folders.inner_folder(folder, _FOLDER, make=False)
    try:
        return read_sealed(path, _Verdicts).model_dump()["claims"]
    except FileNotFoundError:
        return []
    except MalformedData as error:
        if notice is not None:
            notice(f"{error} `tutelage audit` judges its claims again.")
        return []


def _specification(id: str, effort: str, seed: int) -> str:
    """Return a digest of what a verdict depends on: another seed, effort or program is another verdict."""
    return digest(json.dumps([id, effort, seed, _program(id)]))


@cache
def _program(id: str) -> str:
    """Return a digest of the program of a claim, and of the machinery that judges it."""
    claim = next((claim for claim in claims_of(_paper(id)) if claim.id == id), None)
    return program_digest(judge.__module__, *sorted(modules_of(claim)))
