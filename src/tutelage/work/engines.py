"""Engines: where pieces of work are computed, and what can come of one.

An engine takes keyed pieces, each a plain function of plain arguments, and yields what comes of every one as it comes:
it is done, it has raised an error, or it is lost because its worker was killed each time it was tried.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Hashable, Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from tutelage._configuration import available_cores
from tutelage.errors import TutelageError, invalid

Result = TypeVar("Result")
Prepare: TypeAlias = tuple[Callable[..., None], tuple[Any, ...]]
"""A function and its arguments, called once in every worker before its first piece."""
Notice: TypeAlias = Callable[[str], None]
"""Called with a sentence for whoever listens, or with the key of a piece that is begun."""


def ignore(_: Any) -> None:
    """Take note of nothing: what is told goes here where nobody listens."""


@dataclass(frozen=True)
class Done(Generic[Result]):
    """A piece is done.

    Attributes:
        value: What its function returned.
    """

    value: Result


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


Ending: TypeAlias = Done[Any] | Raised | Lost
Endings: TypeAlias = Generator[tuple[str, Ending], None, None]
"""Keys of pieces, and what came of each."""


class Call(NamedTuple):
    """What an engine has to know of a piece.

    Attributes:
        key: Tells it apart.
        function: A function of a module.
        arguments: Plain arguments.
        family: Pieces of one family need the same compiled programs; `None` if it has nothing in common with others.
    """

    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    family: Hashable = None


class Engine(ABC):
    """Where pieces are computed.

    Attributes:
        name: What a manifest says of it.
        workers: About how many pieces are computed at once.
        cores: How many cores a piece may use.
    """

    name: str
    workers: int
    cores: int = 1

    @abstractmethod
    def compute(self, calls: Iterable[Call], prepare: Prepare | None = None, begin: Notice = ignore) -> Endings:
        """Compute pieces, the first of them first, and yield the key and what came of every one as it comes.

        When the caller stops listening (closes the iterator, or is interrupted), all work ends at once.

        Args:
            calls: The pieces.
            prepare: Called in every worker before its first piece.
            begin: Called with the key of a piece when it is begun, where the engine knows.
        """


class Here(Engine):
    """This process: one piece after another."""

    name, workers = "this process", 1

    def __init__(self) -> None:
        self.cores = available_cores()

    def compute(self, calls: Iterable[Call], prepare: Prepare | None = None, begin: Notice = ignore) -> Endings:
        """Compute pieces one after another; see `Engine.compute`."""
        if prepare is not None:
            prepare[0](*prepare[1])
        for call in calls:
            begin(call.key)
            yield call.key, called(call.function, call.arguments)


def choose_engine(
    workers: int = 0, dask: str | None = None, notice: Notice = ignore, pieces: int | None = None
) -> Engine:
    """Return an engine.

    Args:
        workers: Number of processes; zero for one per core.
        dask: Use Dask instead: the address of a running scheduler, or `local:N` to start one with `N` workers.
        notice: Called with a sentence for what is not as it should be on a cluster.
        pieces: Number of pieces, if this process may compute them where a single worker would.

    Raises:
        InvalidArgument: If there cannot be so many workers, or the address is none.
        MissingDependency: If Dask is wanted and not installed.
    """
    if not isinstance(workers, Integral) or isinstance(workers, bool) or workers < 0:
        raise invalid("workers", "be a number of processes, or zero for one per core", repr(workers), "Choose zero")
    if dask is not None:
        from tutelage.work.cluster import Cluster

        return Cluster(dask, notice)
    processes = int(workers) or available_cores()
    if pieces is not None and min(processes, pieces) <= 1:
        return Here()
    from tutelage.work.processes import Processes

    return Processes(processes)


def called(function: Callable[..., Result], arguments: tuple[Any, ...]) -> Done[Result] | Raised:
    """Call a function, and return what came of it."""
    try:
        return Done(function(*arguments))
    except TutelageError as error:
        return Raised(str(error))
    except Exception as error:
        return Raised(f"{type(error).__name__}: {error}")
