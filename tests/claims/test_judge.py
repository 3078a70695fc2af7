"""The machinery itself: it refutes what is false, keeps what is true, and says when it cannot tell."""

import dataclasses
import json

import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.claims import Claim, Effort, Form, judge, real
from tutelage.claims.outcome import EFFORTS
from tutelage.claims.power import _between
from tutelage.claims.verdict import Verdict
from tutelage.errors import InvalidArgument
from tutelage.objectives import population
from tutelage.problems import neuron


def squared(x):
    """A formula that is never negative."""
    return np.sum(x**2, -1)


def claim_of(bound=1.0, **parts) -> Claim:
    """A claim on a square, false as it stands; its control is false too."""
    given = {"draw": {"x": (2,)}, "left": squared, "relation": "<=", "right": lambda bound: bound, **parts}
    forms = {
        "as_printed": Form("a bound", bound=bound),
        "control": Form("false", left=squared, relation="<=", right=0.5),
    }
    return Claim("paper.lemma-1", "Lemma 1", "a test", (), **{**forms, **given})


def true(**parts) -> Claim:
    """A claim that is true, and could have been false."""
    return claim_of(left=squared, relation=">=", right=lambda x, bound: np.abs(x[..., 0]) ** 2 * bound, **parts)


def test_a_shape_is_one_law():
    """Forms of a claim whose draw is a shape differ by a parameter alone: the mildest strengthening is measured."""
    right = lambda x, power: np.abs(x[..., 0]) ** power  # noqa: E731
    equal = {
        "left": lambda x: np.exp(2 * np.log(np.abs(x[..., 0]))),
        "relation": "==",
        "right": right,
        "control": Form("false", power=2.1),
    }
    (verdict,) = judge(claim_of(as_printed=Form("an identity", power=2.0), **equal))
    assert verdict.verdict == "holds" and 1 < verdict.refuted_from["factor"] < 1.001


def test_true_statement_holds():
    """A true inequality holds on every instance tried."""
    (verdict,) = judge(true())
    assert verdict.verdict == "holds" and verdict.control_refuted and verdict.instances > 1000


def test_rare_violation_is_found():
    """The search finds a violation in a set that random instances practically never hit."""
    centre = np.array([0.3, -0.7])
    rare = claim_of(left=lambda x: np.sqrt(np.sum((x - centre) ** 2, -1)), relation=">=", right=1e-3)
    (verdict,) = judge(rare)
    assert verdict.verdict == "refuted"
    np.testing.assert_allclose(verdict.witness["x"], centre, atol=1e-3)


def test_corner_case_is_tried():
    """A statement that fails at one chosen instance alone is refuted by it."""
    only = claim_of(
        left=lambda x: np.where(np.all(x == 5.0, -1), 2.0, 0.0) + 0 * x[..., 0], right=lambda x: 1 + squared(x) / 100
    )
    assert judge(only)[0].verdict != "refuted"
    (verdict,) = judge(dataclasses.replace(only, corners=[{"x": np.array([5.0, 5.0])}], right=1.0))
    assert verdict.verdict == "refuted"


def test_unrefuted_control_makes_verdicts_inconclusive():
    """A search that cannot refute the control says nothing."""
    (verdict,) = judge(true(control=Form("true", bound=1.0)))
    assert verdict.verdict == "inconclusive" and not verdict.control_refuted


@pytest.mark.parametrize("far", [0.0, 1e3])
def test_what_is_not_a_number_is_inconclusive(far):
    """Everywhere, or only where the search goes: it never passes for a large margin."""
    broken = claim_of(
        left=lambda x: np.where(squared(x) > far, np.nan, -squared(x)), relation=">=", right=lambda x: -1e9 - squared(x)
    )
    (verdict,) = judge(dataclasses.replace(broken, right=lambda x: -2e3 + 0 * squared(x)) if far else broken)
    assert verdict.verdict == "inconclusive" and np.sum(verdict.witness["x"] ** 2) > far


def test_an_infinite_side_refutes_nothing():
    """A side that overflows is no counterexample: the verdict is open, and shows where."""
    (verdict,) = judge(claim_of(left=lambda x: np.where(x[..., 0] > 0, np.inf, 0.0)))
    assert verdict.verdict == "inconclusive" and verdict.witness["x"][0] > 0


def test_empty_hypotheses_are_not_applicable():
    """A statement whose hypotheses nothing satisfies is not judged."""
    (verdict,) = judge(claim_of(where=lambda x: squared(x) < -1, control=Form("false", where=None, right=0.5)))
    assert verdict.verdict == "not_applicable"


def test_rounding_is_not_a_violation():
    """Equality up to rounding holds; a difference in the eighth digit does not."""
    close = {"relation": "==", "right": lambda x: x, "control": Form("false", left=lambda x: 1.01 * x)}
    assert judge(claim_of(left=lambda x: x / 3 * 3, **close))[0].verdict in ("holds", "vacuous")
    assert judge(claim_of(left=lambda x: x * (1 + 1e-8), **close))[0].verdict == "refuted"


