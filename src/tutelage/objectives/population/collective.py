r"""The part of a committee's Hessian that grows with its number of neurons, in closed form.

With $\sigma(z) = pz + q|z|$ the student $\sum_ic_i\sigma(w_i\cdot x)$ is a linear function of $\sum_ic_iw_i$ and an
even one that depends mostly on $\sum_i c_i\|w_i\|$. Where all neurons move together these two change by as much as
all of them: for a move $U$ of the weights,

$$AU = p^2\,c\,(c^\top U) + \tfrac2\pi q^2\,\langle R, U\rangle R, \qquad R = (c_i\hat w_i)_i.$$

The first term is part of the Hessian exactly; the second is all of the even part where neurons are orthogonal, up to
terms that do not grow. With $n$ neurons $A$ has eigenvalues of order $n$ and rank $d + 1$, and what remains of the
Hessian is of order one. It acts on $cv^\top$, $v \in \mathbb R^d$, and on $R$ without its mean $q$: the plane of
$cu^\top$, $u = R^\top c$, and $q$ has two eigenvalues of its own, the others are $p^2|c|^2$.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tutelage.duals.norms import polar
from tutelage.duals.piecewise_linear import PiecewiseLinear
from tutelage.duals.special import quotient
from tutelage.models import Neuronwise
from tutelage.objectives.base import Objective
from tutelage.objectives.population.neuron_sum import NeuronSum


class Coordinates(NamedTuple):
    """What a move $U$ of all weights is along the collective modes, each unit vector apart."""

    mean: Float[Array, " dim"]  # along c
    first: Float[Array, ""]  # in the plane, along cuᵀ
    second: Float[Array, ""]  # in the plane, along q

    def changed(self, other: "Coordinates", factor: Any = 1.0) -> "Coordinates":
        """Return these coordinates plus a factor times others."""
        return Coordinates(*(one + factor * two for one, two in zip(self, other, strict=True)))


class Collective(NamedTuple):
    r"""The collective curvature $A$ at a student, as modes and eigenvalues.

    Attributes:
        neurons: The unit vector along the coefficients.
        directions: The matrix $R$.
        mean: The row $u$, of $R$ along the coefficients.
        radial_length: The norm of $q$, which is $R$ less the row times the unit vector.
        turn: Cosine and sine of the angle between $cu^\top$ and the first eigenvector in the plane.
        curvatures: The eigenvalues: two in the plane, then that of all other modes.
    """

    neurons: Float[Array, " neuron"]
    directions: Float[Array, "neuron dim"]
    mean: Float[Array, " dim"]
    radial_length: Float[Array, ""]
    turn: tuple[Float[Array, ""], Float[Array, ""]]
    curvatures: Float[Array, "3"]

    def coordinates(self, move: Float[Array, "neuron dim"]) -> Coordinates:
        """Return what a move is along the modes."""
        mean = jnp.sum(self.neurons[:, None] * move, axis=0)
        along = mean @ self.mean
        radial = quotient(jnp.sum(self.directions * move) - along, self.radial_length)
        return Coordinates(mean, quotient(along, jnp.linalg.norm(self.mean)), radial)

    def function(self, elsewhere, values: Float[Array, "3"], move: Coordinates) -> Coordinates:
        """Return a function of $A$ applied to a move, less `elsewhere` times that move: it is along the modes.

        Args:
            elsewhere: The function at zero.
            values: The function at the eigenvalues.
            move: The move.
        """
        cosine, sine = self.turn
        one = values[0] * (cosine * move.first + sine * move.second)
        other = values[1] * (cosine * move.second - sine * move.first)
        first = cosine * one - sine * other - values[2] * move.first
        second = sine * one + cosine * other - elsewhere * move.second
        return Coordinates((values[2] - elsewhere) * move.mean, first, second)

    def expanded(self, move: Coordinates) -> Float[Array, "neuron dim"]:
        """Return the move along the modes that has these coordinates, `first` beside `mean`."""
        radial = quotient(move.second, self.radial_length)
        row = move.mean + (quotient(move.first, jnp.linalg.norm(self.mean)) - radial) * self.mean
        return self.neurons[:, None] * row + radial * self.directions


def has_collective(objective: Objective) -> bool:
    """Whether an objective is the population loss of neurons with two slopes whose weights are all that is learned."""
    if not isinstance(objective, NeuronSum) or objective.biased or objective.problem.decay is not None:
        return False
    student, dual = objective.problem.student, objective.student_duals[0][0]
    return (
        isinstance(student, Neuronwise)
        and student.plain
        and student.fixed_coefficients
        and len(objective.student_duals) == 1
        and isinstance(dual, PiecewiseLinear)
        and [len(shape) for shape in objective.problem.template[1]] == [2]
    )


def collective(objective: Objective, weights: Float[Array, "neuron dim"]) -> Collective:
    """Return the collective curvature at a student of an objective that has one."""
    assert isinstance(objective, NeuronSum)
    dual = objective.student_duals[0][0]
    assert isinstance(dual, PiecewiseLinear)
    coefficients = objective._groups(weights)[0].coefficients
    even = (2 / np.pi) * dual.even
    length = jnp.linalg.norm(coefficients)
    neurons = quotient(coefficients, length)
    directions = coefficients[:, None] * polar(weights)[1]
    mean = jnp.sum(neurons[:, None] * directions, axis=0)
    mean_square = mean @ mean
    # The rows of R are as long as the coefficients, those of zero neurons apart.
    radial_square = jnp.maximum(jnp.sum(directions**2) - mean_square, 0.0)
    rest = dual.odd * length**2
    corner, last = rest + even * mean_square, even * radial_square
    beside = even * jnp.sqrt(mean_square * radial_square)
    angle = 0.5 * jnp.arctan2(2 * beside, corner - last)
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    cross = 2 * beside * cosine * sine
    plane = corner * cosine**2 + cross + last * sine**2, corner * sine**2 - cross + last * cosine**2
    return Collective(neurons, directions, mean, jnp.sqrt(radial_square), (cosine, sine), jnp.stack([*plane, rest]))
