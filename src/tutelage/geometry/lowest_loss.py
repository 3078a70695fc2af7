"""What is known of the lowest loss of a problem without searching for it."""

from typing import NamedTuple

import numpy as np

from tutelage.checks import finite_number
from tutelage.dynamics.base import values_at
from tutelage.objectives import Objective


class Floor(NamedTuple):
    """A lower bound of the loss.

    Attributes:
        loss: The bound.
        attained: Whether some student is known to attain it, so that it is the loss of the global minima.
        scale: The size of losses, against which a tolerance is measured: the loss of the zero student.
    """

    loss: float
    attained: bool
    scale: float


def lowest_loss(objective: Objective, stated: float | None = None) -> Floor:
    """Return a lower bound of the loss: half the noise variance, or zero for a fixed sample.

    It is attained where the student can compute the teacher: a committee with at least as many students as
    teachers, for instance. With fewer, the loss of the global minima is not known, unless the caller states it.
    """
    problem = objective.problem
    zero = problem.zero()
    attained = objective.taught and problem.student.contains(zero, problem.teacher, problem.target)
    scale = float(values_at(objective, zero)[0]) - objective.floor if objective.deterministic else 1.0
    floor = Floor(objective.floor, attained, scale if np.isfinite(scale) and scale > 0 else 1.0)
    return floor if stated is None else floor._replace(loss=finite_number("lowest", stated), attained=True)
