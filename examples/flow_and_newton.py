"""Gradient flow and a Newton finish: two ways to a critical point besides plain descent."""

import jax.numpy as jnp
import numpy as np

import tutelage as tl

problem = tl.problems.committee(teacher=jnp.eye(6), students=6)
objective = tl.population(problem)
starts = tl.starts.xavier(problem, runs=16, seed=0)
stop = tl.gradient_norm(1e-10)

descent = tl.GradientDescent(step=5 / 6)
plain = tl.descend(objective, starts, descent, stop=stop)
finished = tl.descend(objective, starts, descent, stop=stop, finish=tl.Newton())
flow = tl.descend(objective, starts, tl.GradientFlow(), stop=stop)

for name, runs in {"descent": plain, "descent, Newton finish": finished, "flow": flow}.items():
    print(
        f"{name:>22}: {runs.steps.mean():6.0f} steps, {runs.newton_steps.mean():.1f} of Newton, "
        f"{(runs.losses < 1e-10).sum()} of {len(runs)} at the global minimum"
    )
# Newton is tried only where it provably ends at the critical point that descent goes to.
distance = np.abs(np.asarray(plain.points) - np.asarray(finished.points)).max()
print(f"largest difference of the points reached by the first two: {distance:.0e}")
# Flow and descent follow different curves, and may part at a saddle.
same = np.isclose(plain.losses, flow.losses, atol=1e-9).sum()
print(f"flow reaches the loss that descent reaches in {same} of {len(runs)} runs")
