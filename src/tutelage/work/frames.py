"""Many small files in one: complete files written behind one another, and a tail that makes them one file for others.

Each frame can be cut out and read alone, so that damage to one costs no other. The tail describes the frames together:
any reader of Parquet reads all rows, any reader of `.npz` all arrays. We read frames, and need no tail.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Sequence

from tutelage.errors import MalformedData
from tutelage.work.parquet import joined_tail

PARQUET, ARCHIVE = ".parquet", ".npz"
"""Endings of files that can be joined."""
_ENTRY = struct.Struct("<4s4B4HL2L5H2L")
_END = struct.Struct("<4s4H2LH")
_MOST_ENTRIES, _LARGEST_OFFSET = 0xFFFF, 0xFFFFFFFF


def tail(frames: Sequence[bytes], ending: str) -> bytes:
    """Return the tail of several files of one kind; one file needs none.

    Args:
        frames: Complete files.
        ending: `.parquet` or `.npz`.

    Raises:
        MalformedData: If they cannot be joined; the text continues a sentence.
    """
    if len(frames) < 2:
        return b""
    return joined_tail(frames) if ending.endswith(PARQUET) else _archive_tail(frames)


def _archive_tail(frames: Sequence[bytes]) -> bytes:
    """Return the directory of several archives of uncompressed arrays with different names."""
    directory, count, start = bytearray(), 0, 0
    for frame in frames:
        try:
            with zipfile.ZipFile(io.BytesIO(frame)) as archive:
                entries = archive.infolist()
        except (zipfile.BadZipFile, ValueError, OSError) as error:
            raise MalformedData(f"is no archive of arrays, or damaged ({error})") from error
        for entry in entries:
            directory += _described(entry, start)
        count, start = count + len(entries), start + len(frame)
    if count > _MOST_ENTRIES or start + len(directory) > _LARGEST_OFFSET:
        raise MalformedData("is too large to be joined with others")
    return bytes(directory) + _END.pack(b"PK\5\6", 0, 0, count, count, len(directory), start, 0)


def _described(entry: zipfile.ZipInfo, start: int) -> bytes:
    """Return the entry of a directory, as the format of zip files has it."""
    name = entry.filename.encode()
    year, month, day, hour, minute, second = entry.date_time
    return (
        _ENTRY.pack(
            b"PK\1\2",
            *(entry.create_version, entry.create_system, entry.extract_version, 0),
            *(entry.flag_bits, entry.compress_type),
            *(hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day),
            *(entry.CRC, entry.compress_size, entry.file_size),
            *(len(name), 0, 0, 0, entry.internal_attr),
            *(entry.external_attr, start + entry.header_offset),
        )
        + name
    )
