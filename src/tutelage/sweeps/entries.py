"""Parts in a folder: their entries, the pieces they are made of, and what of them matches its checksum.

A part is a few files and a small sealed document, its entry, that is written last and by renaming. The entry names what
the part covers, piece by piece, its files with their sizes and checksums, those of every piece in them, and the parts
it replaces. A run counts if, and only if, such an entry is there and the bytes of its piece match it: damage to one
piece costs no other. The entry of a part of several pieces is there twice.

The name of every file has the first digits of its checksum, so that an interruption leaves nothing whose owner is in
doubt.
"""

from __future__ import annotations

import itertools
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import Field

from tutelage.errors import MalformedData, Unreadable
from tutelage.files import about, digest, json_text, largest_text, read_regular
from tutelage.sweeps.parts import Range
from tutelage.work.documents import Document, seal, unsealed

PARTS = "parts"
"""Folder of the parts."""
ENDINGS = {"runs": "runs.parquet", "records": "records.parquet", "arrays": "arrays.npz"}
"""Endings of a part's files, by kind."""
_SHOWN_DIGITS = 16
ENTRY = re.compile(r"(\d{8})\.([0-9a-f]{16})(\.copy)?\.json")
DATA = re.compile(rf"(\d{{8}})\.([0-9a-f]{{16}})\.({'|'.join(map(re.escape, ENDINGS.values()))})")
FIRST_FORMAT = re.compile(r"(\d{8})\.json")  # of version 0.1

Kind = Literal["runs", "records", "arrays"]
Number = Annotated[int, Field(ge=0)]
Checksum = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
# JSON has lists where we have tuples.
SizeAndChecksum = Annotated[tuple[Number, Checksum], Field(strict=False)]
SomeRuns = Annotated[tuple[Number, Number, Annotated[int, Field(ge=1)]], Field(strict=False)]


class Piece(Document):
    """What a shard has computed, inside a part.

    Attributes:
        ranges: What it covers.
        failed: Number of rows with status `failed`.
        seconds: Time that its runs took, on one core.
        form: Digest of the columns of its tables; empty if it is not known.
        files: Size and checksum of its bytes in every file of the part, by kind.
    """

    ranges: Annotated[tuple[SomeRuns, ...], Field(strict=False, min_length=1)]
    failed: Number
    seconds: Annotated[float, Field(ge=0)]
    form: str = ""
    files: dict[Kind, SizeAndChecksum]

    @property
    def runs(self) -> int:
        """Number of runs."""
        return sum(runs for _, _, runs in self.ranges)


class _EntryForm(Document):
    """The document of a part."""

    format: Literal[2]
    specification: Checksum
    pieces: Annotated[tuple[Piece, ...], Field(strict=False, min_length=1)]
    files: dict[Kind, SizeAndChecksum]
    replaces: list[Number]


class _FirstEntryForm(Piece):
    """The document of a part of version 0.1, which is one piece."""

    specification: Checksum
    replaces: list[Number]


@dataclass(frozen=True)
class Entry:
    """A part in its folder.

    Attributes:
        number: Its number; a part never has the number of an earlier one that is still there.
        folder: Folder of the parts.
        names: Names of its entry's file and of the copy.
        pieces: What it is made of, in the order of their bytes.
        files: Size and checksum of every file, by kind.
        replaces: Numbers of parts whose runs it has taken over.
        named: Whether the names of its files have digits of their checksums; those of version 0.1 have not.
        lost: Numbers of pieces whose bytes do not match their checksums.
        broken: Whether something of it is damaged, a piece or not.
    """

    number: int
    folder: Path
    names: tuple[str, ...]
    pieces: tuple[Piece, ...]
    files: dict[str, tuple[int, str]]
    replaces: tuple[int, ...]
    named: bool = True
    lost: frozenset[int] = field(default=frozenset())
    broken: bool = False

    @property
    def intact(self) -> tuple[Piece, ...]:
        """The pieces that count."""
        return tuple(piece for place, piece in enumerate(self.pieces) if place not in self.lost)

    @cached_property
    def ranges(self) -> tuple[Range, ...]:
        """What its intact pieces cover."""
        return tuple(sorted(covered for piece in self.intact for covered in piece.ranges))

    @cached_property
    def runs(self) -> int:
        """Number of runs of its intact pieces."""
        return sum(piece.runs for piece in self.intact)

    @property
    def failed(self) -> int:
        """Number of them that failed."""
        return sum(piece.failed for piece in self.intact)

    @property
    def seconds(self) -> float:
        """Time that they took, on one core."""
        return sum(piece.seconds for piece in self.intact)

    @property
    def size(self) -> int:
        """Number of bytes."""
        return sum(size for size, _ in self.files.values())

    @property
    def form(self) -> str:
        """The form of its pieces."""
        return self.pieces[0].form

    def path(self, kind: str) -> Path:
        """Return the path of a file."""
        digits = f".{self.files[kind][1][:_SHOWN_DIGITS]}" if self.named else ""
        return self.folder / f"{self.number:08d}{digits}.{ENDINGS[kind]}"

    def read(self, kind: str) -> bytes:
        """Return the content of a file.

        Raises:
            MalformedData: If it is absent or does not match its checksum.
            Unreadable: If it cannot be read.
        """
        content = self._content(kind)
        if digest(content) != self.files[kind][1]:
            raise MalformedData(f"{self.path(kind)} does not match its checksum")
        return content

    def _content(self, kind: str) -> bytes:
        try:
            return read_regular(self.path(kind))
        except FileNotFoundError:
            raise MalformedData(f"{self.path(kind)} is absent") from None

    def frames(self, kind: str) -> dict[int, bytes]:
        """Return the bytes of every piece in a file that match their checksum, by the number of the piece.

        Raises:
            MalformedData: If the file is absent.
            Unreadable: If it cannot be read.
        """
        content, found, start = self._content(kind), {}, 0
        for place, piece in enumerate(self.pieces):
            if kind in piece.files:
                size, checksum = piece.files[kind]
                frame = content[start : start + size]
                start += size
                if digest(frame) == checksum:
                    found[place] = frame
        return found

    def checked(self) -> tuple[Entry, list[str]]:
        """Compare all files with their checksums, and return what is left and what is wrong, in words.

        Raises:
            Unreadable: If a file cannot be read: then nothing is known of it.
        """
        lost: set[int] = set()
        wrong = []
        for kind in self.files:
            try:
                self.read(kind)
            except MalformedData as error:
                wrong.append(str(error))
                frames = self.frames(kind) if "absent" not in str(error) else {}
                lost |= {
                    place for place, piece in enumerate(self.pieces) if kind in piece.files and place not in frames
                }
        found = replace(self, lost=frozenset(lost), broken=bool(wrong))
        return found, [f"{one} ({self.runs - found.runs} of {self.runs} runs are lost)" for one in wrong]

    def has_its_sizes(self) -> bool:
        """Whether all files are there with their sizes; a quick look.

        Raises:
            Unreadable: If one cannot be looked at, or is not a regular file.
        """
        for kind, (size, _) in self.files.items():
            try:
                status = os.lstat(self.path(kind))
            except FileNotFoundError:
                return False
            except OSError as error:
                raise Unreadable(f"{self.path(kind)} cannot be read ({error.strerror or error}).") from error
            if not stat.S_ISREG(status.st_mode):
                raise Unreadable(f"{self.path(kind)} must be a regular file, and is none. Nothing was done to it.")
            if status.st_size != size:
                return False
        return True


