"""Kinds of work: a document names its kind, and a fixed table of this package says which class that is."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from tutelage.errors import MalformedData
from tutelage.sweeps.contract import Work

_KINDS = {"sweep": "tutelage.sweeps.work:Sweep"}


def register(kind: str, path: str) -> None:
    """Add a kind of work; a program may do so, a document cannot.

    Args:
        kind: The `kind` of its documents.
        path: Module and class, as `package.module:Class`; the class has a class method `from_document`, with the
            arguments of `Sweep.from_document`.
    """
    _KINDS[kind] = path


def work_from_document(document: dict[str, Any], folder: Path, allow_outside: bool = False) -> Work:
    """Return the work that the document in a folder describes.

    Args:
        document: The document, which others may have written.
        folder: The folder; files that the document names must lie in it.
        allow_outside: Whether they may lie elsewhere.

    Raises:
        MalformedData: If there is no such kind of work, or a file lies outside.
    """
    kind = document.get("kind")
    if kind not in _KINDS:
        raise MalformedData(f"There is no kind of work {kind!r}; there is {', '.join(sorted(_KINDS))}.")
    module, name = _KINDS[kind].split(":")
    made = getattr(importlib.import_module(module), name)
    return made.from_document(document, folder=folder, allow_outside=allow_outside)
