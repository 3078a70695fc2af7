"""Runs of homogeneous absolute-value students to loss 1e-8, against a NumPy loop over single runs."""

import time

import numpy as np
from harness import publish

import tutelage as tl
from tutelage.geometry import line_angles

STUDENTS, TEACHERS, DIMENSION = 20, 5, 10
RUNS = 1000  # of the quicker methods
PLAIN_RUNS = 128  # plain descent takes tens of times as many steps
ALONE = 4  # starts that the loop follows too
LOSS = 1e-8
ANGLE = 1.0  # least angle between the lines of two teachers
METHODS = (
    ("accelerated", tl.AcceleratedDescent(0.05), RUNS),
    ("Chebyshev", tl.ChebyshevDescent(0.1), RUNS),  # follows the path of plain descent
    ("plain", tl.GradientDescent(0.1), PLAIN_RUNS),
)


def teachers() -> np.ndarray:
    """Return unit teachers in general position, the first of a fixed stream that are far enough apart."""
    random = np.random.default_rng(0)
    while True:
        rows = random.normal(size=(TEACHERS, DIMENSION))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        cosines = np.abs(rows @ rows.T)[~np.eye(TEACHERS, dtype=bool)]
        if np.arccos(cosines.max()) >= ANGLE:
            return rows


def loss_and_gradient(students: np.ndarray, teachers: np.ndarray) -> tuple[float, np.ndarray]:
    r"""Return both for one run, transcribed from the closed form of the dual of $|\cdot|$.

    $$K(u, v) = \tfrac2\pi\|u\|\|v\|(\sin\theta + (\tfrac\pi2 - \theta)\cos\theta)$$

    and its gradient in $u$; students enter as $u = \|w\|w$.
    """
    norms = np.linalg.norm(students, axis=1)
    others = np.concatenate([norms[:, None] * students, teachers])
    signs = np.repeat([1.0, -1.0], [len(students), len(teachers)])
    sizes = np.linalg.norm(others, axis=1)
    units = others / sizes[:, None]
    cosines = np.clip(units @ units.T, -1.0, 1.0)
    np.fill_diagonal(cosines, 1.0)
    angles = np.arccos(cosines)
    sines = np.sqrt((1.0 - cosines) * (1.0 + cosines))
    dual = (2 / np.pi) * np.outer(sizes, sizes) * (sines + (np.pi / 2 - angles) * cosines)
    own = slice(len(students))
    slopes = signs * (1.0 - (2 / np.pi) * angles[own])
    radial = (2 / np.pi) * (sines[own] @ (signs * sizes))
    inner = slopes @ others + radial[:, None] * units[own]
    along = np.sum(inner * units[own], axis=1)
    return 0.5 * float(signs @ dual @ signs), norms[:, None] * (inner + along[:, None] * units[own])


def alone(start: np.ndarray, teachers: np.ndarray, step: float, accelerated: bool) -> tuple[np.ndarray, int]:
    """Follow one run in NumPy to the loss; return where it ended and its number of steps."""
    look = settled = start
    weight, steps = 1.0, 0
    while True:
        loss, slope = loss_and_gradient(look, teachers)
        if loss <= LOSS:
            return look, steps
        new = look - step * slope
        steps += 1
        if not accelerated:
            look = new
            continue
        if np.sum(slope * (new - settled)) > 0:
            weight = 1.0
        following = 0.5 * (1 + np.sqrt(1 + 4 * weight**2))
        look, settled, weight = new + (weight - 1) / following * (new - settled), new, following


def timed(objective: tl.objectives.Objective, starts: np.ndarray, method) -> tuple[float, float, tl.Runs]:
    """Return the time of a first call, compilation included, that of a second one, and the runs."""
    seconds = []
    for _ in range(2):
        begun = time.perf_counter()
        runs = tl.descend(objective, starts, method, tl.loss_below(LOSS))
        seconds.append(time.perf_counter() - begun)
    return seconds[0], seconds[1], runs


def stray_mass(points: np.ndarray, teachers: np.ndarray) -> float:
    """Return the fraction of the students' mass further than 0.1 from the lines of all teachers."""
    mass = np.sum(points**2, axis=-1)
    far = np.asarray(line_angles(points, teachers)).min(axis=-1) > 0.1
    return float(np.sum(mass * far) / np.sum(mass))


def main() -> None:
    target = teachers()
    problem = tl.problems.homogeneous(target, STUDENTS)
    objective = tl.population(problem)
    starts = np.asarray(tl.starts.xavier(problem, runs=RUNS, seed=0))
    rows, ends, reached = [], {}, {}
    for name, method, number in METHODS:
        first, again, runs = timed(objective, starts[:number], method)
        begun = time.perf_counter()
        loop = [alone(start, target, float(method.step), name == "accelerated") for start in starts[:ALONE]]
        single = (time.perf_counter() - begun) / ALONE
        # Hundreds of steps on a flat loss amplify rounding errors: the steps agree closely, not to the bit.
        drift = max(abs(steps - int(ours)) for (_, steps), ours in zip(loop, runs.steps, strict=False))
        points = reached[name] = np.asarray(runs.points)
        ends[name] = np.asarray(line_angles(points, target)).argmin(axis=-1)
        rows.append(
            [
                name,
                f"{float(method.step):g}",
                f"{number:,}",
                f"{first:.1f}",
                f"{again:.1f}",
                f"{1000 * again / number:.1f}",
                f"{len(runs.where('converged')) / number:.3f}",
                f"{np.median(runs.steps):,.0f}",
                f"{single:.2f}",
                f"{single * number / again:.0f}×",
                "–" if name == "Chebyshev" else str(drift),  # its steps are gradients, the loop's are steps
                f"{stray_mass(points, target):.0e}",
            ]
        )
    same = float(np.mean(ends["accelerated"][:PLAIN_RUNS] == ends["plain"]))
    apart = float(np.abs(reached["Chebyshev"][:PLAIN_RUNS] - reached["plain"]).max())
    publish(
        "local_convergence",
        f"Absolute-value students to loss {LOSS:g} (m = {STUDENTS}, r = {TEACHERS}, d = {DIMENSION})",
        ["descent", "step", "runs", "first", "s", "s/1,000", "reached", "steps", "NumPy", "ratio", "apart", "stray"],
        rows,
        "Random starts with Xavier's variance, unit teachers with angles of at least 1. Seconds of a first call, "
        "compilation included, of a second one, and of it per 1,000 runs; wanted: at most 60. Reached: fraction of "
        "runs at the loss; steps: their median. NumPy: seconds per run of a loop that follows "
        f"{ALONE} of the same starts one by one with the same method; apart: largest difference in "
        "their numbers of steps. Stray: share of the students' squared norms further than 0.1 from all teachers. "
        f"Of the students, {100 * same:.0f} % end nearest to the same teacher by accelerated and by plain descent: "
        "these take different paths to different points of the flat set of minima. Chebyshev follows plain descent: "
        f"the students of both differ by at most {apart:.0e} in an entry, and its loop is that of plain descent.",
    )


if __name__ == "__main__":
    main()
