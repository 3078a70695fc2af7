"""Claims as relations: readings, parameters, power, and both kinds of arithmetic."""

import json
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from jax.nn import relu
from scipy.special import erf, erfc, gammaln, ndtr

from tutelage.claims import (
    Chance,
    Claim,
    Effort,
    Form,
    Relation,
    Verdict,
    fitted_order,
    integers,
    judge,
    limit,
    log_uniform,
    paste,
    real,
    uniform,
    unit,
)
from tutelage.claims.laws import Space
from tutelage.claims.outcome import EFFORTS
from tutelage.errors import InvalidArgument

SMALL = Effort(samples=64, restarts=4, generations=4, iterations=20, runs=20)


def sines(**changes) -> Claim:
    """The sine of an angle in a right triangle."""
    parts = {
        "draw": {"alpha": uniform(0.01, 1), "radius": uniform(0.01, 1)},
        "left": lambda alpha, radius: np.sin(np.arctan2(radius, alpha)),
        "relation": "==",
        "right": lambda alpha, radius, power: radius / np.sqrt(alpha**power + radius**2),
        "as_printed": Form("with alpha", power=1),
        "corrected": Form("with its square", power=2.0),
        "control": Form("with its cube", power=3.0),
    }
    return Claim("paper.section-B.sines", "Section B", "a sine", (), **(parts | changes))


def bound(**changes) -> Claim:
    """A sharp bound on a quotient."""
    parts = {
        "draw": {"x": real((2,))},
        "left": lambda x, constant: constant * np.abs(x[..., 0] * x[..., 1]),
        "relation": "<=",
        "right": lambda x: x[..., 0] ** 2 + x[..., 1] ** 2,
        "as_printed": Form("with two", constant=2.0),
        "control": Form("with a little more", constant=2.1),
    }
    return Claim("paper.lemma-7", "Lemma 7", "a bound", (), **(parts | changes))


def test_forms_differ_by_a_parameter():
    """The print is refuted and the correction holds, by one relation."""
    printed, corrected = judge(sines(), SMALL)
    assert (printed.verdict, corrected.verdict) == ("refuted", "holds")
    assert corrected.refuted_from["parameter"] == "power"
    assert 2 < corrected.refuted_from["value"] < 2.001
    assert "with power" in str(corrected)


def test_a_sharp_constant_is_refuted_from_just_above():
    """The mildest strengthening is measured, not written: two is sharp, and one is half as strong as it could be."""
    (sharp,) = judge(bound(), SMALL)
    assert sharp.verdict == "holds" and sharp.at_risk == 1.0
    assert 1.0 < sharp.refuted_from["factor"] < 1.001
    (loose,) = judge(bound(as_printed=Form("with one", constant=1.0)), SMALL)
    assert loose.verdict == "holds" and 1.99 < loose.refuted_from["factor"] < 2.02


@pytest.mark.parametrize("namespace", [np, jnp], ids=["numpy", "jax"])
def test_both_arithmetics_agree(namespace):
    """Formulas of one instance, in NumPy and in JAX, give the same verdicts and nearly the same margin."""
    claim = bound(
        left=lambda x, constant: constant * namespace.abs(x[0] * x[1]),
        right=lambda x: namespace.sum(x**2),
        corrected=Form("with three", constant=3.0),
    )
    printed, corrected = judge(claim, SMALL)
    assert (printed.verdict, corrected.verdict) == ("holds", "refuted")
    assert printed.margin < 1e-6 and corrected.margin == pytest.approx(-1 / 3, abs=1e-6)


