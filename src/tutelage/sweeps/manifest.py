"""The manifest of a sweep's folder and the grid beside it: what is swept, checked whenever it is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import Field

from tutelage.errors import MalformedData
from tutelage.files import about, digest, largest_text, read_regular
from tutelage.sweeps.entries import Checksum, Number
from tutelage.sweeps.identity import specification_digest
from tutelage.work.documents import Document, parsed, shaped, unsealed
from tutelage.work.folder import MANIFEST
from tutelage.work.parquet import read_table

CELLS = "cells.parquet"
"""Name of the file of the grid."""
FORMAT = 2
"""Number of the format that is written."""


class _Session(Document):
    command: str
    engine: str
    version: str
    machine: str
    began: str
    seconds: Annotated[float, Field(ge=0)] | None
    runs: int | None


class _Manifest(Document):
    format: Literal[1, 2]
    kind: str
    specification: Checksum
    version: str
    command: str
    machine: str
    created: str
    cells: Annotated[int, Field(ge=1)]
    runs: Number
    sessions: list[_Session]
    document: dict[str, Any]
    files: dict[Literal["cells.parquet"], Checksum]


class DamagedManifest(MalformedData):
    """The manifest cannot be read, but can be written again."""


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a sweep's folder.

    Raises:
        MalformedData: If there is none, or it is damaged.
        Unreadable: If it cannot be read, or is not a regular file.
    """
    path = folder / MANIFEST
    try:
        content = read_regular(path, most=largest_text())
    except FileNotFoundError:
        raise MalformedData(f"{folder} is not the folder of a sweep: it has no {MANIFEST}.") from None
    try:
        manifest = _unsealed(content)
    except MalformedData as error:
        raise DamagedManifest(f"{path} {error}. `tutelage sweep` with its specification writes it again.") from error
    if isinstance(manifest, int):
        raise MalformedData(
            f"{path} has format {manifest}, and this version of tutelage reads 1 and {FORMAT}. Use another version."
        )
    if manifest.format == 1:
        # Version 0.1 wrote no checksum: what can be compared is, above and with the grid.
        read_cells(folder, manifest.model_dump())
    return manifest.model_dump()


def _unsealed(content: bytes) -> _Manifest | int:
    """Return what a manifest says, or the number of its format if it is another one."""
    document = parsed(content)
    number = document.get("format") if isinstance(document, dict) else None
    if isinstance(number, int) and number not in (1, FORMAT):
        return number
    manifest = shaped(document, _Manifest) if number == 1 else unsealed(content, _Manifest)
    try:
        same = specification_digest(manifest.document) == manifest.specification
    except (ValueError, TypeError) as error:
        raise MalformedData(f"is damaged: {error}") from error
    if not same:
        raise MalformedData("does not match the digest of its specification")
    return manifest


def read_cells(folder: Path, manifest: dict[str, Any]) -> pl.DataFrame:
    """Return the grid of a sweep: one row a cell.

    Raises:
        MalformedData: If its file is absent, does not match its checksum, or contradicts the manifest.
        Unreadable: If it cannot be read, or is too large.
    """
    path = folder / CELLS
    damaged = MalformedData(f"{path} is damaged. `tutelage sweep` with its specification writes it again.")
    try:
        content = read_regular(path)
    except FileNotFoundError:
        raise damaged from None
    if digest(content) != manifest["files"].get(CELLS):
        raise damaged
    with about(path):
        cells = read_table(content)
    if not all(name in cells.columns and cells[name].dtype.is_integer() for name in ("cell", "runs")):
        raise damaged
    if (cells.height, int(cells["runs"].sum())) != (manifest["cells"], manifest["runs"]):
        raise MalformedData(
            f"{folder / MANIFEST} is damaged: it speaks of {manifest['runs']} runs in {manifest['cells']} cells, "
            f"{path} of {cells['runs'].sum()} in {cells.height}."
        )
    return cells


def difference(old: Any, new: Any, where: str = "") -> str:
    """Return the first difference between two documents, in words."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            here = f"{where}.{key}" if where else str(key)
            if key not in old or key not in new:
                return f"`{here}` is only {'there' if key in old else 'in yours'}"
            if old[key] != new[key]:
                return difference(old[key], new[key], here)
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for position, (one, other) in enumerate(zip(old, new, strict=True)):
            if one != other:
                return difference(one, other, f"{where}[{position}]")
    return f"`{where}` is {_short(old)} there and {_short(new)} in yours"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:37]}…"
