r"""Proofs, by ball arithmetic, that an eigenvalue crosses zero or a branch turns back between two numbers of neurons.

Near an event a branch is parametrised by $t = \ell\cdot(x, k)$, with $x$ the distinct entries: at a crossing $t$ is the
number of neurons $k$ itself, at a turning point the inner product of $x$ with the kernel of the symmetric Hessian $H$.
The equations $g(x, k) = 0$, with $g$ the gradient in the distinct entries, and $\ell\cdot(x, k) = t$ have the
derivative $B = \begin{pmatrix}H\ \ \partial_kg\\ \ell^\top\end{pmatrix}$, which is regular there. The derivative
$\partial_kg$ is that of the closed form, computed along with it.

For all $t$ in an interval $[t_-, t_+]$ at once, Krawczyk's operator $K(X) = c - Yr(c) + (I - YB(X))(X - c)$, with $r$
the residual of the equations, $B$ their derivative on a box $X$ around $c$, and any matrix $Y$, maps $X$ into its
interior. So for each $t$ there is exactly one solution $x(t), k(t)$ in $X$ (Krawczyk), at which $B$ is regular, and it
depends continuously on $t$. At both ends it is enclosed in a much smaller box, inside $X$, and there the numbers of
negative eigenvalues of a type of symmetry, counted by pivots (Sylvester's law of inertia), differ by one.

At a crossing, the eigenvalue is continuous along $x$, so that it is zero for some $k$ between $t_-$ and $t_+$. At a
turning point, the type is that of symmetric students. All $B$ in the box are regular, so that $\det B$ has one sign,
and by Cramer's rule

$$k'(t) = \det H(x(t), k(t))/\det B$$

has different signs at both ends: $k$ has an extremum between, where $H$ is singular, and its value is in the box.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tutelage.geometry.ball_arithmetic import NotProved, balls, flint_module, floats
from tutelage.geometry.enclosure import at_least, at_most
from tutelage.geometry.families.branches import Event
from tutelage.geometry.families.classes import SymmetryClass
from tutelage.geometry.families.isotypes import isotype
from tutelage.geometry.families.layout import Layout
from tutelage.geometry.families.moving import Moving, moving
from tutelage.geometry.families.reduced import Geometry

if TYPE_CHECKING:
    from flint import arb

_DIGITS, _STEPS, _SECANTS = 40, 12, 6

# Boxes are made larger so often, before a proof is given up.
_INFLATIONS = 4

# With more digits the event moves by a smaller part than this, of k or of the student's norm.
_NEAR = 1e-4

# At a turning point, half the length of the interval of t, as a part of the student's norm: k changes by its square.
_REACH = 2.0**-45


class _Path(NamedTuple):
    """The equations near an event, in the entries of the table and $k$; the covector ℓ; and the type of symmetry."""

    symmetry: SymmetryClass
    along: np.ndarray
    type: str

    def geometry(self, point: np.ndarray) -> Geometry:
        layout = self.symmetry.layout(point[-1])
        if len(layout.cells[0]) != len(point) - 1:
            raise NotProved("for some numbers of neurons in question a block has no neurons; take a smaller width")
        return Geometry(layout, layout.table(point[:-1]))

    def place(self, point: np.ndarray) -> Any:
        """Return the parameter t."""
        return (balls(self.along) * point).sum()

    def residual(self, point: np.ndarray, place: arb) -> np.ndarray:
        here = self.geometry(point)
        return np.append(here.gradient()[here.layout.cells], self.place(point) - place)

    def jacobian(self, point: np.ndarray) -> np.ndarray:
        here = self.geometry(point)
        changing = Geometry(self.symmetry.layout(Moving(point[-1], 1)), moving(here.students)).gradient()
        across = np.array([[entry.slope] for entry in changing[here.layout.cells]], object)
        return np.vstack([np.hstack([here.jacobian(), across]), balls(self.along)])

    def inverse(self, point: np.ndarray) -> np.ndarray:
        """Return a matrix that is close to the inverse of the derivative."""
        return balls(np.linalg.inv(floats(self.jacobian(point))))

    def hessian(self, point: np.ndarray) -> np.ndarray:
        """Return the matrix by which the Hessian acts on the type."""
        here = self.geometry(point)
        return isotype(here.layout, self.type).matrix(here.students)

    def solved(self, start: np.ndarray, place: arb, inverse: np.ndarray) -> np.ndarray:
        """Return the solution near a point with many digits; nothing is proved here."""
        point = start
        for _ in range(_STEPS):
            step = inverse @ self.residual(point, place)
            point = np.array([entry.mid() for entry in point - step], object)
            if max(abs(float(entry)) for entry in step) < 10.0**-_DIGITS:
                return point
        raise NotProved("the event is not found again with more digits")

    def box(self, centre: np.ndarray, place: arb, inverse: np.ndarray) -> np.ndarray:
        """Return a box around a centre in which there is one solution for each t in a ball, all of them regular.

        Raises:
            NotProved: If Krawczyk's operator does not map the box into its interior.
        """
        arb = flint_module().arb
        shift = inverse @ self.residual(centre, place)
        # A little more than what is needed, so that the image is in the interior.
        radii = [4 * abs(entry).upper() + arb(10) ** -_DIGITS for entry in shift]
        for _ in range(_INFLATIONS):
            around = np.array([arb(0, radius) for radius in radii], object)
            box = centre + around
            moved = (np.eye(len(centre)) - inverse @ self.jacobian(box)) @ around - shift
            sizes = [abs(entry).upper() for entry in moved]
            if all(size < radius for size, radius in zip(sizes, radii, strict=True)):
                return box
            # Where an entry does not move to first order, the others move it to second order.
            radii = [radius.max(2 * size) for size, radius in zip(sizes, radii, strict=True)]
        raise NotProved("no critical point is shown to be near")


def enclosed_event(symmetry: SymmetryClass, event: Event, width: float) -> tuple[float, float]:
    """Return an interval of numbers of neurons within which an eigenvalue crosses zero, or a branch turns back.

    Args:
        symmetry: The symmetry class.
        event: The event, as it was measured.
        width: Width of the interval; for a turning point, at most.

    Raises:
        NotProved: If the proof does not succeed.
    """
    flint = flint_module()
    with flint.ctx.workdps(_DIGITS + 12):
        layout = symmetry.layout(event.neurons)
        start = np.append(balls(event.table[layout.cells]), flint.arb(event.neurons))
        if event.kind == "crossing":
            along, size, reach = np.eye(len(start))[-1], event.neurons, width / 2
        else:
            size = float(np.linalg.norm(floats(start[:-1])))
            along, reach = _kernel(layout, event), _REACH * size
        path, reach = _Path(symmetry, along, event.type), flint.arb(reach)
        centre = _located(path, start, size, event.place)
        place, inverse = path.place(centre).mid(), path.inverse(centre)
        box = path.box(centre, place + flint.arb(0, reach), inverse)
        ends, counts = (place - reach, place + reach), []
        for end in ends:
            small = path.box(path.solved(centre, end, inverse), end, inverse)
            if not all(wide.contains(narrow) for wide, narrow in zip(box, small, strict=True)):
                raise NotProved("the critical points at both ends are not shown to be on one branch")
            counts.append(negative_pivots(path.hessian(small)))
        if sorted(counts) != [event.place, event.place + 1]:
            raise NotProved("the eigenvalue is not shown to change its sign")
        if event.kind == "crossing":
            return at_least(ends[0]), at_most(ends[1])
        low, high = at_least(box[-1]), at_most(box[-1])
        if high - low > width:
            raise NotProved(f"the turning point is enclosed in an interval of width {high - low:.3g} only")
        return low, high


def _kernel(layout: Layout, event: Event) -> np.ndarray:
    """Return the covector ℓ of a turning point in float64: the kernel of the Hessian in the entries, of length one."""
    vectors = np.linalg.eigh(isotype(layout, event.type).matrix(event.table))[1]
    vector = vectors[:, event.place] * np.sqrt(layout.weights[layout.cells])
    return np.append(vector / np.linalg.norm(vector), 0.0)


def _located(path: _Path, start: np.ndarray, size: float, number: int) -> np.ndarray:
    """Return the event with many digits, by secants; nothing is proved here."""
    arb, inverse = flint_module().arb, path.inverse(start)

    def value(place: arb) -> arb:
        return _eigenvalue(path.hessian(path.solved(start, place, inverse)), number)

    measured = path.place(start).mid()
    first, second = measured, measured + arb(size) * 2.0**-20
    values = value(first), value(second)
    for _ in range(_SECANTS):
        if values[0] == values[1]:
            break
        first, second = second, ((second * values[0] - first * values[1]) / (values[0] - values[1])).mid()
        if not abs(second - measured) < _NEAR * size:
            raise NotProved("the event is not found again with more digits")
        values = values[1], value(second)
    return path.solved(start, second, inverse)


def _eigenvalue(matrix: Any, place: int) -> arb:
    """Return one of the sorted eigenvalues of a symmetric matrix of balls with many digits; nothing is proved here."""
    vector: Any = balls(np.linalg.eigh(floats(matrix))[1][:, place])
    # Rayleigh's quotient: errors of the vector, as small as in float64, enter by their squares.
    return ((vector @ matrix @ vector) / (vector @ vector)).mid()


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
