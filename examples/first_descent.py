"""The first ten lines: 100 gradient runs of a committee, each to a critical point."""

import jax.numpy as jnp

import tutelage as tl

problem = tl.problems.committee(teacher=jnp.eye(8), students=8)  # a sum of ReLU neurons
objective = tl.population(problem)  # closed form
starts = tl.starts.xavier(problem, runs=100, seed=0)  # an array [run, student, dim]
method = tl.GradientDescent(step=5 / 8)
runs = tl.descend(objective, starts, method, stop=tl.gradient_norm(1e-12), record=tl.record("loss", every=10))

print(objective.exactness)
print(runs)
print(runs.frame().group_by("status").len())
print(runs.history().head())
global_minimum = runs.losses < 1e-10
print(f"{global_minimum.sum()} of {len(runs)} runs reached the global minimum")
