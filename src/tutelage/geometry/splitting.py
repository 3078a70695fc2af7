r"""Splitting a neuron in two, merging two into one, and the way down from a split minimum.

A neuron's output $\varphi(w, x)$ is homogeneous of some degree $p$ in $w$: one for a committee of ReLU neurons, two
for the student $\|w\|\,\sigma(w\cdot x)$. Replacing $w$ by $f^{1/p}w$ and $(1-f)^{1/p}w$ then changes nothing of the
function. With the residual $r = \text{student} - \text{teacher}$ the Hessian's block of neuron $i$ is

$$H_{ii} = E[\nabla\varphi\,\nabla\varphi^\top] + H'_{ii},\qquad H'_{ii} = E[r\,\nabla^2\varphi(w_i, x)].$$

The mild over-parameterization paper (Section 4) prints $H'_{ii} = H_{ii} - \tfrac12I$ for ReLU, where the first term
is $\tfrac12I$. Along $(f^{-(p-1)/p}u, -(1-f)^{-(p-1)/p}u)$ in the two halves the first-order changes of the function
cancel, and the second derivative of the loss is $u^\top H'_{ii}u/(f(1-f))$: a negative eigenvalue of $H'_{ii}$ turns
the minimum into a saddle (the paper's Theorem 9 and Lemma 13, for $p = 1$). Where output weights are learned, these are
divided, $fa$ and $(1-f)a$, whatever the activation, and the direction is $(u/f, -u/(1-f))$, as for $p \to \infty$.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from tutelage.arrays import of_jax
from tutelage.checks import between, count, finite_array, finite_number, not_negative, positive
from tutelage.dynamics.checks import checked_objective
from tutelage.errors import invalid
from tutelage.geometry.matching import line_angles
from tutelage.instant import instantly
from tutelage.models import Layers, Neuronwise, WithLinear
from tutelage.objectives import Objective
from tutelage.points import template_of
from tutelage.problems import Problem


def degree_of(problem: Problem) -> int:
    """Return the degree of homogeneity of a neuron of the student in its parameters.

    Raises:
        InvalidArgument: If the student is not a sum of neurons that are homogeneous.
    """
    learns = isinstance(problem.student, Neuronwise) and len(problem.student.rows(problem.zero()))
    if learns and problem.decay is None and problem.student.degree is not None:  # type: ignore[attr-defined]
        return problem.student.degree  # type: ignore[attr-defined]
    raise invalid(
        "objective",
        "have a student made of homogeneous neurons, or learn output weights, without decay",
        f"a {problem.name} problem",
        "Use a committee with relu, leaky_relu, abs, linear or quadratic, the homogeneous problem, or two_layer",
    )


def neurons_of(point: Any) -> tuple[Float[Array, "student row"], Float[Array, " student"] | None, Callable]:
    """Return the rows of a student's neurons, with biases, their output weights, and what puts others there."""
    if isinstance(point, WithLinear):
        linear = finite_array("point", point.linear, dimensions=1)
        return finite_array("point", point.neurons, dimensions=2), None, lambda rows, _: WithLinear(rows, linear)
    if not isinstance(point, Layers):
        return finite_array("point", point, dimensions=2), None, lambda rows, _: rows
    weights = finite_array("point", point.weights, dimensions=2)
    learned = (point.output, point.biases)
    output, biases = (None if part is None else finite_array("point", part, dimensions=1) for part in learned)
    if biases is None:
        return weights, output, lambda rows, output: point._replace(weights=rows, output=output)
    put = lambda rows, output: point._replace(weights=rows[:, :-1], output=output, biases=rows[:, -1])  # noqa: E731
    return jnp.concatenate([weights, biases[:, None]], axis=1), output, put


def _neuron(argument: str, value: Any, students: int) -> int:
    neuron = count(argument, value, least=0)
    if neuron >= students:
        raise invalid(argument, f"be below the number {students} of neurons", str(neuron), "Neurons count from zero")
    return neuron


