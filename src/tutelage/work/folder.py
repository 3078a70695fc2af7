"""Folders of ours: what is in them, what is ours of that, and what happens to damaged files.

A folder is ours by its manifest, a sealed document. Before that is certain, nothing in it is written, moved or removed.
No link inside it is followed. A damaged file is set aside, in the folder `damaged`, and only a file whose name and
checksum say that we wrote it is ever removed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import time
from collections.abc import Collection
from pathlib import Path
from typing import Literal

from tutelage.errors import InvalidArgument, MalformedData, Unreadable
from tutelage.files import digest, is_temporary, read_regular, write_bytes
from tutelage.work.documents import Document, read_sealed, write_sealed
from tutelage.work.engines import Notice
from tutelage.work.lock import LOCK, is_lock
from tutelage.work.program import installed

MANIFEST = "manifest.json"
"""Name of the document that makes a folder ours."""
DAMAGED = "damaged"
"""Folder inside a folder of ours, for what does not match its checksum."""


class OtherFormat(MalformedData):
    """A folder was written by another version, and is left as it is."""


class NotOurs(InvalidArgument):
    """A folder holds something that tutelage has not written."""


def not_ours(folder: Path, name: str) -> NotOurs:
    """Return the error for a folder with something of others in it."""
    return NotOurs(
        f"{folder} holds something that tutelage has not written ({name}). Choose another folder with `--out`."
    )


def listed(folder: Path) -> list[str]:
    """Return the names in a folder, sorted; none if there is no such folder.

    Raises:
        Unreadable: If it cannot be listed, or is something else than a folder.
    """
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Unreadable(f"{folder} cannot be listed ({error.strerror or error}). Nothing was done to it.") from error


def inner_folder(folder: Path, *names: str, make: bool = True) -> Path:
    """Return a folder inside one of ours; no part of its path may be a link.

    Args:
        folder: A folder.
        *names: Names of folders, each inside the one before.
        make: Whether to make what is absent.

    Raises:
        Unreadable: If something else has that name.
    """
    for name in names:
        folder = folder / name
        if make:
            with contextlib.suppress(FileExistsError):
                folder.mkdir(parents=True)
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISDIR(os.lstat(folder).st_mode):
                raise Unreadable(f"{folder} must be a folder, not a link or a file. Nothing was done to it.")
    return folder


def in_the_way(folder: Path, allowed: Collection[str] = ()) -> str | None:
    """Return the first name in a folder without a manifest that keeps it from becoming ours, or `None`.

    What an interruption at the very beginning leaves is in nobody's way: temporary files and a lock.

    Args:
        folder: A folder; it may be absent.
        allowed: Names that may be there.

    Raises:
        Unreadable: If it cannot be listed, or is something else than a folder.
    """
    for name in listed(folder):
        if name in allowed or is_temporary(name) or (name == LOCK and is_lock(folder)):
            continue
        return name
    return None


class _Marker(Document):
    format: Literal[2]
    kind: str
    version: str


def claim(folder: Path, kind: str, allowed: Collection[str] = ()) -> None:
    """Make a folder ours that is empty or absent, or see that it is ours already.

    Args:
        folder: The folder.
        kind: What it is to hold.
        allowed: Names of folders with manifests of their own, which may be there before.

    Raises:
        NotOurs: If it holds something else; nothing in it is changed then.
        Unreadable: If it cannot be read.
    """
    try:
        found = read_sealed(folder / MANIFEST, _Marker)
    except MalformedData as error:
        raise not_ours(folder, MANIFEST) from error
    except FileNotFoundError:
        name = in_the_way(folder, allowed)
        if name == MANIFEST:  # another process makes the same folder ours at this moment
            return claim(folder, kind, allowed)
        if name is not None:
            raise not_ours(folder, name) from None
        for inner in allowed:
            inner_folder(folder, inner, make=False)
        folder.mkdir(parents=True, exist_ok=True)
        write_sealed(folder / MANIFEST, {"format": 2, "kind": kind, "version": installed()})
    else:
        if found.kind != kind:
            raise not_ours(folder, f"a {found.kind}")


def set_aside(folder: Path, path: Path, notice: Notice) -> None:
    """Move a damaged file out of the way, if there is one, and say where it is now.

    Args:
        folder: The folder of ours that it lies in.
        path: The file.
        notice: Called with the sentence.
    """
    if not os.path.lexists(path):
        return
    place = inner_folder(folder, DAMAGED) / f"{path.name}.{secrets.token_hex(4)}"
    os.replace(path, place)
    notice(f"{path} is damaged, or not ours: it is kept as {place}, and written again.")


def put(folder: Path, path: Path, content: bytes, checksum: str | None, notice: Notice) -> str:
    """Write a file in a folder of ours, and return its checksum.

    What is in its place and not known to be ours is set aside.

    Args:
        folder: The folder of ours.
        path: The file in it.
        content: What to write.
        checksum: Checksum of what we wrote there before, if anything.
        notice: Called with a sentence if something was set aside.

    Raises:
        Unreadable: If what is in its place cannot be read.
    """
    written = digest(content)
    try:
        there = digest(read_regular(path))
    except FileNotFoundError:
        there = None
    if there == written:
        return written
    if there not in (None, checksum):
        set_aside(folder, path, notice)
    write_bytes(path, content)
    return written


def remove_temporary(folder: Path, age: float = 0.0) -> None:
    """Remove the temporary files of interrupted writes from a folder of ours, if they are so many seconds old."""
    for name in listed(folder):
        if is_temporary(name):
            with contextlib.suppress(FileNotFoundError):
                status = os.lstat(folder / name)
                if stat.S_ISREG(status.st_mode) and time.time() - status.st_mtime >= age:
                    (folder / name).unlink()
