"""What the benchmarks share: timing, the machine's name, and tables on the screen and as Markdown."""

import datetime
import importlib.metadata
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

FOLDER = Path("build/bench")


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def best_seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the shortest wall time of `work` out of several, after one call to warm up."""
    work()
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def machine() -> str:
    """Return the machine, the versions and the date in one line."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("jax", "numpy"))
    return (
        f"{_processor()}, {cores()} cores, Python {platform.python_version()}, {versions}, "
        f"{datetime.date.today().isoformat()}, load {os.getloadavg()[0]:.1f} at the end"
    )


def _processor() -> str:
    """Return the name of the processor, as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def publish(name: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: str = "") -> None:
    """Print a table, and write it as Markdown to build/bench.

    Args:
        name: Name of the file, without its ending.
        title: What was measured.
        columns: Headings.
        rows: Cells, as text.
        notes: What a reader of the table has to know.
    """
    shown = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        shown.add_column(column, justify="right")
    for row in rows:
        shown.add_row(*row)
    where = machine()
    console = Console(highlight=False, width=max(100, Console().width))
    console.print(shown)
    console.print(notes)
    console.print(where)
    lines = [" | ".join(columns), " | ".join("---:" for _ in columns), *(" | ".join(row) for row in rows)]
    text = "\n".join(f"| {line} |" for line in lines)
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.md"
    path.write_text(f"{text}\n\n{notes}\n\nMeasured on: {where}.\n", encoding="utf-8")
    console.print(f"Written to {path}\n")
