"""What a population loss of neurons in ball arithmetic is: the numbers of a problem, and enclosures of derivatives."""

from __future__ import annotations

import abc
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

    def lowest(self) -> arb:
        """Return half the variance of the noise, below which no loss is."""
        return flint_module().arb(self.noise) ** 2 / 2

    def vectors(self, students: arb_mat) -> arb_mat:
        """Return the rows without their biases."""
        dimension = self.teacher.shape[1] - self.biased
        return flint_module().arb_mat([row[:dimension] for row in students.tolist()])

    @abc.abstractmethod
    def excess(self, students: arb_mat) -> arb:
        """Return the loss above half the variance of the noise, weight decay included."""

    @abc.abstractmethod
    def gradient(self, students: arb_mat) -> arb_mat:
        """Return the gradient, one row per neuron."""

    @abc.abstractmethod
    def hessian(self, students: arb_mat) -> arb_mat:
        """Return the Hessian; parameters in the order of the rows."""

    @abc.abstractmethod
    def reduced_block(self, students: arb_mat, neuron: int) -> arb_mat:
        """Return the Hessian's block of a neuron less that of its own dual: what splitting it depends on."""

    @abc.abstractmethod
    def lipschitz(self, students: arb_mat, radius: float) -> arb:
        """Return a bound of the Lipschitz constant of the Hessian in a ball around a student.

        Raises:
            NotProved: If a neuron may be zero in the ball.
        """
