"""Verdicts in a report's folder: one file a paper, kept as they come, and used again while nothing has changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from tutelage.claims import Claim, Verdict
from tutelage.sweeps import digest, locked, write_json

# Seconds to wait for another process that keeps verdicts in the same report; each takes a moment.
_PATIENCE = 60.0
# What the report shows of a verdict.
_FOLDER = "verdicts"
_SHOWN = {"id", "form", "verdict", "margin", "instances", "arithmetic", "note", "witness"}


def save_verdicts(folder: Path, verdicts: Sequence[Verdict]) -> None:
    """Keep verdicts for the report: one file a paper, replacing earlier verdicts on the same claims.

    Args:
        folder: The report's folder.
        verdicts: Verdicts of any papers.
    """
    by_paper: dict[str, list[dict[str, Any]]] = {}
    for verdict in verdicts:
        document = verdict.document() | {"specification": _specification(verdict.id, verdict.effort, verdict.seed)}
        by_paper.setdefault(_paper(verdict.id), []).append(document)
    # Two audits may keep verdicts in one report: neither may lose those of the other.
    with locked(folder / _FOLDER, patience=_PATIENCE):
        for paper, documents in by_paper.items():
            judged = {document["id"] for document in documents}
            kept = [document for document in read_verdicts(folder, paper) if document["id"] not in judged]
            write_json(_path(folder, paper), {"version": version("tutelage"), "claims": kept + documents})


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
    """
    path = _path(folder, paper)
    if not path.exists():
        return []
    try:
        documents = json.loads(path.read_text(encoding="utf-8"))["claims"]
        return [document for document in documents if document.keys() >= _SHOWN]
    except (ValueError, KeyError, TypeError, AttributeError):
        if notice is not None:
            notice(f"{path} is damaged. `tutelage audit` judges its claims again.")
        return []


def _specification(id: str, effort: str, seed: int) -> str:
    """Return a digest of what a verdict depends on: another seed, effort, version or program is another verdict."""
    return digest(json.dumps([id, effort, seed, version("tutelage"), _source(_paper(id))]))


@lru_cache
def _source(paper: str) -> str:
    """Return a digest of the programs of a paper's claims, and of the machinery that judges them."""
    machinery = files("tutelage.claims")
    sources = [
        entry.read_text(encoding="utf-8")
        for folder in (machinery, machinery.joinpath(paper))
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".py")
    ]
    return digest("".join(sources))
