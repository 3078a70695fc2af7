"""What is known of the lowest loss of a problem without searching for it."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tutelage.geometry.polish import values_at
from tutelage.models import Committee, Homogeneous, LearnedComposite, NeuronModel
from tutelage.objectives import Empirical, Objective, Stream
from tutelage.problems import Problem


class Floor(NamedTuple):
    """A lower bound of the loss.

    Attributes:
        loss: The bound.
        attained: Whether some student is known to attain it, so that it is the loss of the global minima.
        scale: The size of losses, against which a tolerance is measured: the loss of the zero student.
    """

    loss: float
    attained: bool
    scale: float


def lowest_loss(objective: Objective) -> Floor:
    """Return a lower bound of the loss: half the noise variance, or zero for a fixed sample.

    It is attained where the student can compute the teacher: a committee with at least as many students as
    teachers, for instance. With fewer, the loss of the global minima is not known.
    """
    problem = objective.problem
    if isinstance(objective, Stream):
        return Floor(0.5 * float(problem.noise) ** 2, False, 1.0)
    if isinstance(objective, Empirical):
        loss, attained = float(objective.offset), _contains_teacher(problem)
        if attained:
            taught = problem.teacher.predict(problem.target, objective.inputs)
            attained = bool(jnp.allclose(objective.labels, taught, rtol=0, atol=1e-12))
    else:
        loss, attained = 0.5 * float(problem.noise) ** 2, _contains_teacher(problem)
    zero = jax.tree.map(lambda leaf: np.zeros(leaf.shape), problem.template_tree())
    scale = float(values_at(objective, zero)[0]) - loss
    return Floor(loss, attained, scale if np.isfinite(scale) and scale > 0 else 1.0)


def _contains_teacher(problem: Problem) -> bool:
    """Whether some student computes the teacher's function."""
    student, teachers = problem.student, problem.teacher.vectors(problem.target).shape[0]
    if isinstance(student, LearnedComposite):
        return False  # only approximately, with enough units
    if isinstance(student, Homogeneous):
        matrix = problem.template[1][0]
        positive = matrix[0] if student.signs is None else int(jnp.sum(student.signs > 0))
        return positive >= teachers
    if isinstance(student, Committee) or (isinstance(student, NeuronModel) and teachers > 1):
        return problem.template[1][0][0] >= teachers
    return True
