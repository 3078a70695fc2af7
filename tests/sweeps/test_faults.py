"""Nothing is lost or counted twice, whatever is killed, damaged or full."""

import contextlib
import errno
import io
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cheap_work import CheapWork, hold, release
from sweep_results import content

from tutelage import files
from tutelage.errors import MalformedData
from tutelage.sweeps import OtherSweep, entries, ledger, open_sweep, run_sweep
from tutelage.sweeps import engine as module
from tutelage.sweeps.store import Store
from tutelage.work import documents

HELPERS = Path(__file__).parents[1] / "helpers"
ROUNDS = 20


@pytest.fixture
def here(here, monkeypatch):
    """Compute in this process, do not wait for the disk, and join parts as soon as there are three."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    monkeypatch.setattr(module, "Store", lambda *arguments: Store(*arguments, many=3))


def start(folder: Path, *options: str) -> subprocess.Popen:
    """Sweep in a process of its own."""
    return subprocess.Popen(
        [sys.executable, str(HELPERS / "cheap_work.py"), str(folder), *options],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(HELPERS), *filter(None, sys.path)])},
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def wait_for(folder: Path, specification: str, process: subprocess.Popen, runs: int) -> None:
    """Wait until a sweep has some runs, or has ended."""
    while process.poll() is None and ledger.read_ledger(folder, specification, thorough=False).runs < runs:
        time.sleep(0.01)


@pytest.mark.slow
def test_killed_main_process(tmp_path):
    """SIGKILL at random moments, again and again, ends in the same tables as an uninterrupted run."""
    options = ("cells=2", "runs=1500", "workers=1")
    whole = run_sweep(CheapWork(cells=2, runs=1500), tmp_path / "whole", workers=1, shard_seconds=50)
    expected, specification = content(whole), whole.manifest["specification"]
    folder, chance = tmp_path / "sweep", random.Random(0)
    reached = [0]
    for _ in range(ROUNDS):
        # A round cannot do more than its share, however late it is killed.
        hold(folder, reached[-1] + 140)
        # Sizes of shards differ from round to round.
        process = start(folder, *options, f"shard_seconds={chance.choice((2.0, 3.0, 5.0))}")
        wait_for(folder, specification, process, reached[-1] + 1)
        time.sleep(chance.uniform(0.0, 0.06))
        process.kill()
        process.communicate()
        opened = open_sweep(folder)
        rows = opened.runs.select("cell", "run").collect()
        assert rows.is_unique().all() and rows.height == opened.ledger.runs >= reached[-1]
        reached.append(rows.height)
    assert len(set(reached)) == ROUNDS + 1 and reached[-1] < 3000, reached
    release(folder)
    last = start(folder, *options)
    assert last.communicate() and last.returncode == 0
    results = open_sweep(folder)
    assert results.complete and content(results) == expected
    assert {path.name for path in folder.iterdir()} <= {
        "manifest.json",
        "cells.parquet",
        "parts",
        "progress.json",
        "lock",
    }
    # Three files, an entry and its copy.
    assert len(list((folder / "parts").iterdir())) == 5


def workers_of(process: subprocess.Popen) -> list[int]:
    """The worker processes of a sweep (what multiprocessing starts beside them is left alone)."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds workers through /proc")
