"""Shards on a Dask cluster: one that is running, or one on this machine."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from importlib.metadata import version
from typing import Any

from tutelage.errors import MissingDependency, TutelageError, invalid
from tutelage.sweeps.contract import Shard, Work
from tutelage.sweeps.parts import Part, failed_part
from tutelage.sweeps.pool import one_thread
from tutelage.sweeps.store import specification_digest
from tutelage.sweeps.tasks import compute, introduce

try:
    import dask.config
    from distributed import Client, KilledWorker, LocalCluster, WorkerPlugin, as_completed
except ImportError as error:
    raise MissingDependency(
        "Sweeps on a cluster need Dask, which is not installed. Install it with: pip install 'tutelage[cluster]'"
    ) from error

_LOCAL = "local:"
_PATIENCE = 10  # Seconds to wait for the answer of a scheduler.
_WAITING = 256  # Shards that the scheduler knows of, at least: it asks a batch system for workers by their number.

Notice = Callable[[str], None]


class ClusterLost(TutelageError):
    """The scheduler does not answer, or has gone; what was done is kept."""


class _Introduction(WorkerPlugin):
    """Tells every worker, also those that come later, what a specification means."""

    def __init__(self, specification: str, build: Callable[[dict[str, Any]], Work], document: dict[str, Any]):
        self._arguments = (specification, build, document)

    def setup(self, worker: Any) -> None:
        introduce(*self._arguments)


def dask_engine(
    address: str, notice: Notice
) -> Callable[[Work, Sequence[Shard]], Generator[tuple[Shard, Part], None, None]]:
    """Return an engine that computes shards with Dask.

    Args:
        address: Address of a running scheduler, or `local:N` to start `N` workers on this machine.
        notice: Called with a sentence for what is not as it should be.

    Raises:
        InvalidArgument: If the number of workers is not one.
    """
    if address.startswith(_LOCAL) and not (address.removeprefix(_LOCAL).isdecimal() and int(address[len(_LOCAL) :])):
        raise invalid("dask", "be the address of a scheduler or local:N", repr(address), "Try local:2")

    def engine(work: Work, shards: Sequence[Shard]) -> Generator[tuple[Shard, Part], None, None]:
        if not shards:
            return
        document = work.document()
        specification = specification_digest(document)
        with _client(address) as client:
            build = type(work).from_document  # type: ignore[attr-defined]
            client.register_plugin(_Introduction(specification, build, document), name=f"tutelage-{specification}")
            _check_workers(client, notice)
            yield from _computed(client, specification, shards)

    return engine


def _computed(client: Client, specification: str, shards: Sequence[Shard]) -> Iterator[tuple[Shard, Part]]:
    waiting = deque(shards)
    running: dict[Any, Shard] = {}
    completed = as_completed(loop=client.loop)

    def submit_more() -> None:
        most = max(_WAITING, 4 * sum(client.nthreads().values()))
        while waiting and len(running) < most:
            shard = waiting.popleft()
            future = client.submit(compute, specification, shard, pure=False)
            running[future] = shard
            completed.add(future)

    submit_more()
    for future in completed:
        shard = running.pop(future)
        try:
            part = future.result()
        except KilledWorker as error:
            part = failed_part(shard, f"its worker was killed again and again ({error.last_worker.address})")
        except (CancelledError, OSError) as error:
            raise ClusterLost("The scheduler has gone; what is done is kept.") from error
        # Few enough at a time that the scheduler stays quick, and before the caller keeps what is done.
        if len(running) < _WAITING // 2:
            submit_more()
        yield shard, part


@contextlib.contextmanager
def _client(address: str) -> Iterator[Client]:
    """Connect to a scheduler; the one on this machine ends with the block, at once."""
    if not address.startswith(_LOCAL):
        try:
            client = Client(address, timeout=_PATIENCE, set_as_default=False, name="tutelage")
        except (OSError, ValueError) as error:
            raise ClusterLost(f"There is no scheduler at {address} ({error}).") from error
        with client:
            yield client
        return
    environment = {**dask.config.get("distributed.nanny.pre-spawn-environ", {}), **one_thread()}
    with (
        dask.config.set({"distributed.nanny.pre-spawn-environ": environment}),
        LocalCluster(
            n_workers=int(address.removeprefix(_LOCAL)),
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # any port that is free
            # As plain processes: the system says when memory runs out.
            memory_limit=0,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        try:
            yield client
        except BaseException:
            # Interrupted: nobody waits for what workers are doing.
            for nanny in cluster.workers.values():
                nanny.auto_restart = False
                with contextlib.suppress(OSError, TypeError):
                    os.kill(nanny.pid, signal.SIGKILL)
            raise


def _check_workers(client: Client, notice: Notice) -> None:
    """Notice workers with several threads, and refuse those with another version of tutelage."""
    for worker, found in client.run(version, "tutelage").items():
        if found != version("tutelage"):
            raise ClusterLost(
                f"The worker {worker} has tutelage {found}, and this is {version('tutelage')}. Install the same."
            )
    crowded = [worker for worker, threads in client.nthreads().items() if threads > 1]
    if crowded:
        notice(f"{len(crowded)} workers have several threads each; start them with --nthreads 1.")
