"""The files of the papers: what a person says (`<key>.toml`), what was judged, and the map of the print."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Any

KEYS = (
    "weight_sharing",
    "single_neuron",
    "mild_overparameterization",
    "local_convergence",
    "convolutional_filter",
)
# Papers of which experiments are run again, and no statement is judged.
STUDIED_KEYS = ("copy_or_average", "flat_channels")


@lru_cache
def document(key: str) -> dict[str, Any]:
    """Return what is said of a paper: title, findings, studies."""
    return tomllib.loads(_text(f"{key}.toml"))


@lru_cache
def recorded_witnesses(paper: str) -> list[dict[str, Any]]:
    """Return the verdicts that `make record` has written for a paper, witnesses included, in the order of the print."""
    return json.loads(_text(f"{paper}.verdicts.json"))["claims"]


@lru_cache
def map_of(paper: str) -> list[dict[str, Any]]:
    """Return the lines of a paper's map, as `<key>.coverage.toml` has them."""
    return tomllib.loads(_text(f"{paper}.coverage.toml"))["lines"]


def entries(section: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the entries of a section of all papers, by identifier."""
    for key in (*KEYS, *STUDIED_KEYS):
        for name, entry in document(key).get(section, {}).items():
            yield f"{key}.{name}", entry


def _text(name: str) -> str:
    return files("tutelage.papers").joinpath(name).read_text(encoding="utf-8")
