"""Expansions in the number of neurons: known limits, and values between the numbers that were fitted."""

from __future__ import annotations

import math

import flint
import numpy as np
import pytest

import tutelage as tl
from tutelage.geometry.families.expansions import expanded


@pytest.fixture(scope="module")
def family():
    return tl.family("k-1,1")


@pytest.fixture(scope="module")
def found(family):
    return family.expand(family.points(20)[1], terms=6)


def value(expansion, neurons: float) -> float:
    return sum(c * neurons**e for c, e in zip(expansion.coefficients, expansion.exponents, strict=True))


def test_the_loss_is_of_order_one_over_k(found):
    """The spurious minimum's loss is (1/2 − 2/π²)/k and smaller terms, as is known, to more than twelve digits."""
    assert found.loss.exponents[:2] == (-1.0, -1.5)
    assert found.loss.coefficients[0] == pytest.approx(0.5 - 2 / math.pi**2, rel=1e-13)
    assert all(error < 1e-6 for error in found.loss.errors)


def test_entries(found):
    """The last neuron is close to minus its teacher, and to 4/π of the mean of the others."""
    own, rest, last, row, corner = found.entries
    assert own.exponents[0] == corner.exponents[0] == 0.0 and own.coefficients[0] == pytest.approx(1, rel=1e-13)
    assert corner.coefficients[0] == pytest.approx(-1, rel=1e-13)
    assert (rest.exponents[0], last.exponents[0], row.exponents[0]) == (-2.0, -1.0, -1.0)
    np.testing.assert_allclose(
        [rest.coefficients[0], last.coefficients[0], row.coefficients[0]], [-4 / math.pi, 2, 4 / math.pi], rtol=1e-12
    )


def test_terms_add_up_to_the_family(family, found):
    """At a number that was not fitted, six terms agree with the point itself."""
    point = family.points(3000)[1]
    assert value(found.loss, 3000) == pytest.approx(point.loss, rel=1e-6)
    for entry, expansion in zip(point.entries, found.entries, strict=True):
        assert value(expansion, 3000) == pytest.approx(entry, rel=1e-6)


def test_spectra_agree_with_that_of_the_global_minimum_but_for_a_few(found):
    """Eigenvalues of the types that occur most often tend to ¼ ± 1/2π, as at the teacher."""
    for name, sign in (("antisymmetric of 1", -1), ("symmetric of 1", 1)):
        (one,) = found.eigenvalues[name]
        assert one.exponents[0] == 0.0
        assert one.coefficients[0] == pytest.approx(0.25 + sign / (2 * math.pi), rel=1e-12)
    assert sum(map(len, found.eigenvalues.values())) == 12


def test_fits_of_known_series():
    """Coefficients, exponents and error bars of a series that is known; other powers are refused."""
    numbers = [2.0**j for j in range(10, 20)]
    with flint.ctx.workdps(60):
        exact = [flint.arb(k) ** -1 * (3 - 2 / flint.arb(k).sqrt() + 5 / flint.arb(k)) for k in numbers]
        series = expanded(exact, numbers, 4)
        np.testing.assert_allclose(series.coefficients, [3, -2, 5, 0], atol=1e-20)
        assert series.exponents == (-1.0, -1.5, -2.0, -2.5) and max(series.errors) < 1e-20
        with pytest.raises(tl.TutelageError, match="multiple of one half"):
            expanded([flint.arb(k) ** (flint.arb(1) / 3) for k in numbers], numbers, 2)
        # A series with more terms than are fitted: errors are at least as large as what is wrong.
        longer = expanded([1 / (1 + 20 / flint.arb(k).sqrt()) for k in numbers], numbers, 3)
    wrong = np.abs(np.array(longer.coefficients) - [1, -20, 400])
    assert (wrong <= longer.errors).all() and (wrong > 0).all()


def test_wrong_input_is_refused(family):
    with pytest.raises(tl.InvalidArgument, match="point"):
        tl.family("k").expand(family.points(6)[1])
    with pytest.raises(tl.InvalidArgument, match="terms"):
        family.expand(family.points(6)[1], terms=20)
