"""Errors of tutelage: each says what was wrong, what was received and what to do."""

from __future__ import annotations

import re
from typing import Any

# What a terminal obeys instead of showing it: control characters but for tabs and ends of lines, and the marks that
# turn the direction of writing.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str, json: bool = False) -> str:
    r"""Return a text that a terminal only shows: what it would obey is written as an escape, such as `\x1b`.

    Args:
        text: The text.
        json: Whether it is one of JSON, which has escapes of its own.
    """

    def escape(found: re.Match[str]) -> str:
        code = ord(found[0])
        return f"\\x{code:02x}" if code < 0x100 and not json else f"\\u{code:04x}"

    return _CONTROL.sub(escape, text)


class TutelageError(Exception):
    """Base class of every error that tutelage raises on purpose; its sentence is `printable`."""

    def __init__(self, *arguments: Any):
        super().__init__(*(printable(one) if isinstance(one, str) else one for one in arguments))


class InvalidArgument(TutelageError, ValueError):
    """An argument has the wrong value, shape or type."""


class UnsupportedCombination(TutelageError, NotImplementedError):
    """An exact expectation was asked for that tutelage cannot take; nothing samples instead of it."""


class MissingDependency(TutelageError, ImportError):
    """An optional dependency is not installed."""


class MalformedData(TutelageError, ValueError):
    """A data file is absent or does not have the form it should have."""


class Unreadable(TutelageError):
    """A file is there but cannot be read now: nothing is known of its content, and nothing is done to it."""


_LONGEST = 200


def shown(value: Any) -> str:
    """Return a value of any kind in a line: arrays take several, and whole numbers may have thousands of digits."""
    try:
        line = " ".join(repr(value).split())
    except Exception:  # a value of a stranger's class, or more digits than Python writes
        line = f"a value of type {type(value).__name__}"
    return line if len(line) <= _LONGEST // 2 else f"{line[: _LONGEST // 2]}…"


def invalid(argument: str, constraint: str, received: Any, remedy: str) -> InvalidArgument:
    """Build the one clear error for a bad argument.

    Args:
        argument: Name of the argument as the user wrote it.
        constraint: What it must be, continuing the sentence "`argument` must …".
        received: What came instead, in a few words, or `shown(value)`; cut where it is long.
        remedy: What to do, one imperative sentence without a full stop.
    """
    what = " ".join(str(received).split())
    what = what if len(what) <= _LONGEST else f"{what[:_LONGEST]}…"
    return InvalidArgument(f"`{argument}` must {constraint}, but received {what}. {remedy}.")
