"""The compiled part of following runs: a tile of runs, side by side, from one remembered step to the next.

A tile has a fixed number of lanes for a given problem, whatever the number of runs: XLA rounds differently
for other batch sizes, and a run's result must not depend on its company. Lanes that have ended are frozen;
between two calls the caller refills them with other runs.
"""

import math
from dataclasses import replace
from functools import partial
from typing import NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree, UInt32

from tutelage.dynamics.base import Method, norm, seen_by_run, select, taught
from tutelage.dynamics.records import Record
from tutelage.dynamics.status import Code
from tutelage.dynamics.stops import Stop
from tutelage.dynamics.supply import Stretch
from tutelage.inputs import Gaussian
from tutelage.instant import instantly, prepared
from tutelage.keys import dynamics_key
from tutelage.modules import Module
from tutelage.objectives import Objective, Stream
from tutelage.objectives.tiles import Thoroughness

# A student this far from zero is beyond saving.
FAR = 1e10

# Pairs of neurons (or samples times coordinates) of a tile: enough for vector units, few enough for a cache.
_TILE_WORK = 20_000
_LANES = (2, 128)
# Work of a step of one run up to which a loop that is compiled with less effort is about as fast.
_LIGHT_WORK = 200
# The same for loops without a library and threads: 7 neurons or, if the method keeps gradients, 20. Such loops evaluate
# a gradient once more for each of its norms, unless it is kept.
_PAIRS_WORK, _PAIRS_WORK_KEPT = 100, 800


class Lanes(NamedTuple):
    """The state of runs, one per lane."""

    point: PyTree
    method: PyTree
    key: UInt32[Array, "lane two"] | None  # the data of the run's random key; none where nothing is drawn
    step: Int[Array, " lane"]
    code: Int[Array, " lane"]
    gradient_norm: Float[Array, " lane"]
    gate: Float[Array, " lane"]  # gradient norm at which to pause for a Newton finish; zero for none
    teacher: PyTree  # the run's own, or its number where runs share batches; none where all have the objective's


class Task(Module):
    """Everything that is the same for all runs of a batch."""

    objective: Objective
    method: Method
    stop: Stop
    record: Record | None
    seed: Int[Array, ""]
    most_steps: Int[Array, ""]
    stretch: Stretch | None = None  # where runs share batches, while they are followed

    @property
    def draws(self) -> bool:
        """Whether runs take random numbers."""
        return not self.objective.deterministic or self.method.traits.random

    def standing(self, lanes: Lanes) -> "Task":
        """Return the task with the samples of the step at which the runs of a tile stand, where they share batches."""
        if self.stretch is None:
            return self
        # Those that have ended stay behind.
        number = jnp.max(lanes.step) - self.stretch.first
        samples = jax.tree.map(lambda leaf: leaf[number], self.stretch.samples)
        return replace(self, objective=cast(Stream, self.objective).holding(samples))


def tile_size(objective: Objective, method: Method, point: PyTree) -> int:
    """Return how many lanes a tile has; a function of the problem and the method alone."""
    return int(np.clip(2 ** round(math.log2(_TILE_WORK / lane_work(objective, method, point))), *_LANES))


def lane_work(objective: Objective, method: Method, point: PyTree) -> int:
    """Return what a step of one run costs, in units of a pair of neurons in closed form."""
    return max(_exact_work(objective, point), _sample_work(objective, method, point))


def _exact_work(objective: Objective, point: PyTree) -> int:
    """Return the part of the work that pairs of neurons and parameters make."""
    students = objective.problem.student.vectors(point)
    teachers = objective.problem.teacher.vectors(objective.target).shape[0]
    pairs = students.shape[0] * (students.shape[0] + teachers)
    return max(pairs * _pair_cost(objective), sum(leaf.size for leaf in jax.tree.leaves(point)))


def _sample_work(objective: Objective, method: Method, point: PyTree) -> int:
    """Return the part of the work that samples make."""
    student, samples = objective.problem.student, max(method.traits.batch, objective.samples)
    if objective.shared:
        # What is drawn, and read, for all lanes at once is not a lane's own; what its neurons make of it is.
        return samples * max(student.patches or 1, student.vectors(point).shape[0])
    samples *= (student.patches or 1) * objective.problem.dimension
    return samples if objective.deterministic else 10 * samples  # a fresh number costs as much as ten that are there


