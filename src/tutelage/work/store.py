"""The store: what pieces of work have computed, a file for each, by key.

A piece is there whole or not at all: its file is written under another name and renamed. It has a checksum of
everything in it and a *stamp*, a digest of what it was computed from, so that nothing stale is used again. Nothing is
pickled. A file that is damaged is set aside and costs no other piece.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from tutelage.errors import MalformedData, invalid
from tutelage.files import about, read_regular, write_bytes
from tutelage.work.archives import archive_arrays, pack_arrays, unpack_arrays
from tutelage.work.documents import Document, parsed, shaped
from tutelage.work.engines import Notice, ignore
from tutelage.work.folder import (
    DAMAGED,
    OtherFormat,
    in_the_way,
    inner_folder,
    listed,
    not_ours,
    remove_temporary,
    set_aside,
)
from tutelage.work.program import installed

PIECES = "pieces"
"""Folder of the pieces, inside the folder of a job."""
_ABOUT, _ENDING = "about", ".npz"
Found = TypeVar("Found")
_KEY = re.compile(r"[^/\\\x00-\x1f.][^/\\\x00-\x1f]*")


@dataclass(frozen=True)
class Content:
    """What a piece of work has computed.

    Attributes:
        facts: Plain data, as JSON has it.
        arrays: Arrays of numbers or text, by name.
    """

    facts: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)


class About(Document):
    """What a piece says of itself: its job, its stamp, and its facts."""

    format: Literal["tutelage piece 1"]
    version: str
    job: str
    stamp: str
    facts: dict[str, Any]


def packed(content: Content, job: str, stamp: str) -> bytes:
    """Return the content of a piece as the bytes of its file.

    Args:
        content: What it has computed.
        job: The job that it belongs to.
        stamp: A digest of what it was computed from.
    """
    if _ABOUT in content.arrays:
        raise invalid("arrays", f"not have one named {_ABOUT!r}", "one", "Choose another name")
    said = {"format": "tutelage piece 1", "version": installed(), "job": job, "stamp": stamp}
    text = json.dumps({**said, "facts": dict(content.facts)}, ensure_ascii=False, allow_nan=False).encode()
    return pack_arrays({_ABOUT: np.frombuffer(text, np.uint8), **content.arrays})


def unpacked(content: bytes, arrays: bool = True) -> tuple[About, Content]:
    """Return what a piece says of itself and what it has computed, from the bytes of its file.

    Args:
        content: The file.
        arrays: Whether to unpack and compare the arrays; without them it has none.

    Raises:
        MalformedData: If it is something else, or damaged; the text continues a sentence.
        Unreadable: If it would take too much memory; the text continues a sentence.
    """
    found = unpack_arrays(content) if arrays else archive_arrays(content, {_ABOUT})
    if _ABOUT not in found:
        raise MalformedData("is an archive of something else than a piece of work")
    said = shaped(parsed(found.pop(_ABOUT).tobytes()), About)
    return said, Content(said.facts, found)


class Store:
    """The pieces of a job in its folder.

    Reading is safe while another process writes; who writes must hold the lock of the folder.

    Args:
        folder: The folder of the job.
        job: Its name, which every piece has.
    """

    def __init__(self, folder: Path, job: str):
        self.folder, self.job = folder, job

    def path(self, key: str) -> Path:
        """Return the file of a piece.

        Raises:
            InvalidArgument: If a key cannot be the name of a file.
        """
        if not _KEY.fullmatch(key):
            raise invalid("key", "be the name of a file", repr(key), "Choose letters, digits, dashes and spaces")
        return self.folder / PIECES / f"{key}{_ENDING}"

    def __iter__(self) -> Iterator[str]:
        """Yield the keys of the files that are there, sorted; whether they are pieces is not looked at."""
        names = listed(inner_folder(self.folder, PIECES, make=False))
        return (name.removesuffix(_ENDING) for name in names if name.endswith(_ENDING) and _KEY.fullmatch(name))

    def read(self, key: str, stamp: str | None = None, arrays: bool = True) -> Content | None:
        """Return what a piece has computed, or `None` if it is absent, or of another job or stamp.

        Args:
            key: Its key.
            stamp: What it must have been computed from; anything if `None`.
            arrays: Whether to read its arrays, and to compare it with its checksum.

        Raises:
            MalformedData: If it is something else, or damaged.
            Unreadable: If it cannot be read.
        """
        try:
            content = read_regular(self.path(key))
        except FileNotFoundError:
            return None
        with about(self.path(key)):
            said, computed = unpacked(content, arrays)
        return computed if said.job == self.job and stamp in (None, said.stamp) else None

    def whole(self, key: str, stamp: str | None, notice: Notice) -> Content | None:
        """Return what a piece has computed, as `read` does; of one that is damaged, say so, and return `None`."""
        try:
            return self.read(key, stamp)
        except MalformedData as error:
            notice(f"{error} It is computed again.")
            return None

    def keep(self, key: str, content: bytes, notice: Notice) -> None:
        """Write the file of a piece; what has its name and is no piece is set aside.

        Args:
            key: Its key.
            content: Its file, as `packed` makes it.
            notice: Called with a sentence if something was set aside.
        """
        inner_folder(self.folder, PIECES)
        try:
            self.read(key)
        except MalformedData:
            set_aside(self.folder, self.path(key), notice)
        write_bytes(self.path(key), content)

    def tidy(self, age: float = 0.0) -> None:
        """Remove what interrupted writes have left in the folder, if it is so many seconds old."""
        for folder in (self.folder, inner_folder(self.folder, PIECES, make=False)):
            remove_temporary(folder, age)

    def owns(self, stamp: str | None = None) -> bool:
        """Whether the folder has an intact piece of this job, and of a stamp: then it is ours, without a manifest."""
        return any(self.whole(key, stamp, ignore) is not None for key in self)

    def manifest(
        self,
        read: Callable[[Path], Found],
        stamp: str | None = None,
        refused: Callable[[Path, str], Exception] = not_ours,
    ) -> Found | None:
        """Return the manifest of the folder; `None` if it has no intact one, and is free, or ours by its pieces.

        Args:
            read: Reads the manifest of a folder.
            stamp: Which pieces say that it is ours; any of the job if `None`.
            refused: Makes the error for a folder with something else in it.

        Raises:
            NotOurs: If it holds something else.
            OtherFormat: If another version has written it.
            Unreadable: If something in it cannot be read.
        """
        for name in (PIECES, DAMAGED):
            inner_folder(self.folder, name, make=False)
        try:
            return read(self.folder)
        except OtherFormat:
            raise
        except (FileNotFoundError, MalformedData):
            name = in_the_way(self.folder)
        if name is not None and not self.owns(stamp):
            raise refused(self.folder, name)
        return None