def test_as_meant_names_what_supplies_it():
    """A reading that adds something says which place of the paper supplies it; the letter is judged all the same."""
    parts = {
        "draw": {"x": real()},
        "left": lambda x: x**3,
        "relation": ">=",
        "right": lambda x, constant: constant * x,
        "as_printed": Form("for all x", where=lambda x: x > -1e9, constant=0.0),
        "as_meant": Form("for positive x", where=lambda x: x > 0, constant=0.0),
        "control": Form("with more", where=lambda x: x > 0, constant=1.0),
    }
    with pytest.raises(InvalidArgument, match="name the place"):
        Claim("paper.remark-2", "", "", (), **parts)
    printed, meant = judge(Claim("paper.remark-2", "", "", (), **parts, supplied="Section 1"), SMALL)
    assert (printed.verdict, meant.verdict) == ("refuted", "holds")
    assert (printed.reading, meant.reading, meant.scope) == ("as_printed", "as_meant", "remark")


def test_if_and_only_if_is_two_relations():
    """One direction holds, the other does not: the claim is refuted by the second."""
    one = {
        "draw": {"x": uniform(-2, 2)},
        "left": lambda x: x**2,
        "relation": "<=",
        "right": 1.0,
        "where": lambda x: np.abs(x) <= 0.5,
    }
    other = Relation({"x": uniform(-2, 2)}, lambda x: x**2, ">=", 1.0, where=lambda x: np.abs(x) > 0.5)
    forms = {"as_printed": Form("x² ≤ 1 if and only if |x| ≤ ½"), "control": Form("x² ≤ ¼ there", right=0.2)}
    assert judge(Claim("p.lemma-1", "", "", (), **one, **forms), SMALL)[0].verdict == "holds"
    (both,) = judge(Claim("p.lemma-1", "", "", (), **one, **forms, also=[other]), SMALL)
    assert both.verdict == "refuted" and 0.5 < abs(both.witness["x"]) < 1


def test_corners_and_several_shapes():
    """Instances that are given are tried, and every draw of several."""
    claim = bound(
        draw=[{"x": real((2,))}, {"x": unit(2)}],
        corners=[{"x": np.array([3.0, 3.0])}],
        as_printed=Form("strictly more than two", constant=2.0 + 1e-6),
    )
    (verdict,) = judge(claim, SMALL)
    assert verdict.verdict == "refuted"


def test_build_makes_instances():
    """What no law draws is built; the witness holds what was built."""
    claim = bound(
        build=lambda x: {"x": np.abs(x), "sum": np.sum(np.abs(x), -1)},
        right=lambda x, sum: x[..., 0] ** 2 + x[..., 1] ** 2 + 0 * sum,
    )
    (verdict,) = judge(claim, SMALL)
    assert verdict.verdict == "holds" and set(verdict.witness) == {"x", "sum", "left", "right"}


@pytest.mark.parametrize(
    ("left", "relation", "right", "known"),
    [
        (lambda x: x**2, ">=", lambda x: -1.0 - x**2, None),  # a bound below zero
        (lambda x: -np.abs(x), "<=", lambda x: 2.0 + x**2, None),
        (lambda x: x**2, ">=", lambda x: 0.0, 0.0),  # a square is not negative
        (lambda x: np.sin(x) ** 2, "<=", lambda x: 1.0 + x**2, 1.0),  # what is never above one
        (lambda x: np.sin(x), "==", lambda x: np.sin(x), None),  # one expression, written twice
        (lambda x: np.exp(x), "<=", lambda x: np.exp(x), None),
    ],
)
def test_nothing_at_risk_is_vacuous(left, relation, right, known):
    """What could not have failed is judged by nobody."""
    false = (lambda x: right(x) + 9.0) if relation == ">=" else (lambda x: right(x) - 9.0)
    parts = {"draw": {"x": uniform(-3, 3)}, "left": left, "relation": relation, "right": right, "known": known}
    claim = Claim("p.lemma-2", "", "", (), **parts, as_printed=Form(""), control=Form("", right=false))
    (verdict,) = judge(claim, SMALL)
    assert verdict.verdict == "vacuous" and verdict.at_risk == 0.0


def test_the_share_at_risk_is_measured():
    """A bound that is negative on half of the instances leaves the other half at risk."""
    parts = {"draw": {"x": uniform(-1, 1)}, "left": lambda x: np.abs(x), "relation": ">=", "right": lambda x: 0.5 * x}
    claim = Claim("p.lemma-2", "", "", (), **parts, as_printed=Form(""), control=Form("", right=lambda x: 1.01 * x))
    (verdict,) = judge(claim)
    assert verdict.verdict == "holds" and 0.4 < verdict.at_risk < 0.6