def thoroughness(objective: Objective, method: Method, point: PyTree) -> Thoroughness:
    """Return how thoroughly the loop is to be compiled; a function of the problem and the method alone.

    Loops over samples are products of matrices, which XLA does not compile, and random numbers, no faster for it.
    """
    pairs = _exact_work(objective, point)
    if pairs <= _sample_work(objective, method, point):
        return Thoroughness.LOOP
    if pairs <= (_PAIRS_WORK_KEPT if method.traits.keeps_gradients else _PAIRS_WORK):
        return Thoroughness.LOOP_OF_PAIRS
    return Thoroughness.LONG_LOOP if pairs > _LIGHT_WORK else Thoroughness.LOOP


def _pair_cost(objective: Objective) -> int:
    """Return what a pair of neurons costs, in units of a closed form of its norms and cosine."""
    if objective.exactness.kind == "quadrature":
        return 10_000
    inputs, biased = objective.problem.inputs, objective.problem.biased
    # Under a Gaussian law with a mean a pair takes orthant probabilities, each an integral of its own.
    if objective.exactness.kind == "closed form" and isinstance(inputs, Gaussian) and (biased or not inputs.centred):
        return 150
    return 1


def late_tile_size(tile: int) -> int:
    """Return how many lanes a tile has for the few runs that take many steps.

    A tile that is narrow already stays: another width is another program, and compiling it would cost more.
    """
    return tile // 4 if tile > 16 else tile


def step_key(key: UInt32[Array, " two"] | None, step) -> PRNGKeyArray | None:
    """Return the random key of a step, given the data of the run's key; none where nothing is drawn."""
    return None if key is None else jax.random.fold_in(jax.random.wrap_key_data(key), step)


@instantly
def begin(task: Task, gate: Float[Array, ""], rows: tuple[PyTree, Int[Array, " run"], PyTree]) -> Lanes:
    """Return the lanes of fresh runs, given their points, their numbers and their teachers, if they have some."""
    points, runs, teachers = rows
    count = runs.shape[0]

    def init(point, teacher):
        return task.method.init(task.objective if task.objective.shared else taught(task.objective, teacher), point)

    # Once, and not at every step: what makes random numbers takes long to compile.
    numbers = jax.vmap(lambda run: jax.random.key_data(dynamics_key(task.seed, run)))(runs) if task.draws else None
    return Lanes(
        point=points,
        method=jax.vmap(init)(points, teachers),
        key=numbers,
        step=jnp.zeros(count, int),
        code=jnp.zeros(count, int),
        gradient_norm=jnp.full(count, jnp.nan),
        gate=jnp.full(count, gate),
        teacher=teachers,
    )


def _move(task: Task, lane: Lanes, until: Int[Array, ""]) -> Lanes:
    """Check one run and, if nothing ends it, move it by one step."""
    key = step_key(lane.key, lane.step)
    task = replace(task, objective=seen_by_run(task.objective, lane.teacher, key))
    objective, method, stop = task.objective, task.method, task.stop
    active = (lane.code == Code.RUNNING) & (lane.step < until)

    gradient = objective.gradient(lane.point)
    size = norm(gradient)
    ended = _ended(task, lane, size)

    point, state = method.advance(objective, lane.point, gradient, lane.method, lane.step, key)
    moved = norm(jax.tree.map(jnp.subtract, point, lane.point))
    far = ~(norm(point) < FAR)
    after = jnp.where(far, Code.DIVERGED, Code.RUNNING)
    if stop.change is not None:
        # A rejected step of an adaptive method moves nothing and says nothing.
        accepted = method.time(state, lane.step + 1) > method.time(lane.method, lane.step)
        after = jnp.where((after == Code.RUNNING) & accepted & (moved <= stop.change), Code.CHANGE, after)
    if method.traits.stalls and objective.deterministic:
        after = jnp.where((after == Code.RUNNING) & (moved == 0), Code.STALLED, after)

    advances = active & (ended == Code.RUNNING)
    new = lane._replace(
        point=select(advances & ~far, point, lane.point),
        method=select(advances & ~far, state, lane.method),
        step=jnp.where(advances, lane.step + 1, lane.step),
        code=jnp.where(active, jnp.where(ended == Code.RUNNING, after, ended), lane.code),
        gradient_norm=jnp.where(active, size, lane.gradient_norm),
    )
    return new


