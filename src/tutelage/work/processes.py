"""One process per core, each with one thread: pieces of work that do not know of each other.

Workers are long-lived: what a piece imports or compiles is there for the next one. A worker that dies is replaced and
its piece begun again, a limited number of times. Nothing that a worker computes reaches the disk but through the
process that started it.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections import Counter, deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from multiprocessing import connection, resource_tracker
from multiprocessing.process import BaseProcess
from typing import Any

from tutelage.errors import TutelageError
from tutelage.work.engines import Call, Done, Endings, Engine, Lost, Notice, Prepare, Raised, called, ignore

ATTEMPTS = 3
"""How often a piece is begun before it is given up, if its worker is killed every time."""

ONE_THREAD = {
    "JAX_NUM_CPU_DEVICES": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
}
"""Settings that keep the libraries of a worker on one thread; seen when they are first imported."""
_ONE_XLA_THREAD = "--xla_cpu_multi_thread_eigen=false"


class WorkersFailed(TutelageError):
    """Worker processes end before they have begun to work."""


def one_thread() -> dict[str, str]:
    """Return the settings that keep a new process on one thread, those of XLA added to what the user has set."""
    flags = os.environ.get("XLA_FLAGS", "")
    return {**ONE_THREAD, "XLA_FLAGS": flags if _ONE_XLA_THREAD in flags else f"{flags} {_ONE_XLA_THREAD}".strip()}


class Processes(Engine):
    """One process per core of this machine.

    Args:
        workers: Number of processes, at most one per piece.
    """

    def __init__(self, workers: int):
        self.workers = workers
        self.name = f"{workers} process{'es' * (workers > 1)}"

    def compute(self, calls: Iterable[Call], prepare: Prepare | None = None, begin: Notice = ignore) -> Endings:
        """Compute pieces in worker processes; see `Engine.compute`.

        A worker goes on with the family it has begun, and helps another worker with its own only when there is no other
        left.

        Raises:
            WorkersFailed: If workers end before they have begun to work, or cannot be prepared.
        """
        calls = list(calls)
        waiting = _Waiting(calls)
        attempts: Counter[str] = Counter()
        program = pickle.dumps(prepare)
        crew: list[_Worker] = []

        def employ(worker: _Worker) -> None:
            call = waiting.take(worker.family, {other.family for other in crew if other is not worker})
            attempts[call.key] += 1
            worker.give(call)
            begin(call.key)

        try:
            crew.extend(_Worker(program) for _ in range(min(self.workers, len(calls))))
            failed_starts, most = 0, ATTEMPTS * len(crew)
            while any(worker.call for worker in crew) or waiting:
                for worker in crew:
                    if worker.ready and worker.call is None and waiting:
                        employ(worker)
                connection.wait([handle for worker in crew for handle in worker.handles()])
                for position, worker in enumerate(crew):
                    for message in worker.messages():
                        if message is _READY:
                            # Who has worked once can work: only a long row of deaths means that something is wrong.
                            failed_starts, most, worker.ready = 0, 10 * ATTEMPTS * len(crew), True
                            continue
                        if not worker.ready:
                            raise WorkersFailed(message.reason)
                        key, worker.call = worker.call.key, None  # type: ignore[union-attr]
                        # The next piece first: this worker computes while the caller keeps what is done.
                        if waiting:
                            employ(worker)
                        yield key, message
                    if not worker.dead:
                        continue
                    ending = worker.end()
                    failed_starts += not worker.ready
                    if failed_starts >= most:
                        raise WorkersFailed(
                            f"Worker processes end before they begin ({ending}). A script that starts them has to do "
                            'so inside `if __name__ == "__main__":`.'
                        )
                    if worker.call is not None:
                        if attempts[worker.call.key] < ATTEMPTS:
                            waiting.put_back(worker.call)
                        else:
                            yield worker.call.key, Lost(f"its worker was killed {ATTEMPTS} times, {ending}")
                    crew[position] = _Worker(program)
        finally:
            for worker in crew:
                worker.kill()
            for worker in crew:
                worker.end()


_READY = "ready"


def _family(call: Call) -> Hashable:
    return call.key if call.family is None else call.family


class _Waiting:
    """Pieces that nobody works on, by family; the first are to be begun first."""

    def __init__(self, calls: Iterable[Call]):
        self._calls: dict[Hashable, deque[Call]] = {}
        for call in calls:
            self._calls.setdefault(_family(call), deque()).append(call)

    def __bool__(self) -> bool:
        return bool(self._calls)

    def take(self, own: Hashable, others: Collection[Hashable]) -> Call:
        """Take a piece for a worker that knows its `own` family, while others work on theirs."""
        free = (family for family in self._calls if family not in others)
        # Who helps has to compile what another has compiled already: best where most is left to do.
        chosen = own if own in self._calls else next(free, None)
        if chosen is None:
            chosen = max(self._calls, key=lambda family: len(self._calls[family]))
        calls = self._calls[chosen]
        call = calls.popleft()
        if not calls:
            del self._calls[chosen]
        return call

    def put_back(self, call: Call) -> None:
        """Let a piece wait again, as the first of all."""
        family = _family(call)
        self._calls = {family: deque([call, *self._calls.pop(family, ())]), **self._calls}


class _Worker:
    """A worker process, seen from the process that started it."""

    def __init__(self, program: bytes):
        self.ready = self.dead = self._ended = False
        self.call: Call | None = None
        self.family: Hashable = None
        self._pipe, theirs = multiprocessing.get_context("spawn").Pipe()
        self._process: BaseProcess = multiprocessing.get_context("spawn").Process(
            target=_work, args=(program, theirs), daemon=True
        )
        with _environment(one_thread()), _sigint_blocked():
            self._process.start()
        # The other end is the worker's alone, so that its death ends the conversation.
        theirs.close()

    def handles(self) -> list[Any]:
        return [self._pipe, self._process.sentinel]

    def give(self, call: Call) -> None:
        self.call, self.family = call, _family(call)
        # A worker that is dead already is noticed when its sentinel is.
        with contextlib.suppress(OSError):
            self._pipe.send((call.function, call.arguments))

    def messages(self) -> Iterator[Any]:
        """Yield what the worker has said, and notice whether it is dead."""
        alive = self._process.is_alive()
        try:
            while self._pipe.poll():
                message = self._pipe.recv()
                yield _READY if isinstance(message, str) else message
        except (EOFError, OSError, pickle.UnpicklingError):
            # Killed in the middle of a sentence.
            alive = False
        self.dead = not alive

    def kill(self) -> None:
        if not self._ended:
            self._process.kill()

    def end(self) -> str:
        """Wait for the end of the worker, and return how it ended in words."""
        if self._ended:
            return ""
        self._ended = True
        self._process.join(0.2)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
        self._pipe.close()
        code = self._process.exitcode or 0
        self._process.close()
        if code >= 0:
            return f"exit code {code}"
        names = {one.value: one.name for one in signal.Signals}
        name = names.get(-code, f"signal {-code}")
        return f"{name}, perhaps because memory ran out" if name == "SIGKILL" else name


def _work(program: bytes, pipe: connection.Connection) -> None:
    """What a worker process does: pieces, one after another, until nobody listens."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Python looks for garbage after every 700 new objects. Tracing makes millions of them and hardly any garbage: a
    # fifteenth of the time of a study.
    gc.set_threshold(20_000)
    # Standard output belongs to the process that started this one.
    sys.stdout.flush()
    os.dup2(2, 1)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    prepare = pickle.loads(program)
    prepared = Done(None) if prepare is None else called(*prepare)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        pipe.send(_READY if isinstance(prepared, Done) else prepared)
        while True:
            outcome = called(_call, (pipe.recv_bytes(),))
            try:
                pipe.send(outcome)
            except (pickle.PicklingError, TypeError, AttributeError) as error:
                pipe.send(Raised(f"{type(error).__name__}: {error}"))


def _call(message: bytes) -> Any:
    function, arguments = pickle.loads(message)
    return function(*arguments)


def _die_with_parent() -> None:
    """End this process when the one that started it has ended, however it ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


@contextlib.contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    """Set variables of the environment that a new process inherits."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach: it goes to the whole group, and the parent answers it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Starting the tracker, as the first worker otherwise would, unblocks the signal again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
