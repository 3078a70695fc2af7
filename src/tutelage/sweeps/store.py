"""The folder of a sweep.

manifest.json      what is swept: the resolved specification, version, command, machine, sessions with their times
cells.parquet      the grid: one row a cell
parts/             what is done: tables of runs and records, arrays, and the entries that make them count
progress.json      how fast it goes, for whoever watches; of no other use
lock               who works here
"""

from __future__ import annotations

import contextlib
import io
import json
import platform
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from tutelage._configuration import available_cores
from tutelage.errors import InvalidArgument, MalformedData
from tutelage.files import digest, is_temporary, write_bytes, write_json
from tutelage.sweeps.contract import Shard, Work
from tutelage.sweeps.identity import specification_digest
from tutelage.sweeps.ledger import PARTS, Writer, parts_of_others
from tutelage.sweeps.lock import LOCK
from tutelage.sweeps.parts import Part, parquet

MANIFEST, CELLS, PROGRESS = "manifest.json", "cells.parquet", "progress.json"
_FORMAT = 1
Notice = Callable[[str], None]


class OtherSweep(InvalidArgument):
    """A folder belongs to another specification, or holds something else."""


class _Damaged(MalformedData):
    """The manifest cannot be read, but can be written again."""


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a sweep's folder.

    Raises:
        MalformedData: If there is none, or it is damaged.
    """
    path = folder / MANIFEST
    damaged = _Damaged(f"{path} is damaged. `tutelage sweep` with its specification writes it again.")
    try:
        manifest = json.loads(path.read_bytes())
        found = manifest["format"]
    except (FileNotFoundError, NotADirectoryError):
        raise MalformedData(f"{folder} is not the folder of a sweep: it has no {MANIFEST}.") from None
    except (ValueError, KeyError, TypeError):
        raise damaged from None
    if found != _FORMAT:
        raise MalformedData(
            f"{path} has format {found}, and this version of tutelage reads {_FORMAT}. Use another version."
        )
    try:
        if specification_digest(manifest["document"]) == manifest["specification"]:
            return manifest
    except (ValueError, KeyError, TypeError):
        raise damaged from None
    raise damaged


class Store:
    """The folder of a sweep, open for writing; it must be locked.

    Args:
        folder: The folder; it is set up if it is empty.
        work: What is swept.
        notice: Called with a sentence for whatever is damaged and made again.
        **options: Passed to `Writer`.

    Raises:
        OtherSweep: If the folder belongs to another specification, or holds something else.
    """

    def __init__(self, folder: Path, work: Work, notice: Notice, **options: Any):
        self.folder = folder
        self._document = work.document()
        self._specification = specification_digest(self._document)
        self._cells = work.cells()
        self._manifest = self._found(notice)
        self._writer = Writer(folder, self._specification, notice, **options)
        self.total = int(self._cells["runs"].sum())

    def _found(self, notice: Notice) -> dict[str, Any]:
        """Check that the folder is ours, remove what an interruption has left, and return the manifest."""
        if (self.folder / MANIFEST).exists():
            try:
                manifest = self._continued(read_manifest(self.folder), notice)
            except _Damaged:
                self._refuse_parts_of_others("damaged")
                notice(f"{self.folder / MANIFEST} is damaged. It is written again.")
                manifest = self._new_manifest()
        else:
            known = {LOCK, CELLS, PARTS, PROGRESS}
            others = [path.name for path in self.folder.iterdir() if path.name not in known and not is_temporary(path)]
            if others:
                raise OtherSweep(
                    f"{self.folder} holds something else than a sweep ({sorted(others)[0]}). Choose another folder "
                    "with `--out`."
                )
            self._refuse_parts_of_others("absent")
            manifest = self._new_manifest()
        for path in self.folder.iterdir():
            if is_temporary(path):
                path.unlink(missing_ok=True)
        return manifest

    def _continued(self, manifest: dict[str, Any], notice: Notice) -> dict[str, Any]:
        if manifest["version"] != version("tutelage"):
            notice(f"Begun with tutelage {manifest['version']}, continued with {version('tutelage')}.")
        if manifest["specification"] != self._specification:
            changed = difference(manifest["document"], self._document)
            raise OtherSweep(
                f"{self.folder} belongs to another specification ({changed}). Choose another folder with `--out`, "
                "or remove this one."
            )
        # The same specification, but its files may have been moved since.
        return {**manifest, "document": self._document}

    def _refuse_parts_of_others(self, manifest: str) -> None:
        """Without a manifest the parts alone say whose they are; those of another sweep are not ours to remove."""
        if others := parts_of_others(self.folder, self._specification):
            raise OtherSweep(
                f"{self.folder} belongs to another specification: its {MANIFEST} is {manifest}, and {others[0].name} "
                "is of another one. Choose another folder with `--out`, or remove this one."
            )

    def _new_manifest(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "kind": self._document["kind"],
            "specification": self._specification,
            "version": version("tutelage"),
            "command": "",
            "machine": _machine(),
            "created": _now(),
            "cells": self._cells.height,
            "runs": int(self._cells["runs"].sum()),
            "sessions": [],
            "document": self._document,
        }

    @contextlib.contextmanager
    def session(self, command: str, engine: str) -> Iterator[None]:
        """Write down in the manifest that this process works on the sweep, and how that ended."""
        began = time.perf_counter()
        session = {"command": command, "engine": engine, "version": version("tutelage"), "machine": _machine()}
        session |= {"began": _now(), "seconds": None, "runs": None}
        before = self.done
        self._manifest = {**self._manifest, "command": self._manifest["command"] or command}
        sessions = self._manifest["sessions"]
        self._write({**self._manifest, "sessions": [*sessions, session]})
        try:
            yield
        finally:
            session |= {"seconds": round(time.perf_counter() - began, 3), "runs": self.done - before}
            # With a full disk the work that is done still counts: only the time of this session is not known.
            with contextlib.suppress(OSError):
                self._write({**self._manifest, "sessions": [*sessions, session]})

    def _write(self, manifest: dict[str, Any]) -> None:
        content = parquet(self._cells)
        path = self.folder / CELLS
        if not path.exists() or path.read_bytes() != content:
            write_bytes(path, content)
        # The manifest last: without it there is no sweep.
        write_json(self.folder / MANIFEST, {**manifest, "files": {CELLS: digest(content)}})

    @property
    def done(self) -> int:
        """Number of runs that are there."""
        return sum(entry.runs for entry in self._writer.entries.values())

    @property
    def failed(self) -> int:
        """Number of them that failed."""
        return sum(entry.failed for entry in self._writer.entries.values())

    def open_shards(self, shards: list[Shard]) -> list[Shard]:
        """Return what is left of shards, the most expensive first."""
        missing = self._writer.missing([(shard.cell, shard.first, shard.runs) for shard in shards])
        found = [
            Shard(cell, first, runs, shard.cost * runs / shard.runs)
            for shard, ranges in zip(shards, missing, strict=True)
            for cell, first, runs in ranges
        ]
        # Neighbours of one cell follow each other where costs are equal: a worker has compiled their program already.
        return sorted(found, key=lambda shard: (-shard.cost, shard.cell, shard.first))

    def commit(self, part: Part) -> None:
        """Keep what a shard has computed; from then on it counts."""
        self._writer.add(part)
        self._writer.join_small()

    def drop_failed(self) -> int:
        """Take out the runs that failed, and return their number."""
        return self._writer.drop_failed()

    def tidy(self) -> None:
        """Join small parts, so that reading is quick."""
        self._writer.join_small(final=True)

    def show_progress(self, progress: dict[str, Any]) -> None:
        """Tell others how fast it goes; nothing depends on it."""
        with contextlib.suppress(OSError):
            write_json(self.folder / PROGRESS, progress)


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


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}, {available_cores()} cores"


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())


def read_cells(folder: Path, manifest: dict[str, Any]) -> pl.DataFrame:
    """Return the grid of a sweep: one row a cell.

    Raises:
        MalformedData: If its file is absent or does not match its checksum.
    """
    path = folder / CELLS
    content = path.read_bytes() if path.exists() else b""
    if digest(content) != manifest["files"][CELLS]:
        raise MalformedData(f"{path} is damaged. `tutelage sweep` with its specification writes it again.")
    return pl.read_parquet(io.BytesIO(content))


def read_progress(folder: Path) -> dict[str, Any]:
    """Return what the process that works in a folder has told of its speed; empty if it has told nothing."""
    try:
        found = json.loads((folder / PROGRESS).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
