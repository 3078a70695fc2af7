"""How a run ended."""

from enum import IntEnum


class Code(IntEnum):
    """Internal state of a run; the public statuses are their names in `STATUSES`."""

    RUNNING = 0
    GRADIENT = 1
    LOSS = 2
    CHANGE = 3
    STEPS = 4
    HORIZON = 5
    SECONDS = 6
    STALLED = 7
    DIVERGED = 8
    SINGULAR = 9
    INTERRUPTED = 10
    PAUSED = 11  # waiting for a Newton finish to be tried
    CHANNEL = 12  # ended by a limit, with a pair of neurons that runs away
    COARSE = 13  # met a condition, too far from zero for a quadrature


STATUSES: dict[Code, str] = {
    Code.RUNNING: "running",
    Code.GRADIENT: "converged",
    Code.LOSS: "converged",
    Code.CHANGE: "converged",
    Code.STEPS: "step_limit",
    Code.HORIZON: "time_limit",
    Code.SECONDS: "time_limit",
    Code.STALLED: "stalled",
    Code.DIVERGED: "diverged",
    Code.SINGULAR: "non_differentiable",
    Code.INTERRUPTED: "interrupted",
    Code.PAUSED: "running",
    Code.CHANNEL: "channel",
    Code.COARSE: "coarse",
}
