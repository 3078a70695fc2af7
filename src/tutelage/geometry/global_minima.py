r"""The global minima of a committee: Theorem 1 of the mild over-parameterization paper.

For a teacher $\sum_i\sigma(v_i\cdot x)$ with linearly independent $v_i$ and $\sigma(z) = pz + q|z|$, $q \ne 0$, a
student of the same form has loss zero exactly if the neurons are divided among the teachers, $w_j = \alpha_jv_{i(j)}$
with $\alpha_j \ge 0$ and $\sum_{j: i(j) = i}\alpha_j = 1$ for every $i$. (A function of this form has a kink along
$v^\perp$ for every direction $v$ with a neuron, and the kinks determine the masses; the linear part, a multiple of
$p\sum_j w_j$, then forbids negative $\alpha_j$ because the $v_i$ are independent.) The paper states it for ReLU and
orthonormal teachers. For $p = 0$, the absolute value, $w_j = \pm\alpha_jv_{i(j)}$. Where a neuron is weighted by its
norm, $\|w_j\|w_j$ takes the place of $w_j$.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tutelage.activations import Activation
from tutelage.checks import affordable, count, finite_array, flag, positive, random_seed, sequence
from tutelage.errors import UnsupportedCombination, invalid
from tutelage.models import Neuronwise
from tutelage.problems import Problem
from tutelage.problems.problem import checked_problem


class Partition(NamedTuple):
    """How the neurons of a global minimum are divided among the teachers.

    Attributes:
        owners: The teacher of every neuron, from zero.
        weights: The share of every neuron; the shares of a teacher's neurons sum to one.
    """

    owners: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class GlobalMinima:
    """The set of global minima of a problem; build one with `global_minima`.

    Attributes:
        problem: The problem.
    """

    problem: Problem = field(repr=False)
    _teacher: np.ndarray = field(repr=False)
    _student: Neuronwise = field(repr=False)
    _even: bool = field(repr=False)

    @property
    def students(self) -> int:
        """Number of student neurons."""
        return _students(self.problem)

    @property
    def teachers(self) -> int:
        """Number of teacher neurons."""
        return len(self._teacher)

    @property
    def dimension(self) -> int:
        """Dimension of the set: the number of students beyond the number of teachers."""
        return self.students - self.teachers

    def partition(self, point: Any, tolerance: float = 1e-6) -> Partition | None:
        """Return how a point divides its neurons among the teachers, or `None` if it is no global minimum.

        Args:
            point: A student.
            tolerance: Largest distance of a neuron from its teacher's ray, and of a sum of shares from one.
        """
        tolerance = positive("tolerance", tolerance)
        rows = np.asarray(self._student.weights(self._student.rows(self.problem.point(point))))
        norms = np.linalg.norm(self._teacher, axis=1)
        units = self._teacher / norms[:, None]
        along = rows @ units.T
        along = np.abs(along) if self._even else np.maximum(along, 0.0)
        distances = np.sqrt(np.maximum((rows**2).sum(axis=1)[:, None] - along**2, 0.0))
        owners = np.argmin(distances, axis=1)
        every = np.arange(len(rows))
        # The difference of squares above loses digits; the distance to the chosen ray is taken again.
        signs = np.sign((rows * units[owners]).sum(axis=1)) if self._even else np.ones(len(rows))
        apart = np.linalg.norm(rows - (signs * along[every, owners])[:, None] * units[owners], axis=1)
        weights = along[every, owners] / norms[owners]
        sums = np.bincount(owners, weights=weights, minlength=self.teachers)
        if apart.max() > tolerance or np.abs(sums - 1.0).max() > tolerance:
            return None
        return Partition(owners, weights)

    def contains(self, point: Any, tolerance: float = 1e-6) -> bool:
        """Whether a point is a global minimum; arguments as in `partition`."""
        return self.partition(point, tolerance) is not None

    def point(self, owners: Any, weights: Any) -> Float[Array, "student dim"]:
        """Return the global minimum of a partition.

        Args:
            owners: The teacher of every neuron, from zero; every teacher has at least one neuron.
            weights: The share of every neuron, not negative; those of a teacher's neurons sum to one.
        """
        teachers = sequence("owners", owners, f"{self.students} whole numbers")
        owners = np.array([count("owners", teacher, least=0, most=self.teachers - 1) for teacher in teachers], int)
        weights = np.asarray(finite_array("weights", weights, dimensions=1))
        if owners.shape != (self.students,):
            raise invalid("owners", f"be {self.students} whole numbers", f"{owners!r}", "Name a teacher per neuron")
        if weights.shape != owners.shape or (weights < 0).any():
            raise invalid(
                "weights", f"be {self.students} numbers, none negative", f"{weights!r}", "Pass one per neuron"
            )
        sums = np.bincount(owners, weights=weights, minlength=self.teachers)
        if np.abs(sums - 1.0).max() > 1e-9:
            raise invalid("weights", "sum to one for every teacher", f"sums {sums}", "Rescale them")
        rows = self._student.rows_of(jnp.asarray(weights[:, None] * self._teacher[owners]))
        return self._student.with_rows(self.problem.zero(), rows)

    def sample(self, number: int, seed: int = 0, differentiable: bool = True) -> Float[Array, "number student dim"]:
        """Return random global minima: random partitions, shares uniform on their simplices.

        Args:
            number: How many.
            seed: Seed.
            differentiable: Whether every neuron has a share; otherwise each spare one is zero with probability ½.
        """
        number, differentiable = count("number", number), flag("differentiable", differentiable)
        affordable("number", number, number * self.problem.parameters, "so many minima")
        random = np.random.default_rng(random_seed("seed", seed))
        points = []
        for _ in range(number):
            owners = np.concatenate(
                [np.arange(self.teachers), random.integers(self.teachers, size=self.students - self.teachers)]
            )
            weights = random.exponential(size=self.students)
            if not differentiable:
                weights[self.teachers :] *= random.integers(2, size=self.students - self.teachers)
            sums = np.bincount(owners, weights=weights, minlength=self.teachers)
            order = random.permutation(self.students)
            points.append(self.point(owners[order], (weights / sums[owners])[order]))
        return jnp.stack(points)


def global_minima(problem: Problem) -> GlobalMinima:
    """Return the set of global minima of a committee, or of homogeneous neurons, with at least as many students.

    Args:
        problem: A `committee` or `homogeneous` problem (without signs and linear term), with ReLU, leaky ReLU or the
            absolute value, a linearly independent teacher, and inputs around zero in all directions: a Gaussian that
            is not singular, a spherical law, a box with zero inside, or a mixture with such a component.

    Raises:
        UnsupportedCombination: For other problems, where this form of the minima is not known to be right.
        InvalidArgument: If there are fewer students than teachers, so that no student has the lowest loss.
    """
    checked_problem(problem)
    student = problem.student
    if not (isinstance(student, Neuronwise) and _has_kinks(student, problem)):
        raise UnsupportedCombination(
            f"The form of the global minima is known for committees and homogeneous neurons with two slopes, under "
            f"inputs around zero in all directions, not for this {problem.name} problem under {problem.inputs.name}."
        )
    teacher = np.asarray(problem.teacher.vectors(problem.target))
    if np.linalg.matrix_rank(teacher) < len(teacher):
        raise UnsupportedCombination("The form of the global minima is known for linearly independent teachers only.")
    if (students := _students(problem)) < len(teacher):
        raise invalid(
            "problem",
            "have at least as many students as teachers",
            f"{students} students and {len(teacher)} teachers",
            "Add students",
        )
    return GlobalMinima(problem, teacher, student, student.activation.parity == "even")


def _students(problem: Problem) -> int:
    assert isinstance(problem.student, Neuronwise)
    return problem.student.rows(problem.zero()).shape[0]


def _has_kinks(student: Neuronwise, problem: Problem) -> bool:
    """Whether the student is one group of neurons with coefficient one and two slopes, whose kinks the inputs show."""
    groups = student.neurons(problem.zero())
    equals = len(groups) == 1 and bool(jnp.all(groups[0].coefficients == 1))
    return equals and _bent(student.activation) and problem.inputs.surrounds_zero


def _bent(activation: Activation) -> bool:
    """Whether the two slopes differ, and their mean is not zero unless the activation is even."""
    if activation.elements is None or not {element.kind for element in activation.elements} <= {"identity", "absolute"}:
        return False
    right, left = float(activation(jnp.asarray(1.0))), float(activation(jnp.asarray(-1.0)))
    return right + left != 0 and (activation.parity == "even" or right != left)
