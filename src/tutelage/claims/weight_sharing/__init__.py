"""Every numbered statement of the weight-sharing paper, and some unnumbered ones that carry weight."""

from tutelage.claims.weight_sharing import cube as cube
