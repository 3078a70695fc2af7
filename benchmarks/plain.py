"""The best plain NumPy that we can think of for a committee: its gradient, and descent for one run or for many.

As a script, `python benchmarks/plain.py neurons runs` follows so many runs to their ends and prints the seconds that
this took; nothing but NumPy is imported.
"""

import sys
import time

import numpy as np

TOLERANCE = 1e-12
MOST_STEPS = 100_000
TOGETHER = 20_000  # numbers of the students of all runs in one array, which then fits into a cache


def gradient_towards(teachers: np.ndarray, students: int, runs: tuple[int, ...] = ()):
    r"""Return the gradient of half the expected squared error as a function of students, of one run or of several.

    Students and teachers stand in one array, so that there is one matrix of cosines, one `arccos`, one `sin` and one
    product back; what depends on the teachers alone is written there once. A pair adds

    $$g(w, v) = \frac{\|v\|\sin\theta\,\hat w + (\pi - \theta)\,v}{2\pi},$$

    with a plus sign for students and a minus sign for teachers.
    """
    norms = np.linalg.norm(teachers, axis=1)
    vectors = np.empty((*runs, students + len(teachers), teachers.shape[1]))
    units, sizes = np.empty_like(vectors), np.empty((*vectors.shape[:-1], 1))
    vectors[..., students:, :], units[..., students:, :] = -teachers, teachers / norms[:, None]
    sizes[..., students:, 0] = -norms
    here = np.arange(students)

    def gradient(w: np.ndarray) -> np.ndarray:
        norm = np.sqrt((w * w).sum(axis=-1, keepdims=True))
        own = w / norm
        vectors[..., :students, :], units[..., :students, :], sizes[..., :students, :] = w, own, norm
        theta = np.arccos(np.minimum(own @ units.swapaxes(-1, -2), 1.0))
        theta[..., here, here] = 0.0  # a neuron is at angle zero from itself, whatever the rounding
        return ((np.sin(theta) @ sizes) * own + (np.pi - theta) @ vectors) / (2 * np.pi)

    return gradient


def follow(start: np.ndarray, teachers: np.ndarray, step: float) -> tuple[np.ndarray, int]:
    """Follow one start by plain gradient descent to a gradient norm of 1e-12; return its end and its steps."""
    students, gradient = start.copy(), gradient_towards(teachers, len(start))
    for number in range(MOST_STEPS):
        slope = gradient(students)
        if np.linalg.norm(slope) <= TOLERANCE:
            return students, number
        students -= step * slope
    return students, MOST_STEPS


def follow_together(starts: np.ndarray, teachers: np.ndarray, step: float) -> np.ndarray:
    """Follow many starts in one array, which runs leave where they end; return their ends, runs first."""
    ends, numbers = starts.copy(), np.arange(len(starts))
    students, gradient = starts.copy(), gradient_towards(teachers, starts.shape[1], (len(starts),))
    for _ in range(MOST_STEPS):
        slope = gradient(students)
        going = np.sqrt((slope * slope).sum(axis=(1, 2))) > TOLERANCE
        if not going.all():
            ends[numbers[~going]] = students[~going]
            numbers, students, slope = numbers[going], students[going], slope[going]
            if not len(numbers):
                break
            gradient = gradient_towards(teachers, starts.shape[1], (len(numbers),))
        students -= step * slope
    ends[numbers] = students
    return ends


def main() -> None:
    """Follow runs of a committee with as many students as orthonormal teachers; print the seconds."""
    neurons, runs = map(int, sys.argv[1:])
    begun = time.perf_counter()
    starts = np.random.default_rng(0).normal(size=(runs, neurons, neurons)) / np.sqrt(neurons)
    together = max(1, TOGETHER // neurons**2)
    for begin in range(0, runs, together):
        follow_together(starts[begin : begin + together], np.eye(neurons), 5 / max(neurons, 6))
    print(time.perf_counter() - begun)


if __name__ == "__main__":
    main()
