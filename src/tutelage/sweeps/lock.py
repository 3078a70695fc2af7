"""One process at a time in a folder: a lock that the system releases when its holder ends, however it ends."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tutelage.errors import TutelageError

LOCK = "lock"
"""Name of the file in the folder; it stays when the lock is released."""
_PATIENCE = 0.5  # Seconds: whoever only looks whether a folder is in use holds the lock for a moment.
_BEYOND = 1 << 30  # Where Windows locks a byte: behind the text, which others may read.


class FolderInUse(TutelageError):
    """Another process works in the folder."""


def this_command() -> str:
    """Return the command that this process runs, as a line for a shell."""
    program = Path(sys.argv[0]).name if sys.argv else ""
    name = "tutelage" if program in ("tutelage", "__main__.py", "") else program
    return shlex.join([name, *sys.argv[1:]])


@contextlib.contextmanager
def locked(folder: Path, command: str | None = None, patience: float = _PATIENCE) -> Iterator[None]:
    """Hold a folder inside the block, made if it is absent.

    Args:
        folder: The folder.
        command: What others are told that this process does; the command line by default.
        patience: Seconds to wait for another process; by default only for one that looks whether it is in use.

    Raises:
        FolderInUse: If another process holds it: which one, where, since when.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # Not inherited by workers: the lock ends with this process.
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
    try:
        deadline = time.monotonic() + patience
        while not _acquired(handle):
            if time.monotonic() > deadline:
                raise FolderInUse(f"{folder} is in use{_described(_read(handle))}. Wait until it ends, or stop it.")
            time.sleep(0.02)
        holder = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
            "command": this_command() if command is None else command,
        }
        os.lseek(handle, 0, os.SEEK_SET)
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps(holder).encode())
        yield
    finally:
        os.close(handle)


def holder(folder: Path) -> dict[str, Any] | None:
    """Return who works in a folder (`pid`, `host`, `since`, `command`), or `None` if nobody does."""
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY)
    except OSError:
        return None
    try:
        return None if _acquired(handle, looking=True) else _read(handle)
    finally:
        os.close(handle)


def _acquired(handle: int, looking: bool = False) -> bool:
    """Try to take the lock, or only to share it; closing the file gives it back."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(handle, _BEYOND, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(handle, (fcntl.LOCK_SH if looking else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _read(handle: int) -> dict[str, Any]:
    os.lseek(handle, 0, os.SEEK_SET)
    try:
        found = json.loads(os.read(handle, 1 << 16))
    except ValueError:
        # Its holder has not written its name yet.
        found = {}
    unknown = {"pid": None, "host": "", "since": "", "command": ""}
    return {**unknown, **found} if isinstance(found, dict) else unknown


def _described(found: dict[str, Any]) -> str:
    if found["pid"] is None:
        return " by another process"
    return f" by process {found['pid']} on {found['host']} since {found['since']} ({found['command']})"
