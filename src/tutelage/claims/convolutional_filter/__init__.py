"""Every numbered statement of the convolutional-filter paper, and some unnumbered ones that carry weight."""
