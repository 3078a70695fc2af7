"""One process at a time in a folder: a lock that the system releases when its holder ends, however it ends."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import stat
import sys
import time
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any, Literal

from tutelage.errors import MalformedData, TutelageError, Unreadable
from tutelage.work.documents import Document, seal, unsealed
from tutelage.work.program import now, this_command

LOCK = "lock"
"""Name of the file in the folder; it stays when the lock is released."""
_PATIENCE = 0.5  # Seconds: whoever only looks whether a folder is in use holds the lock for a moment.
_LONGEST = 1 << 16  # Bytes of the text.
_BEYOND = 1 << 30  # Where Windows locks a byte: behind the text, which others may read.


class FolderInUse(TutelageError):
    """Another process works in the folder."""


class _Holder(Document):
    """Who works in a folder, as the lock says."""

    pid: int
    host: str
    since: str
    command: str


@contextlib.contextmanager
def locked(folder: Path, command: str | None = None) -> Iterator[None]:
    """Hold a folder inside the block, made if it is absent.

    It must be certain already that the folder is ours or free: a file is made in it.

    Args:
        folder: The folder.
        command: What others are told that this process does; the command line by default.

    Raises:
        FolderInUse: If another process holds it: which one, where, since when.
        Unreadable: If the folder has a file of others with the name of the lock, which stays as it is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # Not inherited by workers: the lock ends with this process.
    with _opened(folder / LOCK, "a+b") as file:
        deadline = time.monotonic() + _PATIENCE
        while not _acquired(file):
            if time.monotonic() > deadline:
                raise FolderInUse(f"{folder} is in use{_described(_read(file))}. Wait until it ends, or stop it.")
            time.sleep(0.02)
        if not _is_ours(file):
            raise _of_others(folder / LOCK)
        holder = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": now(),
            "command": this_command() if command is None else command,
        }
        file.truncate(0)
        file.write(json.dumps(seal(holder)).encode())
        yield


def holder(folder: Path) -> dict[str, Any] | None:
    """Return who works in a folder (`pid`, `host`, `since`, `command`), or `None` if nobody does."""
    try:
        file = _opened(folder / LOCK, "rb")
    except (OSError, Unreadable):
        return None
    with file:
        if _acquired(file, looking=True):
            return None
        found = _read(file)
        return {"pid": None, "host": "", "since": "", "command": ""} if found is None else found.model_dump()


def is_lock(folder: Path) -> bool:
    """Whether the file in a folder that has the name of the lock is one."""
    try:
        file = _opened(folder / LOCK, "rb")
    except (FileNotFoundError, Unreadable):
        return False
    with file:
        return _is_ours(file)


def _of_others(path: Path) -> Unreadable:
    return Unreadable(f"{path} is not a lock of tutelage; it is left as it is. Choose another folder, or move it away.")


def _opened(path: Path, mode: Literal["rb", "a+b"]) -> FileIO:
    """Open the file of a lock, which is a regular file of one name; a link is not followed, nor a pipe waited for."""
    more = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK"))
    try:
        file = open(path, mode, buffering=0, opener=lambda name, flags: os.open(name, flags | more, 0o666))  # noqa: SIM115
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise _of_others(path) from error
        raise
    status = os.fstat(file.fileno())
    # A second name would be somebody else's file.
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        file.close()
        raise _of_others(path)
    return file


def _acquired(file: FileIO, looking: bool = False) -> bool:
    """Try to take the lock, or only to share it; closing the file gives it back."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(_BEYOND)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, (fcntl.LOCK_SH if looking else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _is_ours(file: FileIO) -> bool:
    """Whether a lock says what locks say, or nothing: its holder may have had no time to write its name."""
    return os.fstat(file.fileno()).st_size == 0 or _read(file) is not None


def _read(file: FileIO) -> _Holder | None:
    file.seek(0)
    content = file.read(_LONGEST)
    try:
        return unsealed(content, _Holder)
    except MalformedData:
        return None


def _described(found: _Holder | None) -> str:
    if found is None:
        return " by another process"
    return f" by process {found.pid} on {found.host} since {found.since} ({found.command})"
