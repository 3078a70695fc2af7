r"""Branches of critical points in real $k$: continuation, turning points, and eigenvalues that cross zero.

With $x = (T\sqrt m, \ln k)$, where the weights $m$ are those of the last point, a branch is a curve of zeros of the
gradient. Steps go along its tangent, and Newton's method in the plane orthogonal to it brings them back (pseudo-arc
length), so that the curve is followed around turning points, where $k$ goes back and the symmetric Hessian is singular.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy

from tutelage import checks
from tutelage.errors import TutelageError, invalid, shown
from tutelage.geometry.ball_arithmetic import NotProved
from tutelage.geometry.families.classes import SymmetryClass
from tutelage.geometry.families.isotypes import isotype, isotypes
from tutelage.geometry.families.layout import Layout
from tutelage.geometry.families.reduced import Geometry

# Lengths of steps in x, and how many there are at most.
_SHORTEST, _LONGEST, _STEPS = 1e-7, 0.3, 4000

# For derivatives in ln k by central differences; errors bend the tangent, and move no point.
_DIFFERENCE = 1e-5

# Newton's method ends when a step is a rounding error.
_CLOSE = 1e-11


class Event(NamedTuple):
    """Where a branch turns back, or an eigenvalue of the Hessian crosses zero.

    Attributes:
        kind: `turning` or `crossing`.
        neurons: The real number of teachers.
        type: Type of symmetry of the eigenvector, blocks numbered from one.
        place: Which of the eigenvalues of that type, in increasing order and numbered from zero, is zero there.
        table: The student there; see `FamilyPoint.table`.
    """

    kind: Literal["turning", "crossing"]
    neurons: float
    type: str
    place: int
    table: np.ndarray


@dataclass(frozen=True)
class Branch:
    """A branch of critical points; build one with `Family.follow`.

    Attributes:
        neurons: Numbers of teachers, point by point.
        tables: The students, `[point, orbit, column]`; see `FamilyPoint.table`.
        events: Turning points and crossings, in the order in which they were met.
        reason: Why it ended: `reached`, or in words.
    """

    neurons: np.ndarray
    tables: np.ndarray = field(repr=False)
    events: tuple[Event, ...]
    reason: str
    _class: SymmetryClass = field(repr=False)

    @property
    def losses(self) -> np.ndarray:
        """The losses, point by point."""
        pairs = zip(self.neurons, self.tables, strict=True)
        return np.array([float(Geometry(self._class.layout(float(k)), table).loss()) for k, table in pairs])

    def enclose(self, event: Event, width: float = 1e-10) -> tuple[float, float]:
        """Prove that an eigenvalue crosses zero, or that the branch turns back, and between which numbers of neurons.

        Needs python-flint, the extra `certify`. The argument is written out in `tutelage.geometry.families.events`.

        Args:
            event: An event of this branch.
            width: Width of the interval; for a turning point, at most.

        Returns:
            Both ends of the interval.

        Raises:
            InvalidArgument: If it is no event.
            TutelageError: If the proof does not succeed, with the reason.
        """
        from tutelage.geometry.families.events import enclosed_event

        width = checks.positive("width", width)
        if not isinstance(event, Event):
            raise invalid("event", "be an event of the branch", shown(event), "Pass one of `branch.events`")
        try:
            return enclosed_event(self._class, event, width)
        except NotProved as failure:
            name = "crossing" if event.kind == "crossing" else "turning point"
            raise TutelageError(f"The {name} is not proved: {failure}.") from failure


class _State(NamedTuple):
    neurons: float
    table: np.ndarray
    tangent: np.ndarray
    negative: dict[str, int]


@dataclass(frozen=True)
class _Curve:
    """The equations near one point: weights are those of its number of teachers."""

    symmetry: SymmetryClass
    neurons: float

    @cached_property
    def layout(self) -> Layout:
        return self.symmetry.layout(self.neurons)

    @cached_property
    def scale(self) -> np.ndarray:
        return np.sqrt(self.layout.weights[self.layout.cells])

    def pack(self, table: np.ndarray, neurons: float) -> np.ndarray:
        return np.append(table[self.layout.cells] * self.scale, math.log(neurons))

    def unpack(self, x: np.ndarray) -> tuple[np.ndarray, float]:
        return self.layout.table(x[:-1] / self.scale), math.exp(x[-1])

    def equations(self, x: np.ndarray) -> np.ndarray:
        table, neurons = self.unpack(x)
        return Geometry(self.symmetry.layout(neurons), table).gradient()[self.layout.cells] * self.scale

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        table, neurons = self.unpack(x)
        within = Geometry(self.symmetry.layout(neurons), table).jacobian()
        shift = np.append(np.zeros(len(x) - 1), _DIFFERENCE)
        across = (self.equations(x + shift) - self.equations(x - shift)) / (2 * _DIFFERENCE)
        return np.column_stack([within * self.scale[:, None] / self.scale, across])

    def tangent(self, x: np.ndarray, along: np.ndarray) -> np.ndarray:
        """Return the unit tangent that goes on in a direction."""
        found = np.linalg.svd(self.jacobian(x))[2][-1]
        return found if found @ along >= 0 else -found

    def corrected(self, guess: np.ndarray, normal: np.ndarray) -> np.ndarray | None:
        """Return the zero in the plane through a guess, or `None` if Newton's method does not get there."""
        x = guess.copy()
        for _ in range(12):
            system = np.vstack([self.jacobian(x), normal])
            right = np.append(self.equations(x), normal @ (x - guess))
            try:
                step = np.linalg.solve(system, right)
            except np.linalg.LinAlgError:
                return None
            x = x - step
            if not np.isfinite(step).all() or np.linalg.norm(step) > 1 or abs(x[-1]) > 40:
                return None
            if np.linalg.norm(step) <= _CLOSE * (1 + np.linalg.norm(x)):
                return x
        return None


