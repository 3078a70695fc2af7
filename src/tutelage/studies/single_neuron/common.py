"""What the studies of this paper share: plain descent from many starts, as one small program.

Such a program compiles faster than `descend`, which can do more.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tutelage.objectives import Objective


def paths(objective: Objective, starts, step: float, entries: int, every: int) -> tuple[np.ndarray, np.ndarray]:
    """Descend from every start, and return paths `[run, entry, dim]`, the first entries at the starts, and last losses.

    Args:
        objective: The objective.
        starts: The starts, `[run, dim]`.
        step: The step.
        entries: Number of entries of a path besides the start.
        every: Steps between two entries.
    """
    path, losses = _paths(objective, jnp.asarray(starts), jnp.asarray(step), entries, every)
    return np.asarray(path), np.asarray(losses)


@eqx.filter_jit
def _paths(objective: Objective, starts, step, entries: int, every: int):
    def one(start):
        def stretch(student, _):
            moved = jax.lax.fori_loop(0, every, lambda _, at: at - step * objective.gradient(at), student)
            return moved, student

        end, path = jax.lax.scan(stretch, start, length=entries)
        return jnp.concatenate([path, end[None]]), objective.loss(end)

    return jax.vmap(one)(starts)
