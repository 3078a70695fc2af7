"""Files: written complete or not at all, and read only if they are regular and not too large.

What is read was perhaps written by others. A link, a pipe or a device is refused before it is opened, and nothing grows
beyond one number of bytes, `largest_size()`, however small it is on the disk.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import io
import json
import os
import re
import secrets
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tutelage.errors import MalformedData, Unreadable, invalid

LARGEST_SIZE = 1 << 30
"""Bytes that a file may have, on the disk and decompressed, unless the environment says otherwise."""
LARGEST_VARIABLE = "TUTELAGE_LARGEST_FILE"
"""Variable of the environment with another number of bytes."""
# JSON and TOML become objects of many times the size of their text.
_SHARE_OF_A_TEXT = 16
_TEMPORARY = re.compile(r"\.([0-9a-f]{16})-([0-9a-f]{8})\.tmp")


def largest_size() -> int:
    """Return how many bytes a file may have, on the disk and decompressed.

    Raises:
        InvalidArgument: If the environment names something else than a number of bytes.
    """
    said = os.environ.get(LARGEST_VARIABLE, "").strip()
    if said and not (said.isascii() and said.isdecimal() and int(said)):
        raise invalid(LARGEST_VARIABLE, "be a number of bytes", repr(said), f"Try {4 * LARGEST_SIZE}, or unset it")
    return int(said) if said else LARGEST_SIZE


def largest_text() -> int:
    """Return how many bytes a text of JSON or TOML may have."""
    return largest_size() // _SHARE_OF_A_TEXT


def too_large(size: int, most: int) -> Unreadable:
    """Return the error for something that would take too much memory; its text continues a sentence."""
    return Unreadable(
        f"has {size} bytes when it is read, more than the {most} that are allowed. If you trust it, set "
        f"{LARGEST_VARIABLE} to a larger number (now {largest_size()})"
    )


@contextlib.contextmanager
def about(path: Path) -> Iterator[None]:
    """Complete sentences of errors on the content of a file, which begin with its verb, by the name of the file."""
    try:
        yield
    except (MalformedData, Unreadable) as error:
        raise type(error)(f"{path} {error}.") from error


def checked_path(argument: str, value: Any) -> Path:
    """Return `value` as a path, or raise if it is none."""
    if not isinstance(value, (str, os.PathLike)) or (isinstance(value, str) and "\0" in value):
        raise invalid(argument, "be a path", repr(value), "Pass a string or a pathlib.Path")
    try:
        return Path(value)
    except TypeError as error:
        raise invalid(argument, "be a path of text", repr(value), "Pass a string or a pathlib.Path") from error


def read_regular(path: Path, *, most: int | None = None, follow: bool = False) -> bytes:
    """Return the content of a regular file.

    Args:
        path: The file.
        most: How many bytes it may have; `largest_size()` by default.
        follow: Whether the path may be a link: true for what a user names, false for what lies in a folder of ours.

    Raises:
        FileNotFoundError: If there is none.
        Unreadable: If it is not a regular file, too large, or the system does not let us read it.
    """
    most = largest_size() if most is None else most
    try:
        # Looked at first: to open a device is to use it.
        _check_regular(path, os.stat(path) if follow else os.lstat(path), most)
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        handle = os.open(path, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(handle, "rb") as file:
            # And again, should it have become something else in between.
            _check_regular(path, os.fstat(handle), most)
            content = file.read(most + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from error
    except OSError as error:
        raise Unreadable(f"{path} cannot be read ({error.strerror or error}). Nothing was done to it.") from error
    if len(content) > most:
        raise Unreadable(f"{path} {too_large(len(content), most)}.")
    return content


def _check_regular(path: Path, status: os.stat_result, most: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        kinds = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
        kind = kinds.get(stat.S_IFMT(status.st_mode), "a device")
        raise Unreadable(f"{path} cannot be read: it is {kind}, not a regular file. Nothing was done to it.")
    if status.st_size > most:
        raise Unreadable(f"{path} {too_large(status.st_size, most)}.")


def gunzipped(content: bytes, most: int) -> bytes:
    """Return what gzip has compressed, or the first bytes of it.

    Args:
        content: A file of gzip.
        most: How many bytes; no more are ever made.

    Raises:
        MalformedData: If it is damaged; the text continues a sentence.
    """
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            return file.read(most)
    except (OSError, EOFError, zlib.error) as error:
        raise MalformedData(f"is no file of gzip, or damaged ({type(error).__name__}: {error})") from error


def write_bytes(path: Path, content: bytes, *, new: bool = False) -> None:
    """Write a file under a temporary name in its folder, then rename it.

    A link in its place is replaced, not followed.

    Args:
        path: The file; its folder is made if it is absent, but not for a file that must be new.
        content: What to write.
        new: Whether there must be none: what has that name, even since a moment, is never overwritten.

    Raises:
        FileExistsError: If there is one, and there must be none.
    """
    if not new:
        path.parent.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(8)
    temporary = path.with_name(f".{token}-{digest(token)[:8]}.tmp")
    # Made with the permissions that any new file of this user has, which those of `tempfile` have not.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(temporary, flags, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        (_rename_to_new if new else os.replace)(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _rename_to_new(old: Path, new: Path) -> None:
    """Rename a file unless the new name is taken."""
    try:
        os.link(old, new)
    except FileExistsError:
        raise
    except OSError:  # a disk without second names
        if os.path.lexists(new):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(new)) from None
        os.replace(old, new)
    else:
        os.unlink(old)


def is_temporary(name: str) -> bool:
    """Whether a name is one that `write_bytes` has made up: nobody else makes up a number with its own digest."""
    found = _TEMPORARY.fullmatch(name)
    return found is not None and digest(found[1])[:8] == found[2]


def json_text(document: Any) -> bytes:
    """Return the text of a JSON document; not-a-number has no place in one."""
    return (json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2) + "\n").encode()


def digest(content: bytes | str) -> str:
    """Return the SHA-256 of bytes or text, in hexadecimal."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()
