"""Eigenvalues of the exact Hessian: at a spurious minimum, and after a neuron of it has been split in two."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

import tutelage as tl

count = 8
objective = tl.population(tl.problems.committee(teacher=jnp.eye(count), students=count))
starts = tl.starts.xavier(objective.problem, runs=40, seed=0)
method = tl.GradientDescent(step=5 / count)
runs = tl.descend(objective, starts, method, stop=tl.gradient_norm(1e-12), finish=tl.Newton())
point = runs.point(int(np.argmax(runs.losses)))
eigenvalues = jnp.linalg.eigvalsh(objective.hessian(point))
print(f"spurious minimum, loss {objective.loss(point):.6f}")
print(f"  {count} students: eigenvalues from {eigenvalues[0]:.4f} to {eigenvalues[-1]:.4f}")

# Two halves of a neuron compute what it did, so the loss is the same and the point still critical. Moving the
# halves against each other costs nothing along the neuron (eigenvalue zero) and may even pay across it.
wider = tl.population(tl.problems.committee(teacher=jnp.eye(count), students=count + 1))
hessian, gradient = eqx.filter_jit(wider.hessian), eqx.filter_jit(wider.gradient)
for neuron in range(count):
    split = jnp.concatenate([point.at[neuron].multiply(0.5), 0.5 * point[neuron][None]])
    size = jnp.linalg.norm(gradient(split))
    eigenvalues = jnp.linalg.eigvalsh(hessian(split))
    zero = int((jnp.abs(eigenvalues) < 1e-9).sum())
    negative = int((eigenvalues < -1e-9).sum())
    print(
        f"  neuron {neuron} split: gradient norm {size:.0e}, smallest eigenvalue {eigenvalues[0]:+.4f}, "
        f"{negative} negative, {zero} zero"
    )
