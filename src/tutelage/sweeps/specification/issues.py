"""What is wrong with a specification, one line each: where, which field, what was received, what is allowed."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tutelage.errors import InvalidArgument
from tutelage.sweeps.specification.locate import Path, closest


@dataclass(frozen=True)
class Issue:
    """One thing that is wrong.

    Attributes:
        path: Keys and indices that lead to the field.
        text: What is wrong, continuing the sentence that the field begins.
    """

    path: Path
    text: str


class SpecificationError(InvalidArgument):
    """A specification cannot be used; the message has one line for everything that is wrong with it."""

    @property
    def issues(self) -> tuple[str, ...]:
        """The single lines."""
        return tuple(str(self).split("\n"))


@dataclass(frozen=True)
class Source:
    """Where a specification was written, so that an error can point at the line.

    Attributes:
        name: Name of the file, empty for a specification that was written in Python.
        lines: The line of every value.
    """

    name: str = ""
    lines: Mapping[Path, int] = field(default_factory=dict)

    def error(self, issues: Iterable[Issue]) -> SpecificationError:
        """Return the error that shows all issues, in the order of the file."""
        placed = {(closest(self.lines, one.path)[0] or 1, f"{dotted(one.path)}: {one.text}") for one in issues}
        lines = (f"{self.name}:{line}: {text}" if self.name else text for line, text in sorted(placed))
        return SpecificationError("\n".join(lines))


def dotted(path: Path) -> str:
    """Return a path as it is written: `problem.teacher[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text or "specification"


def shown(value: Any, most: int = 60) -> str:
    """Return a received value, shortened to so many letters."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def meant(received: Any, allowed: Iterable[str]) -> str:
    """Return a sentence with the allowed name that is closest to the received one, or nothing."""
    close = difflib.get_close_matches(received, list(allowed), n=1) if isinstance(received, str) else []
    return f' Did you mean "{close[0]}"?' if close else ""
