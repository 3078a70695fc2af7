"""Folders of sweeps with links, pipes, files of others, damage and files that cannot be read: no byte is lost."""

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
from tutelage.files import json_text
from tutelage.sweeps import OtherSweep, open_sweep, run_sweep, running
from tutelage.work.documents import seal
from tutelage.work.engines import Here


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """Compute in this process, and do not wait for the disk."""
    monkeypatch.setattr(running, "choose_engine", lambda *_: Here())
    monkeypatch.setattr(os, "fsync", lambda handle: None)


WORK = CheapWork(cells=2, runs=12)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A complete sweep of six pieces."""
    folder = tmp_path_factory.mktemp("finished") / "sweep"
    run_sweep(WORK, folder, piece_seconds=4, engine=Here())
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
        results = run_sweep(WORK, folder, piece_seconds=4, watch=told.append, notice=notices.append, **options)
    return results, told[0].done, notices


OTHERS = {
    "a text": {"notes.txt": b"dear diary"},
    "a lock": {"lock": b"my own lock"},
    "a lock of JSON": {"lock": b'{"pid": 1}'},
    "a manifest of another program": {"manifest.json": b'{"name": "an app", "format": 3}'},
    "a manifest that is a list": {"manifest.json": b"[1]"},
    "pieces": {"pieces/0-0-4.npz": b"{}", "pieces/.cache.tmp": b"cache"},
    "a table": {"runs.parquet": b"mine"},
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


@pytest.mark.parametrize("name", ["lock", "manifest.json", "progress.json", "pieces", "damaged"])
@pytest.mark.parametrize("whose", ["empty", "finished"])
def test_links_are_not_followed(sweep, tmp_path, name, whose):
    """A link in the place of each of our files, in a new folder or a finished one, costs its target nothing."""
    folder = sweep if whose == "finished" else tmp_path / "new"
    folder.mkdir(exist_ok=True)
    target = tmp_path / "elsewhere"
    if name in ("pieces", "damaged"):
        target.mkdir()
        (target / "0-0-4.npz").write_bytes(b"{}")
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
        run_sweep(WORK, sweep)
    assert (tmp_path / "precious").read_bytes() == b""


def test_files_of_others_among_our_pieces(sweep, finished):
    """In a folder of ours too, only what we wrote is replaced: names alone say nothing."""
    others = ["20240101.npz", ".cache.tmp", "runs.parquet", "0-0-4.npz.bak", "0-0-4", "7-0-4.npz"]
    for name in others:
        (sweep / "pieces" / name).write_bytes(b"mine")
    results, there, notices = again(sweep)
    assert there == 24 and content(results) == content(finished) and not notices
    assert all((sweep / "pieces" / name).read_bytes() == b"mine" for name in others)


def _read_files(folder):
    """Files that a sweep needs: not the tables for others, nor the progress; some of the pieces stand for all."""
    names = ("lock", "manifest.json", "pieces/0-0-4.npz", "pieces/1-8-4.npz")
    return [folder / name for name in names]


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_nothing_waits_for_a_pipe(sweep, kind):
    """Whatever stands in the place of each file: refused before it is opened, by those who write and those who read."""
    for path in _read_files(sweep):
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
            run_sweep(WORK, sweep)
        with quickly():
            try:
                opened = open_sweep(sweep)
                opened.runs.collect(), opened.arrays("end", 0)
            except TutelageError:
                pass
            else:
                assert path.name == "lock"
        assert unlocked(sweep) == before
        path.rmdir() if kind == "folder" else path.unlink()
        path.write_bytes(kept)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ESTALE])
def test_what_cannot_be_read_is_not_damaged(sweep, finished, monkeypatch, number):
    """A disk or a network that fails for a while costs nothing: the command stops, and later all runs are there."""
    for path in [path for path in _read_files(sweep) if path.name != "lock"]:
        before = unlocked(sweep)
        with monkeypatch.context() as patch:
            real = os.open

            def failing(name, *arguments, real=real, path=path, **options):
                if os.fspath(name) == os.fspath(path):
                    raise OSError(number, os.strerror(number), os.fspath(name))
                return real(name, *arguments, **options)

            patch.setattr(os, "open", failing)
            with pytest.raises(Unreadable, match=rf"{path.name} cannot be read \({os.strerror(number)}\)"):
                run_sweep(WORK, sweep)
        assert unlocked(sweep) == before
    results, there, notices = again(sweep)
    assert there == 24 and not notices and content(results) == content(finished)


def test_a_flipped_bit_costs_a_piece(finished, tmp_path):
    """Wherever a bit of a piece flips: at most its four runs are lost, and what is damaged is kept."""
    expected = content(finished)
    whole = (finished / "pieces" / "1-8-4.npz").read_bytes()
    for number, place in enumerate(range(3, len(whole), len(whole) // 12)):
        folder = shutil.copytree(finished, tmp_path / str(number))
        damaged = flipped(whole, place)
        (folder / "pieces" / "1-8-4.npz").write_bytes(damaged)
        results, there, notices = again(folder)
        assert there in (20, 24) and content(results) == expected
        if there == 20:
            assert len(notices) == 2 and all("1-8-4.npz" in notice for notice in notices)
            assert damaged in [path.read_bytes() for path in (folder / "damaged").iterdir()]
        assert again(folder)[1:] == (24, [])


def test_other_readers_read_pieces(sweep):
    """A piece is an ordinary archive of arrays, for whoever does not know this library."""
    with np.load(sweep / "pieces" / "1-8-4.npz", allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["runs/run"], np.arange(8, 12))
        np.testing.assert_array_equal(archive["arrays/number"], np.arange(8, 12))
        assert json.loads(archive["about"].tobytes())["facts"]["runs"] == 4
    frame = pl.scan_parquet(sweep / "runs.parquet").filter(pl.col("cell") == 1, pl.col("run") == 7).collect()
    assert frame.height == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["grid"].update(runs=[12]),
        lambda document: document["grid"].update(runs=[12, -1]),
        lambda document: document["grid"].update(letter=["a", 3]),
        lambda document: document.update(grid={}),
        lambda document: document.pop("sessions"),
        lambda document: document.update(command=["tutelage"]),
        lambda document: document["document"].update(seed=7),
        lambda document: document.update(files=[]),
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
    assert there == 24 and results.manifest.runs == 24 and content(results) == content(finished)
    if not sealed:
        assert [path.name.startswith("manifest.json.") for path in (sweep / "damaged").iterdir()] == [True]


def test_a_folder_of_the_first_version_is_refused(tmp_path):
    """What version 0.1 has written is left as it is, and one sentence says what to do."""
    manifest = {"format": 1, "kind": "cheap", "version": "0.1.0", "runs": 60}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "00000001.runs.parquet").write_bytes(b"rows")
    before = snapshot(tmp_path)
    for use in (open_sweep, lambda folder: run_sweep(CheapWork(), folder)):
        with pytest.raises(MalformedData, match=r"has format 1, .* written it \(0\.1\.0\)"):
            use(tmp_path)
    assert snapshot(tmp_path) == before