def at_number(symmetry: SymmetryClass, table: np.ndarray, neurons: float) -> np.ndarray | None:
    """Return the critical point close to a table for a given number of teachers, by Newton's method, or `None`."""
    curve = _Curve(symmetry, neurons)
    x = curve.pack(table, neurons)
    found = curve.corrected(x, np.append(np.zeros(len(x) - 1), 1.0))
    return None if found is None else curve.unpack(found)[0]


def followed(symmetry: SymmetryClass, table: np.ndarray, start: float, to: float) -> Branch:
    """Follow the branch through a critical point, until a number of teachers is reached or it ends.

    Args:
        symmetry: The symmetry class.
        table: A critical point.
        start: Its number of teachers.
        to: The number of teachers to go to. A branch that turns back ends where it comes back to its start.
    """
    curve = _Curve(symmetry, start)
    x = curve.pack(table, start)
    along = np.append(np.zeros(len(x) - 1), math.copysign(1.0, to - start))
    state = _State(start, table, curve.tangent(x, along), _negative(symmetry, table, start))
    numbers, tables, events = [start], [table], []

    def ended(reason: str) -> Branch:
        return Branch(np.array(numbers), np.array(tables), tuple(events), reason, symmetry)

    step = 0.05
    for _ in range(_STEPS):
        curve = _Curve(symmetry, state.neurons)
        x = curve.pack(state.table, state.neurons)
        new = _next(curve, x, state, step) if step >= _SHORTEST else None
        if new is None:
            if step < _SHORTEST:
                return ended("the branch cannot be followed further: a neuron is zero, or two are parallel")
            step /= 3
            continue
        beyond = (new.neurons - to) * (start - to) <= 0
        if beyond and state.tangent[-1] * new.tangent[-1] > 0:
            last = at_number(symmetry, new.table, to)
            if last is not None:
                new = _State(to, last, new.tangent, _negative(symmetry, last, to))
        events.extend(_events(curve, x, state, new))
        numbers.append(new.neurons)
        tables.append(new.table)
        if beyond:
            return ended("reached")
        if events and (new.neurons - start) * (to - start) < 0:
            return ended("the branch turned back, beyond its start")
        step, state = min(1.3 * step, _LONGEST), new
    return ended("the limit of steps is reached")


def _next(curve: _Curve, x: np.ndarray, state: _State, step: float) -> _State | None:
    try:
        found = curve.corrected(x + step * state.tangent, state.tangent)
        if found is None or np.linalg.norm(found - x - step * state.tangent) > 0.3 * step:
            return None
        table, neurons = curve.unpack(found)
        tangent = curve.tangent(found, state.tangent)
        if tangent @ state.tangent < 0.9:
            return None
        # In the coordinates of the new point, where weights are others.
        other = _Curve(curve.symmetry, neurons)
        moved = other.pack(*curve.unpack(found + 1e-6 * tangent)) - other.pack(table, neurons)
        tangent = other.tangent(other.pack(table, neurons), moved)
        return _State(neurons, table, tangent, _negative(curve.symmetry, table, neurons))
    except ValueError:  # blocks of fewer than two members
        return None


def _negative(symmetry: SymmetryClass, table: np.ndarray, neurons: float) -> dict[str, int]:
    """Return how many eigenvalues of each type are negative."""
    layout = symmetry.layout(neurons)
    return {kind.name: int((np.linalg.eigvalsh(kind.matrix(table)) < 0).sum()) for kind in isotypes(layout)}


def _events(curve: _Curve, x: np.ndarray, state: _State, new: _State) -> list[Event]:
    """Return where eigenvalues crossed zero between two points, in this order.

    Where the branch turned, the one that did is of symmetric students: there the equations are singular for given $k$.
    """
    turned = state.tangent[-1] * new.tangent[-1] < 0
    counts = {name: sorted((state.negative.get(name, number), number)) for name, number in new.negative.items()}
    if turned and np.ptp(counts["trivial"]) != 1:
        raise NotProved("a branch turns back and an eigenvalue crosses zero within one step")
    end = float(state.tangent @ (curve.pack(new.table, new.neurons) - x))
    found = []
    for name, (fewer, more) in counts.items():
        kind = "turning" if turned and name == "trivial" else "crossing"
        for place in range(fewer, more):
            length, table, neurons = _zero(curve, x, state.tangent, end, name, place)
            found.append((length, Event(kind, neurons, name, place, table)))
    return [event for _, event in sorted(found, key=lambda one: one[0])]


def _zero(
    curve: _Curve, x: np.ndarray, tangent: np.ndarray, end: float, name: str, place: int
) -> tuple[float, np.ndarray, float]:
    """Return how far along a step an eigenvalue is zero, and the table and the number of teachers there."""

    def at(length: float) -> tuple[np.ndarray, float]:
        found = curve.corrected(x + length * tangent, tangent)
        if found is None:
            raise NotProved("where an eigenvalue crosses zero cannot be located")
        return curve.unpack(found)

    def value(length: float) -> float:
        table, neurons = at(length)
        return float(np.linalg.eigvalsh(isotype(curve.symmetry.layout(neurons), name).matrix(table))[place])

    length: Any = scipy.optimize.brentq(value, 0.0, end, xtol=1e-14)
    return length, *at(length)
