"""Proofs of all points of an atlas, whose problem is built again from its description."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tutelage import problems
from tutelage.activations import names
from tutelage.errors import UnsupportedCombination, invalid, shown
from tutelage.geometry.atlas import Atlas
from tutelage.geometry.proving import certify
from tutelage.geometry.survey import describe
from tutelage.objectives import Objective, population

_FAMILIES = {"committee": problems.committee, "two_layer": problems.two_layer}


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
        objective = population(family(np.array(problem["teacher"]), students=students, activation=problem["activation"]))
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
