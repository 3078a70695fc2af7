r"""Expansions of a family as $k \to \infty$: fitted Puiseux series, with error bars.

A quantity is computed with many digits at $k_0, 2k_0, 4k_0, \dots$ along its branch, and $q(k) = k^a\sum_jc_jk^{-j/2}$
is fitted by solving for as many coefficients as there are numbers. The leading exponent $a$ is a multiple of one half:
the limit of $\log_2(q(2k)/q(k))$, extrapolated by the same means, says which. The error bar of a coefficient is what it
changes by when the smallest $k$ is left out, which is the order of what the fit neglects.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tutelage.errors import TutelageError
from tutelage.geometry.ball_arithmetic import NotProved, flint_module
from tutelage.geometry.families.branches import followed
from tutelage.geometry.families.classes import SymmetryClass
from tutelage.geometry.families.isotypes import isotypes
from tutelage.geometry.families.proofs import table_in_balls
from tutelage.geometry.families.reduced import Geometry

if TYPE_CHECKING:
    from flint import arb

_DIGITS = 60

# Numbers of neurons start here and are doubled, so many times; as many coefficients are fitted.
_START, _NUMBERS = 2.0**12, 12

# A limit of logarithms further from a multiple of one half is none.
_NEAR = 1e-3


class Expansion(NamedTuple):
    r"""The first terms of a quantity, $\sum_jc_jk^{e_j}$.

    Attributes:
        exponents: The exponents of $k$, multiples of one half in decreasing order.
        coefficients: The coefficients.
        errors: Their error bars.
    """

    exponents: tuple[float, ...]
    coefficients: tuple[float, ...]
    errors: tuple[float, ...]

    def __str__(self) -> str:
        """Return the terms in a line."""
        parts = zip(self.coefficients, self.exponents, strict=True)
        return " + ".join(f"({value:.10g}) k^{power:g}" for value, power in parts)


class FamilyExpansion(NamedTuple):
    """Expansions of a family as the number of teachers grows; build one with `Family.expand`.

    Attributes:
        loss: That of the loss.
        entries: Those of the distinct entries, in the order of `FamilyPoint.entries`.
        eigenvalues: Those of the eigenvalues of the Hessian, type by type and in increasing order; the names of the
            types are those of `Eigenvalue.types`.
    """

    loss: Expansion
    entries: tuple[Expansion, ...]
    eigenvalues: dict[str, tuple[Expansion, ...]]


def expansions(
    symmetry: SymmetryClass, table: np.ndarray, number: float, cells: list[tuple[int, int]], terms: int
) -> FamilyExpansion:
    """Return the expansions along the branch through a critical point; see `Family.expand`."""
    flint = flint_module()
    numbers = [_START * 2**j for j in range(_NUMBERS)]
    losses: list[arb] = []
    tables: list[np.ndarray] = []
    spectra: dict[str, list[list[arb]]] = {}
    with flint.ctx.workdps(_DIGITS + 12):
        for to in numbers:
            branch = followed(symmetry, table, number, to)
            if branch.reason != "reached":
                raise NotProved(f"it does not reach {to:g} neurons: {branch.reason}")
            table, number = branch.tables[-1], to
            layout = symmetry.layout(flint.arb(number))
            exact = table_in_balls(layout, table, _DIGITS)
            loss: Any = Geometry(layout, exact).loss()
            losses.append(loss.mid())
            tables.append(exact)
            for kind in isotypes(layout):
                values = flint.acb_mat(flint.arb_mat(kind.matrix(exact).tolist())).eig(algorithm="approx")
                spectra.setdefault(kind.name, []).append(sorted((value.real.mid() for value in values), key=float))
        return FamilyExpansion(
            expanded(losses, numbers, terms),
            tuple(expanded([one[cell] for one in tables], numbers, terms) for cell in cells),
            {
                name: tuple(expanded(list(values), numbers, terms) for values in zip(*rows, strict=True))
                for name, rows in spectra.items()
            },
        )


def expanded(values: list[arb], numbers: list[float], terms: int) -> Expansion:
    """Return the expansion of a quantity that is known at numbers each of which is twice the one before."""
    flint = flint_module()
    if all(abs(value) < flint.arb(10) ** (12 - _DIGITS) for value in values):
        return Expansion((0.0,), (0.0,), (0.0,))
    if any(value == 0 for value in values):
        raise TutelageError("A quantity is zero at some numbers of neurons, and not at others.")
    ratios = [abs(second / first).log() / flint.arb(2).log() for first, second in pairwise(values)]
    limit = float(_coefficients(ratios, numbers[:-1])[0])
    leading = round(2 * limit) / 2
    if abs(limit - leading) > _NEAR:
        raise TutelageError(f"A quantity grows with the power {limit:.4g} of k, which is no multiple of one half.")
    scaled = [value / _power(number, leading) for value, number in zip(values, numbers, strict=True)]
    best, fewer = _coefficients(scaled, numbers), _coefficients(scaled[1:], numbers[1:])
    return Expansion(
        tuple(leading - j / 2 for j in range(terms)),
        tuple(float(best[j]) for j in range(terms)),
        tuple(abs(float(best[j] - fewer[j])) for j in range(terms)),
    )


def _power(number: float, exponent: float) -> arb:
    return flint_module().arb(number) ** (flint_module().arb(round(2 * exponent)) / 2)


def _coefficients(values: list[arb], numbers: list[float]) -> list[arb]:
    r"""Return the coefficients of $1, k^{-1/2}, k^{-1}, \dots$, as many as there are values."""
    flint = flint_module()
    matrix = flint.arb_mat([[_power(number, -j / 2) for j in range(len(values))] for number in numbers])
    solution = matrix.solve(flint.arb_mat([[value] for value in values]))
    return [row[0].mid() for row in solution.tolist()]
