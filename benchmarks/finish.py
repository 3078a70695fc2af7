"""A Newton finish against plain descent: the time to gradient norm 1e-12, whether both reach the same point."""

import time

import equinox as eqx
import numpy as np
from harness import publish

import tutelage as tl

SIZES = (10, 20)
RUNS = 64
TOLERANCE = 1e-12


def timed(objective: tl.objectives.Objective, starts: np.ndarray, **options) -> tuple[float, tl.Runs]:
    """Return the wall time of a batch to gradient norm 1e-12, compiled beforehand, and the runs."""
    method, stop = tl.GradientDescent(step=5 / starts.shape[1]), tl.gradient_norm(TOLERANCE)
    tl.descend(objective, starts[:2], method, stop, **options)
    begun = time.perf_counter()
    runs = tl.descend(objective, starts, method, stop, **options)
    return time.perf_counter() - begun, runs


def agreement(objective: tl.objectives.Objective, first: tl.Runs, second: tl.Runs) -> tuple[int, float]:
    """Return how many runs reached the same critical point, and the largest distance of two points.

    Two points near one minimum, with gradients up to a tolerance, are up to twice the tolerance over the
    smallest eigenvalue of the Hessian apart; the factor two on top of it is for the change of the Hessian.
    """
    hessian = eqx.filter_jit(objective.hessian)
    same, largest = 0, 0.0
    for one, other in zip(first, second, strict=True):
        distance = float(np.linalg.norm(one - other))
        stiffness = float(np.linalg.eigvalsh(np.asarray(hessian(other)))[0])
        same += stiffness > 0 and distance <= 4 * TOLERANCE / stiffness
        largest = max(largest, distance)
    return same, largest


def main() -> None:
    rows = []
    for size in SIZES:
        problem = tl.problems.committee(np.eye(size), students=size)
        objective = tl.population(problem)
        starts = np.asarray(tl.starts.xavier(problem, runs=RUNS, seed=0))
        plain_seconds, plain = timed(objective, starts)
        newton_seconds, newton = timed(objective, starts, finish=tl.Newton())
        same, apart = agreement(objective, plain, newton)
        rows.append(
            [
                str(size),
                f"{plain_seconds:.1f}",
                f"{newton_seconds:.1f}",
                f"{plain.steps.mean():.0f}",
                f"{newton.steps.mean():.0f}",
                f"{np.sum(newton.newton_steps > 0)} of {RUNS}",
                f"{same} of {RUNS}",
                f"{apart:.0e}",
            ]
        )
    publish(
        "finish",
        f"Newton finish: {RUNS} runs of a committee to gradient norm 1e-12",
        ["k", "plain s", "Newton s", "plain steps", "steps", "finished", "same point", "apart"],
        rows,
        "Steps are means over the runs. Two points count as the same if they are as near as gradient norms of "
        "1e-12 and the smallest eigenvalue of the Hessian imply; the last column is the largest distance.",
    )


if __name__ == "__main__":
    main()