def test_killed_workers(tmp_path):
    """SIGKILL to workers at random moments: they are replaced, and nothing is lost, failed or counted twice."""
    work, folder = CheapWork(cells=2, runs=200, seconds=0.01), tmp_path / "sweep"
    whole = run_sweep(work, tmp_path / "whole", workers=2)
    specification = whole.manifest["specification"]
    hold(folder, 20)
    process = start(folder, "cells=2", "runs=200", "seconds=0.01", "workers=2", "shard_seconds=1.0")
    chance, killed, reached = random.Random(1), [], 0
    while len(killed) < ROUNDS:
        # The shard of a worker that was killed is the next to be begun, and a few may be under way or not yet kept:
        # it is over when eight more are. So no shard is killed three times, which would give it up.
        wait_for(folder, specification, process, reached + 8)
        assert process.poll() is None
        time.sleep(chance.uniform(0.0, 0.04))
        with contextlib.suppress(OSError, IndexError):
            victim = chance.choice(workers_of(process))
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)
        reached = ledger.read_ledger(folder, specification, thorough=False).runs
        # A round cannot do more than its share, however late the next kill comes.
        hold(folder, reached + 18)
    release(folder)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert len(set(killed)) > ROUNDS // 2
    assert content(folder) == content(whole)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds workers through /proc")
def test_workers_end_with_the_main_process(tmp_path):
    """Nobody computes for a process that is gone, whatever it was doing."""
    process = start(tmp_path, "cells=3", "runs=1", "slow=600.0", "workers=2", "shard_seconds=1.0")
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
    expected = content(run_sweep(work, "whole", shard_seconds=10))
    for changes in itertools.count():
        folder = tmp_path / str(changes)
        with monkeypatch.context() as patch:
            fail_after(patch, CHANGES, changes, Crash())
            with contextlib.suppress(Crash):
                run_sweep(work, folder, shard_seconds=3)
                break
        # Before the manifest there is no sweep yet.
        if (folder / "manifest.json").exists():
            assert open_sweep(folder).runs.select("cell", "run").collect().is_unique().all()
        assert content(run_sweep(work, folder, shard_seconds=4)) == expected
    assert changes > 60


def test_a_crash_while_failed_runs_are_retried(here, tmp_path, monkeypatch):
    """Runs that succeeded are never lost on the way, and failed ones are done once."""
    monkeypatch.chdir(tmp_path)
    work = CheapWork(cells=2, runs=10, unlucky=True)
    run_sweep(work, "first", shard_seconds=3)
    Path("lucky").touch()
    expected = content(run_sweep(work, "whole"))
    Path("lucky").unlink()
    for changes in itertools.count():
        folder = tmp_path / str(changes)
        run_sweep(work, folder, shard_seconds=3)
        Path("lucky").touch()
        with monkeypatch.context() as patch:
            fail_after(patch, CHANGES, changes, Crash())
            with contextlib.suppress(Crash):
                run_sweep(work, folder, retry_failed=True)
                break
        assert open_sweep(folder).ledger.runs - open_sweep(folder).ledger.failed >= 18
        assert content(run_sweep(work, folder, retry_failed=True)) == expected
        Path("lucky").unlink()
    assert changes > 10