def test_rounding_is_no_violation():
    """Differences of the last digits are not believed, whatever the size of the instance."""
    parts = {
        "draw": {"x": real((3,)), "y": real((3,))},
        "left": lambda x, y: np.sum((x + y) ** 2, -1) - np.sum(x**2, -1) - 2 * np.sum(x * y, -1),
        "relation": ">=",
        "right": lambda y, share: share * np.sum(y**2, -1),
        "as_printed": Form("", share=1.0),
        "control": Form("", share=1.01),
    }
    (verdict,) = judge(Claim("p.equation-3", "", "", (), **parts), SMALL)
    assert verdict.verdict == "holds"


def test_parameter_in_a_decision_is_a_constant():
    """A formula in JAX may decide by a parameter; it is then compiled for each value."""

    def left(x, power):
        return jnp.abs(x) if power == 1 else x**2

    parts = {"draw": {"x": uniform(0, 1)}, "left": left, "relation": "<=", "right": lambda x: jnp.sqrt(x)}
    forms = {"as_printed": Form("", power=1), "control": Form("", power=2, right=lambda x: 0.9 * x**2)}
    assert judge(Claim("p.lemma-4", "", "", (), **parts, **forms), SMALL)[0].verdict == "holds"


def test_a_side_that_is_not_a_number_is_inconclusive():
    """It never passes for a large margin."""
    claim = bound(left=lambda x, constant: constant * np.log(x[..., 0]), control=Form("", constant=5.0, left=5.0))
    (verdict,) = judge(claim, SMALL)
    assert verdict.verdict == "inconclusive" and "not a number" in verdict.note


def test_hypotheses_that_nothing_satisfies():
    """Nothing is judged then."""
    claim = bound(as_printed=Form("", constant=2.0, where=lambda x: x[..., 0] > 1e9))
    assert judge(claim, SMALL)[0].verdict == "not_applicable"


def test_an_unrefuted_control_is_inconclusive():
    """As for tests of any kind."""
    (verdict,) = judge(bound(control=Form("no stronger", constant=1.5)), SMALL)
    assert verdict.verdict == "inconclusive" and not verdict.control_refuted


def test_verdict_documents_hold_the_power():
    """All promised fields are there, survive JSON, and older documents are read without them."""
    printed, corrected = judge(sines(kind="constant", defect="squares"), SMALL)
    document = json.loads(json.dumps(corrected.document(), allow_nan=False))
    assert {"reading", "scope", "kind", "defect", "at_risk", "refuted_from"} <= document.keys()
    assert Verdict.from_document(document).document() == document
    assert (printed.kind, printed.defect, corrected.kind) == ("constant", "squares", "")
    older = {
        name: document[name] for name in document if name not in ("scope", "kind", "defect", "at_risk", "refuted_from")
    }
    assert Verdict.from_document(older).at_risk is None


def test_what_is_meant_is_the_correction_unless_another_is_given():
    """With a sentence that says what changes; and the place is the one that the identifier names."""
    meant, other = Form("with a hypothesis", constant=1.5), Form("another", constant=1.2)
    parts = {"as_meant": meant, "supplied": "Section 1"}
    claim = bound(**parts, correction="a hypothesis")
    assert claim.corrected is meant and list(claim.forms) == ["as_printed", "as_meant", "corrected"]
    assert bound(**parts).corrected is None
    assert bound(**parts, correction="a constant", corrected=other).corrected is other
    named = {"paper.equation-3": "Equation (3)", "paper.lemma-C.4": "Lemma C.4", "paper.own": "Own"}
    assert [replace(claim, id=id, place="").place for id in named] == list(named.values())
    assert replace(claim, place="Lemma 1, proof").place == "Lemma 1, proof"
    with pytest.raises(InvalidArgument, match="control"):
        bound(control=None)


