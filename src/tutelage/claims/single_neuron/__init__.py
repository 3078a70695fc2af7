"""Every numbered statement of the single-neuron paper, and the unnumbered ones that assert something."""
