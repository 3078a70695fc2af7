"""Fewer students than teachers: do they copy teachers, or average them? With output weights learned, erf and ReLU."""

import numpy as np

import tutelage as tl

TEACHERS, STUDENTS = 5, 3


def partitions(total: int, parts: int, most: int):
    """Yield all ways to write a number as a sum of so many parts, none larger than `most`."""
    if parts == 1:
        if 1 <= total <= most:
            yield (total,)
        return
    for first in range(min(total - parts + 1, most), 0, -1):
        for rest in partitions(total - first, parts - 1, first):
            yield (first, *rest)


def averages(objective: tl.objectives.Objective, sizes: tuple[int, ...]) -> tl.models.Layers:
    """Return neurons along sums of `sizes` teachers each, at the sizes and output weights of the best erf neuron."""
    # The best multiple c·Σv of m orthonormal teachers: c² = 1/(m(3m − 2)); the best output weights are a linear system.
    members = np.repeat(np.arange(len(sizes)), sizes)
    rows = np.eye(len(sizes))[members].T / np.sqrt([[m * (3 * m - 2)] for m in sizes])
    zero = tl.models.Layers(rows, np.zeros(len(sizes)))
    hessian = np.asarray(objective.hessian(zero))[-len(sizes) :, -len(sizes) :]
    return tl.models.Layers(rows, np.linalg.solve(hessian, -np.asarray(objective.gradient(zero).output)))


for activation in ("erf", "relu"):
    problem = tl.problems.two_layer(np.eye(TEACHERS), STUDENTS, activation)
    objective = tl.population(problem)
    print(f"{activation}: {STUDENTS} students, {TEACHERS} teachers")
    if activation == "erf":
        for sizes in partitions(TEACHERS, STUDENTS, TEACHERS):
            point = averages(objective, sizes)
            found = tl.critical_point(objective, point)
            name = "+".join(map(str, sizes))
            print(f"  averages of {name}: loss {found.loss:.6f}, gradient {found.gradient_norm:.0e}, {found.kind}")
    starts = tl.starts.xavier(problem, runs=20, seed=0)
    runs = tl.dynamics.descend_to_minima(objective, starts, step=0.1, tolerance=1e-11, most_steps=50_000)
    for entry in tl.atlas(objective, runs):
        print(f"  {entry.count} of 20 runs: loss {entry.loss:.6f}, {entry.kind}, blocks {entry.symmetry}")
