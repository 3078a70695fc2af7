"""Folders of sweeps with links, pipes, files of others, damage and files that cannot be read: no byte is lost."""

import contextlib
import errno
import json
import os
import shutil

import numpy as np
import polars as pl
import pytest
from cheap_work import CheapWork
from hostile import flipped, quickly, snapshot
from sweep_results import content

from tutelage.errors import MalformedData, TutelageError, Unreadable
from tutelage.files import digest, json_text
from tutelage.sweeps import OtherSweep, open_sweep, run_sweep
from tutelage.sweeps import engine as module
from tutelage.sweeps.pool import Done
from tutelage.sweeps.store import Store
from tutelage.work.documents import seal


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """Compute in this process, and do not wait for the disk."""

    def serial(function, pieces, prepare):
        prepare[0](*prepare[1])
        for shard, arguments in pieces:
            yield shard, Done(function(*arguments))

    monkeypatch.setattr(module, "_spreading", lambda *_: (serial, "this process"))
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A complete sweep of 15 pieces in one part."""
    folder = tmp_path_factory.mktemp("finished") / "sweep"
    run_sweep(CheapWork(), folder, workers=1, shard_seconds=4)
    return folder


@pytest.fixture
def sweep(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "sweep")


def unlocked(folder):
    """Everything below a folder but the lock of ours, which says who was there last."""
    ours = {
        path for path, found in snapshot(folder).items() if isinstance(found, bytes) and found.startswith(b'{"pid":')
    }
    return {path: found for path, found in snapshot(folder).items() if path not in ours}


def again(folder, **options):
    """Sweep once more; how much was there at the beginning, and what was said."""
    told, notices = [], []
    with quickly():
        results = run_sweep(CheapWork(), folder, shard_seconds=4, watch=told.append, notice=notices.append, **options)
    return results, told[0].done, notices


OTHERS = {
    "a text": {"notes.txt": b"dear diary"},
    "a lock": {"lock": b"my own lock"},
    "a lock of JSON": {"lock": b'{"pid": 1}'},
    "a manifest of another program": {"manifest.json": b'{"name": "an app", "format": 2}'},
    "a manifest that is a list": {"manifest.json": b"[1]"},
    "parts": {"parts/20240101.json": b"{}", "parts/.cache.tmp": b"cache"},
    "parts of the first format": {"parts/00000001.json": b"{}", "parts/00000001.runs.parquet": b"mine"},
    "cells": {"cells.parquet": b"mine"},
    "progress": {"progress.json": b"{}"},
    "a temporary file": {".0123456789abcdef.tmp": b"mine"},
    "damaged": {"damaged/mine.txt": b"mine"},
}


@pytest.mark.parametrize("files", OTHERS.values(), ids=OTHERS)
def test_a_folder_of_others_is_left_as_it_is(tmp_path, files):
    """Whatever somebody has in a folder, and whatever it is called: one sentence, and nothing is written there."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text)
    before = snapshot(tmp_path)
    with pytest.raises(OtherSweep, match="holds something else than a sweep"):
        run_sweep(CheapWork(), tmp_path)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", ["lock", "manifest.json", "cells.parquet", "progress.json", "parts", "damaged"])