def test_same_seed_same_verdict():
    """A verdict depends on the seed alone."""
    first, second = (judge(bound(), SMALL, seed=5)[0] for _ in range(2))
    assert first.margin == second.margin and first.refuted_from == second.refuted_from
    np.testing.assert_array_equal(first.witness["x"], second.witness["x"])


# Recipes --------------------------------------------------------------------------------------------------------------


def _half(x):
    """A helper of the formulas."""
    return 0.5 * x


WIDTH = 3.0


def test_recipes_are_written_from_the_relation():
    """Formulas, parameters, constants and helpers become NumPy to paste, and the direction is checked."""
    claim = Claim(
        "p.lemma-3",
        "",
        "",
        (),
        draw={"w": real((3,)), "size": uniform(1, 2)},
        left=lambda w, size: sum(_half(one) for one in (np.linalg.norm(w), 0.0)) * size,
        relation="<=",
        right=lambda w, factor: factor * WIDTH * np.sum(np.abs(w)),
        where=lambda w: np.linalg.norm(w) > 0.1,
        as_printed=Form("", factor=0.1),
        control=Form("", factor=0.05),
    )
    (verdict,) = judge(claim, SMALL)
    assert verdict.verdict == "refuted"
    names: dict = {}
    source = claim.paste(verdict)
    exec(source, names)
    assert "assert np.linalg.norm(w) > 0.1" in source and "tutelage" not in source
    np.testing.assert_allclose([names["left"], names["right"]], [verdict.witness["left"], verdict.witness["right"]])
    (relation,) = claim.relations(claim.as_printed)
    assert relation.violated(names["left"], names["right"]) > 0 > relation.violated(names["right"], names["left"])


def test_recipes_have_the_special_functions_of_python_and_numbers_with_axes():
    """The error function, the normal law and the Gamma function come from `math`; a number can be given more axes."""
    claim = Claim(
        "p.lemma-3",
        draw={"w": real((3,)), "size": uniform(1, 2)},
        left=lambda w, size: np.sum(erf(size[..., None] * w) ** 2 + erfc(w) * ndtr(w) + gammaln(2 + w**2), -1),
        relation="<=",
        right=lambda most=-1.0: most,
        as_printed="at most minus one",
        control=Form("at most minus two", most=-2.0),
    )
    (verdict,) = judge(claim, SMALL)
    assert verdict.verdict == "refuted"
    names: dict = {}
    source = claim.paste(verdict)
    exec(source, names)
    assert "scipy" not in source and source.count("import math") == 1
    np.testing.assert_allclose([names["left"], names["right"]], [verdict.witness["left"], verdict.witness["right"]])


def test_a_form_that_varies_nothing_is_its_statement():
    """Formulas have the values of the print as defaults: forms say what they vary, recipes what they have."""
    claim = Claim(
        "p.lemma-3",
        hypotheses="vectors of three numbers, not small",
        draw={"w": real((3,))},
        left=lambda w: np.linalg.norm(w),
        relation="<=",
        right=lambda w, factor=0.5: factor * np.sum(np.abs(w)),
        where=lambda w, least=0.1: np.linalg.norm(w) > least,
        as_printed="at most half of the sum",
        corrected=Form("at most the sum", factor=1.0),
        control=Form("at most 0.99 of the sum", factor=0.99),
    )
    assert claim.hypotheses == ("vectors of three numbers, not small",)
    assert claim.forms["as_printed"] == Form("at most half of the sum")
    printed, corrected = judge(claim, SMALL)
    assert (printed.verdict, corrected.verdict) == ("refuted", "holds")
    assert corrected.refuted_from["parameter"] == "factor"
    names: dict = {}
    exec(claim.paste(printed), names)
    assert (names["factor"], names["least"]) == (0.5, 0.1)
    np.testing.assert_allclose([names["left"], names["right"]], [printed.witness["left"], printed.witness["right"]])
    own = replace(claim, as_printed=Form("with a recipe", recipe="left, right = 2.0, 1.0"))
    assert "assert np.linalg.norm(w) > least" in own.paste(judge(own, SMALL)[0])


