"""Instances of the mild over-parameterization paper: laws of teachers, students, global minima, and what moves them.

Inputs are invariant under rotations: without loss of generality the teachers are the first axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutelage.claims.laws import LARGEST, Law
from tutelage.claims.mild_overparameterization.formulas import inner, norms, units


def fixed(values: Any) -> Law:
    """One array, the same in all instances, with no coordinates to search in."""
    array = np.asarray(values, float)

    def value(xp, raw):
        return xp.broadcast_to(xp.asarray(array), (*raw.shape[:-1], *array.shape))

    return Law((0,), 0.0, 1.0, lambda random, count: np.zeros((count, 0)), value, 1)


def axes(number: int, dimension: int) -> Law:
    """Orthonormal teachers: the first axes."""
    return fixed(np.eye(dimension)[:number])


def students(number: int, teachers: int, dimension: int) -> Law:
    """Students of many kinds: random of many scales; neurons parallel and opposite to others and to teachers, or nearly."""

    def sample(random: np.random.Generator, count: int) -> np.ndarray:
        w = random.normal(size=(count, number, dimension)) * 10.0 ** random.uniform(-1, 1, size=(count, number, 1))
        rows, third = np.arange(count), count // 3
        # A third has a neuron that is a multiple of another one or of a teacher, up to a tilt of any size.
        teacher = np.eye(dimension)[random.integers(teachers, size=count)]
        pick = np.where((rows % 2 == 0)[:, None], w[:, 1] if number > 1 else teacher, teacher)
        tilt = 10.0 ** random.uniform(-6, -1, size=(count, 1)) * random.normal(size=(count, dimension))
        size = random.choice([-1.0, 1.0], size=(count, 1)) * 10.0 ** random.uniform(-1, 1, size=(count, 1))
        w[:third, 0] = (size * pick + tilt)[:third]
        return w

    return Law((number, dimension), -LARGEST, LARGEST, sample, lambda xp, raw: raw)


def setting(
    shapes: Iterable[tuple[int, int, int]], law: Callable[[int, int, int], Law] = students
) -> list[dict[str, Any]]:
    """Draws of students and teachers, for numbers of students and teachers and a dimension each."""
    return [{"student": law(n, k, d), "teacher": axes(k, d)} for n, k, d in shapes]


def owners(sizes: Sequence[int]) -> np.ndarray:
    """Return which neuron belongs to which teacher, `[teacher, student]`, one or zero."""
    return np.repeat(np.eye(len(sizes)), sizes, axis=1)


def minima(sizes: Sequence[int], dimension: int, smallest: float = 0.05) -> dict[str, Law]:
    """Differentiable global minima of Theorem 1's form, neurons group by group, with their teachers.

    Args:
        sizes: Number of neurons of each teacher.
        dimension: Dimension of the inputs.
        smallest: The smallest share of a neuron; one over the size for equal shares.
    """
    belongs = owners(sizes)
    count = belongs.sum(1) @ belongs

    def sample(random: np.random.Generator, number: int) -> np.ndarray:
        drawn = random.exponential(size=(number, len(count)))
        drawn[: number // 4] = 1.0
        return drawn / drawn.max(1, keepdims=True)

    def value(xp, raw):
        raw = raw + 1e-12
        shares = smallest + (1 - smallest * count) * raw / ((raw @ belongs.T) @ belongs)
        return shares[..., None] * xp.asarray(belongs.T @ np.eye(dimension)[: len(sizes)])

    law = Law((len(count),), 0.0, 1.0, sample, value)
    if smallest * max(sizes) >= 1:
        law = fixed((belongs.T / count[:, None]) @ np.eye(dimension)[: len(sizes)])
    return {"minimum": law, "teacher": axes(len(sizes), dimension)}


def orthogonal_to(rows: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return directions without their parts along the rows."""
    unit = units(rows)
    directions = directions - inner(directions, unit)[..., None] * unit
    return directions - inner(directions, unit)[..., None] * unit


def at_most_one(directions: np.ndarray) -> np.ndarray:
    """Return directions scaled so that the longest row of each has length one."""
    return directions / np.maximum(np.max(norms(directions), axis=-1), 1e-300)[..., None, None]


def shortest(minimum: np.ndarray) -> np.ndarray:
    """Return the norm of the shortest neuron."""
    return np.min(norms(minimum), axis=-1)


@dataclass(frozen=True)
class SampledDraws:
    """Instances of several draws that are sampled and not searched: a search costs more in many dimensions.

    Attributes:
        draws: Laws or shapes by name, one mapping per shape.
        share: The part of the instances that each of them gets is one over this.
    """

    draws: Sequence[dict[str, Any]]
    share: int = 20

    def __call__(self, count: int, random: np.random.Generator) -> Iterator[dict[str, np.ndarray]]:
        """Yield a batch for each draw."""
        for draw in self.draws:
            yield drawn(draw, count // self.share, random)


def drawn(laws: dict[str, Any], count: int, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Return instances of laws that an experiment goes on with."""
    values = {}
    for name, law in laws.items():
        values[name] = (
            law.value(np, law.sample(random, count)) if isinstance(law, Law) else random.normal(size=(count, *law))
        )
    return values
