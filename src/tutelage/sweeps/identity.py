"""When two specifications are the same: when they say the same, wherever their files are kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tutelage.files import digest


def specification_digest(document: Mapping[str, Any]) -> str:
    """Return the digest of what a resolved specification says, whatever the order of its keys.

    Arrays and files count by their content: a folder that was moved has the same specification, and so has an array
    that was a file and is now written inline.

    Args:
        document: The document of a `Work`. Its `arrays`, if it has some, are listed by the digests of their content;
            another file that it names is a table of its `file` and the `digest` of its content.
    """
    said = dict(document)
    if isinstance(said.get("arrays"), Mapping):
        said["arrays"] = sorted(said["arrays"])
    return digest(json.dumps(_without_places(said), sort_keys=True, ensure_ascii=False, allow_nan=False))


def _without_places(value: Any) -> Any:
    if isinstance(value, Mapping):
        placed = {"file", "digest"} <= value.keys()
        return {key: _without_places(one) for key, one in value.items() if not (placed and key == "file")}
    return [_without_places(one) for one in value] if isinstance(value, list) else value
