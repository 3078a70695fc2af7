"""Laws of what is drawn: coordinates in a box, which a search may move in, and how they become values.

Every law draws its boundary values too, and values close to them: that is where statements fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from tutelage import checks
from tutelage.errors import invalid, shown

LARGEST = 1e3
"""Coordinates of real numbers stay within this: beyond it a search finds rounding errors, not failures."""

Shape = tuple[int, ...]
# Numbers from which on NumPy does not add one after another.
_FEW = 8


@dataclass(frozen=True)
class Law:
    """A law of numbers or arrays of one shape.

    Attributes:
        shape: Shape of the values, and of their coordinates.
        low: Smallest coordinate.
        high: Largest coordinate.
        sample: Takes a generator and a number to as many arrays of coordinates, instances first.
        value: Takes an array namespace and coordinates to values; it acts on the last axes.
        number: How many values a coordinate stands for, each by an interval of length one, from zero; `None` for a
            continuum, with derivatives.
    """

    shape: Shape
    low: float
    high: float
    sample: Callable[[np.random.Generator, int], np.ndarray]
    value: Callable[[ModuleType, Any], Any]
    number: int | None = None


def _shape(shape: Any) -> Shape:
    checks.of_kind("shape", shape, tuple, "a tuple of whole numbers", "Pass (3, 2), or () for a number")
    sizes = tuple(checks.count("shape", size) for size in shape)
    checks.affordable("shape", shape, math.prod(sizes), "one instance")
    return sizes


def real(shape: Shape = ()) -> Law:
    """Real numbers: Gaussian, each array with a scale of its own, from a thirtieth to six.

    Args:
        shape: Shape of the array; `()` for a number.
    """
    sizes = _shape(shape)

    def sample(random: np.random.Generator, count: int) -> np.ndarray:
        scale = 10.0 ** random.uniform(-1.5, 0.75, size=(count,) + (1,) * len(sizes))
        return scale * random.normal(size=(count, *sizes))

    return Law(sizes, -LARGEST, LARGEST, sample, lambda xp, raw: raw)


def unit(dimension: int) -> Law:
    """Directions: vectors of norm one.

    Args:
        dimension: Number of their coordinates.
    """
    sizes = (checks.count("dimension", dimension),)

    def value(xp: ModuleType, raw: Any) -> Any:
        return raw / xp.sqrt(xp.sum(raw**2, -1, keepdims=True) + 1e-300)

    return Law(sizes, -LARGEST, LARGEST, lambda random, count: random.normal(size=(count, *sizes)), value)


def _ends(random: np.random.Generator, size: Shape) -> np.ndarray:
    """Numbers in the unit interval: most anywhere, some close to an end on many scales, some at an end."""
    drawn = random.uniform(size=size)
    kind, side = random.uniform(size=size), random.uniform(size=size) < 0.5
    offset = np.where(kind < 0.1, 0.0, 10.0 ** random.uniform(-8, -0.5, size=size))
    return np.where(kind < 0.3, np.where(side, offset, 1 - offset), drawn)


def _interval(low: Any, high: Any) -> tuple[float, float]:
    low, high = checks.finite_number("low", low), checks.finite_number("high", high)
    if low >= high:
        raise invalid("low", "be below `high`", f"{low:g} and {high:g}", "Exchange them")
    return low, high


def uniform(low: float, high: float, shape: Shape = ()) -> Law:
    """Numbers of an interval, its ends included.

    Args:
        low: Its lower end.
        high: Its upper end.
        shape: Shape of the array; `()` for a number.
    """
    (low, high), sizes = _interval(low, high), _shape(shape)

    def value(xp: ModuleType, raw: Any) -> Any:
        return xp.where(raw >= 1, high, low + (high - low) * raw)

    return Law(sizes, 0.0, 1.0, lambda random, count: _ends(random, (count, *sizes)), value)


def log_uniform(low: float, high: float, shape: Shape = ()) -> Law:
    """Positive numbers of an interval whose logarithms are uniform, its ends included.

    Args:
        low: Its lower end, above zero.
        high: Its upper end.
        shape: Shape of the array; `()` for a number.
    """
    (low, high), sizes = _interval(checks.positive("low", low), high), _shape(shape)
    first, last = math.log(low), math.log(high)

    def value(xp: ModuleType, raw: Any) -> Any:
        inside = xp.exp(first + (last - first) * raw)
        return xp.where(raw >= 1, high, xp.where(raw <= 0, low, inside))

    return Law(sizes, 0.0, 1.0, lambda random, count: _ends(random, (count, *sizes)), value)


def integers(low: int, high: int, shape: Shape = ()) -> Law:
    """Whole numbers from `low` to `high`, both included: many small ones, and the largest.

    Args:
        low: The smallest.
        high: The largest.
        shape: Shape of the array; `()` for a number.
    """
    first = checks.count("low", low, least=-checks.MOST)
    last, sizes = checks.count("high", high, least=first), _shape(shape)
    span = last - first + 1

    def sample(random: np.random.Generator, count: int) -> np.ndarray:
        size = (count, *sizes)
        small = np.exp(random.uniform(0, math.log(span + 1), size=size)) - 1
        drawn = np.where(random.uniform(size=size) < 0.5, small, span * random.uniform(size=size))
        return np.where(random.uniform(size=size) < 0.05, span - 0.5, drawn)

    def value(xp: ModuleType, raw: Any) -> Any:
        return xp.clip(first + xp.floor(raw), first, last)

    return Law(sizes, 0.0, float(span), sample, value, span)


def choice(values: Sequence[Any]) -> Law:
    """One of several numbers.

    Args:
        values: The numbers.
    """
    listed = np.asarray(checks.finite_array("values", values, dimensions=1))

    def value(xp: ModuleType, raw: Any) -> Any:
        return xp.asarray(listed)[xp.clip(xp.floor(raw), 0, len(listed) - 1).astype(int)]

    def sample(random: np.random.Generator, count: int) -> np.ndarray:
        return random.uniform(0, len(listed), size=count)

    return Law((), 0.0, float(len(listed)), sample, value, len(listed))


def law(argument: str, name: str, given: Any) -> Law:
    """Return what a name is drawn from: a law, or a shape, which stands for real numbers.

    Args:
        argument: The argument to name in an error.
        name: The name.
        given: The law or the shape.

    Raises:
        InvalidArgument: If it is neither.
    """
    if isinstance(given, Law):
        return given
    whole = isinstance(given, tuple) and all(isinstance(size, (int, np.integer)) and size > 0 for size in given)
    if not whole or any(isinstance(size, bool) for size in given):
        remedy = 'Pass {"w": (3, 2)}, () for a number, or a law such as uniform(0, 1)'
        raise invalid(argument, f"map `{name}` to a shape or a law", shown(given), remedy)
    return _same_reals(given)


# Relations that differ by a parameter alone are told by equal draws: a shape stands for one law.
_same_reals = lru_cache(maxsize=256)(real)


@dataclass(frozen=True)
class Space:
    """The box of all coordinates of what is drawn, as flat vectors.

    Attributes:
        laws: The laws, by name.
    """

    laws: Mapping[str, Law]

    @cached_property
    def sizes(self) -> list[int]:
        """How many coordinates each name has."""
        return [math.prod(law.shape) for law in self.laws.values()]

    @cached_property
    def dimension(self) -> int:
        """How many coordinates there are."""
        return sum(self.sizes)

    @property
    def smooth(self) -> bool:
        """Whether values have derivatives in some of the coordinates."""
        return any(law.number is None for law in self.laws.values())

    def listed(self, most: int) -> np.ndarray | None:
        """Return coordinates of all instances that there are, one row per instance, if they are at most so many."""
        if self.smooth or not self.dimension:
            return None
        numbers = [
            law.number or 1 for law, size in zip(self.laws.values(), self.sizes, strict=True) for _ in range(size)
        ]
        return None if math.prod(numbers) > most else np.indices(numbers).reshape(len(numbers), -1).T + 0.5

    def form(self, most: int) -> Any:
        """Return what instances look like."""
        return tuple((name, law.shape) for name, law in self.laws.items())

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the smallest and the largest coordinates."""
        return self._bounds

    @cached_property
    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        low = [np.full(size, law.low) for size, law in zip(self.sizes, self.laws.values(), strict=True)]
        high = [np.full(size, law.high) for size, law in zip(self.sizes, self.laws.values(), strict=True)]
        return np.concatenate([*low, []]), np.concatenate([*high, []])

    def sample(self, random: np.random.Generator, count: int) -> np.ndarray:
        """Return coordinates of random instances, one row per instance."""
        drawn = [law.sample(random, count).reshape(count, -1) for law in self.laws.values()]
        return np.concatenate([*drawn, np.zeros((count, 0))], axis=1)

    def values(self, xp: ModuleType, rows: Any) -> dict[str, Any]:
        """Return what coordinates stand for, by name: one instance for a vector, or one per row."""
        values, first = {}, 0
        for (name, law), size in zip(self.laws.items(), self.sizes, strict=True):
            raw = rows[..., first : first + size].reshape((*rows.shape[:-1], *law.shape))
            values[name] = law.value(xp, raw)
            if xp is np and np.ndim(values[name]) == 2 and values[name].shape[1] ** 2 < _FEW:
                # Instances lie side by side in memory: NumPy adds along a short axis many times faster then, and in the
                # same order, also the entries of outer products.
                values[name] = np.asfortranarray(values[name])
            first += size
        return values
