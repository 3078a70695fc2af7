"""What the studies of this paper share: the paths of plain descent from many starts."""

import numpy as np

from tutelage.dynamics import GradientDescent, descend, record, step_limit
from tutelage.objectives import Objective


def paths(objective: Objective, starts, step: float, entries: int, every: int) -> tuple[np.ndarray, np.ndarray]:
    """Descend from every start, and return paths `[run, entry, dim]`, the first entries at the starts, and last losses.

    Args:
        objective: The objective.
        starts: The starts, `[run, dim]`.
        step: The step.
        entries: Number of entries of a path besides the start.
        every: Steps between two entries.
    """
    kept = record(student=_itself, every=every, at_most=max(entries + 1, 2))
    runs = descend(objective, starts, GradientDescent(step), step_limit(entries * every), kept)
    at = every * np.arange(entries + 1)
    curves = [runs.curve("student", run) for run in range(len(runs))]
    # A run that has come to rest earlier stays where it is.
    path = np.stack([students[np.searchsorted(steps, at, side="right") - 1] for steps, students in curves])
    return path, runs.losses


def _itself(student):
    return student
