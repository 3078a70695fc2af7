"""Wilson's interval, straight lines and exponents."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, linregress

from tutelage.errors import InvalidArgument
from tutelage.statistics import at_least, exponent, straight_line, wilson_interval


@pytest.mark.parametrize("probability", [0.02, 0.3, 0.9])
def test_it_covers_the_truth_as_often_as_it_says(probability):
    """95 % intervals of simulated counts contain the true probability in about 95 % of the cases."""
    counts = np.random.default_rng(1).binomial(60, probability, size=4000)
    inside = [low <= probability <= high for low, high in (wilson_interval(int(count), 60) for count in counts)]
    assert 0.92 < np.mean(inside) < 0.985


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (333, 1000), (1, 10**6)])
def test_it_is_that_of_scipy(successes, trials):
    """Wilson's interval is the one that SciPy calls so."""
    expected = binomtest(successes, trials).proportion_ci(method="wilson")
    assert wilson_interval(successes, trials) == pytest.approx(tuple(expected), abs=1e-14)


def test_extremes_stay_inside():
    """No successes or only successes give intervals inside [0, 1] that are not points."""
    assert wilson_interval(0, 10)[0] == 0.0 < wilson_interval(0, 10)[1] < 0.4
    low, high = wilson_interval(10, 10)
    assert 0.6 < low < high <= 1.0


def test_bad_counts_are_refused():
    """More successes than trials are no counts."""
    with pytest.raises(InvalidArgument, match="3 of 2"):
        wilson_interval(3, 2)


def test_a_straight_line_is_that_of_scipy():
    """Slope and R² of least squares."""
    random = np.random.default_rng(2)
    x = random.uniform(size=30)
    y = 3 * x + random.normal(size=30)
    expected = linregress(x, y)
    assert straight_line(x, y) == pytest.approx((expected.slope, expected.rvalue**2), rel=1e-12)


def test_an_exponent_is_found():
    """A power law has its own exponent; factors and units do not matter."""
    x = np.array([1.0, 3.0, 10.0, 200.0])
    assert exponent(1000 * x, 7 * x**-1.5) == pytest.approx(-1.5, rel=1e-12)


@given(st.integers(-3, 60), st.integers(0, 50), st.floats(0.0, 1.0))
def test_at_least_is_the_tail_of_the_binomial_law(successes, trials, chance):
    """As SciPy has it, at the edges too."""
    assert at_least(successes, trials, chance) == pytest.approx(binom.sf(successes - 1, trials, chance), abs=1e-12)
