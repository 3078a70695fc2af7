"""What a worker does: it rebuilds the work from its document once, and then computes shards of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tutelage.sweeps.contract import Shard, Work
from tutelage.sweeps.parts import Part, failed_part, part_of

# Documents and, once they are needed, the work they describe; by the digest of the specification.
_DOCUMENTS: dict[str, tuple[Callable[[dict[str, Any]], Work], dict[str, Any]]] = {}
_WORKS: dict[str, Work] = {}


def introduce(specification: str, build: Callable[[dict[str, Any]], Work], document: dict[str, Any]) -> None:
    """Tell this process what a specification means.

    Args:
        specification: Its digest.
        build: Makes the work from the document.
        document: The resolved specification.
    """
    _DOCUMENTS[specification] = (build, document)


def compute(specification: str, shard: Shard) -> Part:
    """Compute a shard; if that fails, every run of it is a row with the reason.

    Args:
        specification: Digest of a specification that this process was told of.
        shard: The shard.
    """
    try:
        if specification not in _WORKS:
            build, document = _DOCUMENTS[specification]
            _WORKS[specification] = build(document)
        return part_of(shard, _WORKS[specification].run(shard))
    except Exception as error:
        return failed_part(shard, f"{type(error).__name__}: {error}")
