r"""From measured to proved: certificates of critical points by ball arithmetic.

The point is brought closer to a critical point by Newton's method with many digits, rounded to decimals, and the
conditions of `tutelage.geometry.enclosure` are verified there with the formulas of `tutelage.geometry.balls`, in which
every rounding error is inside a ball. What is proved holds for the loss with the closed form of the duals, with the
float64 numbers of the problem (teacher, slopes, variance of the inputs, noise) taken exactly. A network with output
weights is certified up to its rescalings, as a sum of neurons with signs.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree
from scipy.optimize import linear_sum_assignment

from tutelage import checks
from tutelage._html import facts
from tutelage.activations import Activation
from tutelage.duals.piecewise_linear import PiecewiseLinear
from tutelage.dynamics.checks import deterministic
from tutelage.errors import UnsupportedCombination, invalid
from tutelage.geometry.balls import BallLoss, NotProved, Singular, exact, flint_module, frobenius
from tutelage.geometry.enclosure import Enclosure, at_least, at_most, enclosed, refined
from tutelage.geometry.families.layout import Layout
from tutelage.geometry.families.proofs import enclosed_by_symmetry, in_balls, reduced_table, refined_table
from tutelage.geometry.families.reduced import Geometry
from tutelage.geometry.script import script
from tutelage.geometry.spectrum import SymmetricOrder, symmetric_order
from tutelage.geometry.symmetry import zero_modes
from tutelage.inputs import Gaussian, Inputs
from tutelage.models import TwoLayer
from tutelage.objectives import Objective
from tutelage.objectives.population.neuron_sum import NeuronSum

if TYPE_CHECKING:
    from flint import arb, arb_mat

ProvedKind = Literal["global minimum", "spurious minimum", "minimum", "saddle", "maximum", "not proved"]

# Decimal digits of the arithmetic beyond those of the centre.
GUARD = 12

_FEWEST_DIGITS, _MOST_DIGITS = 20, 250

# The Hessian and a few matrices of its size are held in balls, each of which is an object of its own on the way.
_MOST_PARAMETERS = 1600

# Why the lowest loss is not known.
FEWER = "the lowest loss of fewer students than teachers is not known"

# Students this close to a zero of the loss that is known exactly are compared with it first.
_CLOSE = 1e-3


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What is proved of a point; build one with `certify`.

    All bounds are rounded outwards. Where nothing is proved, they are not numbers.

    Attributes:
        kind: `global minimum`, `spurious minimum` (a strict local minimum whose loss is above that of the global
            minima), `minimum` (a strict local minimum of a problem whose lowest loss is not known, or not told apart),
            `saddle`, `maximum`, or `not proved`.
        reason: Why not, or what is left open; empty if nothing is.
        centre: A student close to the critical point.
        decimals: The same in full: decimal numbers, one row per neuron. Those are meant exactly below.
        blocks: Sizes of the blocks, if `decimals` has one row per orbit of neurons only; see `FamilyPoint.table`.
        radius: The critical point is within this distance of the centre.
        unique_radius: It is the only one within this distance of the centre, and the Hessian has the same index in the
            whole ball; around a minimum, the loss is strictly convex there.
        distance: The critical point is within this distance of the given point.
        loss: Bounds of the loss of the critical point.
        excess: Bounds of its loss above half the variance of the noise.
        smallest_eigenvalue: Bounds of the smallest eigenvalue of the Hessian at the critical point.
        index: Number of negative eigenvalues.
        gradient_norm: Bound of the gradient's norm at the centre.
        least_curvature: No eigenvalue at the centre has a smaller absolute value.
        lipschitz: Lipschitz constant of the Hessian in the ball of radius `unique_radius`.
        digits: Decimal digits of the centre.
        problem: The problem in words.
    """

    kind: ProvedKind
    reason: str
    centre: PyTree = field(repr=False)
    decimals: tuple[tuple[str, ...], ...] = field(default=(), repr=False)
    blocks: str = ""
    radius: float = math.nan
    unique_radius: float = math.nan
    distance: float = math.nan
    loss: tuple[float, float] = (math.nan, math.nan)
    excess: tuple[float, float] = (math.nan, math.nan)
    smallest_eigenvalue: tuple[float, float] = (math.nan, math.nan)
    index: int | None = None
    gradient_norm: float = math.nan
    least_curvature: float = math.nan
    lipschitz: float = math.nan
    digits: int
    problem: str
    _loss: BallLoss | None = field(default=None, repr=False, compare=False)

    @property
    def proved(self) -> bool:
        """Whether it is proved that there is a critical point, and of which index."""
        return self.kind != "not proved"

    def __str__(self) -> str:
        """Return the theorem with the numbers of its proof, to be checked with any arithmetic of many digits."""
        if not self.proved:
            return f"Not proved: {self.reason}.\nProblem: {self.problem}."
        rows = "\n".join(f"  ({', '.join(row)})" for row in self.decimals)
        note = f" ({self.reason})" if self.reason else ""
        convex = " The loss is strictly convex there." if self.index == 0 else ""
        return (
            f"Theorem ({self.kind}){note}.\n"
            f"Problem: {self.problem}.\n"
            f"Let c be the {self._rows}\n{rows}\n"
            f"There is exactly one critical point within R = {_below(self.unique_radius)} of c.{convex}\n"
            f"It is within r = {_above(self.radius)} of c, its loss is in {_interval(self.loss)},\n"
            f"and its Hessian has {self.index} negative eigenvalues, none that is zero, and the smallest in "
            f"{_interval(self.smallest_eigenvalue)}.\n"
            "Proof: At c the gradient's norm is at most "
            f"g = {_above(self.gradient_norm)}, and no eigenvalue of the Hessian is in the interval (-m, m) with "
            f"m = {_below(self.least_curvature)}.\n"
            f"Within R of c the Hessian has the Lipschitz constant K = {_above(self.lipschitz)}.\n"
            "The conditions of Newton and Kantorovich hold: K R < m, g + K R^2/2 <= m R, and g + K r^2/2 <= m r."
        )

    def script(self) -> str:
        """Return a program that checks the certificate with mpmath alone, from the definition of the loss.

        It is run with `python`, prints what holds, and ends with code 0 if everything does. It takes the whole Hessian:
        seconds for six neurons, minutes for twenty.

        Raises:
            InvalidArgument: If nothing is proved, or the certificate has the distinct entries of its centre only.
        """
        if not self.proved or self.blocks or self._loss is None:
            reason = "nothing is proved" if not self.proved else "the centre is not written out"
            raise invalid("certificate", "be a proof with its centre in full", reason, "Use `tutelage.certify`")
        return script(self, self.decimals, self._loss)

    @property
    def _rows(self) -> str:
        if not self.blocks:
            return "student with the rows"
        return (
            f"student that is constant on blocks of {self.blocks} teachers, with these rows, one for each orbit of "
            "neurons:\nentries at the blocks and, last, at a neuron's own teacher"
        )

    def _repr_html_(self) -> str:
        def interval(bounds: tuple[float, float]) -> str | None:
            return _interval(bounds, digits=10) if self.proved else None

        def number(value: float) -> float | None:
            return value if self.proved else None

        return facts(
            f"Proved: {self.kind}" if self.proved else "Not proved",
            {
                "problem": self.problem,
                "reason" if not self.proved else "note": self.reason or None,
                "loss": interval(self.loss),
                "smallest eigenvalue": interval(self.smallest_eigenvalue),
                "index": self.index,
                "distance from the centre, at most": number(self.radius),
                "the only one within": number(self.unique_radius),
                "distance from the given point, at most": number(self.distance),
                "digits": self.digits,
            },
        )


