"""The spectrum of the Hessian at a point: dense for small students, its ends by Lanczos for large ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy  # its parts are imported where they are used, and take a while
from jax.flatten_util import ravel_pytree
from jaxtyping import PyTree

from tutelage.checks import count, one_of
from tutelage.dynamics.checks import deterministic
from tutelage.dynamics.vectors import as_student, as_vector
from tutelage.errors import TutelageError
from tutelage.geometry.equivalence import reference_of
from tutelage.geometry.families.isotypes import isotypes
from tutelage.geometry.families.layout import Layout
from tutelage.geometry.families.recognition import recognised
from tutelage.models import Neuronwise
from tutelage.objectives import Objective
from tutelage.objectives.population.neuron_sum import NeuronSum
from tutelage.objectives.population.reduction import in_coordinates

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

# A dense spectrum of so many parameters takes seconds; ten thousand would take minutes and 800 MB.
DENSE_LIMIT = 2600

# How a spectrum can be taken.
HOW = ("auto", "dense", "ends")

# Eigenvalues found at the lower end of a large spectrum.
_ENDS = 8


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of the Hessian at a point.

    Attributes:
        eigenvalues: All eigenvalues, or those found at both ends, in increasing order.
        complete: Whether these are all. Otherwise the smallest few and the largest one are listed; Lanczos finds
            the ends of a spectrum reliably, but may miss repetitions of an eigenvalue.
        parameters: Number of parameters.
    """

    eigenvalues: np.ndarray
    complete: bool
    parameters: int

    @property
    def smallest(self) -> float:
        """The smallest eigenvalue."""
        return float(self.eigenvalues[0])

    @property
    def largest(self) -> float:
        """The largest eigenvalue."""
        return float(self.eigenvalues[-1])

    @property
    def scale(self) -> float:
        """The largest absolute value of an eigenvalue."""
        return max(abs(self.smallest), abs(self.largest))


# Parameters up to which products with the Hessian are taken by NumPy: so few are needed that a compilation would take
# longer.
_NUMPY_PRODUCTS = 2500


@eqx.filter_jit
def _linearized(objective: Objective, point: PyTree):
    flat, unravel = ravel_pytree(point)
    # What depends on the point alone is computed once, not once a product. The linear map is a pytree of arrays and
    # leaves this function as such, so that one compiled program serves all points.
    return jax.linearize(lambda flat: ravel_pytree(objective.gradient(unravel(flat)))[0], flat)[1]


@jax.jit
def _apply(linear, vector):
    return linear(vector)


def hessian_product(objective: Objective, point: PyTree) -> Callable[[np.ndarray], np.ndarray]:
    """Return what multiplies a vector by the Hessian at a point, without forming it."""
    if _size(point) <= _NUMPY_PRODUCTS:
        point = jax.tree.map(np.asarray, point)
        return lambda vector: as_vector(objective.hessian_vector(point, as_student(vector, point)))
    linear = _linearized(objective, point)
    return lambda vector: np.asarray(_apply(linear, jnp.asarray(vector.reshape(-1))))


def hessian_operator(objective: Objective, point: PyTree) -> LinearOperator:
    """Return the Hessian at a point as a SciPy operator, by Hessian–vector products."""
    product = hessian_product(objective, point)
    return scipy.sparse.linalg.LinearOperator((_size(point),) * 2, matvec=product, dtype=np.float64)  # type: ignore


def _size(point: PyTree) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(point))


def spectrum(
    objective: Objective,
    point: PyTree,
    how: Literal["auto", "dense", "ends"] = "auto",
    number: int = _ENDS,
) -> Spectrum:
    """Return the spectrum of the Hessian at a point.

    Where a loss sees inner products only and the inputs have more dimensions than there are vectors, the Hessian is
    taken in the span of student and teacher and along one axis beside it, which stands for all others.

    Args:
        objective: A deterministic objective; the Hessian of a `stream` is random.
        point: The student.
        how: `dense` for all eigenvalues, `ends` for the smallest few and the largest one by Lanczos' method on
            Hessian–vector products (no matrix is formed). `auto` takes all eigenvalues of a symmetric point of a
            committee from a few such products, and else `dense` up to 2,600 parameters (in the span).
        number: How many eigenvalues `ends` finds at the lower end.

    Raises:
        InvalidArgument: If the objective draws samples at every call.
        TutelageError: If Lanczos' method does not converge.
    """
    deterministic(objective)
    one_of("how", how, HOW)
    number = count("number", number)
    point = objective.problem.point(point)
    size = _size(point)
    if how != "ends" and (beside := _beside_the_span(objective, point)) is not None:
        inner, reduced, copies = beside
        if _size(reduced) <= DENSE_LIMIT or how == "dense":
            return Spectrum(_with_copies(inner, reduced, copies), True, size)
    if how == "auto" and (values := _by_symmetry(objective, point)) is not None:
        return Spectrum(values, True, size)
    if how == "dense" or (how == "auto" and size <= DENSE_LIMIT) or size <= 2 * number + 2:
        return Spectrum(np.linalg.eigvalsh(np.asarray(objective.hessian(point))), True, size)
    linalg, operator = scipy.sparse.linalg, hessian_operator(objective, point)
    start = np.random.default_rng(0).normal(size=size)  # fixed, so that the outcome is
    try:
        options = {"which": "LA", "v0": start, "tol": 1e-10, "return_eigenvectors": False}
        largest = float(linalg.eigsh(operator, k=1, **options)[0])  # type: ignore[arg-type]
        lowest = float(linalg.eigsh(-operator, k=1, **(options | {"tol": 1e-2}))[0])  # type: ignore[arg-type]
        # Shifted, so that the tolerance is relative to the scale of the spectrum and not to eigenvalues near zero.
        shift = 1.05 * max(largest, -lowest, 1e-300)
        identity = linalg.LinearOperator((size, size), matvec=lambda vector: shift * vector, dtype=np.float64)  # type: ignore
        lower = shift - linalg.eigsh(identity - operator, k=number, **options)  # type: ignore[arg-type]
    except linalg.ArpackNoConvergence as error:
        raise TutelageError(
            'Lanczos\' method did not converge on the Hessian. Pass how="dense" for all eigenvalues.'
        ) from error
    return Spectrum(np.sort(np.append(lower, largest)), False, size)


