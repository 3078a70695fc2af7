"""Following many runs at once."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import islice, takewhile
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, PyTree

from tutelage.arrays import of_jax, row_of
from tutelage.checks import count, flag, of_kind, random_seed
from tutelage.dynamics.base import Method, seen_by_run, taught, values_at
from tutelage.dynamics.checks import checked_objective, checked_progress
from tutelage.dynamics.histories import Recorder
from tutelage.dynamics.krylov import NewtonKrylov
from tutelage.dynamics.lanes import (
    FAR,
    Task,
    begin,
    follow,
    follow_at_once,
    lane_work,
    late_tile_size,
    step_key,
    thoroughness,
    tile_size,
)
from tutelage.dynamics.methods import as_method
from tutelage.dynamics.newton import Newton
from tutelage.dynamics.programs import Programs
from tutelage.dynamics.records import Record
from tutelage.dynamics.runs import Interrupted, Runs, statuses_of
from tutelage.dynamics.status import Code
from tutelage.dynamics.stops import DEFAULT_STEPS, Stop, gradient_norm
from tutelage.dynamics.supply import Supply, as_they_stand, supplied
from tutelage.errors import invalid
from tutelage.instant import instantly, trace
from tutelage.objectives import Objective, Reduction, Stream
from tutelage.objectives.population import reach_of
from tutelage.objectives.tiles import Thoroughness, in_tiles

# Codes with which a run may be continued.
_OPEN = (
    Code.GRADIENT,
    Code.LOSS,
    Code.CHANGE,
    Code.STEPS,
    Code.SECONDS,
    Code.INTERRUPTED,
    Code.STALLED,
    Code.HORIZON,
)

# Codes of runs that ended although the loss might fall further.
_LIMITS = (Code.STEPS, Code.SECONDS, Code.STALLED, Code.HORIZON)

_SLOTS = 32
_FIRST_ROUND = 64
_SHORTEST_ROUND = 32  # before runs are left for later: handing over a tile costs as much as a step of a large one
_LONGEST_ROUND = 1 << 20

# Few runs take so many steps, and full tiles of idle lanes would cost more than all other runs together. The number
# of lanes may depend on a run's own step, since its result then still does not depend on other runs.
_LATE = 2048


def descend(
    objective: Objective,
    starts: Any,
    method: Any,
    stop: Stop | Sequence[Stop] | None = None,
    record: Record | None = None,
    *,
    seed: int = 0,
    first_run: int = 0,
    teachers: PyTree | None = None,
    finish: Newton | NewtonKrylov | None = None,
    compiled: bool = True,
    progress: Callable[[int, int, int], None] | None = None,
) -> Runs:
    """Follow a method from many starts at once.

    A run depends on its own start, its number and the seed alone: not on the other runs of the batch, their
    order, the number of devices, or an interruption. Runs that have ended cost nothing. Where the inputs are
    rotation invariant and the method commutes with rotations, runs are followed in the span of start and
    teacher, whatever the dimension.

    Args:
        objective: What to descend.
        starts: A batch of students, runs first (see `tutelage.starts`); or earlier `Runs` of the same
            objective, to go on where they ended.
        method: A method, or any Optax transformation.
        stop: When to end a run: one condition or several (`a | b` or a list). By default, a gradient norm of
            1e-10 where the objective is exact. There is always a limit of steps, 100,000 unless given.
        record: What to remember along the runs, and how often.
        seed: Seed of random methods and of `stream` objectives.
        first_run: Number of the first run, for cutting one batch into pieces.
        teachers: A teacher for each run in place of the objective's, runs first: averages over random teachers are one
            call. The objective says what else the problem is; see `Objective.with_target`.
        finish: How to shorten the end of runs to a small gradient norm: `Newton` (dense, proves that descent would
            reach the same point) or `NewtonKrylov` (many runs at once, large students); none, or the earlier runs',
            by default.
        compiled: Whether steps are compiled. If not, NumPy makes them: it begins at once, and a step of up to 128 small
            students takes it a third of a millisecond: quicker for some hundred steps of a problem that is met once.
            The results of both differ by rounding.
        progress: Called now and then with the numbers of ended runs, of all runs, and of steps of the slowest one.

    Returns:
        What the runs have reached.

    Raises:
        InvalidArgument: If an argument does not fit.
        Interrupted: On Ctrl-C; its `runs` can be passed to `descend` again.
    """
    objective, progress = checked_objective(objective), checked_progress(progress)
    method, stop = as_method(method), _stop(stop, objective)
    follower = _prepare(objective, starts, method, stop, record, seed, first_run, teachers, finish, compiled)
    try:
        follower.follow_all(progress)
    except KeyboardInterrupt:
        follower.end_open_runs(Code.INTERRUPTED)
        raise Interrupted(follower.result()) from None
    return follower.result()


def _stop(stop: Any, objective: Objective) -> Stop:
    if stop is None:
        return Stop() if objective.exactness.kind == "sampling" else gradient_norm(1e-10)
    stops = stop if isinstance(stop, (list, tuple)) else [stop]
    for one in stops:
        of_kind("stop", one, Stop, "a stop or a list of stops", "Pass tutelage.gradient_norm(1e-10)")
    return reduce(Stop.__or__, stops, Stop())


class _Pace(NamedTuple):
    """By how many steps how many runs move on in a round."""

    length: int
    runs: int

    def after(self, seconds: float, least: int, most: int) -> "_Pace":
        """Return the next one: rounds long enough to hide the host's work, short enough to answer Ctrl-C.

        Args:
            seconds: What the last round took.
            least: As many runs as a round has to have.
            most: As many as there are.
        """
        length, runs = self
        if seconds < 0.2:
            return _Pace(length, 2 * runs) if runs < most else _Pace(min(2 * length, _LONGEST_ROUND), runs)
        if seconds <= 0.8:
            return self
        if length <= _SHORTEST_ROUND and min(runs, most) > least:
            return _Pace(length, max(min(runs, most) // 2, least))
        return _Pace(max(length // 2, 1), runs)


@dataclass
class _Follower:
    """The host's side of a batch: which runs are open, what they have reached, what was remembered."""

    objective: Objective
    teachers: PyTree
    reduction: Reduction | None
    task: Task
    stop: Stop
    state: Any  # the Lanes of all runs, as NumPy arrays
    tile: int
    first_run: int
    seed: int
    newton: Newton | NewtonKrylov | None
    newton_steps: np.ndarray
    recorder: Recorder | None
    supply: Supply | None  # of batches, where runs share them
    thoroughness: Thoroughness
    follow: Callable  # what moves a tile of runs, compiled or not
    programs: Programs
    started: float
    earlier_seconds: float

    def follow_all(self, progress) -> None:
        """Follow all runs to their end, in rounds."""
        stop = self.stop
        self._order()
        least = len(self.state.code) if self._together else self.tile
        pace = _Pace(_FIRST_ROUND, 8 * least)
        while np.isin(self.state.code, (Code.RUNNING, Code.PAUSED)).any():
            if stop.seconds is not None and time.monotonic() - self.started > stop.seconds:
                self.end_open_runs(Code.SECONDS)
                return
            begun = time.monotonic()
            if (open_runs := np.flatnonzero(self.state.code == Code.RUNNING)).size:
                self._round(open_runs[: pace.runs], pace.length)
            self._try_newton()
            self._order_late()
            pace = pace.after(time.monotonic() - begun, least, len(open_runs))
            if progress is not None:
                ended = int(np.isin(self.state.code, (Code.RUNNING, Code.PAUSED), invert=True).sum())
                progress(ended, len(self.state.code), int(self.state.step.max()))

    @property
    def _together(self) -> bool:
        """Whether runs go on together, step by step: those that are recorded, and those that share batches."""
        return self.recorder is not None or self.supply is not None

    @property
    def _late_tile(self) -> int:
        # A batch that all runs share would be read by fewer of them.
        return self.tile if self.supply is not None else late_tile_size(self.tile)

    def _order(self) -> None:
        """Begin to compile what will be needed, in the order in which it will be."""
        if self.supply is not None:
            return  # the program takes batches, which have to be drawn first
        if (open_runs := np.flatnonzero(self.state.code == Code.RUNNING)).size:
            cohort, tile, ends, remembered = next(self._cohorts(open_runs, _FIRST_ROUND))
            lanes = jax.tree.map(lambda leaf: leaf[cohort], self.state)
            shared = (self.task, np.asarray(remembered))
            self.programs.order(self.follow, tile, shared, (lanes, ends), self.thoroughness)
            if self.newton is not None and (self.state.gate[open_runs] > 0).any():
                assert self.stop.gradient is not None
                objective, method, tolerance = self.task.objective, self.task.method, float(self.stop.gradient)
                self.newton.order(self.programs, objective, method, lanes.point, tolerance, self.tile)
            # What is evaluated at the end is traced while others compile.
            rows = jax.tree.map(lambda leaf: np.resize(leaf, (self.tile, *leaf.shape[1:])), lanes)
            trace(_evaluate_tile, self.task.objective, (rows.point, rows.key, rows.step, rows.teacher))

    def _order_late(self) -> None:
        """Begin to compile for narrow tiles once a run is on its way to the step from which on they are used."""
        running = (self.state.code == Code.RUNNING) & (self.state.step < _LATE)
        soon = np.flatnonzero(running & (self.state.step >= _LATE // 2))
        if soon.size and not self._together:
            lanes = jax.tree.map(lambda leaf: leaf[soon], self.state)
            shared, rows = (self.task, np.asarray(0)), (lanes, lanes.step[:, None])
            self.programs.order(self.follow, self._late_tile, shared, rows, self.thoroughness)

    def _round(self, open_runs: np.ndarray, length: int) -> None:
        # An interruption in the middle of a round must find the runs as they were before it.
        state = jax.tree.map(np.copy, self.state)
        recorder = None if self.recorder is None else self.recorder.copy()
        for cohort, tile, ends, remembered in self._cohorts(open_runs, length):
            lanes = jax.tree.map(lambda leaf, cohort=cohort: leaf[cohort], self.state)
            shared = (self._supplied(int(lanes.step[0])), np.asarray(remembered))
            outcome, values = self.programs(self.follow, tile, shared, (lanes, ends), self.thoroughness)
            for whole, part in zip(jax.tree.leaves(state), jax.tree.leaves(outcome), strict=True):
                whole[cohort] = part
            if recorder is not None:
                recorder.add(cohort, values, remembered)
        self.state, self.recorder = state, recorder

    def _supplied(self, step: int) -> Task:
        """Return the task with the batches from a step on, where runs share them."""
        if self.supply is None:
            return self.task
        return replace(self.task, stretch=self.supply.at(step, self.programs))

    def _cohorts(self, open_runs: np.ndarray, length: int) -> Iterator[tuple[np.ndarray, int, np.ndarray, int]]:
        """Yield runs that move on together: their tile, the steps at which each pauses, and how many are remembered."""
        steps = self.state.step[open_runs]
        # Runs that go on may have made more steps already: one more is what ends them.
        most = max(int(self.task.most_steps), int(steps.max())) + 1
        late = self._late_tile
        if not self._together:
            for chosen, tile, last in ((steps < _LATE, self.tile, _LATE), (steps >= _LATE, late, most)):
                if chosen.any():
                    ends = np.minimum(steps[chosen] + length, min(last, most))
                    yield open_runs[chosen], tile, ends[:, None], 0
            return
        # Runs that were held up by a Newton trial catch up first, so that all see the same remembered steps.
        current = int(steps.min())
        behind = steps == current
        limit = current + length if behind.all() else min(current + length, int(steps[~behind].min()))
        limit = min(limit, most, _LATE if current < _LATE else most)
        if self.supply is not None:
            limit = min(limit, self.supply.at(current, self.programs).last)
        ends, remembered = self._ends(current, limit)
        cohort = open_runs[behind]
        tile = self.tile if current < _LATE else late
        yield cohort, tile, np.repeat(ends[None], len(cohort), axis=0), remembered

    def _ends(self, current: int, limit: int) -> tuple[np.ndarray, int]:
        """Return the steps at which a round pauses, and how many of them are remembered."""
        if self.recorder is None:
            return np.array([limit]), 0
        schedule = self.recorder.record.schedule(current)
        chosen = list(takewhile(lambda step: step <= limit, islice(schedule, _SLOTS - 1)))
        last = limit if len(chosen) < _SLOTS - 1 else chosen[-1]
        # A fixed number of slots, so that one program serves all rounds; repeated ends cost nothing.
        return np.array(chosen + [last] * (_SLOTS - len(chosen))), len(chosen)

    def _try_newton(self) -> None:
        """Try to finish the runs that have paused for it: a full batch at a time, or what there is near the end."""
        paused = np.flatnonzero(self.state.code == Code.PAUSED)
        if not paused.size:
            return
        assert self.newton is not None
        width = self.newton.width(self.tile)
        # Once a tile holds all other runs, a run that has to go on after all had better go on with them.
        soon = (self.state.code == Code.RUNNING).sum() <= self.tile
        for first in range(0, len(paused), width):
            piece = paused[first : first + width]
            if len(piece) == width or soon:
                self._finish(piece)

    def _finish(self, piece: np.ndarray) -> None:
        assert self.newton is not None
        assert self.stop.gradient is not None
        points = jax.tree.map(lambda leaf: leaf[piece], self.state.point)
        objective, method, tolerance = self.task.objective, self.task.method, float(self.stop.gradient)
        ends, finished, steps = self.newton.complete(objective, method, points, tolerance, self.tile, self.programs)
        ends = jax.device_get(ends)
        for lane, run in enumerate(piece):
            if not finished[lane]:
                self.state.gate[run] = 0.1 * min(self.state.gate[run], self.state.gradient_norm[run])
                self.state.code[run] = Code.RUNNING
                continue
            for whole, part in zip(jax.tree.leaves(self.state.point), jax.tree.leaves(ends), strict=True):
                whole[run] = part[lane]
            self.state.code[run] = Code.GRADIENT
            self.newton_steps[run] += steps[lane]

    def end_open_runs(self, code: Code) -> None:
        """End the runs that are still open, with the given code."""
        for open_code in (Code.RUNNING, Code.PAUSED):
            self.state.code[self.state.code == open_code] = code

    def result(self) -> Runs:
        """Return what the runs have reached."""
        if self.supply is not None:
            self.supply.stretch = None  # megabytes that nobody needs until runs go on
        task, rows = self.task, (self.state.point, self.state.key, self.state.step, self.state.teacher)

        def values(objective: Objective, own: np.ndarray):
            chosen = jax.tree.map(lambda leaf: leaf[own], rows)
            return in_tiles(_evaluate_tile, self.tile, (objective,), chosen)

        losses, gradient_norms, errors, singular = as_they_stand(task.objective, self.supply, self.state.step, values)
        self.state.code[singular & (self.state.code == Code.GRADIENT)] = Code.SINGULAR
        points = jax.tree.map(of_jax, self.state.point)
        if self.reduction is not None:
            points = self.reduction.lift(points, np.arange(len(self.state.code)))
        # The runs' own codes stay: they can be followed further.
        channels, coarse = self._channels(points), self._coarse(points)
        codes, reasons = self.state.code.copy(), [self._reason(run) for run in range(len(self.state.code))]
        for code, said in ((Code.CHANNEL, channels), (Code.COARSE, coarse)):
            for run, words in said.items():
                codes[run], reasons[run] = code, reasons[run] + words
        return Runs(
            objective=self.objective,
            points=points,
            statuses=statuses_of(codes),
            reasons=np.array(reasons, dtype=object),
            steps=self.state.step.copy(),
            newton_steps=self.newton_steps.copy(),
            losses=losses,
            gradient_norms=gradient_norms,
            error_estimates=errors,
            seconds=self.earlier_seconds + time.monotonic() - self.started,
            seed=self.seed,
            first_run=self.first_run,
            teachers=self.teachers,
            _history=None if self.recorder is None else self.recorder.history(self.state, self.task, self.supply),
            _resume=self,
        )

    def _channels(self, points: PyTree) -> dict[int, str]:
        """Return what to say of runs that a limit ended while two of their neurons ran away together."""
        if not self.objective.deterministic:
            return {}
        said, arrays = {}, jax.device_get(points)
        for run in np.flatnonzero(np.isin(self.state.code, _LIMITS)).tolist():
            point = jax.tree.map(lambda leaf, run=run: leaf[run], arrays)
            if found := self.objective.problem.student.channel(point, partial(self._slope, run)):
                neurons, outputs = (
                    " and ".join(text) for text in (map(str, found), map("{:.3g}".format, found.values()))
                )
                said[run] = f"; neurons {neurons} run away, with output weights {outputs}"
        return said

    def _coarse(self, points: PyTree) -> dict[int, str]:
        """Return what to say of runs that met a condition where a step is all that the nodes of a quadrature see."""
        ended = np.flatnonzero(np.isin(self.state.code, (Code.GRADIENT, Code.LOSS))).tolist()
        if self.objective.exactness.kind != "quadrature":
            return {}
        rows, teachers = jax.device_get((points, self.teachers))
        reaches = {run: reach_of(taught(self.objective, row_of(teachers, run)), row_of(rows, run)) for run in ended}
        return {run: ", but too far from zero for a quadrature to tell" for run, reach in reaches.items() if reach > 1}

    def _slope(self, run: int, point: PyTree) -> PyTree:
        """Return the gradient of a run's own objective."""
        return taught(self.objective, row_of(self.teachers, run)).gradient(point)

    def _reason(self, run: int) -> str:
        stop, step = self.stop, int(self.state.step[run])
        code = Code(self.state.code[run])
        if code in (Code.GRADIENT, Code.LOSS, Code.CHANGE):
            return stop.describe(code.name.lower())
        return {
            Code.STEPS: f"{step} steps made",
            Code.HORIZON: f"the flow reached time {getattr(self.task.method, 'horizon', 0):g}",
            Code.SECONDS: f"{stop.seconds or 0:g} s of wall time used",
            Code.STALLED: f"step {step} left the student unchanged in floating point",
            Code.DIVERGED: f"beyond norm {FAR:g} or not finite at step {step}; lower the step",
            Code.SINGULAR: f"a zero vector at step {step}, where the loss has no gradient",
            Code.INTERRUPTED: f"interrupted at step {step}",
        }[code]


@instantly
def _evaluate_tile(objective: Objective, rows: tuple[PyTree, Array | None, Array, PyTree]):
    # Not given the method and the stops, on which nothing here depends: one program serves them all.
    def one(point, key, step, teacher):
        return values_at(seen_by_run(objective, teacher, step_key(key, step)), point)

    return jax.vmap(one)(*rows)


def _prepare(objective, starts, method, stop, record, seed, first_run, teachers, newton, compiled) -> _Follower:
    if record is not None:
        of_kind("record", record, Record, "a record", 'Pass tutelage.record("loss")')
    if newton is not None:
        of_kind("finish", newton, (Newton, NewtonKrylov), "a Newton finish or None", "Pass tutelage.NewtonKrylov()")
    seed, first_run = random_seed("seed", seed), count("first_run", first_run, least=0)
    most_steps = DEFAULT_STEPS if stop.steps is None else stop.steps
    compiled = flag("compiled", compiled)
    if isinstance(starts, Runs):
        if teachers is not None:
            raise invalid("teachers", "be left out where runs go on", "teachers", "They keep the ones that they have")
        return _continued(objective, starts, method, stop, record, most_steps, newton, compiled)
    points = objective.problem.points(starts)
    lengths = {leaf.shape[0] for leaf in jax.tree.leaves(points)}
    if len(lengths) > 1:
        raise invalid("starts", "have as many runs in all arrays", f"{sorted(lengths)} runs", "Cut them to one length")
    runs = first_run + np.arange(lengths.pop())
    if teachers is not None:
        teachers = _checked_teachers(objective, teachers, len(runs), newton)
    reduction = _reduction(objective, method, record, points, teachers)
    inner = objective if reduction is None else reduction.objective
    points, own = (points, teachers) if reduction is None else (reduction.points, reduction.teachers)
    supply = None
    if isinstance(inner, Stream) and inner.shared:
        inner, supply, own = supplied(inner, teachers, len(runs), seed, compiled)
    quantities = None if record is None else record.compiled()
    task = Task(inner, method, stop.compiled(), quantities, of_jax(seed), of_jax(most_steps))
    points, own = jax.device_get((points, own))
    first = jax.tree.map(lambda leaf: leaf[0], points)
    usable = newton is not None and stop.gradient is not None and newton.applicable(inner, method, first)
    gate = of_jax(newton.gate if usable and newton is not None else 0.0)
    tile = tile_size(inner, method, first)
    begun = in_tiles(begin, tile, (task, gate), (points, runs, own))
    recorder = None
    if record is not None:
        recorder = Recorder(record, runs, tile)
        recorder.add_current(begun, task, supply)
    return _Follower(
        objective=objective,
        teachers=teachers,
        reduction=reduction,
        task=task,
        stop=stop,
        state=begun,
        tile=tile,
        first_run=first_run,
        seed=seed,
        newton=newton,
        newton_steps=np.zeros(len(runs), int),
        recorder=recorder,
        supply=supply,
        thoroughness=thoroughness(inner, method, first),
        follow=follow if compiled else follow_at_once,
        programs=Programs(),
        started=time.monotonic(),
        earlier_seconds=0.0,
    )


def tile_of(objective: Objective, method: Any, record: Record | None = None) -> tuple[int, int]:
    """Return how many runs `descend` follows side by side on one device, and what a step of one of them costs.

    A tile that is not full costs as much as a full one.

    Args:
        objective: What is descended.
        method: The method.
        record: What is remembered.

    Returns:
        The number of runs of a tile, and the cost in units of a pair of neurons in closed form.
    """
    method = as_method(method)
    random = np.random.default_rng(0)
    shapes = objective.problem.template_tree()
    points = jax.tree.map(lambda leaf: of_jax(random.normal(size=(1, *leaf.shape))), shapes)
    reduction = _reduction(objective, method, record, points)
    inner, points = (objective, points) if reduction is None else (reduction.objective, reduction.points)
    first = jax.tree.map(lambda leaf: leaf[0], points)
    return tile_size(inner, method, first), lane_work(inner, method, first)


def _checked_teachers(objective: Objective, teachers: PyTree, runs: int, newton) -> PyTree:
    """Return teachers of runs as arrays, or raise."""
    if newton is not None:
        raise invalid("finish", "be left out where runs have teachers of their own", repr(newton), "Leave it out")
    teachers = objective.problem.teachers(teachers)
    lengths = {leaf.shape[0] for leaf in jax.tree.leaves(teachers)}
    if lengths != {runs}:
        raise invalid("teachers", "be as many as the starts", f"{sorted(lengths)} for {runs} runs", "Pass one per run")
    objective.with_target(row_of(teachers, 0))  # raises where labels are those of a teacher
    return teachers


def _reduction(
    objective: Objective, method: Method, record: Record | None, points: PyTree, teachers: PyTree = None
) -> Reduction | None:
    """Return the reduction to the span of start and teacher where that is allowed and smaller than the input space."""
    if not (method.traits.equivariant and objective.span_suffices and (record is None or record.invariant)):
        return None
    one = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), points)
    students = eqx.filter_eval_shape(objective.problem.student.vectors, one)
    taught = objective.problem.teacher.vectors(objective.target)
    if students.shape[0] + taught.shape[0] >= students.shape[1]:
        return None
    return objective.reduced(points, teachers)


