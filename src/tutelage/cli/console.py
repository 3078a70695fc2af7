"""What the commands share: output, progress, errors and exit codes."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

# Results go to standard output, everything else to standard error.
out = Console(soft_wrap=False)
err = Console(stderr=True)

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2


def print_document(document: dict[str, Any]) -> None:
    """Print one JSON document on standard output, and nothing else there."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2) + "\n")


def bad_input(message: str) -> NoReturn:
    """End with one clear line and the exit code for bad input."""
    bad_inputs([message])


def failed(message: str) -> NoReturn:
    """End with one clear line and the exit code for failure."""
    err.print(Text.assemble(("failed:", "bold red"), " ", message), highlight=False, soft_wrap=True)
    raise typer.Exit(EXIT_FAILED)


def bad_inputs(messages: Iterable[str]) -> NoReturn:
    """End with a clear line for everything that is wrong, and the exit code for bad input."""
    for message in messages:
        err.print(Text.assemble(("error:", "bold red"), " ", message), highlight=False, soft_wrap=True)
    raise typer.Exit(EXIT_BAD_INPUT)


@contextmanager
def progress(total: int, what: str) -> Iterator[Any]:
    """Show a progress bar on standard error where that is a terminal; yield a function that advances it."""
    if not err.is_terminal:
        yield lambda text: None
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
        yield lambda text: bar.update(task, advance=1, description=_shortened(text))


def _shortened(text: str, most: int = 34) -> str:
    return text if len(text) <= most else f"…{text[1 - most :]}"


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
