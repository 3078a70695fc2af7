"""True statements whose sides are lost in rounding are not refuted, false ones beside them are."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutelage as tl
from tutelage.claims import integers, uniform
from tutelage.claims.shaking import shaken

SMALL = {"x": uniform(0, 1e-6)}
UNIT = {"x": uniform(0, 1)}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("draw", "left", "relation", "right"),
    [
        # Terms that cancel, a number that is lost beside one, and steps as wide as a sixth of the interval.
        (UNIT, lambda x: (1 + x) ** 2 - 1 - 2 * x - x**2, "==", 0.0),
        (SMALL, lambda x: np.exp(x) - 1 - x, ">=", lambda x: x**2 / 2),
        ({"x": uniform(0, 1e-7)}, lambda x: 1 - np.cos(x), "<=", lambda x: x**2 / 2),
        ({"w": (3,)}, lambda w: np.linalg.norm(w, axis=-1) ** 2 - np.einsum("...i,...i", w, w), "==", 0.0),
        (UNIT, lambda x: 1.0 if x < 0 else float(np.exp(x) - 1 - x), ">=", lambda x: x**2 / 2),
        # What is computed with floats of Python and with plain arrays does not show; complex and short numbers do.
        (SMALL, lambda x: math.exp(x) - 1 - x, ">=", lambda x: x**2 / 2),
        (SMALL, lambda x: math.exp(x) - 1 - x, ">=", 0.0),
        (UNIT, lambda x: float((np.sqrt(x) ** 2 + 1e10) - 1e10), "<=", lambda x: x),
        (SMALL, lambda x: np.exp(float(x)) - 1 - x, ">=", lambda x: x**2 / 2),
        (SMALL, lambda x: np.exp(np.asarray(x)) - 1 - np.asarray(x), ">=", lambda x: x**2 / 2),
        ({"x": ()}, lambda x: np.abs(np.exp(1j * x) * np.exp(-1j * x) - 1), "==", 0.0),
        (UNIT, lambda x: np.exp(x.astype(np.float32)) - np.float32(1), ">=", lambda x: x.astype(np.float32)),
    ],
)
def test_true_statements_are_not_refuted_by_rounding(draw, left, relation, right, seed: int) -> None:
    """What goes away when the last digits of every operation change is no violation."""
    assert tl.conjecture(draw=draw, left=left, relation=relation, right=right, seed=seed).verdict == "holds"


@pytest.mark.parametrize("seed", range(3))
def test_violations_beside_rounding_errors_are_found(seed: int) -> None:
    """The worst instances are all rounding errors, and others violate by little, but truly."""
    mild = tl.conjecture(
        draw=UNIT, left=lambda x: np.exp(x) - 1 - x, relation=">=", right=lambda x: 0.50005 * x**2, seed=seed
    )
    assert mild.verdict == "refuted"
    x = float(mild.witness["x"])
    assert (
        sum(x**n / float(np.prod(np.arange(1.0, n + 1))) for n in range(2, 20)) < 0.50005 * x**2
    )  # without cancelling
    equal = tl.conjecture(
        draw=UNIT, left=lambda x: (1 + x) ** 2 - 1 - 2 * x, relation="==", right=lambda x: x**2 * (1 + 1e-6), seed=seed
    )
    assert equal.verdict == "refuted"


@pytest.mark.parametrize("seed", range(4))
def test_a_search_is_not_ended_by_rounding_errors(seed: int) -> None:
    """A few instances are off by all of their size, which ends a search; paths alone find what violates truly."""
    attempt = tl.conjecture(
        draw=UNIT,
        left=lambda x: (np.sqrt(x) ** 2 + 1e10) - 1e10,
        relation=">=",
        right=lambda x: 0.9 * x + np.where(x > 0.1, 0.051 / (1 + ((x - 0.5) / 0.002) ** 2), 0.0),
        seed=seed,
    )
    assert attempt.verdict == "refuted" and abs(attempt.witness["x"] - 0.5) < 0.01


def test_whole_numbers_are_not_shaken() -> None:
    """Their sums, products and comparisons are exact; a division and an exponential are not."""
    random = np.random.default_rng(0)
    n, x = shaken(np.array([3.0, 277.0]), random), shaken(np.full(2, 1e-20), random)
    assert (np.where(n == 277, 1.0, 0.0) == [0, 1]).all() and (n * n - n == [6, 277 * 276]).all()
    assert np.ptp([float(np.sum(np.exp(x) - 1)) for _ in range(20)]) > 1e-16
    assert np.ptp([float((n / 7)[0]) for _ in range(20)]) > 0
    n /= 7
    assert isinstance(n, np.ndarray) and n[0] == pytest.approx(3 / 7)


def test_sides_need_not_be_numbers_outside_of_the_condition() -> None:
    """A statement about positive numbers whose root is none elsewhere holds, and its power is known."""
    attempt = tl.conjecture(
        draw={"x": uniform(-1, 1)},
        where=lambda x: x > 0,
        left=lambda x: np.sqrt(x) + x,
        relation=">=",
        right=lambda x: x,
    )
    assert attempt.verdict == "holds" and "planted violations were found" in attempt.control


def test_a_congruence_is_not_vacuous() -> None:
    """That a remainder is zero is no expression written twice."""
    even = tl.conjecture(draw={"n": integers(0, 1000)}, left=lambda n: (n * n - n) % 2, relation="==", right=0)
    odd = tl.conjecture(draw={"n": integers(0, 1000)}, left=lambda n: (n * n - n) % 4, relation="==", right=0)
    assert (even.verdict, odd.verdict) == ("holds", "refuted")


@pytest.mark.parametrize(
    "function",
    [
        np.vecdot,
        np.multiply,
        np.hypot,
        lambda a, b: np.matvec(a, b[..., 0, :]),
        lambda a, b: np.divide(a, b, out=0.7 * a, where=b > 0.1),
        lambda a, b: np.sum(a * b, axis=-1, where=b > -5.0),
        lambda a, b: a @ np.swapaxes(b, -1, -2),
        lambda a, b: np.einsum("...ij,...kj->...ik", a, b),
        lambda a, b: np.linalg.norm(a - b, axis=-1),
        lambda a, b: np.linalg.solve(a[..., :3] + 4 * np.eye(3), b[..., :3]),
        lambda a, b: np.where(a > b, a, b).max(-1) - np.cumsum(a, axis=-1)[..., -1],
        lambda a, b: np.stack([a, b], -1).mean((-2, -1)),
        lambda a, b: np.prod(a, axis=-2) + np.sort(b, axis=-1)[..., 0, :],
    ],
)
def test_shaken_numbers_are_the_same_but_for_their_last_digits(function) -> None:
    """Sums, products of vectors and matrices, and what is written in C: shapes are right, and so are numbers."""
    first, second = np.random.default_rng(1).normal(size=(2, 2, 3, 4))
    exact = function(first, second)
    found = [np.asarray(function(*(shaken(one, random) for one in (first, second)))) for random in _generators(8)]
    assert {one.shape for one in found} == {exact.shape}
    errors = np.abs(np.array(found) - exact).max(axis=0)
    assert np.all(errors < 1e-13) and np.all(errors > 0)


@pytest.mark.parametrize("xp", [np, jnp])
def test_the_largest_entry_is_one_of_the_entries(xp) -> None:
    """It is found again by comparing, also with random last digits: a violation that needs that is believed."""
    attempt = tl.conjecture(
        draw={"x": uniform(-0.95, 0.95, (3,))},
        left=lambda x: xp.sum(xp.where(x == x.max(-1, keepdims=True), x, 0.0), -1),
        relation="<=",
        right=0.9,
    )
    assert attempt.verdict == "refuted"


def _generators(number: int) -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in range(number)]


TEACHER = jnp.array([1.0, 0.0, 0.0])
NEURON = tl.population(tl.problems.neuron(TEACHER))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("draw", "left", "relation", "right"),
    [
        (SMALL, lambda x: jnp.exp(x) - 1 - x, ">=", lambda x: x**2 / 2),
        (UNIT, lambda x: jnp.cosh(x) - 1, ">=", lambda x: x**2 / 2),
        ({"x": ()}, lambda x: 1 - jnp.cos(x), "<=", lambda x: x**2 / 2),
        ({"x": uniform(1, 1e8)}, lambda x: jnp.sqrt(x**2 + 1) - x, "<=", lambda x: 1 / (2 * x)),
        (UNIT, lambda x: x - jnp.tanh(x), "<=", lambda x, power=3.0: x**power / 3),
        ({"e": uniform(-1e-8, 1e-8, (3,))}, lambda e: NEURON.loss(TEACHER + e), ">=", 0.0),
        # What was traced has a loop, whose results are stacked.
        (SMALL, lambda x: jax.lax.map(lambda y: jnp.exp(y) - 1 - y, x[None])[0], ">=", lambda x: x**2 / 2),
    ],
)
def test_true_statements_in_jax_are_not_refuted_by_rounding(draw, left, relation, right, seed: int) -> None:
    """Formulas in JAX are evaluated by NumPy as they were traced, with random last digits."""
    assert tl.conjecture(draw=draw, left=left, relation=relation, right=right, seed=seed).verdict == "holds"


@pytest.mark.parametrize(
    ("draw", "left", "relation", "right"),
    [
        (UNIT, lambda x: jnp.exp(x) - 1 - x, ">=", lambda x: 0.50005 * x**2),
        (UNIT, lambda x: (1 + x) ** 2 - 1 - 2 * x, "==", lambda x: jnp.square(x) * (1 + 1e-6)),
        ({"w": (3,)}, lambda w: NEURON.loss(w), ">=", 1e-12),
        ({"e": uniform(-1e-5, 1e-5, (3,))}, lambda e: NEURON.loss(TEACHER + e), ">=", 1e-12),
    ],
)
def test_violations_beside_rounding_errors_are_found_in_jax(draw, left, relation, right) -> None:
    """Thin ones too: that of the loss is by a millionth of a millionth of its usual size."""
    assert tl.conjecture(draw=draw, left=left, relation=relation, right=right).verdict == "refuted"


@pytest.mark.parametrize(
    ("draw", "left", "relation", "right"),
    [
        ({"a": (3, 3)}, lambda a: jnp.linalg.eigvalsh(a @ a.T)[0], ">=", 0.0),
        (SMALL, lambda x: jnp.linalg.eigvalsh(jnp.eye(2) + x * jnp.ones((2, 2)))[1] - 1, "==", lambda x: 2 * x),
    ],
)
def test_rounding_that_does_not_show_counts_as_that_of_numbers_of_size_one(draw, left, relation, right) -> None:
    """Of eigenvalues NumPy has no rule."""
    assert tl.conjecture(draw=draw, left=left, relation=relation, right=right).verdict == "holds"
