"""Running a sweep: what is not there yet is cut into ranges of runs, computed by an engine, and kept as it comes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from tutelage.errors import invalid
from tutelage.files import checked_path
from tutelage.sweeps.coverage import Coverage, key_of
from tutelage.sweeps.folder import TABLES, SweepFolder
from tutelage.sweeps.results import Results, open_sweep
from tutelage.sweeps.sweep import Sweep
from tutelage.sweeps.tables import Range, failed_content
from tutelage.sweeps.workers import compute, introduce
from tutelage.work.engines import Engine, choose_engine, ignore
from tutelage.work.job import Piece, Progress, Watch, carry_out
from tutelage.work.lock import locked
from tutelage.work.program import this_command

PIECE_SECONDS = 10.0
"""Cost of a piece, in seconds, unless told otherwise."""


def run_sweep(
    work: Sweep,
    folder: str | Path,
    *,
    workers: int = 0,
    dask: str | None = None,
    piece_seconds: float = PIECE_SECONDS,
    retry_failed: bool = False,
    mixed: bool = False,
    command: str | None = None,
    watch: Watch | None = None,
    notice: Callable[[str], None] | None = None,
    engine: Engine | None = None,
) -> Results:
    """Compute what a sweep's folder lacks, and return the results.

    The results do not depend on the engine, the number of workers, the size of pieces, or interruptions.

    Args:
        work: What is swept.
        folder: Where results are kept; a folder that is not complete is continued.
        workers: Number of processes; zero for one per core.
        dask: Use Dask: the address of a running scheduler, or `local:N` to start one with `N` workers.
        piece_seconds: Cost of a piece of work, in seconds on one core.
        retry_failed: Whether to compute pieces again that have runs which failed.
        mixed: Whether to continue a folder that another program has computed a part of: another version, or other
            versions of the packages that it computes with. What it has computed stays.
        command: What the manifest says of how this was started; the command line by default.
        watch: Called with the progress at the beginning and whenever a piece is begun or done.
        notice: Called with a sentence for whatever is damaged and computed again.
        engine: Where to compute, instead of `workers` and `dask`.

    Raises:
        FolderInUse: If another process works in the folder.
        OtherSweep: If the folder belongs to another specification or program, or holds something else; it is left as
            it is.
        MalformedData: If another version of tutelage has written the folder; it is left as it is.
        Unreadable: If something in it cannot be read.
    """
    if not hasattr(work, "from_document"):
        raise invalid("work", "be a Sweep", repr(work), "Read a specification with tutelage.Sweep.from_toml")
    checked_seconds(piece_seconds)
    notice = notice or ignore
    where = choose_engine(workers, dask, notice) if engine is None else engine
    command = this_command() if command is None else command
    path = checked_path("folder", folder)
    held = SweepFolder(path, work, notice, mixed)
    # Before the lock, which is a file: nothing is written to a folder that is not ours.
    held.check()
    with locked(path, command):
        coverage = held.begin()
        with held.session(command, where.name):
            ranges = partial(work.ranges, piece_seconds, where.cores)
            pieces = list(_missing(held, ranges, coverage, retry_failed))

            def show(progress: Progress) -> None:
                held.show_progress(progress)
                if watch is not None:
                    watch(progress)

            done = carry_out(
                pieces,
                where,
                prepare=(introduce, (held.specification, type(work).from_document, held.document)),
                failed=lambda piece, reason: failed_content(piece.arguments[1], reason),
                before=_progress_before(held, coverage, pieces),
                watch=show,
                notice=notice,
            )
            for _ in done:
                pass
            results = open_sweep(path)
            if pieces or not all((path / name).exists() for name in TABLES):
                held.export(dict(zip(TABLES, results.both(), strict=True)))
    return open_sweep(path)


def checked_seconds(piece_seconds: float) -> float:
    """Return how long a piece should take, or raise if that is no time."""
    if not 0 < piece_seconds < math.inf:
        raise invalid("piece_seconds", "be a positive number of seconds", piece_seconds, "Choose between 1 and 600")
    return piece_seconds


def _missing(
    held: SweepFolder, cut: Callable[[], list[Range]], coverage: Coverage, retry_failed: bool
) -> Iterator[Piece]:
    """Yield what is to be computed, the most expensive first."""
    total = held.total
    again = [covered for covered, facts in coverage.ranges.items() if retry_failed and facts.failed]
    left: list[Range] = []
    # Estimating costs takes a moment: not if there is nothing to do.
    if coverage.runs < total or again:
        ranges = cut()
        cost = sum(one.cost for one in ranges) / max(sum(one.runs for one in ranges), 1)
        # A piece with runs that failed is replaced by the whole of it: what it has stays until then.
        left = [replace(covered, cost=cost * covered.runs) for covered in again]
        left += [part for one in ranges for part in coverage.left_of(one)]
    if sum(one.runs for one in left) != total - coverage.runs + sum(one.runs for one in again):
        raise RuntimeError(f"ranges cover {sum(one.runs for one in left)} of {total - coverage.runs} missing runs")
    # Neighbours of one cell follow each other where costs are equal: a worker has compiled their program already.
    for one in sorted(left, key=lambda one: (-one.cost, one.cell, one.first)):
        yield Piece(
            name=key_of(one),
            function=compute,
            arguments=(held.specification, one),
            store=held.store,
            key=key_of(one),
            stamp=held.specification,
            cost=one.cost,
            size=one.runs,
        )


def _progress_before(held: SweepFolder, coverage: Coverage, pieces: list[Piece]) -> Progress:
    """Return how far a sweep is before anything is computed; runs that are computed again count when they are."""
    again = {piece.arguments[1] for piece in pieces}
    failed = sum(facts.failed for covered, facts in coverage.ranges.items() if covered not in again)
    return Progress(held.total, held.total - sum(piece.size for piece in pieces), failed)
