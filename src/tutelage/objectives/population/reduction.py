"""Working in the span of a start and the teacher, whatever the dimension of the inputs."""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from tutelage.arrays import of_jax, row_of
from tutelage.inputs import Gaussian, gaussian
from tutelage.instant import map_rows
from tutelage.models import Model
from tutelage.objectives.base import Objective, Reduction
from tutelage.objectives.tiles import in_tiles
from tutelage.points import template_of

# Most runs, and most numbers, that a compiled program takes at once.
_RUNS, _NUMBERS = 64, 1 << 16


def _teacher_coordinates(vectors: Float[Array, "teacher dim"]) -> tuple[Array, Array]:
    """Return an orthonormal basis of the teacher's span (rows) and the teacher's coordinates in it.

    An orthonormal teacher becomes the first coordinate axes exactly, which saves two matrix products a step.
    """
    # In NumPy: operation by operation, every shape of a teacher would be a dozen programs.
    rows = np.asarray(vectors)
    if rows.shape[0] <= rows.shape[1] and np.array_equal(rows @ rows.T, np.eye(rows.shape[0])):
        return vectors, of_jax(np.eye(rows.shape[0]))
    basis, coordinates = np.linalg.qr(rows.T)
    return of_jax(basis.T), of_jax(coordinates.T)


def reduced_to_span(objective: Objective, points: PyTree, teachers: PyTree = None) -> Reduction:
    """Return an objective, and a batch of students, in the span of the teacher and of each student.

    Args:
        objective: An objective that sees vectors only through their norms and angles.
        points: A batch of students, runs first.
        teachers: A teacher for each of them in place of the objective's, if they have some.
    """
    student, teacher = objective.problem.student, objective.problem.teacher
    if teachers is None:
        basis, coordinates = _teacher_coordinates(teacher.vectors(objective.target))
        # Along the basis first, then along axes of each student's own.
        reduced, extras = in_tiles(_reduce, _tile(points), (student, basis), points)
        padded = np.pad(np.asarray(coordinates), ((0, 0), (0, basis.shape[0] + extras.shape[1] - coordinates.shape[1])))
        target = teacher.with_vectors(objective.target, of_jax(padded))
    else:
        basis, rows = of_jax(np.zeros((0, objective.problem.dimension))), (points, teachers)
        reduced, teachers, extras = in_tiles(_reduce_both, _tile(rows), (student, teacher), rows)
        target = row_of(teachers, 0)
    moved = in_coordinates(objective, target, jax.tree.map(lambda leaf: leaf[0], reduced))

    def lift(reduced_points, runs):
        rows = (reduced_points, extras[np.asarray(runs)])
        return jax.tree.map(of_jax, in_tiles(_lift, _tile(rows), (student, basis), rows))

    return Reduction(moved, reduced, lift, teachers)


def in_coordinates(objective: Objective, target: PyTree, point: PyTree) -> Objective:
    """Return an objective that sees norms and angles alone in other coordinates.

    Args:
        objective: The objective.
        target: The teacher's parameters in the new coordinates.
        point: A student in the new coordinates; only its shapes count.
    """
    problem = objective.problem
    inputs = problem.inputs
    if isinstance(inputs, Gaussian) and inputs.standard:
        # The law is known there too: one program then serves all dimensions.
        inputs = gaussian(problem.teacher.vectors(target).shape[1])
    problem = dataclasses.replace(problem, target=target, inputs=inputs, template=template_of(point))
    return dataclasses.replace(objective, problem=problem, target=target)


def _tile(rows: PyTree) -> int:
    """Return how many rows a compiled program takes at once."""
    numbers = sum(leaf.size // len(leaf) for leaf in jax.tree.leaves(rows))
    return 2 ** round(math.log2(min(max(_NUMBERS / numbers, 1), _RUNS)))


# One run after another: the starts may be a million dimensions wide.
@eqx.filter_jit
def _reduce(student: Model, basis: Float[Array, "axis dim"], points: PyTree) -> tuple[PyTree, Array]:
    """Return students in the span of the basis and of themselves, and the axes that are theirs alone."""

    def one(point):
        vectors = student.vectors(point)
        along = vectors @ basis.T
        # Twice: what the first projection leaves of the basis is rounding error, removed by the second.
        rest = vectors - along @ basis
        rest = rest - (rest @ basis.T) @ basis
        extra, coordinates = jnp.linalg.qr(rest.T)
        reduced = jnp.concatenate([along, coordinates.T], axis=1)
        return student.with_vectors(point, reduced), extra.T

    return map_rows(one, points)


@eqx.filter_jit
def _reduce_both(student: Model, teacher: Model, rows: tuple[PyTree, PyTree]) -> tuple[PyTree, PyTree, Array]:
    """Return students and their teachers in the span of both, and the axes of these coordinates."""

    def one(row):
        point, target = row
        taught = teacher.vectors(target)
        axes, coordinates = jnp.linalg.qr(jnp.concatenate([taught, student.vectors(point)]).T)
        teachers, students = jnp.split(coordinates.T, [taught.shape[0]])
        return student.with_vectors(point, students), teacher.with_vectors(target, teachers), axes.T

    return map_rows(one, rows)


@eqx.filter_jit
def _lift(student: Model, basis: Float[Array, "axis dim"], rows: tuple[PyTree, Array]) -> PyTree:
    """Return students in the original coordinates, given the axes that are theirs alone."""

    def one(row):
        point, extra = row
        vectors = student.vectors(point)
        axes = basis.shape[0]
        return student.with_vectors(point, vectors[:, :axes] @ basis + vectors[:, axes:] @ extra)

    return map_rows(one, rows)