def test_a_side_that_a_recipe_does_not_set_is_written():
    """A recipe of a form's own may say one side alone: the other one has the values of the form."""
    claim = Claim(
        "p.lemma-3",
        draw={"w": real((3,))},
        left=lambda w: jnp.sqrt(w @ w),
        relation="<=",
        right=lambda w, factor=0.5: factor * np.sum(np.abs(w)),
        as_printed=Form("at most half of the sum", recipe="left = sum(one**2 for one in w) ** 0.5"),
        as_meant=Form("at most 0.4 of it", factor=0.4, recipe="left = sum(one**2 for one in w) ** 0.5"),
        supplied="a test",
        control=Form("at most 0.3 of it", factor=0.3),
    )
    for reading, factor in {"as_printed": 0.5, "as_meant": 0.4}.items():
        recipe = claim.recipe(reading)
        assert recipe.splitlines()[0] == f"factor = {factor}" and recipe.splitlines()[-1].startswith("left = sum(")
        names: dict = {}
        exec(paste({"w": [3.0, 0.0, -4.0]}, recipe), names)
        assert (names["left"], names["right"]) == (5.0, pytest.approx(factor * 7))
    # A side that is neither set nor elementary: nothing to paste.
    other = replace(claim, as_printed=Form("at most half of the sum", recipe="right = 1.0"), left=lambda w: relu(w[0]))
    assert other.recipe("as_printed") == ""


def test_a_recipe_that_is_no_python_is_shown_as_it_is():
    """What a text says is for its reader; only which numbers it gives axes is looked up."""
    assert paste({"w": 2.0}, "left = (").endswith("w = 2.0\n\nleft = (\n")
    assert paste({"w": 2.0}, "left = w[..., None]").startswith("import numpy as np\n\nw = np.array(2.0)\n")


def test_formulas_beyond_numpy_have_no_recipe():
    """What this library computes is not written out; the witness is shown alone."""
    import tutelage as tl

    objective = tl.population(tl.problems.neuron(np.eye(3)[0]))
    claim = Claim(
        "p.lemma-3",
        "",
        "",
        (),
        draw={"w": (3,)},
        left=lambda w: objective.loss(w),
        relation=">=",
        right=lambda level: level,
        as_printed=Form("", level=0.2),
        control=Form("", level=0.3),
    )
    assert claim.recipe("as_printed") == ""


# Experiments ----------------------------------------------------------------------------------------------------------


def test_orders_limits_and_chances():
    """The left sides of experiments."""
    sizes = np.array([[0.1, 0.01, 0.001], [1.0, 2.0, 4.0]])
    np.testing.assert_allclose(fitted_order(sizes, 3 * sizes ** [[2.0], [-1.5]]), [2.0, -1.5])
    assert np.isnan(fitted_order([1.0, 2.0], [1.0, -1.0]))
    np.testing.assert_allclose(limit(2 + 0.3 ** np.arange(5.0)), 2.0)
    np.testing.assert_allclose(limit(np.ones(4)), 1.0)
    upper, lower = Chance().favourable(">="), Chance().favourable("<=")
    seen = {"successes": np.array([0, 50, 100]), "trials": np.full(3, 100)}
    # Clopper and Pearson by their definition: the bound makes what was seen as improbable as the error.
    from scipy.stats import binom

    np.testing.assert_allclose(binom.cdf([0, 50], 100, upper(seen)[:2]), 1e-4)
    np.testing.assert_allclose(binom.sf([49, 99], 100, lower(seen)[1:]), 1e-4)
    assert upper(seen)[2] == 1.0 and lower(seen)[0] == 0.0


def _coin(count, random, bias):
    trials = np.full(3, 50 * count)
    return {"successes": random.binomial(trials, bias), "trials": trials}


