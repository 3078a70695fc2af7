"""Small statistics that experiments share."""

from __future__ import annotations

import math

from tutelage.errors import invalid


def wilson_interval(successes: int, trials: int, deviations: float = 1.959964) -> tuple[float, float]:
    r"""Return Wilson's interval for a probability.

    With $\hat p$ the fraction of successes among $n$ and $z$ the number of standard deviations, the centre is
    $(\hat p + z^2/2n)/(1 + z^2/n)$ and the half-width $z\sqrt{\hat p(1-\hat p)/n + z^2/4n^2}/(1 + z^2/n)$.

    Args:
        successes: Number of successes.
        trials: Number of trials.
        deviations: Half-width in standard deviations; 95 % by default.
    """
    if not 0 <= successes <= trials or trials == 0:
        raise invalid(
            "successes",
            "be between 0 and a positive number of trials",
            f"{successes} of {trials}",
            "Pass how many of the trials succeeded, then how many there were",
        )
    fraction, spread = successes / trials, deviations**2 / trials
    centre = (fraction + spread / 2) / (1 + spread)
    half = deviations * math.sqrt(fraction * (1 - fraction) / trials + spread / (4 * trials)) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)
