"""Where the explorer shows a witness: the address that opens it there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from tutelage.papers import recorded_witnesses

# The explorer's pictures have fixed frames; a witness that lies outside is not shown.
_WIDEST = 2.4


def _neuron(teacher: Any, start: Any) -> str:
    inside = max(map(abs, (*teacher, *start))) <= _WIDEST
    return f"#neuron?teacher={_written(teacher)}&start={_written(start)}&step=0.05" if inside else ""


def _student(witness: Mapping[str, Any]) -> str:
    """Show a student and its teacher: two vectors, or a norm at an angle to a teacher on the first axis."""
    if "theta" in witness:
        angle, size = witness["theta"], witness["size"]
        return _neuron((1.0, 0.0), (size * math.cos(angle), size * math.sin(angle)))
    return _neuron(witness["v"], witness["w"]) if len(witness["w"]) == 2 else ""


def _filter(witness: Mapping[str, Any]) -> str:
    output = witness["a_star"]
    ratio = sum(output) ** 2 / sum(entry**2 for entry in output)
    return f"#filter?patches={len(output)}&ratio={ratio:.4g}" if 2 <= len(output) <= 8 else ""


def _written(numbers: Any) -> str:
    return ",".join(f"{number:.6g}" for number in numbers)


_SHOWN: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "single_neuron.lemma-6.3": _student,
    "single_neuron.equation-22": _student,
    "convolutional_filter.lemma-4.1.kind": _filter,
}


def witness_address(claim: str) -> str:
    """Return the address within the explorer that opens it at the witness against a claim; empty if none fits.

    Args:
        claim: Identifier of a claim that is refuted as printed, by the record.
    """
    if claim not in _SHOWN:
        return ""
    for entry in recorded_witnesses(claim.partition(".")[0]):
        if (entry["id"], entry["form"], entry["verdict"]) == (claim, "as_printed", "refuted"):
            return _SHOWN[claim](entry["witness"])
    return ""


def shown_claims() -> tuple[str, ...]:
    """Return the claims whose witnesses the explorer can show."""
    return tuple(_SHOWN)
