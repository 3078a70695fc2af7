"""What starts share: a batch of students, one random key per run."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.core import eval_context
from jax.typing import ArrayLike
from jaxtyping import Array, PRNGKeyArray, PyTree

from tutelage.arrays import of_jax
from tutelage.checks import affordable, count, random_seed
from tutelage.instant import instantly
from tutelage.keys import run_key
from tutelage.modules import Module
from tutelage.problems import Problem
from tutelage.problems.problem import checked_problem

# Numbers drawn at once: enough to hide the cost of a call, few enough that what is not used costs little.
_BATCH = 1 << 16


def run_keys(seed: int, runs: int, first_run: int = 0) -> PRNGKeyArray:
    """Return one key per run, derived from the seed and the number of the run alone.

    Args:
        seed: The seed.
        runs: How many keys.
        first_run: Number of the first run.

    Raises:
        InvalidArgument: If a number is not a whole one, or is too large.
    """
    runs, seed, first_run = _checked(runs, seed, first_run, 1, "these keys")
    return _keys(np.asarray(seed), np.arange(first_run, first_run + runs))


@instantly
def _keys(seed: ArrayLike, runs: ArrayLike) -> PRNGKeyArray:
    return jax.vmap(lambda run: run_key(seed, run))(runs)


def _checked(runs: Any, seed: Any, first_run: Any, numbers: int, what: str) -> tuple[int, int, int]:
    """Return the three numbers that starts are asked for, or raise if they are none, or too many to be held."""
    runs = count("runs", runs)
    affordable("runs", runs, runs * numbers, what)
    return runs, random_seed("seed", seed), count("first_run", first_run, least=0)


@instantly
def _draws(draw: Callable[[PRNGKeyArray], PyTree], seed: ArrayLike, runs: ArrayLike) -> PyTree:
    return jax.vmap(lambda run: draw(run_key(seed, run)))(runs)


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
        draw: Makes one draw from its key: a function of a module, or a `jax.tree_util.Partial` of one with what it
            depends on. A function made anew for every call would be compiled anew for every call.
        numbers: About how many numbers one draw makes; as many as a student has parameters by default.
    """
    runs, seed, first_run = _checked(runs, seed, first_run, problem.parameters, "these starts")
    # XLA rounds sums differently in batches of other sizes, so that runs are drawn in batches of one size,
    # and every run has the same place in its batch wherever a user's batch begins.
    size = 2 ** round(math.log2(min(max(_BATCH / (numbers or problem.parameters), 1), 256)))
    begin = first_run // size * size
    offset = first_run - begin
    # Nothing here depends on what is being traced, so that starts can be drawn inside of a compiled function too.
    with eval_context():
        numbered = [np.arange(number, number + size) for number in range(begin, first_run + runs, size)]
        pieces = jax.device_get([_draws(draw, np.asarray(seed), run) for run in numbered])
        # In NumPy: every number of runs would be a program of its own.
        return jax.tree.map(lambda *leaves: of_jax(np.concatenate(leaves)[offset : offset + runs]), *pieces)


class Leafwise(Module):
    """A function of a key that draws every array of a student independently, by name and shape."""

    draw: Callable[[PRNGKeyArray, str, tuple[int, ...]], Array]
    template: Any = eqx.field(static=True)

    def __call__(self, key: PRNGKeyArray) -> PyTree:
        """Return a student."""
        structure, shapes = self.template
        paths = jax.tree_util.tree_flatten_with_path(jax.tree.unflatten(structure, range(len(shapes))))[0]
        names = [jax.tree_util.keystr(path).lstrip(".") for path, _ in paths]
        keys = jax.random.split(key, len(shapes))
        drawn = [self.draw(key, name, shape) for key, name, shape in zip(keys, names, shapes, strict=True)]
        return jax.tree.unflatten(structure, drawn)


def leafwise(problem: Problem, draw: Callable[[PRNGKeyArray, str, tuple[int, ...]], Array]) -> Leafwise:
    """Return a function of a key that draws every array of a student independently; `draw` as in `batch`."""
    return Leafwise(draw, checked_problem(problem).template)
