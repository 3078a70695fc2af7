"""Exact loss and gradient of networks with two layers, beside sums over samples in NumPy: time and accuracy."""

import equinox as eqx
import jax
import numpy as np
from harness import best_seconds, publish

import tutelage as tl

RUNS, STUDENTS, TEACHERS, SAMPLES = 50, 20, 10, 100_000
# Runs of which the sum over samples is taken, one after another.
SAMPLED = 3


def sampled(inputs: np.ndarray, labels: np.ndarray, weights: np.ndarray, output: np.ndarray, activation: str):
    """Return loss and gradient over a sample, with NumPy alone."""
    arguments = inputs @ weights.T
    if activation == "relu":
        slopes = (arguments > 0).astype(float)
        hidden = arguments * slopes
    else:
        from scipy.special import erf

        hidden, slopes = erf(arguments), 2 / np.sqrt(np.pi) * np.exp(-(arguments**2))
    residual = hidden @ output - labels
    by_weights = ((residual[:, None] * slopes) * output).T @ inputs / len(inputs)
    return 0.5 * np.mean(residual**2), by_weights, hidden.T @ residual / len(inputs)


def measured(activation: str) -> list[str]:
    """Return a row of the table."""
    random = np.random.default_rng(0)
    teacher, outputs = np.eye(TEACHERS, STUDENTS), random.normal(size=TEACHERS)
    objective = tl.population(tl.problems.two_layer(teacher, STUDENTS, activation, teacher_output=outputs))
    points = tl.models.Layers(
        random.normal(size=(RUNS, STUDENTS, STUDENTS)) / np.sqrt(STUDENTS), random.normal(size=(RUNS, STUDENTS))
    )
    both = eqx.filter_jit(jax.vmap(lambda point: (objective.loss(point), objective.gradient(point))))
    exact = best_seconds(lambda: jax.block_until_ready(both(points)))
    losses = np.asarray(both(points)[0])
    inputs = random.normal(size=(SAMPLES, STUDENTS))
    hidden = inputs @ teacher.T
    if activation == "relu":
        labels = np.maximum(hidden, 0) @ outputs
    else:
        from scipy.special import erf

        labels = erf(hidden) @ outputs

    def sums():
        return [
            sampled(inputs, labels, points.weights[run], points.output[run], activation)[0] for run in range(SAMPLED)
        ]

    loop = best_seconds(sums, repeats=3) * RUNS / SAMPLED
    error = np.abs(np.array(sums()) / losses[:SAMPLED] - 1).max()
    return [activation, f"{1e3 * exact:.2f}", f"{1e3 * loop:.0f}", f"{loop / exact:.0f}×", f"{error:.0e}"]


def main() -> None:
    publish(
        "two_layer",
        f"Two layers: loss and gradient of {RUNS} runs, {STUDENTS} students, {TEACHERS} teachers",
        ["activation", "exact, ms", f"NumPy on {SAMPLES:,} samples, ms", "ratio", "its relative error"],
        [measured(activation) for activation in ("relu", "erf")],
        f"The sum over samples is of {SAMPLED} runs, scaled to {RUNS}. Exact numbers have rounding errors only.",
    )


if __name__ == "__main__":
    main()
