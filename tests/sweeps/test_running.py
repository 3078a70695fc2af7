"""Sweeps come out the same whatever the engine, the pieces and the interruptions; what fails is a row."""

import json
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from cheap_work import CheapWork
from sweep_results import content

from tutelage.errors import InvalidArgument
from tutelage.sweeps import FolderInUse, OtherSweep, Range, open_sweep, run_sweep, workers
from tutelage.sweeps.tables import content_of
from tutelage.work.engines import Here
from tutelage.work.lock import holder, locked


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """What a sweep gives without workers and with nothing going wrong."""
    return content(run_sweep(CheapWork(), tmp_path_factory.mktemp("one") / "sweep", piece_seconds=20, engine=Here()))


@pytest.mark.parametrize(("workers", "seconds"), [(1, 3.0), (2, 7.0), (3, 1.0)])
def test_results_do_not_depend_on_workers_or_pieces(tmp_path, uninterrupted, workers, seconds):
    """Bit for bit the same tables and arrays."""
    results = run_sweep(CheapWork(), tmp_path / "sweep", workers=workers, piece_seconds=seconds)
    assert results.complete and content(results) == uninterrupted


def test_the_most_expensive_pieces_come_first(here, tmp_path):
    """Costs fall."""
    run_sweep(CheapWork(runs=20), tmp_path, piece_seconds=7)
    assert [one.runs for one in here] == sorted((one.runs for one in here), reverse=True)
    assert {one.runs for one in here} == {7, 6}


@pytest.mark.parametrize("second", [1.0, 3.0, 4.0, 20.0])
def test_another_size_of_pieces_continues(here, tmp_path, monkeypatch, uninterrupted, second):
    """What was done with pieces of one size is neither lost nor done again with another."""
    work = CheapWork()

    def interrupted(progress):
        if progress.computed >= 27:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(work, tmp_path, piece_seconds=3, watch=interrupted)
    assert open_sweep(tmp_path).coverage.runs == 27
    here.clear()
    results = run_sweep(work, tmp_path, piece_seconds=second)
    assert sum(one.runs for one in here) == 33 and all(one.cost == one.runs for one in here)
    assert content(results) == uninterrupted
    here.clear()
    assert content(run_sweep(work, tmp_path)) == uninterrupted and not here


def test_failed_runs_are_rows_and_can_be_retried(here, tmp_path, monkeypatch):
    """A failed run has a reason; `retry_failed` computes the pieces again that have one, and no others."""
    monkeypatch.chdir(tmp_path)
    work = CheapWork(unlucky=True)
    results = run_sweep(work, "sweep", piece_seconds=4)
    failed = results.runs.collect().filter(status="failed")
    assert failed["run"].to_list() == [6, 13] * 3 and set(failed["reason"]) == {"bad luck"}
    here.clear()
    run_sweep(work, "sweep")
    assert not here
    Path("lucky").touch()
    results = run_sweep(work, "sweep", retry_failed=True)
    assert [(one.cell, one.first, one.runs) for one in here] == [(cell, at, 4) for cell in range(3) for at in (4, 12)]
    expected = content(run_sweep(work, "lucky sweep", piece_seconds=4))
    assert content(results) == expected and results.coverage.failed == 0


def test_a_piece_that_raises_is_failed_rows(tmp_path):
    """An error in a piece gives a row with the reason for each of its runs, and the sweep goes on."""
    results = run_sweep(CheapWork(raising=True), tmp_path, workers=1, piece_seconds=4)
    failed = results.runs.collect().filter(status="failed")
    assert results.complete and failed["cell"].to_list() == [1] * 4 and failed["run"].to_list() == [0, 1, 2, 3]
    assert set(failed["reason"]) == {"ArithmeticError: no luck"}
    assert len(results.arrays("end", 1)[0]) == 16 and len(results.arrays("end", 0)[0]) == 20


def test_a_piece_that_kills_its_worker_is_given_up(tmp_path):
    """After three workers have died on a piece its runs are failed rows; the others are not touched."""
    results = run_sweep(CheapWork(deadly=True, cells=2), tmp_path, workers=2, piece_seconds=4)
    failed = results.runs.collect().filter(status="failed")
    assert results.complete and failed["run"].to_list() == [4, 5, 6, 7] and set(failed["cell"]) == {0}
    assert "killed 3 times, SIGKILL" in failed["reason"][0]


