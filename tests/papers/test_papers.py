"""What is on record of the papers: every failure has its kind, and the important ones come first."""

import pytest

from tutelage.papers import KINDS, PAPERS, failures, recorded_verdicts


def test_every_failure_has_a_kind_and_a_finding_and_nothing_else_has():
    """A statement that fails as printed says in which way, and what is wrong; one that holds does not."""
    for record in recorded_verdicts().values():
        fails = record.as_printed in ("refuted", "not_applicable")
        assert (record.kind in KINDS) == fails == bool(record.kind) == bool(record.finding), record.id


@pytest.mark.parametrize("paper", PAPERS)
def test_failures_are_complete_and_ordered(paper):
    """Each failure appears once: the important ones in their order, then the others from statements to misprints."""
    listed = failures(paper)
    own = [record for id, record in recorded_verdicts().items() if id.startswith(f"{paper}.")]
    failing = {record.id for record in own if record.as_printed in ("refuted", "not_applicable")}
    assert {record.id for record in listed} == failing and len(listed) == len(failing)
    important = PAPERS[paper].important
    assert important and tuple(record.id for record in listed[: len(important)]) == important
    kinds = [list(KINDS).index(record.kind) for record in listed[len(important) :]]
    assert kinds == sorted(kinds)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_has_a_headline(paper):
    """One sentence for the overview, and more in the highlights."""
    assert PAPERS[paper].headline.endswith(".") and len(PAPERS[paper].highlights) >= 2
