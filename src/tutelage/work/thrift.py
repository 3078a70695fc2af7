"""The compact protocol of Thrift, in which a Parquet file describes itself: read into plain values.

A struct is a dictionary from the number of a field to its type and value.
"""

from __future__ import annotations

import struct
from typing import Any, TypeAlias

from tutelage.errors import MalformedData

Struct: TypeAlias = dict[int, tuple[int, Any]]
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
# No description of a table lies deeper.
_DEEPEST = 24


def read_struct(content: bytes, position: int = 0) -> tuple[Struct, int]:
    """Return the struct at a position, and the position behind it.

    Raises:
        MalformedData: If there is none; the text continues a sentence.
    """
    try:
        reader = _Reader(content, position)
        return reader.struct(0), reader.position
    except (IndexError, ValueError, struct.error) as error:
        raise MalformedData(f"describes itself in a damaged way ({error})") from error


class _Reader:
    def __init__(self, content: bytes, position: int):
        self.content, self.position = content, position

    def byte(self) -> int:
        self.position += 1
        return self.content[self.position - 1]

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number is too long")

    def signed(self) -> int:
        value = self.unsigned()
        return (value >> 1) ^ -(value & 1)

    def take(self, size: int) -> bytes:
        if size > len(self.content) - self.position:
            raise ValueError("it ends too early")
        self.position += size
        return self.content[self.position - size : self.position]

    def struct(self, depth: int) -> Struct:
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        fields: Struct = {}
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.signed()
            fields[number] = head & 0x0F, self.value(head & 0x0F, depth)
        return fields

    def value(self, kind: int, depth: int) -> Any:
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind == BYTE:
            return self.byte()
        if kind in (I16, I32, I64):
            return self.signed()
        if kind == DOUBLE:
            return struct.unpack("<d", self.take(8))[0]
        if kind == BINARY:
            return self.take(self.unsigned())
        if kind in (LIST, SET):
            head = self.byte()
            size, inner = head >> 4, head & 0x0F
            size = self.unsigned() if size == 15 else size
            # Every element takes a byte at least: a list cannot be longer than what is left.
            if size > len(self.content) - self.position:
                raise ValueError("it ends too early")
            if inner in (TRUE, FALSE):
                return inner, [self.byte() for _ in range(size)]
            return inner, [self.value(inner, depth + 1) for _ in range(size)]
        if kind == STRUCT:
            return self.struct(depth + 1)
        raise ValueError(f"there is no type {kind}")
