"""Students as vectors of all their numbers, in NumPy: nothing is compiled for these."""

import jax
import numpy as np
from jaxtyping import Float, PyTree


def as_vector(point: PyTree) -> Float[np.ndarray, " parameter"]:
    """Return all numbers of a student, in the order of `jax.flatten_util.ravel_pytree`."""
    return np.concatenate([np.zeros(0), *(np.ravel(np.asarray(leaf)) for leaf in jax.tree.leaves(point))])


def as_student(vector: Float[np.ndarray, " parameter"], like: PyTree) -> PyTree:
    """Return a student with the given numbers and the shapes of another one."""
    leaves, structure = jax.tree.flatten(like)
    ends = np.cumsum([leaf.size for leaf in leaves])[:-1]
    parts = np.split(np.reshape(vector, -1), ends)
    return jax.tree.unflatten(structure, [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)])
