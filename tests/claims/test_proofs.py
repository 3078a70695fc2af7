"""Refutations in ball arithmetic: what is proved is so, and what is not certain is not proved."""

import numpy as np
import pytest

from tutelage.claims import Claim, Form, Relation, find, judge, proofs
from tutelage.claims.proofs import Undecided, proved, sides
from tutelage.papers import PAPERS, recorded_witnesses

flint = pytest.importorskip("flint")


def relation(sign):
    """A relation, of which only the direction matters here."""
    return Relation({"x": ()}, lambda x: x, sign, 0.0)


@pytest.mark.parametrize(
    ("recipe", "sign", "expected"),
    [
        ("left = x**2; right = 3", "<=", True),
        ("left = x**2; right = 3", ">=", False),
        ("left = x**2; right = 4", "==", False),
        ("left = x**2; right = 4.1", "==", True),
        # Floats say that these differ; the decimals do not.
        ("left = 0.1 + 0.2; right = 0.3", "==", False),
        ("left = 0.1 + 0.2; right = 0.3", "<=", False),
        # A third is no float: rounded, it would be below.
        ("left = 3 * (1 / 3); right = 1", ">=", False),
        ("assert x > 3\nleft = 1; right = 0", "<=", False),
        ("assert x > 1\nleft = 1; right = 0", "<=", True),
        # Nothing decides whether these are equal.
        ("left = 1 if np.sin(x) ** 2 + np.cos(x) ** 2 > 1 else 0; right = 0", "<=", False),
        ("left = max(x, 5) * np.pi; right = np.sum(np.array([3, 3, 3]))", "<=", True),
        ("left = np.random.normal(); right = -100", "<=", False),
        ("left = np.array([0.0, x]); right = np.array([1.0, 1.5])", "<=", True),
        ("left = np.linalg.solve(np.eye(2) * 2, np.array([x, x]))[0]; right = 0.9", "<=", True),
        # A ball around zero has no logarithm, but a square.
        ("left = (np.sqrt(x) - x / np.sqrt(x)) ** 2; right = -1", "<=", True),
        ("left = np.vecdot(np.array([x, 1.0]), np.array([x, 1.0])); right = 4.9", "<=", True),
        ("left = 1 < x < 3; right = 0", "<=", False),
        ("left = np.array([x, x]).max(); right = 0", "<=", False),
    ],
)
def test_only_what_is_certain_is_proved(recipe, sign, expected):
    """Both directions, decimals, thirds, hypotheses, ties, arrays, and what balls do not have."""
    assert proved(recipe, relation(sign), {"x": 2.0}) is expected


def test_a_simulation_is_not_a_closed_form():
    """A long loop is given up."""
    with pytest.raises(Undecided):
        sides("w = x\nfor _ in range(1000000000):\n    w = w - np.sqrt(w) / 10\nleft = w; right = 0", {"x": 2.0})


def test_judging_says_what_is_proved():
    """A refutation whose recipe is a closed form is proved; of what holds there is nothing to prove."""
    claim = Claim(
        "paper.lemma-1",
        "Lemma 1",
        "a square",
        (),
        Form("$x^2 \\le c$", c=1.0),
        Form("$x^2 \\le 1$", c=0.5),
        draw={"x": ()},
        left=lambda x: x**2,
        relation="<=",
        right=lambda c: c,
        corrected=Form("true", relation=">=", c=-0.1),
        correction="a sign",
    )
    printed, corrected = judge(claim)
    assert printed.verdict == "refuted" and printed.proved and printed.document()["proved"]
    assert corrected.verdict != "refuted" and not corrected.proved


@pytest.mark.parametrize("paper", PAPERS)
def test_witnesses_on_record_hold_their_numbers_with_seventy_digits(monkeypatch, paper):
    """Both sides of each refutation, evaluated again in balls of 256 bits, are the floats on record."""
    claims = {claim.id: claim for claim in find([paper])}
    compared, evaluated = 0, []
    # What the proof rests on is what is compared.
    monkeypatch.setattr(proofs, "sides", lambda *given: evaluated.append(sides(*given)) or evaluated[-1])
    for entry in recorded_witnesses(paper):
        claim = claims[entry["id"]]
        witness, relations = entry["witness"], claim.relations(claim.forms[entry["form"]])
        if entry["verdict"] != "refuted" or not {"left", "right"} <= set(witness):
            continue
        recipe = claim.recipe(entry["form"])
        assert entry.get("proved", False) == proved(recipe, relations[0], witness), f"{claim.id}: run make record"
        if not entry.get("proved", False):
            continue
        exact = [np.array([float(ball.mid()) for ball in balls.ravel()]) for balls in evaluated[-1]]
        size = max(np.abs(exact).max(), 1e-300)
        for side, found in zip(("left", "right"), exact, strict=True):
            rounded = np.asarray(witness[side], float).ravel()
            # A recipe may show one of several entries.
            closest = rounded if rounded.size == found.size else [min(rounded, key=lambda one: abs(one - found[0]))]
            np.testing.assert_allclose(closest, found, rtol=1e-6, atol=1e-6 * size, err_msg=f"{claim.id}, {side}")
        compared += 1
    assert compared