def _beside_the_span(objective: Objective, point: PyTree) -> tuple[Objective, PyTree, int] | None:
    """Return objective and student in their span and one axis beside it, and how many axes that one stands for."""
    student, teacher = objective.problem.student, objective.problem.teacher
    symmetry = student.symmetry(point)
    if symmetry is None or symmetry.patchwise or not objective.span_suffices:
        return None
    dimension = objective.problem.dimension
    vectors, teachers = student.vectors(point).shape[0], teacher.vectors(objective.target).shape[0]
    if vectors + teachers + 1 >= dimension:
        return None
    reduction = objective.reduced(jax.tree.map(lambda leaf: leaf[None], point))
    reduced = jax.tree.map(lambda leaf: leaf[0], reduction.points)
    rows = student.vectors(reduced)

    def padded(matrix):
        return jnp.pad(matrix, ((0, 0), (0, 1)))

    target = reduction.objective.target
    wide = teacher.with_vectors(target, padded(teacher.vectors(target)))
    beside = student.with_vectors(reduced, padded(rows))
    inner = in_coordinates(reduction.objective, wide, beside)
    return inner, beside, dimension - rows.shape[1]


def _by_symmetry(objective: Objective, point: PyTree) -> np.ndarray | None:
    """Return all eigenvalues at a symmetric point of a committee whose teachers are all coordinate axes.

    Returns:
        `None` where there are no symmetries, or too few to be worth it.
    """
    student = objective.problem.student
    if not (isinstance(student, Neuronwise) and isinstance(objective, NeuronSum) and objective.axes):
        return None
    vectors, frame = np.asarray(student.vectors(point)), reference_of(objective)
    if objective.problem.parameters != vectors.size or frame.teacher is None:
        return None  # numbers besides the vectors, or inputs that are not the same in all directions
    if len(frame.teacher) != vectors.shape[1] or len(set(frame.rows.tolist())) > 1:
        return None
    found = recognised(vectors, frame.columns)
    if found is None:
        return None
    # Where the entries of a student in the order of the blocks stand in this one.
    places = np.ravel_multi_index(np.ix_(found.students, found.teachers), vectors.shape).ravel()
    back, product = np.argsort(places), hessian_product(objective, point)
    return symmetric_spectrum(lambda vector: product(vector[back])[places], found.layout)


def symmetric_spectrum(product: Callable[[np.ndarray], np.ndarray], layout: Layout) -> np.ndarray | None:
    """Return all eigenvalues, with repetitions, of a symmetric matrix that commutes with permutations within blocks.

    By Schur's lemma it has one eigenvalue, repeated as often as the dimension says, for each copy of a type of
    representations (`tutelage.geometry.families.isotypes`): about four times the squared number of blocks products
    suffice, and show whether the spans of these vectors are invariant.

    Args:
        product: Returns the matrix times a vector, whose entries are those of a student read row by row.
        layout: Blocks and orbits, in the order in which they stand.

    Returns:
        The eigenvalues in increasing order, or `None` where the matrix does not commute with the permutations.

    Reference:
        Y. Arjevani and M. Field use these symmetries to study the spectra of this problem's minima.
    """
    found = []
    worst = scale = 0.0
    for kind in isotypes(layout):
        vectors = kind.vectors()
        images = np.array([product(vector) for vector in vectors])
        small = images @ vectors.T
        worst = max(worst, float(np.abs(images - small @ vectors).max()))
        values = np.linalg.eigvalsh(0.5 * (small + small.T))
        scale = max(scale, float(np.abs(values).max()))
        found.append(np.repeat(values, round(kind.dimension)))
    return np.sort(np.concatenate(found)) if worst <= 1e-6 * scale else None


def _with_copies(objective: Objective, reduced: PyTree, copies: int) -> np.ndarray:
    """Return all eigenvalues, given the Hessian in the span and along one axis that stands for several."""
    number, axes = objective.problem.student.vectors(reduced).shape
    hessian = np.asarray(objective.hessian(reduced))
    # The vectors come first. By symmetry under reflections their last axis does not mix with anything else.
    place = np.arange(len(hessian))
    last = (place % axes == axes - 1) & (place < number * axes)
    inside, beside = (np.linalg.eigvalsh(hessian[np.ix_(chosen, chosen)]) for chosen in (~last, last))
    return np.sort(np.concatenate([inside, np.repeat(beside, copies)]))
