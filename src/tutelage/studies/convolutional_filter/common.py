r"""What the studies of this paper share: teachers with a chosen sum, and the loss of the second stationary point.

Symbols as in the paper: filter $v$, output weights $a$, teacher $w^*, a^*$, $k$ patches, $p$ the size of a filter.
"""

import numpy as np

from tutelage.claims.convolutional_filter.formulas import spurious_output
from tutelage.instant import instantly
from tutelage.models import FilterAndOutput
from tutelage.objectives import Objective, population
from tutelage.problems import convolution

# A run with a smaller loss has found the teacher: what is left is the tail of a linear convergence.
SUCCESS = 1e-9


def output_weights(patches: int, ratio: float) -> np.ndarray:
    r"""Unit output weights with $(\mathbf 1\cdot a^*)^2/\|a^*\|^2$ equal to `ratio`, between 0 and the number of patches."""
    along = np.ones(patches) / np.sqrt(patches)
    across = np.zeros(patches)
    across[:2] = np.array([1.0, -1.0]) / np.sqrt(2)
    cosine = np.sqrt(ratio / patches)
    return cosine * along + np.sqrt(max(1 - cosine**2, 0.0)) * across


def objective_of(filter_size: int, output: np.ndarray) -> Objective:
    """The exact population loss of a teacher whose filter is the first axis."""
    return population(convolution(np.eye(filter_size)[0], output))


def spurious_loss(output: np.ndarray) -> float:
    """Loss of the second stationary point of Lemma 4.1, given the teacher's output weights.

    Its filter is opposite to the teacher's: one dimension is enough, whatever the size of the filters.
    """
    return float(_loss_of_opposite(objective_of(1, output)))


@instantly
def _loss_of_opposite(objective: Objective):
    target: FilterAndOutput = objective.target
    return objective.loss(FilterAndOutput(-target.filter, spurious_output(target.output)))


def structured_start(values) -> tuple[np.ndarray, np.ndarray]:
    """A start with equal entries, from which descent succeeds: a unit filter, and output weights with a chosen sum."""
    return np.full(values.p, 1 / np.sqrt(values.p)), np.full(values.k, values.output_sum / values.k)


def saddle_ratio(patches: int) -> float:
    r"""The value of $(\mathbf 1\cdot a^*)^2/\|a^*\|^2$ above which the second stationary point is a saddle."""
    return (patches + np.pi - 1) / np.pi


def largest_step(patches: int) -> float:
    r"""The step $4\pi/(k+\pi-1)$ beyond which descent of the output weights is unstable."""
    return 4 * np.pi / (patches + np.pi - 1)
