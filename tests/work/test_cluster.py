"""Sweeps on Dask: bit for bit the same as in processes, also when workers are killed."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import Future
from pathlib import Path

import pytest
from cheap_work import CheapWork
from sweep_results import content, run_program

from tutelage.errors import MissingDependency
from tutelage.sweeps import open_sweep, run_sweep
from tutelage.work import cluster as module
from tutelage.work.cluster import Cluster, ClusterLost
from tutelage.work.engines import Call, Done, Here
from tutelage.work.lock import holder

HELPERS = Path(__file__).parents[1] / "helpers"


@pytest.fixture(scope="module")
def without_dask(tmp_path_factory):
    return content(run_sweep(CheapWork(), tmp_path_factory.mktemp("here"), engine=Here()))


def test_workers_of_its_own(tmp_path, without_dask):
    """`local:2` starts two workers of one thread each, and gives the same tables."""
    results = run_sweep(CheapWork(), tmp_path, dask="local:2", piece_seconds=3)
    assert content(results) == without_dask
    assert results.manifest.sessions[0].engine == "dask local:2"


def test_pieces_of_studies():
    """What studies spread over processes goes to Dask in the same way, with one thread for the libraries."""
    names = ("JAX_NUM_CPU_DEVICES", "OMP_NUM_THREADS", "POLARS_MAX_THREADS")
    calls = [Call(name, os.getenv, (name,)) for name in names]
    assert dict(Cluster("local:1").compute(calls)) == dict.fromkeys(names, Done("1"))


def test_a_running_scheduler_and_a_killed_worker(tmp_path, without_dask):
    """Joining a scheduler gives the same; a worker that dies costs nothing but time; none may have many threads."""
    from distributed import LocalCluster

    work = CheapWork(seconds=0.05)
    with LocalCluster(
        n_workers=2, threads_per_worker=2, dashboard_address="127.0.0.1:0", memory_limit=0, silence_logs=50
    ) as cluster:
        notices, killed = [], []

        def kill_one(progress):
            if progress.computed >= 9 and not killed:
                killed.append(True)
                os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

        results = run_sweep(
            work, tmp_path / "dask", dask=cluster.scheduler_address, piece_seconds=3, watch=kill_one,
            notice=notices.append,
        )  # fmt: skip
    assert content(results) == without_dask and results.coverage.failed == 0
    assert notices == ["2 workers have several threads each; start them with --nthreads 1."]


class Scheduler:
    """Stands for a scheduler of a thousand workers; the pieces that it has are done in their order."""

    loop = None

    def __init__(self):
        self.pieces = deque()

    def register_plugin(self, plugin, name):
        pass

    def run(self, function, *arguments):
        return {"worker": function(*arguments)}

    def nthreads(self):
        return {"worker": 1000}

    def submit(self, called, function, arguments, pure):
        future = Future()
        future.set_result(called(function, arguments))
        return future

    def add(self, future):
        self.pieces.append(future)

    def __iter__(self):
        while self.pieces:
            yield self.pieces.popleft()


def test_a_large_cluster_has_enough_to_do(monkeypatch):
    """Every worker has a piece as long as there are so many."""
    scheduler, number = Scheduler(), 9000
    monkeypatch.setattr(module, "_client", lambda address: contextlib.nullcontext(scheduler))
    monkeypatch.setattr(module, "as_completed", lambda loop: scheduler)
    calls = [Call(str(piece), int, (piece,)) for piece in range(number)]
    for done, (key, ending) in enumerate(Cluster("tcp://anywhere:1").compute(calls), start=1):
        assert int(key) == ending.value == done - 1
        assert len(scheduler.pieces) >= min(1000, number - done)
    assert done == number


def test_an_interrupted_cluster_ends_at_once(tmp_path, without_dask):
    """Ctrl-C does not wait for what workers are doing, and what is done is kept."""
    began, threads = [], threading.active_count()

    def interrupt(progress):
        if progress.computed and not began:
            began.append(time.perf_counter())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(CheapWork(runs=1, cells=9, slow=600), tmp_path, dask="local:2", piece_seconds=1, watch=interrupt)
    # Far below what the workers were about to spend, and far above what a busy machine needs.
    assert time.perf_counter() - began[0] < 100
    assert open_sweep(tmp_path).coverage.runs == 1 and holder(tmp_path) is None
    assert threading.active_count() < threads + 20


def test_no_scheduler(tmp_path, monkeypatch):
    """An address where nobody answers is a clear error."""
    monkeypatch.setattr("tutelage.work.cluster._PATIENCE", 0.5)
    with pytest.raises(ClusterLost, match=r"There is no scheduler at tcp://127\.0\.0\.1:9"):
        run_sweep(CheapWork(), tmp_path, dask="tcp://127.0.0.1:9")


def test_without_dask(tmp_path):
    """Without the extra, the error says how to install it, and nothing is written."""
    code = (
        "import sys; sys.modules['distributed'] = None\n"
        "from cheap_work import CheapWork\nfrom tutelage.sweeps import run_sweep\n"
        f"run_sweep(CheapWork(), {str(tmp_path / 'sweep')!r}, dask='local:1')"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(HELPERS), *filter(None, sys.path)])}
    outcome = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    last = outcome.stderr.strip().splitlines()[-1]
    assert MissingDependency.__name__ in last and "pip install 'tutelage[cluster]'" in last
    assert not (tmp_path / "sweep").exists()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes certificates with openssl")
def test_tls(tmp_path, without_dask, monkeypatch):
    """With the files that the documentation makes, a scheduler is joined; without them it is not."""
    import dask.config
    from distributed import LocalCluster
    from distributed.security import Security

    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subject = ["-subj", "/CN=tutelage", "-keyout", str(key), "-out", str(certificate), "-days", "1"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject], check=True, capture_output=True
    )
    tls = {"distributed.comm.tls.ca-file": str(certificate), "distributed.comm.require-encryption": True}
    for role in ("scheduler", "worker", "client"):
        tls |= {f"distributed.comm.tls.{role}.cert": str(certificate), f"distributed.comm.tls.{role}.key": str(key)}
    with (
        dask.config.set(tls),
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            protocol="tls://",
            security=Security(),
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
    ):
        assert cluster.scheduler_address.startswith("tls://")
        results = run_sweep(CheapWork(), tmp_path / "sweep", dask=cluster.scheduler_address)
        monkeypatch.setattr("tutelage.work.cluster._PATIENCE", 1)
        with dask.config.set({"distributed.comm.tls.client.cert": None}), pytest.raises(ClusterLost):
            run_sweep(CheapWork(), tmp_path / "other", dask=cluster.scheduler_address)
    assert content(results) == without_dask


def test_a_piece_that_kills_its_workers_is_given_up(tmp_path):
    """After some deaths its runs are failed rows; the others are done."""
    results = run_sweep(CheapWork(deadly=True, cells=1, runs=8), tmp_path, dask="local:1", piece_seconds=4)
    failed = results.runs.collect().filter(status="failed")
    assert results.complete and failed["run"].to_list() == [4, 5, 6, 7]
    assert failed["reason"][0].startswith("its worker was killed again and again")


@pytest.mark.slow
def test_a_worker_that_is_being_replaced_when_all_is_done(tmp_path):
    """Finished work does not fail because a worker died as it registered and its successor is slow to begin."""
    # Happens now and then on a busy machine, and always with a nanny that looks seldom.
    program = (
        "import sys, time, dask, cheap_work\n"
        "from distributed.nanny import WorkerProcess\n"
        "from distributed.utils import get_mp_context\n"
        "from tutelage.sweeps import run_sweep\n"
        "kind, begun = get_mp_context().Process, []\n"
        "begin = kind.start\n"
        "def slowly(process):\n"
        "    begun.append(process)\n"
        "    if len(begun) == 2: WorkerProcess._init_msg_interval = 2.0\n"
        "    if len(begun) == 3: time.sleep(2.5)\n"
        "    begin(process)\n"
        "if __name__ == '__main__':\n"
        "    kind.start = slowly\n"
        "    dask.config.set({'distributed.scheduler.allowed-failures': 1})\n"
        "    work = cheap_work.CheapWork(deadly=True, cells=1, runs=8, seconds=0.02)\n"
        "    results = run_sweep(work, sys.argv[1], dask='local:1', piece_seconds=4)\n"
        "    assert results.complete and results.coverage.failed == 4 and len(begun) == 3\n"
    )
    outcome = run_program(program, tmp_path)
    assert outcome.returncode == 0, outcome.stderr
