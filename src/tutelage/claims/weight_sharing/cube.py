r"""Functions on the cube $\{\pm1\}^k$: their Fourier expansion, and learning them from samples.

An outer function $g$ of signs is a sum of parities, $g(z) = \sum_S \hat g(S)\prod_{i\in S}z_i$. The size of $S$ is the
degree (or frequency) of its term. How the squares $\hat g(S)^2$ are spread over degrees tells how hard it is to learn
what $g$ is applied to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from tutelage.checks import affordable, count, finite_array, flag, not_negative, one_of, random_seed, tried
from tutelage.errors import invalid
from tutelage.models.composite import OUTER_FUNCTIONS

# Beyond this number of patches the table of values no longer fits into memory.
_MOST_PATCHES = 20


def points(patches: int) -> np.ndarray:
    r"""Return the points of $\{\pm1\}^k$, `[2^k, k]`; bit $i$ of a row's number says whether coordinate $i$ is $-1$.

    Args:
        patches: Dimension $k$ of the cube, at most 20.
    """
    patches = count("patches", patches)
    if patches > _MOST_PATCHES:
        raise invalid("patches", f"be at most {_MOST_PATCHES}", repr(patches), "The cube has 2^k points")
    bits = (np.arange(2**patches)[:, None] >> np.arange(patches)) & 1
    return 1.0 - 2.0 * bits


@dataclass(frozen=True)
class FourierExpansion:
    r"""The Fourier expansion $g(z) = \sum_S\hat g(S)\prod_{i\in S}z_i$ of a function on the cube.

    Attributes:
        patches: Dimension $k$ of the cube.
        coefficients: The numbers $\hat g(S)$, `[2^k]`; bit $i$ of an index says whether $i\in S$.
    """

    patches: int
    coefficients: np.ndarray

    @property
    def degrees(self) -> np.ndarray:
        r"""The degree $|S|$ of every coefficient, `[2^k]`."""
        return (((np.arange(2**self.patches)[:, None] >> np.arange(self.patches)) & 1).sum(axis=1)).astype(int)

    @property
    def weights(self) -> np.ndarray:
        r"""The weight $\sum_{|S|=r}\hat g(S)^2$ of every degree $r = 0, \dots, k$; their sum is the mean of $g^2$."""
        return np.bincount(self.degrees, self.coefficients**2, minlength=self.patches + 1)

    def terms(self, tolerance: float = 1e-12) -> dict[tuple[int, ...], float]:
        r"""Return the coefficients that are not zero, by set $S$ (coordinates counted from 0), smallest sets first.

        Args:
            tolerance: What counts as zero, relative to the largest coefficient.
        """
        tolerance = not_negative("tolerance", tolerance)
        size = np.abs(self.coefficients)
        kept = np.flatnonzero(size > tolerance * max(float(size.max()), 1e-300))
        order = kept[np.argsort(self.degrees[kept], kind="stable")].tolist()
        subsets = (tuple(i for i in range(self.patches) if index >> i & 1) for index in order)
        return {subset: float(self.coefficients[index]) for subset, index in zip(subsets, order, strict=True)}

    @property
    def degree(self) -> int:
        """The largest degree that occurs; 0 for a constant."""
        return max((len(subset) for subset in self.terms()), default=0)

    @property
    def lowest_degree(self) -> int | None:
        """The smallest degree above zero that occurs; `None` for a constant."""
        return min((len(subset) for subset in self.terms() if subset), default=None)


def fourier(outer: str | Callable, patches: int = 5) -> FourierExpansion:
    r"""Return the Fourier expansion of an outer function over the cube.

    Its coefficients are $\hat g(S) = 2^{-k}\sum_z g(z)\prod_{i\in S}z_i$, taken by the fast Walsh–Hadamard transform.

    Args:
        outer: `"low"` ($z_1$), `"high"` ($\prod_iz_i$), `"both"` (their sum), or a function of one vector with an entry
            per patch, as for `tutelage.problems.composite`.
        patches: Number $k$ of patches, at most 20.

    Returns:
        The expansion: coefficients, degrees and weights.

    Raises:
        InvalidArgument: If the function does not return one finite number per point.

    Reference:
        Shalev-Shwartz, Shamir and Shammah, Weight sharing is crucial to successful optimization, 2017, Section 2.
    """
    if not callable(outer):
        outer = OUTER_FUNCTIONS[one_of("outer", outer, tuple(OUTER_FUNCTIONS))]
    cube = points(patches)
    patches = cube.shape[1]
    values = tried("outer", lambda: np.asarray(jax.vmap(outer)(cube), dtype=float))
    if values.shape != (len(cube),) or not np.isfinite(values).all():
        raise invalid(
            "outer",
            "return one finite number for every point of the cube",
            f"values of shape {values.shape}" if values.shape != (len(cube),) else "values that are not finite",
            "Pass a function of one vector",
        )
    for axis in range(patches):
        pairs = values.reshape(-1, 2, 2**axis)
        values = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
    return FourierExpansion(patches, values / len(cube))


@dataclass(frozen=True)
class LearnedOuter:
    r"""A learned outer function: ReLU units with frozen random weights, and a fitted linear output.

    Attributes:
        weights: Weights of the units, `[unit, patch]`.
        biases: Their biases, `[unit]`.
        output: The fitted output weights, `[unit]`.
        residual: The largest error on the samples.
    """

    weights: np.ndarray
    biases: np.ndarray
    output: np.ndarray
    residual: float

    def __call__(self, signs: Any) -> np.ndarray:
        """Return the values at points `[point, patch]`."""
        array = np.asarray(finite_array("signs", signs))
        patches = self.weights.shape[1]
        if array.ndim == 0 or array.shape[-1] != patches:
            raise invalid("signs", f"have {patches} entries on the last axis", f"shape {array.shape}", "Reshape them")
        return np.maximum(array @ self.weights.T + self.biases, 0) @ self.output


def learn_outer(signs: Any, values: Any, units: int, biases: bool = True, seed: int = 0) -> LearnedOuter:
    r"""Learn an outer function from samples: a random first layer that is frozen, and a second layer by least squares.

    With somewhat more units than different samples the second layer fits all of them, almost surely. Biases are
    needed: without them a layer of ReLU units is an even function plus a linear one, and cannot be a parity of three
    (or any larger odd number of) signs.

    Args:
        signs: Points of the cube, `[sample, patch]`.
        values: The function's values there, `[sample]`; where a point occurs twice, its first value counts.
        units: Number of ReLU units.
        biases: Whether the units have (Gaussian) biases.
        seed: Seed of the first layer.

    Returns:
        The learned function, with its largest error on the samples.

    Reference:
        Shalev-Shwartz, Shamir and Shammah, Weight sharing is crucial to successful optimization, 2017, Appendix A.
    """
    signs = np.asarray(finite_array("signs", signs, dimensions=2))
    values = np.asarray(finite_array("values", values, dimensions=1))
    if len(values) != len(signs):
        raise invalid(
            "values", f"be {len(signs)} numbers, one per sample", f"{len(values)}", "Pass one value per sample"
        )
    units, biases = count("units", units), flag("biases", biases)
    affordable("units", units, units * max(signs.shape), "the units")
    random = np.random.default_rng(random_seed("seed", seed))
    weights = random.normal(size=(units, signs.shape[1])) / np.sqrt(signs.shape[1])
    offsets = random.normal(size=units) if biases else np.zeros(units)
    # Repeated samples add nothing but rows.
    different, where = np.unique(signs, axis=0, return_index=True)
    hidden = np.maximum(different @ weights.T + offsets, 0)
    output = np.linalg.lstsq(hidden, values[where], rcond=None)[0]
    learned = LearnedOuter(weights, offsets, output, 0.0)
    return LearnedOuter(weights, offsets, output, float(np.max(np.abs(learned(signs) - values))))
