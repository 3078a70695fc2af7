r"""Population losses of neurons in ball arithmetic: the numbers of a problem, and enclosures of derivatives.

With coefficients $c_i$ of the students, a factor times signs, and of the teachers with the opposite sign, the loss is
half the sum of $c_ic_jK(w_i, w_j)$ over all pairs, with the duals $K$ of `tutelage.geometry.balls`. They are
homogeneous of degree one, $K = w\cdot\nabla_wK$, so that it is half the sum of the rows times their gradients.

**Signs.** A sum $\sum_i s_i\sigma(w_i\cdot x)$ with signs $s_i$ is a network with two layers up to rescalings: where no
output weight is zero, $(w_i, a_i) \mapsto |a_i|w_i$ takes it to such a sum with $s_i = \operatorname{sgn}a_i$, the loss
depends on the image alone, and the map has full rank. So critical points and their indices are the same there, and the
only zero modes that are lost are the rescalings. Weight decay is added (`tutelage.geometry.decay`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tutelage.geometry.ball_arithmetic import exact, flint_module, scaled_rows
from tutelage.geometry.balls import PairsInBalls
from tutelage.geometry.decay import Decay

if TYPE_CHECKING:
    from flint import arb, arb_mat


@dataclass(frozen=True)
class LossInBalls:
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
    def shifted(self) -> bool:
        """Whether there are biases, or the inputs have a mean."""
        return self.biased or self.mean is not None

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
        return _cut(students, students.nrows(), self.dimension)

    def _coefficients(self, students: int) -> list[arb]:
        """Return what neurons are multiplied with: of the students and, with the opposite sign, of the teachers."""
        arb = flint_module().arb
        signs = np.ones(students) if self.signs is None else np.sign(self.signs)
        outputs = np.ones(len(self.teacher)) if self.outputs is None else self.outputs
        factor, other = map(arb, self.factors)
        return [factor * int(sign) for sign in signs] + [-other * float(output) for output in outputs]

    def _pairs(self, students: arb_mat) -> PairsInBalls:
        """Return the pairs of the students with all rows, also with the teachers'."""
        flint = flint_module()
        teachers = exact(self.teacher)
        missing = [flint.arb(0)] * (teachers.ncols() - students.ncols())
        rows = [row + missing for row in students.tolist()] + teachers.tolist()
        return PairsInBalls(self, flint.arb_mat(rows), students.nrows())

    def excess(self, students: arb_mat) -> arb:
        """Return the loss above half the variance of the noise, weight decay included."""
        number, coefficients = students.nrows(), self._coefficients(students.nrows())
        mine, theirs = coefficients[:number], coefficients[number:]
        # Pairs of a student and a teacher count twice, and are first in one order only.
        taught = self._pairs(students).total([*mine, *(2 * one for one in theirs)])
        total = (taught + PairsInBalls(self, exact(self.teacher), len(theirs)).total(theirs)) / 2
        return total if self.decay is None else total + self.decay.value(students)

    def gradient(self, students: arb_mat) -> arb_mat:
        """Return the gradient, one row per neuron."""
        number, coefficients = students.nrows(), self._coefficients(students.nrows())
        pulls = _cut(self._pairs(students).pulls(coefficients), number, students.ncols())
        bare = scaled_rows(pulls, coefficients[:number])
        return bare if self.decay is None else bare + self.decay.gradient(students)

    def hessian(self, students: arb_mat) -> arb_mat:
        """Return the Hessian; parameters in the order of the rows."""
        pairs, coefficients = self._pairs(students), self._coefficients(students.nrows())
        numbers, width, blocks = range(students.nrows()), students.ncols(), {}
        for i, row in enumerate(students.tolist()):
            for j in numbers[i:]:
                # The blocks of a pair are equal: each is symmetric.
                block = pairs.mixed(i, j) * (coefficients[i] * coefficients[j])
                if i == j:
                    block += pairs.curved(i, coefficients) * coefficients[i]
                blocks[i, j] = blocks[j, i] = _cut(block, width, width)
            if self.decay is not None:
                blocks[i, i] = blocks[i, i] + self.decay.block(row)
        rows = []
        for i in numbers:
            band = [blocks[i, j].tolist() for j in numbers]
            rows += [[entry for part in parts for entry in part] for parts in zip(*band, strict=True)]
        return flint_module().arb_mat(rows)

    def lipschitz(self, students: arb_mat, radius: float) -> arb:
        """Return a bound of the Lipschitz constant of the Hessian in a ball around a student.

        Raises:
            NotProved: If a neuron may be zero in the ball.
        """
        bare = self._pairs(students).lipschitz(self._coefficients(students.nrows()), radius)
        return bare if self.decay is None else bare + self.decay.lipschitz(students, radius)

    def reduced_block(self, students: arb_mat, neuron: int) -> arb_mat:
        """Return the Hessian's block of a neuron less that of its own dual: what splitting it depends on."""
        coefficients, width = self._coefficients(students.nrows()), students.ncols()
        return _cut(self._pairs(students).curved(neuron, coefficients) * coefficients[neuron], width, width)


def _cut(matrix: arb_mat, rows: int, columns: int) -> arb_mat:
    """Return the first rows and columns of a matrix."""
    if (rows, columns) == (matrix.nrows(), matrix.ncols()):
        return matrix
    return flint_module().arb_mat([row[:columns] for row in matrix.tolist()[:rows]])
