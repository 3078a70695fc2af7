"""The minima of a committee, end to end, against a NumPy loop that follows one start after another on each core."""

import os

# Before NumPy is loaded: one process a core is the reference, and each has one thread.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import resource
import sys
import time

import numpy as np
from committee import gradient
from harness import cores, publish

import tutelage as tl

SIZES = ((20, 500, 64, 25), (50, 128, 8, 12), (100, 32, 2, 8))  # neurons, runs, starts of the loop, ratio wanted
TOLERANCE = 1e-12
MOST_STEPS = 100_000


def follow(start: np.ndarray, teachers: np.ndarray, step: float) -> tuple[np.ndarray, int]:
    """Follow one start by plain gradient descent to a gradient norm of 1e-12; return its end and its steps."""
    students = start.copy()
    for number in range(MOST_STEPS):
        slope = gradient(students, teachers)
        if np.linalg.norm(slope) <= TOLERANCE:
            return students, number
        students -= step * slope
    return students, MOST_STEPS


def search(objective: tl.objectives.Objective, starts: np.ndarray, step: float) -> tuple[tl.Runs, tl.geometry.Atlas]:
    """Return the runs and the atlas, as `tutelage minima` makes them."""
    runs = tl.dynamics.descend_to_minima(objective, starts, step, TOLERANCE, MOST_STEPS)
    return runs, tl.atlas(objective, runs)


def timed(work) -> tuple[float, float, object]:
    """Return wall time, processor time and outcome."""
    wall, processor = time.perf_counter(), time.process_time()
    outcome = work()
    return time.perf_counter() - wall, time.process_time() - processor, outcome


def main() -> None:
    chosen = {int(size) for size in sys.argv[1:]}
    rows = []
    for size, number, followed, wanted in SIZES:
        if chosen and size not in chosen:
            continue
        teachers, step = np.eye(size), 5 / size
        problem = tl.problems.committee(teachers, students=size)
        objective = tl.population(problem)
        starts = np.asarray(tl.starts.xavier(problem, runs=number, seed=0))
        first, _, _ = timed(lambda: search(objective, starts, step))  # noqa: B023
        ours, ours_processor, (runs, atlas) = timed(lambda: search(objective, starts, step))  # noqa: B023
        _, loop, ends = timed(lambda: [follow(start, teachers, step) for start in starts[:followed]])  # noqa: B023
        loop *= number / followed
        ended = [run for run, (_, steps) in enumerate(ends) if steps < MOST_STEPS]
        apart = [float(np.abs(ends[run][0] - np.asarray(runs.point(run))).max()) for run in ended]
        rows.append(
            [
                str(size),
                str(number),
                f"{np.mean([steps for _, steps in ends]):.0f}",
                f"{runs.steps.mean():.0f}",
                f"{loop / cores():.0f}",
                f"{first:.1f}",
                f"{ours:.1f}",
                f"{loop / cores() / ours:.0f}×",
                f"{loop / ours_processor:.0f}×",
                f"{wanted}×",
                f"{len(runs.where('converged'))}",
                str(len(atlas)),
                f"{sum(distance < 1e-6 for distance in apart)} of {len(apart)}",
                f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f}",
            ]
        )
    publish(
        "minima",
        "Minima of a committee (students = teachers = dimension = k), end to end",
        [
            "k",
            "runs",
            "steps",
            "gradients",
            "NumPy, s",
            "first, s",
            "ours, s",
            "ratio",
            "of CPU",
            "wanted",
            "ended",
            "minima",
            "same",
            "GB",
        ],
        rows,
        "From Xavier starts with the step 5/k to gradient norm 1e-12. NumPy is plain descent, one start after another "
        "on each core, followed to the end from the first 64, 8 or 2 starts and scaled to all of them; `steps` are its "
        "steps, `gradients` ours before the finish. Our time includes the atlas (classes, complete spectra, kinds, "
        "reduced blocks), NumPy's does not. `first` includes compilation, the times after it do not. `of CPU` compares "
        "processor times, which other load on the machine disturbs less. `same` counts the starts from which both end "
        "at the same point, of those that the loop brings to an end within 100,000 steps. GB is the most memory used "
        "so far.",
    )


if __name__ == "__main__":
    main()
