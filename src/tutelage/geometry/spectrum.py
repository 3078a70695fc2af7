"""The spectrum of the Hessian at a point: dense for small students, its ends by Lanczos for large ones."""

from dataclasses import dataclass
from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import PyTree
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from tutelage.checks import count, one_of
from tutelage.errors import TutelageError
from tutelage.objectives import Objective

# A dense spectrum of so many parameters takes seconds; ten thousand would take minutes and 800 MB.
DENSE_LIMIT = 2600

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


@eqx.filter_jit
def dense_hessian(objective: Objective, point: PyTree):
    """Return the dense Hessian at a point, compiled."""
    return objective.hessian(point)


@eqx.filter_jit
def _product(objective: Objective, point: PyTree, vector):
    _, unravel = ravel_pytree(point)
    return ravel_pytree(objective.hessian_vector(point, unravel(vector)))[0]


def hessian_operator(objective: Objective, point: PyTree) -> LinearOperator:
    """Return the Hessian at a point as a SciPy operator, by Hessian–vector products."""
    size = ravel_pytree(point)[0].size

    def product(vector: np.ndarray) -> np.ndarray:
        return np.asarray(_product(objective, point, jnp.asarray(vector.reshape(-1))))

    return LinearOperator((size, size), matvec=product, dtype=np.float64)  # type: ignore[call-arg]


def spectrum(
    objective: Objective,
    point: PyTree,
    how: Literal["auto", "dense", "ends"] = "auto",
    number: int = _ENDS,
) -> Spectrum:
    """Return the spectrum of the Hessian at a point.

    Args:
        objective: The objective; not a `stream`, whose Hessian is random.
        point: The student.
        how: `dense` for all eigenvalues, `ends` for the smallest few and the largest one by Lanczos' method on
            Hessian–vector products (no matrix is formed), `auto` for `dense` up to 2,600 parameters.
        number: How many eigenvalues `ends` finds at the lower end.

    Raises:
        TutelageError: If Lanczos' method does not converge.
    """
    one_of("how", how, ("auto", "dense", "ends"))
    count("number", number)
    point = objective.problem.point(point)
    size = ravel_pytree(point)[0].size
    if how == "dense" or (how == "auto" and size <= DENSE_LIMIT) or size <= 2 * number + 2:
        return Spectrum(np.linalg.eigvalsh(np.asarray(dense_hessian(objective, point))), True, size)
    operator = hessian_operator(objective, point)
    start = np.random.default_rng(0).normal(size=size)  # fixed, so that the outcome is
    try:
        lower = eigsh(operator, k=number, which="SA", v0=start, tol=1e-10, return_eigenvectors=False)  # type: ignore
        upper = eigsh(operator, k=1, which="LA", v0=start, tol=1e-10, return_eigenvectors=False)  # type: ignore
    except ArpackNoConvergence as error:
        raise TutelageError(
            'Lanczos\' method did not converge on the Hessian. Pass how="dense" for all eigenvalues.'
        ) from error
    return Spectrum(np.sort(np.concatenate([lower, upper])), False, size)
