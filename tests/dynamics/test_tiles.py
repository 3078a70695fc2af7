"""How many runs are followed side by side is known beforehand."""

import numpy as np
import pytest

import tutelage as tl
from tutelage.dynamics.descend import tile_of

pytestmark = pytest.mark.optimized

CASES = {
    "committee": lambda: (tl.population(tl.problems.committee(np.eye(20), 20)), tl.GradientDescent(0.1)),
    "in the span of start and teacher": lambda: (
        tl.population(tl.problems.committee(np.eye(2, 2000), 2)),
        tl.GradientDescent(0.1),
    ),
    "in the full space": lambda: (
        tl.population(tl.problems.committee(np.eye(2, 2000), 2)),
        tl.PerturbedGradientDescent(0.1, 0.1),
    ),
    "samples": lambda: (tl.stream(tl.problems.neuron(np.ones(4)), 100), tl.GradientDescent(0.1)),
}


@pytest.mark.parametrize("case", CASES)
def test_tile_is_the_one_of_descend(case):
    """`tile_of` says what `descend` does, whichever space the runs are followed in."""
    objective, method = CASES[case]()
    starts = tl.starts.gaussian(objective.problem, runs=1)
    runs = tl.descend(objective, starts, method, tl.step_limit(0))
    assert tile_of(objective, method)[0] == runs._resume.tile


def test_work_is_what_makes_tiles_narrow():
    """The full space of 2000 coordinates costs more than the span of four vectors, and has narrower tiles."""
    (span, span_work), (full, full_work) = (
        tile_of(*CASES[case]()) for case in ("in the span of start and teacher", "in the full space")
    )
    assert span > full and span_work < full_work == 4000
