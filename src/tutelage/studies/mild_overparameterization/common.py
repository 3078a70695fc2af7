"""What the studies of this paper share: the problem with an orthonormal teacher."""

import numpy as np

from tutelage.objectives import Objective, population
from tutelage.problems import committee

# Every spurious minimum of these problems has a larger loss, and runs that are on their way to a global one a smaller.
SPURIOUS = 1e-3


def objective_of(neurons: int, students: int) -> Objective:
    """The exact loss of ReLU students that learn as many orthonormal teachers as there are dimensions."""
    return population(committee(np.eye(neurons), students=students))
