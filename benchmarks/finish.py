"""A Newton finish against plain descent: time to gradient norm 1e-12, and whether the points are the same."""

import time

import numpy as np
from harness import publish

import tutelage as tl

SIZES = (10, 20)
RUNS = 48
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

    Two points near one minimum are as far apart as both gradient norms over the smallest eigenvalue of the
    Hessian allow; the factor two on top of it is for the change of the Hessian in between. Gradient norms are
    those reached: plain descent may have used up its steps.
    """
    sizes = first.gradient_norms + second.gradient_norms
    same, largest = 0, 0.0
    for one, other, size in zip(first, second, sizes, strict=True):
        distance = float(np.linalg.norm(one - other))
        stiffness = float(np.linalg.eigvalsh(np.asarray(objective.hessian(other)))[0])
        same += stiffness > 0 and distance <= 2 * size / stiffness
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
                f"{len(plain.where('converged'))} of {RUNS}",
                f"{len(newton.where('converged'))} of {RUNS}",
                f"{same} of {RUNS}",
                f"{apart:.0e}",
            ]
        )
    publish(
        "finish",
        f"Newton finish: {RUNS} runs of a committee to gradient norm 1e-12",
        [
            "k",
            "plain, s",
            "finish, s",
            "plain steps",
            "steps before it",
            "plain ended",
            "finish ended",
            "same",
            "apart",
        ],
        rows,
        "Seconds are of the whole batch. Steps are means over the runs, and ended are those that reached the norm "
        "within 100,000 steps. Two points count as the same if they are as near as their gradient norms and the "
        "smallest eigenvalue of the Hessian imply; the last column is the largest distance.",
    )


if __name__ == "__main__":
    main()
