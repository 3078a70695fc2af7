"""The ledger of a folder: which runs are there.

Every part has a small JSON file, written last and by renaming, that names its ranges, its files with their sizes and
checksums, and the parts it replaces. A run counts if, and only if, such a file is there, is intact, and its files match
it. Other files with such names are what an interruption has left behind.
"""

from __future__ import annotations

import bisect
import contextlib
import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tutelage.errors import MalformedData
from tutelage.files import digest, is_temporary, write_bytes, write_json
from tutelage.sweeps.parts import FAILED, Part, Range, joined

PARTS = "parts"
"""Folder of the parts."""
ENDINGS = {"runs": "runs.parquet", "records": "records.parquet", "arrays": "arrays.npz"}
"""Endings of a part's files, by kind."""
_ENTRY = re.compile(r"\d{8}\.json")
_OURS = re.compile(rf"\d{{8}}\.(json|{'|'.join(map(re.escape, ENDINGS.values()))})")
_TRIES = 20

Notice = Callable[[str], None]


@dataclass(frozen=True)
class Entry:
    """A part in its folder.

    Attributes:
        number: Its number; a part never has the number of an earlier one that is still there.
        folder: Folder of the parts.
        ranges: What it covers.
        failed: Number of rows with status `failed`.
        seconds: Time that its runs took, on one core.
        files: Size and checksum of every file, by kind.
        replaces: Numbers of parts whose runs it has taken over.
    """

    number: int
    folder: Path
    ranges: tuple[Range, ...]
    failed: int
    seconds: float
    files: dict[str, tuple[int, str]]
    replaces: tuple[int, ...]

    @property
    def runs(self) -> int:
        """Number of runs."""
        return sum(runs for _, _, runs in self.ranges)

    @property
    def size(self) -> int:
        """Number of bytes."""
        return sum(size for size, _ in self.files.values())

    def path(self, kind: str) -> Path:
        """Return the path of a file."""
        return self.folder / f"{self.number:08d}.{ENDINGS[kind]}"

    def read(self, kind: str) -> bytes:
        """Return the content of a file.

        Raises:
            MalformedData: If it is absent or does not match its checksum.
        """
        path = self.path(kind)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise MalformedData(f"{path} is absent") from None
        if digest(content) != self.files[kind][1]:
            raise MalformedData(f"{path} does not match its checksum")
        return content

    def wrong(self, thorough: bool) -> str:
        """Return what is wrong with its files in words, or nothing; thoroughly by checksum, else by size."""
        for kind, (size, _) in self.files.items():
            try:
                if thorough:
                    self.read(kind)
                elif self.path(kind).stat().st_size != size:
                    return f"{self.path(kind)} does not have its size"
            except FileNotFoundError:
                return f"{self.path(kind)} is absent"
            except (MalformedData, OSError) as error:
                return str(error)
        return ""


