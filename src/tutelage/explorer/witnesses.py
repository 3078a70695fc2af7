"""Where the explorer shows the witness against a refuted statement: the address that opens it there.

A paper's file says of a statement in which exploration its witness is a point (`explore`); a function per exploration
makes the settings of that point from the numbers of the witness. What lies outside of a picture is not shown.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from tutelage.papers import recorded_witnesses
from tutelage.papers.documents import entries

# The frames of the explorer's pictures, and its largest problems.
_WIDTH, _HEIGHT = 3.0, 2.4
_SIGNALS = (-1.0, 1.5)
_NEURONS, _PATCHES = 12, 8

Settings = dict[str, Any]


def _neuron(witness: Mapping[str, Any]) -> Settings | None:
    """A student and its teacher in the plane: two vectors, or a norm at an angle to a teacher on the first axis."""
    teacher = np.array(witness.get("v", (1.0, 0.0)))
    if "theta" in witness:
        student = witness["size"] * np.array([math.cos(witness["theta"]), math.sin(witness["theta"])])
    else:
        student = np.array(witness.get("w", witness.get("start")))
    if not (_inside(teacher) and _inside(student)):
        return None
    return {"teacher": teacher, "mean": witness.get("mean", (0.0, 0.0)), "start": student, "step": 0.05}


def _committee(witness: Mapping[str, Any]) -> Settings | None:
    """A student of an orthonormal teacher, in coordinates in which the teacher's neurons are the first axes."""
    teacher = np.array(witness["teacher"])
    student = np.array(witness["student"] if "student" in witness else witness["minimum"])
    if "student" not in witness and "way" in witness:
        student = student + np.array(witness["way"])
    neurons, dimension = teacher.shape
    if not np.allclose(teacher @ teacher.T, np.eye(neurons), atol=1e-12) or max(dimension, len(student)) > _NEURONS:
        return None
    rest = np.linalg.svd(teacher)[2][neurons:]
    turned = student @ np.concatenate([teacher, rest]).T
    return {"neurons": neurons, "students": len(student), "start": turned.ravel()}


def _filter(witness: Mapping[str, Any]) -> Settings | None:
    """A teacher's output weights; with a student, its angle, its signal and its weight across the teacher's."""
    output = np.array(witness["a_star"])
    size = np.linalg.norm(output)
    ratio = output.sum() ** 2 / size**2
    if not 2 <= len(output) <= _PATCHES:
        return None
    settings = {"patches": len(output), "ratio": ratio}
    if "a" not in witness:
        return settings
    filter, target = np.array(witness["v"]), np.array(witness["w_star"])
    angle = math.atan2(
        np.linalg.norm(np.outer(filter, target) - np.outer(target, filter)) / math.sqrt(2), filter @ target
    )
    # A filter and its output weights may be rescaled against each other, and a student along with its teacher.
    sign = 1.0 if output.sum() >= 0 else -1.0
    own, output = sign * np.array(witness["a"]) / (np.linalg.norm(target) * size), sign * output / size
    rest = 1.0 - output.sum() * output
    length = np.linalg.norm(rest)
    across = rest / length if length > 1e-9 else 0 * rest
    signal, amount = own @ output, own @ across
    # The picture has no place for weights across both the teacher's and their sum.
    beyond = np.linalg.norm(own - signal * output - amount * across)
    if not _SIGNALS[0] <= signal <= _SIGNALS[1] or beyond > 1e-9 * np.linalg.norm(own):
        return None
    return settings | {"start": (angle, signal), "across": amount}


def _sharing(witness: Mapping[str, Any]) -> Settings | None:
    """A teacher and a shared vector in the plane, with the slope of the linear part where it is another one."""
    teacher, student = np.array(witness["u"]), np.array(witness["w"])
    if not (_inside(teacher) and _inside(student)):
        return None
    return {"patches": witness["k"], "teacher": teacher, "start": student, "slope": witness.get("slope", "usual")}


def _inside(vector: np.ndarray) -> bool:
    return vector.shape == (2,) and abs(vector[0]) <= _WIDTH and abs(vector[1]) <= _HEIGHT


_SETTINGS: dict[str, Callable[[Mapping[str, Any]], Settings | None]] = {
    "neuron": _neuron,
    "committee": _committee,
    "filter": _filter,
    "sharing": _sharing,
}


def _written(value: Any) -> str:
    if isinstance(value, str):
        return value
    # Rounded to what is no rounding error; adding zero takes the sign off a zero.
    return ",".join(f"{number:.9g}" for number in np.round(np.ravel(value).astype(float), 12) + 0.0)


@lru_cache
def shown_claims() -> dict[str, str]:
    """Return the addresses that open the explorer at witnesses, by the statements that they refute."""
    addresses = {}
    for claim, said in entries("claims"):
        if "explore" not in said:
            continue
        (witness,) = (
            entry["witness"]
            for entry in recorded_witnesses(claim.partition(".")[0])
            if (entry["id"], entry["form"]) == (claim, "as_printed")
        )
        settings = _SETTINGS[said["explore"]](witness | said.get("explore_at", {}))
        if settings is not None:
            query = "&".join(f"{name}={_written(value)}" for name, value in settings.items())
            addresses[claim] = f"#{said['explore']}?{query}"
    return addresses


def witness_address(claim: str) -> str:
    """Return the address within the explorer that opens it at the witness against a claim; empty if none fits.

    Args:
        claim: Identifier of a claim that is refuted as printed, by the record.
    """
    return shown_claims().get(claim, "")


def witnesses_script() -> str:
    """Return the script that tells the explorer's pages of the witnesses they can show."""
    findings = {claim: said["finding"] for claim, said in entries("claims")}
    known = [
        {"claim": claim, "address": address, "finding": findings[claim]} for claim, address in shown_claims().items()
    ]
    return (
        "// Refuted statements, by the address that shows the witness.\n"
        f"tutelage.witnesses = {json.dumps(known, ensure_ascii=False, indent=1)};\n"
    )
