"""What can be swept, and what a worker does of it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias

import polars as pl

from tutelage.sweeps.tables import Computed, Range, content_of
from tutelage.work.store import Content

Watch: TypeAlias = Callable[[int, int, int], None]
"""Called now and then with the numbers of ended runs, of all runs, and of steps."""


class Work(Protocol):
    """What can be swept. It is rebuilt in a worker from its document: never pickled to disk."""

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Work:
        """Return the work that a document describes."""
        ...

    def document(self) -> dict[str, Any]:
        """Return plain JSON: the complete resolved specification (arrays by content digest, embedded or in a file)."""
        ...

    def cells(self) -> pl.DataFrame:
        """Return one row per cell: `cell`, one column per grid field, and the number of `runs`."""
        ...

    def ranges(self, seconds: float, cores: int = 1) -> list[Range]:
        """Return ranges of similar cost near `seconds` on so many cores, in any order."""
        ...

    def run(self, covered: Range, *, progress: Watch | None = None) -> Computed:
        """Compute a range; the same rows whatever the cut."""
        ...


# What specifications mean, by their digests.
_DOCUMENTS: dict[str, tuple[Callable[[dict[str, Any]], Work], dict[str, Any]]] = {}
# The work that a thread does at present, with its digest: a work remembers what it has built for its last cell, so
# threads of one process must not share it.
_PRESENT = threading.local()


def introduce(specification: str, build: Callable[[dict[str, Any]], Work], document: dict[str, Any]) -> None:
    """Tell this process what a specification means.

    Args:
        specification: Its digest.
        build: Makes the work from the document.
        document: The resolved specification.
    """
    _DOCUMENTS[specification] = (build, document)


def compute(specification: str, covered: Range) -> Content:
    """Compute a range of runs.

    Args:
        specification: Digest of a specification that this process was told of.
        covered: The range.
    """
    if getattr(_PRESENT, "specification", None) != specification:
        build, document = _DOCUMENTS[specification]
        _PRESENT.work, _PRESENT.specification = build(document), specification
    return content_of(covered, _PRESENT.work.run(covered, progress=getattr(_PRESENT, "progress", None)))


@contextlib.contextmanager
def followed(progress: Watch) -> Iterator[None]:
    """Tell of runs that this thread computes, while it computes them."""
    _PRESENT.progress = progress
    try:
        yield
    finally:
        _PRESENT.progress = None