def test_a_probability_is_judged_by_exact_bounds():
    """What chance explains is not refuted; the power says which probability would be."""
    claim = Claim(
        "p.theorem-1.probability",
        "",
        "",
        (),
        draw=_coin,
        runs=True,
        left=Chance(),
        relation=">=",
        right=lambda least: least,
        as_printed=Form("at least 0.8", least=0.8, bias=0.7),
        corrected=Form("at least 0.7", least=0.7, bias=0.7),
        control=Form("at least 0.9", least=0.9, bias=0.7),
    )
    printed, corrected = judge(claim, SMALL)
    assert (printed.verdict, corrected.verdict) == ("refuted", "holds")
    assert 0.7 < corrected.refuted_from["value"] < 0.78


def test_what_is_measured_once_serves_all_forms():
    """Runs are made once where no form changes what they depend on; ends satisfied at the start are no risk."""
    calls = []

    def decay(count, random):
        calls.append(count)
        start = random.uniform(0.5, 2.0, size=count)
        return {"start": start, "losses": start[:, None] * 0.9 ** np.arange(30.0)}

    claim = Claim(
        "p.theorem-2",
        "",
        "",
        (),
        draw=decay,
        runs=True,
        left=lambda losses: losses,
        relation="<=",
        right=lambda start, rate: start[:, None] * np.exp(-rate * np.arange(30.0)),
        known=lambda start: start[:, None],
        as_printed=Form("", rate=0.1),
        control=Form("", rate=0.11),
    )
    (verdict,) = judge(claim, SMALL)
    assert verdict.verdict == "holds" and verdict.at_risk == 1.0 and calls == [20]
    assert verdict.refuted_from["value"] == pytest.approx(-np.log(0.9), rel=2e-3)
    early = bound_at_start(claim)
    assert judge(early, SMALL)[0].verdict == "vacuous"


def bound_at_start(claim: Claim) -> Claim:
    """The same with a bound that every start satisfies already."""
    return replace(claim, as_printed=Form("", rate=0.1, right=lambda start, rate: 0 * rate + 3.0))


def test_several_shapes_of_an_experiment():
    """A function may yield batches of several shapes; each is judged."""

    def batches(count, random):
        for size in (2, 3):
            yield {"x": random.normal(size=(count, size))}

    parts = {
        "left": lambda x: np.sum(x**2, -1),
        "relation": "<=",
        "right": lambda x, power: np.sum(np.abs(x), -1) ** power,
    }
    forms = {"as_printed": Form("", power=2.0), "control": Form("", power=1.9)}
    (verdict,) = judge(Claim("p.lemma-5", "", "", (), draw=batches, **parts, **forms), SMALL)
    assert verdict.verdict == "holds" and verdict.instances == 2 * 20 * SMALL.samples


def test_batches_of_one_form_are_tried_once():
    """How formulas are evaluated is found out once for instances of one form; a batch of one vouches for no other."""

    def batches(count, random):
        for size in (1, 1, 9, 9, 9):
            yield {"x": random.normal(size=(size, 2))}

    alone = []

    def square(x):
        alone.append(x.ndim == 1)
        return np.sum(x**2)  # of all instances together, if there are several

    sampled = Relation(batches, square, "<=", 30.0, scale=1.0).sampled(SMALL, 0)
    rows = np.concatenate([batch["x"] for batch in batches(0, np.random.default_rng(0))])
    np.testing.assert_allclose(sampled.small, np.sum(rows**2, -1))
    # One for the first batch of one; five and a trace for the first of nine, and then all of them.
    assert sum(alone) == 1 + (5 + 1) + 27


# Laws -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "low", "high"),
    [
        (uniform(-1, 3, (4,)), -1, 3),
        (log_uniform(1e-3, 1e2), 1e-3, 1e2),
        (integers(2, 9, (2,)), 2, 9),
        (integers(5, 5), 5, 5),
    ],
)
def test_laws_reach_their_ends_and_stay_inside(law, low, high):
    """Boundary values are drawn, and nothing beyond them, in the box or at its faces."""
    space = Space({"x": law})
    random = np.random.default_rng(0)
    values = space.values(np, space.sample(random, 4000))["x"]
    assert values.min() == low and values.max() == high
    faces = np.stack(space.bounds())
    assert space.values(np, faces)["x"].min() == low and space.values(np, faces)["x"].max() == high


