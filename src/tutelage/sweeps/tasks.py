"""What a worker does: it rebuilds the work from its document once, and then computes shards of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tutelage.sweeps.contract import Shard, Work
from tutelage.sweeps.parts import Part, failed_part, part_of

# What specifications mean, by their digests.
_DOCUMENTS: dict[str, tuple[Callable[[dict[str, Any]], Work], dict[str, Any]]] = {}
# The work that a thread does at present, with its digest: a work remembers what it has built for its last cell, so
# threads of one process must not share it.
_PRESENT = threading.local()


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
        if getattr(_PRESENT, "specification", None) != specification:
            build, document = _DOCUMENTS[specification]
            _PRESENT.work, _PRESENT.specification = build(document), specification
        return part_of(shard, _PRESENT.work.run(shard))
    except Exception as error:
        return failed_part(shard, f"{type(error).__name__}: {error}")
