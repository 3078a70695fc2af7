"""Writing the parts of a folder: pieces are added, joined, and kept whatever happens to others beside them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tutelage.errors import MalformedData, Unreadable
from tutelage.files import about, digest, read_regular, write_bytes
from tutelage.sweeps.entries import ENDINGS, PARTS, Entry, Piece, entry_digits, entry_name, entry_text
from tutelage.sweeps.ledger import data_files, numbers_in_use, read_ledger
from tutelage.sweeps.parts import Part, Range, merged
from tutelage.work.folder import DAMAGED, inner_folder, remove_own, remove_temporary, set_aside
from tutelage.work.frames import tail

Notice = Callable[[str], None]
# Pieces of a part: so much of it, one in so many, is lost by a flipped bit.
_MOST_PIECES = 256


class Writer:
    """Adds parts to a folder, joins small ones, and takes failed runs out; the folder must be ours, and locked.

    What is damaged is set aside, never removed; what cannot be read stops everything before anything is changed.

    Args:
        folder: The folder of a sweep.
        specification: Digest of the specification.
        notice: Called with a sentence for everything that is damaged; lost runs will be computed again.
        grid: Number of runs by cell; parts that say something else are damaged.
        many: Join small parts when there are so many.
        large: A part of so many bytes is not joined with others.

    Raises:
        Unreadable: If a file cannot be read.
    """

    def __init__(
        self,
        folder: Path,
        specification: str,
        notice: Notice,
        grid: Mapping[int, int],
        many: int = 128,
        large: int = 1 << 25,
    ):
        self._folder, self._parts = folder, inner_folder(folder, PARTS)
        self._specification, self._many, self._large = specification, many, large
        ledger = read_ledger(folder, specification, thorough=True)
        self._next = 1 + max(numbers_in_use(self._parts), default=0)
        for sentence in ledger.damaged:
            notice(f"{sentence}. It is kept in {folder / DAMAGED}, and its lost runs are computed again.")
        for sentence in ledger.others:
            notice(f"{sentence}.")
        self.entries = {entry.number: entry for entry in ledger.entries}
        for entry in ledger.entries:
            if any(first + runs > grid.get(cell, 0) for cell, first, runs in entry.ranges):
                notice(f"{self._parts / entry.names[0]} covers runs that the sweep does not have.")
                self._retire(self.entries.pop(entry.number), keep=True)
            elif entry.broken:
                self._salvage(entry)
        for entry in ledger.superseded:
            self._retire(entry)
        kept = [set_aside(self._folder, self._parts / name) for name in ledger.unread if (self._parts / name).exists()]
        self._clean(damaged={path.name[:8] for path in kept})
        self._complete_entries()

    def _salvage(self, entry: Entry) -> None:
        """Write the intact pieces of a damaged part again, and set the part aside."""
        frames = {}
        for kind in entry.files:
            with contextlib.suppress(MalformedData):
                frames[kind] = entry.frames(kind)
        contents = [
            {kind: frames[kind][place] for kind in piece.files}
            for place, piece in enumerate(entry.pieces)
            if place not in entry.lost
        ]
        if contents:
            self._write(list(entry.intact), contents, [entry.number])
        else:
            self._retire(self.entries.pop(entry.number))

    def _retire(self, entry: Entry, keep: bool = False) -> None:
        """Remove a part that does not count any more; if it has lost something, or is to be kept, it is set aside."""
        paths = {entry.path(kind): checksum for kind, (_, checksum) in entry.files.items()}
        # Entries first, and copies before them: a part without one does not count, whatever remains of it.
        names = sorted(entry.names, key=lambda name: -len(name))
        own = {self._parts / name: entry_digits(self._parts, name) for name in names}
        for path, checksum in {**own, **paths}.items():
            if keep or entry.lost or not remove_own(path, checksum):
                with contextlib.suppress(FileNotFoundError):
                    set_aside(self._folder, path)

    def _clean(self, damaged: set[str]) -> None:
        """Remove what an interruption has left: data files of ours without an entry, and temporary files."""
        known = {entry.path(kind).name for entry in self.entries.values() for kind in entry.files}
        for name, digits in data_files(self._parts).items():
            # The files of a part whose entry is damaged may be all that is left of it.
            if name not in known and (name[:8] in damaged or not remove_own(self._parts / name, digits)):
                set_aside(self._folder, self._parts / name)
        remove_temporary(self._parts)

    def _complete_entries(self) -> None:
        """Write what is missing of the two files of an entry."""
        for number, entry in self.entries.items():
            if entry.named and len(entry.pieces) > 1:
                there = [name for name in entry.names if (self._parts / name).exists()]
                content = read_regular(self._parts / there[0])
                names = self._names(number, content, len(entry.pieces))
                for name in set(names) - set(there):
                    write_bytes(self._parts / name, content)
                self.entries[number] = replace(entry, names=names)

    @staticmethod
    def _names(number: int, content: bytes, pieces: int) -> tuple[str, ...]:
        """Return the names of the entry's file and, of a part of several pieces, of its copy."""
        names = (entry_name(number, content), entry_name(number, content, copy=True))
        return names if pieces > 1 else names[:1]

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

    def add(self, part: Part) -> Entry:
        """Add what a shard has computed, as a part of its own."""
        return self._write([_piece(part)], [part.files], [])

    def _write(
        self, pieces: Sequence[Piece], contents: Sequence[Mapping[str, bytes]], replaces: Sequence[int]
    ) -> Entry:
        """Write a part: its files first, then, by one renaming, the entry that makes them count.

        Raises:
            MalformedData: If the pieces cannot stand in one file; then nothing is written.
        """
        files = {}
        for kind in ENDINGS:
            frames = [content[kind] for content in contents if kind in content]
            if frames:
                files[kind] = b"".join([*frames, tail(frames, ENDINGS[kind])])
        number, self._next = self._next, self._next + 1
        described = {kind: (len(content), digest(content)) for kind, content in files.items()}
        entry = Entry(number, self._parts, (), tuple(pieces), described, tuple(replaces))
        text = entry_text(self._specification, entry)
        entry = replace(entry, names=self._names(number, text, len(pieces)))
        for kind, content in files.items():
            write_bytes(entry.path(kind), content)
        for name in entry.names:
            write_bytes(self._parts / name, text)
        self.entries[number] = entry
        for old in replaces:
            self._retire(self.entries.pop(old))
        return entry

    def join_small(self, final: bool = False) -> None:
        """Join small parts of similar size where there are many, or at the end all small ones.

        Similar size, so that a run is written again a few times only, however many parts there will be.
        """
        levels: dict[tuple[str, int], list[Entry]] = {}
        for entry in self.entries.values():
            if entry.size < self._large and entry.form:
                levels.setdefault((entry.form, 0 if final else entry.size.bit_length() // 4), []).append(entry)
        for entries in levels.values():
            if len(entries) < (2 if final else self._many):
                continue
            group: list[Entry] = []
            for entry in sorted(entries, key=lambda entry: entry.ranges):
                if group and sum(e.size for e in group) + entry.size > self._large:
                    self._join(group)
                    group = []
                group.append(entry)
            self._join(group)

    def _join(self, group: Sequence[Entry]) -> None:
        if len(group) < 2:
            return
        pieces, contents = [], []
        for entry in group:
            frames = {kind: entry.frames(kind) for kind in entry.files}
            for place, piece in enumerate(entry.pieces):
                if any(place not in frames[kind] for kind in piece.files):
                    raise MalformedData(f"{self._parts / entry.names[0]} has been damaged since the sweep began.")
                pieces.append(piece)
                contents.append({kind: frames[kind][place] for kind in piece.files})
        # What was written by another version of a library may not fit; then it stays as it is.
        with contextlib.suppress(MalformedData, Unreadable):
            self._write(*_fewer(pieces, contents), [entry.number for entry in group])

    def drop_failed(self) -> int:
        """Take out the runs that failed, and return their number."""
        dropped = 0
        for entry in [entry for entry in self.entries.values() if entry.failed]:
            dropped += entry.failed
            frames = {kind: entry.frames(kind) for kind in entry.files}
            with about(entry.path("runs")):
                # All pieces anew, and none as it is, so that they fit into one file whatever wrote them.
                parts = [
                    merged([{kind: frames[kind][place] for kind in piece.files}], without_failed=True)
                    for place, piece in enumerate(entry.pieces)
                ]
                rest = [part for part in parts if part.ranges]
                if rest:
                    self._write([_piece(part) for part in rest], [part.files for part in rest], [entry.number])
                else:
                    self._retire(self.entries.pop(entry.number))
        return dropped


def _fewer(
    pieces: Sequence[Piece], contents: Sequence[Mapping[str, bytes]]
) -> tuple[Sequence[Piece], Sequence[Mapping[str, bytes]]]:
    """Make one piece of neighbours where there are very many, which would make reading slow."""
    if len(pieces) <= _MOST_PIECES:
        return pieces, contents
    enough = sum(len(frame) for content in contents for frame in content.values()) / _MOST_PIECES
    groups: list[list[Mapping[str, bytes]]] = [[]]
    size = 0
    for content in contents:
        if size >= enough:
            groups.append([])
            size = 0
        groups[-1].append(content)
        size += sum(map(len, content.values()))
    parts = [merged(group) for group in groups]
    return [_piece(part) for part in parts], [part.files for part in parts]


def _piece(part: Part) -> Piece:
    files = {kind: (len(content), digest(content)) for kind, content in part.files.items()}
    return Piece(ranges=part.ranges, failed=part.failed, seconds=part.seconds, form=part.form, files=files)  # type: ignore[arg-type]
