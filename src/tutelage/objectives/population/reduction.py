"""Working in the span of a start and the teacher, whatever the dimension of the inputs."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from tutelage.models import Model


def teacher_coordinates(vectors: Float[Array, "teacher dim"]) -> tuple[Array, Array]:
    """Return an orthonormal basis of the teacher's span (rows) and the teacher's coordinates in it.

    An orthonormal teacher becomes the first coordinate axes exactly, which saves two matrix products a step.
    """
    gram = vectors @ vectors.T
    if vectors.shape[0] <= vectors.shape[1] and bool(jnp.all(gram == jnp.eye(vectors.shape[0]))):
        return vectors, jnp.eye(vectors.shape[0])
    basis, coordinates = jnp.linalg.qr(vectors.T)
    return basis.T, coordinates.T


def reduce_points(
    student: Model, points: PyTree, basis: Float[Array, "axis dim"]
) -> tuple[PyTree, int, Callable[[PyTree, Array], PyTree]]:
    """Express a batch of students in the span of a basis and of themselves.

    Args:
        student: The student's model.
        points: A batch of students, runs first.
        basis: Orthonormal rows that span the teacher.

    Returns:
        The students in the reduced coordinates (those along the basis first), the reduced dimension, and the map
        back: from reduced students and the numbers of their runs to the original coordinates.
    """

    def split(point):
        vectors = student.vectors(point)
        along = vectors @ basis.T
        # Twice: what the first projection leaves of the basis is rounding error, removed by the second.
        rest = vectors - along @ basis
        rest = rest - (rest @ basis.T) @ basis
        extra, coordinates = jnp.linalg.qr(rest.T)
        reduced = jnp.concatenate([along, coordinates.T], axis=1)
        return student.with_vectors(point, reduced), extra.T

    # One run after another: the starts may be a million dimensions wide.
    reduced, extras = jax.lax.map(split, points)
    dimension = basis.shape[0] + extras.shape[1]

    def lift(reduced_points, runs):
        def one(argument):
            point, run = argument
            vectors = student.vectors(point)
            axes = basis.shape[0]
            return student.with_vectors(point, vectors[:, :axes] @ basis + vectors[:, axes:] @ extras[run])

        return jax.lax.map(one, (reduced_points, runs))

    return reduced, dimension, lift
