"""The figures of the local-convergence paper, its theorems in practice, and what lies beyond them."""

from tutelage.studies.local_convergence import (
    figure_1,
    fitted_starts,
    illustrations,
    local_runs,
    lojasiewicz,
    random_starts,
    samples,
)

_ORDER = (figure_1, illustrations, lojasiewicz, local_runs, fitted_starts, samples, random_starts)
STUDIES = tuple(module.STUDY for module in _ORDER)
