"""All studies, by paper and identifier."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module

from tutelage.checks import one_of
from tutelage.papers import STUDIED, recorded_studies
from tutelage.studies.base import Study


@lru_cache
def studies_of(paper: str) -> tuple[Study, ...]:
    """Return the studies of a paper, in the order of the print.

    Args:
        paper: The paper's key.

    Raises:
        InvalidArgument: If the paper is not covered.
    """
    one_of("paper", paper, STUDIED)
    if not any(id.startswith(f"{paper}.") for id in recorded_studies()):
        return ()
    return import_module(f"tutelage.studies.{paper}").STUDIES


def all_studies() -> tuple[Study, ...]:
    """Return all studies of all papers."""
    return tuple(study for paper in STUDIED for study in studies_of(paper))


def find(names: Sequence[str] = ()) -> tuple[Study, ...]:
    """Return the studies that are named; all of them if none is.

    Args:
        names: Papers (`convolutional_filter`) or studies (`convolutional_filter.figure-1b`).

    Raises:
        InvalidArgument: If a name is neither.
    """
    chosen: dict[str, Study] = {}
    for name in names or STUDIED:
        matching = {study.id: study for study in all_studies() if name in (study.id, study.paper)}
        if not matching:
            one_of("study", name, (*STUDIED, *(study.id for study in all_studies())))
        chosen |= matching
    return tuple(chosen.values())
