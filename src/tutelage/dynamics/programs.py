"""The programs of a batch of runs, compiled side by side."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

from jaxtyping import PyTree

from tutelage.objectives.tiles import Thoroughness, at_once, in_tiles, to_compile

_meanwhile: ContextVar[Callable[[], None] | None] = ContextVar("meanwhile", default=None)


@contextmanager
def meanwhile(work: Callable[[], None]) -> Iterator[None]:
    """Do some work while a program is waited for that others compile; nothing, if none is."""
    token = _meanwhile.set(work)
    try:
        yield
    finally:
        _meanwhile.reset(token)


@lru_cache
def _compilers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(at_once(), thread_name_prefix="compiling")


class Programs:
    """Programs for tiles of rows, each compiled once, in the background.

    A program that will be needed is ordered early: it is traced at once, by the thread that asks, and compiled by
    another one while work goes on. Made for one batch of runs: what is shared has the same structure in all calls.
    """

    def __init__(self):
        self._compiled: dict[tuple[int, int], Future] = {}

    def order(
        self, program: Callable[..., PyTree], tile: int, shared: tuple, rows: PyTree, thoroughness: Thoroughness
    ) -> None:
        """Begin to compile a program, if that has not begun; the arguments are those of `to_compile`.

        Nothing is done for functions that are evaluated at once.
        """
        name = id(program), tile
        if name not in self._compiled and hasattr(program, "lower"):
            self._compiled[name] = _compilers().submit(to_compile(program, tile, shared, rows, thoroughness))

    def __call__(
        self, program: Callable[..., PyTree], tile: int, shared: tuple, rows: PyTree, thoroughness: Thoroughness
    ) -> PyTree:
        """Apply a program to rows, as `in_tiles` does."""
        self.order(program, tile, shared, rows, thoroughness)
        compiled = self._compiled.get((id(program), tile))
        if compiled is None:
            return in_tiles(program, tile, shared, rows)
        if not compiled.done() and (work := _meanwhile.get()) is not None:
            _meanwhile.set(None)
            work()
        return in_tiles(program, tile, shared, rows, compiled.result())