def split(point: PyTree, neuron: int, fraction: float = 0.5, degree: int = 1) -> PyTree:
    """Split a neuron in two parallel ones that compute the same: the student with one neuron more.

    Args:
        point: The student, `[student, dim]`, a `WithLinear` or a `Layers`, whose output weights are divided.
        neuron: Which neuron, from zero. The second part follows the first.
        fraction: The first part's share of the neuron's output, between zero and one; at either end one part is zero.
        degree: Where there are no output weights, degree of homogeneity of a neuron in its parameters: 1 for a
            committee of ReLU neurons, 2 for the `homogeneous` problem and a committee with the quadratic activation.

    Returns:
        The larger student, for an objective with one student more (see `wider`).
    """
    rows, output, put = neurons_of(point)
    neuron = _neuron("neuron", neuron, rows.shape[0])
    fraction, degree = between("fraction", fraction, 0, 1), count("degree", degree)
    shares = np.array([fraction, 1.0 - fraction])
    if output is None:
        return put(_divided(rows, neuron, shares ** (1.0 / degree)), None)
    return put(_divided(rows, neuron, np.ones(2)), _divided(output, neuron, shares))


@instantly
def _divided(rows: Float[Array, "student ..."], neuron: int, factors: Float[np.ndarray, " 2"]):
    """Return rows with two multiples of one of them in its place."""
    one = rows[neuron : neuron + 1]
    return jnp.concatenate([rows[:neuron], factors[0] * one, factors[1] * one, rows[neuron + 1 :]])


def merge(point: PyTree, first: int, second: int, degree: int = 1, tolerance: float = 1e-6) -> PyTree:
    """Merge two parallel neurons into one that computes the same: the student with one neuron less.

    Args:
        point: The student, `[student, dim]`, a `WithLinear` or a `Layers`; where there are output weights, these are
            added, and vectors and biases must be equal.
        first: One neuron, from zero.
        second: The other. The merged neuron takes the place of the earlier one.
        degree: Degree of homogeneity of a neuron in its parameters, as in `split`.
        tolerance: Largest angle between the two; a zero neuron is parallel to every other. Where there are output
            weights, largest distance of the two.

    Raises:
        InvalidArgument: If the neurons are not parallel, so that merging them would change the function.
    """
    rows, output, put = neurons_of(point)
    pair = sorted(_neuron(name, value, rows.shape[0]) for name, value in (("first", first), ("second", second)))
    if pair[0] == pair[1]:
        raise invalid("second", "be another neuron than `first`", str(second), "Choose two neurons")
    degree, tolerance = count("degree", degree), positive("tolerance", tolerance)
    one, other = np.asarray(rows[pair[0]]), np.asarray(rows[pair[1]])
    rest = np.delete(np.asarray(rows), pair[1], axis=0)
    if output is not None:
        if (distance := float(np.linalg.norm(one - other))) > tolerance:
            raise invalid(
                "second",
                f"have the vector and the bias of `first` up to {tolerance:g}",
                f"neurons at a distance of {distance:.3g}",
                "Merge neurons that are equal",
            )
        weights = np.delete(np.asarray(output), pair[1])
        weights[pair[0]] += np.asarray(output)[pair[1]]
        return put(jnp.asarray(rest), jnp.asarray(weights))
    norms = np.linalg.norm(one), np.linalg.norm(other)
    if min(norms) > 0:
        angle = line_angles(one[None], other[None], signed=True).item()
        if angle > tolerance:
            raise invalid(
                "second",
                f"be parallel to `first` up to an angle of {tolerance:g}",
                f"neurons at an angle of {angle:.3g}",
                "Merge neurons that point in one direction",
            )
    if degree == 1 or max(norms) == 0:
        merged = one + other
    else:
        # The longer one's direction: the shorter one's is known less well.
        longer = one if norms[0] >= norms[1] else other
        merged = longer * (((norms[0] / max(norms)) ** degree + (norms[1] / max(norms)) ** degree) ** (1 / degree))
    rest[pair[0]] = merged
    return put(jnp.asarray(rest), None)


def wider(objective: Objective, neuron: int = 0) -> Objective:
    """Return the same objective for students with one neuron more, as `split` makes them.

    Args:
        objective: An objective of a sum of neurons that can be split.
        neuron: Which neuron is doubled; matters only where neurons have signs.
    """
    problem = checked_objective(objective).problem
    degree_of(problem)
    student = problem.student
    assert isinstance(student, Neuronwise)  # they alone have a degree
    neuron = _neuron("neuron", neuron, student.rows(problem.zero()).shape[0])
    doubled = student.doubled(neuron)
    larger = split(problem.zero(), neuron)
    wide = replace(problem, student=doubled, template=template_of(larger))
    return eqx.tree_at(lambda one: one.problem, objective, wide)


