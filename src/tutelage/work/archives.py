"""Arrays in `.npz` and `.npy` files: never pickled, and never larger than their headers say and the limit allows."""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
import zipfile
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib import format as npy

from tutelage.errors import MalformedData, TutelageError, invalid
from tutelage.files import largest_size, too_large

# Entry of an archive beside its arrays: a checksum of all the others.
_CHECKSUM = "checksum"
_SUFFIX = ".npy"
_MOST_OF_A_BYTE = 1032  # that deflate can make


def npy_array(content: bytes) -> np.ndarray:
    """Return the array of an `.npy` file; its size is checked against its header before anything is made.

    Raises:
        MalformedData: If it is something else; the text continues a sentence.
    """
    try:
        # What says how long the header is has two bytes in the first version, four in later ones.
        begin = 10 if content[6:7] == b"\x01" else 12
        end = begin + int.from_bytes(content[8:begin], "little")
        shape, by_columns, kind = _header(content[:end])
        if kind.hasobject:
            raise MalformedData("holds objects, which would have to be unpickled")
        size = math.prod(shape) * kind.itemsize
        if size != len(content) - end:
            raise MalformedData(f"announces {size} bytes of numbers, but has {len(content) - end}")
        flat = np.frombuffer(content, dtype=kind, offset=end) if size else np.empty(math.prod(shape), kind)
        # A copy of its own, which can be changed and does not keep the file in memory.
        return flat.reshape(shape, order="F" if by_columns else "C").copy(order="K")
    except TutelageError:
        raise
    except Exception as error:  # whatever a damaged header makes of NumPy
        raise MalformedData(f"is no array, or damaged ({type(error).__name__}: {error})") from error


@lru_cache(maxsize=256)
def _header(content: bytes) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Return what the header of an `.npy` file says: the shape, whether it goes by columns, the kind of numbers.

    NumPy parses it as Python, and files of one kind share theirs.
    """
    file = io.BytesIO(content)
    version = npy.read_magic(file)
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if version not in readers:
        raise MalformedData(f"has version {version} of .npy, which is not read")
    return readers[version](file)


def archive_names(content: bytes) -> list[str]:
    """Return the names of the arrays in an archive.

    Raises:
        MalformedData: If it is something else; the text continues a sentence.
        Unreadable: If its arrays together are too large; the text continues a sentence.
    """
    with _opened(content) as archive:
        return _names(archive)


@contextlib.contextmanager
def _opened(content: bytes) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield archive
    except (TutelageError, MemoryError):
        raise
    except Exception as error:  # whatever a damaged archive makes of zipfile and zlib
        raise MalformedData(f"is no archive of arrays, or damaged ({type(error).__name__}: {error})") from error


def _names(archive: zipfile.ZipFile) -> list[str]:
    entries = archive.infolist()
    if any(entry.file_size > _MOST_OF_A_BYTE * entry.compress_size + 1024 for entry in entries):
        raise MalformedData("is damaged: nothing can be compressed as much as it says")
    size, most = sum(entry.file_size for entry in entries), largest_size()
    if size > most:
        raise too_large(size, most)
    names = [entry.filename.removesuffix(_SUFFIX) for entry in entries]
    if len(set(names)) < len(names) or not all(entry.filename.endswith(_SUFFIX) for entry in entries):
        raise MalformedData("is an archive of something else than arrays")
    return names


def archive_arrays(content: bytes, names: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """Return the arrays of an archive.

    Args:
        content: An `.npz` file.
        names: Which; all by default.

    Raises:
        MalformedData: If it is something else, or damaged; the text continues a sentence.
        Unreadable: If its arrays together are too large; the text continues a sentence.
    """
    with _opened(content) as archive:
        wanted = [name for name in _names(archive) if names is None or name in names]
        # No more is decompressed than the directory says: `zipfile` stops there, and compares a checksum.
        return {name: npy_array(archive.read(f"{name}{_SUFFIX}")) for name in wanted}


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
    """Return the arrays of an archive that `pack_arrays` has made.

    Raises:
        MalformedData: If it is something else, or damaged; the text continues a sentence.
        Unreadable: If its arrays together are too large; the text continues a sentence.
    """
    arrays = archive_arrays(content)
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
