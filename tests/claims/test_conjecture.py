"""Conjectures of one's own: verdicts in words, planted controls, and one sentence for what makes no sense."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutelage as tl
from tutelage.claims import Effort, uniform
from tutelage.errors import InvalidArgument

OBJECTIVE = tl.population(tl.problems.neuron(np.eye(3)[0]))
BRIEF = Effort(samples=128, restarts=8, generations=4, iterations=40, runs=1)


def means(**changes):
    """The inequality of the means, with a constant."""
    parts = {
        "draw": {"x": (2,)},
        "left": lambda x, constant: constant * jnp.abs(x[0] * x[1]),
        "relation": "<=",
        "right": lambda x: jnp.sum(x**2),
        "constant": 2.0,
        "effort": BRIEF,
    }
    return tl.conjecture(**(parts | changes))


def test_a_false_conjecture_has_a_witness():
    """With the numbers, and in words."""
    verdict = means(constant=2.5)
    assert verdict.verdict == "refuted" and verdict.margin == pytest.approx(-0.2, abs=1e-6)
    x = verdict.witness["x"]
    assert 2.5 * abs(x[0] * x[1]) > x @ x
    assert str(verdict).startswith("refuted: the instance below violates it")


def test_a_true_conjecture_plants_its_own_control():
    """Without a control the verdict says so, and how thin a planted violation was found."""
    verdict = means()
    assert verdict.verdict == "holds" and verdict.at_risk == 1.0
    assert "no control was given: planted violations were found down to" in str(verdict)


def test_a_control_says_how_strong_the_test_is():
    """The mildest constant that is refuted; a control that is no stronger leaves the question open."""
    verdict = means(control={"constant": 2.2})
    assert verdict.verdict == "holds" and 1 < verdict.refuted_from["factor"] < 1.001
    assert "with constant" in str(verdict)
    assert means(control={"constant": 1.9}).verdict == "inconclusive"


def test_conditions_and_laws():
    """A condition that matters, and numbers of an interval, in NumPy."""
    sine = {"draw": {"angle": uniform(0, np.pi)}, "left": lambda angle: np.sin(angle), "effort": BRIEF}
    chord = {"relation": ">=", "right": lambda angle: 2 / np.pi * angle}
    assert tl.conjecture(**sine, **chord).verdict == "refuted"
    assert tl.conjecture(**sine, **chord, where=lambda angle: angle <= np.pi / 2).verdict == "holds"
    assert tl.conjecture(**sine, **chord, where=lambda angle: angle < 0).verdict == "not_applicable"


def test_what_could_not_fail_is_vacuous():
    """A bound below zero on what is never negative."""
    vacuous = tl.conjecture(draw={"x": ()}, left=lambda x: x**2, relation=">=", right=-1.0, effort=BRIEF)
    assert vacuous.verdict == "vacuous" and "could not have failed" in str(vacuous)


def test_a_parameter_may_belong_to_the_control_alone():
    """What a formula of the control takes is no name that nothing takes."""
    verdict = means(control={"right": lambda x, least: -least, "least": 1.0})
    assert verdict.verdict == "holds" and "the control was refuted" in verdict.control


def test_a_violation_by_rounding_errors_is_called_so():
    """A difference of 1e-12 of both sides is no counterexample, and the text does not deny that it is there."""
    verdict = tl.conjecture(
        draw={"x": uniform(0, 1)}, left=lambda x: 1e12 + x, relation="<=", right=lambda x: 1e12 + 0 * x, effort=BRIEF
    )
    assert verdict.verdict == "holds" and -1e-9 < verdict.margin < 0
    assert "nothing that was tried violates it by more than rounding" in str(verdict)
    assert "violated by 1e-12 of the size of the sides, which counts as rounding" in str(verdict)


def test_the_tolerance_of_an_equality_may_be_small():
    """Errors between it and a billionth are no rounding."""
    equal = {"draw": {"x": uniform(0, 1)}, "left": lambda x: np.exp(x) * (1 + 1e-10), "relation": "=="}
    assert tl.conjecture(**equal, right=lambda x: np.exp(x)).verdict == "holds"
    assert tl.conjecture(**equal, right=lambda x: np.exp(x), tolerance=1e-12).verdict == "refuted"


def test_the_same_seed_gives_the_same_verdict():
    """Bit for bit; another seed another witness."""
    first, second, other = means(seed=1), means(seed=1), means(seed=2)
    np.testing.assert_array_equal(first.witness["x"], second.witness["x"])
    assert not np.array_equal(first.witness["x"], other.witness["x"])


def test_nothing_is_compiled_for_formulas_in_numpy():
    """Elementary formulas are evaluated as they are."""
    with jax.log_compiles(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax, "jit", lambda *arguments, **options: pytest.fail("something was compiled"))
        verdict = tl.conjecture(
            draw={"w": (3,)},
            left=lambda w: np.linalg.norm(w),
            relation="<=",
            right=lambda w: np.abs(w).sum(),
            effort=BRIEF,
        )
    assert verdict.verdict == "holds"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"draw": {"w": [3, 2]}}, "`draw` must map `w` to a shape or a law"),
        ({"draw": {"w": 3}}, "`draw` must map `w` to a shape or a law"),
        ({"draw": {}}, "`draw` must name what is drawn"),
        ({"draw": {"not a name": (2,)}}, "`draw` must have names that a function can take"),
        ({"relation": "<"}, "`relation` must be one of '<=', '>=', '=='"),
        ({"left": lambda v: 1.0}, "`left` must take names that are drawn .w., but received `v`"),
        ({"left": lambda w: None}, "`left` must return a number or an array of real numbers, but received None"),
        ({"left": lambda w: jnp.sum(w) > 0}, "`left` must return a number .* received an array of bool"),
        ({"left": lambda w: jnp.ones(3), "right": lambda w: jnp.ones(2)}, "`right` must fit `left` in shape"),
        ({"left": lambda w: 1.0 if jnp.sum(w) > 0 else 2.0}, "a Python `if`, `float` or `int` of one. Write jnp.where"),
        ({"left": lambda w: float(jnp.sum(w))}, "a Python `if`, `float` or `int` of one"),
        ({"left": lambda w: np.sin(jnp.sum(w))}, "`left` must be written in NumPy or in JAX"),
        ({"where": lambda w: jnp.sum(w)}, "`where` must return a truth value"),
        ({"right": lambda w: float("nan")}, "`right` must be a number on all instances, but received nan at w ="),
        ({"left": lambda w: np.log(-np.sum(w**2))}, "`left` must be a number on all instances"),
        (
            {"draw": {"w": (4,)}, "left": lambda w: OBJECTIVE.loss(w)},
            "`left` must fit what is drawn, .* `point` must have shape",
        ),
        ({"left": lambda w: 1 / 0}, "raised ZeroDivisionError"),
        ({"left": lambda w: math.sqrt(w[0, 0])}, r"w \(3, 2\), for which it raised ValueError: math domain error"),
        ({"known": lambda v: v}, "`known` must take names that are drawn .w., but received `v`"),
        ({"scale": -1.0}, "`scale` must not be negative"),
        ({"scale": lambda w: np.nan}, "`scale` must be a number on all instances"),
        ({"effort": "extreme"}, "`effort` must be one of"),
        ({"seed": -1}, "`seed` must be at least 0"),
        ({"control": 3}, "`control` must be what the control varies"),
        ({"where": 3}, "`where` must be a function"),
        ({"tolerance": -1.0}, "`tolerance` must be positive"),
        ({"efort": "high"}, "`parameters` must be what a formula takes .* `efort`, which none .* `effort` is meant"),
        ({"runs": True}, "`parameters` must be .* received `runs`, which none takes"),
        ({"w": 3.0}, "`parameters` must be .* received `w`, which is drawn"),
        (
            {"right": lambda w, constant=0: constant, "control": {"constnat": 1}},
            "`control` must vary .* `constnat`, which none takes. Perhaps `constant`",
        ),
        ({"control": {"w": 1.0}}, "`control` must vary .* `w`, which is drawn"),
        ({"left": lambda w: np.full(2, np.inf)}, "`left` must be finite on all instances, but received inf at w ="),
        ({"relation": "<=", "right": lambda w: -np.inf}, "`right` must be finite .* received -inf at w ="),
    ],
)
def test_one_sentence_for_what_makes_no_sense(changes, words, monkeypatch):
    """Before anything is compiled."""
    monkeypatch.setattr(jax, "jit", lambda *arguments, **options: pytest.fail("something was compiled"))
    parts = {"draw": {"w": (3, 2)}, "left": lambda w: np.sum(w**2), "relation": ">=", "right": lambda w: 1e-3}
    with pytest.raises(InvalidArgument, match=words) as refusal:
        tl.conjecture(**(parts | changes))
    assert "\n" not in str(refusal.value)
