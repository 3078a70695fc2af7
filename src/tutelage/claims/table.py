"""Instances that are given rather than searched: drawn by a function, or measured in an experiment.

Experiments are relations whose left side was measured: a fitted order, a probability, a quantity along a path. The
function that measures returns arrays by name, one entry per run or case first; both sides are formulas of these.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from scipy.special import betaincinv

from tutelage import checks
from tutelage.errors import invalid, shown
from tutelage.statistics import exponent


@dataclass(frozen=True)
class Table:
    """Instances as arrays by name, instances first; takes the place of a space, with numbers of rows as coordinates.

    Attributes:
        arrays: The arrays.
    """

    arrays: Mapping[str, np.ndarray]

    dimension = 1
    smooth = False

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))

    def form(self, most: int) -> Any:
        """Return what instances look like, and how many there are, up to some number."""
        return min(len(self), most), tuple((name, array.shape[1:]) for name, array in self.arrays.items())

    @property
    def rows(self) -> np.ndarray:
        """The coordinates of all instances."""
        return np.arange(len(self), dtype=float)[:, None]

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the smallest and the largest coordinate."""
        return self.rows[0], self.rows[-1]

    def sample(self, random: np.random.Generator, count: int) -> np.ndarray:
        """Return coordinates of some instances."""
        return self.rows[np.linspace(0, len(self) - 1, min(count, len(self))).astype(int)]

    def values(self, xp: ModuleType, rows: Any) -> dict[str, Any]:
        """Return the instances at coordinates: one for a vector, or one per row."""
        chosen = xp.asarray(rows[..., 0]).astype(int)
        if xp is np and np.shape(rows) == (len(self), 1) and np.array_equal(rows, self.rows):
            return dict(self.arrays)
        return {name: xp.asarray(value)[chosen] for name, value in self.arrays.items()}


def measured(
    draw: Callable[..., Any], count: int, seed: int, parameters: Mapping[str, Any], kept: dict[Any, Any]
) -> Iterator[dict[str, np.ndarray]]:
    """Yield the batches of instances that a function draws or measures.

    What is measured once serves all forms that do not change a parameter which the function takes.

    Args:
        draw: Takes the number of instances wanted, a generator, and the parameters that it names.
        count: The number wanted.
        seed: Seed of the generator.
        parameters: Values of the parameters.
        kept: Where batches are kept.

    Raises:
        InvalidArgument: If the function does not return arrays by name.
    """
    names = list(inspect.signature(draw).parameters)[2:]
    used = {name: parameters[name] for name in names if name in parameters}
    key = ("measured", id(draw), count, seed, repr(used))
    if key not in kept:
        drawn = checks.tried("draw", lambda: draw(count, np.random.default_rng(seed), **used))
        batches = [drawn] if isinstance(drawn, Mapping) else list(checks.sequence("draw", drawn, "arrays by name"))
        kept[key] = [_as_arrays(batch) for batch in batches]
    yield from kept[key]


def _as_arrays(batch: Any) -> dict[str, np.ndarray]:
    checks.of_kind("draw", batch, Mapping, "a function that returns arrays by name", "Return a dictionary")
    arrays = {name: np.asarray(value) for name, value in batch.items()}
    if len({np.shape(value)[:1] for value in arrays.values()}) != 1 or () in (value.shape for value in arrays.values()):
        shapes = ", ".join(f"{name} {value.shape}" for name, value in arrays.items()) or "nothing"
        raise invalid("draw", "return arrays with one entry per instance first", shapes, "Put instances first")
    return arrays


@dataclass(frozen=True)
class Chance:
    r"""The left side of a statement about a probability: successes among trials, with an exact binomial bound.

    Of a statement that the probability is at least $p$, the left side is the upper end of the one-sided interval of
    Clopper and Pearson, and the lower one of a statement that it is at most $p$: it is refuted where chance does not
    explain what was seen.

    Attributes:
        successes: Name of the number of successes of each instance.
        trials: Name of the number of trials.
        error: Probability with which the interval misses the true value.
    """

    successes: str = "successes"
    trials: str = "trials"
    error: float = 1e-4

    def __post_init__(self):
        for name in ("successes", "trials"):
            checks.text(name, getattr(self, name))
        checks.settle(self, error=checks.between("error", self.error, 0.0, 1.0))

    def favourable(self, relation: str) -> Callable[..., np.ndarray]:
        """Return the bound that is favourable to a statement."""

        def bound(instance):
            successes, trials = instance[self.successes], instance[self.trials]
            if relation == ">=":
                return chance_at_most(successes, trials, self.error)
            return chance_at_least(successes, trials, self.error)

        return bound


def chance_at_most(successes: Any, trials: Any, error: float = 1e-4) -> np.ndarray:
    """Return the upper end of the exact one-sided interval for a probability, after Clopper and Pearson.

    Args:
        successes: Numbers of successes.
        trials: Numbers of trials.
        error: Probability with which the interval misses the true value.
    """
    successes, trials = np.asarray(successes, float), np.asarray(trials, float)
    inside = betaincinv(successes + 1, np.maximum(trials - successes, 1e-300), 1 - error)
    return np.where(successes >= trials, 1.0, inside)


def chance_at_least(successes: Any, trials: Any, error: float = 1e-4) -> np.ndarray:
    """Return the lower end of the exact one-sided interval for a probability; see `chance_at_most`."""
    trials = np.asarray(trials, float)
    return 1 - chance_at_most(trials - np.asarray(successes, float), trials, error)


def fitted_order(sizes: Any, values: Any) -> np.ndarray:
    r"""Return the exponents $p$ of $v \sim s^p$: least-squares slopes in logarithms, along the last axis.

    Args:
        sizes: The sizes $s$, positive.
        values: The values $v$; the exponent of one that is not positive is not a number.
    """
    return np.asarray(exponent(_at_least(2, "sizes", sizes), _at_least(2, "values", values)))


def _at_least(count: int, argument: str, values: Any) -> np.ndarray:
    """Return arrays whose last axis has at least so many entries, or raise."""
    # In NumPy, also where formulas are tried while JAX traces.
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):  # ragged lists, keys
        array = np.asarray(None)
    if array.dtype.kind not in "fiub":
        raise invalid(argument, "be an array of real numbers", shown(values), "Pass a NumPy array")
    array = array.astype(float)
    if array.ndim == 0 or array.shape[-1] < count or not array.size:
        raise invalid(argument, f"have at least {count} entries", f"shape {array.shape}", "Pass more of them")
    return array


def limit(values: Any) -> np.ndarray:
    r"""Return the limits of geometrically converging sequences along the last axis, after Aitken.

    Args:
        values: At least three values of each sequence; the last three are extrapolated. A sequence that is constant up
            to rounding has its last value as its limit.
    """
    first, second, third = (_at_least(3, "values", values)[..., place] for place in (-3, -2, -1))
    with np.errstate(all="ignore"):
        bend = (third - second) - (second - first)
        flat = np.abs(bend) <= 1e-14 * np.maximum(np.abs(third), 1e-300)
        return np.where(flat, third, third - (third - second) ** 2 / np.where(flat, 1.0, bend))
