"""Experiments in which a number is not one: they must not pass for a success, nor for a refutation."""

from dataclasses import replace

import numpy as np
import pytest

from tutelage.claims import Effort, judge
from tutelage.claims.convolutional_filter import convergence, starts
from tutelage.claims.convolutional_filter.runs import State
from tutelage.claims.mild_overparameterization import (
    conjecture,
    directions,
    minima,
    perturbed,
    quotients,
    rays,
    remainders,
    splitting,
)

_SMALL = Effort(samples=64, restarts=1, generations=1, iterations=1, runs=8)


@pytest.fixture(scope="module")
def few_minima():
    """Minima of the smaller teachers, found before anything breaks; what is kept of all teachers stays as it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splitting, "_CASES", splitting._CASES[:7])
        return splitting.found_minima.__wrapped__(0)


@pytest.mark.parametrize(
    ("module", "name", "claim", "reading"),
    [
        (directions, "curvature", conjecture.CONJECTURE_1, "as_printed"),
        (directions, "curvature", directions.THEOREM_6, "as_printed"),
        (directions, "curvature", directions.BALANCED_CASE, "corrected"),
        (remainders, "cross_forms", remainders.LEMMA_8, "as_printed"),
        (minima, "loss", minima.THEOREM_1, "as_printed"),
        (minima, "_difference", minima.LEMMA_3, "as_printed"),
        (perturbed, "perturbed_run", perturbed.THEOREM_7, "as_printed"),
        (quotients, "gradient", quotients.THEOREM_5, "corrected"),
        (rays, "duals", rays.LEMMA_10, "as_printed"),
        (rays, "duals", rays.LEMMA_11, "corrected"),
        (splitting, "_drop", splitting.THEOREM_8, "as_printed"),
        (splitting, "_drop", splitting.THEOREM_9, "as_printed"),
        (splitting, "gradient", splitting.LEMMA_12_CRITICAL, "as_printed"),
    ],
    ids=lambda value: getattr(value, "id", None),
)
def test_one_broken_value_decides(monkeypatch, few_minima, module, name, claim, reading):
    """One value of a quantity is not a number; all others are as they are."""
    if module is splitting:
        monkeypatch.setattr(splitting, "found_minima", lambda seed, plenty: few_minima)
        splitting._split_minima.cache_clear()
    compute = getattr(module, name)

    def broken(*arguments, **named):
        values = np.array(compute(*arguments, **named))
        values[0 if values.ndim else ()] = np.nan
        return values

    monkeypatch.setattr(module, name, broken)
    (verdict,) = (one for one in judge(claim, _SMALL) if one.form == reading)
    if module is splitting:
        splitting._split_minima.cache_clear()
    assert verdict.verdict == "inconclusive" and np.isnan(verdict.margin), verdict


@pytest.mark.parametrize(
    "claim",
    [convergence.THEOREM_3_1, starts.SUCCESS, starts.THEOREM_3_3, starts.REMARK_2_PATCHES],
    ids=lambda claim: claim.id,
)
def test_broken_runs_of_a_filter(monkeypatch, claim):
    """Runs that end at what is not a number have neither succeeded nor failed."""

    def broken(state, length):
        spoilt = replace(state, phi=np.nan * state.phi, distance=np.nan * state.phi)
        yield from (spoilt if step else state for step in range(length + 1))

    monkeypatch.setattr(State, "run", broken)
    starts._found.cache_clear()
    for verdict in judge(claim, _SMALL):
        assert verdict.verdict == "inconclusive" and np.isnan(verdict.margin), verdict
    starts._found.cache_clear()


@pytest.mark.parametrize(
    "claim", [convergence.THEOREM_3_1_PHASE_2, convergence.SECTION_C_3_COUNT], ids=lambda claim: claim.id
)
def test_a_level_that_is_never_reached(monkeypatch, claim):
    """A run that stays where it is has needed no number of steps, and none can be fitted."""
    monkeypatch.setattr(State, "run", lambda state, length: iter([state] * (length + 1)))
    for verdict in judge(claim, _SMALL):
        assert verdict.verdict == "inconclusive" and np.isnan(verdict.margin), verdict
