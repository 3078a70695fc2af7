"""What a worker does of a sweep, which it rebuilds from its document: nothing is pickled to disk."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from tutelage.sweeps.tables import Range, content_of
from tutelage.work.store import Content

if TYPE_CHECKING:
    from tutelage.sweeps.sweep import Sweep

Watch: TypeAlias = Callable[[int, int, int], None]
"""Called now and then with the numbers of ended runs, of all runs, and of steps."""


# What specifications mean, by their digests.
_DOCUMENTS: dict[str, tuple[Callable[[dict[str, Any]], Sweep], dict[str, Any]]] = {}
# The sweep that a thread works on at present, with its digest: it remembers what it has built for its last cells, so
# that threads of one process must not share it.
_PRESENT = threading.local()


def introduce(specification: str, build: Callable[[dict[str, Any]], Sweep], document: dict[str, Any]) -> None:
    """Tell this process what a specification means.

    Args:
        specification: Its digest.
        build: Makes the sweep from the document.
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
        _PRESENT.sweep, _PRESENT.specification = build(document), specification
    return content_of(covered, _PRESENT.sweep.run(covered, progress=getattr(_PRESENT, "progress", None)))


@contextlib.contextmanager
def followed(progress: Watch) -> Iterator[None]:
    """Tell of runs that this thread computes, while it computes them."""
    _PRESENT.progress = progress
    try:
        yield
    finally:
        _PRESENT.progress = None
