"""Restarts with other signs: a few deterministic copies of a start, of which one is sure to be a good one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from tutelage.arrays import of_jax
from tutelage.checks import positive
from tutelage.dynamics.checks import checked_objective
from tutelage.dynamics.descend import descend
from tutelage.dynamics.methods import as_method
from tutelage.dynamics.runs import Runs
from tutelage.objectives import Objective


@dataclass(frozen=True)
class Restarts:
    """What starts and their copies with other signs have reached.

    Attributes:
        points: The best student of each start, starts first.
        losses: Its loss.
        succeeded: Whether that loss is small enough.
        attempts: How many signs were tried: until success, or all.
        signs: The signs of the copy that reached the best student, one for each array of a start.
        runs: The runs of every attempt, in the order of the attempts.
    """

    points: PyTree
    losses: np.ndarray
    succeeded: np.ndarray
    attempts: np.ndarray
    signs: np.ndarray
    runs: tuple[Runs, ...]

    def __len__(self) -> int:
        return len(self.losses)


def sign_choices(starts: PyTree) -> list[tuple[int, ...]]:
    """Return the signs that restarts try, in their order: all plus first, one for each array of a start."""
    return list(product((1, -1), repeat=len(jax.tree.leaves(starts))))


def with_signs(starts: PyTree, signs: Sequence[int]) -> PyTree:
    """Return starts with the sign of each of their arrays multiplied by the given one."""
    leaves, structure = jax.tree.flatten(starts)
    return jax.tree.unflatten(structure, [sign * leaf for sign, leaf in zip(signs, leaves, strict=True)])


def restarts(
    objective: Objective,
    starts: Any,
    method: Any,
    success: float,
    *,
    seed: int = 0,
    first_run: int = 0,
    progress: Callable | None = None,
    **options: Any,
) -> Restarts:
    r"""Follow each start; where it fails, follow its copies with other signs until one succeeds.

    For the convolutional filter, a start is a filter $v$ and output weights $a$: the four choices are $(v, a)$,
    $(v, -a)$, $(-v, a)$, $(-v, -a)$. One of them has an acute angle to the teacher's filter and $a\cdot a^* > 0$, so
    that gradient descent succeeds from it (Theorem 3.1 of the convolutional-filter paper, and the text below its
    Theorem 3.2).

    Args:
        objective: What to descend.
        starts: A batch of students, runs first.
        method: A method, as in `descend`.
        success: The loss at and below which a run has succeeded.
        seed: Seed of random methods.
        first_run: Number of the first run.
        progress: As in `descend`, for each attempt.
        **options: Further arguments of `descend`: `stop`, `record`, `finish`.

    Returns:
        The best student of each start, and how many attempts it took.
    """
    checked_objective(objective)
    success = positive("success", success)
    # In NumPy: every number of starts that are left would be a program of its own.
    starts = jax.tree.map(np.asarray, objective.problem.points(starts))
    number = jax.tree.leaves(starts)[0].shape[0]
    choices = sign_choices(starts)
    # A deterministic run does not depend on its number, so that finished starts can be left out.
    leave_out = objective.deterministic and not as_method(method).traits.random
    points = jax.tree.map(np.copy, starts)
    losses = np.full(number, np.inf)
    attempts = np.zeros(number, int)
    signs = np.ones((number, len(choices[0])), int)
    runs: list[Runs] = []
    for choice in choices:
        open_starts = np.flatnonzero(~(losses <= success))
        if open_starts.size == 0:
            break
        followed = open_starts if leave_out else np.arange(number)
        copies = with_signs(jax.tree.map(lambda leaf, followed=followed: leaf[followed], starts), choice)
        reached = descend(objective, copies, method, seed=seed, first_run=first_run, progress=progress, **options)
        runs.append(reached)
        attempts[open_starts] += 1
        found = np.where(np.isin(followed, open_starts), reached.losses, np.inf)
        better = found < losses[followed]
        for whole, part in zip(jax.tree.leaves(points), jax.tree.leaves(reached.points), strict=True):
            whole[followed[better]] = np.asarray(part)[better]
        losses[followed[better]] = found[better]
        signs[followed[better]] = choice
    return Restarts(jax.tree.map(of_jax, points), losses, losses <= success, attempts, signs, tuple(runs))