def reduced_blocks(
    objective: Objective, point: PyTree, neurons: Sequence[int] | None = None
) -> Float[Array, "chosen dim dim"]:
    r"""Return the reduced blocks $H'_{ii} = E[r\,\nabla^2\varphi(w_i, x)]$ of neurons.

    For a ReLU committee under Gaussian inputs this is the diagonal block of the Hessian without its $\tfrac12I$. If
    $H'_{ii}$ has a negative eigenvalue at a minimum, splitting neuron $i$ makes it a saddle.

    Args:
        objective: An objective of a committee, of homogeneous neurons or of a neuron.
        point: The student.
        neurons: Which neurons, from zero; all if left out.

    Returns:
        The blocks; not a number for a zero neuron of the `homogeneous` problem, which has no second derivative.

    Raises:
        UnsupportedCombination: For other objectives.
    """
    return checked_objective(objective).neuron_curvatures(point, neurons)


@dataclass(frozen=True)
class Descent:
    """A split point and a direction of descent there.

    Attributes:
        objective: The objective with one student more.
        point: The split point; a critical point where the original one is.
        direction: A unit direction in which the loss decreases to second order.
        curvature: Second derivative of the loss along it; negative.
        neuron: The neuron that was split.
        fraction: The share of its first part.
    """

    objective: Objective = field(repr=False)
    point: PyTree = field(repr=False)
    direction: PyTree = field(repr=False)
    curvature: float
    neuron: int
    fraction: float

    def start(self, size: float) -> PyTree:
        """Return the split point moved by `size` in the direction of descent: a start from which to follow it down."""
        return _moved(self.point, np.asarray(finite_number("size", size)), self.direction)


@instantly
def _moved(point: PyTree, size: Float[np.ndarray, ""], direction: PyTree) -> PyTree:
    return jax.tree.map(lambda x, d: x + size * d, point, direction)


def descent_direction(
    objective: Objective,
    point: PyTree,
    neuron: int | None = None,
    fraction: float = 0.5,
    tolerance: float = 1e-9,
) -> Descent | None:
    """Split a neuron of a critical point and return a direction of descent there.

    Args:
        objective: An objective of a committee or of homogeneous neurons.
        point: A critical point.
        neuron: Which neuron to split; by default the one with the most negative curvature.
        fraction: Share of the first part, strictly between zero and one.
        tolerance: An eigenvalue of a reduced block counts as negative below minus this.

    Returns:
        The split point and the direction, or `None` where the reduced block has no negative eigenvalue: there, the
        Hessian shows no way down between the two parts.
    """
    degree = degree_of(checked_objective(objective).problem)
    tolerance = not_negative("tolerance", tolerance)
    fraction = between("fraction", fraction, 0, 1)
    if fraction in (0.0, 1.0):
        raise invalid("fraction", "lie strictly between zero and one", repr(fraction), "Give both parts a share")
    point = objective.problem.point(point)
    blocks = np.asarray(reduced_blocks(objective, point))
    # The norm of a zero neuron has no second derivative: it has no block, and shows no way down.
    known = np.isfinite(blocks).all(axis=(1, 2), keepdims=True)
    values, vectors = np.linalg.eigh(np.where(known, blocks, 0.0))
    chosen = int(np.argmin(values[:, 0])) if neuron is None else _neuron("neuron", neuron, len(values))
    value, direction = float(values[chosen, 0]), vectors[chosen, :, 0]
    if value >= -tolerance:
        return None
    wide = wider(objective, chosen)
    divided = split(point, chosen, fraction, degree)
    rows, output, put = neurons_of(jax.tree.map(lambda leaf: np.zeros(leaf.shape), divided))
    exponent = -(degree - 1) / degree if output is None else -1.0
    first, second = fraction**exponent, (1 - fraction) ** exponent
    length = float(np.hypot(first, second))
    moves = np.zeros(rows.shape)
    moves[chosen], moves[chosen + 1] = first / length * direction, -second / length * direction
    full = jax.tree.map(of_jax, put(moves, output))
    return Descent(wide, divided, full, value / (fraction * (1 - fraction)) / length**2, chosen, fraction)
