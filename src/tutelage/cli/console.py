"""What the commands share: output, progress, errors and exit codes."""

from __future__ import annotations

import errno
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from typer.core import TyperGroup

from tutelage._compilations import announced
from tutelage.errors import TutelageError, printable

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130
# As of a program that a closed pipe ends.
EXIT_NOBODY_READS = 141

# What the system has run out of is nobody's bad input: no space, no more of a quota, no larger files.
_RAN_OUT = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


class _Console(Console):
    """A console whose reader may go away, which `Commands` answers, and that shows control characters as escapes.

    What is printed may come from a file of others: a terminal must not obey it.
    """

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def render(self, *arguments: Any, **options: Any) -> Iterable[Segment]:
        """Yield the segments of something to be printed; those that are text can only be shown."""
        for segment in super().render(*arguments, **options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


# Results go to standard output, everything else to standard error.
out = _Console(soft_wrap=False)
err = _Console(stderr=True)


class Commands(TyperGroup):
    """The commands, with one clear line for whatever ends them early."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            result = super().invoke(ctx)
            # Here, where a full disk or a closed pipe can still be answered.
            sys.stdout.flush()
            return result
        except KeyboardInterrupt:
            interrupted()
        except BrokenPipeError:
            _drop_output()
            raise typer.Exit(EXIT_NOBODY_READS) from None
        except OSError as error:
            _drop_output()
            failed(described(error))


def _drop_output() -> None:
    """Lead standard output to nowhere, so that what is left of it does not fail again when Python ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return


def described(error: OSError) -> str:
    """Return an error of the system in words: which file, and what is wrong with it."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def print_document(document: dict[str, Any]) -> None:
    """Print one JSON document on standard output, and nothing else there."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
    # JSON escapes some characters that a terminal would obey, and not all of them.
    sys.stdout.write(printable(text, json=True) + "\n")


def table(**options: Any) -> Table:
    """Return a table in the style of all commands."""
    return Table(**{"box": None, "header_style": "bold", "pad_edge": False, **options})


def bad_input(message: str) -> NoReturn:
    """End with one clear line and the exit code for bad input; called for a full disk, with that for failure."""
    bad_inputs([message])


def bad_inputs(messages: Iterable[str]) -> NoReturn:
    """End with a clear line for everything that is wrong, and the exit code as of `bad_input`."""
    error = sys.exc_info()[1]
    if isinstance(error, OSError) and error.errno in _RAN_OUT:
        failed("; ".join(messages))
    for message in messages:
        err.print(f"[bold red]error:[/] {escape(message)}", highlight=False, soft_wrap=True)
    raise typer.Exit(EXIT_BAD_INPUT)


def failed(message: str) -> NoReturn:
    """End with one clear line and the exit code for failure."""
    err.print(f"[bold red]failed:[/] {escape(message)}", highlight=False, soft_wrap=True)
    raise typer.Exit(EXIT_FAILED)


def interrupted(again: str = "") -> NoReturn:
    """End after Ctrl-C with one clear line.

    Args:
        again: The command that goes on, if what is done is kept.
    """
    notice(f"interrupted; what is done is kept. Go on with: {again}" if again else "interrupted")
    raise typer.Exit(EXIT_INTERRUPTED)


def end(unexpected: Iterable[str]) -> None:
    """End with exit code 1 if something came out otherwise than on record."""
    sentences = list(unexpected)
    for sentence in sentences:
        err.print(f"[bold red]unexpected:[/] {escape(sentence)}", highlight=False, soft_wrap=True)
    if sentences:
        raise typer.Exit(EXIT_FAILED)


@contextmanager
def progress(total: int, what: str, compiling: bool = False) -> Iterator[Any]:
    """Show a progress bar on standard error where that is a terminal; yield a function that advances it.

    Args:
        total: How many advances there will be.
        what: What is being done.
        compiling: Whether to say so while this process compiles a program for longer than a second.
    """
    if not err.is_terminal:
        yield lambda text, number=1: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(what, total=total)
        say = partial(bar.update, task, description="compiling…")
        with announced(say) if compiling else nullcontext():
            yield lambda text, number=1: bar.update(task, advance=number, description=_shortened(text))


@contextmanager
def descending(runs: int) -> Iterator[Callable[[int, int, int], None]]:
    """Show how many runs have ended and how many steps the slowest has made; yield what `descend` tells that to."""
    done = 0
    with progress(runs, "descending", compiling=True) as advance:

        def tell(ended: int, total: int, steps: int) -> None:
            nonlocal done
            advance(f"descending, step {steps:,}", max(ended - done, 0))
            done = max(done, ended)

        yield tell


def _shortened(text: str, most: int = 34) -> str:
    return text if len(text) <= most else f"…{text[1 - most :]}"


def about(seconds: float) -> str:
    """Return how long is left, in words; ten seconds at least, since nobody knows better."""
    if seconds < 90:
        return f"about {max(10 * round(seconds / 10), 10)} s left"
    return f"about {round(seconds / 60)} min left"


def notice(text: str) -> None:
    """Print a sentence on standard error."""
    err.print(text, highlight=False, soft_wrap=True, markup=False)


def writable_folder(path: Path) -> Path:
    """Return a folder, made if it is absent, or end with a clear line if nothing can be written there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        bad_input(
            f"`--out` must be a folder that can be written to, but received {path} ({error.strerror}). Name another."
        )
    return path


def report_folder(path: Path) -> Path:
    """Return the folder of a report, made if it is absent, or end with a clear line if it holds something else."""
    from tutelage.reports import claim_report

    try:
        claim_report(writable_folder(path))
    except TutelageError as error:
        bad_input(str(error))
    return path
