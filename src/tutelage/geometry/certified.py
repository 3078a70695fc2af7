"""Proofs of all points of an atlas, whose problem is built again from its description; and checks of those it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import PyTree

from tutelage import problems
from tutelage.activations import names
from tutelage.errors import UnsupportedCombination, invalid, shown
from tutelage.geometry.atlas import Atlas, AtlasEntry
from tutelage.geometry.ball_losses import LossInBalls
from tutelage.geometry.proving import certify
from tutelage.geometry.stated import ball_loss, signs_of
from tutelage.geometry.survey import describe
from tutelage.geometry.verification import fault
from tutelage.objectives import Objective, population

# The loss that was measured, in float64, is within this of what is proved.
_CLOSE = 1e-8

_FAMILIES = {"committee": problems.committee, "two_layer": problems.two_layer}


class Verification(NamedTuple):
    """What came out when the certificate of a point was checked again.

    Attributes:
        status: `verified`, `false`, or `no proof` if there is none that the check covers.
        reason: Why it is not verified; empty if it is.
    """

    status: Literal["verified", "false", "no proof"]
    reason: str = ""


def certified(
    atlas: Atlas, objective: Objective | None, digits: int, progress: Callable[[int], None] | None = None
) -> Atlas:
    """Return an atlas with the certificate of each point; see `Atlas.certified`."""
    objective = objective_of(atlas) if objective is None else _checked(atlas, objective)
    entries = []
    for entry in atlas:
        entries.append(replace(entry, certificate=certify(objective, entry.point, digits)))
        if progress is not None:
            progress(len(entries))
    return replace(atlas, entries=tuple(entries))


def objective_of(atlas: Atlas) -> Objective:
    """Return the population loss of an atlas, from the description of its problem.

    Raises:
        UnsupportedCombination: If that does not say the whole problem.
    """
    problem = atlas.problem
    if problem["name"] in _FAMILIES and problem["activation"] in names():
        family, students = _FAMILIES[problem["name"]], problem["shapes"][0][0]
        objective = population(
            family(np.array(problem["teacher"]), students=students, activation=problem["activation"])
        )
        # The words leave out kinks, covariances and noise, which a digest stands for.
        if describe(objective) == problem:
            return objective
    raise UnsupportedCombination(
        "An atlas says its whole problem only for committees and networks with output weights under standard Gaussian "
        "inputs, all else as `tutelage minima` makes it. Pass the objective as well."
    )


def _checked(atlas: Atlas, objective: Objective) -> Objective:
    if describe(objective) != atlas.problem:
        raise invalid("objective", "be the one that the atlas was made of", shown(objective), "Pass that one")
    return objective


def verified(
    atlas: Atlas, objective: Objective | None, progress: Callable[[int], None] | None = None
) -> tuple[Verification, ...]:
    """Return what comes out when each certificate of an atlas is checked again; see `Atlas.verify`."""
    objective = objective_of(atlas) if objective is None else _checked(atlas, objective)
    found = []
    for entry in atlas:
        found.append(_verification(entry, objective))
        if progress is not None:
            progress(len(found))
    return tuple(found)


def _verification(entry: AtlasEntry, objective: Objective) -> Verification:
    certificate = entry.certificate
    if certificate is None or not certificate.proved:
        return Verification("no proof", "" if certificate is None else certificate.reason)
    if certificate._loss is not None and (missing := _uncovered(certificate._loss)):
        return Verification("no proof", f"the check does not cover {missing}")
    point = objective.problem.student.canonical(objective.problem.point(entry.point))
    reason = _stated_otherwise(entry, objective, point)
    if not reason:
        student = objective.problem.student
        contained = student.contains(point, objective.problem.teacher, objective.target)  # type: ignore[attr-defined]
        reason = fault(certificate, np.asarray(student.vectors(point)), contained)
    return Verification("false", reason) if reason else Verification("verified")


def _stated_otherwise(entry: AtlasEntry, objective: Objective, point: PyTree) -> str:
    """Return how the certificate of an entry differs in what it is about, or an empty text."""
    certificate = entry.certificate
    assert certificate is not None and certificate._loss is not None
    reading, mine = ball_loss(objective)
    mine = replace(mine, signs=signs_of(reading, point))
    if not all(_equal(getattr(mine, one.name), getattr(certificate._loss, one.name)) for one in fields(mine)):
        return "it is about another problem"
    if entry.complete and not certificate.parts and entry.index != certificate.index:
        return f"the atlas says that the index is {entry.index}"
    low, high = certificate.loss
    return "" if low - _CLOSE <= entry.loss <= high + _CLOSE else f"the atlas says that the loss is {entry.loss:.9g}"


def _equal(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else one is other or one == other


def _uncovered(loss: LossInBalls) -> str:
    """Return what a loss has that no check is written for, or an empty text."""
    if loss.biased or loss.mean is not None:
        return "biases, or inputs with a mean"
    return "" if loss.decay is None else "weight decay"
