"""Checks of arguments that functions of several modules take."""

from tutelage.errors import invalid
from tutelage.objectives import Objective


def require_deterministic(objective: Objective) -> None:
    """Raise unless the argument is an objective that returns the same loss at every call."""
    if not isinstance(objective, Objective):
        raise invalid("objective", "be an objective", repr(objective), "Build one with tutelage.population(problem)")
    if not objective.deterministic:
        raise invalid(
            "objective",
            "be deterministic",
            "a stream, which draws new samples at every call",
            "Use tutelage.population, or tutelage.empirical for a fixed sample",
        )
