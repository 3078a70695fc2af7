"""Exact loss and gradient of networks with two layers, beside sums over samples: time and accuracy.

The sums are taken in NumPy, by formulas, and by automatic differentiation in JAX, compiled, and, if it is installed, in
PyTorch; all in double precision.
"""

import importlib.util

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from harness import best_seconds, publish

import tutelage as tl

RUNS, STUDENTS, TEACHERS, SAMPLES = 50, 20, 10, 100_000
# Runs of which sums over samples are taken, one after another.
SAMPLED = 3


def value(activation: str, numbers: np.ndarray) -> np.ndarray:
    """An activation in NumPy."""
    return np.maximum(numbers, 0) if activation == "relu" else scipy.special.erf(numbers)


def by_hand(activation: str, inputs: np.ndarray, labels: np.ndarray):
    """Return loss and gradient over a sample as a function of a student, with NumPy alone."""

    def both(weights: np.ndarray, output: np.ndarray):
        arguments = inputs @ weights.T
        hidden = value(activation, arguments)
        slopes = arguments > 0 if activation == "relu" else 2 / np.sqrt(np.pi) * np.exp(-(arguments**2))
        residual = hidden @ output - labels
        by_weights = ((residual[:, None] * slopes) * output).T @ inputs / len(inputs)
        return 0.5 * np.mean(residual**2), by_weights, hidden.T @ residual / len(inputs)

    return both


def by_jax(activation: str, inputs: np.ndarray, labels: np.ndarray):
    """The same by automatic differentiation, compiled."""
    rows, wanted = jnp.asarray(inputs), jnp.asarray(labels)
    function = jax.nn.relu if activation == "relu" else jax.scipy.special.erf

    @jax.jit
    def both(weights, output):
        def loss(weights, output):
            return 0.5 * jnp.mean((function(rows @ weights.T) @ output - wanted) ** 2)

        found, (by_weights, by_output) = jax.value_and_grad(loss, argnums=(0, 1))(weights, output)
        return found, by_weights, by_output

    return lambda weights, output: jax.block_until_ready(both(weights, output))


def by_torch(activation: str, inputs: np.ndarray, labels: np.ndarray):
    """The same in PyTorch, as one writes it there."""
    import torch

    rows, wanted = torch.tensor(inputs), torch.tensor(labels)
    function = torch.relu if activation == "relu" else torch.erf

    def both(weights, output):
        parameters = [torch.tensor(np.asarray(part), requires_grad=True) for part in (weights, output)]
        loss = 0.5 * torch.mean((function(rows @ parameters[0].T) @ parameters[1] - wanted) ** 2)
        loss.backward()
        return loss.item(), *(part.grad.numpy() for part in parameters)

    return both


SUMS = {"NumPy": by_hand, "JAX": by_jax}
if importlib.util.find_spec("torch"):
    SUMS["PyTorch"] = by_torch


def measured(activation: str) -> list[str]:
    """Return a row of the table."""
    random = np.random.default_rng(0)
    teacher, outputs = np.eye(TEACHERS, STUDENTS), random.normal(size=TEACHERS)
    objective = tl.population(tl.problems.two_layer(teacher, STUDENTS, activation, teacher_output=outputs))
    points = tl.models.Layers(
        random.normal(size=(RUNS, STUDENTS, STUDENTS)) / np.sqrt(STUDENTS), random.normal(size=(RUNS, STUDENTS))
    )
    both = eqx.filter_jit(jax.vmap(lambda point: (objective.loss(point), objective.gradient(point))))
    exact = best_seconds(lambda: jax.block_until_ready(both(points)), repeats=20)
    losses, gradients = both(points)
    inputs = random.normal(size=(SAMPLES, STUDENTS))
    labels = value(activation, inputs @ teacher.T) @ outputs
    cells, errors = [f"{1e3 * exact:.2f}"], []
    for build in SUMS.values():
        sums = build(activation, inputs, labels)
        found = [sums(points.weights[run], points.output[run]) for run in range(SAMPLED)]
        loop = best_seconds(lambda sums=sums: [sums(points.weights[r], points.output[r]) for r in range(SAMPLED)], 3)
        seconds = loop * RUNS / SAMPLED
        cells.append(f"{1e3 * seconds:.0f} ({seconds / exact:.0f}×)")
        exactly = np.asarray(gradients.weights[:SAMPLED])
        errors.append(
            (
                max(abs(float(one[0]) / float(losses[run]) - 1) for run, one in enumerate(found)),
                max(
                    np.linalg.norm(one[1] - exactly[run]) / np.linalg.norm(exactly[run])
                    for run, one in enumerate(found)
                ),
            )
        )
    # All sums are of one sample: they err alike.
    loss_error, gradient_error = np.max(errors, axis=0)
    return [activation, *cells, f"{loss_error:.0e}", f"{gradient_error:.0e}"]


def main() -> None:
    publish(
        "two_layer",
        f"Two layers: loss and gradient of {RUNS} runs, {STUDENTS} students, {TEACHERS} teachers",
        ["activation", "exact, ms", *(f"{name}, ms" for name in SUMS), "error of their loss", "of their gradient"],
        [measured(activation) for activation in ("relu", "erf")],
        f"Sums over {SAMPLES:,} samples, of {SAMPLED} runs, scaled to {RUNS}; in brackets the ratio to the exact "
        "evaluation, which has rounding errors only. Errors are relative.",
    )


if __name__ == "__main__":
    main()
