"""Proofs of all points of an atlas, whose problem is built again from its description; and checks of those it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from jaxtyping import PyTree

from tutelage import problems
from tutelage.activations import names
from tutelage.errors import UnsupportedCombination, invalid, shown
from tutelage.geometry.atlas import Atlas, AtlasEntry
from tutelage.geometry.proving import certify
from tutelage.geometry.stated import ball_loss, described
from tutelage.geometry.survey import describe
from tutelage.geometry.verification import fault, uncovered
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


T = TypeVar("T")


def certified(
    atlas: Atlas, objective: Objective | None, digits: int, progress: Callable[[int], None] | None = None
) -> Atlas:
    """Return an atlas with the certificate of each point; see `Atlas.certified`."""

    def proved(entry: AtlasEntry, objective: Objective) -> AtlasEntry:
        return replace(entry, certificate=certify(objective, entry.point, digits))

    return replace(atlas, entries=_each(atlas, objective, proved, progress))


def verified(
    atlas: Atlas, objective: Objective | None, progress: Callable[[int], None] | None = None
) -> tuple[Verification, ...]:
    """Return what comes out when each certificate of an atlas is checked again; see `Atlas.verify`."""
    return _each(atlas, objective, _verification, progress)


def _each(
    atlas: Atlas,
    objective: Objective | None,
    function: Callable[[AtlasEntry, Objective], T],
    progress: Callable[[int], None] | None,
) -> tuple[T, ...]:
    """Return what a function makes of each entry and the objective of an atlas, and say how many are done."""
    if objective is None:
        objective = objective_of(atlas)
    elif describe(objective) != atlas.problem:
        raise invalid("objective", "be the one that the atlas was made of", shown(objective), "Pass that one")
    found = []
    for entry in atlas:
        found.append(function(entry, objective))
        if progress is not None:
            progress(len(found))
    return tuple(found)


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


def _verification(entry: AtlasEntry, objective: Objective) -> Verification:
    certificate = entry.certificate
    if certificate is None or not certificate.proved:
        return Verification("no proof", "" if certificate is None else certificate.reason)
    if certificate._loss is not None and (missing := uncovered(certificate._loss)):
        return Verification("no proof", f"the check does not cover {missing}")
    problem, student = objective.problem, objective.problem.student
    point = student.canonical(problem.point(entry.point))
    reason = _stated_otherwise(entry, objective, point)
    if not reason:
        contained = student.contains(point, problem.teacher, problem.target)
        reason = fault(certificate, np.asarray(student.vectors(point)), contained)
    return Verification("false", reason) if reason else Verification("verified")


def _stated_otherwise(entry: AtlasEntry, objective: Objective, point: PyTree) -> str:
    """Return how the certificate of an entry differs in what it is about, or an empty text."""
    certificate = entry.certificate
    assert certificate is not None and certificate._loss is not None
    mine = ball_loss(objective, point)
    if not all(_equal(getattr(mine, one.name), getattr(certificate._loss, one.name)) for one in fields(mine)):
        return "it is about another problem"
    rows = np.asarray(objective.problem.student.rows(point))  # type: ignore[attr-defined]
    if certificate.problem != described(objective, mine, rows):
        return "it is about another problem, in words"
    if entry.complete and not certificate.parts and entry.index != certificate.index:
        return f"the atlas says that the index is {entry.index}"
    low, high = certificate.loss
    return "" if low - _CLOSE <= entry.loss <= high + _CLOSE else f"the atlas says that the loss is {entry.loss:.9g}"


def _equal(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else one is other or one == other
