"""Running studies: pieces in processes, every piece kept, finished studies reused.

A study's folder holds `pieces/*.npz` (what was measured), its figures and tables, and a `manifest.json`, which says
from the beginning whose folder it is and, once the study is complete, has the checksum of every file.
"""

from __future__ import annotations

import contextlib
import io
import json
import platform
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tutelage._configuration import available_cores, release_memory
from tutelage._html import grid
from tutelage.errors import MalformedData
from tutelage.files import checked_path, digest, read_regular
from tutelage.plot import render, styled
from tutelage.studies.base import Conclusion, Scale, Study, checked_scale
from tutelage.studies.manifest import FORMAT, begun, read_study
from tutelage.studies.registry import find
from tutelage.sweeps import PieceFailed, in_processes
from tutelage.work.archives import read_arrays, write_arrays
from tutelage.work.documents import write_sealed
from tutelage.work.folder import DAMAGED, MANIFEST, in_the_way, inner_folder, not_ours, put, set_aside
from tutelage.work.lock import locked

Notice = Callable[[str], None]
_SECONDS, _PIECES = "__seconds__", "pieces"
# Megabytes from which a worker forgets compiled programs, between pieces of one study and between two studies.
_LARGE, _SMALL = 1000, 500


@dataclass(frozen=True)
class Reproduced:
    """A finished study: its manifest, and the folder with its files.

    Attributes:
        folder: Where its files are.
        manifest: What was measured, from what, and when.
        reused: Whether it had been finished before.
    """

    folder: Path
    manifest: dict[str, Any]
    reused: bool

    def _repr_html_(self) -> str:
        rows = [
            ("✓" if one["ok"] else "✗", one["what"], one["published"], one["measured"])
            for one in self.manifest["expectations"]
        ]
        title = f"{self.manifest['id']}: {self.manifest['verdict']}"
        return grid(title, ("", "what", "published", "measured"), rows, str(self.folder))

    def document(self) -> dict[str, Any]:
        """Return the outcome as plain data for JSON."""
        fields = ("id", "scale", "verdict", "expectations", "remarks", "seed", "seconds")
        figures = [str(self.folder / name) for picture in self.manifest["figures"] for name in picture["files"]]
        return {field: self.manifest[field] for field in fields} | {"figures": figures, "reused": self.reused}


def reproduce(
    studies: Sequence[Study],
    folder: Path,
    scale: Scale = "quick",
    seed: int = 0,
    workers: int = 0,
    fresh: bool = False,
    advance: Notice | None = None,
    notice: Notice | None = None,
    dask: str | None = None,
    begin: Notice | None = None,
) -> Iterator[Reproduced]:
    """Run studies, and yield each as it is finished.

    A worker goes on with the study it has begun, since the pieces of a study share most compiled programs.

    Args:
        studies: The studies.
        folder: Where to keep results; each study has a folder of its own in it.
        scale: `quick` or `paper`.
        seed: Seed of all that is random.
        workers: Number of processes; zero for one a core.
        fresh: Whether to compute again what is there already.
        advance: Called with the name of every piece that is done; see `pieces_to_do`.
        notice: Called with a sentence for every damaged file that is computed again.
        dask: Use Dask: the address of a running scheduler, or `local:N` to start one with `N` workers.
        begin: Called with the name of every piece that is begun.

    Raises:
        PieceFailed: If a piece of work raises, or kills its worker again and again.
        FolderInUse: If another process works on one of the studies.
        NotOurs: If the folder of a study holds something that tutelage has not written.
        Unreadable: If a file in it cannot be read.
    """
    advance, notice = advance or _ignore, notice or _ignore
    jobs = [_Job(study, checked_path("folder", folder), checked_scale(scale), seed) for study in studies]
    finished = {} if fresh else {job.study.id: found for job in jobs if (found := job.finished(notice)) is not None}
    yield from finished.values()
    open_jobs = {job.study.id: job for job in jobs if job.study.id not in finished}
    with contextlib.ExitStack() as held:
        # All folders before the first lock, which is a file: nothing is written where something is not ours.
        for job in open_jobs.values():
            job.check()
        for job in open_jobs.values():
            held.enter_context(locked(inner_folder(job.root, *job.place)))
            job.begin(notice)
        work = partial(in_processes, _measure, workers=workers, dask=dask, family=_study_of, begin=begin)
        yield from _complete(open_jobs, work, fresh, advance, notice)