def test_a_full_disk_keeps_what_is_there(here, tmp_path, monkeypatch):
    """Wherever the disk is full: an error that says so, no half files, and everything before it is kept."""
    work = CheapWork(cells=2, runs=10)
    expected = content(run_sweep(work, tmp_path / "whole", shard_seconds=10))
    full = OSError(errno.ENOSPC, "No space left on device")
    for writes in range(0, 40, 3):
        folder = tmp_path / str(writes)
        with monkeypatch.context() as patch:
            fail_after(patch, ("fsync",), writes, full)
            with pytest.raises(OSError, match="No space left"):
                run_sweep(work, folder, shard_seconds=3)
        assert not list(folder.rglob("*.tmp"))
        # The grid and the manifest come first, then three files and an entry for every part.
        kept = 0 if writes < 2 else open_sweep(folder).runs.select("cell", "run").collect()
        assert writes < 2 or (kept.is_unique().all() and kept.height >= 2 * ((writes - 2) // 5))
        assert content(run_sweep(work, folder, shard_seconds=3)) == expected


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
        "    run_sweep(cheap_work.CheapWork(), sys.argv[1], workers=1, shard_seconds=4, watch=limit)\n"
    )
    assert resource.RLIMIT_FSIZE
    (tmp_path / "program.py").write_text(program)
    outcome = subprocess.run(
        [sys.executable, str(tmp_path / "program.py"), str(tmp_path / "sweep")],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(HELPERS), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 1 and "File too large" in outcome.stderr
    assert open_sweep(tmp_path / "sweep").ledger.runs == 4
    assert not list((tmp_path / "sweep").rglob("*.tmp"))
    expected = content(run_sweep(CheapWork(), tmp_path / "whole", workers=1))
    assert content(run_sweep(CheapWork(), tmp_path / "sweep", workers=1)) == expected


DAMAGES = {
    "truncated": lambda content: content[: len(content) // 2],
    "flipped": lambda content: content[:100] + bytes([content[100] ^ 0xFF]) + content[101:],
    "emptied": lambda content: b"",
}


@pytest.mark.parametrize("ending", ["json", "runs.parquet", "records.parquet", "arrays.npz"])
@pytest.mark.parametrize("damage", [*DAMAGES, "removed"])
def test_damaged_files_are_noticed_and_done_again(here, tmp_path, monkeypatch, ending, damage):
    """A damaged part is reported and its runs are computed again, and no others."""
    monkeypatch.setattr(module, "Store", lambda *arguments: Store(*arguments, many=1000, large=0))
    work = CheapWork()
    expected = content(run_sweep(work, tmp_path, shard_seconds=4))
    path = sorted((tmp_path / "parts").glob(f"*.{ending}"))[3]
    if damage == "removed":
        path.unlink()
    else:
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
    notices, told = [], []
    results = run_sweep(work, tmp_path, shard_seconds=4, notice=notices.append, watch=told.append)
    assert told[0].done == 56 and told[-1].computed == 4
    if (ending, damage) != ("json", "removed"):
        assert len(notices) == 1 and path.name in notices[0]
    assert content(results) == expected


def test_damaged_rows_are_not_read(here, tmp_path, monkeypatch):
    """Reading leaves a damaged part out, with a warning, also if its size is right."""
    monkeypatch.setattr(module, "Store", lambda *arguments: Store(*arguments, many=1000, large=0))
    run_sweep(CheapWork(), tmp_path, shard_seconds=4)
    path = sorted((tmp_path / "parts").glob("*.runs.parquet"))[3]
    path.write_bytes(DAMAGES["flipped"](path.read_bytes()))
    with pytest.warns(UserWarning, match=rf"{path.name} does not match its checksum: 4 runs are left out"):
        assert open_sweep(tmp_path).runs.collect().height == 56
    path.unlink()
    with pytest.warns(
        UserWarning, match=rf"{path.name} is absent \(4 of 4 runs are lost\): its lost runs are left out"
    ):
        assert open_sweep(tmp_path).runs.collect().height == 56


@pytest.mark.parametrize("name", ["manifest.json", "cells.parquet"])
def test_damaged_manifest_or_grid_is_written_again(here, tmp_path, name):
    """The parts say for themselves to which specification they belong."""
    expected = content(run_sweep(CheapWork(), tmp_path))
    (tmp_path / name).write_bytes(b"{")
    told = []
    assert content(run_sweep(CheapWork(), tmp_path, watch=told.append)) == expected
    assert told[0].done == 60


@pytest.mark.parametrize("damage", ["damaged", "absent"])
def test_without_a_manifest_parts_of_another_sweep_are_kept(here, tmp_path, damage):
    """A folder whose manifest cannot be read is not taken over by another specification: its runs would be lost."""
    expected = content(run_sweep(CheapWork(), tmp_path))
    if damage == "damaged":
        (tmp_path / "manifest.json").write_bytes(b"{")
    else:
        (tmp_path / "manifest.json").unlink()
    with pytest.raises(OtherSweep, match=rf"manifest.json is {damage}"):
        run_sweep(CheapWork(seed=1), tmp_path)
    told = []
    assert content(run_sweep(CheapWork(), tmp_path, watch=told.append)) == expected and told[0].done == 60


def test_a_manifest_of_another_format_is_kept(here, tmp_path):
    """Only a damaged manifest is written again, whatever the folder is called."""
    folder = tmp_path / "damaged"
    run_sweep(CheapWork(), folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({"format": 3, "otherwise": manifest}))
    with pytest.raises(MalformedData, match="has format 3"):
        run_sweep(CheapWork(), folder)
    assert json.loads((folder / "manifest.json").read_text())["format"] == 3


def test_files_of_others_are_left_alone(here, tmp_path):
    """What a person or a program has put among the parts stays there, whatever its name, and disturbs nothing."""
    expected = content(run_sweep(CheapWork(), tmp_path))
    others = [tmp_path / "parts" / name for name in (".ipynb_checkpoints", "2024-notes.txt", "notes.json")]
    others[0].mkdir()
    for path in others[1:]:
        path.write_text("mine")
    assert content(run_sweep(CheapWork(), tmp_path)) == expected
    assert all(path.exists() for path in others)


def test_parts_of_another_specification_do_not_count(here, tmp_path):
    """Files that were copied from elsewhere are removed, not read."""
    run_sweep(CheapWork(seed=1), tmp_path / "other")
    run_sweep(CheapWork(), tmp_path / "sweep")
    expected = content(tmp_path / "sweep")
    for path in (tmp_path / "other" / "parts").iterdir():
        (tmp_path / "sweep" / "parts" / f"9{path.name[1:]}").write_bytes(path.read_bytes())
    notices = []
    assert content(run_sweep(CheapWork(), tmp_path / "sweep", notice=notices.append)) == expected
    assert "another specification" in notices[0]


def write_entry(parts: Path, number: int, document: dict) -> None:
    """Write the entry of a part as the library does, whatever it says."""
    document.pop("checksum")
    text = files.json_text(documents.seal(document))
    (parts / entries.entry_name(number, text)).write_bytes(text)


def test_overlapping_parts_count_once(here, tmp_path, monkeypatch):
    """Should two parts ever cover the same run, one of them counts."""
    run_sweep(CheapWork(), tmp_path)
    expected = content(tmp_path)
    (path,) = (tmp_path / "parts").glob("*.copy.json")
    document = json.loads(path.read_text())
    for kind, (_, checksum) in document["files"].items():
        name = f"{checksum[:16]}.{entries.ENDINGS[kind]}"
        copied = path.with_name(f"00000099.{name}")
        copied.write_bytes(path.with_name(f"{path.name[:8]}.{name}").read_bytes())
    write_entry(path.parent, 99, {**document, "replaces": []})
    assert content(tmp_path) == expected and open_sweep(tmp_path).ledger.runs == 60
    assert content(run_sweep(CheapWork(), tmp_path)) == expected


def test_no_pickle_is_read(here, tmp_path):
    """An archive with objects in it is refused, even under a matching checksum."""
    import numpy as np

    run_sweep(CheapWork(), tmp_path)
    (path,) = (tmp_path / "parts").glob("*.copy.json")
    document = json.loads(path.read_text())
    for entry in path.parent.glob("*.json"):
        entry.unlink()
    buffer = io.BytesIO()
    np.savez(buffer, **{"0/end/0": np.array([{"a": 1}], dtype=object)})
    bad = [len(buffer.getvalue()), files.digest(buffer.getvalue())]
    for piece in document["pieces"]:
        piece["files"]["arrays"] = bad
    document["files"]["arrays"] = [len(document["pieces"]) * bad[0], "0" * 64]
    path.with_name(f"{path.name[:8]}.{'0' * 16}.arrays.npz").write_bytes(buffer.getvalue() * len(document["pieces"]))
    write_entry(path.parent, int(path.name[:8]), document)
    with pytest.raises(MalformedData, match="holds objects, which would have to be unpickled"):
        open_sweep(tmp_path).arrays("end", 0)
