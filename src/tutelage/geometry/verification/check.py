r"""Whether a certificate is true, by whole numbers alone.

The theorem of Newton and Kantorovich (`tutelage.geometry.enclosure`) is applied anew. At the decimals of the centre the
gradient's norm is enclosed, eigenvalues are counted below a few numbers, a Lipschitz constant of the Hessian is
bounded, and from these, not from those of the certificate, its conclusions are drawn: one critical point within $R$,
which is within $r$, its index, its loss, its smallest eigenvalue and its kind. The numbers of the certificate's own
proof are compared with them.

**Parts.** Let several students be parts of one neuron of the centre, that is positive multiples of it that add up to
it; they compute what the centre does. At such a point the Hessian is, up to a change of coordinates, the centre's
Hessian and, for each neuron, one copy of its reduced block $H'_{ii}$ less than it has parts; see
`tutelage.geometry.shares`. $H'_{ii}w_i = 0$ wherever it is taken.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tutelage.geometry.verification.inertia import Matrix, Undecided, negative
from tutelage.geometry.verification.intervals import Interval
from tutelage.geometry.verification.network import Network
from tutelage.geometry.verification.pairs import Slopes
from tutelage.geometry.verification.symmetry import kinds, symmetry_of

if TYPE_CHECKING:
    from tutelage.geometry.ball_losses import LossInBalls
    from tutelage.geometry.certificate import Certificate

# Decimal digits of the arithmetic beyond those of the centre.
_GUARD = 50

# Bounds of the smallest eigenvalue are compared up to this, and eigenvalues are counted up to a part of it.
_CLOSE, _SLACK = Fraction(1, 10**20), Fraction(1, 10**30)

# Bounds of loss and distance are compared up to the digits of the centre, of which no certificate has fewer.
_FEWEST_DIGITS = 20
# More take long, and no certificate has them.
_MOST_DIGITS = 250

# The number λ is lessened by this part of it, which the conditions leave room for.
_LESS = Fraction(1, 2**40)

# Beyond so many parameters without symmetries, elimination would take hours.
_MOST_PARAMETERS = 1600


class _False(Exception):
    """What does not hold, in words."""


def fault(certificate: Certificate, vectors: np.ndarray, contained: bool = True) -> str:
    """Return what is wrong with a certificate, or an empty text if everything in it is true.

    Args:
        certificate: A certificate whose centre is written out in full.
        vectors: The student that it is said to be about, one row per neuron.
        contained: Whether some student is known to compute the teacher.
    """
    try:
        _check(certificate, vectors, contained)
    except _False as wrong:
        return str(wrong)
    except (Undecided, ZeroDivisionError) as failure:
        return f"not decided: {failure}"
    return ""


def uncovered(loss: LossInBalls) -> str:
    """Return what a loss has that no check is written for, or an empty text."""
    if loss.biased or loss.mean is not None:
        return "biases, or inputs with a mean"
    return "" if loss.decay is None else "weight decay"


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise _False(otherwise)


def _check(certificate: Certificate, vectors: np.ndarray, contained: bool) -> None:
    loss = certificate._loss
    _require(certificate.proved, f"nothing is proved: {certificate.reason}")
    _require(loss is not None and not certificate.blocks, "the centre is not written out in full")
    assert loss is not None
    _require(not uncovered(loss), f"the check does not cover {uncovered(loss)}")
    _require(all(map(math.isfinite, _numbers(certificate))), "one of its numbers is no number")
    _require(certificate.digits >= _FEWEST_DIGITS, f"the centre has fewer than {_FEWEST_DIGITS} digits")
    _require(certificate.digits <= _MOST_DIGITS, f"the centre has more than {_MOST_DIGITS} digits")
    split = certificate.split_curvature
    _require(bool(certificate.parts) or math.isnan(split), "it has a curvature of parts, and no parts")
    centre = [[Fraction(entry) for entry in row] for row in certificate.decimals]
    parts = list(certificate.parts) or list(range(len(centre)))
    _require(set(parts) == set(range(len(centre))), "neurons of the centre have no part in the student")
    _require(len(parts) == len(vectors), "there is another number of neurons")
    _require(loss.signs is None or bool(np.all(loss.signs)), "an output weight is zero: its neuron computes nothing")
    signs = _signs(loss.signs, len(parts))
    if certificate.parts:
        pairs = set(zip(parts, signs, strict=True))
        _require(len(pairs) == len(centre), "parts of one neuron have output weights of different signs")
        signs = [sign for _, sign in sorted(pairs)]
    network = _network(loss, centre, signs, int((certificate.digits + _GUARD) * 3.33))
    _require(min(norm.low for norm in network.norms()) > 0, "a neuron of the centre may be zero")
    given = [[Fraction(entry) for entry in row] for row in np.asarray(vectors, float).tolist()]
    _critical(_Case(certificate, loss, network, given, parts, centre), contained)


def _numbers(certificate: Certificate) -> tuple[float, ...]:
    """Return the numbers of a certificate; of a continuum the smallest eigenvalue need not be known."""
    smallest = () if certificate.parts else certificate.smallest_eigenvalue
    return (*certificate.loss, *certificate.excess, *smallest, certificate.distance, *_of_theorem(certificate))


def _of_theorem(certificate: Certificate) -> tuple[float, ...]:
    """Return the numbers of the theorem of Newton and Kantorovich."""
    radii = certificate.radius, certificate.unique_radius
    return (*radii, certificate.gradient_norm, certificate.least_curvature, certificate.lipschitz)


class _Case(NamedTuple):
    """A certificate with its loss and its network, the student that was given, its parts, and the centre."""

    certificate: Certificate
    loss: LossInBalls
    network: Network
    given: list[list[Fraction]]
    parts: list[int]
    centre: list[list[Fraction]]

    @property
    def shared(self) -> bool:
        """Whether there are more neurons than the centre has."""
        return len(self.parts) > len(self.centre)

    @property
    def unit(self) -> Fraction:
        """The square of the factor of the student's output: losses and derivatives are multiples of it."""
        return Fraction(self.loss.factors[0]) ** 2


