"""Small statistics that experiments share: intervals for probabilities, exponents of powers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tutelage.errors import invalid

# Of the normal law 95 % lie within so many standard deviations.
_DEVIATIONS = 1.959963984540054


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    r"""Return Wilson's 95 % interval for a probability.

    With $\hat p$ the fraction of successes among $n$ and $z$ the number of standard deviations, the centre is
    $(\hat p + z^2/2n)/(1 + z^2/n)$ and the half-width $z\sqrt{\hat p(1-\hat p)/n + z^2/4n^2}/(1 + z^2/n)$. SciPy's
    `binomtest` gives the same, but takes half a second to import and a thousand times as long for each interval:
    tables of sweeps have thousands.

    Args:
        successes: Number of successes.
        trials: Number of trials.
    """
    if not 0 <= successes <= trials or trials == 0:
        raise invalid(
            "successes",
            "be between 0 and a positive number of trials",
            f"{successes} of {trials}",
            "Pass how many of the trials succeeded, then how many there were",
        )
    fraction, spread = successes / trials, _DEVIATIONS**2 / trials
    centre = (fraction + spread / 2) / (1 + spread)
    half = _DEVIATIONS * math.sqrt(fraction * (1 - fraction) / trials + spread / (4 * trials)) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


def at_least(successes: Any, trials: Any, chance: Any) -> Any:
    """Return the probability of at least so many successes, exactly: all entries are whole numbers but the chance.

    SciPy's `binom.sf` gives the same, but takes half a second to import.

    Args:
        successes: Numbers of successes; zero or less are certain, more than the trials impossible.
        trials: Numbers of trials.
        chance: Chance of a success.
    """
    from scipy.special import betainc

    successes, trials = np.asarray(successes), np.asarray(trials)
    inside = np.clip(successes, 1, np.maximum(trials, 1))
    found = betainc(inside, np.maximum(trials - inside, 0) + 1, chance)
    return np.where(successes <= 0, 1.0, np.where(successes > trials, 0.0, found))


def straight_line(x: Any, y: Any) -> tuple[float, float]:
    """Return the slope of the straight line through points by least squares, and its R².

    Args:
        x: Numbers.
        y: Numbers, one for each.
    """
    slope, _ = np.polyfit(x, y, 1)
    return float(slope), float(1 - np.var(y - slope * np.asarray(x)) / np.var(y))


def exponent(x: Any, y: Any) -> Any:
    r"""Return the exponents $p$ of power laws $y \propto x^p$: least-squares slopes in logarithms, along the last axis.

    Args:
        x: Positive numbers.
        y: Numbers, as many along the last axis; the exponent is not a number where one of them is not positive.
    """
    with np.errstate(all="ignore"):
        x, y = np.broadcast_arrays(np.log(x), np.log(y))
        x = x - x.mean(-1, keepdims=True)
        slopes = np.sum(x * (y - y.mean(-1, keepdims=True)), -1) / np.sum(x**2, -1)
    return np.where(np.isfinite(y).all(-1), slopes, np.nan)[()]
