"""The minima of a committee, end to end, against a NumPy loop that follows one start after another on each core."""

import os

# Before NumPy is loaded: one process per core is the reference, and each has one thread.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import resource
import sys
import time

import numpy as np
from harness import cores, publish
from plain import MOST_STEPS, TOLERANCE, follow

import tutelage as tl

SIZES = ((20, 500, 64, 25), (50, 128, 8, 12), (100, 32, 2, 8))  # neurons, runs, starts of the loop, ratio wanted
LARGEST_DENSE = 50  # neurons up to which the reference takes spectra


def spectrum(students: np.ndarray, teachers: np.ndarray) -> np.ndarray:
    r"""Return the eigenvalues of the Hessian of half the expected squared error of one run, as it is printed.

    With $\hat n_{vw}$ the unit vector along $\hat v - \cos\theta\,\hat w$, a pair adds to the diagonal block of $w$

    $$\frac{\|v\|\sin\theta}{2\pi\|w\|}\bigl(I - \hat w\hat w^\top + \hat n_{vw}\hat n_{vw}^\top\bigr),$$

    and two students have the mixed block $\bigl((\pi - \theta)I + \hat n_{wv}\hat v^\top + \hat
    n_{vw}\hat w^\top\bigr)/2\pi$.
    """
    number, dimension = students.shape
    identity, unit = np.eye(dimension), students / np.linalg.norm(students, axis=1)[:, None]
    blocks = np.zeros((number, dimension, number, dimension))
    for i in range(number):
        blocks[i, :, i] += identity / 2
        for others, sign in ((np.delete(students, i, axis=0), 1), (teachers, -1)):
            norms, theta, normals = _seen_from(unit[i], others)
            factors = sign * norms * np.sin(theta) / (2 * np.pi * np.linalg.norm(students[i]))
            blocks[i, :, i] += factors.sum() * (identity - np.outer(unit[i], unit[i]))
            blocks[i, :, i] += (factors[:, None] * normals).T @ normals
        for j in range(i):
            _, (theta,), (from_i,) = _seen_from(unit[i], students[j : j + 1])
            _, _, (from_j,) = _seen_from(unit[j], students[i : i + 1])
            mixed = ((np.pi - theta) * identity + np.outer(from_j, unit[j]) + np.outer(from_i, unit[i])) / (2 * np.pi)
            blocks[i, :, j], blocks[j, :, i] = mixed, mixed.T
    return np.linalg.eigvalsh(blocks.reshape(students.size, students.size))


def _seen_from(unit: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return norms of vectors, their angles with a unit vector, and their directions across it."""
    norms = np.linalg.norm(others, axis=1)
    theta = np.arccos(np.clip(others @ unit / norms, -1.0, 1.0))
    across = others / norms[:, None] - np.cos(theta)[:, None] * unit
    return norms, theta, across / np.maximum(np.linalg.norm(across, axis=1), 1e-300)[:, None]


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
        ours, _, (runs, atlas) = timed(lambda: search(objective, starts, step))  # noqa: B023
        _, loop, ends = timed(lambda: [follow(start, teachers, step) for start in starts[:followed]])  # noqa: B023
        loop *= number / followed
        spectra = None
        if size <= LARGEST_DENSE:
            _, spectra, _ = timed(lambda: [spectrum(end, teachers) for end, _ in ends])  # noqa: B023
            spectra *= number / followed
        ended = [run for run, (_, steps) in enumerate(ends) if steps < MOST_STEPS]
        apart = [float(np.abs(ends[run][0] - np.asarray(runs.point(run))).max()) for run in ended]
        rows.append(
            [
                str(size),
                str(number),
                f"{np.mean([steps for _, steps in ends]):.0f}",
                f"{runs.steps.mean():.0f}",
                f"{loop / cores():.0f}",
                "" if spectra is None else f"{spectra / cores():.0f}",
                f"{first:.1f}",
                f"{ours:.1f}",
                f"{loop / cores() / ours:.1f}×",
                "" if spectra is None else f"{(loop + spectra) / cores() / ours:.1f}×",
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
            "descent, s",
            "spectra, s",
            "first, s",
            "ours, s",
            "ratio",
            "with spectra",
            "wanted",
            "ended",
            "minima",
            "same",
            "GB",
        ],
        rows,
        "From Xavier starts with the step 5/k to gradient norm 1e-12. The reference is NumPy, one start after another "
        "on each core: plain descent, and the eigenvalues of the dense Hessian where it ends, from the first 64, 8 or "
        "2 starts and scaled to all of them; `steps` are its steps, `gradients` ours before the finish. Our time is "
        "the whole of it: descent, classes, complete spectra, kinds and reduced blocks. `ratio` compares it with "
        "NumPy's descent alone, `with spectra` with descent and spectra (at k = 100 a dense spectrum takes minutes, "
        "and is left out). `first` includes compilation, the times after it do not. `same` counts the starts from "
        "which both end at the same point, of those that the loop brings to an end within 100,000 steps. GB is the "
        "most memory used so far.",
    )


if __name__ == "__main__":
    main()
