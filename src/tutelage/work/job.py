"""Jobs: pieces of work that are computed by an engine and kept in a store as they come.

    pieces  →  engine (this process, processes, a cluster)  →  store, one file per piece

Studies, audits, sweeps and the demo are jobs. What is stored already is not computed again; what is interrupted goes on
where it stopped.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tutelage.errors import TutelageError
from tutelage.work.engines import Call, Done, Engine, Notice, Prepare, ignore
from tutelage.work.store import Content, Store, packed

_TRUSTED_SHARE = 0.05  # Of the cost: from there on the speed of this machine is known well enough.


class PieceFailed(TutelageError):
    """A piece of work raised an error; the pieces that were done before it are kept."""


@dataclass(frozen=True)
class Piece:
    """A piece of work: a plain function of plain arguments, which does not know of other pieces.

    Attributes:
        name: What people read, which tells it apart within the job.
        function: A function of a module, from the arguments to a `Content`.
        arguments: Plain arguments.
        store: Where its content is kept; `None` if it is not.
        key: Its key in the store.
        stamp: A digest of what its content depends on.
        cost: About how many seconds it takes on one core.
        size: How much it counts for in the progress: its number of runs, say.
        family: Pieces of one family need the same compiled programs; `None` if it has nothing in common with others.
    """

    name: str
    function: Callable[..., Content]
    arguments: tuple[Any, ...]
    store: Store | None = None
    key: str = ""
    stamp: str = ""
    cost: float = 1.0
    size: int = 1
    family: Hashable = None

    def stored(self, notice: Notice) -> Content | None:
        """Return its content if it is there already, whole and of the same stamp."""
        return None if self.store is None else self.store.whole(self.key, self.stamp, notice)


@dataclass(frozen=True)
class Progress:
    """How far a job is.

    Attributes:
        total: Size of all pieces.
        done: Size of those that are there.
        failed: How much of that failed.
        computed: Size of what this process has computed.
        seconds: Time since it began.
        cost: Estimated seconds on one core, of all that was left when it began.
        cost_done: Of what it has computed since.
        workers: How many pieces are computed at once.
        running: Names of the pieces that are being computed, where the engine knows.
    """

    total: int
    done: int = 0
    failed: int = 0
    computed: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    cost_done: float = 0.0
    workers: int = 1
    running: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Share of the estimated work that is done, of what was left when it began."""
        return min(self.cost_done / self.cost, 1.0) if self.cost > 0 else 1.0

    @property
    def rate(self) -> float:
        """Size per second."""
        return self.computed / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float:
        """Estimated time until the end."""
        rest = max(self.cost - self.cost_done, 0.0)
        # At first the estimates are all there is; later, how fast this machine is compared with them.
        if self.cost_done < _TRUSTED_SHARE * self.cost or not self.cost_done:
            return rest / self.workers
        return self.seconds * rest / self.cost_done


Watch = Callable[[Progress], None]
"""Called with the progress at the beginning, and whenever a piece is begun or done."""


def carry_out(
    pieces: Sequence[Piece],
    engine: Engine,
    *,
    prepare: Prepare | None = None,
    failed: Callable[[Piece, str], Content] | None = None,
    before: Progress | None = None,
    watch: Watch | None = None,
    notice: Notice | None = None,
) -> Iterator[tuple[Piece, Mapping[str, Any]]]:
    """Compute pieces, keep what they computed, and yield each with its facts, in the order in which they are done.

    Args:
        pieces: What is to be computed, the first of them first.
        engine: Where.
        prepare: Called in every worker before its first piece.
        failed: Makes the content of a piece that raised or was lost, from the reason; without it that is an error.
        before: How far the job is already, if pieces are only a part of it.
        watch: Called with the progress.
        notice: Called with a sentence if something is in the place of a piece.

    Raises:
        PieceFailed: If a piece raises, or its worker is killed again and again: which one, and what it said.
    """
    by_name = {piece.name: piece for piece in pieces}
    if len(by_name) < len(pieces):
        raise RuntimeError("two pieces of a job have the same name")
    watch, notice = watch or ignore, notice or ignore
    began, running = time.monotonic(), dict[str, None]()
    start = before or Progress(sum(piece.size for piece in pieces))
    progress = replace(start, cost=sum(piece.cost for piece in pieces), workers=engine.workers)

    def told(**changes: Any) -> None:
        nonlocal progress
        seconds = time.monotonic() - began
        progress = replace(progress, **changes, seconds=seconds, workers=engine.workers, running=tuple(running))
        watch(progress)

    def begin(name: str) -> None:
        running[name] = None
        told()

    told()
    calls = [
        Call(piece.name, _packed, (piece.function, piece.arguments, _job(piece), piece.stamp), piece.family)
        for piece in pieces
    ]
    with contextlib.closing(engine.compute(calls, prepare, begin)) as endings:
        for name, ending in endings:
            piece = by_name[name]
            if isinstance(ending, Done):
                facts, content = ending.value
            elif failed is None:
                raise PieceFailed(f"{name}: {ending.reason}")
            else:
                made = failed(piece, ending.reason)
                facts, content = made.facts, packed(made, _job(piece), piece.stamp)
            if piece.store is not None:
                piece.store.keep(piece.key, content, notice)
            running.pop(name, None)
            told(
                done=progress.done + piece.size,
                failed=progress.failed + facts.get("failed", 0),
                computed=progress.computed + piece.size,
                cost_done=progress.cost_done + piece.cost,
            )
            yield piece, facts


def _job(piece: Piece) -> str:
    return "" if piece.store is None else piece.store.job


def _packed(
    function: Callable[..., Content], arguments: tuple[Any, ...], job: str, stamp: str
) -> tuple[Mapping[str, Any], bytes]:
    """Compute a piece; its file is made where it is computed, and its arrays travel as the bytes of it."""
    content = function(*arguments)
    return content.facts, packed(content, job, stamp)