def _signs(numbers: np.ndarray | None, count: int) -> list[int]:
    return [1] * count if numbers is None else [1 if number > 0 else -1 for number in np.asarray(numbers).tolist()]


def _network(loss: LossInBalls, centre: list[list[Fraction]], signs: list[int], bits: int) -> Network:
    teachers = [[Fraction(entry) for entry in row] for row in np.asarray(loss.teacher, float).tolist()]
    outputs = [Fraction(1)] * len(teachers) if loss.outputs is None else [*map(Fraction, loss.outputs.tolist())]
    ratio = Fraction(loss.factors[1]) / Fraction(loss.factors[0])
    scaled = [[abs(output * ratio) * entry for entry in row] for output, row in zip(outputs, teachers, strict=True)]
    slopes = Slopes(Fraction(loss.left), Fraction(loss.right), Fraction(loss.scale), bits)
    return Network(centre, scaled, signs, _signs(loss.outputs, len(teachers)), slopes)


def _is_teacher(network: Network, even: bool) -> bool:
    """Whether the students are the teachers, in any order, with the same signs: then the loss is exactly zero.

    Vectors may have a minus sign where the activation is even, or where those that have one add up to zero: only the
    odd part of the activation, which is linear, changes.
    """
    rest = Counter((sign, tuple(row)) for sign, row in zip(network.outputs, network.teachers.tolist(), strict=True))
    turned = []
    for sign, row in zip(network.signs, network.students.tolist(), strict=True):
        minus = tuple(-entry for entry in row)
        if rest[sign, tuple(row)]:
            rest[sign, tuple(row)] -= 1
        elif rest[sign, minus]:
            rest[sign, minus] -= 1
            turned.append([sign * entry for entry in row])
        else:
            return False
    return not any(rest.values()) and (even or all(sum(column) == 0 for column in zip(*turned, strict=True)))


