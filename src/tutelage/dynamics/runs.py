"""What a batch of runs has reached."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import PyTree

from tutelage._html import grid
from tutelage.arrays import row_of
from tutelage.checks import count, one_of, text
from tutelage.dynamics.status import STATUSES, Code
from tutelage.errors import TutelageError, invalid
from tutelage.objectives import Objective

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class History:
    """What was remembered along the runs: entries sorted by run, then step.

    Attributes:
        run: Number of the run of every entry.
        step: Step of every entry.
        values: Quantities, entry first.
    """

    run: np.ndarray
    step: np.ndarray
    values: dict[str, np.ndarray]


@dataclass(frozen=True)
class Runs:
    """A batch of runs: where they ended, why, and what was remembered on the way.

    Pass it to `descend` in place of starts to go on with the runs that have not converged.

    Attributes:
        objective: The objective that was descended.
        points: The students reached, runs first.
        statuses: How each run ended: `converged`, `diverged`, `step_limit`, `time_limit`, `stalled`, `channel`,
            `coarse`, `non_differentiable` or `interrupted`.
        reasons: Why, in words.
        steps: Number of steps of each run.
        newton_steps: Number of Newton steps at the end of each run.
        losses: Loss at each student reached (of the last batch for a `stream`).
        gradient_norms: Norm of the gradient there.
        error_estimates: Estimated error of the loss, where it is a quadrature; zero in closed form.
        seconds: Wall time of the whole batch.
        seed: Seed of random methods.
        first_run: Number of the first run.
        teachers: The teachers of the runs, runs first, where each has one of its own; else `None`.
    """

    objective: Objective
    points: PyTree
    statuses: np.ndarray
    reasons: np.ndarray
    steps: np.ndarray
    newton_steps: np.ndarray
    losses: np.ndarray
    gradient_norms: np.ndarray
    error_estimates: np.ndarray
    seconds: float
    seed: int
    first_run: int
    teachers: PyTree | None = None
    _history: History | None = field(repr=False, default=None)
    _resume: Any = field(repr=False, default=None)

    def __len__(self) -> int:
        return len(self.statuses)

    def of_one_teacher(self) -> Runs:
        """Return these runs, or raise if each has a teacher of its own: they are then runs of many problems."""
        if self.teachers is None:
            return self
        raise invalid("runs", "have one teacher", repr(self), "Pass runs that descend was given no `teachers` for")

    def point(self, run: int) -> PyTree:
        """Return the student that one run has reached.

        Args:
            run: Position of the run in this batch.
        """
        return row_of(self.points, self._position(run))

    def _position(self, run: Any) -> int:
        return count("run", run, least=0, most=len(self) - 1)

    def where(self, status: str) -> np.ndarray:
        """Return the positions of the runs with a status, one of those that `Runs` lists."""
        one_of("status", status, sorted(set(STATUSES.values())))
        return np.flatnonzero(self.statuses == status)

    def frame(self) -> pl.DataFrame:
        """Return one row per run: number, status, reason, steps, loss and gradient norm."""
        import polars as pl

        return pl.DataFrame(
            {
                "run": np.arange(self.first_run, self.first_run + len(self)),
                "status": self.statuses.tolist(),
                "reason": self.reasons.tolist(),
                "steps": self.steps,
                "newton_steps": self.newton_steps,
                "loss": self.losses,
                "gradient_norm": self.gradient_norms,
                "error_estimate": self.error_estimates,
            }
        )

    def history(self) -> pl.DataFrame:
        """Return what was remembered: one row per run and step, one column per quantity.

        Raises:
            TutelageError: If nothing was recorded.
        """
        if self._history is None:
            raise TutelageError("Nothing was recorded along these runs. Pass record=tl.record(...) to descend.")
        import polars as pl

        columns: dict[str, Any] = {"run": self._history.run, "step": self._history.step}
        for name, values in self._history.values.items():
            columns[name] = values if values.ndim == 1 else values.reshape(len(values), -1).tolist()
        return pl.DataFrame(columns)

    def curve(self, quantity: str, run: int) -> tuple[np.ndarray, np.ndarray]:
        """Return steps and values of one quantity along one run, as arrays (values keep their shape).

        Args:
            quantity: Name of a recorded quantity, or `time`.
            run: Position of the run in this batch.
        """
        run = self._position(run)
        if self._history is None or text("quantity", quantity) not in self._history.values:
            raise TutelageError(f"`{quantity}` was not recorded along these runs. Pass it to tl.record.")
        own = self._history.run == self.first_run + run
        return self._history.step[own], self._history.values[quantity][own]

    def __iter__(self) -> Iterator[PyTree]:
        return (self.point(run) for run in range(len(self)))

    def _repr_html_(self) -> str:
        rows = []
        for status in sorted(set(self.statuses)):
            own = self.where(status)
            losses = self.losses[own]
            steps = np.median(self.steps[own])
            rows.append((status.replace("_", " "), len(own), round(steps), float(losses.min()), float(losses.max())))
        title = f"{len(self)} runs of the {self.objective.problem.name} problem"
        headings = ("status", "runs", "steps (median)", "smallest loss", "largest loss")
        return grid(title, headings, rows, f"{self.seconds:.1f} s")

    def __repr__(self) -> str:
        counts = {status: int((self.statuses == status).sum()) for status in sorted(set(self.statuses))}
        text = ", ".join(f"{number} {status}" for status, number in counts.items())
        return f"Runs({len(self)} of the {self.objective.problem.name} problem: {text}; {self.seconds:.1f} s)"


class Interrupted(KeyboardInterrupt):
    """Raised by `descend` on Ctrl-C; its `runs` hold what had been reached: pass them to `descend` again."""

    def __init__(self, runs: Runs):
        super().__init__("Interrupted; pass the `runs` of this error to descend to go on.")
        self.runs = runs


def statuses_of(codes: np.ndarray) -> np.ndarray:
    """Return the public statuses of internal codes."""
    return np.array([STATUSES[Code(code)] for code in codes], dtype=object)