def _above(value: float, digits: int = 17) -> str:
    """Return a decimal number of so many digits that is not below a float, and closest to it.

    Not `repr`, which is a number that the float is closest to, and may be on either side of it.
    """
    return _shown(value, Context(prec=digits, rounding=ROUND_CEILING))


def _below(value: float, digits: int = 17) -> str:
    """Return a decimal number of so many digits that is not above a float, and closest to it."""
    return _shown(value, Context(prec=digits, rounding=ROUND_FLOOR))


def _shown(value: float, context: Context) -> str:
    return str(context.create_decimal_from_float(value).normalize(context)).lower()


def _interval(bounds: tuple[float, float], digits: int = 17) -> str:
    return f"[{_below(bounds[0], digits)}, {_above(bounds[1], digits)}]"


def certify(objective: Objective, point: PyTree, digits: int = 50) -> Certificate:
    r"""Prove that there is exactly one critical point near a point, and what it is, by ball arithmetic.

    Newton's method with many digits brings the point close to a critical point; Newton–Kantorovich's theorem, with
    gradient, Hessian and its Lipschitz constant enclosed in Arb balls, proves that there is one, where it is, its index
    and bounds of its loss. Of symmetric students of twelve ReLU neurons or more only the distinct entries are computed
    with (see `tutelage.geometry.families.proofs`). A global minimum is proved by finding the teacher itself in the ball
    in which there is one critical point only.

    Needs python-flint, the extra `certify`.

    Args:
        objective: The population loss of a `neuron`, a `committee` or a `two_layer` network that learns its output
            weights, with two slopes (ReLU, leaky ReLU, absolute value), under a rotation-invariant law; without biases,
            constant and scale. Weight decay may be on all that is learned.
        point: A student near a critical point.
        digits: Decimal digits of the centre, 20 to 250; bounds of position and loss are about as good.

    Returns:
        The certificate; of a network with output weights, on the quotient by its rescalings: its centre has output
        weights ±1, and vectors that stand for all their multiples. With weight decay it stands for the one among them
        that decay leaves where it is, with $\lambda\|w\|^2 = \lambda'a^2$. Its kind is `not proved` where the proof
        does not succeed: far from a critical point, with more than 1,600 parameters and no symmetries, or where the
        Hessian is singular, as at points that a rotation moves and at the global minima of more students than teachers.

    Raises:
        UnsupportedCombination: If the loss has no ball arithmetic here.
        InvalidArgument: If the point does not fit the problem, or the number of digits is out of range.
        MissingDependency: If python-flint is not installed.
    """
    deterministic(objective)
    objective, loss = ball_loss(objective)
    point = objective.problem.student.canonical(objective.problem.point(point))
    loss = replace(loss, signs=_signs(objective, point))
    checked_digits(digits)
    vectors = np.asarray(jax.device_get(objective.problem.student.vectors(point)))
    flint_module()
    problem = _described(objective, loss, vectors)
    if loss.signs is not None and not loss.signs.all():
        reason = "an output weight is zero, where rescalings move a neuron that computes nothing"
        return Certificate(kind="not proved", reason=reason, centre=point, digits=digits, problem=problem)
    zero = _zero_of_loss(loss, vectors)
    if zero is not None:
        with contextlib.suppress(NotProved, UnsupportedCombination):
            return _certificate(objective, loss, point, vectors, zero, digits, problem)
    try:
        return _certificate(objective, loss, point, vectors, None, digits, problem)
    except UnsupportedCombination as failure:
        return Certificate(kind="not proved", reason=str(failure), centre=point, digits=digits, problem=problem)
    except NotProved as failure:
        reason = _explained(failure, objective, point, loss, vectors.shape[0])
        return Certificate(kind="not proved", reason=reason, centre=point, digits=digits, problem=problem)


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


