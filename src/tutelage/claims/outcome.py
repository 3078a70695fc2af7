"""How hard to search for violations, and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tutelage import checks
from tutelage.errors import invalid

Judgement = Literal["holds", "refuted", "vacuous", "not_applicable", "inconclusive"]


@dataclass(frozen=True)
class Effort:
    """How hard to search.

    Attributes:
        samples: Random instances of each draw.
        restarts: Instances from which each draw is searched.
        generations: Rounds of the search that mixes what was found.
        iterations: Steps of quasi-Newton paths.
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
    """What a search found.

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


def effort_named(name: str) -> Effort:
    """Return an effort by name."""
    return EFFORTS[checks.one_of("effort", name, EFFORTS)]
