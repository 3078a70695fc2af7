"""Parquet files of others and of our own: how much memory one will take, before it is read, and several as one.

Numbers of fields are those of `parquet.thrift`, version 2.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from tutelage.errors import MalformedData
from tutelage.files import largest_size, too_large
from tutelage.work.thrift import I64, STRUCT, Struct, read_struct, write_struct

_MAGIC = b"PAR1"
# FileMetaData: schema, number of rows, row groups. RowGroup: columns, offset. ColumnChunk: offset and description.
_SCHEMA, _ROWS, _GROUPS = 2, 3, 4
_COLUMNS, _GROUP_OFFSET = 1, 5
_CHUNK_OFFSET, _CHUNK = 2, 3
_INDEX_OFFSETS = (4, 6)  # of a ColumnChunk: where its indices are
# ColumnMetaData: bytes as they are, and where pages, index, dictionary and Bloom filter are.
_COMPRESSED = 7
_FIRST_PAGE, _DICTIONARY_PAGE = 9, 11
_PAGE_OFFSETS = (_FIRST_PAGE, 10, _DICTIONARY_PAGE, 14)
# PageHeader: bytes decompressed and as they are, and the kinds of pages, each with its number of values first.
_PAGE_DECOMPRESSED, _PAGE_COMPRESSED, _PAGE_KINDS = 2, 3, (5, 7, 8)
# Bytes that a value takes in memory at most, besides its own text: a view of it, or a number and its place in a list.
_WIDTH = 24


def table_bytes(frame: pl.DataFrame) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=True)
    return buffer.getvalue()


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


def joined_tail(files: Sequence[bytes]) -> bytes:
    """Return what makes one Parquet file of several with the same columns, written behind one another.

    The files stay as they are, each with its own description; the tail describes the row groups of all of them.

    Raises:
        MalformedData: If one is something else, or their columns differ; the text continues a sentence.
    """
    footers = [_footer(content) for content in files]
    groups, start = [], 0
    for content, footer in zip(files, footers, strict=True):
        if footer[_SCHEMA] != footers[0][_SCHEMA]:
            raise MalformedData("has other columns")
        for group in _list(footer, _GROUPS):
            groups.append(_moved(group, start))
        start += len(content)
    rows = sum(_get(footer, _ROWS, 0) for footer in footers)
    merged: Struct = {**footers[0], _ROWS: (I64, rows), _GROUPS: (footers[0][_GROUPS][0], (STRUCT, groups))}
    written = write_struct(merged)
    return written + len(written).to_bytes(4, "little") + _MAGIC


def _moved(group: Struct, by: int) -> Struct:
    """Return the description of a row group that lies so many bytes further behind."""
    columns = []
    for column in _list(group, _COLUMNS):
        column = _shifted(column, (_CHUNK_OFFSET, *_INDEX_OFFSETS), by)
        kind, chunk = column[_CHUNK]
        columns.append({**column, _CHUNK: (kind, _shifted(chunk, _PAGE_OFFSETS, by))})
    kind = group[_COLUMNS][0]
    # Where a row group stands in its file (field 7) is left out: it would be wrong, and nobody needs it.
    rest = {number: field for number, field in _shifted(group, (_GROUP_OFFSET,), by).items() if number != 7}
    return {**rest, _COLUMNS: (kind, (STRUCT, columns))}


def _shifted(fields: Struct, offsets: Sequence[int], by: int) -> Struct:
    # An offset of zero says that there is none: a file begins with its magic number.
    return {
        number: (kind, value + by) if number in offsets and value else (kind, value)
        for number, (kind, value) in fields.items()
    }


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
