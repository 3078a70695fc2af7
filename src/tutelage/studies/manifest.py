"""The manifest of a study's folder: that it is begun, or what was measured, with the checksum of every file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from tutelage.work.documents import Document, read_sealed
from tutelage.work.folder import MANIFEST

FORMAT = 2
Number = Annotated[int, Field(ge=0)]
Checksum = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
# A name of a file in the study's folder, which leads nowhere else.
Name = Annotated[str, Field(pattern=r"^[^/\\\x00-\x1f.][^/\\\x00-\x1f]*$")]
Place = Annotated[str, Field(pattern=r"^(pieces/)?[^/\\\x00-\x1f.][^/\\\x00-\x1f]*$")]


class _Begun(Document):
    format: Literal[2]
    kind: Literal["study"]
    complete: Literal[False]
    id: str
    version: str


class _Expectation(Document):
    what: str
    published: float | str
    measured: float | str
    tolerance: float | str | None
    ok: bool | None


class _Setting(Document):
    name: str
    value: Any
    source: str
    note: str


class _Figure(Document):
    name: Name
    caption: str
    files: list[Name]


class _Complete(Document):
    format: Literal[2]
    kind: Literal["study"]
    complete: Literal[True]
    id: str
    scale: Literal["quick", "paper"]
    verdict: Literal["reproduced", "measured", "differs"]
    expectations: list[_Expectation]
    remarks: list[str]
    settings: list[_Setting]
    figures: list[_Figure]
    tables: list[Name]
    seed: Number
    seconds: Annotated[float, Field(ge=0)]
    command: str
    version: str
    machine: str
    written: str
    specification: Checksum
    files: dict[Place, Checksum]


def begun(id: str, version: str) -> dict[str, Any]:
    """Return the manifest of a study that is not complete yet."""
    return {"format": FORMAT, "kind": "study", "complete": False, "id": id, "version": version}


def read_study(folder: Path) -> dict[str, Any]:
    """Return the manifest of a study's folder; its field `complete` says which of the two it is.

    Raises:
        FileNotFoundError: If there is none.
        MalformedData: If it is damaged, or something else.
        Unreadable: If it cannot be read, or is not a regular file.
    """
    return read_sealed(folder / MANIFEST, _Begun, _Complete).model_dump()