def _complete(
    open_jobs: Mapping[str, _Job],
    work: Callable[[Mapping[str, tuple[Any, ...]]], Generator[tuple[str, Any], None, None]],
    fresh: bool,
    advance: Notice,
    notice: Notice,
) -> Iterator[Reproduced]:
    """Do what is missing of studies whose folders are held, and yield each when it is complete."""
    names = {job: job.names if fresh else job.missing(notice) for job in open_jobs.values()}
    missing = {_full(job, name): (job.study.id, job.scale, job.seed, name) for job in names for name in names[job]}
    waiting = {id: {name for name, piece in missing.items() if piece[0] == id} for id in open_jobs}
    for id in [id for id, names in waiting.items() if not names]:
        yield open_jobs[id].conclude(notice)
        del waiting[id]
    with contextlib.closing(work(missing)) as measured:
        for name, (arrays, seconds) in measured:
            id = missing[name][0]
            open_jobs[id].keep(missing[name][3], arrays, seconds, notice)
            advance(name)
            waiting[id].remove(name)
            if not waiting[id]:
                yield open_jobs[id].conclude(notice)


def pieces_to_do(
    studies: Sequence[Study], folder: Path, scale: Scale, seed: int, fresh: bool = False
) -> list[tuple[Study, str]]:
    """Return the pieces that `reproduce` will have to do: study, and name."""
    jobs = [_Job(study, folder, scale, seed) for study in studies]
    names = {job: job.names if fresh else job.missing(_ignore) for job in jobs if fresh or not job.finished(_ignore)}
    return [(job.study, _full(job, name)) for job in names for name in names[job]]


def _full(job: _Job, name: str) -> str:
    return f"{job.study.id}: {name}"


def _study_of(full: str) -> str:
    return full.partition(":")[0]


def _ignore(text: str) -> None:
    pass


_measured: str | None = None
"""The study that this process has measured last."""


def _measure(id: str, scale: Scale, seed: int, name: str):
    global _measured
    study = find([id])[0]
    values = study.values(scale)
    started = time.perf_counter()
    # Another study needs little of what the one before has compiled; another piece needs most of it.
    release_memory(_LARGE if id == _measured else _SMALL)
    _measured = id
    arrays = study.measure(values, seed, **study.pieces(values)[name])
    return arrays, time.perf_counter() - started


