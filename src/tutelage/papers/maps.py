"""Coverage of the print: the whole text of a paper in order, with what judges each line or why nothing does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tutelage.papers.documents import KEYS, map_of
from tutelage.papers.record import STANDINGS, recorded_verdicts

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


def _line(paper: str, entry: dict[str, Any]) -> Line:
    named: dict[str, Any] = {name: tuple(f"{paper}.{id}" for id in entry.get(name, ())) for name in ("claims", "of")}
    return Line(**{name: entry.get(name, "") for name in ("at", "says", "study", "reason", "why")}, **named)
