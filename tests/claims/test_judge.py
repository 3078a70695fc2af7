"""The machinery itself: it refutes what is false, keeps what is true, and says when it cannot tell."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.claims import (
    Claim,
    Effort,
    Family,
    Form,
    Outcome,
    Pointwise,
    at_most,
    equal,
    given,
    judge,
    worst_of,
)
from tutelage.claims.base import EFFORTS, Verdict
from tutelage.errors import InvalidArgument
from tutelage.objectives import population
from tutelage.problems import neuron


def _pointwise(check, corners=(), gradient=True):
    return Pointwise(check, [Family({"x": (2,)}, lambda raw: {"x": raw["x"]})], corners, gradient)


def _claim(check, control, **options) -> Claim:
    return Claim(
        id="paper.lemma-1",
        place="Lemma 1",
        title="a test",
        hypotheses=(),
        as_printed=Form("true or false", _pointwise(check, **options)),
        control=Form("false", _pointwise(control)),
    )


def _false(i):
    return at_most(jnp.sum(i["x"] ** 2), 1.0, 1.0)


def _true(i):
    return at_most(-jnp.sum(i["x"] ** 2), 0.0, 1.0)


def test_true_statement_holds():
    """A true inequality holds on every instance tried."""
    (verdict,) = judge(_claim(_true, _false))
    assert verdict.verdict == "holds" and verdict.control_refuted and verdict.instances > 1000


def test_rare_violation_is_found():
    """The search finds a violation in a set that random instances practically never hit."""
    centre = jnp.array([0.3, -0.7])
    rare = lambda i: at_most(1e-3, jnp.sqrt(jnp.sum((i["x"] - centre) ** 2)), 1.0)  # noqa: E731
    (verdict,) = judge(_claim(rare, _false))
    assert verdict.verdict == "refuted"
    np.testing.assert_allclose(verdict.witness["x"], centre, atol=1e-3)


def test_corner_case_is_tried():
    """A statement that fails at one chosen instance alone is refuted by it."""
    only = lambda i: given(jnp.all(i["x"] == 5.0), at_most(1.0, 0.0, 1.0))  # noqa: E731
    (verdict,) = judge(_claim(only, _false, corners=[{"x": np.array([5.0, 5.0])}]))
    assert verdict.verdict == "refuted"


def test_unrefuted_control_makes_verdicts_inconclusive():
    """A test that cannot refute its control says nothing."""
    (verdict,) = judge(_claim(_true, _true))
    assert verdict.verdict == "inconclusive" and not verdict.control_refuted


def test_nan_margin_is_inconclusive():
    """A margin that is not a number never passes for a large one."""
    broken = lambda i: {"margin": jnp.sum(i["x"]) * jnp.nan}  # noqa: E731
    (verdict,) = judge(_claim(broken, _false))
    assert verdict.verdict == "inconclusive"


def test_nan_margin_in_the_search_is_inconclusive():
    """Not a number where the search goes, though on no random instance."""
    far = lambda i: {"margin": jnp.where(jnp.sum(i["x"] ** 2) > 1e3, jnp.nan, -jnp.sum(i["x"] ** 2))}  # noqa: E731
    (verdict,) = judge(_claim(far, _false, gradient=False))
    assert verdict.verdict == "inconclusive" and np.sum(verdict.witness["x"] ** 2) > 1e3


def test_infinite_violation_is_refuted():
    """A margin of minus infinity is a violation; only plus infinity means that the hypotheses fail."""
    infinite = lambda i: {"margin": jnp.where(i["x"][0] > 0, -jnp.inf, 1.0)}  # noqa: E731
    (verdict,) = judge(_claim(infinite, _false, gradient=False))
    assert verdict.verdict == "refuted" and verdict.witness["x"][0] > 0


def test_experiment_without_instances_is_not_applicable():
    """An experiment that has met no instance does not hold."""
    empty = Form("an experiment", lambda effort, seed: Outcome(np.inf, 0))
    (verdict,) = judge(Claim("paper.lemma-3", "", "", (), as_printed=empty, control=Form("false", _pointwise(_false))))
    assert verdict.verdict == "not_applicable"


def test_empty_hypotheses_are_not_applicable():
    """A statement whose hypotheses nothing satisfies is not judged."""
    nothing = lambda i: given(False, at_most(0.0, 1.0, 1.0))  # noqa: E731
    (verdict,) = judge(_claim(nothing, _false))
    assert verdict.verdict == "not_applicable"


def test_an_experiment_that_meets_nothing_does_not_hold():
    """Whatever it was that did not count, an infinite margin is no evidence."""
    claim = _claim(_true, _false)
    nothing = dataclasses.replace(claim, as_printed=Form("anything", lambda effort, seed: Outcome(np.inf, 10)))
    (verdict,) = judge(nothing)
    assert verdict.verdict == "not_applicable"


def test_rounding_is_not_a_violation():
    """Equality up to rounding holds; a difference in the eighth digit does not."""
    close = lambda i: equal(i["x"] / 3 * 3, i["x"], jnp.max(jnp.abs(i["x"])))  # noqa: E731
    apart = lambda i: equal(i["x"] * (1 + 1e-8), i["x"], jnp.max(jnp.abs(i["x"])))  # noqa: E731
    assert judge(_claim(close, _false))[0].verdict == "holds"
    assert judge(_claim(apart, _false))[0].verdict == "refuted"


def test_document_is_plain_json():
    """A verdict's document holds the promised fields and nothing that JSON cannot hold."""
    import json

    (verdict,) = judge(_claim(_false, _false))
    document = json.loads(json.dumps(verdict.document(), allow_nan=False))
    wanted = {"id", "form", "verdict", "margin", "instances", "arithmetic", "witness", "control_refuted", "seconds"}
    assert wanted <= document.keys() and isinstance(verdict, Verdict)


