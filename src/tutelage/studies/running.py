"""Running studies: pieces in processes, every piece kept, finished studies reused.

A study's folder holds `pieces/*.npz` (what was measured), its figures and tables, and a `manifest.json`, which says
from the beginning whose folder it is and, once the study is complete, has the checksum of every file.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import shlex
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tutelage._configuration import release_memory
from tutelage._html import grid
from tutelage.errors import MalformedData
from tutelage.files import checked_path, digest, read_regular
from tutelage.papers import expected_seconds
from tutelage.studies.base import Conclusion, Scale, Study, as_listed, checked_scale
from tutelage.studies.changes import changes_of, with_settings
from tutelage.studies.manifest import FORMAT, begun, read_study
from tutelage.studies.registry import find
from tutelage.style import render, styled
from tutelage.work.documents import write_sealed
from tutelage.work.engines import Notice, choose_engine, ignore
from tutelage.work.folder import MANIFEST, inner_folder, not_ours, put, set_aside
from tutelage.work.job import Piece, PieceFailed, Watch, carry_out
from tutelage.work.lock import locked
from tutelage.work.parquet import table_bytes
from tutelage.work.program import installed, modules_of, now, program_digest, this_machine
from tutelage.work.store import PIECES, Content, Store

_MARKS = {True: "✓", False: "✗", None: "·"}
_SECONDS_PER_PIECE = 10.0  # For one whose time is not on record.


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
            (_MARKS[one["ok"]], one["what"], one["published"], one["measured"]) for one in self.manifest["expectations"]
        ]
        title = f"{self.manifest['id']}: {self.manifest['verdict']}"
        return grid(title, ("", "what", "published", "measured"), rows, str(self.folder))

    def document(self) -> dict[str, Any]:
        """Return the outcome as plain data for JSON."""
        fields = ("id", "scale", "verdict", "expectations", "remarks", "seed", "seconds")
        figures = [str(self.folder / name) for picture in self.manifest["figures"] for name in picture["files"]]
        changed = {one["name"]: one["value"] for one in self.manifest["settings"] if one["source"] == "changed"}
        named = {field: self.manifest[field] for field in fields}
        return named | {"figures": figures, "reused": self.reused, "changed": changed}


def reproduce(
    studies: Sequence[Study],
    folder: Path,
    scale: Scale = "quick",
    seed: int = 0,
    workers: int = 0,
    fresh: bool = False,
    *,
    dask: str | None = None,
    others: Sequence[Piece] = (),
    watch: Watch | None = None,
    notice: Notice = ignore,
) -> Iterator[Reproduced]:
    """Run studies, and yield each as it is finished.

    A worker goes on with the study it has begun, since the pieces of a study share most compiled programs.

    Args:
        studies: The studies.
        folder: Where to keep results; each study has a folder of its own in it.
        scale: `quick` or `paper`.
        seed: Seed of all that is random.
        workers: Number of processes; zero for one per core.
        fresh: Whether to compute again what is there already.
        dask: Use Dask: the address of a running scheduler, or `local:N` to start one with `N` workers.
        others: Pieces of something else, of an audit say, that the same engine computes after those of the studies.
        watch: Called with the progress at the beginning and whenever a piece is begun or done.
        notice: Called with a sentence for every damaged file that is computed again.

    Raises:
        PieceFailed: If a piece of work raises, or kills its worker again and again.
        FolderInUse: If another process works on one of the studies.
        NotOurs: If the folder of a study holds something that tutelage has not written.
        Unreadable: If a file in it cannot be read.
    """
    choose_engine(workers, dask, notice)  # what is wrong with these is said before anything is done
    folders = [_StudyFolder(study, checked_path("folder", folder), checked_scale(scale), seed) for study in studies]
    finished = {} if fresh else {one: found for one in folders if (found := one.finished(notice)) is not None}
    still_open = [one for one in folders if one not in finished]
    with contextlib.ExitStack() as held:
        # All folders before the first lock, which is a file: nothing is written where something is not ours.
        for one in still_open:
            one.check()
        for one in still_open:
            held.enter_context(locked(inner_folder(one.root, *one.place)))
            one.begin(notice)
        left = {one: [piece for piece in one.pieces() if fresh or piece.stored(notice) is None] for one in still_open}
        yield from finished.values()
        yield from (one.conclude(notice) for one, missing in left.items() if not missing)
        owners = {piece.name: one for one, missing in left.items() for piece in missing}
        waiting = Counter(owners.values())
        # The longest study first, so that all processes are busy to the end.
        longest = sorted(left.values(), key=lambda missing: -sum(piece.cost for piece in missing))
        pieces = [*itertools.chain(*longest), *others]
        engine = choose_engine(workers, dask, notice, len(pieces))
        for piece, _ in carry_out(pieces, engine, watch=watch, notice=notice):
            if (one := owners.get(piece.name)) is None:
                continue
            waiting[one] -= 1
            if not waiting[one]:
                yield one.conclude(notice)


def _measure(id: str, scale: Scale, seed: int, name: str, changes: Mapping[str, Any]) -> Content:
    study = with_settings(find([id])[0], changes)
    values = study.values(scale)
    started = time.perf_counter()
    release_memory()
    arrays = study.measure(values, seed, **study.pieces(values)[name])
    plain = {label: np.asarray(array) for label, array in arrays.items()}
    return Content({"seconds": time.perf_counter() - started}, plain)


class _StudyFolder:
    """One study in its folder."""

    def __init__(self, study: Study, folder: Path, scale: Scale, seed: int):
        self.study, self.scale, self.seed = study, scale, seed
        self.changes = changes_of(study)
        # What was changed has a folder of its own, beside the one that the report shows.
        mark = f"-{digest(json.dumps(self.changes, sort_keys=True))[:8]}" if self.changes else ""
        self.root, self.place = folder, (study.paper, study.name, f"{scale}{mark}")
        self.folder = folder.joinpath(*self.place)
        self.values = study.values(scale)
        self.names = list(study.pieces(self.values))
        self.store = Store(self.folder, study.id)
        self._checksums: dict[str, str] = {}
        # Another seed, setting or program is another study.
        program = program_digest(*sorted(modules_of((study.pieces, study.measure, study.conclude))))
        described = [study.id, scale, seed, dict(self.values), program]
        self.specification = digest(json.dumps(described, sort_keys=True, default=str))

    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces of the study."""
        seconds = expected_seconds().get(self.study.id) if self.scale == "quick" else None
        for name in self.names:
            yield Piece(
                name=f"{self.study.id}: {name}",
                function=_measure,
                arguments=(self.study.id, self.scale, self.seed, name, self.changes),
                store=self.store,
                key=name,
                stamp=self.specification,
                cost=_SECONDS_PER_PIECE if seconds is None else seconds / len(self.names),
                family=self.study.id,
            )

    def check(self) -> dict[str, Any] | None:
        """Look whether the folder is ours or free, and return its manifest if it has an intact one.

        Raises:
            NotOurs: If it holds something else.
            Unreadable: If something in it cannot be read.
        """
        inner_folder(self.root, *self.place, make=False)
        manifest = self.store.manifest(read_study)
        if manifest is not None and manifest["id"] != self.study.id:
            raise not_ours(self.folder, MANIFEST)
        return manifest

    def begin(self, notice: Notice) -> None:
        """See again, now that the folder is held, that it is ours, and write that down."""
        manifest = self.check()
        self.store.tidy()
        if manifest is None:
            set_aside(self.folder, self.folder / MANIFEST, notice)
            write_sealed(self.folder / MANIFEST, begun(self.study.id, installed()))
        elif manifest["complete"]:
            self._checksums = manifest["files"]

    def finished(self, notice: Notice) -> Reproduced | None:
        """Return the study if it is complete, of this specification, and undamaged."""
        inner_folder(self.root, *self.place, PIECES, make=False)
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
        found = {name: self.store.read(name, self.specification) for name in self.names}
        contents = {name: content for name, content in found.items() if content is not None}
        if gone := sorted(set(found) - set(contents)):
            raise PieceFailed(f"{self.study.id}: {gone[0]} has gone from {self.folder} meanwhile. Run the study again.")
        # Pieces may have been measured at other times: each knows how long it took.
        measuring = sum(content.facts["seconds"] for content in contents.values())
        pieces = {name: content.arrays for name, content in contents.items()}
        with styled():
            conclusion = self.study.conclude(self.values, pieces)
        if self.changes:
            unjudged = tuple(replace(expectation, ok=None) for expectation in conclusion.expectations)
            conclusion = replace(conclusion, expectations=unjudged)
        files = {}
        for name, content in self._outputs(conclusion):
            files[name] = put(self.folder, self.folder / name, content, self._checksums.get(name), notice)
        for name in self.names:
            files[f"{PIECES}/{name}.npz"] = digest(read_regular(self.store.path(name)))
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
            "command": " ".join(
                [
                    f"tutelage reproduce {self.study.id} --scale {self.scale} --seed {self.seed}",
                    *(shlex.join(["--set", f"{name}={as_listed(value)}"]) for name, value in self.changes.items()),
                ]
            ),
            "version": installed(),
            "machine": this_machine(),
            "written": now(),
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
            yield f"{name}.parquet", table_bytes(table)


def _setting(setting, scale: str) -> dict[str, Any]:
    value = getattr(setting, scale)
    return {"name": setting.name, "value": as_listed(value), "source": setting.source, "note": setting.note}
