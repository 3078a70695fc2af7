"""Every numbered statement of the local-convergence paper, and unnumbered ones that carry weight."""
