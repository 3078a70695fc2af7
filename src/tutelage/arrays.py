"""Arrays of JAX, made without compiling anything."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.core import Tracer


def of_jax(value: Any) -> jax.Array:
    """Return a number or an array as an array of JAX, traced ones and those of JAX as they are.

    `jax.numpy.asarray` compiles a program for every shape, which takes longer than most formulas.
    """
    return value if isinstance(value, (jax.Array, Tracer)) else jax.device_put(np.asarray(value))
