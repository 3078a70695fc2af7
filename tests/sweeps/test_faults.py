"""Nothing is lost or counted twice, whatever is killed, damaged or full."""

import contextlib
import errno
import io
import itertools
import json
import os
import random
import signal
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cheap_work import CheapWork, hold, release
from forks import Fork, Forks
from sweep_results import content, run_program

from tutelage.errors import MalformedData, TutelageError
from tutelage.sweeps import OtherSweep, open_sweep, run_sweep
from tutelage.work.engines import Here
from tutelage.work.store import Store, packed

ROUNDS = 20


@pytest.fixture
def here(here, monkeypatch):
    """Compute in this process, and do not wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture(scope="module")
def start():
    """Sweep into a folder, with options, in a process of its own."""
    with Forks("cheap_work", "tutelage.sweeps", "tutelage.work.processes") as forks:
        yield lambda folder, *options: forks.start("cheap_work", str(folder), *options)


def reached_in(folder: Path) -> int:
    """How many runs are there at this moment; none before there is a manifest."""
    try:
        return open_sweep(folder).coverage.runs
    except TutelageError:
        return 0


def wait_for(folder: Path, process: Fork, runs: int) -> None:
    """Wait until a sweep has pieces of some runs, or has ended; their names say how many, and nothing is read."""
    while process.poll() is None and named_in(folder) < runs:
        time.sleep(0.01)


def named_in(folder: Path) -> int:
    try:
        names = os.listdir(folder / "pieces")
    except FileNotFoundError:
        return 0
    return sum(int(name.removesuffix(".npz").rpartition("-")[2]) for name in names if name.endswith(".npz"))


@pytest.mark.slow
def test_killed_main_process(start, tmp_path):
    """SIGKILL at random moments, again and again, ends in the same tables as an uninterrupted run."""
    options = ("cells=2", "runs=360")
    whole = run_sweep(CheapWork(cells=2, runs=360), tmp_path / "whole", piece_seconds=50, engine=Here())
    expected = content(whole)
    folder, chance = tmp_path / "sweep", random.Random(0)
    reached = [0]
    for number in range(ROUNDS):
        # A round cannot do more than its share, however late it is killed.
        hold(folder, reached[-1] + 30)
        # Sizes of pieces differ from round to round, and in every second one a worker computes.
        size = f"piece_seconds={chance.choice((2.0, 3.0, 5.0))}"
        process = start(folder, *options, size, f"workers={number % 2}")
        wait_for(folder, process, reached[-1] + 1)
        time.sleep(chance.uniform(0.0, 0.03))
        process.kill()
        process.communicate()
        opened = open_sweep(folder)
        rows = opened.runs.select("cell", "run").collect()
        assert rows.is_unique().all() and rows.height == opened.coverage.runs >= reached[-1]
        reached.append(rows.height)
    assert len(set(reached)) == ROUNDS + 1 and reached[-1] < 720, reached
    release(folder)
    results = run_sweep(CheapWork(cells=2, runs=360), folder, workers=1)
    assert results.complete and content(results) == expected
    names = {"manifest.json", "pieces", "progress.json", "lock", "runs.parquet", "records.parquet"}
    assert {path.name for path in folder.iterdir()} == names and not list(folder.rglob("*.tmp"))


def workers_of(process: Fork) -> list[int]:
    """The worker processes of a sweep (what multiprocessing starts beside them is left alone)."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds workers through /proc")
def test_killed_workers(start, tmp_path):
    """SIGKILL to workers at random moments: they are replaced, and nothing is lost, failed or counted twice."""
    folder = tmp_path / "sweep"
    whole = run_sweep(CheapWork(cells=2, runs=200), tmp_path / "whole", engine=Here())
    hold(folder, 20)
    process = start(folder, "cells=2", "runs=200", "seconds=0.01", "workers=2", "piece_seconds=1.0")
    chance, killed, reached = random.Random(1), [], 0
    while len(killed) < ROUNDS:
        # The piece of a worker that was killed is the next to be begun, and a few may be under way or not yet kept:
        # it is over when eight more are. So no piece is killed three times, which would give it up.
        wait_for(folder, process, reached + 8)
        assert process.poll() is None
        time.sleep(chance.uniform(0.0, 0.04))
        with contextlib.suppress(OSError, IndexError):
            victim = chance.choice(workers_of(process))
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)
        reached = reached_in(folder)
        # A round cannot do more than its share, however late the next kill comes.
        hold(folder, reached + 18)
    release(folder)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert len(set(killed)) > ROUNDS // 2
    assert content(folder) == content(whole)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds workers through /proc")
