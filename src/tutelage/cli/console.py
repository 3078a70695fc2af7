"""What the commands share: output, progress, errors and exit codes."""

from __future__ import annotations

import errno
import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text
from typer.core import TyperGroup

from tutelage._compilations import announced
from tutelage._configuration import available_cores
from tutelage.errors import InvalidArgument, MalformedData, MissingDependency, TutelageError, printable
from tutelage.work.program import this_command

if TYPE_CHECKING:
    from tutelage.sweeps import Sweep
    from tutelage.work.job import Progress as Reached

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130
# As of a program that a closed pipe ends.
EXIT_NOBODY_READS = 141

# Seconds of work from which on one would rather have known.
_LONG = 60.0

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
out = _Console(highlight=False)
err = _Console(stderr=True, highlight=False)


class Commands(TyperGroup):
    """The commands, with one clear line for whatever ends them early."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; the lines of its help flow with the terminal, whatever the source's are."""
        command = super().get_command(ctx, cmd_name)
        if command is not None and command.help:
            command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in command.help.split("\n\n"))
        return command

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            with working(keeps=False, fails=False):
                result = super().invoke(ctx)
                # Here, where a full disk or a closed pipe can still be answered.
                sys.stdout.flush()
                return result
        except typer.BadParameter as error:
            if (sentence := _value_refused(error)) is None:
                raise
            bad_input(sentence)
        except BrokenPipeError:
            _drop_output()
            raise typer.Exit(EXIT_NOBODY_READS) from None


def _value_refused(error: typer.BadParameter) -> str | None:
    """Return what is wrong with the value of an option, with what was received; `None` where that is not known."""
    found = getattr(error.__cause__, "errors", list)()  # of Pydantic, by which Typer checks values
    if error.param is None or not found:
        return None
    constraint = str(found[0]["msg"]).removeprefix("Input should ")
    return f"{error.param.opts[0]} must {constraint}, but received {found[0]['input']!r}. See --help for what it takes."


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
    """Print one JSON document on standard output, and nothing else there; a number that is none becomes null."""
    text = json.dumps(_plain(document), ensure_ascii=False, allow_nan=False, indent=2)
    # JSON escapes some characters that a terminal would obey, and not all of them.
    sys.stdout.write(printable(text, json=True) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def say(text: str) -> None:
    """Print a line of results that is not broken to fit: a path or a command in it can be copied whole."""
    out.print(text, soft_wrap=True)


def table(*columns: str | Column, **options: Any) -> Table:
    """Return a table in the style of all commands."""
    return Table(*columns, **{"box": None, "header_style": "bold", "pad_edge": False, **options})


def words(heading: str) -> Column:
    """Return a column of text that goes on in the next line where it does not fit."""
    return Column(heading, overflow="fold")


def numbers(*headings: str) -> list[Column]:
    """Return columns of numbers."""
    return [Column(heading, justify="right") for heading in headings]


def bad_input(*messages: str) -> NoReturn:
    """End with a clear line for everything that is wrong, and the exit code for bad input.

    Called for a full disk, with that for failure.
    """
    error = sys.exc_info()[1]
    if isinstance(error, OSError) and error.errno in _RAN_OUT:
        failed("; ".join(messages))
    for message in messages:
        err.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)
    raise typer.Exit(EXIT_BAD_INPUT)


def failed(message: str) -> NoReturn:
    """End with one clear line and the exit code for failure."""
    err.print(f"[bold red]failed:[/] {escape(message)}", soft_wrap=True)
    raise typer.Exit(EXIT_FAILED)


def interrupted(again: str = "") -> NoReturn:
    """End after Ctrl-C with one clear line.

    Args:
        again: The command that goes on, if what is done is kept.
    """
    notice(f"interrupted; what is done is kept. Go on with: {again}" if again else "interrupted")
    raise typer.Exit(EXIT_INTERRUPTED)


@contextmanager
def working(*, keeps: bool = True, fails: bool = True) -> Iterator[None]:
    """Answer what ends a command early: Ctrl-C, what the user can change, which is bad input, or else a failure.

    Args:
        keeps: Whether what is done is kept, so that the same command goes on.
        fails: Whether there is work that can fail; without it every error of ours is bad input.
    """
    try:
        yield
    except KeyboardInterrupt:
        interrupted(this_command() if keeps else "")
    except TutelageError as error:
        from tutelage.work.lock import FolderInUse

        if not fails or isinstance(error, (FolderInUse, InvalidArgument, MalformedData, MissingDependency)):
            # A specification has a line for everything that is wrong with it.
            bad_input(*str(error).splitlines())
        failed(f"{str(error).rstrip('.')}. Go on with: {this_command()}" if keeps else str(error))
    except BrokenPipeError:
        raise
    except OSError as error:
        _drop_output()
        kept = f"; what is done is kept. Go on with: {this_command()}" if keeps else ""
        failed(f"{described(error)}{kept}")


