"""Random keys of runs: from the seed and the number of the run alone."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import PRNGKeyArray


def run_key(seed: ArrayLike, run: ArrayLike) -> PRNGKeyArray:
    """Return the random key of a run; both numbers may be traced.

    JAX folds 32 bits into a key. The upper half of a run's number is folded in after the lower one, and only where it
    is not zero, so that the first $2^{32}$ runs have the keys that they always had.

    Args:
        seed: The seed, from 0 to below $2^{63}$.
        run: Number of the run, likewise.
    """
    number = jnp.asarray(run, jnp.uint64)
    key = jax.random.fold_in(jax.random.key(seed), number.astype(jnp.uint32))
    upper = (number >> 32).astype(jnp.uint32)
    return jax.lax.select(upper > 0, jax.random.fold_in(key, upper), key)


def dynamics_key(seed: ArrayLike, run: ArrayLike) -> PRNGKeyArray:
    """Return the random key of a run's dynamics, apart from the one of its start; see `run_key`."""
    return jax.random.fold_in(run_key(seed, run), 2**31 - 1)
