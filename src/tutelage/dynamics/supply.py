"""The batches of streams whose runs share them: drawn once, for some steps ahead, and labelled once by each teacher."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from tutelage import keys
from tutelage.arrays import of_jax
from tutelage.dynamics.programs import Programs
from tutelage.instant import instantly
from tutelage.models import Model
from tutelage.objectives import Objective, Stream
from tutelage.objectives.stream import Samples
from tutelage.objectives.tiles import Thoroughness
from tutelage.problems.problem import Batch, BatchSource

# Numbers that are drawn before runs go on (16 MB), and steps at most, fewer where NumPy draws them; numbers of one tile
# of steps, since several are drawn side by side; and of one turn of the loop that draws them: enough for vector units,
# few enough for a cache.
_DRAWN, _STEPS, _STEPS_AT_ONCE, _TILE, _TURN = 2**21, 2**10, 2**6, 2**19, 2**12


class Stretch(NamedTuple):
    """The samples of some steps."""

    first: Int[Array, ""]  # the first of them
    samples: Samples  # steps first, then teachers in the labels

    @property
    def last(self) -> int:
        """The last step that has samples: runs may go on until there, and be looked at there."""
        return int(self.first) + len(self.samples.inputs) - 1


def _at_most(numbers: int, source: BatchSource, batches: int) -> int:
    """Return how many batches have so many numbers, a power of two."""
    size = int(np.prod(source.shape)) * source.inputs.dimension
    return int(2 ** np.floor(np.log2(np.clip(numbers // size, 1, batches))))


def _batch(source: BatchSource, seed: Int[Array, ""], step: Int[Array, ""]) -> Batch:
    # Batches that all runs see are those of a number that no run has.
    return source.draw(jax.random.fold_in(keys.dynamics_key(seed, jnp.uint64(2**64 - 1)), step))


def _batches(source: BatchSource, seed: Int[Array, ""], steps: Int[Array, " step"]) -> Batch:
    """Draw the batches of some steps, a few at a time."""
    return jax.lax.map(partial(_batch, source, seed), steps, batch_size=_at_most(_TURN, source, len(steps)))


def _labels(teacher: Model, targets: PyTree, batches: Batch) -> Float[Array, "step teacher batch"]:
    """Return the labels of batches, one after another: a teacher's do not depend on the company of others."""

    def of_step(batch: Batch):
        return jax.lax.map(lambda target: teacher.predict(target, batch.inputs) + batch.errors, targets)

    return jax.lax.map(of_step, batches)


# Drawing and labelling are programs of their own: random numbers take longest to compile, and one program draws them
# for all models and teachers.
draw, label = eqx.filter_jit(_batches), eqx.filter_jit(_labels)
_draw_at_once, _label_at_once = instantly(_batches), instantly(_labels)


@dataclass
class Supply:
    """What hands out samples to runs that go on.

    A stretch begins where another one ends, counted from the first step: so a batch is always drawn together with the
    same others, and is the same to the last bit wherever runs begin or pause.

    Attributes:
        source: What draws batches.
        teacher: The model of the teachers.
        targets: The parameters of the teachers, each of them once.
        seed: The seed.
        compiled: Whether what draws is compiled.
        stretch: The samples that were drawn last.
    """

    source: BatchSource
    teacher: Model
    targets: PyTree
    seed: Int[Array, ""]
    compiled: bool
    stretch: Stretch | None = None

    @property
    def length(self) -> int:
        """For how many steps samples are drawn at once; a function of the problem alone."""
        return max(_at_most(_DRAWN, self.source, _STEPS if self.compiled else _STEPS_AT_ONCE), 2)

    def at(self, step: int, programs: Programs) -> Stretch:
        """Return the samples of a step and of one more at least: those at hand, or new ones."""
        known = self.stretch
        if known is None or not int(known.first) <= step < known.last:
            first = step // (self.length - 1) * (self.length - 1)
            self.stretch = known = Stretch(of_jax(first), self._drawn(first + np.arange(self.length), programs))
        return known

    def _drawn(self, steps: Int[np.ndarray, " step"], programs: Programs | None = None) -> Samples:
        """Draw the samples of some steps; by NumPy if there are no programs."""
        drawing, labelling = (self.source, self.seed), (self.teacher, self.targets)
        if programs is None or not self.compiled:
            batches = _draw_at_once(*drawing, of_jax(steps))
            return Samples(batches.inputs, _label_at_once(*labelling, batches))
        tile = _at_most(_TILE, self.source, len(steps))
        batches = programs(draw, tile, drawing, steps, Thoroughness.LOOP)
        return Samples(batches.inputs, programs(label, tile, labelling, batches, Thoroughness.LOOP))

    def standing(self, step: int) -> Samples:
        """Return the samples of one step."""
        return jax.tree.map(lambda leaf: np.asarray(leaf)[0], self._drawn(np.array([step])))


def supplied(
    objective: Stream, teachers: PyTree | None, runs: int, seed: int, compiled: bool
) -> tuple[Stream, Supply, Int[np.ndarray, " run"]]:
    """Return what is followed where runs share batches.

    Args:
        objective: The objective.
        teachers: A teacher for each run, runs first; nothing, if all have the objective's.
        runs: The number of runs.
        seed: The seed.
        compiled: Whether what draws is compiled.

    Returns:
        The objective for samples that bring their labels, one for all strengths of label noise; what hands them out;
        and which teacher labels them for each run.
    """
    one = jax.tree.map(lambda leaf: np.asarray(leaf)[None], objective.target)
    several = one if teachers is None else jax.tree.map(np.asarray, teachers)
    rows = np.concatenate([leaf.reshape(len(leaf), -1) for leaf in jax.tree.leaves(several)], axis=1)
    _, first, own = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    targets = jax.tree.map(lambda leaf: of_jax(leaf[first]), several)
    supply = Supply(objective.source, objective.problem.teacher, targets, of_jax(seed), compiled)
    quiet = replace(objective, problem=replace(objective.problem, noise=0.0))
    return quiet, supply, np.broadcast_to(own.reshape(-1), runs).copy()


def as_they_stand(
    objective: Objective,
    supply: Supply | None,
    steps: Int[np.ndarray, " run"],
    evaluate: Callable[[Objective, np.ndarray], PyTree],
) -> PyTree:
    """Evaluate runs that stand at some steps; where they share batches, each batch is drawn once.

    Args:
        objective: The objective.
        supply: What hands out the samples; nothing, where runs share none.
        steps: The steps at which runs stand.
        evaluate: Takes an objective and positions of runs, and returns arrays with as many rows.
    """
    if supply is None:
        return evaluate(objective, np.arange(len(steps)))
    stream, groups = cast(Stream, objective), [np.flatnonzero(steps == step) for step in np.unique(steps)]
    parts = [evaluate(stream.holding(supply.standing(int(steps[own[0]]))), own) for own in groups]
    back = np.argsort(np.concatenate(groups))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[back], *parts)
