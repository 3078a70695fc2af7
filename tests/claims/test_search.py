"""The search: it finds thin violations of many kinds, from any seed, and knows when it was not done."""

import numpy as np
import pytest

import tutelage as tl
from tutelage.claims import Effort, Relation, choice, integers, real, uniform
from tutelage.claims.formula import Formula
from tutelage.claims.laws import Space
from tutelage.claims.outcome import EFFORTS
from tutelage.claims.search import SCALES, Pairs, _gradients, attack, objective
from tutelage.claims.sides import Sides

DEFAULT = EFFORTS["default"]
CENTRE = np.array([0.3, -0.7, 1.1, 0.2, -0.5])


def rosenbrock(x):
    return np.sum(100 * (x[..., 1:] - x[..., :-1] ** 2) ** 2 + (1 - x[..., :-1]) ** 2, -1)


THIN = {
    "a point": ({"x": real((5,))}, lambda x: np.sqrt(np.sum((x - CENTRE) ** 2, -1)), 1e-4, None),
    "a saturating square": ({"x": real((5,))}, lambda x: 1 - np.exp(-np.sum((x - CENTRE) ** 2, -1)), 1e-6, None),
    "a narrow valley": ({"x": real((5,))}, rosenbrock, 1e-4, None),
    "a corner": ({"x": uniform(0, 1, (8,))}, lambda x: np.sum(1 - x, -1), 1e-3, None),
    "a boundary": ({"x": uniform(0, np.pi)}, lambda x: 1 + np.cos(x), 1e-8, None),
    "a kink": ({"x": real((5,))}, lambda x: np.max(np.abs(x - CENTRE), -1), 1e-3, None),
    "an edge of the hypotheses": (
        {"x": real((3,))},
        lambda x: 1 - x[..., 0],
        1e-3,
        lambda x: np.sum(x**2, -1) <= 1,
    ),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", THIN)
def test_thin_violations_are_found(name, seed):
    """Sets that random instances practically never hit."""
    draw, value, level, where = THIN[name]
    outcome = Relation(draw, value, ">=", level, where)(DEFAULT, seed)
    assert outcome.margin < -1e-6
    assert value(outcome.witness["x"]) < level


@pytest.fixture(scope="module")
def loss():
    """The loss of three ReLU students and two teachers under inputs with a mean; zero at the teacher."""
    inputs = tl.inputs.gaussian(2, mean=np.array([0.5, 0.5]))
    return tl.population(tl.problems.committee(np.eye(2), students=3, inputs=inputs)).loss


def test_small_losses_are_found_from_every_seed(loss):
    """The statements "loss ≥ 1e-3" and "loss ≥ 1e-6" are false, and refuted on all of eight seeds at default effort."""
    relation = Relation({"w": (3, 2)}, lambda w: loss(w), ">=", lambda level: level, parameters={"level": 1e-3})
    for seed in range(8):
        for level in (1e-3, 1e-6):
            assert relation.varied(level=level).refutes(DEFAULT, seed, 1e-9)


def test_all_scales_agree_on_what_a_violation_is():
    """The sign is the same on each."""
    random = np.random.default_rng(0)
    small, large = random.normal(size=(2, 200)) * 10.0 ** random.uniform(-6, 6, size=(2, 200))
    pairs = Pairs(small, large, np.maximum(abs(small), abs(large)), np.full(200, True), small == large)
    for scale in SCALES:
        np.testing.assert_array_equal(objective(pairs, scale, 1e-9) < 0, large < small)


def sides(value, dimension=4):
    return Sides(Space({"x": real((dimension,))}), Formula("left", lambda x: value(x)), Formula("right", 0.0), ">=")


@pytest.mark.parametrize("scale", SCALES)
def test_derivatives_on_every_scale(scale):
    """From those of both sides: as differences of what is minimised have them, whichever side is larger."""
    random = np.random.default_rng(3)
    small, large = random.normal(size=(2, 200))
    by_small, by_large = random.normal(size=(2, 200, 1))

    def at(step: float) -> Pairs:
        sides = small + step * by_small[:, 0], large + step * by_large[:, 0]
        return Pairs(*sides, np.maximum(*np.abs(sides)), np.ones(200, bool), np.zeros(200))

    found = _gradients(at(0.0), by_small, by_large, [(scale, slice(None))], 0.1)[:, 0]
    ahead, behind = (objective(at(step), scale, 0.1) for step in (1e-6, -1e-6))
    np.testing.assert_allclose(found, (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-6)


def test_derivatives_by_differences_and_by_jax_agree():
    """Both kinds, at random instances."""
    import jax.numpy as jnp

    by_numpy = sides(lambda x: np.sum(np.sin(x) * x, -1))
    by_jax = sides(lambda x: jnp.sum(jnp.sin(x) * x, -1))
    by_jax.optimised = True
    rows = np.random.default_rng(0).normal(size=(5, 4))
    assert (by_numpy.mode, by_jax.mode) == ("batch", "compiled") and by_jax.analytic
    (one, _, first), (other, _, second) = by_numpy.slopes(rows), by_jax.slopes(rows)
    np.testing.assert_allclose(one.large, other.large)
    np.testing.assert_allclose(first, second, rtol=1e-6, atol=1e-8)


def test_formulas_choose_their_arithmetic(loss):
    """All at once, one after another, or compiled: what costs least."""

    def mode(left):
        return Sides(Space({"w": real((3, 2))}), Formula("left", left), Formula("right", 0.0), ">=").mode

    assert mode(lambda w: np.sum(w**2, (-2, -1))) == "batch"
    assert mode(lambda w: np.linalg.norm(w)) == "each"
    assert mode(lambda w: abs(w[0] @ w[1])) == "each"
    # Though it can be asked for one NumPy array.
    assert mode(lambda w: loss(w)) == "compiled"


def test_a_search_that_still_improves_says_so():
    """Few steps in a long valley get further in every round; on a flat function there is nothing to gain."""
    brief = Effort(samples=16, restarts=2, generations=1, iterations=3, runs=1)
    relation = Relation({"x": real((10,))}, lambda x: 1 + rosenbrock(x), ">=", 0.9)
    outcome = relation(brief, 1)
    assert outcome.margin > 0 and "still improving" in outcome.note
    flat = attack(sides(lambda x: 2 + 0 * x[..., 0]), DEFAULT, np.random.default_rng(0))
    assert not flat.improving


def test_effort_is_kept():
    """Without rounds of search there are samples alone; more effort tries more."""
    few = Effort(samples=32, restarts=2, generations=0, iterations=0, runs=1)
    target = sides(lambda x: 1 + np.sum(x**2, -1))
    assert attack(target, few, np.random.default_rng(0)).tried == 32
    assert attack(target, DEFAULT, np.random.default_rng(0)).tried > 1000


def test_instances_on_thin_hypotheses_are_drawn_again():
    """Where hardly any instance counts, more are drawn."""
    relation = Relation(
        {"x": real((3,))}, lambda x: x[..., 0], "<=", 2.0, lambda x: np.abs(np.sum(x**2, -1) - 1) < 5e-3
    )
    outcome = relation(DEFAULT, 0)
    assert outcome.instances > 50 and outcome.margin == pytest.approx(0.5, abs=0.01)


def test_where_there_are_few_instances_all_are_tried():
    """A statement about whole numbers that fails at one of them is refuted from every seed; else it says so."""
    draw = {"n": integers(0, 300), "sign": choice([-1.0, 1.0]), "m": integers(2, 4)}

    def fails_at(n, sign, m, place=777.0):
        return 1.0 - (sign * (n + 500 * (m == 4)) == place)

    relation = Relation(draw, fails_at, ">=", 0.5)
    for seed in range(4):
        outcome = relation(DEFAULT, seed)
        assert (outcome.margin, outcome.witness["n"], outcome.witness["m"]) == (-1.0, 277, 4)
    outcome = relation.varied(place=900.0)(DEFAULT, 0)
    assert outcome.margin > 0 and outcome.note == "all instances that there are were tried"
    assert 301 * 2 * 3 < outcome.instances <= 301 * 2 * 3 + DEFAULT.samples
    assert len(Space(draw).listed(301 * 2 * 3)) == 301 * 2 * 3 and Space(draw).listed(301 * 2 * 3 - 1) is None
    rows = Space(draw).values(np, Space(draw).listed(2000))
    assert {*rows["n"]} == {*range(301)} and {*rows["sign"]} == {-1, 1} and {*rows["m"]} == {2, 3, 4}
    assert Space({**draw, "x": real()}).listed(10**9) is None and Space({}).listed(10) is None