def test_workers_end_with_the_main_process(start, tmp_path):
    """Nobody computes for a process that is gone, whatever it was doing."""
    process = start(tmp_path, "cells=3", "runs=1", "slow=600.0", "workers=2", "piece_seconds=1.0")
    while not (workers := workers_of(process)):
        time.sleep(0.01)
        assert process.poll() is None
    process.kill()
    process.communicate()
    # Far below what they were about to spend, and far above what a busy machine needs.
    deadline = time.monotonic() + 300
    while any(running(pid) for pid in workers):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def running(pid: int) -> bool:
    """Whether a process runs; one that has ended may wait for its parent to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Crash(BaseException):
    """The machine stops: from here on no file changes."""


def fail_after(monkeypatch, names: tuple[str, ...], calls: int, error: BaseException) -> None:
    """Let a number of calls of the system happen, and fail all from then on."""
    count = [0]
    for name in names:
        call = getattr(os, name)

        def counted(*arguments, name=name, call=call, **options):
            if name == "open" and not arguments[1] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                return call(*arguments, **options)  # reading changes no file
            count[0] += 1
            if count[0] > calls:
                raise error
            return call(*arguments, **options)

        monkeypatch.setattr(os, name, counted)


CHANGES = ("replace", "unlink", "mkdir", "open")


def test_a_crash_at_every_change_of_a_file(here, tmp_path, monkeypatch):
    """Wherever the machine stops, what is there counts once, and continuing ends in the same tables."""
    work = CheapWork(cells=2, runs=10, unlucky=True)
    monkeypatch.chdir(tmp_path)
    expected = content(run_sweep(work, "whole", piece_seconds=10))
    for changes in itertools.count():
        folder = tmp_path / str(changes)
        with monkeypatch.context() as patch:
            fail_after(patch, CHANGES, changes, Crash())
            with contextlib.suppress(Crash):
                run_sweep(work, folder, piece_seconds=3)
                break
        # Before the manifest there is no sweep yet.
        if (folder / "manifest.json").exists():
            assert open_sweep(folder).runs.select("cell", "run").collect().is_unique().all()
        assert content(run_sweep(work, folder, piece_seconds=4)) == expected
    assert changes > 40


def test_a_crash_while_failed_runs_are_retried(here, tmp_path, monkeypatch):
    """Runs that succeeded are never lost on the way, and failed ones are done once."""
    monkeypatch.chdir(tmp_path)
    work = CheapWork(cells=2, runs=10, unlucky=True)
    run_sweep(work, "first", piece_seconds=3)
    Path("lucky").touch()
    expected = content(run_sweep(work, "whole"))
    Path("lucky").unlink()
    for changes in itertools.count():
        folder = tmp_path / str(changes)
        run_sweep(work, folder, piece_seconds=3)
        Path("lucky").touch()
        with monkeypatch.context() as patch:
            fail_after(patch, CHANGES, changes, Crash())
            with contextlib.suppress(Crash):
                run_sweep(work, folder, retry_failed=True)
                break
        assert open_sweep(folder).coverage.runs - open_sweep(folder).coverage.failed >= 18
        assert content(run_sweep(work, folder, retry_failed=True)) == expected
        Path("lucky").unlink()
    assert changes > 10


def test_a_full_disk_keeps_what_is_there(here, tmp_path, monkeypatch):
    """Wherever the disk is full: an error that says so, no half files, and everything before it is kept."""
    work = CheapWork(cells=2, runs=10)
    expected = content(run_sweep(work, tmp_path / "whole", piece_seconds=10))
    full = OSError(errno.ENOSPC, "No space left on device")
    for writes in range(9):
        folder = tmp_path / str(writes)
        with monkeypatch.context() as patch:
            fail_after(patch, ("fsync",), writes, full)
            with pytest.raises(OSError, match="No space left"):
                run_sweep(work, folder, piece_seconds=3)
        assert not list(folder.rglob("*.tmp"))
        # The manifest comes first, then the progress, then a file for every piece.
        kept = 0 if writes < 1 else open_sweep(folder).runs.select("cell", "run").collect()
        assert writes < 1 or (kept.is_unique().all() and kept.height >= 2 * (writes - 2))
        assert content(run_sweep(work, folder, piece_seconds=3)) == expected


def test_a_file_that_cannot_grow(tmp_path):
    """A limit of the system on the size of files is an error like a full disk, not a broken file."""
    resource = pytest.importorskip("resource")
    program = (
        "import resource, signal, sys, cheap_work\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from tutelage.sweeps import run_sweep\n"
        "def limit(progress):\n"
        "    if progress.computed == 4: resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))\n"
        "if __name__ == '__main__':\n"
        "    run_sweep(cheap_work.CheapWork(), sys.argv[1], workers=1, piece_seconds=4, watch=limit)\n"
    )
    assert resource.RLIMIT_FSIZE
    outcome = run_program(program, tmp_path)
    assert outcome.returncode == 1 and "File too large" in outcome.stderr
    assert open_sweep(tmp_path / "sweep").coverage.runs == 4
    assert not list((tmp_path / "sweep").rglob("*.tmp"))
    expected = content(run_sweep(CheapWork(), tmp_path / "whole", engine=Here()))
    assert content(run_sweep(CheapWork(), tmp_path / "sweep", engine=Here())) == expected


DAMAGES = {
    "truncated": lambda content: content[: len(content) // 2],
    "flipped": lambda content: content[:100] + bytes([content[100] ^ 0xFF]) + content[101:],
    "emptied": lambda content: b"",
}


@pytest.mark.parametrize("damage", [*DAMAGES, "removed"])
def test_damaged_files_are_noticed_and_done_again(here, tmp_path, damage):
    """A damaged piece is reported, kept, and its runs are computed again, and no others."""
    work = CheapWork()
    expected = content(run_sweep(work, tmp_path, piece_seconds=4))
    path = tmp_path / "pieces" / "1-4-4.npz"
    wrong = b"" if damage == "removed" else DAMAGES[damage](path.read_bytes())
    path.unlink() if damage == "removed" else path.write_bytes(wrong)
    notices, told = [], []
    results = run_sweep(work, tmp_path, piece_seconds=4, notice=notices.append, watch=told.append)
    assert told[0].done == 56 and told[-1].computed == 4
    if damage != "removed":
        assert len(notices) == 2 and all(path.name in notice for notice in notices)
        assert [kept.read_bytes() for kept in (tmp_path / "damaged").iterdir()] == [wrong]
    assert content(results) == expected


def test_damaged_rows_are_not_read(here, tmp_path):
    """Reading leaves a damaged piece out, with a warning, also if its size is right."""
    run_sweep(CheapWork(cells=2, runs=8), tmp_path, piece_seconds=4)
    path = tmp_path / "pieces" / "1-4-4.npz"
    found, expected, lost = open_sweep(tmp_path), content(tmp_path), 0
    whole = path.read_bytes()
    for place in range(5, len(whole), len(whole) // 40):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rows = open_sweep(tmp_path).runs.collect().height
            if not caught:
                # A date in the directory of the archive, say: nothing that is read.
                assert content(tmp_path) == expected and rows == 16
                continue
        assert f"{path.name} " in str(caught[0].message) and "runs are left out" in str(caught[0].message)
        assert rows == 12
        lost += 1
    assert lost > 20
    path.unlink()
    with pytest.warns(UserWarning, match=rf"{path.name} has gone: 4 runs are left out"):
        assert found.runs.collect().height == 12


def test_a_damaged_manifest_is_written_again(here, tmp_path):
    """The pieces say for themselves to which specification they belong."""
    expected = content(run_sweep(CheapWork(), tmp_path))
    (tmp_path / "manifest.json").write_bytes(b"{")
    told = []
    assert content(run_sweep(CheapWork(), tmp_path, watch=told.append)) == expected
    assert told[0].done == 60


@pytest.mark.parametrize("damage", ["damaged", "absent"])
def test_without_a_manifest_pieces_of_another_sweep_are_kept(here, tmp_path, damage):
    """A folder whose manifest cannot be read is not taken over by another specification: its runs would be lost."""
    expected = content(run_sweep(CheapWork(), tmp_path))
    if damage == "damaged":
        (tmp_path / "manifest.json").write_bytes(b"{")
    else:
        (tmp_path / "manifest.json").unlink()
    with pytest.raises(OtherSweep, match="holds something else than a sweep"):
        run_sweep(CheapWork(seed=1), tmp_path)
    told = []
    assert content(run_sweep(CheapWork(), tmp_path, watch=told.append)) == expected and told[0].done == 60


def test_a_manifest_of_another_format_is_kept(here, tmp_path):
    """Only a damaged manifest is written again, whatever the folder is called."""
    folder = tmp_path / "damaged"
    run_sweep(CheapWork(), folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({"format": 9, "otherwise": manifest}))
    with pytest.raises(MalformedData, match="has format 9"):
        run_sweep(CheapWork(), folder)
    assert json.loads((folder / "manifest.json").read_text())["format"] == 9


def test_files_of_others_are_left_alone(here, tmp_path):
    """What a person or a program has put among the pieces stays there, whatever its name, and disturbs nothing."""
    expected = content(run_sweep(CheapWork(), tmp_path))
    others = [tmp_path / "pieces" / name for name in (".ipynb_checkpoints", "2024-notes.txt", "notes.npz", "9-9-9.npz")]
    others[0].mkdir()
    for path in others[1:]:
        path.write_text("mine")
    assert content(run_sweep(CheapWork(), tmp_path)) == expected
    assert all(path.exists() for path in others)


def test_pieces_of_another_specification_do_not_count(here, tmp_path):
    """Files that were copied from elsewhere are not read, and are replaced where a piece has to be."""
    run_sweep(CheapWork(seed=1), tmp_path / "other", piece_seconds=5)
    run_sweep(CheapWork(), tmp_path / "sweep", piece_seconds=4)
    expected = content(tmp_path / "sweep")
    for path in (tmp_path / "other" / "pieces").iterdir():
        (tmp_path / "sweep" / "pieces" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "sweep" / "pieces" / "0-0-4.npz").write_bytes((tmp_path / "other/pieces/0-0-5.npz").read_bytes())
    assert content(run_sweep(CheapWork(), tmp_path / "sweep", piece_seconds=4)) == expected


def test_overlapping_pieces_count_once(here, tmp_path):
    """Should two pieces ever cover the same run, one of them counts."""
    run_sweep(CheapWork(), tmp_path, piece_seconds=4)
    expected = content(tmp_path)
    run_sweep(CheapWork(), tmp_path / "other", piece_seconds=7)
    for path in (tmp_path / "other" / "pieces").iterdir():
        (tmp_path / "pieces" / path.name).write_bytes(path.read_bytes())
    assert open_sweep(tmp_path).runs.select("cell", "run").collect().is_unique().all()
    assert content(run_sweep(CheapWork(), tmp_path)) == expected


def test_no_pickle_is_read(here, tmp_path):
    """An archive with objects in it is refused."""
    run_sweep(CheapWork(), tmp_path)
    store = Store(tmp_path, "sweep")
    made = store.read("0-0-10")
    buffer = io.BytesIO()
    np.savez(buffer, **made.arrays | {"arrays/end": np.array([{"a": 1}] * 10, dtype=object)})
    store.path("0-0-10").write_bytes(buffer.getvalue())
    with pytest.warns(UserWarning, match=r"0-0-10.npz .* runs are left out"):
        assert len(open_sweep(tmp_path).arrays("end", 0)[0]) == 10


@pytest.mark.parametrize(
    "change",
    [
        lambda facts, arrays: facts.update(runs=9),
        lambda facts, arrays: facts.update(failed=11),
        lambda facts, arrays: arrays.pop("runs/loss"),
        lambda facts, arrays: arrays.update({"runs/loss": arrays["runs/loss"][:, None]}),
        lambda facts, arrays: arrays.update({"runs/loss": arrays["runs/loss"].astype("f4")}),
        lambda facts, arrays: arrays.update({"runs/more": np.array(1.0)}),
        lambda facts, arrays: arrays.update({"runs/loss": arrays["runs/loss"][:9]}),
        lambda facts, arrays: arrays.update({"runs/run": arrays["runs/run"] + 1}),
        lambda facts, arrays: arrays.update({"runs/status": arrays["runs/status"][:9]}),
        lambda facts, arrays: arrays.update({"runs/loss/null": np.zeros(3, bool)}),
        lambda facts, arrays: arrays.update({"arrays/end": arrays["arrays/end"][:9]}),
    ],
)
def test_pieces_that_contradict_themselves(here, tmp_path, change):
    """A piece with a right checksum that says something senseless costs its runs and nothing else."""
    results = run_sweep(CheapWork(), tmp_path, piece_seconds=10)
    expected, store = content(results), Store(tmp_path, "sweep")
    made = store.read("0-0-10")
    facts, arrays = json.loads(json.dumps(made.facts)), dict(made.arrays)
    change(facts, arrays)
    content_now = packed(replace(made, facts=facts, arrays=arrays), "sweep", results.manifest.specification)
    store.path("0-0-10").write_bytes(content_now)
    with pytest.warns(UserWarning, match=r"0-0-10.npz .*runs are left out"):
        assert open_sweep(tmp_path).runs.collect().height == 50
    assert content(run_sweep(CheapWork(), tmp_path, piece_seconds=10)) == expected
