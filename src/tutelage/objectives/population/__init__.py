"""The population loss, exact: in closed form, as a finite sum, or by quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import numpy as np
from jaxtyping import PyTree

from tutelage.duals import Quadrature
from tutelage.errors import InvalidArgument, UnsupportedCombination
from tutelage.inputs import Gaussian, Inputs, Mixture
from tutelage.models import Convolution, NeuronModel, Parity, Wave
from tutelage.objectives.base import Objective
from tutelage.objectives.empirical import over_support
from tutelage.objectives.population.neuron_sum import NeuronSum, neuron_sum
from tutelage.objectives.population.patches import DualsOfPatches, patch_loss, wave_loss
from tutelage.problems import Problem
from tutelage.problems.problem import checked_problem

_BUILDERS: tuple[tuple[type, Callable[[Problem, Quadrature], Objective]], ...] = (
    (NeuronModel, neuron_sum),
    (Convolution, patch_loss),
    (Parity, patch_loss),
    (Wave, wave_loss),
)


# The part of a quadrature's radius within which a Hessian has about the tolerance that the loss has up to the radius.
_INSIDE = 0.8


def population(problem: Problem, tolerance: float = 1e-10, radius: float | None = None) -> Objective:
    """The population loss of a problem, exact; nothing is sampled.

    Args:
        problem: The problem.
        tolerance: Wanted absolute error where an integral is taken by quadrature, from 1e-15 to below 1.
        radius: Largest norm of a student's weight vector, in units of the input's standard deviation (of the widest
            component of a mixture), for which the tolerance is wanted; by default one and a half times the largest
            norm of the teacher's, at least 3. Only quadratures use it; `error_estimate` tells the error at a point.

    Returns:
        The objective; its `exactness` says how the expectation is taken.

    Raises:
        UnsupportedCombination: If the expectation has no closed form and no quadrature here.
    """
    problem = checked_problem(problem)
    quadrature = Quadrature(tolerance, _default_radius(problem) if radius is None else radius)
    if isinstance(problem.student, NeuronModel) and (atoms := problem.inputs.atoms()) is not None:
        return over_support(problem, *atoms)
    for model, build in _BUILDERS:
        if isinstance(problem.student, model):
            return build(problem, quadrature)
    raise UnsupportedCombination(
        f"The {problem.name} problem has no exact population loss. Use `stream` or `empirical` to sample."
    )


def fine_at(objective: Objective, point: PyTree) -> Objective:
    """Return an objective whose second derivatives are accurate at a point: itself, or with a larger radius.

    Beyond the radius of a quadrature derivatives lose more digits than the loss, and they begin to do so before it.

    Raises:
        InvalidArgument: If the point is beyond the radius, and a quadrature that is fine there has too many nodes.
    """
    reach = reach_of(objective, point)
    if reach <= _INSIDE:
        return objective
    try:
        return finer(objective, doublings_for(reach))
    except InvalidArgument:
        if reach > 1:
            raise
        return objective  # the finest that there is: the point is where its tolerance is promised


def reach_of(objective: Objective, point: PyTree) -> float:
    """Return how far a student, or its teacher, is from zero, in units of the radius of an objective's quadrature.

    Zero where nothing is taken by quadrature.
    """
    if not isinstance(objective, (NeuronSum, DualsOfPatches)) or objective.quadrature is None:
        return 0.0
    problem = objective.problem
    if isinstance(problem.student, NeuronModel):
        vectors = np.concatenate([np.asarray(group.weights) for group in problem.student._neurons(point)])
    else:
        vectors = np.asarray(problem.student._vectors(point))
    taught = np.asarray(jax.device_get(problem.teacher._vectors(objective.target)))
    return max(_largest_deviation(each, problem.inputs) for each in (vectors, taught)) / objective.quadrature.radius


def doublings_for(reach: float) -> int:
    """Return how often a radius has to be doubled for so many radii to be well inside it.

    By powers of two, so that few radii occur: each is traced anew.
    """
    return math.ceil(math.log2(reach / _INSIDE))


def finer(objective: Objective, doublings: int) -> Objective:
    """Return an objective by quadrature with its radius doubled so many times.

    Raises:
        InvalidArgument: If that quadrature would have too many nodes.
    """
    assert isinstance(objective, (NeuronSum, DualsOfPatches))
    assert objective.quadrature is not None
    return population(objective.problem, objective.quadrature.tolerance, 2.0**doublings * objective.quadrature.radius)


def _default_radius(problem: Problem) -> float:
    vectors = np.asarray(jax.device_get(problem.teacher.vectors(problem.target)))
    return 1.5 * max(2.0, _largest_deviation(vectors, problem.inputs))


def _largest_deviation(vectors: np.ndarray, inputs: Inputs) -> float:
    """Return the largest standard deviation of a vector times the input, under the widest component of a mixture."""
    if isinstance(inputs, Mixture):
        return max(_largest_deviation(vectors, component) for component in inputs.components)
    factor = inputs.factor if isinstance(inputs, Gaussian) else None
    return float(np.linalg.norm(vectors if factor is None else vectors @ np.asarray(factor), axis=1).max())
