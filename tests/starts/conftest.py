"""One problem of every family."""

from __future__ import annotations

import numpy as np
import pytest

import tutelage as tl

# Vectors of equal dimension wherever possible, so that few programs are compiled.
PROBLEMS = {
    "neuron": lambda: tl.problems.neuron(np.ones(4)),
    "committee": lambda: tl.problems.committee(np.eye(3, 4), students=5),
    "homogeneous": lambda: tl.problems.homogeneous(np.eye(2, 4), students=5),
    "homogeneous_linear": lambda: tl.problems.homogeneous(np.eye(2, 4), 5, activation="relu", linear=True),
    "convolution": lambda: tl.problems.convolution(np.ones(4), [1.0, 2.0, 0.5]),
    "wave": lambda: tl.problems.wave(np.ones(4), patches=5, sharing=False),
    "parity": lambda: tl.problems.parity(np.ones(4), patches=3),
    "composite": lambda: tl.problems.composite("both", np.ones(4), patches=5, learn_outer=True, units=5),
}


@pytest.fixture(scope="session", params=PROBLEMS)
def problem(request: pytest.FixtureRequest) -> tl.problems.Problem:
    """Each family of problems in turn."""
    return PROBLEMS[request.param]()


@pytest.fixture(scope="session")
def homogeneous() -> tl.problems.Problem:
    """A homogeneous problem with more students than teachers."""
    teacher = [[1.0, 0.0, 0.5, 0.0, 0.0], [0.0, -1.5, 0.0, 0.5, 0.0]]
    return tl.problems.homogeneous(teacher, students=8)
