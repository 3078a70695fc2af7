"""Time per run and step of committees against a NumPy loop over single runs, and the accuracy of both."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from harness import best_seconds, cores, publish

import tutelage as tl

SIZES = ((6, 512, 40), (20, 512, 25), (50, 128, 8), (100, 32, 6))  # neurons, runs, ratio wanted
ELEMENT_SECONDS = 3e-9  # an elementwise evaluation, on one core
FLOPS = 32e9  # a core's matrix products
STEP = 1e-3  # small: no run ends before the others


def pull(w: np.ndarray, v: np.ndarray) -> np.ndarray:
    r"""Return $\sum_j g(w_i, v_j)$ as it is printed, transcribed word for word.

    $$g(w, v) = \frac{\|v\|\sin\theta\,\hat w + (\pi - \theta)\,v}{2\pi}.$$
    """
    w_norms, v_norms = np.linalg.norm(w, axis=1), np.linalg.norm(v, axis=1)
    theta = np.arccos(np.clip(w @ v.T / np.outer(w_norms, v_norms), -1.0, 1.0))
    radial = (np.sin(theta) @ v_norms)[:, None] * (w / w_norms[:, None])
    return (radial + (np.pi - theta) @ v) / (2 * np.pi)


def gradient(students: np.ndarray, teachers: np.ndarray) -> np.ndarray:
    """Return the gradient of half the expected squared error of one run."""
    return pull(students, students) - pull(students, teachers)


def exact_gradient(students: np.ndarray, teachers: np.ndarray) -> np.ndarray:
    """The same in extended precision, the angle from half angles, which are accurate for near vectors too."""
    w = students.astype(np.longdouble)
    total = np.zeros_like(w)
    for others, sign in ((w, 1), (teachers.astype(np.longdouble), -1)):
        norms = np.sqrt((others**2).sum(axis=1))
        w_units, units = w / np.sqrt((w**2).sum(axis=1))[:, None], others / norms[:, None]
        difference = np.sqrt(((w_units[:, None] - units) ** 2).sum(axis=2))
        both = np.sqrt(((w_units[:, None] + units) ** 2).sum(axis=2))
        theta = 2 * np.arctan2(difference, both)
        pi = 4 * np.arctan(np.longdouble(1))
        radial = (np.sin(theta) @ norms)[:, None] * w_units
        total = total + sign * (radial + (pi - theta) @ others) / (2 * pi)
    return total


def numpy_seconds(starts: np.ndarray, teachers: np.ndarray) -> float:
    """Return the time per run and step of the loop."""
    starts = starts[:16]
    steps = 20

    def loop() -> None:
        for start in starts:
            students = start.copy()
            for _ in range(steps):
                students -= STEP * gradient(students, teachers)

    return best_seconds(loop) / (len(starts) * steps)


def tutelage_seconds(objective: tl.objectives.Objective, starts: np.ndarray, guess: float) -> float:
    """Return the time per run and step of `descend`, its preparation and its results included."""
    steps = int(np.clip(1.0 / (guess * len(starts)), 200, 20_000))
    stop = tl.step_limit(steps)
    return best_seconds(lambda: tl.descend(objective, starts, tl.GradientDescent(STEP), stop), repeats=3) / (
        len(starts) * steps
    )


def errors(objective: tl.objectives.Objective, starts: np.ndarray, teachers: np.ndarray) -> tuple[float, float]:
    """Return the largest errors of the loop's and of tutelage's gradients, near-parallel ones too."""
    near = np.concatenate([teachers[:1] + 1e-6 * starts[0][:1], starts[0][1:]])
    points = [*starts[:3], near]
    compiled = eqx.filter_jit(objective.gradient)
    exact = [exact_gradient(point, teachers) for point in points]
    loop = [np.abs(gradient(point, teachers) - value).max() for point, value in zip(points, exact, strict=True)]
    ours = [
        np.abs(np.asarray(compiled(jnp.asarray(point))) - value).max()
        for point, value in zip(points, exact, strict=True)
    ]
    return float(max(loop)), float(max(ours))


def limit_seconds(students: int, teachers: int, dimension: int) -> float:
    """Return the estimated limit: elementwise work and matrix products at full speed on all cores."""
    elements = students * (students + teachers)
    flops = 4 * students * students * dimension  # an orthonormal teacher saves 4·students·teachers·dimension
    return (elements * ELEMENT_SECONDS + flops / FLOPS) / cores()


def main() -> None:
    rows = []
    for size, runs, wanted in SIZES:
        teachers = np.eye(size)
        problem = tl.problems.committee(teachers, students=size)
        objective = tl.population(problem)
        starts = np.asarray(tl.starts.xavier(problem, runs=runs, seed=0))
        limit = limit_seconds(size, size, size)
        direct = numpy_seconds(starts, teachers)
        ours = tutelage_seconds(objective, starts, guess=3 * limit)
        direct_error, our_error = errors(objective, starts, teachers)
        rows.append(
            [
                str(size),
                str(runs),
                f"{1e6 * direct:.0f}",
                f"{1e6 * ours:.2g}" if ours < 1e-5 else f"{1e6 * ours:.0f}",
                f"{direct / ours:.0f}×",
                f"{wanted}×",
                f"{1e6 * limit:.2g}",
                f"{ours / limit:.1f}×",
                f"{direct_error:.0e}",
                f"{our_error:.0e}",
            ]
        )
    publish(
        "committee",
        "Committee: µs per run and step (students = teachers = dimension = k)",
        ["k", "runs", "NumPy", "tutelage", "ratio", "wanted", "limit", "above it", "NumPy error", "error"],
        rows,
        "Times in microseconds per run and step. The limit is an estimate for the cores at hand: n(n + m) "
        "elements at 3 ns per core, and 4n²d floating-point operations of matrix products at 32 GFLOP/s per core "
        "(a teacher that is not orthonormal needs 4nmd more). Errors are the largest absolute differences of "
        "a gradient's entries from extended precision, at random students and at one almost parallel to a "
        "teacher.",
    )


if __name__ == "__main__":
    main()
