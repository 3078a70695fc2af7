"""The ledger of a folder: which runs are there."""

from __future__ import annotations

import bisect
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tutelage.errors import MalformedData
from tutelage.sweeps.entries import DATA, ENTRY, FIRST_FORMAT, PARTS, Entry, OtherSpecification, read_entry
from tutelage.work.folder import inner_folder, listed

_TRIES = 20


@dataclass(frozen=True)
class Ledger:
    """The parts that count, and what is wrong with others.

    Attributes:
        entries: Parts that count, by number; no two cover the same run.
        damaged: What is damaged, in words.
        others: What is none of our business, in words.
        unread: Names of entries that do not match their checksums.
        superseded: Parts that do not count, since others cover their runs.
    """

    entries: tuple[Entry, ...]
    damaged: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    superseded: tuple[Entry, ...] = ()

    @property
    def runs(self) -> int:
        """Number of runs that are there."""
        return sum(entry.runs for entry in self.entries)

    @property
    def failed(self) -> int:
        """Number of them that failed."""
        return sum(entry.failed for entry in self.entries)

    @property
    def seconds(self) -> float:
        """Time that all runs took, on one core."""
        return sum(entry.seconds for entry in self.entries)


def read_ledger(folder: Path, specification: str, thorough: bool) -> Ledger:
    """Return which parts a folder has; also while another process writes there.

    Args:
        folder: The folder of a sweep.
        specification: Digest of the specification that parts must belong to.
        thorough: Whether to compare all files with their checksums, or their sizes only.

    Raises:
        Unreadable: If an entry, or a file that is looked at, cannot be read.
    """
    parts = inner_folder(folder, PARTS, make=False)
    for _ in range(_TRIES):
        before = _entries(parts)
        ledger = _read(parts, before, specification, thorough)
        # Parts are joined and removed while a sweep is running: what was read in between may be half of each.
        if _entries(parts) == before:
            return ledger
        time.sleep(0.01)
    return ledger


def _entries(parts: Path) -> list[str]:
    return [name for name in listed(parts) if ENTRY.fullmatch(name) or FIRST_FORMAT.fullmatch(name)]


def _read(parts: Path, names: Sequence[str], specification: str, thorough: bool) -> Ledger:
    entries: list[Entry] = []
    damaged, others, unread = [], [], []
    # The copy of an entry has the same digits.
    together: dict[str, list[str]] = {}
    for name in names:
        together.setdefault(name.replace(".copy.", "."), []).append(name)
    for alike in together.values():
        found: Entry | None = None
        for name in sorted(alike, key=len):
            if found is not None and not thorough:
                break
            try:
                found = read_entry(parts, name, tuple(alike), specification)
            except FileNotFoundError:
                continue  # joined in the meantime
            except MalformedData as error:
                if ENTRY.fullmatch(name):
                    damaged.append(str(error))
                    unread.append(name)
                else:
                    others.append(f"{error}. It is left alone")
            except OtherSpecification:
                others.append(f"{parts / name} belongs to another specification and is left alone")
        if found is None:
            continue
        if thorough or not found.has_its_sizes():
            found, wrong = found.checked()
            # What has become part of another one while it was looked at is not damaged.
            if not thorough and not any((parts / name).exists() for name in alike):
                continue
            damaged += wrong
        entries.append(found)
    replaced = {number for entry in entries if not entry.lost for number in entry.replaces}
    counted = _apart([entry for entry in entries if entry.number not in replaced])
    kept = {entry.number for entry in counted}
    rest = tuple(entry for entry in entries if entry.number not in kept)
    return Ledger(tuple(counted), tuple(damaged), tuple(others), tuple(unread), rest)


def has_parts_of(folder: Path, specification: str) -> tuple[bool, str | None]:
    """Return whether a folder has an intact entry of a specification, and the name of one of another specification."""
    parts = inner_folder(folder, PARTS, make=False)
    own, other = False, None
    for name in _entries(parts):
        try:
            read_entry(parts, name, (name,), specification)
            own = True
        except OtherSpecification:
            other = other or name
        except (MalformedData, FileNotFoundError):
            continue
    return own, other


def data_files(parts: Path) -> dict[str, str]:
    """Return the names of all data files that we may have written, with the digits of their checksums."""
    return {name: found[2] for name in listed(parts) if (found := DATA.fullmatch(name))}


def numbers_in_use(parts: Path) -> Iterable[int]:
    """Return the numbers that names in a folder of parts begin with."""
    return (int(name[:8]) for name in listed(parts) if re.match(r"\d{8}\.", name))


def _apart(entries: Sequence[Entry]) -> list[Entry]:
    """Return parts that share no run; should two do so, the later one counts."""
    kept: list[Entry] = []
    taken: dict[int, list[tuple[int, int]]] = {}
    for entry in sorted(entries, key=lambda entry: -entry.number):
        if any(_meets(taken.get(cell, []), first, first + count) for cell, first, count in entry.ranges):
            continue
        kept.append(entry)
        for cell, first, count in entry.ranges:
            bisect.insort(taken.setdefault(cell, []), (first, first + count))
    return kept[::-1]


def _meets(taken: Sequence[tuple[int, int]], low: int, high: int) -> bool:
    """Whether an interval shares a number with one of several that are sorted and apart."""
    position = bisect.bisect_left(taken, (high, high))
    return position > 0 and taken[position - 1][1] > low
