"""Stochastic descent on fresh batches, judged by the exact population loss, against descent on that loss."""

import jax.numpy as jnp

import tutelage as tl

problem = tl.problems.committee(teacher=jnp.eye(4), students=5, noise=0.1)
objective = tl.population(problem)
starts = tl.starts.xavier(problem, runs=8, seed=0)
record = tl.record("loss", steps=[0, 10, 100, 1000])
methods = {"population": tl.GradientDescent(step=0.2)} | {
    f"batch {batch}": tl.StochasticGradientDescent(step=0.2, batch=batch) for batch in (4, 64)
}
print("median loss minus the label noise's half variance")
for name, method in methods.items():
    # The record is of the objective, whatever the method samples: the numbers are free of the batches' noise.
    runs = tl.descend(objective, starts, method, stop=tl.step_limit(1000), record=record)
    history = runs.history().group_by("step", maintain_order=True).median()
    values = zip(history["step"], history["loss"] - 0.5 * problem.noise**2, strict=True)
    print(f"{name:>12}: " + ", ".join(f"step {step:g}: {excess:.1e}" for step, excess in values))
