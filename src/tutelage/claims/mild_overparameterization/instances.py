"""Instances of the mild over-parameterization paper, in batches of one shape each, and tests over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tutelage.claims.base import Effort, Outcome
from tutelage.claims.mild_overparameterization.formulas import norms, units
from tutelage.claims.scan import Arrays, Scan, worst_outcome

Draw = Callable[[int, np.random.Generator], Iterable[Arrays]]


@dataclass(frozen=True)
class Batches:
    """A test by a margin on instances of several shapes.

    Attributes:
        draw: Takes the number of instances wanted of each shape and a generator to batches: arrays by name, instances
            first.
        check: Takes a batch to `margin` and whatever else is worth showing; see `Scan`.
        note: What was measured, in words.
        share: The share of the effort's samples that each shape gets; one sample costs more in many dimensions.
    """

    draw: Draw
    check: Callable[[Arrays], Arrays]
    note: str = ""
    share: float = 1.0

    def __call__(self, effort: Effort, seed: int) -> Outcome:
        """Judge; see `tutelage.claims.base.Test`."""
        count = max(8, round(self.share * effort.samples))
        batches = self.draw(count, np.random.default_rng(seed))
        # With no note of our own: that of a batch says whether its hypotheses were met.
        return worst_outcome(
            Scan(lambda _count, _random, batch=batch: batch, self.check, self.note)(effort, seed) for batch in batches
        )


def teachers(number: int, dimension: int, count: int, random: np.random.Generator | None = None) -> np.ndarray:
    """Return orthonormal teachers, `[count, number, dim]`: the first axes, or turned at random."""
    if random is None:
        return np.broadcast_to(np.eye(dimension)[:number], (count, number, dimension)).copy()
    turned = np.linalg.qr(random.normal(size=(count, dimension, dimension)))[0]
    return turned[:, :number]


def students(number: int, teacher: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return students of many kinds: random of many scales, near teachers, parallel, antiparallel and tiny neurons."""
    count, _, dimension = teacher.shape
    w = random.normal(size=(count, number, dimension)) * 10.0 ** random.uniform(-1, 1, size=(count, number, 1))
    rows = np.arange(count)
    third = count // 3
    # A third has a neuron that is a multiple of another one or of a teacher, up to a tilt of any size.
    other = w[:, 1] if number > 1 else teacher[:, 0]
    pick = np.where((rows % 2 == 0)[:, None], other, teacher[rows, random.integers(teacher.shape[1], size=count)])
    tilt = 10.0 ** random.uniform(-6, -1, size=(count, 1)) * random.normal(size=(count, dimension))
    near = random.choice([-1.0, 1.0], size=(count, 1)) * 10.0 ** random.uniform(-1, 1, size=(count, 1)) * pick + tilt
    w[:third, 0] = near[:third]
    return w


def splits(sizes: Sequence[int], count: int, random: np.random.Generator, *, smallest: float = 0.0) -> np.ndarray:
    """Return positive shares that sum to one in each group, `[count, sum(sizes)]`: equal, random and extreme ones."""
    shares = []
    for size in sizes:
        raw = random.dirichlet(np.ones(size), size=count)
        raw[: count // 4] = 1.0 / size
        shares.append(smallest + (1 - smallest * size) * raw)
    return np.concatenate(shares, axis=1)


def minima(sizes: Sequence[int], dimension: int, count: int, random: np.random.Generator, *, smallest: float = 0.05):
    """Return differentiable global minima of Theorem 1's form.

    Args:
        sizes: Number of neurons of each teacher.
        dimension: Dimension of the inputs.
        count: How many.
        random: A generator.
        smallest: The smallest share of a neuron.

    Returns:
        `teacher`, `[count, teacher, dim]`, and `minimum`, `[count, student, dim]`, the neurons group by group.
    """
    teacher = teachers(len(sizes), dimension, count, random)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    shares = splits(sizes, count, random, smallest=smallest)
    return {"teacher": teacher, "minimum": shares[:, :, None] * teacher[:, owners]}


def orthogonal_to(rows: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return directions without their parts along the rows."""
    unit = units(rows)
    for _ in range(2):
        directions = directions - np.sum(directions * unit, axis=-1, keepdims=True) * unit
    return directions


def at_most_one(directions: np.ndarray) -> np.ndarray:
    """Return directions scaled so that the longest row of each has length one."""
    return directions / np.max(norms(directions), axis=-1)[..., None, None]


def slopes(radii: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the order of growth, a least-squares slope in logarithms, along the last axis."""
    x, y = np.log(radii), np.log(values)
    x = x - x.mean()
    return (y - y.mean(-1, keepdims=True)) @ x / (x @ x)


def near(left: np.ndarray, right: np.ndarray | float, scale: float, tolerance: float) -> dict[str, np.ndarray]:
    """Return the check of `left = right` on a batch, up to a tolerance relative to the largest entry or a scale.

    Both sides are shown where they are numbers; matrices would fill pages, and recipes compute them.
    """
    left, right = np.broadcast_arrays(np.asarray(left, float), np.asarray(right, float))
    axes = tuple(range(1, left.ndim))
    size = np.maximum(np.maximum(np.abs(left), np.abs(right)).max(axis=axes), scale)
    shown = {} if axes else {"left": left, "right": right}
    return {"margin": tolerance - np.abs(left - right).max(axis=axes) / size, **shown}
