"""Every numbered statement of the mild over-parameterization paper, and unnumbered ones that carry weight."""
