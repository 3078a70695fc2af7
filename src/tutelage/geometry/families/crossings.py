r"""Proofs that an eigenvalue crosses zero between two real numbers of neurons, by ball arithmetic.

For all $k$ in an interval $[k_-, k_+]$ at once, Krawczyk's operator $K(X) = c - Yg(c) + (I - YH(X))(X - c)$, with $g$
the gradient in the distinct entries, $H$ its derivative on a box $X$ around $c$, and any matrix $Y$, maps $X$ into its
interior. So for each $k$ there is exactly one critical point $x(k)$ in $X$ (Krawczyk), at which $H$ is regular, and
$x$ depends continuously on $k$. At both ends $x(k_\pm)$ is enclosed in a much smaller box, inside $X$, and there the
eigenvalue of a type of symmetry has different signs. As it is continuous along $x$, it is zero somewhere between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tutelage.geometry.ball_arithmetic import NotProved, balls, flint_module, floats
from tutelage.geometry.enclosure import at_least, at_most
from tutelage.geometry.families.branches import Event
from tutelage.geometry.families.classes import SymmetryClass
from tutelage.geometry.families.isotypes import isotype
from tutelage.geometry.families.layout import Layout
from tutelage.geometry.families.proofs import table_in_balls
from tutelage.geometry.families.reduced import Geometry

if TYPE_CHECKING:
    from flint import arb

_DIGITS, _SECANTS = 40, 6

# Boxes are made larger so often, before a proof is given up.
_INFLATIONS = 4

# With more digits the crossing moves by a smaller part than this.
_NEAR = 1e-4


def enclosed_crossing(symmetry: SymmetryClass, event: Event, width: float) -> tuple[float, float]:
    """Return an interval of numbers of neurons within which an eigenvalue crosses zero.

    Args:
        symmetry: The symmetry class.
        event: The crossing, as it was measured.
        width: Width of the interval.

    Raises:
        NotProved: If the proof does not succeed.
    """
    flint = flint_module()
    with flint.ctx.workdps(_DIGITS + 12):
        middle = _located(symmetry, event)
        low, high = float(middle) - width / 2, float(middle) + width / 2
        both = flint.arb(low).union(flint.arb(high))
        box = _box(symmetry.layout(both), table_in_balls(symmetry.layout(middle), event.table, _DIGITS))
        signs = []
        for end in (low, high):
            there = symmetry.layout(flint.arb(end))
            small = _box(there, table_in_balls(there, event.table, _DIGITS))
            if not all(wide.contains(narrow) for wide, narrow in zip(box.flat, small.flat, strict=True)):
                raise NotProved("the critical points at both ends are not shown to be on one branch")
            signs.append(_sign(there, small, event))
        if signs[0] * signs[1] != -1:
            raise NotProved("the eigenvalue is not shown to change its sign")
        return at_least(flint.arb(low)), at_most(flint.arb(high))


def _located(symmetry: SymmetryClass, event: Event) -> arb:
    """Return the crossing with more digits than float64 has; nothing is proved here."""
    start = flint_module().arb(event.neurons)

    def value(neurons: arb) -> arb:
        layout = symmetry.layout(neurons)
        table = table_in_balls(layout, event.table, _DIGITS)
        return eigenvalue(isotype(layout, event.type).matrix(table), event.place)

    return zero_near(value, start, start * 2.0**-20, start * _NEAR)


def zero_near(value: Callable[[arb], arb], start: arb, shift: arb, reach: arb) -> arb:
    """Return the zero of a function within reach of a start, by secants; nothing is proved here."""
    first, second = start, start + shift
    values = value(first), value(second)
    for _ in range(_SECANTS):
        if values[0] == values[1]:
            break
        first, second = second, ((second * values[0] - first * values[1]) / (values[0] - values[1])).mid()
        if not abs(second - start) < reach:
            raise NotProved("the event is not found again with more digits")
        values = values[1], value(second)
    return second


def eigenvalue(matrix: Any, place: int) -> arb:
    """Return one of the sorted eigenvalues of a symmetric matrix of balls with many digits; nothing is proved here."""
    vector: Any = balls(np.linalg.eigh(floats(matrix))[1][:, place])
    # Rayleigh's quotient: errors of the vector, as small as in float64, enter by their squares.
    return ((vector @ matrix @ vector) / (vector @ vector)).mid()


def _box(layout: Layout, centre: np.ndarray) -> np.ndarray:
    """Return a box around a table in which there is one critical point, for all sizes in the balls of a layout."""
    here = Geometry(layout, centre)
    inverse = balls(np.linalg.inv(floats(here.jacobian())))
    box = krawczyk(
        centre[layout.cells],
        inverse,
        here.gradient()[layout.cells],
        lambda entries: Geometry(layout, layout.table(entries)).jacobian(),
    )
    return layout.table(box)


def krawczyk(
    centre: np.ndarray, inverse: np.ndarray, residual: np.ndarray, jacobian: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return a box around a centre in which equations have exactly one solution, at which they are regular.

    Args:
        centre: The centre, in balls.
        inverse: A matrix that is close to the inverse of the equations' derivative.
        residual: The equations' values at the centre, for all parameters at once.
        jacobian: Their derivative in a box.

    Raises:
        NotProved: If Krawczyk's operator does not map the box into its interior.
    """
    arb = flint_module().arb
    shift = inverse @ residual
    # A little more than what is needed, so that the image is in the interior.
    radii = [4 * abs(entry).upper() + arb(10) ** -_DIGITS for entry in shift]
    for _ in range(_INFLATIONS):
        around = np.array([arb(0, radius) for radius in radii], object)
        box = centre + around
        moved = (np.eye(len(centre)) - inverse @ jacobian(box)) @ around - shift
        sizes = [abs(entry).upper() for entry in moved]
        if all(size < radius for size, radius in zip(sizes, radii, strict=True)):
            return box
        # Where an entry does not move to first order, the others move it to second order.
        radii = [radius.max(2 * size) for size, radius in zip(sizes, radii, strict=True)]
    raise NotProved("no critical point is shown to be near")


def _sign(layout: Layout, box: np.ndarray, event: Event) -> int:
    """Return the sign of the eigenvalue of an event.

    Raises:
        NotProved: If it may be zero.
    """
    return -1 if negative_pivots(isotype(layout, event.type).matrix(box)) > event.place else 1


def negative_pivots(matrix: Any) -> int:
    """Return how many eigenvalues of a symmetric matrix are negative, by its pivots (Sylvester's law of inertia).

    Raises:
        NotProved: If a pivot may be zero.
    """
    negative = 0
    for place in range(len(matrix)):
        pivot = matrix[place, place]
        if not (pivot > 0 or pivot < 0):
            raise NotProved("the eigenvalue is not shown to change its sign")
        negative += bool(pivot < 0)
        matrix = matrix - matrix[:, [place]] * (matrix[[place]] / pivot)
    return negative
