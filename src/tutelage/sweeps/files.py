"""Files that appear complete or not at all, and are never read when damaged."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tutelage.errors import MalformedData

_STAMP = "__specification__"


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file under a temporary name in its folder, then rename it.

    Args:
        path: The file; its folder is made if it is absent.
        content: What to write.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # A temporary file is private to its owner; a finished one is as open as any other new file.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_json(path: Path, document: Any) -> None:
    """Write a JSON document; not-a-number has no place in one."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
    write_bytes(path, (text + "\n").encode())


def digest(content: bytes | str) -> str:
    """Return the SHA-256 of bytes or text, in hexadecimal."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def write_arrays(path: Path, arrays: Mapping[str, Any], specification: str) -> None:
    """Write arrays by name, stamped with the specification they belong to.

    Args:
        path: The `.npz` file.
        arrays: Arrays of numbers, by name.
        specification: What the arrays were computed from, as a digest.
    """
    buffer = io.BytesIO()
    plain = {name: np.asarray(value) for name, value in arrays.items()}
    np.savez_compressed(buffer, **plain, **{_STAMP: np.array(specification)})  # type: ignore[arg-type]
    write_bytes(path, buffer.getvalue())


def read_arrays(path: Path, specification: str) -> dict[str, np.ndarray] | None:
    """Return the arrays of a file, or `None` if there is none or it belongs to another specification.

    Raises:
        MalformedData: If the file is damaged; the archive carries a checksum of every array.
    """
    if not path.exists():
        return None
    try:
        # From memory: a file that turns out to be damaged must not stay open.
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as archive:
            if _STAMP not in archive or str(archive[_STAMP]) != specification:
                return None
            return {name: archive[name] for name in archive.files if name != _STAMP}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
        raise MalformedData(f"{path} is damaged ({error}). Remove it to compute it again.") from error
