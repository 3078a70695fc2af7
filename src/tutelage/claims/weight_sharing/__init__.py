"""Every numbered statement of the weight-sharing paper, and some unnumbered ones that carry weight."""
