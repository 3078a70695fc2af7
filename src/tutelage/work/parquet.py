"""Parquet files: ours, and those of others, of which it is looked at first how much memory one will take.

Numbers of fields are those of `parquet.thrift`, version 2.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import polars as pl

from tutelage.errors import MalformedData
from tutelage.files import largest_size, too_large
from tutelage.work.thrift import STRUCT, Struct, read_struct

_MAGIC = b"PAR1"
# FileMetaData: schema, number of rows, row groups. RowGroup: columns. ColumnChunk: description.
_SCHEMA, _ROWS, _GROUPS = 2, 3, 4
_COLUMNS, _CHUNK = 1, 3
# ColumnMetaData: bytes as they are, and where the pages and the dictionary are.
_COMPRESSED, _FIRST_PAGE, _DICTIONARY_PAGE = 7, 9, 11
# PageHeader: bytes decompressed and as they are, and the kinds of pages, each with its number of values first.
_PAGE_DECOMPRESSED, _PAGE_COMPRESSED, _PAGE_KINDS = 2, 3, (5, 7, 8)
# Bytes that a value takes in memory at most, besides its own text: a view of it, or a number and its place in a list.
_WIDTH = 24


def read_table(content: bytes) -> pl.DataFrame:
    """Return the table of a Parquet file.

    Raises:
        MalformedData: If it is something else, or damaged; the text continues a sentence.
        Unreadable: If it would take too much memory; the text continues a sentence.
    """
    check_table(content)
    try:
        return pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise MalformedData(f"is no table, or damaged ({type(error).__name__})") from error


def table_bytes(table: pl.DataFrame) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def check_table(content: bytes) -> None:
    """Refuse the bytes of a Parquet file that would take too much memory, by what its pages say of themselves.

    Few bytes on the disk may stand for many values, and few values for long texts: both are counted. The pages are
    asked and not the description of the file, since a reader believes the pages.

    Raises:
        MalformedData: If it is something else; the text continues a sentence.
        Unreadable: If it would take too much memory; the text continues a sentence.
    """
    footer = _footer(content)
    size, most = _get(footer, _ROWS, 0) * len(_list(footer, _SCHEMA)), largest_size()
    for group in _list(footer, _GROUPS):
        for column in _list(group, _COLUMNS):
            for values, decompressed in _pages(content, _get(column, _CHUNK, {})):
                size += max(values, 0) * _WIDTH + max(decompressed, 0)
                if size > most:
                    raise too_large(size, most)
    if size > most:
        raise too_large(size, most)


def _pages(content: bytes, chunk: Struct) -> Iterator[tuple[int, int]]:
    """Yield the number of values and the bytes of every page of a column."""
    starts = [start for start in (_get(chunk, _FIRST_PAGE, 0), _get(chunk, _DICTIONARY_PAGE, 0)) if start > 0]
    position = min(starts, default=len(content))
    end = position + _get(chunk, _COMPRESSED, 0)
    if end > len(content):
        raise MalformedData("is no Parquet file, or damaged")
    while position < end:
        page, position = read_struct(content, position)
        values = max(_get(_get(page, kind, {}), 1, 0) for kind in _PAGE_KINDS)
        yield values, _get(page, _PAGE_DECOMPRESSED, 0)
        position += max(_get(page, _PAGE_COMPRESSED, 0), 0)


def _footer(content: bytes) -> Struct:
    size = int.from_bytes(content[-8:-4], "little")
    if len(content) < 12 or content[:4] != _MAGIC or content[-4:] != _MAGIC or size > len(content) - 12:
        raise MalformedData("is no Parquet file, or damaged")
    footer, end = read_struct(content[len(content) - 8 - size : len(content) - 8])
    if end != size or _SCHEMA not in footer or _GROUPS not in footer:
        raise MalformedData("describes itself in a damaged way")
    return footer


def _get(fields: Any, number: int, default: Any) -> Any:
    value = fields[number][1] if isinstance(fields, dict) and number in fields else default
    if not isinstance(value, type(default)):
        raise MalformedData("describes itself in a damaged way")
    return value


def _list(fields: Any, number: int) -> list[Struct]:
    kind, members = _get(fields, number, (STRUCT, []))
    if kind != STRUCT:
        raise MalformedData("describes itself in a damaged way")
    return members
