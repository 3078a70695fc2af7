"""How values are shown to people, and small tables for notebooks.

Tables are escaped, and in the colours of the page, so that light and dark themes both work.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from html import escape
from types import FunctionType
from typing import Any

_MOST_ROWS = 20
_CELL = "text-align:left;padding:0.1em 0.8em 0.1em 0"
_NUMBER = "text-align:right;padding:0.1em 0.8em 0.1em 0;font-variant-numeric:tabular-nums"
_FAINT = "opacity:0.65"


def shown(value: Any) -> str:
    """Return a value for people: numbers with four digits and a true minus sign, a dash for nothing, lists as words."""
    if value is None:
        return "—"
    if isinstance(value, float):
        return f"{value:.4g}".replace("e-0", "e-").replace("-", "−")
    if isinstance(value, (list, tuple)):
        return ", ".join(map(shown, value))
    return str(value)


def counted(number: int, noun: str) -> str:
    """Return a number of things in words: 1 claim, 2 claims."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def briefly(value: Any) -> str:
    """Return a dataclass in a line: its name and its fields, numbers as numbers; what is `None` is left out."""
    named = ((field.name, getattr(value, field.name)) for field in fields(value))
    return f"{type(value).__name__}({', '.join(f'{name}={_brief(one)}' for name, one in named if one is not None)})"


def _brief(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if shape == ():
        try:
            return f"{value.item():.6g}"
        except TypeError:  # a number that is being traced
            return repr(value)
    if isinstance(value, FunctionType):
        return value.__qualname__
    return repr(value)


def facts(title: str, named: Mapping[str, Any]) -> str:
    """Return a heading and a table of names and values; values that are `None` are left out."""
    rows = "".join(
        f'<tr><td style="{_CELL};{_FAINT}">{escape(name)}</td><td style="{_CELL}">{escape(shown(value))}</td></tr>'
        for name, value in named.items()
        if value is not None
    )
    return _framed(title, rows)


def grid(title: str, headings: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> str:
    """Return a heading and a table with a row per entry; of a long one, the first rows.

    Args:
        title: The heading.
        headings: Headings of the columns.
        rows: Entries; numbers are aligned to the right.
        note: A line below.
    """
    rows = list(rows)
    head = "".join(f'<th style="{_CELL};font-weight:normal;{_FAINT}">{escape(heading)}</th>' for heading in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:_MOST_ROWS])
    notes = [f"… and {len(rows) - _MOST_ROWS} more"] if len(rows) > _MOST_ROWS else []
    return _framed(title, f"<tr>{head}</tr>{body}", "; ".join([*notes, *([note] if note else [])]))


def _framed(title: str, rows: str, note: str = "") -> str:
    below = f'<div style="{_FAINT}">{escape(note)}</div>' if note else ""
    return (
        f'<div style="margin:0.3em 0"><strong>{escape(title)}</strong>'
        f'<table style="border-collapse:collapse;margin:0.2em 0;background:none">{rows}</table>{below}</div>'
    )


def _cell(value: Any) -> str:
    style = _NUMBER if isinstance(value, (int, float)) and not isinstance(value, bool) else _CELL
    return f'<td style="{style}">{escape(shown(value))}</td>'
