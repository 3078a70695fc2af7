"""Critical points: what a point is, from its loss, gradient and Hessian."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import PyTree

from tutelage.checks import of_kind, one_of, positive, settle
from tutelage.dynamics.base import values_at
from tutelage.dynamics.checks import deterministic
from tutelage.errors import invalid
from tutelage.geometry.lowest_loss import Floor, lowest_loss
from tutelage.geometry.spectrum import HOW, Spectrum, spectrum
from tutelage.geometry.symmetry import zero_modes
from tutelage.objectives import Objective
from tutelage.objectives.population import reach_of

Kind = Literal[
    "global minimum",
    "spurious minimum",
    "minimum",
    "saddle",
    "maximum",
    "degenerate",
    "non-differentiable",
    "not critical",
]


@dataclass(frozen=True)
class Tolerances:
    """What counts as zero.

    Attributes:
        gradient: Largest gradient norm of a critical point.
        eigenvalue: Largest absolute value of a zero eigenvalue, relative to the largest eigenvalue's.
        loss: Largest excess of a global minimum's loss over the lowest one, relative to the loss of the zero
            student; where the loss is a quadrature, ten times its estimated error is allowed besides.
    """

    gradient: float = 1e-8
    eigenvalue: float = 1e-8
    loss: float = 1e-12

    def __post_init__(self):
        for name in ("gradient", "eigenvalue", "loss"):
            settle(self, **{name: positive(name, getattr(self, name))})


def checked_tolerances(tolerances: Any) -> Tolerances:
    """Return the argument, or raise if it is not what counts as zero."""
    return of_kind("tolerances", tolerances, Tolerances, "Tolerances", "Pass tutelage.geometry.Tolerances()")


@dataclass(frozen=True)
class CriticalPoint:
    """A point and what it is.

    Attributes:
        point: The student.
        loss: Its loss.
        gradient_norm: Norm of its gradient.
        spectrum: Eigenvalues of its Hessian; `None` where there is no Hessian.
        kind: `global minimum`, `spurious minimum` (a local minimum above the lowest loss), `minimum` (a local one of
            a problem whose lowest loss is not known), `saddle`, `maximum`, `degenerate` (zero eigenvalues besides
            those of symmetries, so that the Hessian does not tell), `non-differentiable` or `not critical`.
        index: Number of negative eigenvalues; a lower bound where the spectrum is not complete.
        nullity: Number of zero eigenvalues; a lower bound where the spectrum is not complete.
        symmetries: Dimension of the orbit of the point under the continuous symmetries of the problem, along
            which the loss is constant: as many eigenvalues are zero for no other reason.
        zero_modes: The same by what the symmetries are: `rescalings` of a neuron against its output weight, `shares` of
            neurons in one function, and `rotations` that fix the teacher.
        excess: The loss above the lowest one that any student may have.
        tolerances: What counted as zero.
    """

    point: PyTree = field(repr=False)
    loss: float
    gradient_norm: float
    spectrum: Spectrum | None = field(repr=False)
    kind: Kind
    index: int
    nullity: int
    symmetries: int
    zero_modes: dict[str, int]
    excess: float
    tolerances: Tolerances = field(repr=False)

    @property
    def smallest_eigenvalue(self) -> float:
        """The smallest eigenvalue of the Hessian; not a number where there is none."""
        return float("nan") if self.spectrum is None else self.spectrum.smallest

    @property
    def minimum(self) -> bool:
        """Whether the point is a minimum of some kind."""
        return self.kind in ("global minimum", "spurious minimum", "minimum")


def critical_point(
    objective: Objective,
    point: PyTree,
    tolerances: Tolerances = Tolerances(),  # noqa: B008  (frozen)
    lowest: float | None = None,
    how: Literal["auto", "dense", "ends"] = "auto",
) -> CriticalPoint:
    """Say what a point is: loss, gradient norm, spectrum of the Hessian, index and kind.

    A point whose loss is the lowest possible is a global minimum whatever its Hessian says: the minima of an
    over-parameterised student form manifolds, and their Hessians are singular. Zero eigenvalues that continuous
    symmetries explain (rotations that fix the teacher, rescalings of a filter or of a neuron) do not make a minimum
    degenerate.

    Args:
        objective: A deterministic objective: `population` or `empirical`.
        point: The student.
        tolerances: What counts as zero.
        lowest: Loss of the global minima, where it is known better than by the library: for fewer students than
            teachers, or noisy labels.
        how: How the spectrum is taken; see `spectrum`.

    Raises:
        InvalidArgument: If the point does not fit the problem, or the objective draws samples at every call,
            or the point is too far from zero for a quadrature.
    """
    deterministic(objective)
    checked_tolerances(tolerances)
    one_of("how", how, HOW)
    point = objective.problem.point(point)
    if (reach := reach_of(objective, point)) > 1:
        wanted = "be as near to zero as a quadrature with at most 1200 nodes an axis sees"
        raise invalid("point", wanted, f"one {reach:.2g} times as far", "Raise the tolerance of `population`")
    floor = lowest_loss(objective, lowest)
    loss, gradient_norm, error, singular = (float(value) for value in values_at(objective, point))
    excess = loss - floor.loss
    at_floor = excess <= tolerances.loss * floor.scale + 10 * error
    found: Spectrum | None = None
    index = nullity = 0
    modes: dict[str, int] = {}
    if not singular:
        found = spectrum(objective, point, how)
        zero = tolerances.eigenvalue * found.scale
        index = int((found.eigenvalues < -zero).sum())
        nullity = int((np.abs(found.eigenvalues) <= zero).sum())
        modes = zero_modes(objective, point)
    symmetries = sum(modes.values())
    if singular:
        kind: Kind = "global minimum" if at_floor else "non-differentiable"
    elif gradient_norm > tolerances.gradient:
        kind = "not critical"
    elif at_floor:
        kind = "global minimum"
    else:
        assert found is not None
        kind = _by_spectrum(found, index, nullity, symmetries, floor, tolerances)
    return CriticalPoint(point, loss, gradient_norm, found, kind, index, nullity, symmetries, modes, excess, tolerances)


def _by_spectrum(
    found: Spectrum, index: int, nullity: int, symmetries: int, floor: Floor, tolerances: Tolerances
) -> Kind:
    positive_ones = found.largest > tolerances.eigenvalue * found.scale
    if index and positive_ones:
        return "saddle"
    if nullity > symmetries:
        # A maximum or minimum by its other eigenvalues; along the zero ones only higher derivatives tell.
        return "degenerate"
    if index:
        return "maximum"
    return "spurious minimum" if floor.attained else "minimum"
