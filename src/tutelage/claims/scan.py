"""Judging a statement on many instances at once in NumPy, where there are few numbers and no need for a search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tutelage import checks
from tutelage.claims.outcome import Effort, Outcome, Test
from tutelage.errors import invalid

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Scan:
    """A test by a margin on drawn instances.

    Attributes:
        draw: Takes the number of instances wanted and a generator to arrays by name, instances first. Boundary values
            belong to it as well.
        check: Takes those arrays to `margin` and whatever else is worth showing, instances first. An infinite margin
            means that the hypotheses are not satisfied.
        note: What was measured, in words.
    """

    draw: Callable[[int, np.random.Generator], Arrays]
    check: Callable[[Arrays], Arrays]
    note: str = ""

    def __post_init__(self):
        checks.function("draw", self.draw, "a function of a number and a generator")
        checks.function("check", self.check, "a function of arrays by name")
        checks.text("note", self.note)

    def __call__(self, effort: Effort, seed: int) -> Outcome:
        """Judge; see `tutelage.claims.base.Test`."""
        drawn = checks.tried("draw", lambda: self.draw(20 * effort.samples, np.random.default_rng(seed)))
        checks.of_kind("draw", drawn, Mapping, "a function that returns arrays by name", "Return a dictionary")
        found = checks.tried("check", lambda: self.check(drawn))
        checks.of_kind("check", found, Mapping, "a function that returns arrays by name", "Return a dictionary")
        shown = {**drawn, **found}
        margin = np.asarray(checks.real_array("check", shown.get("margin")))
        if margin.ndim != 1 or not margin.size:
            raise invalid("check", "return one margin an instance", f"shape {margin.shape}", "Put instances first")
        if np.isnan(margin).any():
            return Outcome(float("nan"), margin.size, {}, "a margin is not a number", "inconclusive")
        counted = int(np.sum(margin < np.inf))
        if not counted:
            return Outcome(float("inf"), 0, {}, "no instance satisfies the hypotheses", "not_applicable")
        worst = int(margin.argmin())
        return Outcome(float(margin[worst]), counted, _pick(shown, worst), self.note)


def _pick(shown: Mapping[str, Any], index: int) -> dict[str, np.ndarray]:
    return {name: np.asarray(value)[index] for name, value in shown.items()}


@dataclass(frozen=True)
class Several:
    """Several tests of one statement, such as scans of instances of other shapes; the smallest margin counts.

    Attributes:
        tests: The tests.
        note: What was measured, in words; the note of the worst test if it is empty.
    """

    tests: Sequence[Test]
    note: str = ""

    def __call__(self, effort: Effort, seed: int) -> Outcome:
        """Judge; see `tutelage.claims.base.Test`."""
        return worst_outcome((test(effort, seed) for test in self.tests), self.note)


@dataclass(frozen=True)
class Cases:
    """An experiment on several cases; the smallest margin counts.

    Attributes:
        outcomes: Yields the outcome of each case, for an effort and a seed.
        note: What was measured, in words; the note of the worst case if it is empty.
    """

    outcomes: Callable[[Effort, int], Iterable[Outcome]]
    note: str = ""

    def __call__(self, effort: Effort, seed: int) -> Outcome:
        """Judge; see `tutelage.claims.base.Test`."""
        return worst_outcome(self.outcomes(effort, seed), self.note)


def worst_outcome(outcomes: Iterable[Outcome], note: str = "") -> Outcome:
    """Return the outcome with the smallest margin, with the instances of all; one that is inconclusive decides.

    Args:
        outcomes: The outcomes, at least one.
        note: What was measured, in words; the note of the worst outcome if it is empty.
    """
    found = list(outcomes)
    for outcome in found:
        if outcome.judgement == "inconclusive" or np.isnan(outcome.margin):
            return replace(outcome, judgement="inconclusive")
    worst = min(found, key=lambda outcome: outcome.margin)
    return replace(worst, instances=sum(outcome.instances for outcome in found), note=note or worst.note)


def equal(left, right, scale: float = 0.0, tolerance: float = 1e-9) -> dict[str, np.ndarray]:
    """Return the check of `left = right`, up to a tolerance relative to the larger side or a natural scale of both."""
    left, right = np.broadcast_arrays(np.asarray(left, float), np.asarray(right, float))
    axes = tuple(range(1, left.ndim))
    size = np.maximum(np.max(np.abs(left), axis=axes), np.max(np.abs(right), axis=axes))
    error = np.max(np.abs(left - right), axis=axes) / np.maximum(np.maximum(size, scale), 1e-300)
    return {"margin": tolerance - error, "left": left, "right": right}


def at_most(left, right) -> dict[str, np.ndarray]:
    """Return the check of `left ≤ right`, elementwise, with a margin relative to the larger side."""
    left, right = np.broadcast_arrays(np.asarray(left, float), np.asarray(right, float))
    size = np.maximum(np.maximum(np.abs(left), np.abs(right)), 1e-300)
    return {"margin": (right - left) / size, "left": left, "right": right}
