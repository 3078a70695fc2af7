"""Checks of arguments that functions of dynamics, and of what is built on them, take."""

from collections.abc import Callable
from typing import Any

from tutelage.checks import function, of_kind
from tutelage.errors import invalid
from tutelage.objectives import Objective


def checked_objective(objective: Any) -> Objective:
    """Return the argument, or raise if it is no objective."""
    return of_kind("objective", objective, Objective, "an objective", "Build one with tutelage.population(problem)")


def deterministic(objective: Any) -> Objective:
    """Return the argument, or raise if it is no objective that returns the same loss at every call."""
    if not checked_objective(objective).deterministic:
        raise invalid(
            "objective",
            "be deterministic",
            "a stream, which draws new samples at every call",
            "Use tutelage.population, or tutelage.empirical for a fixed sample",
        )
    return objective


def checked_progress(progress: Any) -> Callable[[int, int, int], None] | None:
    """Return the argument, or raise if it is neither `None` nor a function."""
    if progress is None:
        return None
    return function("progress", progress, "a function of three numbers", "Leave it out for silence")
