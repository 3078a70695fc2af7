"""Cost of a committee's run at input dimension 6 and 1,000,000: the same, because it happens in a span."""

import numpy as np
from harness import best_seconds, publish

import tutelage as tl

NEURONS = 3
RUNS = 4
STEPS = 20_000


def seconds(dimension: int) -> tuple[float, float]:
    """Return the time of a step of one batch, and what is paid once (projection, results, the way back)."""
    random = np.random.default_rng(0)
    teacher = random.normal(size=(NEURONS, dimension))
    teacher /= np.linalg.norm(teacher, axis=1, keepdims=True)
    objective = tl.population(tl.problems.committee(teacher, students=NEURONS))
    starts = random.normal(size=(RUNS, NEURONS, dimension)) / np.sqrt(dimension)

    def descend(steps: int) -> tl.Runs:
        return tl.descend(objective, starts, tl.GradientDescent(step=1e-5), stop=tl.step_limit(steps))

    once = best_seconds(lambda: descend(1), repeats=3)
    whole = best_seconds(lambda: descend(STEPS), repeats=3)
    return (whole - once) / (STEPS - 1), once


def main() -> None:
    measured = {dimension: seconds(dimension) for dimension in (6, 1_000_000)}
    small = measured[6][0]
    rows = [
        [f"{dimension:,}", f"{1e6 * step:.1f}", f"{step / small:.2f}×", f"{1e3 * once:.0f}"]
        for dimension, (step, once) in measured.items()
    ]
    publish(
        "dimension",
        f"Dimension: {NEURONS} students, {NEURONS} teachers, {RUNS} runs",
        ["dimension", "µs per step", "against 6", "once, ms"],
        rows,
        f"Time of a step of all {RUNS} runs together, over {STEPS:,} steps; wanted: at most 1.5×. What is "
        "paid once, checking and projecting the starts, taking the results back and judging them, is listed "
        "apart.",
    )


if __name__ == "__main__":
    main()
