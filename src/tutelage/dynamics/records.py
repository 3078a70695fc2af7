"""What to remember along a run, and how often."""

from collections.abc import Callable, Iterator, Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from tutelage import checks
from tutelage.dynamics.base import norm
from tutelage.errors import invalid, shown
from tutelage.modules import Module
from tutelage.objectives import Objective


def _loss(objective: Objective, point: PyTree) -> Array:
    return objective.loss(point)


def _gradient_norm(objective: Objective, point: PyTree) -> Array:
    return norm(objective.gradient(point))


def _squeezed(values: Float[Array, " vector"]) -> Array:
    return values[0] if values.shape[0] == 1 else values


def _norms(objective: Objective, point: PyTree) -> Array:
    return _squeezed(jnp.linalg.norm(objective.problem.student.vectors(point), axis=-1))


def _norm_sum(objective: Objective, point: PyTree) -> Array:
    return jnp.sum(jnp.linalg.norm(objective.problem.student.vectors(point), axis=-1))


def _angle(objective: Objective, point: PyTree) -> Array:
    """Angle of every student vector to the nearest teacher vector, accurate at small angles."""
    students = objective.problem.student.vectors(point)
    teachers = objective.problem.teacher.vectors(objective.target)

    def unit(vectors):
        return vectors / jnp.maximum(jnp.linalg.norm(vectors, axis=-1, keepdims=True), 1e-300)

    first, second = unit(students)[:, None], unit(teachers)[None]
    halves = jnp.arctan2(jnp.linalg.norm(first - second, axis=-1), jnp.linalg.norm(first + second, axis=-1))
    return _squeezed(2 * jnp.min(halves, axis=1))


def _distance(objective: Objective, point: PyTree) -> Array:
    """Distance of every student vector to the nearest teacher vector."""
    students = objective.problem.student.vectors(point)
    teachers = objective.problem.teacher.vectors(objective.target)
    return _squeezed(jnp.min(jnp.linalg.norm(students[:, None] - teachers, axis=-1), axis=1))


# Quantities that a rotation of the inputs leaves alone: they can be taken in the span of start and teacher.
QUANTITIES: dict[str, Callable[[Objective, PyTree], Array]] = {
    "loss": _loss,
    "gradient_norm": _gradient_norm,
    "norms": _norms,
    "norm_sum": _norm_sum,
    "angle": _angle,
    "distance": _distance,
}


class Record(Module):
    """What to remember along a run; build one with `record`.

    Attributes:
        names: Names of built-in quantities.
        functions: Quantities of the user's own, by name: functions of a student.
        every: Steps between two entries.
        steps: Chosen steps instead.
        at_most: Largest number of entries per run; beyond it every second one is dropped and the rest are taken
            twice as far apart.
    """

    names: tuple[str, ...] = eqx.field(static=True)
    functions: tuple[tuple[str, Callable], ...]
    every: int = eqx.field(static=True)
    steps: tuple[int, ...] | None = eqx.field(static=True)
    at_most: int = eqx.field(static=True)

    @property
    def invariant(self) -> bool:
        """Whether all quantities can be taken in the span of start and teacher."""
        return not self.functions

    def compiled(self) -> "Record":
        """Return the quantities alone: other steps at which to take them do not compile another program."""
        return Record(self.names, self.functions, every=1, steps=None, at_most=2)

    def __call__(self, objective: Objective, point: PyTree) -> dict[str, Array]:
        """Return the quantities at a student."""
        values = {name: QUANTITIES[name](objective, point) for name in self.names}
        return values | {name: jnp.asarray(function(point)) for name, function in self.functions}

    def schedule(self, start: int) -> Iterator[int]:
        """Yield the steps after `start` at which to remember; `start` itself is always remembered."""
        if self.steps is not None:
            yield from (step for step in self.steps if step > start)
            return
        step, stride = start, self.every
        while True:
            # The stride after thinning at step s is the one that keeps s/stride at most `at_most`.
            while (step + stride) / stride > self.at_most:
                stride *= 2
            step = (step // stride + 1) * stride
            yield step

    def kept(self, steps: np.ndarray) -> np.ndarray:
        """Return which of the steps remembered so far to keep: at most `at_most` of them, and the last."""
        last, stride = steps[-1], self.every
        if self.steps is not None:
            # A run that was ended early and then went on has entries where it had ended.
            return np.isin(steps, (0, *self.steps, last))
        while last / stride > self.at_most:
            stride *= 2
        return (steps % stride == 0) | (steps == last)


def record(
    *names: str,
    every: int = 1,
    steps: Sequence[int] | None = None,
    at_most: int = 1000,
    **functions: Callable,
) -> Record:
    """Say what to remember along every run.

    Args:
        *names: Built-in quantities: `loss`, `gradient_norm`, `norms` (of the student's vectors), `norm_sum`,
            `angle` and `distance` (to the nearest teacher vector). `loss` if nothing is named.
        every: Steps between two entries.
        steps: Chosen steps instead of `every`, increasing.
        at_most: Largest number of entries per run. A longer history is thinned, every second entry dropped, so
            that memory stays bounded.
        **functions: Quantities of your own, as functions of a student that return an array. Such runs are
            followed in the full space of the inputs.
    """
    for name in names:
        if not isinstance(name, str) or name not in QUANTITIES:
            raise invalid(
                "record",
                f"name quantities among {', '.join(QUANTITIES)}",
                shown(name),
                "Pass a quantity of your own as name=function",
            )
    for name, function in functions.items():
        if name in ("run", "step", "time") or name in names:
            raise invalid("record", "give a quantity of your own a name of its own", repr(name), "Choose another name")
        checks.function(f"record {name}", function, "a function of a student")
    chosen = None
    if steps is not None:
        several = checks.sequence("steps", steps, "several step numbers")
        chosen = tuple(checks.count("steps", step, least=0) for step in several)
        if list(chosen) != sorted(set(chosen)):
            raise invalid("steps", "increase", f"{chosen}", "Sort them and leave out repeated ones")
    return Record(
        names=names or (() if functions else ("loss",)),
        functions=tuple(functions.items()),
        every=checks.count("every", every),
        steps=chosen,
        at_most=checks.count("at_most", at_most, least=2),
    )
