"""Every registered claim: a working control, the verdict on record, witnesses that a reader can paste."""

import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tutelage.claims import Verdict, all_claims, claims_of, find, judge
from tutelage.claims.registry import collected
from tutelage.errors import InvalidArgument
from tutelage.papers import PAPERS, recorded_verdicts, recorded_witnesses

CLAIMS = {claim.id: claim for claim in all_claims()}
# These run longer than they compile, and take three and ten times as long in programs that are optimised little.
LONG = {"local_convergence.theorem-6", "single_neuron.section-3.2.relus"}
# Of a tenth it is found anew how much stronger they would be refuted; of the others it is on record.
STRENGTHENED = list(CLAIMS)[::10]
KEPT = {(entry["id"], entry["form"]): entry for paper in PAPERS for entry in recorded_witnesses(paper)}


def test_records_and_claims_are_the_same():
    """Every claim has a verdict on record and every record a claim, in the same order."""
    assert list(recorded_verdicts()) == list(CLAIMS)


@pytest.mark.parametrize("id", [pytest.param(id, marks=pytest.mark.optimized) if id in LONG else id for id in CLAIMS])
def test_verdict_is_the_recorded_one(id):
    """The control is refuted, every form has its recorded verdict, and a refutation can be pasted into NumPy.

    So can the one that is kept for the report, whose witness is another one if the compiler rounds differently.
    """
    claim, record = CLAIMS[id], recorded_verdicts()[id]
    verdicts = {verdict.form: verdict for verdict in judge(claim, strengthened=id in STRENGTHENED)}
    assert all(verdict.control_refuted for verdict in verdicts.values())
    assert verdicts["as_printed"].verdict == record.as_printed, verdicts["as_printed"]
    for reading, recorded in {"as_meant": record.as_meant, "corrected": record.corrected}.items():
        assert (reading in verdicts) == (recorded is not None)
        assert recorded is None or verdicts[reading].verdict == recorded, verdicts[reading]
    for verdict in verdicts.values():
        assert (verdict.refuted_from is not None) == (verdict.verdict == "holds" and id in STRENGTHENED)
    if record.as_printed == "refuted":
        assert claim.correction and claim.corrected is not None
        found = [verdicts["as_printed"], Verdict.from_document(KEPT[id, "as_printed"])]
        assert all(verdict.margin < 0 and verdict.witness for verdict in found)
        for source in {claim.paste(verdict) for verdict in found}:
            _check_recipe(claim, source)


@pytest.mark.parametrize("paper", PAPERS)
def test_kept_verdicts_are_the_recorded_ones(paper):
    """What the report shows before an audit: every form of every claim."""
    kept = [(entry["id"], entry["form"]) for entry in recorded_witnesses(paper)]
    own = [claim for claim in CLAIMS.values() if claim.paper == paper]
    assert kept == [(claim.id, form) for claim in own for form in claim.forms], "Run make record"
    for id, form in kept:
        entry = KEPT[id, form]
        assert entry["verdict"] == getattr(recorded_verdicts()[id], form), "Run make record"
        # What holds could have failed, and is refuted if it is made a little stronger.
        assert entry["verdict"] != "holds" or (entry["at_risk"] > 0 and entry["refuted_from"]), "Run make record"


@pytest.mark.parametrize("id", CLAIMS)
def test_every_refutation_has_formulas_to_paste(id):
    """Both sides of a witness can be evaluated, not only read."""
    for reading in CLAIMS[id].forms:
        assert getattr(recorded_verdicts()[id], reading) != "refuted" or CLAIMS[id].recipe(reading), reading


@pytest.mark.parametrize("id", CLAIMS)
def test_what_is_pasted_finds_what_is_on_record(id, capsys):
    """Of every reading: what holds up to rounding does not fail in NumPy."""
    claim = CLAIMS[id]
    for reading in claim.forms:
        verdict = Verdict.from_document(KEPT[id, reading])
        if verdict.witness and claim.recipe(reading, verdict.witness):
            exec(claim.paste(verdict), {})
            found = "fails" if verdict.verdict == "refuted" else "holds"
            assert capsys.readouterr().out.endswith(f"so it {found}.\n"), reading


def _check_recipe(claim, source):
    names: dict = {}
    exec(source, names)
    left, right = np.asarray(names["left"]), np.asarray(names["right"])
    # Sampled sides have an error of a few tenths of a per cent; a refutation must be plain beyond it.
    assert claim.relations(claim.as_printed)[0].violated(left, right) > 0.02


def test_same_seed_same_verdict():
    """A verdict depends on the seed alone."""
    claim = CLAIMS["convolutional_filter.section-4.1.g"]
    first, second = judge(claim, seed=3), judge(claim, seed=3)
    for one, other in zip(first, second, strict=True):
        assert one.margin == other.margin
        for name, value in one.witness.items():
            np.testing.assert_array_equal(value, other.witness[name])


def test_a_paper_loads_alone():
    """Finding and judging one statement imports its paper, and neither another one nor what draws figures."""
    program = """
import sys
from tutelage.claims import find, judge
(claim,) = find(["weight_sharing.section-B.1.distance"])
print([verdict.verdict for verdict in judge(claim)])
papers = {name.split(".")[2] for name in sys.modules if name.startswith("tutelage.claims.") and name.count(".") == 3}
print(sorted(papers), "matplotlib" in sys.modules, "polars" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["['refuted', 'holds']", "['weight_sharing'] False False"]


def test_every_claim_that_a_paper_defines_is_collected():
    """None is lost in a function, in a collection other than a tuple, or under a name that is used twice."""
    program = """
import gc
from tutelage.claims import Claim, all_claims
collected = {id(claim) for claim in all_claims()}
print([claim for claim in gc.get_objects() if isinstance(claim, Claim) and id(claim) not in collected])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]"]


def test_two_claims_with_one_identifier_are_refused():
    """A claim may be imported by another module; another claim of its name may not exist."""
    claim = next(iter(CLAIMS.values()))
    first, second = SimpleNamespace(CLAIM=claim), SimpleNamespace(SAME=(claim,))
    assert collected([first, second]) == {claim.id: claim}
    with pytest.raises(ValueError, match=f"There are two claims {claim.id}"):
        collected([first, SimpleNamespace(OTHER=replace(claim))])


def test_find():
    """Papers, identifiers, parts and wildcards find claims; what matches nothing is refused by name."""
    assert find() == all_claims()
    assert find(["convolutional_filter"]) == claims_of("convolutional_filter")
    assert [claim.id for claim in find(["convolutional_filter.lemma-4.2"])] == ["convolutional_filter.lemma-4.2"]
    assert len(find(["convolutional_filter.lemma-A.1"])) == 6
    assert all("lemma" in claim.id for claim in find(["*.lemma-*"]))
    with pytest.raises(InvalidArgument, match="lemma-9"):
        find(["convolutional_filter.lemma-9"])
