"""Reader of the IDX image files in which MNIST is distributed."""

from __future__ import annotations

import gzip
import os
import struct
import zlib
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from tutelage.errors import MalformedData, invalid

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
    if not isinstance(path, (str, os.PathLike)):
        raise invalid("path", "be the path of an IDX file", repr(path), "Pass a string or a pathlib.Path")
    file = Path(path)
    try:
        content = file.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
    except FileNotFoundError as error:
        raise _malformed(file, "an IDX file of images", "no file there") from error
    except (OSError, EOFError, zlib.error) as error:
        raise _malformed(file, "a readable IDX file", f"{type(error).__name__}: {error}") from error
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


def _malformed(file: Path, expected: str, found: str) -> MalformedData:
    return MalformedData(
        f"`path` must name a standard IDX image file: {file} should have {expected}, but has {found}. "
        "Pass a file such as train-images-idx3-ubyte, plain or .gz."
    )
