r"""From measured to proved: certificates of critical points by ball arithmetic.

The point is brought closer to a critical point by Newton's method with many digits, rounded to decimals, and the
conditions of `tutelage.geometry.enclosure` are verified there with the formulas of `tutelage.geometry.balls` and
`tutelage.geometry.lipschitz`, in which every rounding error is inside a ball. What is proved holds for the loss with
the closed form of the duals, with the float64 numbers of the problem (teacher, slopes, mean and variance of the inputs,
scales, decay, noise) taken exactly. A network with output weights is certified up to its rescalings, as a sum of
neurons with signs.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jaxtyping import PyTree

from tutelage import checks
from tutelage.dynamics.checks import deterministic
from tutelage.errors import UnsupportedCombination, invalid
from tutelage.geometry.ball_arithmetic import (
    NotProved,
    Singular,
    balls,
    balls_of,
    exact,
    exact_decimals,
    flint_module,
    frobenius,
)
from tutelage.geometry.ball_losses import LossInBalls
from tutelage.geometry.certificate import Certificate, ProvedKind
from tutelage.geometry.enclosure import Enclosure, at_least, at_most, enclosed, refined
from tutelage.geometry.families.arithmetic import square
from tutelage.geometry.families.layout import Layout
from tutelage.geometry.families.proofs import enclosed_by_symmetry, in_balls, reduced_table, refined_table
from tutelage.geometry.families.recognition import Recognised, recognised
from tutelage.geometry.shares import merged_loss, merged_parts, parts_of, shared_zero, whole_teacher, with_parts
from tutelage.geometry.stated import ball_loss, described
from tutelage.geometry.symmetry import zero_modes
from tutelage.models.base import Neuronwise
from tutelage.objectives import Objective

if TYPE_CHECKING:
    from flint import arb

    from tutelage.geometry.families.points import FamilyPoint

# A centre: decimal numbers, one row per neuron, or per orbit of neurons; and what is enclosed around it.
Decimals = tuple[tuple[str, ...], ...]
Proof = tuple[Decimals, Enclosure]

# Decimal digits of the arithmetic beyond those of the centre.
_GUARD = 12

_FEWEST_DIGITS, _MOST_DIGITS = 20, 250

# The Hessian and a few matrices of its size are held in balls, each of which is an object of its own on the way.
_MOST_PARAMETERS = 1600

# Why the lowest loss is not known.
_FEWER = "the lowest loss of fewer students than teachers is not known"
_OTHERS = "no student is known to compute the teacher, so that the lowest loss is not known"
_DECAYED = "the lowest loss with weight decay is not known"

# Students this close to a zero of the loss that is known exactly are compared with it first.
_CLOSE = 1e-3

# A table this close to that of the teacher may be the teacher's.
_CLOSE_TABLE = 1e-6


def certify(objective: Objective, point: PyTree, digits: int = 50) -> Certificate:
    r"""Prove that there is exactly one critical point near a point, and what it is, by ball arithmetic.

    Newton's method with many digits brings the point close to a critical point; Newton–Kantorovich's theorem, with
    gradient, Hessian and its Lipschitz constant enclosed in Arb balls, proves that there is one, where it is, its index
    and bounds of its loss. Of symmetric students of twelve ReLU neurons or more only the distinct entries are computed
    with (see `tutelage.geometry.families.proofs`). A global minimum is proved by finding the teacher itself in the ball
    in which there is one critical point only.

    Needs python-flint, the extra `certify`.

    Args:
        objective: The population loss of a `neuron`, a `committee` or a `two_layer` network that learns its vectors
            and, if it has them, output weights and biases, with two slopes (ReLU, leaky ReLU, absolute value), under a
            rotation-invariant law; with biases, or inputs with a mean, under a Gaussian law of one variance. There may
            be weight decay, and a scale, but no output constant.
        point: A student near a critical point.
        digits: Decimal digits of the centre, 20 to 250; bounds of position and loss are about as good.

    Returns:
        The certificate; of a network with output weights, on the quotient by its rescalings: its centre has output
        weights ±1, and vectors and biases that stand for all their multiples. With weight decay it stands for the one
        among them that decay leaves where it is, with $\lambda\|w\|^2 = \lambda'a^2$. Its kind is `not proved` where
        the proof does not succeed: far from a critical point, with more than 1,600 parameters and no symmetries, or
        where the Hessian is singular, as at points that a rotation moves. Where students are parallel, what is proved
        is proved of the whole continuum of students that share their neurons (see `tutelage.geometry.shares`), and of
        global minima of more students than teachers that one is as close as `Certificate.distance`.

    Raises:
        UnsupportedCombination: If the loss has no ball arithmetic here.
        InvalidArgument: If the point does not fit the problem, or the number of digits is out of range.
        MissingDependency: If python-flint is not installed.
    """
    deterministic(objective)
    problem = objective.problem
    student = problem.student
    point = student.canonical(problem.point(point))
    loss = ball_loss(objective, point)
    _checked_digits(digits)
    assert isinstance(student, Neuronwise)
    vectors = np.asarray(jax.device_get(student.rows(point)))
    about = {"digits": digits, "problem": described(objective, loss, vectors)}
    flint = flint_module()
    try:
        with flint.ctx.workdps(digits + _GUARD):
            proof = _proof(loss, vectors, digits, student.contains(point, problem.teacher, problem.target))
            centre = proof.pop("centre", None)
            found = point if centre is None else student.with_rows(point, jnp.asarray(centre))
            return Certificate(centre=found, **proof, **about, _loss=loss)
    except (NotProved, UnsupportedCombination) as failure:
        reason = _explained(failure, objective, point, loss, vectors.shape[0])
        return Certificate(kind="not proved", reason=reason, centre=point, **about)


def certified_point(point: FamilyPoint, digits: int) -> Certificate:
    """Prove what a point of a family is; see `FamilyPoint.certify`."""
    layout, digits = point.whole_layout(), _checked_digits(digits)
    students = layout.members[: len(layout.owners)].sum()
    problem = (
        f"{students:.0f} students with slopes 0.0 and 1.0 (relu) in dimension {point.neurons:.0f} learn "
        f"{point.neurons:.0f} teachers, the coordinate axes, under standard Gaussian inputs"
    )
    about = {"centre": point.table, "digits": digits, "problem": problem}
    # Close to the teacher, where there is one student for each of its neurons, the table is compared with it first.
    alike = layout.owners == tuple(range(layout.blocks))
    zero = alike and bool(np.abs(point.table - layout.teachers).max() <= _CLOSE_TABLE)
    flint = flint_module()
    with flint.ctx.workdps(digits + _GUARD):
        try:
            proof = _symmetric_proof(layout, layout.teachers if zero else point.table, zero, digits)
            difference = np.array(balls_of(proof[0]).tolist(), object) - balls(point.table)
            away = at_most((balls(layout.weights) * square(difference)).sum().nonnegative_part().sqrt())
            left_open = "" if students >= point.neurons else _FEWER
            numbers = _assembled(proof, away, flint.arb(0), zero, left_open)
            return Certificate(**numbers, **about, blocks="+".join(f"{size:.0f}" for size in layout.sizes))
        except NotProved as failure:
            return Certificate(kind="not proved", reason=str(failure), **about)


def require_certifiable(parameters: int) -> None:
    """Refuse what no certificate can be made of, whatever the point, if it has no symmetries.

    Raises:
        UnsupportedCombination: If there are too many parameters.
        MissingDependency: If python-flint is not installed.
    """
    flint_module()
    if parameters > _MOST_PARAMETERS:
        raise UnsupportedCombination(
            f"Certificates without symmetries are for at most {_MOST_PARAMETERS} parameters, not {parameters}: "
            "they need the whole Hessian in ball arithmetic."
        )


def _checked_digits(digits: int) -> int:
    """Return a number of decimal digits, or raise if it is out of range."""
    if not _FEWEST_DIGITS <= checks.count("digits", digits) <= _MOST_DIGITS:
        raise invalid("digits", f"be between {_FEWEST_DIGITS} and {_MOST_DIGITS}", digits, "Pass 50, for instance")
    return digits


def _zero_of_loss(loss: LossInBalls, students: np.ndarray) -> Decimals | None:
    """Return a student close to the given one whose loss above the noise is exactly zero, if one is found.

    It has the vectors of the teacher, times the sizes of its output weights, in another order and with other signs:
    these do not matter for an even activation, and for others if the vectors with a minus sign add up to zero, because
    only odd parts change.
    """
    number, dimension = loss.teacher.shape
    if loss.decay is not None or students.shape != (number, dimension) or loss.factors[0] != loss.factors[1]:
        return None
    exactly = whole_teacher(loss)
    teachers = exactly.astype(float)
    mine, theirs = (np.ones(len(students)) if signs is None else signs for signs in (loss.signs, loss.outputs))
    other = np.where(np.sign(mine)[:, None] == np.sign(theirs), 0.0, 1e3)  # a neuron with another sign is another one
    plus, minus = (np.linalg.norm(students[:, None] - sign * teachers, axis=-1) for sign in (1, -1))
    rows, columns = scipy.optimize.linear_sum_assignment(np.minimum(plus, minus) ** 2 + other)
    if other[rows, columns].any():
        return None
    negative = minus[rows, columns] < plus[rows, columns]
    found = np.where(negative[:, None], -1, 1) * exactly[columns]
    signed = mine.min() < 0 and negative.any()
    same = loss.left == -loss.right or (not signed and all(sum(column) == 0 for column in found[negative].T))
    if not same or np.linalg.norm(students - found.astype(float)) > _CLOSE:
        return None
    return exact_decimals(found)


def _proof(loss: LossInBalls, vectors: np.ndarray, digits: int, contained: bool) -> dict[str, Any]:
    """Return the numbers of a certificate of the critical point near a student.

    Args:
        loss: The loss.
        vectors: The student.
        digits: Decimal digits.
        contained: Whether some student is known to compute the teacher.

    Raises:
        NotProved: If there is no proof.
        UnsupportedCombination: If the Hessian is too large.
    """
    if loss.signs is not None and not loss.signs.all():
        raise NotProved("an output weight is zero, where rescalings move a neuron that computes nothing")
    left_open = "" if contained else _OTHERS
    if vectors.shape[0] < loss.teacher.shape[0]:
        left_open = _FEWER
    elif loss.decay is not None:
        left_open = _DECAYED
    if loss.decay is not None:  # which tells apart what neurons may share
        return _isolated(loss, vectors, None, digits, left_open)
    zero = _zero_of_loss(loss, vectors)
    if zero is not None:
        with contextlib.suppress(NotProved, UnsupportedCombination):
            return _isolated(loss, vectors, zero, digits, left_open)
    shared = shared_zero(loss, vectors)
    if shared is not None:
        return shared
    parts = parts_of(loss, vectors)
    if parts is None:
        return _isolated(loss, vectors, None, digits, left_open)
    merged = merged_loss(loss, parts)
    proof = _isolated(merged, merged_parts(vectors, parts), None, digits, left_open)
    return with_parts(proof, merged, vectors, parts)


def _isolated(
    loss: LossInBalls, vectors: np.ndarray, zero: Decimals | None, digits: int, left_open: str
) -> dict[str, Any]:
    """Prove what the critical point near a student is; near a zero of the loss, that it is this one."""
    found = _recognised(loss, vectors)
    if found is None:
        require_certifiable(vectors.size)
        proof = _dense(loss, vectors, zero, digits)
    else:
        proof = _symmetric(found, vectors, zero, digits)
    away = at_most(frobenius(balls_of(proof[0]) - exact(vectors)))
    centre = np.array(proof[0], float)
    return {**_assembled(proof, away, loss.lowest(), zero is not None, left_open), "centre": centre}


def _recognised(loss: LossInBalls, vectors: np.ndarray) -> Recognised | None:
    """Return the layout of a symmetric student, where there are formulas for it: ReLU, unit variance, nothing else."""
    numbers = (loss.left, loss.right, loss.scale, loss.factors) == (0.0, 1.0, 1.0, (1.0, 1.0))
    plain = all(part is None for part in (loss.decay, loss.signs, loss.outputs, loss.mean)) and not loss.biased
    known = np.array_equal(loss.teacher, np.eye(loss.teacher.shape[1]))
    return recognised(vectors) if numbers and plain and known else None


def _dense(loss: LossInBalls, vectors: np.ndarray, zero: Decimals | None, digits: int) -> Proof:
    """Return what is proved from the whole Hessian."""
    decimals = _decimals(refined(loss, vectors, digits), digits) if zero is None else zero
    return decimals, enclosed(loss, balls_of(decimals), zero is not None)


def _symmetric(found: Recognised, vectors: np.ndarray, zero: Decimals | None, digits: int) -> Proof:
    """Return what is proved from the distinct entries of a block-constant student."""
    layout, place = found.layout, np.ix_(found.students, found.teachers)
    table = reduced_table(layout, (vectors if zero is None else np.array(zero, float))[place])
    decimals, enclosure = _symmetric_proof(layout, table, zero is not None, digits)
    rows = np.empty(vectors.shape, object)
    rows[place] = layout.matrix(np.array(decimals, object))
    return tuple(map(tuple, rows.tolist())), enclosure


def _symmetric_proof(layout: Layout, table: np.ndarray, zero: bool, digits: int) -> Proof:
    """Return what is proved of the critical point near a table, in full space; the decimals are those of the table.

    Args:
        layout: Blocks and orbits of whole sizes.
        table: A table close to the critical point, or that of the teacher itself.
        zero: Whether it is the teacher.
        digits: Decimal digits.
    """
    layout = in_balls(layout)
    decimals = exact_decimals(table) if zero else _decimals(refined_table(layout, table, digits), digits)
    return decimals, enclosed_by_symmetry(layout, np.array(balls_of(decimals).tolist(), object), zero)


def _assembled(proof: Proof, away: float, lowest: arb, zero: bool, left_open: str) -> dict[str, Any]:
    """Return the numbers of the certificate of what is proved.

    Args:
        proof: What is enclosed at the centre.
        away: The given point is within this distance of the centre.
        lowest: Half the variance of the noise.
        zero: Whether the centre is a zero of the loss above that.
        left_open: Why the lowest loss of all students is not known; empty where it is `lowest`.

    Raises:
        NotProved: If the given point is outside the ball in which there is one critical point only.
    """
    decimals, found = proof
    if away > found.unique_radius:
        raise NotProved(
            f"the critical point that Newton's method finds is {away:.3g} away, further than the "
            f"{found.unique_radius:.3g} within which it is the only one"
        )
    least = max(at_least(found.excess), 0.0)
    kind, reason = _kind(found, least > 0, zero, left_open)
    total = lowest + found.excess
    same = ("radius", "unique_radius", "index", "gradient_norm", "least_curvature", "lipschitz")
    return {
        "kind": kind,
        "reason": reason,
        "decimals": decimals,
        "distance": at_most(flint_module().arb(away) + flint_module().arb(found.radius)),
        "loss": (max(at_least(total), at_least(lowest)), at_most(total)),
        "excess": (least, at_most(found.excess)),
        "smallest_eigenvalue": (float(found.eigenvalues[0, 0]), float(found.eigenvalues[0, 1])),
        **{name: getattr(found, name) for name in same},
    }


def _decimals(units: list[list[int]], digits: int) -> Decimals:
    """Return whole numbers of units of `10^-digits` as decimal numbers."""

    def decimal(number: int) -> str:
        text = f"{abs(number):0{digits + 1}d}"
        return f"{'-' if number < 0 else ''}{text[:-digits]}.{text[-digits:]}"

    return tuple(tuple(map(decimal, row)) for row in units)


def _kind(found: Enclosure, above_zero: bool, zero: bool, left_open: str) -> tuple[ProvedKind, str]:
    """Return the kind, and what is left open."""
    if 0 < found.index < found.parameters:
        return "saddle", ""
    if found.index:
        return "maximum", ""
    if zero:
        return "global minimum", ""
    if left_open:
        return "minimum", left_open
    if not above_zero:
        return "minimum", "whether its loss is the lowest one is left open"
    return "spurious minimum", ""


def _explained(failure: Exception, objective: Objective, point: PyTree, loss: LossInBalls, students: int) -> str:
    """Return why a proof did not succeed, with what is known of a singular Hessian."""
    reason = str(failure)
    if isinstance(failure, Singular):
        moved = zero_modes(objective, point).get("rotations", 0)
        if moved:
            reason += f"; rotations that fix the teacher move the point in {moved} directions without changing the loss"
        elif students > loss.teacher.shape[0]:
            reason += "; with more students than teachers, critical points may form a continuum"
    return reason
