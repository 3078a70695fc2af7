"""What the commands share: output, progress, errors and exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

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
    err.print(f"[bold red]error:[/] {message}", highlight=False, soft_wrap=True)
    raise typer.Exit(EXIT_BAD_INPUT)


@contextmanager
def progress(total: int, what: str) -> Iterator[Any]:
    """Show a progress bar on standard error where that is a terminal; yield a function that advances it."""
    if not err.is_terminal:
        yield lambda text: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda text: bar.update(task, advance=1, description=text)