@pytest.mark.parametrize("whose", ["empty", "finished"])
def test_links_are_not_followed(sweep, tmp_path, name, whose):
    """A link in the place of each of our files, in a new folder or a finished one, costs its target nothing."""
    folder = sweep if whose == "finished" else tmp_path / "new"
    folder.mkdir(exist_ok=True)
    target = tmp_path / "elsewhere"
    if name in ("parts", "damaged"):
        target.mkdir()
        (target / "20240101.json").write_bytes(b"{}")
        shutil.rmtree(folder / name, ignore_errors=True)
    else:
        target.write_bytes(b"mine")
        (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(target)
    before = unlocked(tmp_path)
    try:
        again(folder)
    except TutelageError:
        assert unlocked(tmp_path) == before
    else:
        # Nothing depends on the progress, which is not shown then.
        assert name == "progress.json" and whose == "finished"
    left = {path: value for path, value in unlocked(tmp_path).items() if "elsewhere" in path or path.endswith(name)}
    assert left == {path: before[path] for path in left}


def test_a_lock_with_a_second_name_is_not_ours(sweep, tmp_path):
    """A hard link would be overwritten like the file itself."""
    (tmp_path / "precious").write_bytes(b"")
    (sweep / "lock").unlink()
    os.link(tmp_path / "precious", sweep / "lock")
    with pytest.raises(Unreadable, match="not a lock of tutelage"):
        run_sweep(CheapWork(), sweep)
    assert (tmp_path / "precious").read_bytes() == b""


def test_files_of_others_among_our_parts(sweep, finished):
    """In a folder of ours too, only what we wrote is removed: names alone say nothing."""
    others = ["20240101.json", ".cache.tmp", "00000099.runs.parquet", "00000098.0123456789abcdef.txt", "parts.json"]
    for name in others:
        (sweep / "parts" / name).write_bytes(b"mine")
    results, there, notices = again(sweep)
    assert there == 60 and content(results) == content(finished)
    assert all((sweep / "parts" / name).read_bytes() == b"mine" for name in others)
    assert len(notices) == 1 and "20240101.json" in notices[0] and "left alone" in notices[0]


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_nothing_waits_for_a_pipe(sweep, kind):
    """Whatever stands in the place of each file: refused before it is opened, by those who write and those who read."""
    for path in [path for path in sweep.rglob("*") if path.is_file() and path.name != "progress.json"]:
        kept = path.read_bytes()
        path.unlink()
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5)) if os.geteuid() == 0 else os.mkfifo(path)
        before = unlocked(sweep)
        with quickly(), pytest.raises(TutelageError):
            run_sweep(CheapWork(), sweep)
        with quickly():
            try:
                opened = open_sweep(sweep)
                opened.runs.collect(), opened.arrays("end", 0)
            except TutelageError:
                pass
            else:
                assert path.name == "lock" or "records" in path.name or ".copy." in path.name
        assert unlocked(sweep) == before
        path.rmdir() if kind == "folder" else path.unlink()
        path.write_bytes(kept)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ESTALE])
def test_what_cannot_be_read_is_not_damaged(sweep, finished, monkeypatch, number):
    """A disk or a network that fails for a while costs nothing: the command stops, and later all runs are there."""
    for path in [path for path in sweep.rglob("*") if path.is_file() and path.name not in ("progress.json", "lock")]:
        before = unlocked(sweep)
        with monkeypatch.context() as patch:
            real = os.open

            def failing(name, *arguments, real=real, path=path, **options):
                if os.fspath(name) == os.fspath(path):
                    raise OSError(number, os.strerror(number), os.fspath(name))
                return real(name, *arguments, **options)

            patch.setattr(os, "open", failing)
            with pytest.raises(Unreadable, match=rf"{path.name} cannot be read \({os.strerror(number)}\)"):
                run_sweep(CheapWork(), sweep)
        assert unlocked(sweep) == before
    results, there, notices = again(sweep)
    assert there == 60 and not notices and content(results) == content(finished)


@pytest.mark.parametrize("kind", ["runs.parquet", "records.parquet", "arrays.npz", "json", "copy.json"])
def test_a_flipped_bit_costs_a_piece(finished, tmp_path, kind):
    """Wherever a bit of a joined part flips: at most the four runs of one piece are lost, and nothing is removed."""
    expected = content(finished)
    (name,) = [path.name for path in (finished / "parts").iterdir() if path.name.split(".", 2)[2] == kind]
    whole = (finished / "parts" / name).read_bytes()
    for number, place in enumerate(range(3, len(whole), len(whole) // 12)):
        folder = shutil.copytree(finished, tmp_path / str(number))
        damaged = flipped(whole, place)
        (folder / "parts" / name).write_bytes(damaged)
        if kind == "runs.parquet":
            with pytest.warns(UserWarning, match=name) if _lost(finished, place) else contextlib.nullcontext():
                rows = open_sweep(folder).runs.collect()
            assert rows.height in (56, 60) and rows.select("cell", "run").is_unique().all()
        results, there, notices = again(folder)
        assert there in (56, 60) and content(results) == expected
        assert len(notices) == 1 and name in notices[0] and "damaged" in notices[0]
        assert damaged in [path.read_bytes() for path in (folder / "damaged").iterdir()]
        assert again(folder)[1:] == (60, [])


def _lost(folder, place):
    """Whether a place in the file of runs belongs to a piece, or to the tail that only others read."""
    (path,) = (folder / "parts").glob("*.copy.json")
    return place < sum(piece["files"]["runs"][0] for piece in json.loads(path.read_text())["pieces"])


def test_other_readers_read_joined_parts(sweep):
    """A joined part is an ordinary Parquet file and an ordinary archive, for whoever does not know this library."""
    (runs,) = (sweep / "parts").glob("*.runs.parquet")
    frame = pl.read_parquet(runs)
    assert sorted(frame.select("cell", "run").rows()) == [(cell, run) for cell in range(3) for run in range(20)]
    assert pl.scan_parquet(runs).filter(pl.col("cell") == 1, pl.col("run") == 7).collect().height == 1
    (arrays,) = (sweep / "parts").glob("*.arrays.npz")
    with np.load(arrays, allow_pickle=False) as archive:
        numbers = np.sort(np.concatenate([archive[name] for name in archive.files if "/number/" in name]))
    np.testing.assert_array_equal(numbers, np.repeat(np.arange(20), 3))


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.update(runs=480),
        lambda document: document.pop("runs"),
        lambda document: document.pop("sessions"),
        lambda document: document.update(command=["tutelage"]),
        lambda document: document["document"].update(seed=7),
        lambda document: document.update(files={}),
    ],
)
@pytest.mark.parametrize("sealed", [False, True])
def test_a_changed_manifest_is_damaged(sweep, finished, change, sealed):
    """Every field of the manifest is covered by its checksum, and by its form where somebody makes a new one."""
    document = json.loads((sweep / "manifest.json").read_text())
    change(document)
    if sealed:
        document.pop("checksum")
        document = seal(document)
    (sweep / "manifest.json").write_bytes(json_text(document))
    with pytest.raises(MalformedData, match=r"damaged|does not match|digest of its specification"):
        open_sweep(sweep).cells.collect()
    results, there, _ = again(sweep)
    assert there == 60 and results.manifest["runs"] == 60 and content(results) == content(finished)
    if not sealed:
        assert [path.name.startswith("manifest.json.") for path in (sweep / "damaged").iterdir()] == [True]