def checked_digits(digits: int) -> int:
    """Return a number of decimal digits, or raise if it is out of range."""
    if not _FEWEST_DIGITS <= checks.count("digits", digits) <= _MOST_DIGITS:
        raise invalid("digits", f"be between {_FEWEST_DIGITS} and {_MOST_DIGITS}", digits, "Pass 50, for instance")
    return digits


def ball_loss(objective: Objective) -> tuple[NeuronSum, BallLoss]:
    """Return a population loss of neurons, and the same in ball arithmetic.

    Raises:
        UnsupportedCombination: If there is none.
    """
    problem = objective.problem
    models = (problem.student, problem.teacher)
    plain = all(isinstance(model, TwoLayer) and _certifiable(model) for model in models)
    if not (isinstance(objective, NeuronSum) and plain):
        raise UnsupportedCombination(
            "Certificates are for population losses of the neuron and committee problems, and of networks that learn "
            f"their output weights, without biases, constant and scale, not for {_named(objective)}."
        )
    rates = tuple(float(rate) for rate in problem.decay or ())
    if not all(rates):
        raise UnsupportedCombination(
            "Certificates with weight decay are for decay of both the vectors and the output weights: with one of them "
            "alone rescalings lower the loss for ever, and there is no critical point."
        )
    activation: Activation = problem.student.activation  # type: ignore[attr-defined]
    duals = (objective.student_duals[0][0], objective.teacher_duals[0][0], objective.own_duals[0][0])
    left, right = (float(activation.derivative(jnp.asarray(side))) for side in (-1.0, 1.0))
    scale = _variance(problem.inputs)
    if scale is None or not all(_agrees(dual, left, right, scale) for dual in duals):
        raise UnsupportedCombination(
            "Certificates are for activations with two slopes (relu, leaky_relu, abs, linear) under a centred, "
            f"rotation-invariant law, not for {activation.name} under {problem.inputs.name}."
        )
    teacher = np.asarray(jax.device_get(problem.teacher.vectors(objective.target)))
    outputs = problem.teacher.parts(objective.target).output  # type: ignore[attr-defined]
    outputs = None if outputs is None else np.asarray(outputs)
    return objective, BallLoss(teacher, left, right, scale, float(problem.noise), outputs=outputs, decay=rates)