def test_unknown_effort_is_refused():
    """An effort that does not exist is refused by name."""
    with pytest.raises(ValueError, match="extreme"):
        judge(_claim(_true, _false), effort="extreme")
    assert set(EFFORTS) == {"default", "high"}


def test_effort_of_your_own_and_a_line_of_words():
    """An effort may be made to measure; a verdict says in a line what it is, and its claim rebuilds the witness."""
    claim = _claim(_false, _false)
    (verdict,) = judge(claim, Effort(samples=16, restarts=2, generations=1, iterations=1, runs=1))
    # One family: random instances, two generations of children of as many again, and two gradient paths.
    assert verdict.effort == "own" and 16 < verdict.instances < 100
    assert str(verdict).startswith("paper.lemma-1, as printed: refuted (smallest margin -")
    names: dict = {}
    exec(claim.paste(verdict), names)
    np.testing.assert_array_equal(names["x"], verdict.witness["x"])


def test_control_is_refuted_by_its_first_failure():
    """The search on a control ends where it fails; that of a statement does not."""
    tried = []

    def counted(name, bound):
        def build(raw):
            tried.append(name)
            return {"x": raw["x"]}

        families = [Family({"x": (2,)}, build), Family({"x": (3,)}, build)]
        return Form("a bound", Pointwise(lambda i: at_most(jnp.sum(i["x"] ** 2), bound, 1.0), families, gradient=True))

    (verdict,) = judge(
        Claim("paper.lemma-2", "", "", (), as_printed=counted("statement", 2.0), control=counted("control", 1.0))
    )
    assert verdict.verdict == "refuted" and verdict.control_refuted
    # A family is traced once to evaluate it, and again for its gradients.
    assert tried.count("control") == 1 and tried.count("statement") >= 4


def test_verdict_survives_its_document():
    """A verdict that is read back is the same document again, infinities and all."""
    import json

    (verdict,) = judge(_claim(_false, _false))
    strange = dataclasses.replace(
        verdict, margin=float("-inf"), witness={"x": np.array([1.0, np.inf]), "n": 3, "name": "ring", "k": np.arange(3)}
    )
    for one in (verdict, strange):
        document = json.loads(json.dumps(one.document(), allow_nan=False))
        assert Verdict.from_document({**document, "specification": "abc"}).document() == document


def test_smallest_margin_counts():
    """Of several margins the smallest, with its instance; one that does not count is left out."""
    outcome = worst_of([(0.5, {"x": 1}), (-0.25, {"x": 2}), (np.inf, {"x": 3})], note="three")
    assert outcome == Outcome(-0.25, 3, {"x": 2}, "three")
    assert worst_of([(0.5, {})], tried=40).instances == 40


def test_margins_that_are_no_numbers_are_not_left_out():
    """Not among smaller ones, and not where there is nothing else."""
    for found in ([(-1.0, {}), (np.nan, {"x": 2})], [(np.nan, {"x": 2})]):
        outcome = worst_of(found)
        assert outcome.judgement == "inconclusive" and outcome.witness == {"x": 2}
    for nothing in ([], [(np.inf, {})]):
        assert worst_of(nothing).judgement == "not_applicable"


def test_instances_that_do_not_fit_the_objective_are_an_error():
    """Vectors of four entries are no students of a neuron in three dimensions: no verdict, and one clear sentence."""
    objective = population(neuron(np.eye(3)[0]))
    check = lambda i: at_most(0.0, objective.loss(i["w"]), 1.0)  # noqa: E731
    test = Pointwise(check, [Family({"w": (4,)}, lambda raw: {"w": raw["w"]})])
    claim = dataclasses.replace(_claim(_true, _false), as_printed=Form("the loss is not negative", test))
    with pytest.raises(InvalidArgument) as refusal:
        judge(claim)
    message = str(refusal.value)
    assert message.startswith("`check` must fit the instances that it is given, but received one of w (4,)")
    assert "`point` must have shape (3,)" in message and "\n" not in message


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (lambda i: i["y"], "raised KeyError: 'y'"),
        (lambda i: 3.0, "return a mapping with one margin"),
        (lambda i: {"left": 1.0}, "return a mapping with one margin"),
        (lambda i: {"margin": i["x"]}, r"a margin of shape \(2,\)"),
    ],
)
def test_checks_that_check_nothing_are_refused(check, words):
    """As printed, as a control and at a corner."""
    for claim in (_claim(check, _false), _claim(_true, check), _claim(check, _false, corners=[{"x": np.ones(2)}])):
        with pytest.raises(InvalidArgument, match=f"^`check` must .*{words}"):
            judge(claim)


def test_what_can_be_read_only_once_is_kept():
    """Families and hypotheses may come from a generator."""
    families = (Family({"x": (2,)}, lambda raw: {"x": raw["x"]}) for _ in range(2))
    test = Pointwise(_true, families)
    assert len(test.families) == 2 and len(list(test.families)) == 2


@pytest.mark.parametrize("test", [lambda effort, seed: None, lambda effort, seed: 1 / 0, lambda: None])
def test_tests_that_return_no_outcome_are_refused(test):
    claim = dataclasses.replace(_claim(_true, _false), as_printed=Form("anything", test))
    with pytest.raises(InvalidArgument, match=r"^`test` must be a function that"):
        judge(claim)
    with pytest.raises(InvalidArgument, match=r"^`restarts` must be at most `samples`"):
        Effort(samples=2, restarts=4, generations=1, iterations=1, runs=1)