def _critical(case: _Case, contained: bool) -> None:
    certificate, network, unit, shared = case.certificate, case.network, case.unit, case.shared
    zero = _is_teacher(network, case.loss.left == -case.loss.right)
    inner, outer = Fraction(certificate.radius), Fraction(certificate.unique_radius)
    if zero and shared:
        # Whatever the Hessian: no loss is smaller.
        _require(certificate.kind == "global minimum", f"it is a global minimum, not a {certificate.kind}")
        _distance(case, Fraction(0), None)
        _require(certificate.excess == (0.0, 0.0), "the loss is not in its bounds")
        nothing = not any(_of_theorem(certificate)) and math.isnan(certificate.split_curvature)
        _require(nothing, "of global minima that share neurons nothing else is proved")
        _excess(case, zero, inner, inner)
        _of_continuum(certificate, 0)
        return
    gradient = Interval(0, 0, network.slopes.bits) if zero else network.gradient_norm()
    lipschitz = network.lipschitz(outer)
    _require(lipschitz is not None, "a neuron may be zero within the radius of uniqueness")
    assert lipschitz is not None
    least = Fraction(certificate.least_curvature) / unit * (1 - _LESS)
    gamma, constant = gradient.largest, lipschitz.largest
    _require(Fraction(certificate.gradient_norm) / unit >= gradient.least, "the gradient is larger at the centre")
    _require(Fraction(certificate.lipschitz) / unit >= lipschitz.least, "the Lipschitz constant is larger")
    matrices = _matrices(network)
    below, above = (_below(matrices, shift) for shift in (-least, least))
    _require(below == above, "the Hessian has an eigenvalue closer to zero")
    conditions = (
        0 <= inner <= outer and constant * outer < least,
        gamma + constant * outer**2 / 2 <= least * outer,
        gamma + constant * inner**2 / 2 <= least * inner,
    )
    _require(conditions[0] and conditions[1], "it is not shown to be the only critical point within the radius")
    _require(conditions[2], "no critical point is shown to be so close to the centre")
    _require(shared or below == certificate.index, f"the index is {below}")
    drift = constant * inner
    if not shared:
        low, high = (Fraction(bound) / unit for bound in certificate.smallest_eigenvalue)
        _require(low - _CLOSE <= high + _CLOSE, "the bounds of the smallest eigenvalue are in the wrong order")
        held = _below(matrices, low + drift - _CLOSE) == 0 and _below(matrices, high - drift + _CLOSE) > 0
        _require(held, "the smallest eigenvalue is not in its bounds")
    index = below
    if shared:
        index += _of_parts(case, drift)
        _of_continuum(certificate, index)
    excess = _excess(case, zero, inner, constant)
    _distance(case, inner, outer)
    number = len(case.parts)
    parameters, realizable = number * len(case.centre[0]), contained and number >= len(network.teachers)
    _require(certificate.kind in _kinds(index, parameters, zero, excess, realizable), f"it is no {certificate.kind}")


def _matrices(network: Network) -> list[tuple[int, Matrix, list[int]]]:
    """Return matrices that have all eigenvalues of the Hessian together, with multiplicities and weights."""
    number, dimension = network.students.shape
    axes = np.eye(dimension, dtype=int).astype(object) * network.unit
    plain = network.teachers.shape == axes.shape and bool((network.teachers == axes).all())
    if plain and min((*network.signs, *network.outputs)) > 0:
        entries = np.unique(network.students, return_inverse=True)[1].reshape(network.students.shape)
        symmetry = symmetry_of(entries)
        if symmetry is not None:
            found = []
            for kind in kinds(symmetry):
                products = [[int((one * two).sum()) for one in kind.copies] for two in kind.copies]
                weights = [products[place][place] for place in range(len(products))]
                _require(all(sum(map(abs, row)) == row[place] for place, row in enumerate(products)), "not orthogonal")
                found.append((kind.dimension, network.second_derivatives(kind.copies), weights))
            return found
    _require(number * dimension <= _MOST_PARAMETERS, "there are too many parameters for a check without symmetries")
    return [(1, network.hessian(), [1] * (number * dimension))]


def _below(matrices: list[tuple[int, Matrix, list[int]]], shift: Fraction) -> int:
    """Return how many eigenvalues are below a number, up to the slack."""
    return sum(number * negative(matrix, weights, shift, _SLACK) for number, matrix, weights in matrices)


