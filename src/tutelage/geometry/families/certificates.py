"""Certificates of the points of a family, at any whole number of neurons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tutelage.geometry.ball_arithmetic import NotProved, balls, balls_of, flint_module
from tutelage.geometry.certificate import Certificate
from tutelage.geometry.enclosure import at_most
from tutelage.geometry.families.arithmetic import square
from tutelage.geometry.families.layout import Layout
from tutelage.geometry.proving import FEWER, GUARD, assembled, checked_digits, symmetric_proof

if TYPE_CHECKING:
    from tutelage.geometry.families.points import FamilyPoint

# A table this close to that of the teacher may be the teacher's.
_CLOSE = 1e-6


def certified(point: FamilyPoint, digits: int) -> Certificate:
    """Prove what a point of a family is; see `FamilyPoint.certify`."""
    layout, digits = point.whole_layout(), checked_digits(digits)
    sizes = [f"{size:.0f}" for size in layout.sizes]
    students = layout.members[: len(layout.owners)].sum()
    problem = (
        f"{students:.0f} students with slopes 0.0 and 1.0 (relu) in dimension {point.neurons:.0f} learn "
        f"{point.neurons:.0f} teachers, the coordinate axes, under standard Gaussian inputs"
    )
    described = {"centre": point.table, "digits": digits, "problem": problem}
    # Close to the teacher, where there is one student for each of its neurons, the table is compared with it first.
    alike = layout.owners == tuple(range(layout.blocks))
    zero = alike and bool(np.abs(point.table - layout.teachers).max() <= _CLOSE)
    flint = flint_module()
    with flint.ctx.workdps(digits + GUARD):
        try:
            proof = symmetric_proof(layout, layout.teachers if zero else point.table, zero, digits)
            away = _distance(layout, proof[0], point.table)
            left_open = "" if students >= point.neurons else FEWER
            numbers = assembled(proof, away, flint.arb(0), zero, left_open)
            return Certificate(**numbers, **described, blocks="+".join(sizes))
        except NotProved as failure:
            return Certificate(kind="not proved", reason=str(failure), **described)


def _distance(layout: Layout, decimals: tuple[tuple[str, ...], ...], table: np.ndarray) -> float:
    """Return a bound of the distance of two students in full."""
    difference = np.array(balls_of(decimals).tolist(), object) - balls(table)
    return at_most((balls(layout.weights) * square(difference)).sum().nonnegative_part().sqrt())
