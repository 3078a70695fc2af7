"""The population loss, exact: in closed form, as a finite sum, or by quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import numpy as np
from jaxtyping import PyTree

from tutelage.duals import Quadrature
from tutelage.duals.quadrature import Integrated
from tutelage.errors import UnsupportedCombination, invalid
from tutelage.inputs import Gaussian, Inputs, Mixture
from tutelage.instant import evaluated
from tutelage.models import Convolution, NeuronModel, Parity, Wave
from tutelage.objectives.base import Objective
from tutelage.objectives.empirical import over_support
from tutelage.objectives.population.neuron_sum import neuron_sum
from tutelage.objectives.population.patches import patch_loss, wave_loss
from tutelage.problems import Problem
from tutelage.problems.problem import checked_problem

_BUILDERS: tuple[tuple[type, Callable[[Problem, Quadrature], Objective]], ...] = (
    (NeuronModel, neuron_sum),
    (Convolution, patch_loss),
    (Parity, patch_loss),
    (Wave, wave_loss),
)


def population(problem: Problem, tolerance: float = 1e-10) -> Objective:
    """The population loss of a problem, exact; nothing is sampled.

    Args:
        problem: The problem.
        tolerance: Wanted absolute error where an integral is taken by quadrature, from 1e-15 to below 1. Steep neurons
            take more nodes; `error_estimate` tells the error at a point, also where they would take too many.

    Returns:
        The objective; its `exactness` says how the expectation is taken.

    Raises:
        InvalidArgument: If a quadrature with the tolerance would take too many nodes for the teacher.
        UnsupportedCombination: If the expectation has no closed form and no quadrature here.
    """
    problem = checked_problem(problem)
    quadrature = Quadrature(tolerance)
    if isinstance(problem.student, NeuronModel) and (atoms := problem.inputs.atoms()) is not None:
        return over_support(problem, *atoms)
    for model, build in _BUILDERS:
        if isinstance(problem.student, model):
            objective = build(problem, quadrature)
            if (reach := reach_of(objective, problem.zero())) > 1:
                raise invalid(
                    "tolerance",
                    "be one that a quadrature has for the teacher with at most 1200 nodes an axis",
                    f"{tolerance:g} for a teacher {reach:.2g} times as steep as that",
                    "Raise it, or use an empirical or stream objective",
                )
            return objective
    raise UnsupportedCombination(
        f"The {problem.name} problem has no exact population loss. Use `stream` or `empirical` to sample."
    )


def reach_of(objective: Objective, point: PyTree) -> float:
    """Return how far a student, or its teacher, is from zero, in units of how far quadratures reach.

    Zero where nothing is taken by quadrature.
    """
    leaves = jax.tree.leaves(objective, is_leaf=lambda node: isinstance(node, Integrated))
    reach = min((leaf.rule.reach for leaf in leaves if isinstance(leaf, Integrated)), default=math.inf)
    if reach == math.inf:
        return 0.0
    problem = objective.problem
    if isinstance(problem.student, NeuronModel):
        vectors = np.concatenate([np.asarray(group.weights) for group in evaluated(problem.student._neurons, point)])
    else:
        vectors = np.asarray(evaluated(problem.student._vectors, point))
    taught = np.asarray(evaluated(problem.teacher._vectors, objective.target))
    return max(_largest_deviation(each, problem.inputs) for each in (vectors, taught)) / reach


def _largest_deviation(vectors: np.ndarray, inputs: Inputs) -> float:
    """Return the largest standard deviation of a vector times the input, under the widest component of a mixture."""
    if isinstance(inputs, Mixture):
        return max(_largest_deviation(vectors, component) for component in inputs.components)
    factor = inputs.factor if isinstance(inputs, Gaussian) else None
    return float(np.linalg.norm(vectors if factor is None else vectors @ np.asarray(factor), axis=1).max())
