"""One setting of a grid: a complete problem with its starts, method, stops and records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, ValidationError

from tutelage.sweeps.specification.arrays import Arrays
from tutelage.sweeps.specification.families import OBJECTIVE, PROBLEM
from tutelage.sweeps.specification.fields import TABLES, TAG, TomlTable
from tutelage.sweeps.specification.issues import Issue, meant, shown
from tutelage.sweeps.specification.locate import Path
from tutelage.sweeps.specification.procedures import FINISH, METHOD, RECORD, STARTS, STOP


class Cell(TomlTable):
    """One setting of a grid.

    Attributes:
        problem: A constructor of `tutelage.problems` and its arguments.
        objective: How the expectation is taken.
        starts: The law of the starts.
        method: The rule that moves a student.
        stop: When a run ends.
        record: What is remembered along a run.
        finish: How a run is finished near a critical point.
        restarts: Whether starts that fail are tried again with other signs.
        success: The loss, without what label noise adds, at and below which a run has reached the teacher.
        runs: Number of runs.
        seed: Seed of starts and of random methods.
        keep_points: Whether the students reached are kept.
    """

    problem: PROBLEM  # type: ignore[valid-type]
    objective: OBJECTIVE = Field({"kind": "population"})  # type: ignore[valid-type]
    starts: STARTS = Field({"law": "xavier"})  # type: ignore[valid-type]
    method: METHOD  # type: ignore[valid-type]
    stop: STOP = Field({})  # type: ignore[valid-type]
    record: RECORD | None = None  # type: ignore[valid-type]
    finish: FINISH | None = None  # type: ignore[valid-type]
    restarts: bool = False
    success: Annotated[float, Field(gt=0)] = 1e-6
    # Keys of JAX take seeds and numbers of runs of 32 bits.
    runs: Annotated[int, Field(ge=1, lt=2**31)]
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    keep_points: bool = True

    def plain(self) -> dict[str, Any]:
        """Return the cell as plain JSON, with all defaults."""
        return self.model_dump(mode="json")


TABLES[""] = Cell
SECTIONS = tuple(Cell.model_fields)

_CONSTRAINTS = {
    "int_type": "be a whole number",
    "int_from_float": "be a whole number",
    "float_type": "be a number",
    "finite_number": "be a finite number",
    "bool_type": "be true or false",
    "string_type": "be text in quotes",
    "list_type": "be a list in brackets",
    "model_type": "be a table",
    "model_attributes_type": "be a table",
    "dict_type": "be a table",
    "literal_error": "be {expected}",
    "greater_than": "be above {gt}",
    "greater_than_equal": "be at least {ge}",
    "less_than": "be below {lt}",
    "too_short": "not be empty",
}


def validated(fields: Mapping[str, Any], arrays: Arrays) -> tuple[Cell | None, list[Issue]]:
    """Return the cell that plain fields say, or what is wrong with them.

    Args:
        fields: The fields.
        arrays: Where arrays are read from, and kept.
    """
    try:
        return Cell.model_validate(dict(fields), context=arrays), []
    except ValidationError as error:
        return None, [_issue(entry) for entry in error.errors(include_url=False)]


def _issue(entry: Any) -> Issue:
    location, kind, context = entry["loc"], entry["type"], entry.get("ctx", {})
    path: Path = tuple(part for part in location if not (isinstance(part, str) and part.startswith(TAG)))
    if kind == "specification":
        key = context.get("key")
        return Issue((*path, key) if key else path, context["text"])
    if kind == "missing":
        return Issue(path, f"is missing.{_wanted(location)}")
    if kind == "extra_forbidden":
        allowed = _fields(location)
        return Issue(path, f"is not a field here.{meant(path[-1], allowed)} Allowed: {', '.join(allowed)}.")
    constraint = _CONSTRAINTS.get(kind)
    text = entry["msg"] if constraint is None else f"must {constraint.format(**context)}"
    return Issue(path, f"{text}, but received {shown(entry['input'])}.")


def _table(location: Path) -> type[TomlTable] | None:
    """Return the model of the table that the last part of a place belongs to."""
    for part in reversed(location[:-1]):
        if isinstance(part, str) and part in TABLES:
            return TABLES[part]
    return TABLES[""] if len(location) == 1 else None


def _fields(location: Path) -> list[str]:
    table = _table(location)
    names = [] if table is None else [name for name, field in table.model_fields.items() if not field.exclude]
    return [*names, "grid", "zip"] if table is Cell else names


def _wanted(location: Path) -> str:
    table = _table(location)
    kind = None if table is None else table.model_fields[str(location[-1])].annotation
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text in quotes"}
    return f" Give {words[kind]}." if kind in words else ""