def first_format(folder):
    """Turn the folder of a sweep of single parts into one that version 0.1 wrote."""
    parts = folder / "parts"
    for path in sorted(parts.glob("*.json")):
        document = json.loads(path.read_text())
        (piece,) = document["pieces"]
        entry = {name: piece[name] for name in ("ranges", "failed", "seconds", "files")}
        entry |= {"specification": document["specification"], "replaces": []}
        for kind, (_, checksum) in piece["files"].items():
            ending = {"runs": "runs.parquet", "records": "records.parquet", "arrays": "arrays.npz"}[kind]
            (parts / f"{path.name[:8]}.{checksum[:16]}.{ending}").rename(parts / f"{path.name[:8]}.{ending}")
        path.unlink()
        checksum = digest(json.dumps(entry, sort_keys=True))
        (parts / f"{path.name[:8]}.json").write_bytes(json_text({**entry, "checksum": checksum}))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest.pop("checksum")
    (folder / "manifest.json").write_bytes(json_text({**manifest, "format": 1}))
    (folder / "lock").write_text(json.dumps({"pid": 1, "host": "here", "since": "2024", "command": "tutelage"}))


def test_a_folder_of_the_first_version(tmp_path, finished, monkeypatch):
    """What version 0.1 has written is read and continued; what is wrong with it is noticed."""
    monkeypatch.setattr(module, "Store", lambda *arguments: Store(*arguments, many=1000, large=0))
    folder = tmp_path / "old"
    run_sweep(CheapWork(), folder, shard_seconds=4)
    first_format(folder)
    assert content(folder) == content(finished)
    manifest = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(manifest.replace('"runs": 60', '"runs": 72'))
    with pytest.raises(MalformedData, match="speaks of 72 runs in 3 cells"):
        open_sweep(folder)
    (folder / "manifest.json").write_text(manifest)
    path = folder / "parts" / "00000003.arrays.npz"
    path.write_bytes(flipped(path.read_bytes(), 99))
    results, there, notices = again(folder)
    assert there == 56 and path.name in notices[0] and content(results) == content(finished)
    assert results.manifest["format"] == 2
    assert any(kept.name.startswith(path.name) for kept in (folder / "damaged").iterdir())


def test_very_many_pieces_become_fewer(tmp_path, monkeypatch, finished):
    """Neighbours become one piece where there are very many; nothing that is read depends on it."""
    monkeypatch.setattr("tutelage.sweeps.writer._MOST_PIECES", 7)
    results = run_sweep(CheapWork(), tmp_path, shard_seconds=1)
    (entry,) = results.ledger.entries
    assert 5 <= len(entry.pieces) <= 8 and entry.runs == 60 and content(results) == content(finished)
    (path,) = (tmp_path / "parts").glob("*.runs.parquet")
    path.write_bytes(flipped(path.read_bytes(), 700))
    results, there, _ = again(tmp_path)
    assert 44 <= there < 60 and content(results) == content(finished)