def _continued(objective, runs: Runs, method, stop, record, most_steps, newton, compiled) -> _Follower:
    earlier = runs._resume
    if earlier is None or runs.objective is not objective:
        raise invalid(
            "starts",
            "be runs of the same objective",
            f"runs of another {runs.objective.problem.name} objective",
            "Pass runs.points to start afresh from where they ended",
        )
    if jax.tree.structure(method) != jax.tree.structure(earlier.task.method):
        raise invalid(
            "method",
            "be of the kind the runs were followed with",
            repr(method),
            "Pass runs.points to start afresh",
        )
    if record is not None and (earlier.recorder is None or record != earlier.recorder.record):
        raise invalid("record", "be the one of the earlier runs, or None", repr(record), "Leave it out")
    state = jax.tree.map(np.copy, earlier.state)
    state.code[np.isin(state.code, _OPEN)] = Code.RUNNING
    inner = earlier.task.objective
    first = jax.tree.map(lambda leaf: of_jax(leaf[0]), state.point)
    newton = earlier.newton if newton is None else newton
    if newton is None or stop.gradient is None or not newton.applicable(inner, method, first):
        state.gate[:] = 0.0
    else:
        state.gate[state.gate == 0] = newton.gate
    task = Task(inner, method, stop.compiled(), earlier.task.record, earlier.task.seed, of_jax(most_steps))
    return replace(
        earlier,
        task=task,
        stop=stop,
        state=state,
        newton=newton,
        newton_steps=earlier.newton_steps.copy(),
        recorder=None if earlier.recorder is None else earlier.recorder.copy(),
        supply=None if earlier.supply is None else replace(earlier.supply, compiled=compiled),
        follow=follow if compiled else follow_at_once,
        programs=Programs(),
        started=time.monotonic(),
        earlier_seconds=runs.seconds,
    )
