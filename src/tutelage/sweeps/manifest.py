"""The manifest of a sweep's folder: what is swept, by which programs, and in which sessions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from tutelage.errors import MalformedData
from tutelage.files import about, digest, largest_text, read_regular
from tutelage.sweeps.specification.issues import shown
from tutelage.work.documents import Document, parsed, unsealed
from tutelage.work.folder import MANIFEST, OtherFormat

FORMAT = 3
"""Number of the format; version 0.1 wrote the first."""
Checksum = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Session(Document):
    command: str
    engine: str
    version: str
    machine: str
    began: str
    seconds: Annotated[float, Field(ge=0)] | None
    runs: int | None


class Manifest(Document):
    """What the manifest says.

    Attributes:
        kind: The kind of work.
        specification: Digest of the resolved specification.
        programs: Digests of the programs that have computed runs.
        document: The resolved specification.
        grid: One row per cell, by columns: its number, the fields of the grid, and its number of runs.
        command: The command that began it.
        sessions: Who has worked on it, and for how long.
        files: Checksums of the tables that were written for others to read, when all was done.
    """

    format: Literal[3]
    kind: str
    specification: Checksum
    programs: list[Checksum]
    document: dict[str, Any]
    grid: dict[str, list[bool | int | float | str]]
    version: str
    machine: str
    created: str
    command: str
    sessions: list[_Session]
    files: dict[str, Checksum]

    @property
    def runs(self) -> int:
        """Number of runs of all cells."""
        return sum(self.grid["runs"])  # type: ignore[arg-type]


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a sweep's folder.

    Raises:
        FileNotFoundError: If there is none.
        MalformedData: If it is damaged, or of another version.
        Unreadable: If it cannot be read, or is not a regular file.
    """
    path = folder / MANIFEST
    content = read_regular(path, most=largest_text())
    with about(path):
        document = parsed(content)
        number = document.get("format") if isinstance(document, dict) else None
        if isinstance(number, int) and number != FORMAT:
            raise OtherFormat(
                f"has format {number}, and this version of tutelage reads {FORMAT}. Read it with the version that has "
                f"written it ({str(document.get('version'))[:20]}), or choose another folder and compute it again"
            )
        manifest = unsealed(content, Manifest)
        try:
            same = specification_digest(manifest.document) == manifest.specification
        except (ValueError, TypeError) as error:
            raise MalformedData(f"is damaged: {error}") from error
        if not same:
            raise MalformedData("does not match the digest of its specification")
        _check_grid(manifest.grid)
    return manifest


def _check_grid(grid: Mapping[str, list[Any]]) -> None:
    lengths = {len(values) for values in grid.values()}
    if len(lengths) != 1 or 0 in lengths or not {"cell", "runs"} <= grid.keys():
        raise MalformedData("is damaged: its grid is no table")
    numbers = [*grid["cell"], *grid["runs"]]
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise MalformedData("is damaged: its grid has cells or runs that are no numbers")
    for name, values in grid.items():
        if len({type(value) for value in values}) > 1:
            raise MalformedData(f"is damaged: the field {name[:40]!r} of its grid has values of several kinds")


def specification_digest(document: Mapping[str, Any]) -> str:
    """Return the digest of what a resolved specification says, whatever the order of its keys.

    Two specifications are the same when they say the same, wherever their files are kept: arrays and files count by
    their content, so that a folder that was moved has the same specification, and so has an array that was a file and
    is now written inline.

    Args:
        document: The resolved specification. Its `arrays`, if it has some, are listed by the digests of their content;
            another file that it names is a table of its `file` and the `digest` of its content.
    """
    said = dict(document)
    if isinstance(said.get("arrays"), Mapping):
        said["arrays"] = sorted(said["arrays"])
    return digest(json.dumps(_without_places(said), sort_keys=True, ensure_ascii=False, allow_nan=False))


def _without_places(value: Any) -> Any:
    if isinstance(value, Mapping):
        placed = {"file", "digest"} <= value.keys()
        return {key: _without_places(one) for key, one in value.items() if not (placed and key == "file")}
    return [_without_places(one) for one in value] if isinstance(value, list) else value


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
    return f"`{where}` is {shown(old, 40)} there and {shown(new, 40)} in yours"