def _moved(task: Task, lanes: Lanes, ends: Int[Array, " lane"]) -> Lanes:
    """Move the runs of a tile that have not ended by one step."""
    return jax.vmap(partial(_move, task.standing(lanes)))(lanes, ends)


def _ended(task: Task, lane: Lanes, size) -> Int[Array, ""]:
    """Return why a run ends where it stands, or `RUNNING`."""
    objective, method, stop = task.objective, task.method, task.stop
    code = jnp.asarray(Code.RUNNING, int)

    def first(code, condition, reason):
        return jnp.where((code == Code.RUNNING) & condition, reason, code)

    code = first(code, ~jnp.isfinite(size), Code.DIVERGED)
    if stop.gradient is not None:
        code = first(code, size <= stop.gradient, Code.GRADIENT)
    if stop.loss is not None:
        code = first(code, objective.loss(lane.point) <= stop.loss, Code.LOSS)
    code = first(code, lane.step >= task.most_steps, Code.STEPS)
    if (horizon := method.traits.horizon) is not None:
        code = first(code, method.time(lane.method, lane.step) >= horizon, Code.HORIZON)
    return first(code, (lane.gate > 0) & (size <= lane.gate), Code.PAUSED)


def _remembered(task: Task, lanes: Lanes) -> PyTree:
    """Return what is to be remembered of each lane as it stands."""
    task = task.standing(lanes)

    def at(lane):
        if task.record is None:
            return {}
        objective = seen_by_run(task.objective, lane.teacher, step_key(lane.key, lane.step))
        values = task.record(objective, lane.point)
        return values | {"time": task.method.time(lane.method, lane.step), "step": lane.step}

    return jax.vmap(at)(lanes)


remember = instantly(_remembered)


@eqx.filter_jit
def follow(task: Task, remembered: Int[Array, ""], rows: tuple[Lanes, Int[Array, "lane slot"]]) -> tuple[Lanes, PyTree]:
    """Follow a tile of runs.

    Args:
        task: What is the same for all runs.
        remembered: At how many of the steps, from the first, to remember something.
        rows: The lanes, and the steps at which each pauses, increasing; the runs stand at the last one afterwards.

    Returns:
        The lanes, and what was remembered, `[lane, slot]`.
    """
    lanes, ends = rows

    def until(lanes, end):
        def going(lanes):
            return jnp.any((lanes.code == Code.RUNNING) & (lanes.step < end))

        return jax.lax.while_loop(going, lambda lanes: _moved(task, lanes, end), lanes)

    if task.record is None:
        return until(lanes, ends[:, -1]), {}

    def slot(lanes, at):
        number, end = at
        lanes = until(lanes, end)
        # A slot that nobody reads must not cost an evaluation, which may be a whole batch of samples.
        nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(look, lanes))
        return lanes, jax.lax.cond(number < remembered, look, lambda _: nothing, lanes)

    def look(lanes):
        return _remembered(task, lanes)

    lanes, values = jax.lax.scan(slot, lanes, (jnp.arange(ends.shape[1]), ends.T))
    return lanes, jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 1, 0), values)


@instantly
def _moved_at_once(task: Task, lasting: dict[str, PyTree], lanes: Lanes, ends: Int[Array, " lane"]) -> Lanes:
    return _moved(task, lanes._replace(**lasting), ends)._replace(**dict.fromkeys(lasting))


def follow_at_once(task: Task, remembered: np.ndarray, rows: tuple[Lanes, np.ndarray]) -> tuple[Lanes, PyTree]:
    """Follow a tile of runs by NumPy; see `follow`."""
    lanes, ends = rows
    # What no step changes is set aside, so that what depends on it alone is computed once.
    lasting = {"key": lanes.key, "gate": lanes.gate, "teacher": lanes.teacher}
    moved, values = prepared(_moved_at_once, task, lasting), []
    for end in ends.T:
        lanes = lanes._replace(**dict.fromkeys(lasting))
        while np.any((lanes.code == Code.RUNNING) & (lanes.step < end)):
            lanes = moved(lanes, end)
        lanes = lanes._replace(**lasting)
        # Slots that nobody reads repeat the last one.
        if task.record is not None and (len(values) < remembered or not values):
            values.append(remember(task, lanes))
    values += values[-1:] * (ends.shape[1] - len(values))
    return lanes, jax.tree.map(lambda *slots: np.stack(slots, axis=1), *values) if values else {}
