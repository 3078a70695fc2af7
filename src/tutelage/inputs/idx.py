"""Reader of the IDX image files in which MNIST is distributed."""

from __future__ import annotations

import math
import os
import struct
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from tutelage.errors import MalformedData, Unreadable
from tutelage.files import checked_path, gunzipped, largest_size, read_regular, too_large

_MAGIC = 0x00000803  # unsigned bytes, three axes
_HEADER = struct.Struct(">IIII")


def read_idx_images(path: str | os.PathLike[str]) -> UInt8[np.ndarray, "image row column"]:
    """Read the images of an IDX file such as `train-images-idx3-ubyte`, plain or compressed with gzip.

    Args:
        path: Where the file is.

    Raises:
        MalformedData: If the file is absent, unreadable, not an IDX file of images, or not of the size it
            announces.
    """
    file = checked_path("path", path)
    try:
        content = read_regular(file, follow=True)
    except FileNotFoundError as error:
        raise _malformed(file, "an IDX file of images", "no file there") from error
    except Unreadable as error:
        raise MalformedData(f"`path` must name a standard IDX image file that can be read: {error}") from error
    if content[:2] == b"\x1f\x8b":
        content = _decompressed(file, content)
    if len(content) < _HEADER.size:
        raise _malformed(file, f"a header of {_HEADER.size} bytes", f"{len(content)} bytes")
    magic, number, height, width = _HEADER.unpack_from(content)
    if magic != _MAGIC:
        raise _malformed(file, f"the magic number 0x{_MAGIC:08x} of an image file", f"0x{magic:08x}")
    if 0 in (number, height, width):
        raise _malformed(file, "at least one image of at least one pixel", f"{number} images {height}×{width}")
    expected, found = number * height * width, len(content) - _HEADER.size
    if expected != found:
        raise _malformed(
            file, f"{expected} bytes for {number} images {height}×{width}", f"{found} bytes after the header"
        )
    pixels = np.frombuffer(content, dtype=np.uint8, offset=_HEADER.size)
    return pixels.reshape(number, height, width)


def _decompressed(file: Path, content: bytes) -> bytes:
    """Decompress a file, no further than to its end as the header in it announces it, and one byte beyond."""
    try:
        start = gunzipped(content, _HEADER.size)
        # A header that announces nothing sensible is refused by its reader.
        announced = math.prod(_HEADER.unpack(start)[1:]) if len(start) == _HEADER.size else 0
        if announced > largest_size():
            raise too_large(announced, largest_size())
        return gunzipped(content, _HEADER.size + announced + 1)
    except (MalformedData, Unreadable) as error:
        raise _malformed(file, "a readable IDX file", f"one that {error}") from error


def _malformed(file: Path, expected: str, found: str) -> MalformedData:
    return MalformedData(
        f"`path` must name a standard IDX image file: {file} should have {expected}, but has {found}. "
        "Pass a file such as train-images-idx3-ubyte, plain or .gz."
    )
