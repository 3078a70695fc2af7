"""A whole specification: its cells, checked and complete, and the document from which a worker rebuilds it."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tutelage.errors import MalformedData, TutelageError, Unreadable
from tutelage.files import checked_path, largest_text, read_regular
from tutelage.sweeps.specification.arrays import Arrays, Folder, array_digest
from tutelage.sweeps.specification.build import Built, Unusable, build
from tutelage.sweeps.specification.cell import SECTIONS, Cell, validated
from tutelage.sweeps.specification.grids import applied, expanded, origin_of
from tutelage.sweeps.specification.issues import Issue, Source, SpecificationError, dotted
from tutelage.sweeps.specification.locate import positions

VERSION = 1

# No field lies deeper, and a text must not exhaust the stack.
_DEEPEST = 32

# Entries of an array that a table shows.
_MOST_SHOWN = 16


@dataclass(frozen=True)
class Plan:
    """The cells of a specification.

    Attributes:
        cells: The cells, complete.
        settings: What each takes from the grid, by the dotted name of the field.
        arrays: The arrays that cells refer to.
        known: What was built so far. Cells share what they say alike: an Optax transformation that is built anew would
            compile anew.
    """

    cells: tuple[Cell, ...]
    settings: tuple[dict[str, Any], ...]
    arrays: Arrays
    known: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def recorded(self) -> frozenset[str]:
        """The quantities that some cell records."""
        return frozenset(name for cell in self.cells if cell.record is not None for name in cell.record.quantities)

    def build(self, cell: int) -> Built:
        """Return the objects of a cell."""
        return build(self.cells[cell], self.arrays, self.known)

    def document(self) -> dict[str, Any]:
        """Return the complete specification as plain JSON.

        The first cell is written whole; of the others only the sections that differ.
        """
        whole = [cell.plain() for cell in self.cells]
        entries = [
            {"grid": setting, "sections": {name: own[name] for name in SECTIONS if own[name] != whole[0][name]}}
            for own, setting in zip(whole, self.settings, strict=True)
        ]
        used = {table["digest"] for table in _tables(whole) if isinstance(table.get("digest"), str)}
        return {
            "kind": "sweep",
            "version": VERSION,
            "base": whole[0],
            "cells": entries,
            "arrays": self.arrays.document(used & self.arrays.content.keys()),
        }


def plan_of(fields: Mapping[str, Any], folder: Folder, source: Source) -> Plan:
    """Check a specification and return its cells; their objects are built, and what the library refuses is said now.

    Args:
        fields: The specification.
        folder: The folder that its paths are relative to.
        source: Where it was written.

    Raises:
        SpecificationError: If something is wrong; all that is.
    """
    arrays = Arrays(folder)
    shared, settings, issues = expanded(plain_value(dict(fields)))
    cells: list[Cell] = []
    known: dict[Any, Any] = {}
    for setting in settings:
        own, misplaced = applied(setting, shared)
        issues += misplaced
        if misplaced:
            continue
        cell, wrong = validated(own, arrays)
        if cell is not None:
            try:
                build(cell, arrays, known)
            except Unusable as error:
                wrong = list(error.args)
        issues += [Issue(origin_of(setting, issue.path), issue.text) for issue in wrong]
        if cell is not None and not wrong:
            cells.append(cell)
    if issues:
        raise source.error(issues)
    chosen = tuple({dotted(path): _shown_value(value) for path, (value, _) in one.items()} for one in settings)
    return Plan(tuple(cells), chosen, arrays, known)


def read_toml(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Source]:
    """Read a specification file and remember where everything is written.

    Raises:
        SpecificationError: If the file cannot be read or is not TOML.
    """
    file = checked_path("path", path)
    try:
        # Some editors begin a file with a mark that TOML does not know.
        text = read_regular(file, most=largest_text(), follow=True).decode("utf-8-sig")
    except Unreadable as error:
        raise SpecificationError(str(error)) from error
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise SpecificationError(f"{file}: cannot be read ({reason}).") from error
    try:
        fields = tomllib.loads(text)
        lines = positions(text)
    except RecursionError as error:
        raise SpecificationError(f"{file}: nested too deeply.") from error
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+), column \d+\)", str(error))
        line = place[1] if place else text.count("\n") + 1
        what = re.sub(r" \(at .*\)$", "", str(error))
        raise SpecificationError(f"{file}:{line}: not valid TOML: {what}.") from error
    if any(len(path) > _DEEPEST for path in lines):
        raise SpecificationError(f"{file}: nested too deeply.")
    return fields, Source(str(file), lines)


def from_document(document: Mapping[str, Any], folder: Folder | None = None) -> Plan:
    """Return the plan of a document; everything in it is checked again.

    Args:
        document: The document.
        folder: The folder that files named in it must lie in; anywhere if `None`.

    Raises:
        MalformedData: If it is not the document of a sweep, or names a file outside the folder.
    """
    kind, version = (document.get(name) if isinstance(document, Mapping) else None for name in ("kind", "version"))
    if kind != "sweep" or version != VERSION:
        received = f"kind {kind!r}, version {version!r}"
        raise MalformedData(f"A document of a sweep has kind 'sweep' and version {VERSION}, but this has {received}.")
    try:
        return _from_document(document, folder)
    except TutelageError:
        raise
    except Exception as error:  # whatever is missing or of another form
        raise MalformedData(f"This is not a complete document of a sweep ({type(error).__name__}: {error}).") from error


def _from_document(document: Mapping[str, Any], folder: Folder | None) -> Plan:
    arrays = Arrays.from_document(document["arrays"], folder)
    if folder is not None:
        _check_files([document["base"], *(entry["sections"] for entry in document["cells"])], folder)
    cells, issues = [], []
    for entry in document["cells"]:
        cell, wrong = validated({**document["base"], **entry["sections"]}, arrays)
        issues += wrong
        if cell is not None:
            cells.append(cell)
    if issues:
        raise Source().error(issues)
    if not cells:
        raise MalformedData("A document of a sweep has at least one cell, but this has none.")
    return Plan(tuple(cells), tuple(entry["grid"] for entry in document["cells"]), arrays)


def _check_files(value: Any, folder: Folder) -> None:
    """Refuse a document with a file of data, a table of its path and digest, outside a folder."""
    for table in _tables(value):
        if {"file", "digest"} <= table.keys():
            try:
                folder.file(str(table["file"]))
            except MalformedData as error:
                raise MalformedData(f"The sweep needs {table['file']}, which {error}") from error


def _tables(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield all tables in a value of JSON, also those inside others."""
    if isinstance(value, Mapping):
        yield value
        value = list(value.values())
    for one in value if isinstance(value, list) else ():
        yield from _tables(one)


def plain_value(value: Any) -> Any:
    """Return a value that was written in Python as TOML would give it: tuples are lists, NumPy's numbers are plain."""
    if isinstance(value, Mapping):
        return {str(key): plain_value(one) for key, one in value.items() if one is not None}
    if isinstance(value, (list, tuple)):
        return [plain_value(one) for one in value]
    if isinstance(value, np.generic):
        return value.item()
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _shown_value(value: Any) -> Any:
    """Return a value of a grid for tables: numbers, words and truth values as they are, everything else as JSON."""
    if isinstance(value, (bool, int, float, str)):
        return value
    return json.dumps(value, ensure_ascii=False, default=_shown_array)


def _shown_array(value: Any) -> Any:
    """Return an array for tables: small ones whole, others so that two of one shape can be told apart."""
    array = np.asarray(value)
    if array.size <= _MOST_SHOWN:
        return array.tolist()
    return f"array of shape {array.shape}, {array_digest(array)[:8]}"