def test_document_is_plain_json():
    """A verdict's document holds the promised fields and nothing that JSON cannot hold."""
    (verdict,) = judge(claim_of())
    document = json.loads(json.dumps(verdict.document(), allow_nan=False))
    wanted = {"id", "form", "verdict", "margin", "instances", "arithmetic", "witness", "control_refuted", "seconds"}
    wanted |= {"reading", "scope", "kind", "defect", "glyph", "proved", "at_risk", "refuted_from"}
    assert wanted <= document.keys() and isinstance(verdict, Verdict)


def test_unknown_effort_is_refused():
    """An effort that does not exist is refused by name."""
    with pytest.raises(ValueError, match="extreme"):
        judge(claim_of(), effort="extreme")
    assert set(EFFORTS) == {"default", "high"}


def test_effort_of_your_own_and_a_line_of_words():
    """An effort may be made to measure; a verdict says in a line what it is, and its claim rebuilds the witness."""
    claim = claim_of()
    (verdict,) = judge(claim, Effort(samples=16, restarts=2, generations=1, iterations=1, runs=1))
    assert verdict.effort == "own" and verdict.instances >= 16
    assert str(verdict).startswith("paper.lemma-1, as printed: refuted (smallest margin -")
    names: dict = {}
    exec(claim.paste(verdict), names)
    np.testing.assert_array_equal(names["x"], verdict.witness["x"])


def test_verdict_survives_its_document():
    """A verdict that is read back is the same document again, infinities and all."""
    (verdict,) = judge(claim_of())
    strange = dataclasses.replace(
        verdict, margin=float("-inf"), witness={"x": np.array([1.0, np.inf]), "n": 3, "name": "ring", "k": np.arange(3)}
    )
    for one in (verdict, strange):
        document = json.loads(json.dumps(one.document(), allow_nan=False))
        assert Verdict.from_document({**document, "specification": "abc"}).document() == document


def test_instances_that_do_not_fit_the_objective_are_an_error():
    """Vectors of four entries are no students of a neuron in three dimensions: no verdict, and one clear sentence."""
    objective = population(neuron(np.eye(3)[0]))
    claim = claim_of(draw={"x": (4,)}, left=lambda x: objective.loss(x), relation=">=", right=0.0)
    with pytest.raises(InvalidArgument) as refusal:
        judge(claim)
    message = str(refusal.value)
    assert "`point` must have shape (3,)" in message and "\n" not in message


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"left": lambda y: y}, "y"),
        ({"left": lambda x: "three"}, "left"),
        ({"left": lambda x: 1 / 0}, "ZeroDivisionError"),
    ],
)
def test_formulas_that_give_no_number_are_refused(parts, words):
    """One sentence that names what is wrong."""
    with pytest.raises(InvalidArgument, match=words):
        judge(claim_of(**parts))


@pytest.mark.parametrize("missing", ["draw", "left", "relation", "right"])
def test_a_claim_is_a_relation(missing):
    """What is drawn, two sides and how they compare: each is asked for when the claim is written."""
    with pytest.raises(InvalidArgument, match=f"^`{missing}` must be given"):
        claim_of(**{missing: None})


def test_restarts_are_samples():
    """A search goes on from some of its samples."""
    with pytest.raises(InvalidArgument, match=r"^`restarts` must be at most `samples`"):
        Effort(samples=2, restarts=4, generations=1, iterations=1, runs=1)


def test_formulas_in_jax_are_judged_alike():
    """A formula may be written in JAX, and is differentiated there."""
    (verdict,) = judge(claim_of(left=lambda x: jnp.sum(x**2)))
    assert verdict.verdict == "refuted"


def test_a_draw_without_instances_leaves_the_others():
    """Hypotheses that nothing of one shape satisfies: the other shapes are judged, and their strength is measured."""
    claim = Claim(
        id="test.shapes",
        place="nowhere",
        title="vectors of two entries",
        hypotheses=("two entries",),
        draw=[{"x": real((1,))}, {"x": real((2,))}],
        where=lambda x: jnp.sum(jnp.ones_like(x)) > 1.5,
        left=lambda x: jnp.sum(x**2),
        relation="<=",
        right=lambda x, factor: factor * jnp.sum(jnp.abs(x)) ** 2,
        as_printed=Form("it is at most the square of the sum", factor=1.0),
        control=Form("it is at most nine tenths of it", factor=0.9),
    )
    (verdict,) = judge(claim)
    assert verdict.verdict == "holds" and verdict.refuted_from["factor"] > 0.99


@pytest.mark.parametrize(("low", "high"), [(2.0, 32.0), (-2.0, -32.0), (-1.0, 3.0), (0.0, 5.0), (1, 9)])
def test_numbers_on_the_way_to_a_control(low, high):
    """From the form's number to the control's, and half-way by quotients where both have one sign."""
    way = [_between(low, high, share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert way[0] == pytest.approx(low) and way[-1] == pytest.approx(high)
    assert sorted(way) == way or sorted(way, reverse=True) == way
    assert way[2] == pytest.approx(np.sign(low) * np.sqrt(low * high) if low * high > 0 else (low + high) / 2)
    assert all(isinstance(number, int) for number in way) == isinstance(low, int)
