"""What is on record of the papers: every failure has its kind, and the important ones come first."""

import pytest

from tutelage.papers import (
    KINDS,
    PAPERS,
    REASONS,
    STANDINGS,
    STUDIED,
    coverage,
    defects,
    failures,
    recorded_studies,
    recorded_verdicts,
    records_of,
    standing,
)


def test_every_failure_has_a_kind_and_a_finding_and_nothing_else_has():
    """A statement that fails as printed says in which way, and what is wrong; one that holds does not."""
    for record in recorded_verdicts().values():
        fails = record.as_printed in ("refuted", "not_applicable")
        assert (record.kind in KINDS) == fails == bool(record.kind) == bool(record.finding), record.id


@pytest.mark.parametrize("paper", PAPERS)
def test_failures_are_complete_and_ordered(paper):
    """Each failure appears once: the important ones in their order, then what fails as meant, then slips, by kind."""
    listed = failures(paper)
    failing = {record.id for record in records_of(paper) if record.as_printed in ("refuted", "not_applicable")}
    assert {record.id for record in listed} == failing and len(listed) == len(failing)
    important = PAPERS[paper].important
    assert important and tuple(record.id for record in listed[: len(important)]) == important
    rest = [
        (list(STANDINGS).index(record.standing), list(KINDS).index(record.kind)) for record in listed[len(important) :]
    ]
    assert rest == sorted(rest)


@pytest.mark.parametrize("paper", PAPERS)
def test_one_error_is_one_defect(paper):
    """Every failure belongs to one defect, and two failures with one name for their root to the same."""
    found = defects(paper)
    assert sorted(record.id for defect in found for record in defect.records) == sorted(
        record.id for record in failures(paper)
    )
    named = [record.defect for defect in found for record in defect.records[:1] if record.defect]
    assert len(named) == len(set(named))


@pytest.mark.parametrize(
    ("as_printed", "as_meant", "stands"),
    [
        ("holds", None, "holds"),
        ("vacuous", None, "vacuous"),
        ("refuted", None, "fails"),
        ("refuted", "refuted", "fails"),
        ("refuted", "holds", "slip"),
        ("refuted", "vacuous", "vacuous"),
        ("refuted", "inconclusive", "open"),
        ("not_applicable", None, "fails"),
        ("inconclusive", None, "open"),
    ],
)
def test_how_a_statement_stands(as_printed, as_meant, stands):
    """The letter decides where it means what it says; what the context mends is a slip."""
    assert standing(as_printed, as_meant) == stands


def gaps(paper):
    """Return a sentence for everything that is wrong with a paper's map; nothing if it is whole."""
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


@pytest.mark.parametrize("paper", PAPERS)
def test_the_map_of_the_print_has_no_gap(paper):
    """Every line is judged, run as a study, or says why not; every claim has its line."""
    assert gaps(paper) == []
    assert len(coverage(paper)) > len(records_of(paper)) / 2


def test_a_gap_in_the_map_is_found(monkeypatch):
    """A line without an answer or with two, an unknown reason, claim or study, and a claim without a line."""
    lines = [
        {"at": "Lemma 1", "says": "something"},
        {"at": "Lemma 2", "says": "something", "reason": "because"},
        {"at": "Lemma 3", "says": "something", "reason": "restates"},
        {"at": "Lemma 4", "says": "something", "reason": "not judged"},
        {"at": "Lemma 5", "says": "something", "claims": ["no-such"]},
        {"at": "Lemma 6", "says": "something", "claims": ["lemma-6.3"], "reason": "definition"},
        {"at": "Lemma 7", "says": "something", "study": "single_neuron.no-such"},
    ]
    monkeypatch.setattr("tutelage.papers.maps.map_of", lambda paper: lines)
    coverage.cache_clear()
    try:
        found = gaps("single_neuron")
    finally:
        coverage.cache_clear()
    for number in range(1, 8):
        assert sum(f"Lemma {number}" in sentence for sentence in found) == 1, number
    assert sum("has no line in the map" in sentence for sentence in found) == len(records_of("single_neuron")) - 1


@pytest.mark.parametrize("paper", STUDIED)
def test_every_paper_has_a_headline(paper):
    """One sentence for the overview, and more in the highlights."""
    assert STUDIED[paper].headline.endswith(".") and len(STUDIED[paper].highlights) >= 2
