"""A study with other settings: what may be changed, and what is said of it."""

from __future__ import annotations

import ast
import inspect
import math
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tutelage.errors import invalid
from tutelage.studies.base import Setting, Study, as_listed


def with_settings(study: Study, changes: Mapping[str, Any]) -> Study:
    """Return a study with other values of some settings, at both scales.

    What was published belongs to the settings of the print: the expectations of such a study are shown and not judged,
    and its folder is another one.

    Args:
        study: A study.
        changes: Values by the names of settings; numbers for numbers, lists for lists.

    Raises:
        InvalidArgument: If there is no such setting, its program does not read it, or a value is of another kind.
    """
    known = {setting.name: setting for setting in study.settings}
    for name in changes:
        if name not in known:
            raise invalid("name", f"be a setting of {study.id}", repr(name), f"Settings are {', '.join(known)}")
    settings = tuple(
        _changed(study, setting, changes[setting.name]) if setting.name in changes else setting
        for setting in study.settings
    )
    return replace(study, settings=settings)


def changes_of(study: Study) -> dict[str, Any]:
    """Return the settings of a study that were changed, and their values."""
    return {setting.name: setting.quick for setting in study.settings if setting.source == "changed"}


def parsed(assignment: str) -> tuple[str, Any]:
    """Return name and value of an assignment such as `runs=50`.

    Raises:
        InvalidArgument: If it is none.
    """
    name, sign, text = assignment.partition("=")
    if not (name and sign and text):
        raise invalid("--set", "have the form name=value", repr(assignment), "Write for example --set runs=50")
    try:
        return name, ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name, text


def _changed(study: Study, setting: Setting, value: Any) -> Setting:
    before = setting.quick
    if isinstance(before, str) or not _is_read(study, setting.name):
        received = f"{setting.name} of {study.id}"
        raise invalid("name", "be a setting that the program reads", received, "It is stated, and cannot be changed")
    found = _like(before, value)
    if found is None:
        kind = "several values" if isinstance(before, tuple) else "a finite number"
        raise invalid(setting.name, f"be {kind}, as {as_listed(before)} is", repr(value), "Write [1, 2] for several")
    note = f"changed; {as_listed(before)} at quick scale and {as_listed(setting.paper)} at paper scale"
    return Setting(setting.name, found, found, "changed", note)


def _like(before: Any, value: Any) -> Any:
    """Return a value in the form of another one, or `None` if it has none."""
    if isinstance(before, tuple):
        if not isinstance(value, (list, tuple)) or not value:
            return None
        # A list of values of one kind, as long as one likes; or a row of names and numbers, each in its place.
        mixed = len({isinstance(entry, str) for entry in before}) > 1
        forms = before if mixed else before[:1] * len(value)
        if len(forms) != len(value):
            return None
        entries = [_like(form, entry) for form, entry in zip(forms, value, strict=True)]
        return None if None in entries else tuple(entries)
    if isinstance(before, float) and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if math.isfinite(value) else None
    return value if type(value) is type(before) else None


def _is_read(study: Study, name: str) -> bool:
    """Whether the modules of a study, or those of its paper that it shares, read a setting."""
    own = study.measure.__module__
    modules = [sys.modules[key] for key in (own, f"{own.rpartition('.')[0]}.common") if key in sys.modules]
    return any(re.search(rf"values\.{name}\b", inspect.getsource(module)) for module in modules)
