r"""Proofs that a branch turns back between two real numbers of neurons, by ball arithmetic.

Let $\ell$ be close to the kernel of the symmetric Hessian $H$ at a turning point. The equations $g(x, k) = 0$ and
$\ell\cdot x = t$ have the derivative $B = \begin{pmatrix}H & \partial_kg\\ \ell^\top & 0\end{pmatrix}$, which is
regular there. Krawczyk's operator shows that for all $t \in [t_-, t_+]$ they have exactly one solution $x(t), k(t)$ in
a box, in which all $B$ are regular, so that $\det B$ has one sign. By Cramer's rule

$$k'(t) = \det H(x(t), k(t))/\det B,$$

and the number of negative eigenvalues of $H$, counted by pivots at $t_-$ and at $t_+$ (Sylvester's law of inertia),
differs by one. So $k'$ has different signs at both ends: $k$ has an extremum between, where $H$ is singular, and its
value is in the box. The derivative $\partial_kg$ is that of the closed form, computed along with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tutelage.geometry.ball_arithmetic import NotProved, balls, flint_module, floats
from tutelage.geometry.enclosure import at_least, at_most
from tutelage.geometry.families.branches import Event
from tutelage.geometry.families.classes import SymmetryClass
from tutelage.geometry.families.crossings import eigenvalue, krawczyk, negative_pivots, zero_near
from tutelage.geometry.families.isotypes import isotypes
from tutelage.geometry.families.layout import Layout
from tutelage.geometry.families.moving import Moving, moving
from tutelage.geometry.families.reduced import Geometry

if TYPE_CHECKING:
    from flint import arb

_DIGITS, _STEPS = 40, 12

# With more digits the turning point's value of t moves by less than this.
_NEAR = 1e-2

# Half the length of the interval of t, as a part of the student's norm: k changes by its square.
_REACH = 2.0**-45


class _Fold(NamedTuple):
    """The equations near a turning point, in the entries of the table and $k$; and the covector ℓ."""

    symmetry: SymmetryClass
    along: np.ndarray

    def geometry(self, point: np.ndarray) -> Geometry:
        layout = self.symmetry.layout(point[-1])
        return Geometry(layout, layout.table(point[:-1]))

    def residual(self, point: np.ndarray, place: arb) -> np.ndarray:
        here = self.geometry(point)
        return np.append(here.gradient()[here.layout.cells], (balls(self.along) * point[:-1]).sum() - place)

    def jacobian(self, point: np.ndarray) -> np.ndarray:
        here = self.geometry(point)
        changing = Geometry(self.symmetry.layout(Moving(point[-1], 1)), moving(here.students)).gradient()
        across = np.array([[entry.slope] for entry in changing[here.layout.cells]], object)
        last = np.append(balls(self.along), flint_module().arb(0))
        return np.vstack([np.hstack([here.jacobian(), across]), last])

    def symmetric(self, point: np.ndarray) -> np.ndarray:
        """Return the Hessian on symmetric students."""
        here = self.geometry(point)
        return isotypes(here.layout)[0].matrix(here.students)

    def solved(self, start: np.ndarray, place: arb, inverse: np.ndarray) -> np.ndarray:
        """Return the solution near a point with many digits; nothing is proved here."""
        point = start
        for _ in range(_STEPS):
            step = inverse @ self.residual(point, place)
            point = np.array([entry.mid() for entry in point - step], object)
            if max(abs(float(entry)) for entry in step) < 10.0**-_DIGITS:
                return point
        raise NotProved("the turning point is not found again with more digits")


def enclosed_turning(symmetry: SymmetryClass, event: Event, width: float) -> tuple[float, float]:
    """Return an interval of numbers of neurons within which a branch turns back.

    Args:
        symmetry: The symmetry class.
        event: The turning point, as it was measured.
        width: Width of the interval, at most.

    Raises:
        NotProved: If the proof does not succeed.
    """
    flint = flint_module()
    with flint.ctx.workdps(_DIGITS + 12):
        layout = symmetry.layout(event.neurons)
        fold = _Fold(symmetry, _kernel(layout, event))
        start = np.append(balls(event.table[layout.cells]), flint.arb(event.neurons))
        inverse = balls(np.linalg.inv(floats(fold.jacobian(start))))
        centre, place = _located(fold, start, inverse, event.place)
        reach = flint.arb(_REACH * float(np.linalg.norm(floats(start[:-1]))))
        inverse = balls(np.linalg.inv(floats(fold.jacobian(centre))))
        box = krawczyk(centre, inverse, fold.residual(centre, place + flint.arb(0, reach)), fold.jacobian)
        counts = []
        for end in (place - reach, place + reach):
            there = fold.solved(centre, end, inverse)
            small = krawczyk(there, inverse, fold.residual(there, end), fold.jacobian)
            if not all(wide.contains(narrow) for wide, narrow in zip(box, small, strict=True)):
                raise NotProved("the critical points at both ends are not shown to be on one branch")
            counts.append(negative_pivots(fold.symmetric(small)))
        if abs(counts[0] - counts[1]) != 1:
            raise NotProved("the branch is not shown to turn back")
        low, high = at_least(box[-1]), at_most(box[-1])
        if high - low > width:
            raise NotProved(f"the turning point is enclosed in an interval of width {high - low:.3g} only")
        return low, high


def _kernel(layout: Layout, event: Event) -> np.ndarray:
    """Return the covector ℓ in float64: the kernel of the Hessian in the entries, of length one."""
    vectors = np.linalg.eigh(isotypes(layout)[0].matrix(event.table))[1]
    vector = vectors[:, event.place] * np.sqrt(layout.weights[layout.cells])
    return vector / np.linalg.norm(vector)


def _located(fold: _Fold, start: np.ndarray, inverse: np.ndarray, number: int) -> tuple[np.ndarray, arb]:
    """Return the turning point with many digits, and its value of t; nothing is proved here."""
    arb = flint_module().arb

    def value(place: arb) -> arb:
        return eigenvalue(fold.symmetric(fold.solved(start, place, inverse)), number)

    measured = (balls(fold.along) * start[:-1]).sum().mid()
    place = zero_near(value, measured, arb(2) ** -20, arb(_NEAR))
    return fold.solved(start, place, inverse), place
