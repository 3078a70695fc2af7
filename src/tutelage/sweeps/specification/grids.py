"""Grids: the product of lists of values for any field, and lists that advance together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from tutelage.sweeps.specification.issues import Issue, dotted, shown
from tutelage.sweeps.specification.locate import Path, closest

# More cells than anybody lists; a mistyped grid must not fill the memory.
MOST_CELLS = 100_000


GridValues: TypeAlias = dict[Path, tuple[Any, Path]]
"""What a cell takes from the grid: the value of every field, and where it is written, by the path of the field."""


def applied(setting: GridValues, fields: Mapping[str, Any]) -> tuple[dict[str, Any], list[Issue]]:
    """Return the fields of a cell, and what is wrong with the places of its values."""
    result, issues = _copied(fields), []
    for path, (value, origin) in setting.items():
        table: Any = result
        for depth, key in enumerate(path[:-1]):
            table = table.setdefault(key, {})
            if not isinstance(table, dict):
                text = f"must lead to a field, but `{dotted(path[: depth + 1])}` is {shown(table)}, not a table."
                issues.append(Issue(origin[:-1], text))
                break
        else:
            table[path[-1]] = _copied(value)
    return result, issues


def origin_of(setting: GridValues, path: Path) -> Path:
    """Return where a field of a cell is written: in the grid, or in its own table."""
    entry, rest = closest(setting, path)
    return rest if entry is None else (*entry[1], *rest)


def _copied(value: Any) -> Any:
    """Return a copy of tables and lists; arrays, which may be large, are shared and never changed."""
    if isinstance(value, Mapping):
        return {key: _copied(one) for key, one in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list) else value


def expanded(fields: Mapping[str, Any]) -> tuple[dict[str, Any], list[GridValues], list[Issue]]:
    """Split a specification into the fields that all cells share and the settings of the cells.

    Cells are numbered as in nested loops over the fields of `grid` in the order they are written, then the tables of
    `zip`; the last one advances first.

    Args:
        fields: The specification.

    Returns:
        The shared fields, the settings in order (one without values if there is no grid), and what is wrong with the
        grid, in which case there is one setting.
    """
    shared = {key: value for key, value in fields.items() if key not in ("grid", "zip")}
    issues: list[Issue] = []
    axes: list[list[GridValues]] = []
    if "grid" in fields:
        for path, values, origin in _lists(fields["grid"], ("grid",), issues):
            axes.append([{path: (value, (*origin, number))} for number, value in enumerate(values)])
    tables = fields.get("zip", [])
    tables = [tables] if isinstance(tables, Mapping) else tables
    if not isinstance(tables, list):
        issues.append(Issue(("zip",), f"must be a table of lists or several of them, but received {shown(tables)}."))
        tables = []
    for position, table in enumerate(tables):
        begin: Path = ("zip", position) if isinstance(fields["zip"], list) else ("zip",)
        lists = list(_lists(table, begin, issues))
        if len({len(values) for _, values, _ in lists}) > 1:
            lengths = ", ".join(f"{dotted(path)} has {len(values)}" for path, values, _ in lists)
            issues.append(Issue(begin, f"must have lists of one length, but {lengths}."))
            continue
        rows = zip(
            *([(path, value, (*origin, i)) for i, value in enumerate(v)] for path, v, origin in lists), strict=True
        )
        axes.append([{path: (value, origin) for path, value, origin in row} for row in rows])
    issues += _overlaps(axes)
    if issues:
        # One cell, to see what else is wrong.
        return shared, [_joined(axis[0] for axis in axes if axis)], issues
    number = math.prod(map(len, axes))
    if number > MOST_CELLS:
        return shared, [], [Issue(("grid",), f"must have at most {MOST_CELLS} cells, but has {number}.")]
    return shared, [_joined(choice) for choice in itertools.product(*axes)], []


def _joined(choice: Iterable[GridValues]) -> GridValues:
    return {path: entry for axis in choice for path, entry in axis.items()}


def _lists(table: Any, origin: Path, issues: list[Issue], path: Path = ()) -> Iterator[tuple[Path, list[Any], Path]]:
    """Yield the lists of a table with their paths; tables within are longer paths, and so are keys with dots."""
    if not isinstance(table, Mapping):
        issues.append(Issue(origin, f"must be a table of lists of values, but received {shown(table)}."))
        return
    if not table and not path:
        issues.append(Issue(origin, "must name at least one field with a list of values."))
    for key, value in table.items():
        inner: Path = (*path, *str(key).split("."))
        if isinstance(value, Mapping):
            yield from _lists(value, (*origin, key), issues, inner)
        elif not isinstance(value, list):
            text = f"must be a list of values, but received {shown(value)}. Write it in brackets."
            issues.append(Issue((*origin, key), text))
            yield inner, [value], (*origin, key)  # to see what else is wrong
        elif not value:
            issues.append(Issue((*origin, key), "must have at least one value."))
        else:
            yield inner, value, (*origin, key)


def _overlaps(axes: list[list[GridValues]]) -> list[Issue]:
    """Return fields that are set twice, or inside one another."""
    seen: dict[Path, Path] = {}
    issues = []
    for axis in axes:
        for path, (_, origin) in (axis[0] if axis else {}).items():
            other = next((old for old in seen if old[: len(path)] == path or path[: len(old)] == old), None)
            if other is not None:
                text = f"must not be set twice, but `{dotted(seen[other])}` sets it too."
                issues.append(Issue(origin[:-1], text))
            seen[path] = origin[:-1]
    return issues
