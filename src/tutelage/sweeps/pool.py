"""One process a core, each with one thread: pieces of work that do not know of each other."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, TypeVar

from tutelage._configuration import available_cores
from tutelage.errors import TutelageError

Result = TypeVar("Result")


class PieceFailed(TutelageError):
    """A piece of work raised an error; the pieces that were done before it are kept."""


def _prepare_worker() -> None:
    # Seen before JAX is imported: a worker has a core to itself.
    os.environ["JAX_NUM_CPU_DEVICES"] = "1"
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false"
    # Ctrl-C reaches the whole group of processes; the parent answers it, and ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def in_processes(
    function: Callable[..., Result], pieces: Mapping[str, tuple[Any, ...]], workers: int = 0
) -> Iterator[tuple[str, Result]]:
    """Call a function for each piece, spread over processes, and yield results as they come.

    Args:
        function: A function of a module, called with the arguments of a piece.
        pieces: Plain arguments, by the name of the piece; the first are begun first.
        workers: Number of processes; zero for one a core. With one worker or one piece all is done in this process.

    Raises:
        PieceFailed: If a piece raises; which one, and what it said.
    """
    workers = min(workers or available_cores(), len(pieces))
    if workers <= 1:
        for name, arguments in pieces.items():
            yield name, _checked(name, lambda arguments=arguments: function(*arguments))
        return
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_prepare_worker)
    try:
        futures = {pool.submit(function, *arguments): name for name, arguments in pieces.items()}
        for future in as_completed(futures):
            yield futures[future], _checked(futures[future], future.result)
        pool.shutdown()
    finally:
        # After an error or an interruption nobody waits for the rest.
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


def _checked(name: str, call: Callable[[], Result]) -> Result:
    try:
        return call()
    except TutelageError as error:
        raise PieceFailed(f"{name}: {error}") from error
    except Exception as error:
        raise PieceFailed(f"{name}: {type(error).__name__}: {error}") from error
