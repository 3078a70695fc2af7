"""Six ReLU neurons that learn six orthonormal ones: a spurious minimum, a saddle and the global minimum."""

from __future__ import annotations

import numpy as np
import pytest

import tutelage as tl

SIZE = 6


def blocks(odd: int) -> np.ndarray:
    """A student near a critical point at which the last `odd` neurons look away from their teachers."""
    student = np.eye(SIZE)
    student[:-odd, -odd:] = 0.25
    student[-odd:] = 0.2
    student[np.arange(SIZE - odd, SIZE), np.arange(SIZE - odd, SIZE)] = -0.6
    return student


@pytest.fixture(scope="session")
def six() -> tl.objectives.Objective:
    """The population loss."""
    return tl.population(tl.problems.committee(np.eye(SIZE), students=SIZE))


@pytest.fixture(scope="session")
def seven() -> tl.objectives.Objective:
    """The same with one student more."""
    return tl.population(tl.problems.committee(np.eye(SIZE), students=SIZE + 1))


@pytest.fixture(scope="session")
def runs(six: tl.objectives.Objective) -> tl.Runs:
    """Two runs with symmetric starts: to a spurious minimum (blocks 5+1), and to a saddle (blocks 4+2)."""
    starts = np.stack([blocks(1), blocks(2)])
    return tl.descend(six, starts, tl.GradientDescent(0.5), tl.gradient_norm(1e-12))


@pytest.fixture(scope="session")
def spurious(runs: tl.Runs) -> np.ndarray:
    """The spurious minimum."""
    return np.asarray(runs.point(0))


@pytest.fixture(scope="session")
def saddle(runs: tl.Runs) -> np.ndarray:
    """The saddle."""
    return np.asarray(runs.point(1))