def _certifiable(model: TwoLayer) -> bool:
    """Whether a model is a sum of neurons with two slopes, up to rescalings of those that it learns."""
    learns = "weights" in model.learn and not {"biases", "constant"} & {*model.learn}
    return learns and model.scale is None and all(part is None for part in model.fixed)


def _signs(objective: NeuronSum, point: PyTree) -> np.ndarray | None:
    """Return the output weights of a student of which each neuron is the representative of its rescalings."""
    student = objective.problem.student
    assert isinstance(student, TwoLayer)
    output = student.parts(point).output
    return None if output is None else np.asarray(output)


def _named(objective: Objective) -> str:
    kind = type(objective).__name__
    return f"the {objective.problem.name} problem" if isinstance(objective, NeuronSum) else f"an objective `{kind}`"


def _variance(inputs: Inputs) -> float | None:
    """Return the variance of each coordinate under a law that rotations do not change."""
    if isinstance(inputs, Gaussian):
        return inputs.variance
    return inputs.radial_moment(2) / inputs.dimension if inputs.symmetry == "rotation" else None


def _agrees(dual: object, left: float, right: float, scale: float) -> bool:
    """Whether a dual is the one of these slopes, up to rounding."""
    odd, even = scale * ((right + left) / 2) ** 2, scale * ((right - left) / 2) ** 2
    error = 1e-14 * (odd + even)
    return isinstance(dual, PiecewiseLinear) and bool(
        odd + even > 0 and abs(float(dual.odd) - odd) <= error and abs(float(dual.even) - even) <= error
    )


def _described(objective: NeuronSum, loss: BallLoss, students: np.ndarray) -> str:
    problem = objective.problem
    activation: Activation = problem.student.activation  # type: ignore[attr-defined]
    number, dimension = loss.teacher.shape
    axes = np.array_equal(loss.teacher, np.eye(number, dimension))
    rows = "; ".join("(" + ", ".join(repr(float(entry)) for entry in row) + ")" for row in loss.teacher)
    teachers = f"the first {number} coordinate axes" if axes else f"the rows {rows}"
    signs = "" if loss.signs is None else f", with output weights {loss.signs.tolist()} up to rescaling,"
    outputs = "" if loss.outputs is None else f" with output weights {loss.outputs.tolist()}"
    decay = f", weight decay {' and '.join(map(repr, loss.decay))}" if loss.decay else ""
    return (
        f"{students.shape[0]} students{signs} with slopes {loss.left!r} and {loss.right!r} ({activation.name}) "
        f"in dimension {dimension} learn {number} teachers, {teachers}{outputs}, under {problem.inputs.name} with "
        f"variance {loss.scale!r}, label noise {loss.noise!r}{decay}"
    )


