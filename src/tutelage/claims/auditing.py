"""Audits: claims judged as pieces of a job, and their verdicts kept in a report's folder.

A verdict is used again while effort, seed and program are the same: another constant anywhere in what judges it makes
it stale.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from tutelage._configuration import release_memory
from tutelage.claims.judge import judge
from tutelage.claims.registry import claims_of
from tutelage.claims.statement import Claim
from tutelage.claims.verdict import Verdict
from tutelage.errors import MalformedData
from tutelage.files import about, checked_path, digest
from tutelage.papers import expected_seconds
from tutelage.work.documents import Document, shaped
from tutelage.work.engines import Notice, choose_engine, ignore
from tutelage.work.folder import claim as claim_folder
from tutelage.work.folder import inner_folder
from tutelage.work.job import Piece, Watch, carry_out
from tutelage.work.program import modules_of, program_digest
from tutelage.work.store import Content, Store

STUDIES = "studies"
"""Folder of a report's studies, each of which has a manifest of its own."""
_FOLDER = "verdicts"
_OLD = 3600.0  # Seconds, from which a file that was not written to its end never will be.


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
    reading: Literal["as_printed", "as_meant", "corrected"]
    scope: str
    kind: str
    defect: str
    glyph: bool = False
    proved: bool = False
    at_risk: Annotated[float, Field(ge=0, le=1)] | None
    refuted_from: dict[str, Any] | None


class _Facts(Document):
    verdicts: Annotated[list[_Verdict], Field(min_length=1)]


def claim_report(folder: Path) -> None:
    """Make a folder that is empty or absent one of a report, or see that it is one.

    Args:
        folder: The folder.

    Raises:
        NotOurs: If it holds something that tutelage has not written; nothing in it is changed then.
    """
    claim_folder(checked_path("folder", folder), "report", {STUDIES})


def verdict_store(folder: Path) -> Store:
    """Return the store of verdicts in a report's folder: one piece per claim."""
    return Store(inner_folder(folder, _FOLDER, make=False), "audit")


def audit(
    claims: Sequence[Claim],
    effort: str,
    seed: int,
    workers: int = 0,
    folder: Path | None = None,
    fresh: bool = False,
    watch: Watch | None = None,
    notice: Notice | None = None,
) -> list[Verdict]:
    """Judge claims, and return the verdicts in the order of the claims.

    Args:
        claims: The claims.
        effort: How hard to search.
        seed: Seed of the search.
        workers: Number of processes; zero for one per core.
        folder: A report's folder; verdicts are kept there as they come, and those that are there are used.
        fresh: Whether to judge again what is there already.
        watch: Called with the progress.
        notice: Called with a sentence for every damaged file.

    Raises:
        NotOurs: If the folder holds something that tutelage has not written.
        PieceFailed: If a claim cannot be judged.
    """
    if folder is not None:
        claim_report(folder)
        # Others may judge into the same report: what they are writing at this moment is theirs.
        verdict_store(folder).tidy(age=_OLD)
    pieces = pieces_of(claims, effort, seed, folder)
    found = {} if fresh else stored_verdicts(pieces, notice or ignore)
    missing = [piece for piece in pieces if piece.key not in found]
    engine = choose_engine(workers, pieces=len(missing))
    for piece, facts in carry_out(missing, engine, watch=watch, notice=notice):
        found[piece.key] = verdicts_of(facts)
    return [verdict for claim in claims for verdict in found[claim.id]]


def pieces_of(claims: Sequence[Claim], effort: str, seed: int, folder: Path | None) -> list[Piece]:
    """Return the pieces of an audit, the longest first, so that processes are kept busy to the end."""
    seconds = expected_seconds()
    store = None if folder is None else verdict_store(folder)
    pieces = [
        Piece(
            name=claim.id,
            function=_judge,
            arguments=(claim.id, effort, seed),
            store=store,
            key=claim.id,
            stamp=_stamp(claim.id, effort, seed),
            cost=seconds.get(claim.id, 1.0),
            family=claim.paper,
        )
        for claim in claims
    ]
    return sorted(pieces, key=lambda piece: -piece.cost)


def stored_verdicts(pieces: Sequence[Piece], notice: Notice) -> dict[str, list[Verdict]]:
    """Return the verdicts that are there already, by claim; a claim counts if all its forms have one."""
    kept = ((piece.key, piece.store and _read(piece.store, piece.key, piece.stamp, notice)) for piece in pieces)
    return {key: verdicts for key, verdicts in kept if verdicts}


def _read(store: Store, key: str, stamp: str | None, notice: Notice) -> list[Verdict]:
    """Return the verdicts of a piece, none if it is absent or stale; of damage, say so."""
    try:
        content = store.read(key, stamp)
        if content is None:
            return []
        with about(store.path(key)):
            return verdicts_of(content.facts)
    except MalformedData as error:
        notice(f"{error} `tutelage audit` judges its claim again.")
        return []


def verdicts_of(facts: Mapping[str, Any]) -> list[Verdict]:
    """Return the verdicts of a piece.

    Raises:
        MalformedData: If they have another form; the text continues a sentence.
    """
    return [Verdict.from_document(verdict.model_dump()) for verdict in shaped(dict(facts), _Facts).verdicts]


def read_verdicts(folder: Path, paper: str, notice: Notice) -> Iterator[Verdict]:
    """Yield the verdicts on a paper's claims in a report's folder, of whatever effort, seed and program.

    Args:
        folder: The report's folder.
        paper: The paper.
        notice: Called with a sentence for every damaged file.

    Raises:
        Unreadable: If a file cannot be read, or is not a regular file.
    """
    store = verdict_store(folder)
    for key in store:
        if key.startswith(f"{paper}."):
            yield from _read(store, key, None, notice)


def _judge(id: str, effort: str, seed: int) -> Content:
    content = _content(judge(_claim(id), effort, seed))
    release_memory()
    return content


def _content(verdicts: Sequence[Verdict]) -> Content:
    return Content({"verdicts": [verdict.document() for verdict in verdicts]})


def _stamp(id: str, effort: str, seed: int) -> str:
    """Return a digest of what a verdict depends on: another seed, effort or program is another verdict."""
    return digest(json.dumps([id, effort, seed, _program(id)]))


@cache
def _program(id: str) -> str:
    """Return a digest of the program of a claim, and of the machinery that judges it."""
    return program_digest(judge.__module__, *sorted(modules_of(_claim(id))))


def _claim(id: str) -> Claim:
    """Return a claim by its whole identifier, which may be the beginning of another one."""
    return next(claim for claim in claims_of(id.split(".", 1)[0]) if claim.id == id)
