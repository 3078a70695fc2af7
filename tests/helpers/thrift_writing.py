"""Writes what `tutelage.work.thrift` reads, so that tests can make Parquet files that lie about themselves."""

import struct
from typing import Any

from tutelage.work.thrift import BINARY, BYTE, DOUBLE, FALSE, I16, I32, I64, STRUCT, TRUE, Struct


def write_struct(fields: Struct) -> bytes:
    """Return a struct as it was read."""
    written = bytearray()
    before = 0
    for number, (kind, value) in sorted(fields.items()):
        if kind in (TRUE, FALSE):
            kind = TRUE if value else FALSE
        step = number - before
        written += bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _signed(number)
        before = number
        if kind not in (TRUE, FALSE):
            written += _value(kind, value)
    return bytes(written) + b"\0"


def _value(kind: int, value: Any) -> bytes:
    if kind == BYTE:
        return bytes([value])
    if kind in (I16, I32, I64):
        return _signed(value)
    if kind == DOUBLE:
        return struct.pack("<d", value)
    if kind == BINARY:
        return _unsigned(len(value)) + value
    if kind == STRUCT:
        return write_struct(value)
    inner, members = value
    head = bytes([len(members) << 4 | inner]) if len(members) < 15 else bytes([0xF0 | inner]) + _unsigned(len(members))
    if inner in (TRUE, FALSE):
        return head + bytes(members)
    return head + b"".join(_value(inner, member) for member in members)


def _signed(value: int) -> bytes:
    return _unsigned(value << 1 if value >= 0 else (-value << 1) - 1)


def _unsigned(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