def test_two_processes_do_not_share_a_folder(here, tmp_path):
    """The second is told who is there; the lock ends with its holder."""
    code = (
        "import sys, pathlib\nfrom tutelage.work.lock import locked\n"
        "with locked(pathlib.Path(sys.argv[1]), 'an experiment'):\n    print('mine', flush=True)\n    sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout.readline() == "mine\n"
    with pytest.raises(FolderInUse, match=rf"process {other.pid} on .* since .*\(an experiment\)"):
        run_sweep(CheapWork(), tmp_path)
    assert holder(tmp_path)["pid"] == other.pid and not here
    other.kill()
    other.communicate()
    assert holder(tmp_path) is None
    assert run_sweep(CheapWork(), tmp_path).complete


def test_a_glance_at_the_lock_does_not_keep_others_out(tmp_path):
    """Looking is not holding."""
    assert holder(tmp_path / "nowhere") is None
    with locked(tmp_path):
        assert holder(tmp_path)["command"]
    assert holder(tmp_path) is None


def test_another_specification_is_refused(here, tmp_path):
    """The folder stays as it is, and the message says what differs."""
    run_sweep(CheapWork(), tmp_path / "sweep")
    before = (tmp_path / "sweep" / "manifest.json").read_bytes()
    with pytest.raises(OtherSweep, match=r"`seed` is 0 there and 1 in yours"):
        run_sweep(CheapWork(seed=1), tmp_path / "sweep")
    assert (tmp_path / "sweep" / "manifest.json").read_bytes() == before
    (tmp_path / "diary").mkdir()
    (tmp_path / "diary" / "monday.txt").write_text("dear diary")
    with pytest.raises(OtherSweep, match=r"something else than a sweep \(monday\.txt\)"):
        run_sweep(CheapWork(), tmp_path / "diary")


@pytest.mark.parametrize(
    "options",
    [{"workers": -1}, {"workers": 1.5}, {"piece_seconds": 0.0}, {"piece_seconds": math.nan}, {"dask": "local:none"}],
)
def test_bad_options_are_refused(tmp_path, options):
    """Before anything is written."""
    with pytest.raises(InvalidArgument, match=next(iter(options))):
        run_sweep(CheapWork(), tmp_path / "sweep", **options)
    assert not (tmp_path / "sweep").exists()


def test_the_manifest_says_what_and_how(here, tmp_path):
    """Version, command, specification with its digest, machine, sessions with their times."""
    run_sweep(CheapWork(), tmp_path, command="tutelage sweep cheap.toml")
    run_sweep(CheapWork(), tmp_path, command="tutelage sweep cheap.toml --workers 7")
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["document"] == CheapWork().document() and manifest["grid"]["runs"] == [20, 20, 20]
    assert manifest["command"] == "tutelage sweep cheap.toml" and manifest["machine"] and manifest["version"]
    assert [session["runs"] for session in manifest["sessions"]] == [60, 0]
    assert all(session["seconds"] > 0 for session in manifest["sessions"])


def test_progress_is_told(here, tmp_path):
    """From nothing to everything, with an estimate of the time left that ends at zero."""
    told = []
    run_sweep(CheapWork(unlucky=True), tmp_path, piece_seconds=5, watch=told.append)
    assert list(dict.fromkeys(progress.done for progress in told)) == list(range(0, 61, 5))
    assert told[1].running == ("0-0-5",) and told[-1].running == ()
    assert told[0].seconds_left == 60.0 and told[5].seconds_left > 0 and told[-1].seconds_left == 0.0
    assert told[-1].failed == 6 and told[-1].rate > 0 and told[-1].cost_done == told[-1].cost == 60.0


def test_threads_do_not_share_what_they_build():
    """A work remembers what it has built; in a process with several threads each has its own, also for two sweeps."""
    built = []

    def build(document):
        built.append(document)
        return CheapWork(**document)

    workers.introduce("one", build, {"seed": 1})
    workers.introduce("two", build, {"seed": 2})
    few = Range(0, 0, 2)
    expected = {name: content_of(few, CheapWork(seed=seed).run(few)) for name, seed in (("one", 1), ("two", 2))}

    def compute(name):
        found = workers.compute(name, few)
        return np.array_equal(found.arrays["arrays/end"], expected[name].arrays["arrays/end"])

    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        assert all(pool.submit(compute, name).result() for pool in (first, second) for name in ("one", "one", "two"))
    assert [document["seed"] for document in built] == [1, 2, 1, 2]
