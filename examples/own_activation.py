"""An activation of your own: by quadrature where it is analytic, by sampling where it is not."""

import jax
import jax.numpy as jnp

import tutelage as tl

# Analytic in the strip |Im z| < 1: with `strip`, population losses are taken by quadrature.
bump = tl.activations.Custom("bump", lambda z: 1 / (1 + z**2), strip=1.0, parity="even")
problem = tl.problems.neuron([1.0, 0.5], activation=bump)
objective = tl.population(problem)
student = jnp.array([0.3, -0.8])
print(f"{bump.name}: {objective.exactness}")
print(f"loss {objective.loss(student):.12f}, estimated error {objective.error_estimate(student):.0e}")

# With kinks and no closed form: the population loss is refused by name, and `stream` samples.
clipped = tl.activations.Custom("clipped", lambda z: jnp.clip(z, -1.0, 1.0))
problem = tl.problems.neuron([1.0, 0.5], activation=clipped)
try:
    tl.population(problem)
except tl.UnsupportedCombination as refusal:
    print(refusal)
stream = tl.stream(problem, batch=256)
keys = jax.random.split(jax.random.key(0), 400)
losses = jax.vmap(lambda key: stream.loss(student, key))(keys)
print(f"{clipped.name}: loss {losses.mean():.4f} ± {losses.std() / 20:.4f}, {stream.exactness}")
method = tl.GradientDescent(step=0.1)
runs = tl.descend(stream, student[None], method, stop=tl.step_limit(300))
print("reached", runs.points[0])
