"""One process a core, each with one thread: pieces of work that do not know of each other.

Workers are long-lived: what a piece imports or compiles is there for the next one. A worker that dies is replaced and
its piece begun again, a limited number of times. Nothing that a worker computes reaches the disk but through the
process that started it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Collection, Generator, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeAlias, TypeVar

from tutelage._configuration import available_cores
from tutelage.errors import TutelageError

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")
Prepare: TypeAlias = tuple[Callable[..., None], tuple[Any, ...]]

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


class PieceFailed(TutelageError):
    """A piece of work raised an error; the pieces that were done before it are kept."""


class WorkersFailed(TutelageError):
    """Worker processes end before they have begun to work."""


@dataclass(frozen=True)
class Raised:
    """A piece raised an error.

    Attributes:
        reason: The error, in words.
    """

    reason: str


@dataclass(frozen=True)
class Lost:
    """The worker of a piece was killed, each time it was tried.

    Attributes:
        reason: How it ended, in words.
    """

    reason: str


@dataclass(frozen=True)
class Done(Generic[Result]):
    """A piece is done.

    Attributes:
        value: What its function returned.
    """

    value: Result


def one_thread() -> dict[str, str]:
    """Return the settings that keep a new process on one thread, those of XLA added to what the user has set."""
    flags = os.environ.get("XLA_FLAGS", "")
    return {**ONE_THREAD, "XLA_FLAGS": flags if _ONE_XLA_THREAD in flags else f"{flags} {_ONE_XLA_THREAD}".strip()}


def in_processes(
    function: Callable[..., Result],
    pieces: Mapping[str, tuple[Any, ...]],
    workers: int = 0,
    dask: str | None = None,
    family: Callable[[str], Hashable] | None = None,
    begin: Callable[[str], None] | None = None,
) -> Generator[tuple[str, Result], None, None]:
    """Call a function for each piece, spread over processes, and yield results as they come.

    Args:
        function: A function of a module, called with the arguments of a piece.
        pieces: Plain arguments, by the name of the piece; the first are begun first.
        workers: Number of processes; zero for one a core. With one worker or one piece all is done in this process.
        dask: Use Dask instead: the address of a running scheduler, or `local:N` to start one with `N` workers.
        family: As in `spread`; Dask is not told.
        begin: Called with the name of a piece when it is begun; with Dask, never.

    Raises:
        PieceFailed: If a piece raises or its worker is killed again and again; which one, and what it said.
    """
    workers = min(workers or available_cores(), len(pieces))
    if dask is not None:
        from tutelage.sweeps.cluster import spread_on_dask

        outcomes = spread_on_dask(function, pieces.items(), dask)
    elif workers <= 1:
        outcomes = _one_by_one(function, pieces, begin or _ignore)
    else:
        outcomes = spread(function, pieces.items(), workers, family=family, begin=begin)
    with contextlib.closing(outcomes):
        for name, outcome in outcomes:
            if not isinstance(outcome, Done):
                raise PieceFailed(f"{name}: {outcome.reason}")
            yield name, outcome.value


def _one_by_one(function: Callable[..., Result], pieces: Mapping[str, tuple[Any, ...]], begin: Callable[[str], None]):
    for name, arguments in pieces.items():
        begin(name)
        yield name, called(function, arguments)


def _ignore(_: Any) -> None:
    pass


def spread(
    function: Callable[..., Result],
    pieces: Iterable[tuple[Key, tuple[Any, ...]]],
    workers: int,
    prepare: Prepare | None = None,
    attempts: int = ATTEMPTS,
    family: Callable[[Key], Hashable] | None = None,
    begin: Callable[[Key], None] | None = None,
) -> Generator[tuple[Key, Done[Result] | Raised | Lost], None, None]:
    """Call a function for each piece in worker processes, and yield what comes of every one as it comes.

    When the caller stops listening (closes the iterator, or is interrupted), the workers are killed at once.

    Args:
        function: A function of a module.
        pieces: A key and plain arguments each; the first are begun first.
        workers: Number of processes, at most one a piece.
        prepare: A function and its arguments, called once in every worker before its first piece.
        attempts: How often a piece is begun if its worker is killed.
        family: Tells which pieces need the same compiled programs: a worker goes on with the family it has begun, and
            helps another worker with its own only when there is no other left. None: no piece has anything in common.
        begin: Called with the key of a piece when a worker begins it.

    Raises:
        WorkersFailed: If workers end before they have begun to work, or cannot be prepared.
    """
    waiting = _Waiting(((key, arguments, 1) for key, arguments in pieces), family or (lambda key: key))
    program = pickle.dumps((function, prepare))
    crew: list[_Worker] = []

    def employ(worker: _Worker) -> None:
        task = waiting.take(worker.family, {other.family for other in crew if other is not worker})
        worker.family = waiting.family(task[0])
        worker.give(task)
        if begin is not None:
            begin(task[0])

    try:
        crew.extend(_Worker(program) for _ in range(min(workers, len(waiting))))
        failed_starts, most = 0, ATTEMPTS * len(crew)
        while any(worker.task for worker in crew) or waiting:
            for worker in crew:
                if worker.ready and worker.task is None and waiting:
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
                    key, worker.task = worker.task[0], None  # type: ignore[index]
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
                        f"Worker processes end before they begin ({ending}). A script that starts them has to do so "
                        'inside `if __name__ == "__main__":`.'
                    )
                if worker.task is not None:
                    key, arguments, attempt = worker.task
                    if attempt < attempts:
                        waiting.put_back((key, arguments, attempt + 1))
                    else:
                        yield key, Lost(f"its worker was killed {attempt} times, {ending}")
                crew[position] = _Worker(program)
    finally:
        for worker in crew:
            worker.kill()
        for worker in crew:
            worker.end()


_READY = "ready"
_Task: TypeAlias = tuple[Any, tuple[Any, ...], int]  # key, arguments, and which attempt it is


class _Waiting:
    """Pieces that nobody works on, by family; the first are to be begun first."""

    def __init__(self, tasks: Iterable[_Task], family: Callable[[Any], Hashable]):
        self.family = family
        self._tasks: dict[Hashable, deque[_Task]] = {}
        for task in tasks:
            self._tasks.setdefault(family(task[0]), deque()).append(task)
        self._number = sum(map(len, self._tasks.values()))

    def __len__(self) -> int:
        return self._number

    def take(self, own: Hashable, others: Collection[Hashable]) -> _Task:
        """Take a piece for a worker that knows its `own` family, while others work on theirs."""
        free = (family for family in self._tasks if family not in others)
        # Who helps has to compile what another has compiled already: best where most is left to do.
        chosen = own if own in self._tasks else next(free, None)
        if chosen is None:
            chosen = max(self._tasks, key=lambda family: len(self._tasks[family]))
        tasks = self._tasks[chosen]
        task = tasks.popleft()
        if not tasks:
            del self._tasks[chosen]
        self._number -= 1
        return task

    def put_back(self, task: _Task) -> None:
        """Let a piece wait again, as the first of all."""
        family = self.family(task[0])
        self._tasks = {family: deque([task, *self._tasks.pop(family, ())]), **self._tasks}
        self._number += 1


class _Worker:
    """A worker process, seen from the process that started it."""

    def __init__(self, program: bytes):
        self.ready = self.dead = self._buried = False
        self.task: _Task | None = None
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

    def give(self, task: _Task) -> None:
        self.task = task
        # A worker that is dead already is noticed when its sentinel is.
        with contextlib.suppress(OSError):
            self._pipe.send(task[1])

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
        if not self._buried:
            self._process.kill()

    def end(self) -> str:
        """Bury the worker, and return how it ended in words."""
        if self._buried:
            return ""
        self._buried = True
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
    # Standard output belongs to the process that started this one.
    sys.stdout.flush()
    os.dup2(2, 1)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    function, prepare = pickle.loads(program)
    prepared = Done(None) if prepare is None else called(*prepare)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        pipe.send(_READY if isinstance(prepared, Done) else prepared)
        while True:
            outcome = called(function, pipe.recv())
            try:
                pipe.send(outcome)
            except (pickle.PicklingError, TypeError, AttributeError) as error:
                pipe.send(Raised(f"{type(error).__name__}: {error}"))


def _die_with_parent() -> None:
    """End this process when the one that started it has ended, however it ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def called(function: Callable[..., Result], arguments: tuple[Any, ...]) -> Done[Result] | Raised:
    """Call a function, and return what came of it."""
    try:
        return Done(function(*arguments))
    except TutelageError as error:
        return Raised(str(error))
    except Exception as error:
        return Raised(f"{type(error).__name__}: {error}")


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
