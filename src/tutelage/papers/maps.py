"""Coverage of the print: the whole text of a paper in order, with what judges each line or why nothing does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tutelage.papers.documents import KEYS, map_of
from tutelage.papers.record import STANDINGS, recorded_studies, recorded_verdicts

REASONS: dict[str, str] = {
    "definition": "It names something, or says what is assumed.",
    "restates": "It says again what is judged elsewhere.",
    "cited": "It is the result of another work.",
    "no content": "It asserts nothing that can fail.",
    "not judged": "It asserts something that nothing here judges.",
}


@dataclass(frozen=True)
class Line:
    """A line of the map: a numbered statement, a displayed equation, or a sentence that asserts something.

    Attributes:
        at: Where it is printed.
        says: What it says, in a few words.
        claims: The claims that judge it, by identifier.
        study: The study that runs it again, if it is a figure, a table or an experiment.
        reason: Why no claim judges it, one of `REASONS`; empty where one does.
        of: What it restates, by identifier.
        why: More about the reason.
    """

    at: str
    says: str
    claims: tuple[str, ...] = ()
    study: str = ""
    reason: str = ""
    of: tuple[str, ...] = ()
    why: str = ""

    @property
    def standing(self) -> str:
        """How the gravest of its claims stands; `study` or its reason where it has none."""
        if not self.claims:
            return self.reason or "study"
        records = recorded_verdicts()
        return min((records[id].standing for id in self.claims), key=list(STANDINGS).index)


@lru_cache
def coverage(paper: str) -> tuple[Line, ...]:
    """Return the map of a paper, in the order of the print.

    Args:
        paper: The paper's key.
    """
    return tuple(_line(paper, entry) for entry in map_of(paper))


@lru_cache
def printed_at(paper: str) -> dict[str, str]:
    """Return where the claims of a paper are printed: the first line of the map that names each, in order.

    Args:
        paper: The paper's key; of one that has no map nothing is known.
    """
    places: dict[str, str] = {}
    for line in coverage(paper) if paper in KEYS else ():
        for id in line.claims:
            places.setdefault(id, line.at)
    return places


def gaps(paper: str) -> list[str]:
    """Return a sentence for everything that is wrong with a paper's map; nothing if it is whole.

    Args:
        paper: The paper's key.
    """
    found, seen = [], set()
    for line in coverage(paper):
        answers = bool(line.claims) + bool(line.reason) + bool(line.study and not line.claims)
        if not line.at or not line.says:
            found.append(f"A line of the map has no place or no text: {line}.")
        if answers != 1:
            found.append(f"{line.at} ({line.says}) needs claims, a study or a reason, and one of them.")
        if line.reason and line.reason not in REASONS:
            found.append(f"{line.at}: {line.reason!r} is no reason; the reasons are {', '.join(REASONS)}.")
        if line.reason == "restates" and not line.of:
            found.append(f"{line.at}: what it restates is missing.")
        if line.reason in ("cited", "no content", "not judged") and not line.why:
            found.append(f"{line.at}: the reason {line.reason!r} needs a why.")
        for id in (*line.claims, *line.of):
            if id not in recorded_verdicts():
                found.append(f"{line.at}: there is no claim {id}.")
        if line.study and line.study not in recorded_studies():
            found.append(f"{line.at}: there is no study {line.study}.")
        seen |= set(line.claims)
    own = [id for id in recorded_verdicts() if id.startswith(f"{paper}.")]
    found += [f"{id} has no line in the map." for id in own if id not in seen]
    return found


def _line(paper: str, entry: dict[str, Any]) -> Line:
    named: dict[str, Any] = {name: tuple(f"{paper}.{id}" for id in entry.get(name, ())) for name in ("claims", "of")}
    return Line(**{name: entry.get(name, "") for name in ("at", "says", "study", "reason", "why")}, **named)
