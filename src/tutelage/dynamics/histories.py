"""Keeping what was remembered along the runs, in bounded memory."""

from collections.abc import Mapping
from dataclasses import replace

import jax
import numpy as np

from tutelage.dynamics.lanes import Lanes, Task, remember
from tutelage.dynamics.records import Record
from tutelage.dynamics.runs import History
from tutelage.dynamics.supply import Supply, as_they_stand
from tutelage.objectives import Objective
from tutelage.objectives.tiles import in_tiles


class Recorder:
    """Entries of all runs: which run, which step, and the quantities."""

    def __init__(self, record: Record, runs: np.ndarray, tile: int):
        self.record = record
        self._tile = tile
        self._runs = runs
        self._parts: list[tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]] = []
        self._last = np.full(len(runs), -1)
        self._entries = 0

    def copy(self) -> "Recorder":
        """Return an independent copy."""
        other = Recorder(self.record, self._runs, self._tile)
        other._parts, other._last, other._entries = list(self._parts), self._last.copy(), self._entries
        return other

    def add(self, positions: np.ndarray, values: Mapping, slots: int) -> None:
        """Add what a round remembered.

        Args:
            positions: Positions of the runs in the batch.
            values: Quantities, `[run, slot, …]`, with the steps among them.
            slots: How many slots, from the first, are to be remembered.
        """
        flat = {name: np.moveaxis(value, 1, 0)[:slots] for name, value in values.items()}
        steps = flat.pop("step")
        # A run that has ended stands still: only slots in which it went on are entries.
        before = np.concatenate([self._last[positions][None], steps[:-1]]) if slots else steps
        new = steps > before
        if not new.any():
            return
        runs = np.broadcast_to(positions, steps.shape)[new]
        self._parts.append((runs, steps[new], {name: value[new] for name, value in flat.items()}))
        self._last[positions] = np.maximum(self._last[positions], steps.max(axis=0))
        self._entries += len(runs)
        if self._entries > 2 * self.record.at_most * len(self._runs):
            self._thin()

    def add_current(self, state: Lanes, task: Task, supply: Supply | None) -> None:
        """Add the state of all runs as they stand."""

        def remembered(objective: Objective, own: np.ndarray):
            lanes = jax.tree.map(lambda leaf: leaf[own], state)
            return in_tiles(remember, self._tile, (replace(task, objective=objective),), lanes)

        values = as_they_stand(task.objective, supply, np.asarray(state.step), remembered)
        current = jax.tree.map(lambda leaf: leaf[:, None], values)
        self.add(np.arange(len(self._runs)), current, 1)

    def _thin(self) -> None:
        runs, steps, values = self._joined()
        keep = np.zeros(len(runs), bool)
        order = np.lexsort((steps, runs))
        for entries in np.split(order, np.flatnonzero(np.diff(runs[order])) + 1):
            keep[entries] = self.record.kept(steps[entries])
        self._parts = [(runs[keep], steps[keep], {name: value[keep] for name, value in values.items()})]
        self._entries = int(keep.sum())

    def _joined(self):
        runs = np.concatenate([part[0] for part in self._parts])
        steps = np.concatenate([part[1] for part in self._parts])
        names = self._parts[0][2]
        return runs, steps, {name: np.concatenate([part[2][name] for part in self._parts]) for name in names}

    def history(self, state: Lanes, task: Task, supply: Supply | None) -> History:
        """Return all entries, the state that each run has reached among them."""
        final = self.copy()
        # What was reached replaces the entry of the same step: a Newton finish moves a student after its last
        # step.
        runs, steps, values = final._joined()
        earlier = steps != np.asarray(state.step)[runs]
        final._parts = [(runs[earlier], steps[earlier], {name: value[earlier] for name, value in values.items()})]
        final._last[:] = -1
        final.add_current(state, task, supply)
        final._thin()
        runs, steps, values = final._joined()
        order = np.lexsort((steps, runs))
        return History(self._runs[runs[order]], steps[order], {name: value[order] for name, value in values.items()})