def end(unexpected: Iterable[str]) -> None:
    """End with exit code 1 if something came out otherwise than on record."""
    sentences = list(unexpected)
    for sentence in sentences:
        err.print(f"[bold red]unexpected:[/] {escape(sentence)}", soft_wrap=True)
    if sentences:
        raise typer.Exit(EXIT_FAILED)


@contextmanager
def watching(unit: str, *, tell: bool = False) -> Iterator[Callable[[Reached], None]]:
    """Show how far a job is, on standard error; yield a function to call with its progress.

    Args:
        unit: What the size of its pieces counts: runs, claims.
        tell: Whether to print a line now and then where standard error is no terminal.
    """
    if not err.is_terminal:
        yield _Telling(unit) if tell else lambda progress: None
        return
    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        _Live(),
        TextColumn("{task.fields[doing]}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
    )
    with Progress(*columns, console=err, transient=True, expand=True) as bar:
        task = bar.add_task("", total=None, doing="", reached=None)

        def show(reached: Reached) -> None:
            failed = f"{reached.failed} failed  " if reached.failed else ""
            doing = failed + ", ".join(map(_shortened, reached.running))
            bar.update(task, total=reached.total, completed=reached.done, doing=doing, reached=reached)

        yield show


@contextmanager
def descending() -> Iterator[Callable[[int, int, int], None]]:
    """Show how far runs are; yield a function to call with the numbers of ended runs, of all runs, and of steps.

    While this process compiles a program for longer than a second, that is said instead of the steps.
    """
    from tutelage.work.job import Progress as Reached

    numbers = 0, 0
    with watching("runs") as watch:

        def tell(ended: int, total: int, steps: int) -> None:
            nonlocal numbers
            numbers = total, ended
            watch(Reached(*numbers, running=(f"{steps} steps",)))

        def say() -> None:
            watch(Reached(*numbers, running=("compiling…",)))

        with announced(say) if err.is_terminal else nullcontext():
            yield tell


def _shortened(name: str, most: int = 24) -> str:
    """Return the end of a name, which tells it apart, where it does not fit."""
    return name if len(name) <= most else f"…{name[1 - most :]}"


class _Telling:
    """Prints a line each time another tenth of the work is done."""

    def __init__(self, unit: str):
        self._unit, self._told = unit, None

    def __call__(self, reached: Reached) -> None:
        if self._told is None:
            self._told = 0.0
            if reached.cost:
                notice(f"{reached.total - reached.done} {self._unit}, {about(reached.seconds_left)} …")
        elif reached.share >= self._told + 0.1 and reached.done < reached.total:
            self._told = reached.share
            running = f"; running: {', '.join(reached.running)}" if reached.running else ""
            notice(f"{reached.share:.0%} done, {about(reached.seconds_left)}{running}")


class _Live(ProgressColumn):
    """How long is left, counted down between two reports."""

    def render(self, task: Task) -> Text:
        reached: Reached | None = task.fields["reached"]
        if reached is None or not reached.cost:
            return Text("")
        return Text(about(reached.seconds_left - max((task.elapsed or 0.0) - reached.seconds, 0.0)))


def about(seconds: float) -> str:
    """Return how long is left, in words; ten seconds at least, since nobody knows better."""
    if seconds < 90:
        return f"about {max(10 * round(seconds / 10), 10)} s left"
    return f"about {round(seconds / 60)} min left"


def forewarn(sweep: Sweep) -> None:
    """Say how long a sweep will take with all cores, and what would make it cheaper, if that is long."""
    estimate = sweep.estimate()
    if (seconds := estimate.seconds / available_cores()) >= _LONG:
        notice(f"{about(seconds).removesuffix(' left').capitalize()} of work, by a guess. {estimate.advice}")


def notice(text: str) -> None:
    """Print a sentence on standard error."""
    err.print(text, soft_wrap=True, markup=False)


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
    """Return the folder of a report, made if it is absent; one that holds something else is refused."""
    from tutelage.claims.auditing import claim_report

    claim_report(writable_folder(path))
    return path