def _zero_of_loss(loss: BallLoss, students: np.ndarray) -> np.ndarray | None:
    """Return a student close to the given one whose loss above the noise is exactly zero, if one is found.

    It has the vectors of the teacher, in another order and with other signs: these do not matter for an even
    activation, and for others if the vectors with a minus sign add up to zero, because only odd parts change.
    """
    if (
        loss.decay
        or students.shape != loss.teacher.shape
        or (loss.outputs is not None and (np.abs(loss.outputs) != 1).any())
    ):
        return None
    mine, theirs = (np.ones(len(students)) if signs is None else signs for signs in (loss.signs, loss.outputs))
    other = np.where(mine[:, None] == theirs, 0.0, 1e3)  # a neuron with another sign is another one
    plus, minus = (np.linalg.norm(students[:, None] - sign * loss.teacher, axis=-1) for sign in (1, -1))
    rows, columns = linear_sum_assignment(np.minimum(plus, minus) ** 2 + other)
    if other[rows, columns].any():
        return None
    negative = minus[rows, columns] < plus[rows, columns]
    found = np.where(negative[:, None], -1.0, 1.0) * loss.teacher[columns]
    signed = mine.min() < 0 and negative.any()
    same = loss.left == -loss.right or (not signed and all(math.fsum(column) == 0 for column in found[negative].T))
    return found if same and np.linalg.norm(students - found) <= _CLOSE else None


def _certificate(
    objective: NeuronSum,
    loss: BallLoss,
    point: PyTree,
    vectors: np.ndarray,
    zero: np.ndarray | None,
    digits: int,
    problem: str,
) -> Certificate:
    """Prove what the critical point near a point is; near a zero of the loss, that it is this one.

    Raises:
        NotProved: If that does not succeed.
    """
    with flint_module().ctx.workdps(digits + GUARD):
        order = _order(objective, loss, point)
        if order is None:
            require_certifiable(vectors.size)
            proof = _dense(loss, vectors, zero, digits)
        else:
            proof = _symmetric(order, vectors, zero, digits)
        away = at_most(frobenius(balls_of(proof.decimals) - exact(vectors)))
        centre = np.array([[float(entry) for entry in row] for row in proof.decimals])
        left_open = "the lowest loss with weight decay is not known" if loss.decay else ""
        if vectors.shape[0] < loss.teacher.shape[0]:
            left_open = FEWER
        return assembled(
            proof,
            away,
            loss.lowest(),
            zero is not None,
            left_open,
            centre=objective.problem.student.with_vectors(point, jnp.asarray(centre)),
            digits=digits,
            problem=problem,
            _loss=loss,
        )


class Proof(NamedTuple):
    """What is enclosed at a centre.

    Attributes:
        decimals: The centre, one row per neuron, or per orbit of neurons.
        found: The critical point's enclosure.
        excess: Its loss above half the variance of the noise.
    """

    decimals: tuple[tuple[str, ...], ...]
    found: Enclosure
    excess: arb


def _order(objective: NeuronSum, loss: BallLoss, point: PyTree) -> SymmetricOrder | None:
    """Return the order in which a point is block-constant, where there are formulas for it: ReLU, unit variance."""
    plain = (loss.left, loss.right, loss.scale) == (0.0, 1.0, 1.0) and not loss.decay
    plain = plain and loss.signs is None and loss.outputs is None
    known = np.array_equal(loss.teacher, np.eye(*loss.teacher.shape))
    return symmetric_order(objective, point) if plain and known else None


def _dense(loss: BallLoss, vectors: np.ndarray, zero: np.ndarray | None, digits: int) -> Proof:
    """Return what is proved from the whole Hessian."""
    if zero is None:
        units = refined(loss, vectors, digits)
        decimals = tuple(tuple(_decimal(entry, digits) for entry in row) for row in units)
    else:
        decimals = _exact_decimals(zero)
    students = balls_of(decimals)
    # A zero of the loss is a critical point: no loss is smaller.
    found = enclosed(loss, students, critical=zero is not None)
    return Proof(decimals, found, loss.excess(students) + _spread(found) if zero is None else flint_module().arb(0))


def _symmetric(order: SymmetricOrder, vectors: np.ndarray, zero: np.ndarray | None, digits: int) -> Proof:
    """Return what is proved from the distinct entries of a block-constant student."""
    layout = Layout(tuple(float(size) for size in order.sizes), tuple(range(len(order.sizes))))
    place = np.ix_(order.students, order.teachers)
    proof = symmetric_proof(
        layout, reduced_table(layout, (vectors if zero is None else zero)[place]), zero is not None, digits
    )
    rows = np.empty(vectors.shape, object)
    rows[place] = layout.matrix(np.array(proof.decimals, object))
    return proof._replace(decimals=tuple(map(tuple, rows.tolist())))


