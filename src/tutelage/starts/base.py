"""What starts share: a batch of students, one random key a run."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray, PyTree

from tutelage.checks import count
from tutelage.problems import Problem


def run_keys(seed: int, runs: int, first_run: int = 0) -> PRNGKeyArray:
    """Return one key a run, derived from the seed and the number of the run alone.

    Args:
        seed: The seed.
        runs: How many keys.
        first_run: Number of the first run.
    """
    numbers = jnp.arange(first_run, first_run + runs)
    return jax.vmap(lambda run: jax.random.fold_in(jax.random.key(seed), run))(numbers)


def batch(runs: int, seed: int, first_run: int, draw: Callable[[PRNGKeyArray], PyTree]) -> PyTree:
    """Return a batch of draws, runs first; run `i` does not depend on how many runs there are."""
    runs, seed = count("runs", runs), count("seed", seed, least=0)
    return jax.vmap(draw)(run_keys(seed, runs, count("first_run", first_run, least=0)))


def leafwise(problem: Problem, draw: Callable[[PRNGKeyArray, str, tuple[int, ...]], Array]):
    """Return a function of a key that draws every array of a student by its name and shape, independently."""
    leaves, treedef = jax.tree_util.tree_flatten_with_path(problem.template_tree())
    named = [(jax.tree_util.keystr(path).lstrip("."), leaf.shape) for path, leaf in leaves]

    def sample(key: PRNGKeyArray) -> PyTree:
        keys = jax.random.split(key, len(named))
        drawn = [draw(key, name, shape) for key, (name, shape) in zip(keys, named, strict=True)]
        return jax.tree.unflatten(treedef, drawn)

    return sample