class _Job:
    """One study in its folder."""

    def __init__(self, study: Study, folder: Path, scale: Scale, seed: int):
        self.study, self.scale, self.seed = study, scale, seed
        self.root, self.place = folder, (study.paper, study.name, scale)
        self.folder = folder.joinpath(*self.place)
        self.values = study.values(scale)
        self.names = list(study.pieces(self.values))
        self._checksums: dict[str, str] = {}
        # Another seed, setting, version or program is another study.
        described = [study.id, scale, seed, dict(self.values), version("tutelage"), _source(study)]
        self.specification = digest(json.dumps(described, sort_keys=True, default=str))

    def _piece(self, name: str) -> Path:
        return self.folder / _PIECES / f"{name}.npz"

    def check(self) -> str:
        """Look whether the folder is ours or free, and return what its manifest is: `there`, `damaged` or `absent`.

        Raises:
            NotOurs: If it holds something else.
            Unreadable: If something in it cannot be read.
        """
        for name in (_PIECES, DAMAGED):
            inner_folder(self.root, *self.place, name, make=False)
        try:
            if read_study(self.folder)["id"] != self.study.id:
                raise not_ours(self.folder, MANIFEST)
            return "there"
        except FileNotFoundError:
            state, name = "absent", in_the_way(self.folder)
        except MalformedData:
            state, name = "damaged", MANIFEST
        # Without a manifest, a piece that has our stamp and checksum says whose folder this is.
        if name is not None and not any(self._is_piece(self._piece(name)) for name in self.names):
            raise not_ours(self.folder, name)
        return state

    @staticmethod
    def _is_piece(path: Path) -> bool:
        try:
            return read_arrays(path, None) is not None
        except MalformedData:
            return False

    def begin(self, notice: Notice) -> None:
        """See again, now that the folder is held, that it is ours, and write that down."""
        state = self.check()
        inner_folder(self.root, *self.place, _PIECES)
        if state == "there":
            manifest = read_study(self.folder)
            self._checksums = manifest["files"] if manifest["complete"] else {}
            return
        if state == "damaged":
            place = set_aside(self.folder, self.folder / MANIFEST)
            notice(f"{self.folder / MANIFEST} is damaged. It is kept as {place}, and written again.")
        write_sealed(self.folder / MANIFEST, begun(self.study.id, version("tutelage")))

    def missing(self, notice: Notice) -> list[str]:
        """Return the names of the pieces that are absent, damaged, or of another specification."""
        return [name for name in self.names if self._read(name, notice) is None]

    def _read(self, name: str, notice: Notice):
        try:
            return read_arrays(self._piece(name), self.specification)
        except MalformedData as error:
            notice(f"{error} It is computed again.")
            return None

    def keep(self, name: str, arrays, seconds: float, notice: Notice) -> None:
        """Keep what a piece has measured; a damaged file in its place is set aside."""
        path = self._piece(name)
        try:
            read_arrays(path, None)
        except MalformedData:
            notice(f"{path} is damaged, and kept as {set_aside(self.folder, path)}.")
        write_arrays(path, {**arrays, _SECONDS: seconds}, self.specification)

    def finished(self, notice: Notice) -> Reproduced | None:
        """Return the study if it is complete, of this specification, and undamaged."""
        inner_folder(self.root, *self.place, _PIECES, make=False)
        try:
            manifest = read_study(self.folder)
        except FileNotFoundError:
            return None
        except MalformedData as error:
            notice(f"{error} It is computed again.")
            return None
        if not manifest["complete"] or manifest["id"] != self.study.id:
            return None
        if manifest["specification"] != self.specification:
            return None
        for name, checksum in manifest["files"].items():
            file = self.folder / name
            try:
                wrong = "" if digest(read_regular(file)) == checksum else "damaged"
            except FileNotFoundError:
                wrong = "absent"
            if wrong:
                notice(f"{file} is {wrong}. The study is made again from its pieces.")
                return None
        return Reproduced(self.folder, manifest, reused=True)

    def conclude(self, notice: Notice) -> Reproduced:
        """Draw figures, write tables, compare with the print, and write the manifest last."""
        started = time.perf_counter()
        found = {name: read_arrays(self._piece(name), self.specification) for name in self.names}
        pieces = {name: arrays for name, arrays in found.items() if arrays is not None}
        if gone := sorted(set(found) - set(pieces)):
            raise PieceFailed(f"{self.study.id}: {gone[0]} has gone from {self.folder} meanwhile. Run the study again.")
        # Pieces may have been measured at other times: each knows how long it took.
        measuring = sum(float(arrays.pop(_SECONDS)) for arrays in pieces.values())
        with styled():
            conclusion = self.study.conclude(self.values, pieces)
        files = {}
        for name, content in self._outputs(conclusion):
            put(self.folder, self.folder / name, content, self._checksums.get(name), notice)
            files[name] = digest(content)
        for name in self.names:
            files[f"{_PIECES}/{name}.npz"] = digest(read_regular(self._piece(name)))
        concluding = time.perf_counter() - started
        manifest = {
            "format": FORMAT,
            "kind": "study",
            "complete": True,
            "id": self.study.id,
            "scale": self.scale,
            "verdict": self.study.verdict(conclusion),
            "expectations": [expectation.document() for expectation in conclusion.expectations],
            "remarks": list(conclusion.remarks),
            "settings": [_setting(setting, self.scale) for setting in self.study.settings],
            "figures": [
                {
                    "name": picture.name,
                    "caption": picture.caption,
                    "files": [f"{picture.name}.svg", f"{picture.name}.png"],
                }
                for picture in conclusion.pictures
            ],
            "tables": [f"{name}.parquet" for name in conclusion.tables],
            "seed": self.seed,
            "seconds": round(measuring + concluding, 3),
            "command": f"tutelage reproduce {self.study.id} --scale {self.scale} --seed {self.seed}",
            "version": version("tutelage"),
            "machine": f"{platform.system()} {platform.machine()}, {available_cores()} cores",
            "written": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
            "specification": self.specification,
            "files": files,
        }
        write_sealed(self.folder / MANIFEST, manifest)
        return Reproduced(self.folder, manifest, reused=False)

    def _outputs(self, conclusion: Conclusion) -> Iterator[tuple[str, bytes]]:
        for picture in conclusion.pictures:
            for kind in ("svg", "png"):
                yield f"{picture.name}.{kind}", render(picture.figure, kind)
        for name, table in conclusion.tables.items():
            buffer = io.BytesIO()
            table.write_parquet(buffer)
            yield f"{name}.parquet", buffer.getvalue()


def _setting(setting, scale: str) -> dict[str, Any]:
    value = getattr(setting, scale)
    return {"name": setting.name, "value": _shown(value), "source": setting.source, "note": setting.note}


def _shown(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _source(study: Study) -> str:
    """Return a digest of the program that a study is: its own module, and what it shares with others of its paper."""
    own = Path(study.measure.__code__.co_filename)
    shared = own.with_name("common.py")
    sources = [path.read_text(encoding="utf-8") for path in (own, shared) if path.exists()]
    return digest("".join(sources))
