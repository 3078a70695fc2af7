"""What tests of claims share: how hard to search, and what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from tutelage import checks
from tutelage.errors import invalid, shown

Judgement = Literal["holds", "refuted", "vacuous", "not_applicable", "inconclusive"]


@dataclass(frozen=True)
class Effort:
    """How hard to search.

    Attributes:
        samples: Random instances of each family.
        restarts: Instances from which each family is searched.
        generations: Rounds of the search by random steps.
        iterations: Gradient steps of the search by gradients.
        runs: Runs (or repetitions) of an experiment.
    """

    samples: int
    restarts: int
    generations: int
    iterations: int
    runs: int

    def __post_init__(self):
        for name in ("samples", "restarts"):
            checks.settle(self, **{name: checks.count(name, getattr(self, name))})
        for name in ("generations", "iterations", "runs"):
            checks.settle(self, **{name: checks.count(name, getattr(self, name), least=0)})
        checks.affordable("samples", self.samples, self.samples, "as many numbers")
        if self.restarts > self.samples:
            received = f"{self.restarts} and {self.samples}"
            raise invalid("restarts", "be at most `samples`", received, "A search goes on from the worst samples")


EFFORTS: Mapping[str, Effort] = {
    "default": Effort(samples=512, restarts=16, generations=12, iterations=120, runs=200),
    "high": Effort(samples=8192, restarts=64, generations=100, iterations=1000, runs=2000),
}


@dataclass(frozen=True)
class Outcome:
    """What a test found.

    Attributes:
        margin: The smallest margin met; negative where the statement fails.
        instances: How many instances were tried.
        witness: The worst instance, as arrays and numbers by name.
        note: What was measured, in words.
        judgement: The judgement, where the margin alone does not give it.
    """

    margin: float
    instances: int
    witness: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    judgement: Judgement | None = None


def worst_of(found: Sequence[tuple[float, Mapping[str, Any]]], tried: int | None = None, note: str = "") -> Outcome:
    """Return the outcome of a test that met several margins, each with what is to be shown of its instance.

    Args:
        found: The margins with their instances. An infinite margin means that an instance does not count.
        tried: How many instances were tried; as many as there are margins if left out.
        note: What was measured, in words.
    """
    found = [_margin_and_instance(entry) for entry in checks.sequence("found", found, "a list of margins")]
    count = len(found) if tried is None else checks.count("tried", tried, least=0)
    checks.text("note", note)
    # A margin that is not a number is a failure of the program, and must not pass for a large margin.
    broken = [shown for margin, shown in found if np.isnan(margin)]
    if broken:
        return Outcome(float("nan"), count, broken[0], "a margin is not a number", "inconclusive")
    margin, shown = min(found, key=lambda entry: entry[0], default=(np.inf, {}))
    if margin == np.inf:
        return Outcome(float("inf"), 0, {}, "no instance satisfies the hypotheses", "not_applicable")
    return Outcome(float(margin), count, shown, note)


def _margin_and_instance(entry: Any) -> tuple[float, Mapping[str, Any]]:
    if not (isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[1], Mapping)):
        raise invalid("found", "hold pairs of a margin and an instance", shown(entry), "Pass (margin, {name: value})")
    margin = checks.real_array("found", entry[0])
    if margin.ndim:
        raise invalid("found", "hold one margin per instance", f"shape {margin.shape}", "Pass (margin, {name: value})")
    return float(margin), entry[1]


class Test(Protocol):
    """How a form is judged."""

    def __call__(self, effort: Effort, seed: int) -> Outcome:
        """Judge, with the given effort and seed; the same seed gives the same outcome."""
        ...


def effort_named(name: str) -> Effort:
    """Return an effort by name."""
    return EFFORTS[checks.one_of("effort", name, EFFORTS)]
