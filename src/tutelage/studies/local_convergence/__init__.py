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

STUDIES = (
    figure_1.STUDY,
    illustrations.STUDY,
    lojasiewicz.STUDY,
    local_runs.STUDY,
    fitted_starts.STUDY,
    samples.STUDY,
    random_starts.STUDY,
)
