"""What a population loss of neurons in ball arithmetic is: the numbers of a problem, and enclosures of derivatives."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tutelage.geometry.ball_arithmetic import flint_module
from tutelage.geometry.decay import Decay

if TYPE_CHECKING:
    from flint import arb, arb_mat


@dataclass(frozen=True)
class LossInBalls(abc.ABC):
    r"""The population loss of a sum of neurons with two slopes that learns another one; the floats are meant exactly.

    A student is a matrix with one row per neuron: its vector and, where it is learned, its bias. With output weights
    it stands for all networks that are rescalings of it, and has signs.

    Attributes:
        teacher: The teacher's vectors, with their biases where there are any.
        left: Slope of the activation below zero.
        right: Slope of the activation above zero.
        scale: Variance of the inputs, the same in all directions.
        noise: Standard deviation of the label noise.
        signs: The signs of the student neurons; `None` for all positive.
        outputs: The output weights of the teacher; `None` for all one.
        decay: Weight decay of the rows.
        factors: What the outputs of student and teacher are multiplied with.
        mean: Mean of the inputs; `None` for zero.
        biased: Whether the last number of each row of the teacher is a bias, and may be one of the student.
    """

    teacher: np.ndarray
    left: float
    right: float
    scale: float
    noise: float
    signs: np.ndarray | None = None
    outputs: np.ndarray | None = None
    decay: Decay | None = None
    factors: tuple[float, float] = (1.0, 1.0)
    mean: np.ndarray | None = None
    biased: bool = False

    @property
    def dimension(self) -> int:
        """Dimension of the inputs."""
        return self.teacher.shape[1] - self.biased

    @property
    def slopes(self) -> tuple[arb, arb]:
        r"""The numbers p and q of the activation $px + q|x|$."""
        arb = flint_module().arb
        return (arb(self.right) + arb(self.left)) / 2, (arb(self.right) - arb(self.left)) / 2

    def lowest(self) -> arb:
        """Return half the variance of the noise, below which no loss is."""
        return flint_module().arb(self.noise) ** 2 / 2

    def vectors(self, students: arb_mat) -> arb_mat:
        """Return the rows without their biases."""
        return flint_module().arb_mat([row[: self.dimension] for row in students.tolist()])

    def excess(self, students: arb_mat) -> arb:
        """Return the loss above half the variance of the noise, weight decay included."""
        bare = self._excess(students)
        return bare if self.decay is None else bare + self.decay.value(students)

    def gradient(self, students: arb_mat) -> arb_mat:
        """Return the gradient, one row per neuron."""
        bare = self._gradient(students)
        return bare if self.decay is None else bare + self.decay.gradient(students)

    def hessian(self, students: arb_mat) -> arb_mat:
        """Return the Hessian; parameters in the order of the rows."""
        numbers, block = range(students.nrows()), self._blocks(students)
        blocks = {(i, j): block(i, j) for i in numbers for j in numbers if i <= j}
        if self.decay is not None:
            for i, row in enumerate(students.tolist()):
                blocks[i, i] = blocks[i, i] + self.decay.block(row)
        rows = []
        for i in numbers:
            # The blocks of a pair are equal: each is symmetric.
            band = [blocks[min(i, j), max(i, j)].tolist() for j in numbers]
            rows += [[entry for part in parts for entry in part] for parts in zip(*band, strict=True)]
        return flint_module().arb_mat(rows)

    def lipschitz(self, students: arb_mat, radius: float) -> arb:
        """Return a bound of the Lipschitz constant of the Hessian in a ball around a student.

        Raises:
            NotProved: If a neuron may be zero in the ball.
        """
        bare = self._lipschitz(students, radius)
        return bare if self.decay is None else bare + self.decay.lipschitz(students, radius)

    @abc.abstractmethod
    def _excess(self, students: arb_mat) -> arb:
        """Return what `excess` does, without decay; so do the others below."""

    @abc.abstractmethod
    def _gradient(self, students: arb_mat) -> arb_mat: ...

    @abc.abstractmethod
    def _blocks(self, students: arb_mat) -> Callable[[int, int], arb_mat]:
        """Return the function from two neurons to the Hessian's block of them."""

    @abc.abstractmethod
    def _lipschitz(self, students: arb_mat, radius: float) -> arb: ...

    @abc.abstractmethod
    def reduced_block(self, students: arb_mat, neuron: int) -> arb_mat:
        """Return the Hessian's block of a neuron less that of its own dual: what splitting it depends on."""
