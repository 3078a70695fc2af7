"""The folder of a sweep.

manifest.json      what is swept: the resolved specification, the grid, versions, commands, sessions with their times
pieces/            what is done: one file per range of runs
runs.parquet       all runs as one table, for others to read, once the sweep is complete; records.parquet likewise
damaged/           what did not match its checksum, set aside
progress.json      how fast it goes, for whoever watches; of no other use
lock               who works here
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import Field

from tutelage.errors import MalformedData, Unreadable
from tutelage.sweeps.coverage import JOB, Coverage, read_coverage
from tutelage.sweeps.manifest import FORMAT, Manifest, difference, read_manifest, specification_digest
from tutelage.sweeps.sweep import Sweep
from tutelage.work.documents import Document, read_sealed, shaped, write_sealed
from tutelage.work.engines import Notice
from tutelage.work.folder import MANIFEST, NotOurs, put, set_aside
from tutelage.work.job import Progress
from tutelage.work.parquet import table_bytes
from tutelage.work.program import installed, now, program_digest, this_machine
from tutelage.work.store import Store

PROGRESS = "progress.json"
TABLES = ("runs.parquet", "records.parquet")
"""Names of the tables for others."""
_TELL_EVERY = 1.0  # Seconds between two reports for whoever watches from elsewhere.


class OtherSweep(NotOurs):
    """A folder belongs to another specification, or holds something else."""


class _Speed(Document):
    rate: Annotated[float, Field(ge=0)]
    seconds_left: Annotated[float, Field(ge=0)] | None


class SweepFolder:
    """The folder of a sweep, to be worked on.

    Nothing is changed before `begin`, which needs the lock.

    Args:
        folder: The folder.
        work: What is swept.
        notice: Called with a sentence for whatever is damaged and made again.
        mixed: Whether runs of other programs may stay there.
    """

    def __init__(self, folder: Path, work: Sweep, notice: Notice, mixed: bool = False):
        self.folder, self._notice, self._mixed = folder, notice, mixed
        self.document = work.document()
        self.specification = specification_digest(self.document)
        self._grid = {name: column.to_list() for name, column in work.cells().to_dict().items()}
        self.total = sum(self._grid["runs"])
        self.store = Store(folder, JOB)
        self._program = program_digest(type(work).__module__)
        self._computed, self._told = 0, -math.inf

    def check(self) -> Manifest | None:
        """Look whether a sweep may use the folder, change nothing, and return its manifest if it has an intact one.

        Raises:
            OtherSweep: If it belongs to another specification or program, or holds something else.
            MalformedData: If another version of tutelage has written it.
            Unreadable: If something in it cannot be read.
        """
        # Without a manifest the pieces alone say whose they are.
        manifest = self.store.manifest(read_manifest, self.specification, _not_a_sweep)
        if manifest is None:
            return None
        if manifest.specification != self.specification:
            changed = difference(manifest.document, self.document)
            raise OtherSweep(
                f"{self.folder} belongs to another specification ({changed}). Choose another folder with `--out`, "
                "or remove this one."
            )
        if not self._mixed and not set(manifest.programs) <= {self._program}:
            raise OtherSweep(
                f"{self.folder} was computed by another program, begun with tutelage {manifest.version}: sources or "
                "packages that its runs depend on have changed. Choose another folder with `--out`, or keep its runs "
                "beside new ones with `--mixed`."
            )
        return manifest

    def begin(self) -> Coverage:
        """See again, now that the folder is held, that it is ours, and return which of its runs are intact."""
        found = self.check()
        if found is None:
            set_aside(self.folder, self.folder / MANIFEST, self._notice)
            begun: dict[str, Any] = {"version": installed(), "machine": this_machine(), "created": now(), "command": ""}
            begun |= {"programs": [], "sessions": [], "files": {}}
        else:
            begun = found.model_dump()
            if found.version != installed():
                self._notice(f"Begun with tutelage {found.version}, continued with {installed()}.")
        # The same specification, but its files may have been moved since.
        said = {"format": FORMAT, "kind": self.document["kind"], "specification": self.specification}
        said |= {"document": self.document, "grid": self._grid, "programs": sorted({*begun["programs"], self._program})}
        self._manifest = shaped({**begun, **said}, Manifest)
        self.store.tidy()
        coverage = read_coverage(self.store, self._manifest, thorough=True)
        for sentence in coverage.damaged:
            self._notice(f"{sentence}. Its runs are computed again.")
        return coverage

    @contextlib.contextmanager
    def session(self, command: str, engine: str) -> Iterator[None]:
        """Write down in the manifest that this process works on the sweep, and how that ended."""
        began = time.perf_counter()
        session = {"command": command, "engine": engine, "version": installed(), "machine": this_machine()}
        session |= {"began": now(), "seconds": None, "runs": None}
        self._manifest = self._manifest.model_copy(update={"command": self._manifest.command or command})
        self._write([session])
        try:
            yield
        finally:
            session |= {"seconds": round(time.perf_counter() - began, 3), "runs": self._computed}
            # With a full disk the work that is done still counts: only the time of this session is not known.
            with contextlib.suppress(OSError):
                self._write([session])

    def _write(self, sessions: list[dict[str, Any]]) -> None:
        said = self._manifest.model_dump()
        write_sealed(self.folder / MANIFEST, {**said, "sessions": said["sessions"] + sessions})

    def export(self, tables: dict[str, pl.DataFrame]) -> None:
        """Write tables for others to read; what has their names and is not ours is set aside."""
        written, before = {}, self._manifest.files
        for name, table in tables.items():
            path, content = self.folder / name, table_bytes(table)
            written[name] = put(self.folder, path, content, before.get(name), self._notice)
        self._manifest = self._manifest.model_copy(update={"files": written})

    def show_progress(self, progress: Progress) -> None:
        """Note how far it is, and tell others now and then how fast it goes."""
        self._computed = progress.computed
        if time.monotonic() - self._told <= _TELL_EVERY:
            return
        path = self.folder / PROGRESS
        with contextlib.suppress(OSError, Unreadable):
            # Where something else has the name, it stays.
            if self._told > -math.inf or not (path.is_symlink() or path.exists()) or _speed(path):
                write_sealed(path, {"rate": progress.rate, "seconds_left": progress.seconds_left})
                self._told = time.monotonic()


def _not_a_sweep(folder: Path, name: str) -> OtherSweep:
    return OtherSweep(f"{folder} holds something else than a sweep ({name}). Choose another folder with `--out`.")


def read_progress(folder: Path) -> dict[str, Any]:
    """Return what the process that works in a folder has told of its speed; empty if it has told nothing."""
    found = _speed(folder / PROGRESS)
    return {} if found is None else found.model_dump()


def _speed(path: Path) -> _Speed | None:
    try:
        return read_sealed(path, _Speed)
    except (FileNotFoundError, MalformedData, Unreadable):
        return None
