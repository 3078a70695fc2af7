"""What starts share: a batch of students, one random key a run."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray, PyTree

from tutelage.checks import count, random_seed
from tutelage.problems import Problem
from tutelage.problems.problem import checked_problem

# Numbers drawn at once: enough to hide the cost of a call, few enough that what is not used costs little.
_BATCH = 1 << 16


def run_keys(seed: int, runs: int, first_run: int = 0) -> PRNGKeyArray:
    """Return one key a run, derived from the seed and the number of the run alone.

    Args:
        seed: The seed.
        runs: How many keys.
        first_run: Number of the first run.
    """
    numbers = jnp.arange(first_run, first_run + runs)
    return jax.vmap(lambda run: jax.random.fold_in(jax.random.key(seed), run))(numbers)


def batch(
    problem: Problem,
    runs: int,
    seed: int,
    first_run: int,
    draw: Callable[[PRNGKeyArray], PyTree],
    numbers: int | None = None,
) -> PyTree:
    """Return a batch of draws, runs first; run `i` does not depend on how many runs there are.

    Args:
        problem: The problem.
        runs: Number of draws.
        seed: The seed.
        first_run: Number of the first run.
        draw: Makes one draw from its key.
        numbers: About how many numbers one draw makes; as many as a student has parameters by default.
    """
    runs, seed = count("runs", runs), random_seed("seed", seed)
    first_run = count("first_run", first_run, least=0)
    # XLA rounds sums differently in batches of other sizes, so that runs are drawn in batches of one size,
    # and every run has the same place in its batch wherever a user's batch begins.
    size = 2 ** round(math.log2(min(max(_BATCH / (numbers or problem.parameters), 1), 256)))
    begin = first_run // size * size
    pieces = [jax.vmap(draw)(run_keys(seed, size, number)) for number in range(begin, first_run + runs, size)]
    offset = first_run - begin
    # Joined by NumPy: here every number of runs would be compiled for.
    pieces = jax.device_get(pieces)
    return jax.tree.map(lambda *leaves: jnp.asarray(np.concatenate(leaves)[offset : offset + runs]), *pieces)


def leafwise(problem: Problem, draw: Callable[[PRNGKeyArray, str, tuple[int, ...]], Array]):
    """Return a function of a key that draws every array of a student independently, by name and shape."""
    checked_problem(problem)
    leaves, treedef = jax.tree_util.tree_flatten_with_path(problem.template_tree())
    named = [(jax.tree_util.keystr(path).lstrip("."), leaf.shape) for path, leaf in leaves]

    def sample(key: PRNGKeyArray) -> PyTree:
        keys = jax.random.split(key, len(named))
        drawn = [draw(key, name, shape) for key, (name, shape) in zip(keys, named, strict=True)]
        return jax.tree.unflatten(treedef, drawn)

    return sample
