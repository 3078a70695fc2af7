"""Every numbered statement of the convolutional-filter paper, and some unnumbered ones that carry weight."""

from tutelage.claims.convolutional_filter import (
    convergence,
    derivations,
    identities,
    invariants,
    second_phase,
    starts,
    steps,
    trajectories,
)

CLAIMS = (
    *identities.CLAIMS,
    *derivations.CLAIMS,
    *convergence.CLAIMS,
    *starts.CLAIMS,
    *invariants.CLAIMS,
    *trajectories.CLAIMS,
    *second_phase.CLAIMS,
    *steps.CLAIMS,
)
