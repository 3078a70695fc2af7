"""Errors of tutelage: each says what was wrong, what was received and what to do."""

from __future__ import annotations

from typing import Any


class TutelageError(Exception):
    """Base class of every error that tutelage raises on purpose."""


class InvalidArgument(TutelageError, ValueError):
    """An argument has the wrong value, shape or type."""


class UnsupportedCombination(TutelageError, NotImplementedError):
    """An exact expectation was asked for that tutelage cannot take; nothing samples instead of it."""


class MissingDependency(TutelageError, ImportError):
    """An optional dependency is not installed."""


class MalformedData(TutelageError, ValueError):
    """A data file is absent or does not have the form it should have."""


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
