"""What the tests of hostile files share: snapshots of everything, damage, and a clock against hanging."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path


def snapshot(folder: Path) -> dict[str, object]:
    """Return everything below a folder: bytes of files, targets of links, kinds of everything else."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            found[str(path)] = ("link", os.readlink(path))
        elif stat.S_ISREG(mode):
            found[str(path)] = path.read_bytes()
        else:
            found[str(path)] = stat.S_IFMT(mode)
    return found


def flipped(content: bytes, place: int) -> bytes:
    """Return bytes with one bit changed."""
    return content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]


@contextlib.contextmanager
def quickly(seconds: int = 60) -> Iterator[None]:
    """Fail instead of hanging: far above what a busy machine needs."""

    def late(*_: object) -> None:
        raise AssertionError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