def test_laws_refuse_what_makes_no_sense():
    """One sentence each."""
    for call in (lambda: uniform(1, 0), lambda: log_uniform(0, 1), lambda: integers(3, 2), lambda: real([3])):
        with pytest.raises(InvalidArgument):
            call()


def test_efforts_are_unchanged():
    """Documents name them."""
    assert set(EFFORTS) == {"default", "high"} and paste({}, "") == "import numpy as np\n\n"


def test_a_bound_that_is_infinite_is_pasted():
    """A form that drops a hypothesis by an infinite parameter has a recipe as well; its correction is judged once."""
    meant = Form("", most=1.0)
    claim = Claim(
        "p.lemma-3",
        "",
        "",
        (),
        draw={"size": uniform(0, 2)},
        left=lambda size: size**2,
        relation="<=",
        right=lambda size: size,
        where=lambda size, most: size <= most,
        as_printed=Form("", most=np.inf),
        as_meant=meant,
        supplied="Section 1",
        corrected=meant,
        control=Form("", most=1.05),
    )
    printed, *others = judge(claim, SMALL)
    names: dict = {}
    exec(claim.paste(printed), names)
    assert names["left"] > names["right"]
    assert [(one.form, one.verdict) for one in others] == [("as_meant", "holds"), ("corrected", "holds")]
    assert others[0].margin == others[1].margin and others[1].seconds == 0.0


def test_large_sides_are_shown_where_they_differ_most():
    """A witness is to be read: of two large matrices one entry of each; small sides are shown whole."""

    def matrix(x, size):
        return np.broadcast_to(x[..., None, None], (*np.shape(x), size, size))

    def shown(size):
        moved = np.zeros((size, size))
        moved[1, 2] = 1.0
        test = Relation({"x": ()}, lambda x: matrix(x, size) + moved, "==", lambda x: matrix(x, size))
        return test(SMALL, 0).witness

    assert np.shape(shown(4)["left"]) == (4, 4)
    witness = shown(30)
    assert np.shape(witness["left"]) == () and witness["left"] - witness["right"] == pytest.approx(1.0)


def test_what_is_given_is_evaluated_once_for_all_parameters():
    """On instances that are given, a side is evaluated again only if a parameter that it takes has changed."""
    calls = {"left": 0, "right": 0}

    def left(x):
        calls["left"] += np.size(x) == 99  # some are tried first, to see how a formula can be called
        return x

    def right(x, factor):
        calls["right"] += np.size(x) == 99
        return factor * x

    relation = Relation(lambda count, random: {"x": np.arange(1.0, 100.0)}, left, "<=", right)
    margins = [relation.varied(factor=factor)(EFFORTS["default"], 0).margin for factor in (2.0, 3.0, 0.5, 2.0)]
    assert margins[0] == margins[3] > 0 > margins[2] and margins[1] != margins[0]
    assert calls == {"left": 1, "right": 4}


def test_an_equality_says_what_it_would_have_noticed():
    """Where control and form differ in no number, the right side is multiplied: by a little more than the tolerance."""
    claim = sines(
        right=lambda alpha, radius, side: side(alpha, radius),
        tolerance=1e-2,
        as_printed=Form("the sine", side=lambda alpha, radius: radius / np.hypot(alpha, radius)),
        corrected=None,
        control=Form("the cosine", side=lambda alpha, radius: alpha / np.hypot(alpha, radius)),
    )
    (verdict,) = judge(claim)
    assert verdict.verdict == "holds" and verdict.refuted_from["parameter"] == "right side"
    assert verdict.refuted_from["factor"] == pytest.approx(1.01, abs=2e-4)
    assert "with 1.01 times the right side it is refuted" in str(verdict)