def symmetric_proof(layout: Layout, table: np.ndarray, critical: bool, digits: int) -> Proof:
    """Return what is proved of the critical point near a table, in full space; the decimals are those of the table.

    Args:
        layout: Blocks and orbits of whole sizes.
        table: A table close to the critical point, or that of the teacher itself.
        critical: Whether it is the teacher.
        digits: Decimal digits.
    """
    layout = in_balls(layout)
    if critical:
        decimals = _exact_decimals(table)
    else:
        units = refined_table(layout, table, digits)
        decimals = tuple(tuple(_decimal(entry, digits) for entry in row) for row in units)
    centre = np.array(balls_of(decimals).tolist(), object)
    found = enclosed_by_symmetry(layout, centre, critical)
    arb = flint_module().arb
    return Proof(decimals, found, arb(0) if critical else Geometry(layout, centre).loss() + _spread(found))


def assembled(proof: Proof, away: float, lowest: arb, zero: bool, left_open: str, **described: Any) -> Certificate:
    """Return the certificate of what is proved.

    Args:
        proof: What is enclosed at the centre.
        away: The given point is within this distance of the centre.
        lowest: Half the variance of the noise.
        zero: Whether the centre is a zero of the loss above that.
        left_open: Why the lowest loss of all students is not known; empty where it is `lowest`.
        described: Centre, digits and problem.

    Raises:
        NotProved: If the given point is outside the ball in which there is one critical point only.
    """
    found, excess = proof.found, proof.excess
    if away > found.unique_radius:
        raise NotProved(
            f"the critical point that Newton's method finds is {away:.3g} away, further than the "
            f"{found.unique_radius:.3g} within which it is the only one"
        )
    least = max(at_least(excess), 0.0)
    kind, reason = _kind(found, least > 0, zero, left_open)
    total = lowest + excess
    return Certificate(
        kind=kind,
        reason=reason,
        decimals=proof.decimals,
        radius=found.radius,
        unique_radius=found.unique_radius,
        distance=at_most(flint_module().arb(away) + flint_module().arb(found.radius)),
        loss=(max(at_least(total), at_least(lowest)), at_most(total)),
        excess=(least, at_most(excess)),
        smallest_eigenvalue=(float(found.eigenvalues[0, 0]), float(found.eigenvalues[0, 1])),
        index=found.index,
        gradient_norm=found.gradient_norm,
        least_curvature=found.least_curvature,
        lipschitz=found.lipschitz,
        **described,
    )


def _exact_decimals(values: np.ndarray) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(format(Decimal(float(entry)), "f") for entry in row) for row in values)


def balls_of(decimals: tuple[tuple[str, ...], ...]) -> arb_mat:
    """Return decimals as balls that contain them."""
    flint = flint_module()

    def ball(text: str) -> arb:
        fraction = Fraction(text)
        return flint.arb(flint.fmpq(fraction.numerator, fraction.denominator))

    return flint.arb_mat([[ball(entry) for entry in row] for row in decimals])


def _decimal(units: int, digits: int) -> str:
    """Return a whole number of units of `10^-digits` as a decimal number."""
    text = f"{abs(units):0{digits + 1}d}"
    return f"{'-' if units < 0 else ''}{text[:-digits]}.{text[-digits:]}"


def _spread(found: Enclosure) -> arb:
    """Return a ball around zero that contains the difference of the losses of the critical point and of the centre.

    By Taylor's formula around the critical point, where the gradient is zero.
    """
    ball = flint_module().arb
    curvature = ball(float(np.abs(found.eigenvalues).max())) + ball(found.lipschitz) * ball(found.radius)
    return ball(0, (curvature * ball(found.radius) ** 2 / 2).upper())


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


def _explained(failure: NotProved, objective: NeuronSum, point: PyTree, loss: BallLoss, students: int) -> str:
    """Return why a proof did not succeed, with what is known of a singular Hessian."""
    reason = str(failure)
    if isinstance(failure, Singular):
        moved = zero_modes(objective, point).get("rotations", 0)
        if moved:
            reason += f"; rotations that fix the teacher move the point in {moved} directions without changing the loss"
        elif students > loss.teacher.shape[0]:
            reason += "; with more students than teachers, critical points may form a continuum"
    return reason
