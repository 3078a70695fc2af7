r"""Certificates of block-constant critical points: ball arithmetic on a few numbers proves a theorem in the full space.

**Why the reduction suffices.** Let $G$ be the group of permutations within blocks, acting on students by permuting
neurons and coordinates alike; the loss $L$ does not change. Let the centre $c$ be exactly block-constant, so that $G$
fixes it. Then

1. the gradient at $c$ is fixed by $G$ too, that is block-constant, and its norm in the full space is
   $(\sum_am_ag_a^2)^{1/2}$ over the cells of the table, with $m_a$ the number of entries that a cell stands for;
2. the Hessian at $c$ commutes with $G$. By Schur's lemma it acts on each type of irreducible representations as one
   small matrix (`tutelage.geometry.families.isotypes`), and the eigenvalues of these, repeated, are all it has:
   dimensions times copies add up to the number of parameters, which is verified in whole numbers;
3. the Lipschitz constant of the Hessian in a ball of the full space is bounded in terms of the norms of neurons.

These are all the numbers that Newton–Kantorovich's theorem asks for (`tutelage.geometry.enclosure`), applied in the
full space: existence, uniqueness among *all* students within $R$ of $c$, and the index are those of the full problem.
Moreover, $G$ takes the critical point to critical points within the same distance of $c$; as there is one only, it is
block-constant itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tutelage.geometry.ball_arithmetic import NotProved, Singular, balls, flint_module, floats
from tutelage.geometry.enclosure import Enclosure, at_most, concluded, converged, eigenvalue_bounds
from tutelage.geometry.families.arithmetic import square
from tutelage.geometry.families.isotypes import isotypes
from tutelage.geometry.families.layout import Layout
from tutelage.geometry.families.reduced import Geometry
from tutelage.geometry.lipschitz import lipschitz_bound

if TYPE_CHECKING:
    from flint import arb

# Eigenvalues below this part of the largest one, in float64, are not worth an attempt.
_SINGULAR = 1e-13


def in_balls(layout: Layout) -> Layout:
    """Return a layout of whole sizes with sizes in balls."""
    return Layout(tuple(balls([round(float(size)) for size in layout.sizes])), layout.owners)


def enclosed_by_symmetry(layout: Layout, table: np.ndarray, zero: bool = False) -> Enclosure:
    """Prove that there is one critical point around a block-constant centre, with the precision of `flint.ctx`.

    Args:
        layout: Blocks and orbits, whole sizes in balls.
        table: The centre, in balls that contain it.
        zero: Whether the loss is known to be zero at the centre, which is a critical point then.

    Raises:
        NotProved: If the conditions of the theorem do not hold, with the reason.
    """
    flint, geometry = flint_module(), Geometry(layout, table)
    number = len(layout.owners)
    gradient_norm = 0.0
    excess: Any = flint.arb(0)
    if not zero:
        gradient_norm = at_most((layout.weights * square(geometry.gradient())).sum().nonnegative_part().sqrt())
        excess = geometry.loss()
    bounds = [
        (low, high, int(kind.dimension.unique_fmpz()))
        for kind in isotypes(layout)
        for low, high in zip(*eigenvalue_bounds(flint.arb_mat(kind.matrix(table).tolist())), strict=True)
    ]
    counts = [int(count.unique_fmpz()) for count in layout.members]
    students, teachers = counts[:number], sum(counts[number:])
    if sum(count for *_, count in bounds) != sum(students) * teachers:
        raise NotProved("the types of representations do not fill the space of students")
    norms = list(geometry.norms[:number])

    def lipschitz(radius: float) -> arb:
        return lipschitz_bound(norms, students, flint.arb(teachers), flint.arb(1) / 4, radius)

    return concluded(gradient_norm, bounds, lipschitz, min(map(float, norms)), excess)


def refined_table(layout: Layout, start: np.ndarray, digits: int) -> list[list[int]]:
    """Return a table close to a critical point, in units of `10^-digits`, by Newton's method; nothing is proved here.

    Args:
        layout: Blocks and orbits, sizes in balls: whole or any real numbers.
        start: A table in float64.
        digits: Decimal digits.

    Raises:
        NotProved: If Newton's method does not get anywhere.
    """
    plain = Layout(tuple(float(size) for size in layout.sizes), layout.owners)
    trivial, scale = isotypes(plain)[0], np.sqrt(plain.weights)
    cells = plain.units.reshape(len(plain.units), -1)

    def inverse(table: np.ndarray) -> np.ndarray:
        values, vectors = np.linalg.eigh(trivial.matrix(floats(table)))
        if not np.abs(values).min() > _SINGULAR * np.abs(values).max():
            raise Singular("the Hessian is singular on symmetric students")
        lengths = scale[plain.cells][:, None]
        return cells.T @ ((vectors / lengths) / values @ (vectors * lengths).T) @ cells

    begin = np.where(plain.weights != 0, start, 0.0)
    return converged(begin, lambda table: Geometry(layout, table).gradient(), inverse, digits, scale)


def table_in_balls(layout: Layout, start: np.ndarray, digits: int) -> np.ndarray:
    """Return what `refined_table` does as balls around its decimals."""
    flint, units = flint_module(), refined_table(layout, start, digits)
    return np.array([[flint.arb(flint.fmpq(entry, 10**digits)) for entry in row] for row in units], object)


def reduced_table(layout: Layout, vectors: np.ndarray) -> np.ndarray:
    """Return the table of a student in full whose neurons and coordinates are in the order of the blocks.

    Entries that should be equal are averaged.
    """
    sizes = [round(float(size)) for size in layout.sizes]
    block = np.repeat(np.arange(layout.blocks), sizes)
    table: np.ndarray = np.zeros(layout.weights.shape)
    begin = 0
    for orbit, owner in enumerate(layout.owners):
        count = 1 if owner < 0 else sizes[owner]
        rows = vectors[begin : begin + count]
        own: Any = np.zeros(rows.shape, bool)
        if owner >= 0:
            own[np.arange(count), np.flatnonzero(block == owner)] = True
            table[orbit, -1] = rows[own].mean()
        for column in range(layout.blocks):
            chosen = (block == column) & ~own
            table[orbit, column] = rows[chosen].mean() if chosen.any() else 0.0
        begin += count
    return table
