"""Arrays of JAX, made without compiling anything."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np


def of_jax(value: Any) -> jax.Array:
    """Return a number or an array as an array of JAX, traced ones and those of JAX as they are.

    `jax.numpy.asarray` compiles a program for every shape, which takes longer than most formulas.
    """
    # A copy: JAX may take the memory of an array as its own, which its owner may write to afterwards.
    return value if isinstance(value, jax.Array) else jax.device_put(np.array(value))


def row_of(batch: Any, place: int) -> Any:
    """Return one row of each array of a pytree, cut by NumPy: JAX compiles programs to cut a shape that is new."""
    return jax.tree.map(lambda leaf: of_jax(np.asarray(leaf)[place]), batch)
