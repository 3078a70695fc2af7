"""Pieces of work on a Dask cluster: one that is running, or one on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
import uuid
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tutelage.errors import MissingDependency, TutelageError, invalid
from tutelage.work.engines import Call, Ending, Endings, Engine, Lost, Notice, Prepare, called, ignore
from tutelage.work.processes import one_thread
from tutelage.work.program import installed

try:
    import dask.config
    from distributed import Client, KilledWorker, LocalCluster, WorkerPlugin, as_completed
except ImportError as error:
    raise MissingDependency(
        "Sweeps on a cluster need Dask, which is not installed. Install it with: pip install 'tutelage[cluster]'"
    ) from error

_LOCAL = "local:"
_PATIENCE = 10  # Seconds to wait for the answer of a scheduler.
_PATIENCE_WITH_PROCESSES = 60  # Seconds to wait for processes that are about to begin, on a busy machine.
_NOT_BEGUN = "can only join a started process"  # The words of `distributed.process.AsyncProcess.join`.
_WAITING = 256  # Pieces that the scheduler knows of, at least: it asks a batch system for workers by their number.


class ClusterLost(TutelageError):
    """The scheduler does not answer, or has gone; what was done is kept."""


class _Preparation(WorkerPlugin):
    """Prepares every worker, also those that come later: one thread, and what the pieces need."""

    def __init__(self, prepare: Prepare | None):
        self._prepare = prepare

    def setup(self, worker: Any) -> None:
        if "jax" not in sys.modules:
            os.environ.update(one_thread())
        if self._prepare is not None:
            self._prepare[0](*self._prepare[1])


class Cluster(Engine):
    """A Dask cluster.

    Args:
        address: Address of a running scheduler, or `local:N` to start `N` workers on this machine.
        notice: Called with a sentence for what is not as it should be.

    Raises:
        InvalidArgument: If the number of workers is none.
    """

    def __init__(self, address: str, notice: Notice = ignore):
        number = address.removeprefix(_LOCAL)
        local = address.startswith(_LOCAL)
        if local and not (number.isdecimal() and int(number)):
            raise invalid("dask", "be the address of a scheduler or local:N", repr(address), "Try local:2")
        self.name, self.workers = f"dask {address}", int(number) if local else 1
        self._address, self._notice = address, notice

    def compute(self, calls: Iterable[Call], prepare: Prepare | None = None, begin: Notice = ignore) -> Endings:
        """Compute pieces on the cluster; see `Engine.compute`. Nobody is told when a piece is begun.

        Raises:
            ClusterLost: If the scheduler does not answer, or goes away.
        """
        waiting = deque(calls)
        if not waiting:
            return
        with _client(self._address) as client:
            _check_workers(client, self._notice)
            client.register_plugin(_Preparation(prepare), name=f"tutelage-{uuid.uuid4()}")
            running: dict[Any, str] = {}
            completed = as_completed(loop=client.loop)
            most = _WAITING

            def submit_more() -> None:
                # Some at a time, so that the scheduler stays quick, but long before workers have nothing left to do.
                nonlocal most
                if not waiting or len(running) > most // 2:
                    return
                self.workers = sum(client.nthreads().values())
                most = max(_WAITING, 4 * self.workers)
                while waiting and len(running) < most:
                    call = waiting.popleft()
                    future = client.submit(called, call.function, call.arguments, pure=False)
                    running[future] = call.key
                    completed.add(future)

            submit_more()
            for future in completed:
                key = running.pop(future)
                ending = _ending(future)
                submit_more()
                yield key, ending


def _ending(future: Any) -> Ending:
    try:
        return future.result()
    except KilledWorker as error:
        return Lost(f"its worker was killed again and again ({error.last_worker.address})")
    except (CancelledError, OSError) as error:
        raise ClusterLost("The scheduler has gone; what is done is kept.") from error


def _joined(address: str) -> Client:
    try:
        return Client(address, timeout=_PATIENCE, set_as_default=False, name="tutelage")
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise ClusterLost(f"There is no scheduler at {address} that lets us join ({error}).") from error


@contextlib.contextmanager
def _client(address: str) -> Iterator[Any]:
    """Connect to a scheduler; the one on this machine ends with the block, at once."""
    if not address.startswith(_LOCAL):
        # What goes wrong is said in our own words.
        logger = logging.getLogger("distributed.client")
        level = logger.level
        logger.setLevel(logging.CRITICAL)
        try:
            with _joined(address) as client:
                yield client
        finally:
            logger.setLevel(level)
        return
    settings = {
        "distributed.nanny.pre-spawn-environ": {
            **dask.config.get("distributed.nanny.pre-spawn-environ", {}),
            **one_thread(),
        },
        # A worker has the piece that it works on and no other: whoever kills it does not take others along.
        "distributed.scheduler.worker-saturation": 1.0,
    }
    with dask.config.set(settings):
        cluster: Any = LocalCluster(
            n_workers=int(address.removeprefix(_LOCAL)),
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # any port that is free
            # As plain processes: the system says when memory runs out.
            memory_limit=0,
            silence_logs=logging.CRITICAL,
        )
        try:
            with Client(cluster, set_as_default=False) as client:
                yield client
        except BaseException:
            # Interrupted: nobody waits for what workers are doing.
            cluster.sync(_settled, cluster, _PATIENCE)
            for nanny in cluster.workers.values():
                with contextlib.suppress(OSError, TypeError):
                    os.kill(nanny.pid, signal.SIGKILL)
            raise
        finally:
            _close(cluster)


async def _settled(cluster: Any, patience: float) -> None:
    """Let no worker be replaced from now on, and wait until the processes of replacements have begun."""
    nannies = list(cluster.workers.values())
    for nanny in nannies:
        nanny.close_gracefully(reason="all is done")
    deadline = time.monotonic() + patience
    while any(_is_beginning(nanny) for nanny in nannies) and time.monotonic() < deadline:
        await asyncio.sleep(0.02)


def _is_beginning(nanny: Any) -> bool:
    process = getattr(nanny.process, "process", None)
    return process is not None and process.pid is None


def _close(cluster: Any) -> None:
    """End the workers on this machine.

    A worker that dies between its registration and the next look of its nanny, which looks every 50 ms, is taken for
    the running one while its successor is about to begin: `WorkerProcess.start` is entered twice, and the first finds
    its message as the second waits for its process. To end a process that has not begun is an error of Dask's. So
    first no worker is replaced any more, and those that are about to begin do. Should one not be able to, for want of
    memory, say, that same error says so after all the work is done, and there is nothing to end.
    """
    cluster.sync(_settled, cluster, _PATIENCE_WITH_PROCESSES)
    try:
        cluster.close()
    except AssertionError as error:
        if str(error) != _NOT_BEGUN:
            raise


def _check_workers(client: Any, notice: Notice) -> None:
    """Notice workers with several threads, and refuse those without tutelage or with another version of it."""
    try:
        versions = client.run(version, "tutelage")
    except PackageNotFoundError as error:
        raise ClusterLost("A worker has no tutelage. Install the same version there as here.") from error
    for worker, found in versions.items():
        if found != installed():
            raise ClusterLost(f"The worker {worker} has tutelage {found}, and this is {installed()}. Install the same.")
    crowded = [worker for worker, threads in client.nthreads().items() if threads > 1]
    if crowded:
        notice(f"{len(crowded)} workers have several threads each; start them with --nthreads 1.")
