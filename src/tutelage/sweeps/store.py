"""The folder of a sweep.

manifest.json      what is swept: the resolved specification, version, command, machine, sessions with their times
cells.parquet      the grid: one row a cell
parts/             what is done: tables of runs and records, arrays, and the entries that make them count
damaged/           what did not match its checksum, set aside
progress.json      how fast it goes, for whoever watches; of no other use
lock               who works here
"""

from __future__ import annotations

import contextlib
import platform
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from tutelage._configuration import available_cores
from tutelage.errors import MalformedData, Unreadable
from tutelage.files import digest, read_regular
from tutelage.sweeps.contract import Shard, Work
from tutelage.sweeps.entries import PARTS, Number
from tutelage.sweeps.identity import specification_digest
from tutelage.sweeps.ledger import has_parts_of
from tutelage.sweeps.manifest import CELLS, FORMAT, DamagedManifest, difference, read_manifest
from tutelage.sweeps.parts import Part
from tutelage.sweeps.writer import Writer
from tutelage.work.documents import Document, read_sealed, write_sealed
from tutelage.work.folder import (
    DAMAGED,
    MANIFEST,
    NotOurs,
    in_the_way,
    inner_folder,
    listed,
    put,
    remove_temporary,
    set_aside,
)
from tutelage.work.lock import LOCK
from tutelage.work.parquet import table_bytes

PROGRESS = "progress.json"
# What stays of a manifest when a sweep is continued; the rest follows from the work.
_KEPT = ("version", "command", "machine", "created", "sessions")
_KNOWN = (LOCK, CELLS, PARTS, PROGRESS, DAMAGED)
Notice = Callable[[str], None]


class OtherSweep(NotOurs):
    """A folder belongs to another specification, or holds something else."""


class _Progress(Document):
    runs: Number = 0
    done: Number = 0
    failed: Number = 0
    computed: Number = 0
    seconds: Annotated[float, Field(ge=0)] = 0.0
    cost: Annotated[float, Field(ge=0)] = 0.0
    cost_done: Annotated[float, Field(ge=0)] = 0.0
    rate: Annotated[float, Field(ge=0)]
    seconds_left: Annotated[float, Field(ge=0)] | None


def check_folder(folder: Path, work: Work) -> str:
    """Look whether a sweep may use a folder, and change nothing.

    Returns:
        What its manifest is: `there`, `damaged` or `absent`.

    Raises:
        OtherSweep: If it belongs to another specification, or holds something else.
        Unreadable: If something in it cannot be read.
    """
    document = work.document()
    specification = specification_digest(document)
    inner_folder(folder, PARTS, make=False)
    inner_folder(folder, DAMAGED, make=False)
    try:
        manifest = read_manifest(folder)
    except DamagedManifest:
        state = "damaged"
    except MalformedData:
        if MANIFEST in listed(folder):
            raise
        state = "absent"
    else:
        if manifest["specification"] != specification:
            changed = difference(manifest["document"], document)
            raise OtherSweep(
                f"{folder} belongs to another specification ({changed}). Choose another folder with `--out`, "
                "or remove this one."
            )
        return "there"
    # Without a manifest the parts alone say whose they are; those of another sweep are not ours.
    own, other = has_parts_of(folder, specification)
    if other is not None:
        raise OtherSweep(
            f"{folder} belongs to another specification: its {MANIFEST} is {state}, and {other} "
            "is of another one. Choose another folder with `--out`, or remove this one."
        )
    if own:
        name = in_the_way(folder, {*_KNOWN, MANIFEST})
    elif state == "damaged":
        name = MANIFEST
    else:
        name = _not_begun(folder, work)
    if name is not None:
        raise OtherSweep(f"{folder} holds something else than a sweep ({name}). Choose another folder with `--out`.")
    return state


def _not_begun(folder: Path, work: Work) -> str | None:
    """Return what keeps a folder without manifest and parts from being one in which a sweep was about to begin."""
    name = in_the_way(folder, {CELLS, PARTS})
    if name is None and listed(folder / PARTS):
        return f"{PARTS}/{listed(folder / PARTS)[0]}"
    with contextlib.suppress(FileNotFoundError):
        if name is None and read_regular(folder / CELLS) != table_bytes(work.cells()):
            return CELLS
    return name


class Store:
    """The folder of a sweep, open for writing; it must be locked.

    Args:
        folder: The folder; it is set up if it is empty.
        work: What is swept.
        notice: Called with a sentence for whatever is damaged and made again.
        **options: Passed to `Writer`.

    Raises:
        OtherSweep: If the folder belongs to another specification, or holds something else.
        Unreadable: If something in it cannot be read.
    """

    def __init__(self, folder: Path, work: Work, notice: Notice, **options: Any):
        self.folder = folder
        self._notice = notice
        state = check_folder(folder, work)
        self._document = work.document()
        self._specification = specification_digest(self._document)
        self._cells = work.cells()
        self._written: dict[str, str | None] = {}
        if state == "there":
            self._manifest = self._continued(read_manifest(folder))
        else:
            if state == "damaged":
                place = set_aside(folder, folder / MANIFEST)
                notice(f"{folder / MANIFEST} is damaged. It is kept as {place}, and written again.")
            self._manifest = self._new_manifest()
        remove_temporary(folder)
        grid = dict(zip(self._cells["cell"].to_list(), self._cells["runs"].to_list(), strict=True))
        self._writer = Writer(folder, self._specification, notice, grid, **options)
        self.total = int(self._cells["runs"].sum())

    def _continued(self, manifest: dict[str, Any]) -> dict[str, Any]:
        if manifest["version"] != version("tutelage"):
            self._notice(f"Begun with tutelage {manifest['version']}, continued with {version('tutelage')}.")
        self._written[CELLS] = manifest["files"].get(CELLS)
        # The same specification, but its files may have been moved since.
        return {**self._new_manifest(), **{name: manifest[name] for name in _KEPT}}

    def _new_manifest(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
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
        content = table_bytes(self._cells)
        put(self.folder, self.folder / CELLS, content, self._written.get(CELLS), self._notice)
        self._written[CELLS] = digest(content)
        # The manifest last: without it there is no sweep.
        write_sealed(self.folder / MANIFEST, {**manifest, "files": {CELLS: digest(content)}})

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
        path = self.folder / PROGRESS
        with contextlib.suppress(OSError, Unreadable):
            # Where something else has the name, it stays.
            if not path.is_symlink() and (not path.exists() or PROGRESS in self._written or _read_progress(path)):
                write_sealed(path, progress)
                self._written[PROGRESS] = None


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}, {available_cores()} cores"


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())


def read_progress(folder: Path) -> dict[str, Any]:
    """Return what the process that works in a folder has told of its speed; empty if it has told nothing."""
    found = _read_progress(folder / PROGRESS)
    return {} if found is None else found.model_dump()


def _read_progress(path: Path) -> _Progress | None:
    try:
        return read_sealed(path, _Progress)
    except (FileNotFoundError, MalformedData, Unreadable):
        return None
