"""One small problem for most tests of the dynamics, so that few programs are compiled."""

from __future__ import annotations

import numpy as np
import optax
import pytest

import tutelage as tl


@pytest.fixture(scope="session")
def committee() -> tl.objectives.Objective:
    """The population loss of three ReLU neurons that learn three others, not orthogonal."""
    teacher = np.array([[1.0, 0.2, 0.0], [-0.3, 0.9, 0.1], [0.0, 0.4, 1.2]])
    return tl.population(tl.problems.committee(teacher, students=3))


@pytest.fixture(scope="session")
def starts(committee: tl.objectives.Objective) -> np.ndarray:
    """Eleven starts of it."""
    return np.asarray(tl.starts.gaussian(committee.problem, runs=11, scale=0.7, seed=3))


@pytest.fixture(scope="session")
def methods() -> dict[str, object]:
    """A method of each kind that carries something along: nothing, a random key, a clock, momentum, moments."""
    return {
        "descent": tl.GradientDescent(0.3),
        "chebyshev": tl.ChebyshevDescent(0.3),
        "stochastic": tl.StochasticGradientDescent(0.1, batch=4),
        "flow": tl.GradientFlow(relative_tolerance=1e-4, absolute_tolerance=1e-6),
        "accelerated": tl.AcceleratedDescent(0.2),
        "adam": optax.adam(0.05),
    }


@pytest.fixture(scope="session")
def neuron() -> tl.objectives.Objective:
    """The population loss of one ReLU neuron in the plane."""
    return tl.population(tl.problems.neuron([1.0, 0.5]))