def _of_parts(case: _Case, drift: Fraction) -> int:
    """Return how many negative eigenvalues there are because neurons have several parts."""
    least = Fraction(case.certificate.split_curvature) / case.unit * (1 - _LESS)
    _require(least > drift, "reduced blocks are not shown to be regular across their neurons")
    index = 0
    for neuron, number in Counter(case.parts).items():
        if number == 1:
            continue
        block = case.network.reduced_block(neuron)
        ones = [1] * len(block.middle)
        below, above = (negative(block, ones, shift, _SLACK) for shift in (-least, least))
        _require(above == below + 1, "a reduced block has an eigenvalue closer to zero")
        index += (number - 1) * below
    return index


def _of_continuum(certificate: Certificate, index: int) -> None:
    """Check what is said of the eigenvalues of students that share neurons: along the continuum they are zero."""
    _require(index == certificate.index, f"the index is {index}")
    low, high = certificate.smallest_eigenvalue
    # Of saddles it depends on the shares, and nothing is said of it.
    known = math.isnan(low) and math.isnan(high) if index else low <= 0 <= high
    _require(known, "the smallest eigenvalue is not in its bounds")


def _excess(case: _Case, zero: bool, inner: Fraction, constant: Fraction) -> Fraction:
    """Return a lower bound of the loss above the noise, after comparing both with the certificate."""
    certificate, network, unit = case.certificate, case.network, case.unit
    lowest = Fraction(case.loss.noise) ** 2 / 2
    spread = (network.steepness() + constant * inner) * inner**2 / 2
    value = Interval(0, 0, network.slopes.bits) if zero else network.loss()
    least, largest = unit * max(value.least - spread, Fraction(0)), unit * (value.largest + spread)
    close = Fraction(1, 10**certificate.digits)
    for bounds, base in ((certificate.excess, Fraction(0)), (certificate.loss, lowest)):
        low, high = map(Fraction, bounds)
        _require(low - close <= base + least and base + largest <= high + close, "the loss is not in its bounds")
    return least


def _distance(case: _Case, inner: Fraction, outer: Fraction | None) -> None:
    """Check that the student is as close as it is said to be, and within the radius of uniqueness.

    Where neurons have parts, the closest student with such parts is compared, and the sums of parts with the centre.
    """
    certificate, given, parts, centre = case.certificate, case.given, case.parts, case.centre
    along = [_dot(row, centre[part]) for row, part in zip(given, parts, strict=True)]
    totals = [sum(one for one, part in zip(along, parts, strict=True) if part == place) for place in range(len(centre))]
    shares = [one / totals[part] if case.shared else Fraction(1) for one, part in zip(along, parts, strict=True)]
    _require(min(shares) > 0, "a part is zero, or looks away from its neuron")
    away = Fraction(0)
    merged = [[-entry for entry in row] for row in centre]
    for row, part, share in zip(given, parts, shares, strict=True):
        away += sum((one - share * two) ** 2 for one, two in zip(row, centre[part], strict=True))
        merged[part] = [one + two for one, two in zip(merged[part], row, strict=True)]
    distance = Interval.of(away, case.network.slopes.bits).root().least + inner
    _require(
        distance <= Fraction(certificate.distance) + Fraction(1, 10**certificate.digits), "the point is further away"
    )
    if outer is not None:
        _require(sum(_dot(row, row) for row in merged) <= outer**2, "the point is outside of the radius of uniqueness")


def _dot(first: list[Fraction], second: list[Fraction]) -> Fraction:
    return sum((one * two for one, two in zip(first, second, strict=True)), Fraction(0))


def _kinds(index: int, parameters: int, zero: bool, excess: Fraction, realizable: bool) -> tuple[str, ...]:
    """Return the names of what a critical point is."""
    if index:
        return ("saddle",) if index < parameters else ("maximum",)
    if zero:
        return ("global minimum",)
    return ("spurious minimum", "minimum") if excess > 0 and realizable else ("minimum",)
