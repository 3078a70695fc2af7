"""Files that appear complete or not at all, and are never read when damaged."""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tutelage.errors import MalformedData, invalid

# Entries of an archive beside its arrays: what they were computed from, and a checksum of all the others.
_STAMP = "__specification__"
_CHECKSUM = "checksum"


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file under a temporary name in its folder, then rename it.

    Args:
        path: The file; its folder is made if it is absent.
        content: What to write.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    # Made with the permissions that any new file of this user has, which those of `tempfile` have not.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(temporary, flags, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def is_temporary(path: Path) -> bool:
    """Whether a file is one that `write_bytes` had no time to rename, by its name."""
    return path.name.startswith(".") and path.name.endswith(".tmp")


def write_json(path: Path, document: Any) -> None:
    """Write a JSON document; not-a-number has no place in one."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
    write_bytes(path, (text + "\n").encode())


def digest(content: bytes | str) -> str:
    """Return the SHA-256 of bytes or text, in hexadecimal."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def pack_arrays(arrays: Mapping[str, Any]) -> bytes:
    """Return arrays as the bytes of an `.npz` archive with a checksum; nothing is pickled.

    Args:
        arrays: Arrays of numbers or text, by name.
    """
    if _CHECKSUM in arrays:
        raise invalid("arrays", f"not have one named {_CHECKSUM!r}", "one", "Choose another name")
    plain = {name: np.asarray(value) for name, value in arrays.items()}
    plain[_CHECKSUM] = np.frombuffer(_checksum(plain).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **plain)  # type: ignore[arg-type]
    return buffer.getvalue()


def unpack_arrays(content: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of an archive.

    Args:
        content: What `pack_arrays` has returned.

    Raises:
        MalformedData: If it is something else, or damaged; the message says how, and continues a sentence.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except MemoryError:
        raise
    except Exception as error:  # whatever a damaged archive makes of zipfile, zlib and NumPy
        raise MalformedData(f"is no archive of arrays, or damaged ({type(error).__name__}: {error})") from error
    # An archive has a checksum of every entry, but none of their names.
    checksum = arrays.pop(_CHECKSUM, np.zeros(0, np.uint8))
    if checksum.tobytes() != _checksum(arrays).encode():
        raise MalformedData("does not match its checksum")
    return arrays


def _checksum(arrays: Mapping[str, np.ndarray]) -> str:
    """Return a checksum of named arrays: names, types, shapes and bytes."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def write_arrays(path: Path, arrays: Mapping[str, Any], specification: str) -> None:
    """Write arrays by name, stamped with the specification they belong to.

    Args:
        path: The `.npz` file.
        arrays: Arrays of numbers, by name.
        specification: What the arrays were computed from, as a digest.
    """
    write_bytes(path, pack_arrays({**arrays, _STAMP: specification}))


def read_arrays(path: Path, specification: str) -> dict[str, np.ndarray] | None:
    """Return the arrays of a file, or `None` if there is none or it belongs to another specification.

    Raises:
        MalformedData: If the file cannot be read, or is damaged.
    """
    try:
        arrays = unpack_arrays(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MalformedData(f"{path} cannot be read ({error.strerror or error}).") from error
    except MalformedData as error:
        raise MalformedData(f"{path} {error}. Remove it to compute it again.") from error
    stamp = arrays.pop(_STAMP, None)
    return arrays if stamp is not None and str(stamp) == specification else None
