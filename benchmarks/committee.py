"""Time per run and step of committees against NumPy (a loop, a batch) and plain `jax.vmap`, and their accuracy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from harness import best_seconds, cores, publish
from plain import TOGETHER, gradient_towards

import tutelage as tl

SIZES = ((6, 512, 40), (20, 512, 25), (50, 128, 8), (100, 32, 6))  # neurons, runs, ratio wanted
ELEMENT_SECONDS = 3e-9  # an elementwise evaluation, on one core
FLOPS = 32e9  # a core's matrix products
STEP = 1e-3  # small: no run ends before the others


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


def loop_seconds(starts: np.ndarray, gradient) -> float:
    """Return the time per run and step of a NumPy loop over single runs."""
    starts = starts[:16]
    steps = 20

    def loop() -> None:
        for start in starts:
            students = start.copy()
            for _ in range(steps):
                students -= STEP * gradient(students)

    return best_seconds(loop) / (len(starts) * steps)


def batch_seconds(starts: np.ndarray, teachers: np.ndarray) -> float:
    """Return the time per run and step of NumPy, all runs in one array; as many at a time as fit into a cache."""
    steps, together = 20, max(1, min(len(starts), TOGETHER // starts[0].size))
    gradient = gradient_towards(teachers, starts.shape[1], (together,))

    def loop() -> None:
        students = starts[:together].copy()
        for _ in range(steps):
            students -= STEP * gradient(students)

    return best_seconds(loop) / (together * steps)


def mapped_seconds(starts: np.ndarray, teachers: np.ndarray) -> float:
    """Return the time per run and step of `jax.vmap` over the formula of the loss and its automatic gradient."""
    eye, steps = jnp.eye(starts.shape[1], dtype=bool), 200

    def kernel(w, v, same):
        norms = jnp.outer(jnp.linalg.norm(w, axis=1), jnp.linalg.norm(v, axis=1))
        # Away from one, where the derivative of `arccos` is infinite.
        cosine = jnp.clip(jnp.where(same, 0.0, w @ v.T / norms), -1 + 1e-12, 1 - 1e-12)
        theta = jnp.arccos(cosine)
        value = norms * (jnp.sin(theta) + (jnp.pi - theta) * cosine) / (2 * jnp.pi)
        return jnp.sum(jnp.where(same, norms / 2, value))

    def loss(w):
        return 0.5 * kernel(w, w, eye) - kernel(w, jnp.asarray(teachers), False)

    def follow(w):
        return jax.lax.fori_loop(0, steps, lambda _, w: w - STEP * jax.grad(loss)(w), w)

    program = jax.jit(jax.vmap(follow))
    program(starts).block_until_ready()
    return best_seconds(lambda: program(starts).block_until_ready(), repeats=3) / (len(starts) * steps)


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
    compiled, gradient = eqx.filter_jit(objective.gradient), gradient_towards(teachers, starts.shape[1])
    exact = [exact_gradient(point, teachers) for point in points]
    loop = [np.abs(gradient(point) - value).max() for point, value in zip(points, exact, strict=True)]
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
        gradient = gradient_towards(teachers, size)
        # On as many cores as ours: as many processes.
        loop, batch = loop_seconds(starts, gradient) / cores(), batch_seconds(starts, teachers) / cores()
        mapped = mapped_seconds(starts, teachers) / cores()
        ours = tutelage_seconds(objective, starts, guess=3 * limit)
        direct_error, our_error = errors(objective, starts, teachers)
        rows.append(
            [
                str(size),
                str(runs),
                *(f"{1e6 * time:.2g}" if time < 1e-5 else f"{1e6 * time:.0f}" for time in (loop, batch, mapped, ours)),
                f"{loop / ours:.1f}×",
                f"{min(loop, batch, mapped) / ours:.1f}×",
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
        [
            "k",
            "runs",
            "NumPy",
            "batched",
            "vmap",
            "tutelage",
            "ratio",
            "to best",
            "wanted",
            "limit",
            "above it",
            "NumPy error",
            "error",
        ],
        rows,
        "Times in microseconds per run and step, all on as many cores as ours (those of the references, taken on one "
        "core, are divided by their number): a NumPy loop over single runs, the same formulas for many runs in one "
        "array, `jax.vmap` over the formula of the loss and its automatic gradient, and tutelage. `ratio` compares "
        "tutelage with the loop, `to best` with the fastest of the three. The limit is an estimate for the cores at "
        "hand: n(n + m) elements at 3 ns per core, and 4n²d floating-point operations of matrix products at 32 GFLOP/s "
        "per core "
        "(a teacher that is not orthonormal needs 4nmd more). Errors are the largest absolute differences of "
        "a gradient's entries from extended precision, at random students and at one almost parallel to a "
        "teacher.",
    )


if __name__ == "__main__":
    main()
