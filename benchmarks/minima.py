"""The minima of a committee, end to end, against a NumPy loop that follows one start after another."""

import sys
import time

import numpy as np
from committee import gradient
from harness import best_seconds, cores, publish

import tutelage as tl

SIZES = ((20, 500, 25), (50, 128, 12), (100, 32, 8))  # neurons, runs, ratio wanted
TOLERANCE = 1e-12
MOST_STEPS = 100_000
CHECKED = 2  # starts that the loop follows to their end
PIECE = 200  # steps over which it is timed at each of them


def follow(start: np.ndarray, teachers: np.ndarray, step: float) -> tuple[np.ndarray, int]:
    """Follow one start by plain gradient descent to a gradient norm of 1e-12; return its end and its steps."""
    students = start.copy()
    for number in range(MOST_STEPS):
        slope = gradient(students, teachers)
        if np.linalg.norm(slope) <= TOLERANCE:
            return students, number
        students -= step * slope
    return students, MOST_STEPS


def loop_seconds(starts: np.ndarray, teachers: np.ndarray, step: float) -> float:
    """Return the loop's time per step, from a few hundred steps of a few starts."""

    def loop() -> None:
        for start in starts[:CHECKED]:
            students = start.copy()
            for _ in range(PIECE):
                slope = gradient(students, teachers)
                if np.linalg.norm(slope) <= TOLERANCE:
                    break
                students -= step * slope

    return best_seconds(loop) / (CHECKED * PIECE)


def search(objective: tl.objectives.Objective, starts: np.ndarray, step: float) -> tuple[tl.Runs, tl.geometry.Atlas]:
    """Return the runs and the atlas, as `tutelage minima` makes them."""
    stop = tl.gradient_norm(TOLERANCE) | tl.step_limit(MOST_STEPS)
    runs = tl.descend(objective, starts, tl.GradientDescent(step), stop)
    return runs, tl.atlas(objective, runs)


def apart(runs: tl.Runs, starts: np.ndarray, teachers: np.ndarray, step: float, atlas: tl.geometry.Atlas) -> str:
    """Return the largest distance between the loop's ends and ours, over the starts that both follow to their end.

    Runs that pass close to a saddle amplify rounding errors, and may end at different minima: these are named. The
    quickest runs are compared.
    """
    chosen = np.argsort(runs.steps)[:CHECKED]
    worst = 0.0
    for run in chosen:
        end, _ = follow(starts[run], teachers, step)
        ours = np.asarray(runs.point(int(run)))
        if atlas.find(end) != atlas.find(ours):
            return "another minimum"
        worst = max(worst, float(np.abs(end - ours).max()))
    return f"{worst:.0e}"


def main() -> None:
    chosen = {int(size) for size in sys.argv[1:]}
    rows = []
    for size, number, wanted in SIZES:
        if chosen and size not in chosen:
            continue
        teachers, step = np.eye(size), 5 / size
        problem = tl.problems.committee(teachers, students=size)
        objective = tl.population(problem)
        starts = np.asarray(tl.starts.xavier(problem, runs=number, seed=0))
        # Compiled beforehand: both the early and the late program, and the atlas.
        warm = tl.descend(objective, starts[:2], tl.GradientDescent(step), tl.step_limit(4200))
        tl.atlas(objective, warm, tolerances=tl.geometry.Tolerances(gradient=1e9))
        begun = time.perf_counter()
        runs, atlas = search(objective, starts, step)
        ours = time.perf_counter() - begun
        loop = loop_seconds(starts, teachers, step) * int(runs.steps.sum())
        rows.append(
            [
                str(size),
                str(number),
                f"{runs.steps.mean():.0f}",
                f"{loop:.0f}",
                f"{ours:.1f}",
                f"{ours - runs.seconds:.1f}",
                f"{loop / ours:.1f}×",
                f"{loop / cores() / ours:.1f}×",
                f"{wanted}×",
                f"{len(runs.where('converged'))}",
                str(len(atlas)),
                apart(runs, starts, teachers, step, atlas),
            ]
        )
    publish(
        "minima",
        "Minima of a committee (students = teachers = dimension = k), end to end",
        [
            "k",
            "runs",
            "steps",
            "NumPy, s",
            "ours, s",
            "atlas, s",
            "ratio",
            "per core",
            "wanted",
            "ended",
            "minima",
            "apart",
        ],
        rows,
        "Gradient descent with step 5/k from Xavier starts to gradient norm 1e-12, at most 100,000 steps. NumPy "
        "follows one start after another; its time is estimated from a few hundred steps of two starts and the "
        "steps of all runs. `per core` divides it by the number of cores, as if a process on each followed its "
        "share without loss. Our time includes the atlas: grouping by symmetry, spectra and reduced blocks (listed "
        "apart); NumPy's does not. Programs are compiled beforehand. Minima are classes up to symmetry. The last "
        "column is the largest difference of an entry between the ends of the loop and ours, for the two runs with "
        "the fewest steps.",
    )


if __name__ == "__main__":
    main()
