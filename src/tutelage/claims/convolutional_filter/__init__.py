"""Every numbered statement of the convolutional-filter paper, and some unnumbered ones that carry weight."""

from tutelage.claims.convolutional_filter import convergence, identities, invariants, trajectories

CLAIMS = (*identities.CLAIMS, *convergence.CLAIMS, *invariants.CLAIMS, *trajectories.CLAIMS)
