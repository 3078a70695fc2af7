"""What is on record: the verdicts of the claims, what they say together, and the outcomes of the studies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from tutelage.papers.documents import KEYS, document, entries, recorded_witnesses

KINDS: dict[str, str] = {
    "statement": "What is asserted is not so; the corrected form says what remains of it.",
    "condition": "It is true under a condition that the print leaves out or uses without saying so.",
    "constant": "A constant, exponent, threshold or probability is another one; with it the statement holds.",
    "misprint": "A sign, index or factor that the text around it has right, or on which nothing depends.",
}

STANDINGS: dict[str, str] = {
    "fails": "It fails as its authors meant it, as far as the paper tells.",
    "slip": "The letter fails, and the paper's own context supplies what it lacks: as meant it holds.",
    "open": "Judged, and not decided.",
    "vacuous": "Nothing that was tried could have failed: it counts as judged by nobody.",
    "holds": "It held on everything tried, and a falsehood about as hard was refuted. That is no proof.",
}
_SCOPES = ("theorem", "lemma", "proof step", "remark", "caption")


@dataclass(frozen=True)
class Recorded:
    """The verdicts on record for a claim, and what is said of it.

    Attributes:
        id: The claim.
        as_printed: Verdict on the print.
        corrected: Verdict on the corrected form; `None` where there is none.
        finding: What is wrong with the print, in one line; empty where it holds.
        kind: In which way the print fails, one of `KINDS`; empty where it holds.
        as_meant: Verdict on the statement with what the context supplies; `None` where that is no other reading.
        scope: What kind of statement it is: theorem, lemma, proof step, remark or caption.
        defect: Name of the root error behind it, where it shows in several claims.
        glyph: Whether the failure hangs on one glyph of the text.
        downstream: What rests on a statement that fails, and what of it remains.
    """

    id: str
    as_printed: str
    corrected: str | None
    finding: str
    kind: str = ""
    as_meant: str | None = None
    scope: str = ""
    defect: str = ""
    glyph: bool = False
    downstream: str = ""

    @property
    def standing(self) -> str:
        """How the statement stands, one of `STANDINGS`: the letter decides where it means what it says."""
        return standing(self.as_printed, self.as_meant)


def standing(as_printed: str, as_meant: str | None) -> str:
    """Return how a statement stands, one of `STANDINGS`, by the verdicts on its two readings.

    Args:
        as_printed: The verdict on the letter.
        as_meant: The verdict on what the context makes of it; `None` where that is the same.
    """
    if as_printed in ("holds", "vacuous"):
        return as_printed
    if as_meant is not None:
        return {"holds": "slip", "vacuous": "vacuous", "refuted": "fails"}.get(as_meant, "open")
    # A statement whose hypotheses nothing satisfies fails as surely as one with a counterexample.
    return "fails" if as_printed in ("refuted", "not_applicable") else "open"


def counted(records: Iterable[Recorded]) -> dict[str, int]:
    """Return how many statements stand how, for each of `STANDINGS`."""
    found = [record.standing for record in records]
    return {name: found.count(name) for name in STANDINGS}


@lru_cache
def recorded_verdicts() -> dict[str, Recorded]:
    """Return the verdicts on record, by claim, in the order of the papers."""
    said = dict(entries("claims"))
    records = {}
    for key in KEYS:
        judged: dict[str, dict[str, dict]] = {}
        for entry in recorded_witnesses(key):
            judged.setdefault(entry["id"], {})[entry["form"]] = entry
        for id, forms in judged.items():
            printed, about = forms["as_printed"], said.get(id, {})
            verdicts = {name: forms[name]["verdict"] if name in forms else None for name in ("corrected", "as_meant")}
            records[id] = Recorded(
                id=id,
                as_printed=printed["verdict"],
                finding=about.get("finding", ""),
                kind=about.get("kind", ""),
                scope=printed.get("scope", ""),
                defect=printed.get("defect", ""),
                glyph=printed.get("glyph", False),
                downstream=about.get("downstream", ""),
                **verdicts,
            )
    return records


def kind_on_record(id: str) -> str:
    """Return in which way a claim of a paper is said to fail, one of `KINDS`; empty where nothing is said."""
    paper, _, name = id.partition(".")
    return document(paper).get("claims", {}).get(name, {}).get("kind", "") if paper in KEYS else ""


def records_of(paper: str) -> tuple[Recorded, ...]:
    """Return the verdicts on record for the claims of a paper."""
    return tuple(record for record in recorded_verdicts().values() if record.id.startswith(f"{paper}."))


@dataclass(frozen=True)
class Defect:
    """One error of a paper, with all places where it shows.

    Attributes:
        name: What is wrong, in a few words; the finding of its first place, if it has no name.
        records: Where it shows, the most important place first.
    """

    name: str
    records: tuple[Recorded, ...]

    @property
    def standing(self) -> str:
        """`fails` if it breaks something as it was meant, else the standing of its gravest place."""
        return min((record.standing for record in self.records), key=list(STANDINGS).index)


def defects(paper: str) -> tuple[Defect, ...]:
    """Return the errors of a paper, the gravest first: one root error is one entry, however often it shows.

    Args:
        paper: The paper's key.
    """
    groups: dict[str, list[Recorded]] = {}
    for record in failures(paper):
        groups.setdefault(record.defect or record.id, []).append(record)
    found = [Defect(group[0].defect or group[0].finding, tuple(group)) for group in groups.values()]
    return tuple(sorted(found, key=lambda one: _weight(paper, one.records[0])))


def failures(paper: str) -> tuple[Recorded, ...]:
    """Return the statements of a paper that do not hold as printed, the gravest first.

    The important ones come first, in the order of the record; then what fails as meant, slips, and what is open; among
    these by kind, from statements to misprints, and by scope.

    Args:
        paper: The paper's key.
    """
    failing = [record for record in records_of(paper) if record.kind]
    return tuple(sorted(failing, key=lambda record: _weight(paper, record)))


def _weight(paper: str, record: Recorded) -> tuple[int, int, int, int]:
    important = [f"{paper}.{name}" for name in document(paper).get("important", ())]
    rank = important.index(record.id) if record.id in important else len(important)
    scope = _SCOPES.index(record.scope) if record.scope in _SCOPES else len(_SCOPES)
    return rank, list(STANDINGS).index(record.standing), list(KINDS).index(record.kind), scope


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


@lru_cache
def recorded_studies() -> dict[str, RecordedStudy]:
    """Return the outcomes on record, by study, in the order of the papers."""
    return {
        id: RecordedStudy(id, entry["title"], entry["verdict"], entry.get("failing", 0), entry.get("finding", ""))
        for id, entry in entries("studies")
    }


@lru_cache
def expected_seconds() -> dict[str, float]:
    """Return about how long each claim and each study (at quick scale) takes on one core.

    It decides what is begun first and how long is left, nothing else.
    """
    seconds = {id: float(entry["seconds"]) for id, entry in entries("studies") if "seconds" in entry}
    for paper in KEYS:
        for entry in recorded_witnesses(paper):
            seconds[entry["id"]] = seconds.get(entry["id"], 0.0) + entry["seconds"]
    return seconds
