"""What finer quadratures say of students that have left the radius of the one that they were found with."""

import math
from collections.abc import Callable

import jax
import numpy as np
from jaxtyping import PyTree

from tutelage.arrays import row_of
from tutelage.dynamics.base import taught
from tutelage.errors import InvalidArgument
from tutelage.objectives import Objective
from tutelage.objectives.population import doublings_for, finer, reach_of

# Beside the tolerance of a dual: what a gradient or a loss, sums over many of them, may be off by within the radius.
_HEADROOM = 100.0


def allowance(objective: Objective) -> float:
    """Return by how much a loss or a gradient norm may differ from that by a finer quadrature."""
    return _HEADROOM * (objective.exactness.tolerance or 0.0)


def by_finer_quadratures(
    objective: Objective,
    points: PyTree,
    teachers: PyTree | None,
    evaluate: Callable[[Objective, np.ndarray], tuple[np.ndarray, ...]],
) -> dict[int, tuple[float, ...]]:
    """Evaluate the students that are beyond the radius of a quadrature by finer ones.

    Fixed nodes see a steep activation as a step: beyond the radius, a loss that still falls may look level.

    Args:
        objective: An objective.
        points: A batch of students, runs first, as NumPy arrays.
        teachers: A teacher for each of them, or `None`.
        evaluate: Takes a finer objective and the positions of some students, and returns arrays of numbers for each.

    Returns:
        The numbers of each such student, by its position; none where no quadrature is fine enough to tell.
    """
    if objective.exactness.kind != "quadrature":
        return {}
    groups: dict[int, list[int]] = {}
    for run in range(len(jax.tree.leaves(points)[0])):
        reach = reach_of(taught(objective, row_of(teachers, run)), row_of(points, run))
        if 1 < reach < math.inf:  # those that diverged may not be finite
            groups.setdefault(doublings_for(reach), []).append(run)
    found: dict[int, tuple[float, ...]] = {}
    for doublings, runs in groups.items():
        try:
            values = evaluate(finer(objective, doublings), np.array(runs))
        except InvalidArgument:
            found |= dict.fromkeys(runs, ())
            continue
        found |= dict(zip(runs, (tuple(map(float, row)) for row in zip(*values, strict=True)), strict=True))
    return found
