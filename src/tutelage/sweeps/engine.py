"""The engine of sweeps: what is not there yet is cut into shards, computed by workers, and kept as it comes."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any, TypeAlias

from tutelage._configuration import available_cores
from tutelage.errors import invalid
from tutelage.files import checked_path
from tutelage.sweeps.contract import Shard, Work
from tutelage.sweeps.identity import specification_digest
from tutelage.sweeps.parts import Part, failed_part
from tutelage.sweeps.pool import Done, Lost, Raised, spread
from tutelage.sweeps.reading import Results, open_sweep
from tutelage.sweeps.store import Store, check_folder
from tutelage.sweeps.tasks import compute, introduce
from tutelage.work.lock import locked, this_command

SHARD_SECONDS = 10.0
"""Cost of a shard, in seconds, unless told otherwise."""
_TELL_EVERY = 1.0  # Seconds between two reports for whoever watches from elsewhere.

Spreading: TypeAlias = Callable[..., Generator[tuple[Shard, Done[Part] | Raised | Lost], None, None]]


@dataclass(frozen=True)
class Progress:
    """How far a sweep is.

    Attributes:
        runs: Number of runs of the sweep.
        done: Number of runs that are there.
        failed: Number of them that failed.
        computed: Number of runs that this process has computed.
        seconds: Time since it began.
        cost: Estimated seconds on one core, of all that was left when it began.
        cost_done: Of what it has computed since.
    """

    runs: int
    done: int
    failed: int
    computed: int
    seconds: float
    cost: float
    cost_done: float

    @property
    def rate(self) -> float:
        """Runs per second."""
        return self.computed / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimated time until the end; unknown before something is done."""
        if self.cost_done <= 0:
            return None if self.cost > 0 else 0.0
        return self.seconds * max(self.cost - self.cost_done, 0.0) / self.cost_done

    def document(self) -> dict[str, Any]:
        """Return the progress as plain data for JSON."""
        return {**asdict(self), "rate": self.rate, "seconds_left": self.seconds_left}


def run_sweep(
    work: Work,
    folder: str | Path,
    *,
    workers: int = 0,
    dask: str | None = None,
    shard_seconds: float = SHARD_SECONDS,
    retry_failed: bool = False,
    command: str | None = None,
    watch: Callable[[Progress], None] | None = None,
    notice: Callable[[str], None] | None = None,
) -> Results:
    """Compute what a sweep's folder lacks, and return the results.

    The results do not depend on the engine, the number of workers, the size of shards, or interruptions.

    Args:
        work: What is swept.
        folder: Where results are kept; a folder that is not complete is continued.
        workers: Number of processes; zero for one a core.
        dask: Use Dask: the address of a running scheduler, or `local:N` to start one with `N` workers.
        shard_seconds: Cost of a shard, in seconds on one core.
        retry_failed: Whether to compute runs again that failed.
        command: What the manifest says of how this was started; the command line by default.
        watch: Called with the progress at the beginning and whenever a shard is done.
        notice: Called with a sentence for whatever is damaged and computed again.

    Raises:
        FolderInUse: If another process works in the folder.
        OtherSweep: If the folder belongs to another specification, or holds something else; nothing in it is touched.
        Unreadable: If something in it cannot be read.
    """
    if not isinstance(workers, Integral) or workers < 0:
        raise invalid("workers", "be a number of processes, or zero for one a core", repr(workers), "Choose zero")
    if not 0 < shard_seconds < math.inf:
        raise invalid("shard_seconds", "be a positive number of seconds", shard_seconds, "Choose between 1 and 600")
    spreading, name = _spreading(workers, dask, notice or _ignore)
    command = this_command() if command is None else command
    path = checked_path("folder", folder)
    # Before the lock, which is a file: nothing is written to a folder that is not ours.
    check_folder(path, work)
    with locked(path, command):
        store = Store(path, work, notice or _ignore)
        if retry_failed:
            store.drop_failed()
        with store.session(command, name):
            _complete(store, work, shard_seconds, spreading, watch or _ignore)
    return open_sweep(path)


def _complete(
    store: Store, work: Work, shard_seconds: float, spreading: Spreading, watch: Callable[[Progress], None]
) -> None:
    missing = store.total - store.done
    # Estimating costs takes a moment: not if there is nothing to do.
    shards = store.open_shards(work.shards(shard_seconds)) if missing else []
    if sum(shard.runs for shard in shards) != missing:
        raise RuntimeError(f"shards cover {sum(shard.runs for shard in shards)} of {missing} missing runs")
    began, told = time.perf_counter(), 0.0
    cost = sum(shard.cost for shard in shards)
    progress = Progress(store.total, store.done, store.failed, 0, 0.0, cost, 0.0)
    watch(progress)
    store.show_progress(progress.document())
    document = work.document()
    specification = specification_digest(document)
    prepare = (introduce, (specification, type(work).from_document, document))
    with contextlib.closing(spreading(compute, [(shard, (specification, shard)) for shard in shards], prepare)) as done:
        for shard, outcome in done:
            part = outcome.value if isinstance(outcome, Done) else failed_part(shard, outcome.reason)
            store.commit(part)
            progress = replace(
                progress,
                done=progress.done + part.runs,
                failed=progress.failed + part.failed,
                computed=progress.computed + part.runs,
                seconds=time.perf_counter() - began,
                cost_done=progress.cost_done + shard.cost,
            )
            watch(progress)
            if progress.seconds - told > _TELL_EVERY:
                told = progress.seconds
                store.show_progress(progress.document())
    store.tidy()


def _spreading(workers: int, dask: str | None, notice: Callable[[str], None]) -> tuple[Spreading, str]:
    """Return how shards are spread, and what the manifest says of it."""
    if dask is None:
        count = workers or available_cores()
        return (lambda function, pieces, prepare: spread(function, pieces, count, prepare)), f"{count} processes"
    from tutelage.sweeps.cluster import checked_address, spread_on_dask

    address = checked_address(dask)
    return (
        lambda function, pieces, prepare: spread_on_dask(function, pieces, address, prepare, notice)
    ), f"dask {address}"


def _ignore(value: Any) -> None:
    pass
