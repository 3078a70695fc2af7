"""Which runs of a sweep are there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tutelage.errors import MalformedData
from tutelage.files import about
from tutelage.sweeps.manifest import Manifest
from tutelage.sweeps.tables import Computed, Facts, Range, check_rows, computed_of
from tutelage.work.documents import shaped
from tutelage.work.store import Content, Store

JOB = "sweep"
"""Name of the job that the pieces of sweeps belong to."""
_KEY = re.compile(r"(\d{1,18})-(\d{1,18})-(\d{1,18})")


def key_of(covered: Range) -> str:
    """Return the key of a range in the store."""
    return f"{covered.cell}-{covered.first}-{covered.runs}"


@dataclass(frozen=True)
class Coverage:
    """The ranges that are there, and what is damaged.

    Attributes:
        ranges: Ranges with their facts; no two share a run.
        damaged: What is damaged, in words.
    """

    ranges: Mapping[Range, Facts]
    damaged: tuple[str, ...] = ()

    @property
    def runs(self) -> int:
        """Number of runs that are there."""
        return sum(covered.runs for covered in self.ranges)

    @property
    def failed(self) -> int:
        """Number of them that failed."""
        return sum(facts.failed for facts in self.ranges.values())

    @property
    def seconds(self) -> float:
        """Time that all runs took, on one core."""
        return sum(facts.seconds for facts in self.ranges.values())

    def left_of(self, wanted: Range) -> Iterator[Range]:
        """Yield what is left of a range when everything that is there is taken out, each with its share of the cost."""
        first, end = wanted.first, wanted.first + wanted.runs
        there = sorted(
            (one.first, one.first + one.runs)
            for one in self.ranges
            if one.cell == wanted.cell and one.first < end and one.first + one.runs > first
        )
        for begin, stop in [*there, (end, end)]:
            if begin > first:
                runs = begin - first
                yield Range(wanted.cell, first, runs, wanted.cost * runs / wanted.runs)
            first = max(first, stop)


def read_coverage(store: Store, manifest: Manifest, thorough: bool) -> Coverage:
    """Return which ranges a folder has; also while another process writes there.

    Args:
        store: The pieces.
        manifest: What is swept.
        thorough: Whether to compare every piece with its checksum, or to believe what it says of itself.

    Raises:
        Unreadable: If a piece cannot be read.
    """
    read = read_range if thorough else _read_facts
    grid: dict[Any, Any] = dict(zip(manifest.grid["cell"], manifest.grid["runs"], strict=True))
    found: dict[Range, Facts] = {}
    damaged: list[str] = []
    ends: dict[int, int] = {}
    ranges = [Range(*map(int, match.groups())) for key in store if (match := _KEY.fullmatch(key))]
    for covered in sorted(ranges, key=lambda one: (one.cell, one.first, -one.runs)):
        end = covered.first + covered.runs
        # Two ranges that share a run are never written; should somebody have copied one here, the first counts.
        if not covered.runs or end > grid.get(covered.cell, -1) or covered.first < ends.get(covered.cell, 0):
            continue
        try:
            piece = read(store, covered, manifest.specification)
        except MalformedData as error:
            damaged.append(str(error).rstrip("."))
            continue
        if piece is not None:
            found[covered], ends[covered.cell] = piece[0], end
    return Coverage(found, tuple(damaged))


def _read_facts(store: Store, covered: Range, specification: str, arrays: bool = False) -> tuple[Facts, Content] | None:
    """Return what a range says of itself, compared with its name, and its content; `None` if it is not there."""
    content = store.read(key_of(covered), specification, arrays)
    if content is None:
        return None
    with about(store.path(key_of(covered))):
        facts = shaped(dict(content.facts), Facts)
        if facts.runs != covered.runs or facts.failed > facts.runs:
            raise MalformedData("contradicts its name")
    return facts, content


def read_range(store: Store, covered: Range, specification: str) -> tuple[Facts, Computed] | None:
    """Return what a range has computed, or `None` if it is not there; everything in it is compared.

    Raises:
        MalformedData: If it is damaged, or contradicts itself.
        Unreadable: If it cannot be read.
    """
    found = _read_facts(store, covered, specification, arrays=True)
    if found is None:
        return None
    facts, content = found
    with about(store.path(key_of(covered))):
        outcome = computed_of(content)
        check_rows(covered, outcome)
    return facts, outcome
