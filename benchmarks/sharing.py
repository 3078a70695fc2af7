"""Cost of runs with and without weight sharing at dimension 10 and 1,000,000: the same, as they happen in a span."""

import numpy as np
from harness import best_seconds, publish

import tutelage as tl

PATCHES = 5
RUNS = 4
STEPS = 10_000


def seconds(family: str, sharing: bool, dimension: int) -> tuple[float, float]:
    """Return the time of a step of one batch, and what is paid once (projection, results, the way back)."""
    random = np.random.default_rng(0)
    target = random.normal(size=dimension)
    target /= np.linalg.norm(target)
    objective = tl.population(getattr(tl.problems, family)(target, PATCHES, sharing=sharing))
    shape = (RUNS, dimension) if sharing else (RUNS, PATCHES, dimension)
    starts = random.normal(size=shape) / np.sqrt(dimension)

    def descend(steps: int) -> tl.Runs:
        return tl.descend(objective, starts, tl.GradientDescent(step=1e-3), stop=tl.step_limit(steps))

    once = best_seconds(lambda: descend(1), repeats=3)
    whole = best_seconds(lambda: descend(STEPS), repeats=3)
    return (whole - once) / (STEPS - 1), once


def main() -> None:
    rows = []
    for family in ("parity", "wave"):
        for sharing in (True, False):
            measured = {dimension: seconds(family, sharing, dimension) for dimension in (10, 1_000_000)}
            for dimension, (step, once) in measured.items():
                ratio = f"{step / measured[10][0]:.2f}×"
                name = "shared" if sharing else "unshared"
                rows.append([family, name, f"{dimension:,}", f"{1e6 * step:.1f}", ratio, f"{1e3 * once:.0f}"])
    publish(
        "sharing",
        f"Weight sharing: {PATCHES} patches, {RUNS} runs",
        ["problem", "weights", "dimension", "µs per step", "against 10", "once, ms"],
        rows,
        f"Time of a step of all {RUNS} runs together, over {STEPS:,} steps; wanted: at most 1.5×. What is paid once, "
        "checking and projecting the starts, taking the results back and judging them, is listed apart.",
    )


if __name__ == "__main__":
    main()
