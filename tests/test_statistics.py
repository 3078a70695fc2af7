"""Wilson's interval."""

import numpy as np
import pytest

from tutelage.errors import InvalidArgument
from tutelage.statistics import wilson_interval


@pytest.mark.parametrize("probability", [0.02, 0.3, 0.9])
def test_it_covers_the_truth_as_often_as_it_says(probability):
    """95 % intervals of simulated counts contain the true probability in about 95 % of the cases."""
    counts = np.random.default_rng(1).binomial(60, probability, size=4000)
    inside = [low <= probability <= high for low, high in (wilson_interval(int(count), 60) for count in counts)]
    assert 0.92 < np.mean(inside) < 0.985


def test_extremes_stay_inside():
    """No successes or only successes give intervals inside [0, 1] that are not points."""
    assert wilson_interval(0, 10)[0] == 0.0 < wilson_interval(0, 10)[1] < 0.4
    low, high = wilson_interval(10, 10)
    assert 0.6 < low < high <= 1.0


def test_bad_counts_are_refused():
    """More successes than trials are no counts."""
    with pytest.raises(InvalidArgument, match="3 of 2"):
        wilson_interval(3, 2)