class OtherSpecification(Exception):
    """An entry belongs to another sweep."""


def entry_name(number: int, content: bytes, copy: bool = False) -> str:
    """Return the name of the file of an entry, or of its copy."""
    return f"{number:08d}.{digest(content)[:_SHOWN_DIGITS]}{'.copy' * copy}.json"


def entry_digits(parts: Path, name: str) -> str:
    """Return the first digits of the checksum of an entry's file, as its name has them.

    Raises:
        MalformedData: If it is an entry of version 0.1, whose name has none, and does not match the checksum in it.
    """
    if found := ENTRY.fullmatch(name):
        return found[2]
    content = read_regular(parts / name, most=largest_text())
    with about(parts / name):
        unsealed(content, _FirstEntryForm)
    return digest(content)


def read_entry(parts: Path, name: str, alike: tuple[str, ...], specification: str) -> Entry:
    """Read the entry of a part.

    Raises:
        FileNotFoundError: If it has gone.
        MalformedData: If it is damaged, or something else.
        Unreadable: If it cannot be read.
    """
    path = parts / name
    content = read_regular(path, most=largest_text())
    with about(path):
        named = ENTRY.fullmatch(name)
        if named is None:
            first = unsealed(content, _FirstEntryForm)
            piece = Piece(ranges=first.ranges, failed=first.failed, seconds=first.seconds, files=first.files)
            specification_there, pieces, files, replaces = first.specification, (piece,), first.files, first.replaces
        else:
            if not digest(content).startswith(named[2]):
                raise MalformedData("does not match its checksum")
            found = unsealed(content, _EntryForm)
            specification_there, pieces, files, replaces = (
                found.specification, found.pieces, found.files, found.replaces,
            )  # fmt: skip
        if specification_there != specification:
            raise OtherSpecification
        _check_pieces(pieces, files)
        described: dict[str, tuple[int, str]] = {**files}
        return Entry(int(name[:8]), parts, alike, pieces, described, tuple(replaces), named is not None)


def _check_pieces(pieces: Sequence[Piece], files: Mapping[Kind, tuple[int, str]]) -> None:
    covered = sorted(covered for piece in pieces for covered in piece.ranges)
    twice = any(one[0] == two[0] and one[1] + one[2] > two[1] for one, two in itertools.pairwise(covered))
    if twice or any(piece.failed > piece.runs or "runs" not in piece.files for piece in pieces):
        raise MalformedData("is damaged: its pieces contradict each other")
    for kind in get_args(Kind):
        if sum(piece.files.get(kind, (0, ""))[0] for piece in pieces) > files.get(kind, (0, ""))[0]:
            raise MalformedData("is damaged: its pieces do not fit into its files")


def entry_text(specification: str, entry: Entry) -> bytes:
    """Return the sealed document of a part."""
    document = {
        "format": 2,
        "specification": specification,
        "pieces": [piece.model_dump(mode="json") for piece in entry.pieces],
        "files": {kind: list(described) for kind, described in entry.files.items()},
        "replaces": list(entry.replaces),
    }
    return json_text(seal(document))
