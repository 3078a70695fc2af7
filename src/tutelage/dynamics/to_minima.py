"""The quickest way to the minima that gradient descent reaches."""

from collections.abc import Callable
from typing import Any

from tutelage.dynamics.base import Method
from tutelage.dynamics.chebyshev import ChebyshevDescent
from tutelage.dynamics.checks import deterministic
from tutelage.dynamics.collective import CollectiveDescent
from tutelage.dynamics.descend import descend
from tutelage.dynamics.krylov import NewtonKrylov
from tutelage.dynamics.runs import Runs
from tutelage.dynamics.stops import gradient_norm, step_limit
from tutelage.objectives import Objective
from tutelage.objectives.population.collective import has_collective

# On the long plateaus of large problems small differences have time to grow: with the first tolerance all of a thousand
# runs of twenty neurons, with the second all runs of a hundred, ended where plain descent does.
_TOLERANCE, _TOLERANCE_TIMES_VECTORS = 5e-3, 0.1
# With fewer neurons the collective modes are hardly stiffer than the rest, and gain less than they cost.
_LEAST_COLLECTIVE = 24


def descend_to_minima(
    objective: Objective,
    starts: Any,
    step: float,
    tolerance: float = 1e-12,
    most_steps: int = 100_000,
    *,
    seed: int = 0,
    first_run: int = 0,
    progress: Callable[[int, int, int], None] | None = None,
) -> Runs:
    """Follow gradient descent with a constant step to a small gradient, in far fewer gradients than it has steps.

    The path of a large committee of neurons with two slopes is followed by `CollectiveDescent`, others by
    `ChebyshevDescent`; the tail by `NewtonKrylov`. Runs end where plain descent ends, but for
    rare ones that pass so close to a saddle that small differences decide on their way.

    Args:
        objective: A deterministic objective.
        starts: A batch of students, runs first; or earlier `Runs` of this function.
        step: The step of gradient descent; one with which it is stable.
        tolerance: Gradient norm to reach.
        most_steps: Most gradients of a run before its finish.
        seed: Seed of the runs, as in `descend`.
        first_run: Number of the first run, as in `descend`.
        progress: As in `descend`.

    Returns:
        What the runs have reached; their steps count gradients.
    """
    method = _method(deterministic(objective), step)
    stop = gradient_norm(tolerance) | step_limit(most_steps)
    return descend(
        objective, starts, method, stop, seed=seed, first_run=first_run, finish=NewtonKrylov(), progress=progress
    )


def _method(objective: Objective, step: float) -> Method:
    """Return the method that follows gradient descent in the fewest gradients."""
    if has_collective(objective) and objective.problem.template[1][0][0] >= _LEAST_COLLECTIVE:
        return CollectiveDescent(step)
    vectors = len(objective.problem.teacher.vectors(objective.target))
    return ChebyshevDescent(step, min(_TOLERANCE, _TOLERANCE_TIMES_VECTORS / max(vectors, 1)))