@dataclass(frozen=True)
class Ledger:
    """The parts that count, and what is wrong with others.

    Attributes:
        entries: Parts that count, by number; no two cover the same run.
        damaged: What is wrong with parts that do not count, in words.
    """

    entries: tuple[Entry, ...]
    damaged: tuple[str, ...]

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
    """
    parts = folder / PARTS
    for _ in range(_TRIES):
        before = _listed(parts)
        ledger = _read(parts, before, specification, thorough)
        # Parts are joined and removed while a sweep is running: what was read in between may be half of each.
        if _listed(parts) == before:
            return ledger
        time.sleep(0.01)
    return ledger


def _listed(parts: Path) -> list[str]:
    try:
        return sorted(path.name for path in parts.iterdir() if _ENTRY.fullmatch(path.name))
    except FileNotFoundError:
        return []


def _read(parts: Path, names: Sequence[str], specification: str, thorough: bool) -> Ledger:
    entries, damaged = [], []
    for name in names:
        found = _entry(parts / name, specification)
        wrong = found if isinstance(found, str) else found.wrong(thorough)
        if wrong:
            damaged.append(wrong)
        else:
            entries.append(found)
    superseded = {number for entry in entries for number in entry.replaces}
    counted = [entry for entry in entries if entry.number not in superseded]
    return Ledger(tuple(_apart(counted)), tuple(damaged))


def parts_of_others(folder: Path, specification: str) -> list[Path]:
    """Return the intact parts of a folder that belong to another specification."""
    found = []
    for name in _listed(folder / PARTS):
        path = folder / PARTS / name
        with contextlib.suppress(MalformedData):
            if _document(path).get("specification") != specification:
                found.append(path)
    return found


def _document(path: Path) -> dict[str, Any]:
    """Return what the JSON file of a part says.

    Raises:
        MalformedData: If it is damaged.
    """
    try:
        document = json.loads(path.read_bytes())
        checksum = document.pop("checksum")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise MalformedData(f"{path} is damaged") from None
    if checksum != _checksum(document):
        raise MalformedData(f"{path} does not match its checksum")
    return document


def _entry(path: Path, specification: str) -> Entry | str:
    """Read the JSON file of a part, or return what is wrong with it."""
    try:
        document = _document(path)
        if document["specification"] != specification:
            return f"{path} belongs to another specification"
        return Entry(
            number=int(path.stem),
            folder=path.parent,
            ranges=tuple((cell, first, runs) for cell, first, runs in document["ranges"]),
            failed=document["failed"],
            seconds=document["seconds"],
            files={kind: (size, checksum) for kind, (size, checksum) in document["files"].items()},
            replaces=tuple(document["replaces"]),
        )
    except MalformedData as error:
        return str(error)
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"{path} is damaged"


def _checksum(document: dict[str, Any]) -> str:
    return digest(json.dumps(document, sort_keys=True))


class Writer:
    """Adds parts to a folder, joins small ones, and takes failed runs out; the folder must be locked.

    Args:
        folder: The folder of a sweep.
        specification: Digest of the specification.
        notice: Called with a sentence for every damaged part, whose runs will be computed again.
        many: Join small parts when there are so many.
        large: A part of so many bytes is not joined with others.
    """

    def __init__(self, folder: Path, specification: str, notice: Notice, many: int = 128, large: int = 1 << 25):
        self._parts = folder / PARTS
        self._specification, self._many, self._large = specification, many, large
        self._parts.mkdir(exist_ok=True)
        ledger = read_ledger(folder, specification, thorough=True)
        for sentence in ledger.damaged:
            notice(f"{sentence}. Its runs are computed again.")
        self.entries = {entry.number: entry for entry in ledger.entries}
        numbers = (int(path.name[:8]) for path in self._parts.iterdir() if _OURS.fullmatch(path.name))
        self._next = 1 + max(numbers, default=0)
        self._remove_all_but(self.entries.values())

    def _remove_all_but(self, entries: Iterable[Entry]) -> None:
        """Remove what does not count: damaged and replaced parts, and files of ours without an entry."""
        kept = {f"{entry.number:08d}.json" for entry in entries}
        kept |= {entry.path(kind).name for entry in entries for kind in entry.files}
        # Entries first: a part without one does not count, whatever remains of it.
        for path in sorted(self._parts.iterdir(), key=lambda path: path.suffix != ".json"):
            if path.name not in kept and (_OURS.fullmatch(path.name) or is_temporary(path)):
                path.unlink(missing_ok=True)

    def missing(self, ranges: Iterable[Range]) -> list[list[Range]]:
        """Return, for each of several ranges, what of it is not there."""
        covered: dict[int, list[np.ndarray]] = {}
        for entry in self.entries.values():
            for cell, first, runs in entry.ranges:
                covered.setdefault(cell, []).append(np.arange(first, first + runs))
        have = {cell: np.concatenate(parts) for cell, parts in covered.items()}
        found: list[list[Range]] = []
        for cell, first, runs in ranges:
            wanted = np.arange(first, first + runs)
            rest = wanted if cell not in have else wanted[~np.isin(wanted, have[cell], assume_unique=True)]
            pieces = np.split(rest, np.flatnonzero(np.diff(rest) != 1) + 1)
            found.append([(cell, int(piece[0]), len(piece)) for piece in pieces if len(piece)])
        return found

    def add(self, part: Part, replaces: Sequence[int] = ()) -> Entry:
        """Add a part: its files first, then, by one renaming, the entry that makes them count."""
        number, self._next = self._next, self._next + 1
        entry = Entry(
            number=number,
            folder=self._parts,
            ranges=part.ranges,
            failed=part.failed,
            seconds=part.seconds,
            files={kind: (len(content), digest(content)) for kind, content in part.files.items()},
            replaces=tuple(replaces),
        )
        document = {
            "specification": self._specification,
            "ranges": [list(covered) for covered in entry.ranges],
            "failed": entry.failed,
            "seconds": entry.seconds,
            "files": {kind: list(described) for kind, described in entry.files.items()},
            "replaces": list(replaces),
        }
        for kind, content in part.files.items():
            write_bytes(entry.path(kind), content)
        write_json(self._parts / f"{number:08d}.json", {**document, "checksum": _checksum(document)})
        self.entries[number] = entry
        for old in replaces:
            self._forget(self.entries.pop(old))
        return entry

    def _forget(self, entry: Entry) -> None:
        (self._parts / f"{entry.number:08d}.json").unlink(missing_ok=True)
        for kind in entry.files:
            entry.path(kind).unlink(missing_ok=True)

    def join_small(self, final: bool = False) -> None:
        """Join small parts of similar size where there are many, or at the end all small ones.

        Similar size, so that a run is written again a few times only, however many parts there will be.
        """
        small = sorted((e for e in self.entries.values() if e.size < self._large), key=lambda entry: entry.ranges)
        levels: dict[int, list[Entry]] = {}
        for entry in small:
            levels.setdefault(0 if final else entry.size.bit_length() // 4, []).append(entry)
        for entries in levels.values():
            if len(entries) < (2 if final else self._many):
                continue
            group: list[Entry] = []
            for entry in entries:
                if group and sum(e.size for e in group) + entry.size > self._large:
                    self._join(group)
                    group = []
                group.append(entry)
            self._join(group)

    def _join(self, group: Sequence[Entry]) -> None:
        if len(group) > 1:
            contents = [{kind: entry.read(kind) for kind in entry.files} for entry in group]
            self.add(joined(contents), [entry.number for entry in group])

    def drop_failed(self) -> int:
        """Take out the runs that failed, and return their number."""
        dropped = 0
        for entry in [entry for entry in self.entries.values() if entry.failed]:
            contents = {kind: entry.read(kind) for kind in entry.files}
            rest = joined([contents], lambda runs: runs.filter(runs["status"] != FAILED))
            dropped += entry.failed
            if rest.ranges:
                self.add(rest, [entry.number])
            else:
                self._forget(self.entries.pop(entry.number))
        return dropped


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
