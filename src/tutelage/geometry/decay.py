r"""Weight decay of rows of neurons in ball arithmetic.

Decay of vectors, biases and output weights, $\tfrac12(\sum_cD_cw_c^2 + \lambda a^2)$ for a row $w$ and its output
weight $a$, is smallest among the rescalings $(w/f, fa)$ of a neuron at one of them. In $u = |a|w$ it is
$\sqrt\lambda\,N$ with $N = \sqrt{\sum_cD_cu_c^2}$ there, and curved upwards along the rescalings. So critical points
are those of the loss in $u$ with this term added, at that rescaling, with the same indices.

In $y = D^{1/2}u$ the third derivative of $N = \|y\|$ is at most $2/(\sqrt3\,N^2)$, the largest $3t(1 - t^2)/N^2$.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tutelage.geometry.ball_arithmetic import NotProved, diagonal, dot, flint_module, scaled_rows

if TYPE_CHECKING:
    from flint import arb, arb_mat


@dataclass(frozen=True)
class Decay:
    """Weight decay of the rows of a network; floats are meant exactly.

    Attributes:
        rates: The rates $D_c$ of the entries of a row.
        output: The rate of the output weights where these are learned, of which rows are then multiples.
    """

    rates: tuple[float, ...]
    output: float | None = None

    def _norms(self, rows: arb_mat) -> list[arb]:
        """Return the numbers N of all rows, or raise if one may be zero."""
        squares = [dot([rate * x for rate, x in zip(self.rates, row, strict=True)], row) for row in rows.tolist()]
        if not all(square > 0 for square in squares):
            raise NotProved("a neuron may be zero, where decay has no gradient")
        return [square.sqrt() for square in squares]

    @property
    def _root(self) -> arb:
        return flint_module().arb(self.output or 0.0).sqrt()

    def value(self, rows: arb_mat) -> arb:
        """Return what decay adds to the loss."""
        arb = flint_module().arb
        if self.output is not None:
            return self._root * sum(self._norms(rows), arb(0))
        return sum((dot(*rows) for rows in zip(self.gradient(rows).tolist(), rows.tolist(), strict=True)), arb(0)) / 2

    def gradient(self, rows: arb_mat) -> arb_mat:
        """Return its gradient, one row per neuron."""
        flint = flint_module()
        ones = [flint.arb(1)] * rows.nrows()
        factors = ones if self.output is None else [self._root / norm for norm in self._norms(rows)]
        return flint.arb_mat(
            [
                [factor * rate * x for rate, x in zip(self.rates, row, strict=True)]
                for factor, row in zip(factors, rows.tolist(), strict=True)
            ]
        )

    def block(self, row: list[arb]) -> arb_mat:
        """Return its Hessian in the row of one neuron."""
        flint = flint_module()
        plain = scaled_rows(diagonal(len(row), flint.arb(1)), [*map(flint.arb, self.rates)])
        if self.output is None:
            return plain
        norm = self._norms(flint.arb_mat([row]))[0]
        along = flint.arb_mat([[rate * x / norm for rate, x in zip(self.rates, row, strict=True)]])
        return (plain - along.transpose() * along) * (self._root / norm)

    def lipschitz(self, rows: arb_mat, radius: float) -> arb:
        """Return a Lipschitz constant of its Hessian in a ball around the rows.

        Raises:
            NotProved: If a neuron may be zero in the ball.
        """
        arb = flint_module().arb
        if self.output is None:
            return arb(0)
        largest, steepest = arb(max(self.rates)).sqrt(), arb(0)
        for norm in self._norms(rows):
            least = norm - largest * arb(radius)
            if not least > 0:
                raise NotProved(f"a neuron may be zero within {radius:.3g} of the point")
            steepest = steepest.max(1 / least**2)
        return self._root * largest**3 * 2 / arb(3).sqrt() * steepest
