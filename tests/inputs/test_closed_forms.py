"""Closed forms of single laws against values derived by hand."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from tutelage import inputs
from tutelage.errors import UnsupportedCombination
from tutelage.instant import instantly


def test_the_default_radii_make_the_covariance_the_identity() -> None:
    for law in (inputs.gaussian(4), inputs.sphere(4), inputs.ball(4), inputs.rademacher(4)):
        np.testing.assert_allclose(law.second_moment(), np.eye(4), atol=1e-15)


def test_whole_radial_moments_are_right_to_the_last_digits_in_high_dimensions() -> None:
    """The ratios Γ((d+1)/2)/Γ(d/2) of neighbouring dimensions have the product d/2: forty digits, one after another."""
    with localcontext(prec=40):
        ratio = 1 / Decimal("3.141592653589793238462643383279502884197169").sqrt()
        for dimension in range(1, 40_001):
            if dimension in (1, 2, 30, 298, 299, 300, 301, 1000, 40_000):
                first = Decimal(2).sqrt() * ratio
                expected = (first, Decimal(dimension), first * (dimension + 1), Decimal(dimension) * (dimension + 2))
                for order, moment in enumerate(expected, start=1):
                    assert inputs.gaussian(dimension).radial_moment(order) == pytest.approx(float(moment), rel=1e-15)
                    # A t law with so many degrees is the Gaussian up to p(p + 2)/(4ν).
                    student = inputs.student_t(dimension, degrees=1e12).radial_moment(order)
                    assert student == pytest.approx(float(moment), rel=1e-11)
            ratio = Decimal(dimension) / 2 / ratio


@pytest.mark.parametrize("order", [-1.5, 0.0, 1.0, 2.0, 3.3, 6.0])
@pytest.mark.parametrize("dimension", [2, 3, 10])
def test_radial_moments_are_integrals_of_the_radial_density(dimension: int, order: float) -> None:
    def chi(radius: float) -> float:
        return radius**order * float(stats.chi.pdf(radius, dimension))

    def student(radius: float) -> float:  # |x|² / d has Fisher's F law
        density = float(stats.f.pdf(radius**2 / dimension, dimension, 8)) * 2 * radius / dimension
        return radius**order * density

    expected = integrate.quad(chi, 0, math.inf)[0]
    assert inputs.gaussian(dimension).radial_moment(order) == pytest.approx(expected, rel=1e-7)
    quarter = inputs.gaussian(dimension, covariance=0.25 * np.eye(dimension))
    assert quarter.radial_moment(order) == pytest.approx(expected * 0.5**order, rel=1e-7)
    expected = integrate.quad(student, 0, math.inf, limit=200)[0]
    assert inputs.student_t(dimension, degrees=8).radial_moment(order) == pytest.approx(expected, rel=1e-6)
    assert inputs.sphere(dimension, radius=3).radial_moment(order) == pytest.approx(3**order)
    ball = integrate.quad(lambda r: r**order * dimension * r ** (dimension - 1), 0, 1)[0]
    assert inputs.ball(dimension, radius=1).radial_moment(order) == pytest.approx(ball, rel=1e-7)


def test_moments_that_diverge_are_infinite_and_those_that_do_not_exist_are_refused() -> None:
    law = inputs.student_t(3, degrees=2)
    assert law.radial_moment(2) == math.inf
    assert law.radial_moment(1.9) < math.inf
    for never in (law, inputs.gaussian(3), inputs.ball(3)):
        assert never.radial_moment(-3) == math.inf
    np.testing.assert_array_equal(law.mean(), np.zeros(3))
    with pytest.raises(UnsupportedCombination, match=r"student_t\(3, degrees=2\).*second moment diverges"):
        law.covariance()
    with pytest.raises(UnsupportedCombination, match="second moment diverges"):
        law.second_moment()
    with pytest.raises(UnsupportedCombination, match="first moment diverges"):
        inputs.student_t(3, degrees=1).mean()
    np.testing.assert_allclose(inputs.student_t(3, degrees=5).covariance(), 5 / 3 * np.eye(3), rtol=1e-13)


def test_gaussians_know_when_they_are_standard() -> None:
    plain = inputs.gaussian(3, mean=np.zeros(3), covariance=np.eye(3))
    assert plain.standard
    assert plain.centred
    assert jax.tree.leaves(plain) == []
    shifted = inputs.gaussian(3, mean=[1, 0, 0])
    assert not shifted.standard
    assert not shifted.centred
    scaled = inputs.gaussian(3, covariance=2 * np.eye(3))
    assert scaled.centred
    assert not scaled.standard
    assert scaled.variance == 2.0
    assert inputs.gaussian(3, mean=[1, 0, 0], covariance=2 * np.eye(3)).symmetry == "none"


def test_a_standard_gaussian_costs_nothing_in_a_million_dimensions() -> None:
    law = inputs.gaussian(1_000_000)
    assert law.radial_moment(2) == 1e6
    assert law.radial_moment(4) == pytest.approx(1e6 * (1e6 + 2), rel=1e-9)
    assert law.sample(jax.random.key(0)).shape == (1_000_000,)


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_the_factor_of_a_covariance_is_lower_triangular_even_if_singular(rank: int) -> None:
    root = np.sin(1.0 + np.arange(16.0).reshape(4, 4))[:, :rank] + np.eye(4)[:, :rank]
    covariance = root @ root.T
    law = inputs.gaussian(4, covariance=covariance)
    assert law.factor is not None
    assert law.singular == (rank < 4)
    factor = np.asarray(law.factor)
    np.testing.assert_allclose(factor @ factor.T, covariance, atol=1e-13)
    np.testing.assert_allclose(factor, np.tril(factor), atol=1e-15)
    assert np.diag(factor).min() >= 0
    samples = np.asarray(law.sample(jax.random.key(0), 50))
    assert np.linalg.matrix_rank(samples, tol=1e-8) == rank


def test_a_given_radius_reproduces_the_law_it_describes() -> None:
    """A Gaussian, given by its radius only."""
    gaussian = inputs.gaussian(5)
    law = inputs.spherical(
        5,
        radius=lambda key, shape: jnp.linalg.norm(jax.random.normal(key, (*shape, 5)), axis=-1),
        moments=gaussian.radial_moment,
        plane_density=lambda distance: jnp.exp(-(distance**2) / 2) / (2 * math.pi),
        name="chi",
    )
    assert law.name == "chi"
    assert inputs.spherical(5, lambda key, shape: jnp.ones(shape), lambda order: 1.0).name == "spherical(5)"
    np.testing.assert_allclose(law.second_moment(), np.eye(5), atol=1e-15)
    points, axes = np.array([[0.0, 1.0], [-0.3, 0.2]]), np.eye(5)
    expected = gaussian.plane_density(axes[0], axes[1])(points)
    np.testing.assert_allclose(law.plane_density(axes[0], axes[1])(points), expected, rtol=1e-14)


def test_the_sphere_of_a_line_is_two_points() -> None:
    atoms = inputs.sphere(1, radius=2).atoms()
    assert atoms is not None
    np.testing.assert_array_equal(atoms[0], [[-2.0], [2.0]])
    assert set(np.asarray(inputs.sphere(1, radius=2).sample(jax.random.key(0), 20)).ravel()) == {-2.0, 2.0}


def test_the_corners_of_the_cube_are_listed_up_to_sixteen_coordinates() -> None:
    atoms = inputs.rademacher(16, scale=0.5).atoms()
    assert atoms is not None
    assert atoms[0].shape == (65_536, 16)
    assert len(np.unique(np.asarray(inputs.rademacher(4).atoms()[0]), axis=0)) == 16  # pyright: ignore
    assert inputs.rademacher(17).atoms() is None


def test_a_box_may_have_a_side_per_coordinate() -> None:
    law = inputs.uniform_box(2, low=[-1, -2], high=[1, 2])
    assert law.symmetry == "reflection"
    np.testing.assert_allclose(law.covariance(), np.diag([1 / 3, 4 / 3]))


def test_points_of_zero_weight_are_never_drawn() -> None:
    law = inputs.finite([[0.0], [1.0], [2.0], [3.0]], weights=[0.0, 0.5, 0.5, 0.0])
    assert set(np.asarray(law.sample(jax.random.key(0), 500)).ravel()) == {1.0, 2.0}


def test_finite_symmetry_counts_repeated_points_and_weights() -> None:
    assert inputs.finite([[1.0], [-1.0], [0.0]]).symmetry == "reflection"
    assert inputs.finite([[1.0], [1.0], [-1.0]], [0.25, 0.25, 0.5]).symmetry == "reflection"
    assert inputs.finite([[1.0], [-1.0]], [0.4, 0.6]).symmetry == "none"


def test_weights_are_normalised_to_rounding() -> None:
    law = inputs.finite([[1.0], [2.0]], weights=[0.5, 0.5 + 5e-10])
    assert float(law.weights.sum()) == pytest.approx(1.0, abs=1e-15)


def test_a_mixture_drops_components_of_weight_zero() -> None:
    law = inputs.mixture([inputs.ball(3), inputs.student_t(3, 1)], [1.0, 0.0])
    assert law.radial_moment(2) == pytest.approx(3.0)
    np.testing.assert_allclose(law.covariance(), np.eye(3), atol=1e-15)


def test_a_mixture_has_what_all_its_components_have() -> None:
    axes = np.eye(2)
    law = inputs.mixture([inputs.gaussian(2), inputs.sphere(2)], [0.5, 0.5])
    assert law.symmetry == "rotation"
    with pytest.raises(UnsupportedCombination, match=r"sphere\(2\)"):
        law.plane_density(axes[0], axes[1])
    with pytest.raises(UnsupportedCombination, match=r"sphere\(2\)"):
        law.characteristic(jnp.ones(2))
    assert law.atoms() is None
    assert inputs.mixture([inputs.gaussian(2), inputs.rademacher(2)]).symmetry == "reflection"


def test_data_is_left_alone_unless_asked_otherwise() -> None:
    rows = np.array([[1.0, 2.0], [3.0, 0.0], [5.0, 7.0]])
    np.testing.assert_array_equal(inputs.data(rows).points, rows)
    centred = inputs.data(rows, weights=[0.5, 0.25, 0.25], center=True)
    np.testing.assert_allclose(centred.mean(), 0.0, atol=1e-15)
    np.testing.assert_allclose(np.diff(centred.points, axis=0), np.diff(rows, axis=0))
    for center in (True, False):
        scaled = inputs.data(rows, center=center, scale="unit_variance")
        assert float(jnp.trace(scaled.second_moment())) == pytest.approx(2.0)
    ratio = np.asarray(inputs.data(rows, scale="unit_variance").points)[rows > 0] / rows[rows > 0]
    np.testing.assert_allclose(ratio, ratio[0])


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_the_transform_of_an_interval_has_all_digits_of_its_derivatives(order: int) -> None:
    """sin(x)/x and three derivatives against forty digits, from arguments of 1e-12 on: no quotient cancels."""
    mpmath = pytest.importorskip("mpmath")
    from tutelage.inputs.bessel import spherical_bessel

    function = spherical_bessel(0)
    for _ in range(order):
        function = jax.grad(function)
    for x in (0.0, 1e-12, 1e-6, 1e-3, 0.1, 1.0, 1.99, 2.01, 5.0, 30.0):
        with mpmath.workdps(60):
            exact = mpmath.diff(lambda t: mpmath.sinc(t), mpmath.mpf(x), order)
        assert float(function(x)) == pytest.approx(float(exact), rel=1e-13, abs=2e-15)
        assert float(instantly(function)(np.asarray(x))) == pytest.approx(float(exact), rel=1e-13, abs=2e-15)
