"""Fourier expansions over the cube against direct sums, and outer functions learned from samples."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from tutelage.claims.weight_sharing.cube import fourier, learn_outer, points
from tutelage.errors import InvalidArgument


def majority(z):
    return jnp.sign(jnp.sum(z))


def lopsided(z):
    return jnp.exp(z[0] - 0.3 * z[1] * z[2]) + z[-1]


@pytest.mark.parametrize("outer", [majority, lopsided])
@pytest.mark.parametrize("patches", [3, 5])
def test_coefficients_are_the_direct_sums(outer, patches):
    spectrum = fourier(outer, patches)
    cube = np.array(list(itertools.product([1.0, -1.0], repeat=patches)))
    values = np.array([float(outer(jnp.asarray(z))) for z in cube])
    for number, coefficient in enumerate(spectrum.coefficients):
        subset = [i for i in range(patches) if number >> i & 1]
        assert spectrum.degrees[number] == len(subset)
        np.testing.assert_allclose(coefficient, np.mean(values * cube[:, subset].prod(axis=1)), atol=1e-14)
    # Parseval: the weights add up to the mean square.
    np.testing.assert_allclose(spectrum.weights.sum(), np.mean(values**2), rtol=1e-13)


def test_the_papers_functions():
    """z₁ is of degree one, the product of degree five, and their sum has both and nothing between."""
    assert fourier("low").terms() == {(0,): 1.0}
    assert fourier("high").terms() == {(0, 1, 2, 3, 4): 1.0}
    both = fourier("both")
    assert both.terms() == {(0,): 1.0, (0, 1, 2, 3, 4): 1.0}
    assert (both.degree, both.lowest_degree) == (5, 1)
    np.testing.assert_allclose(both.weights, [0, 1, 0, 0, 0, 1], atol=1e-14)


def test_a_known_expansion():
    """The majority of three signs is (z₁ + z₂ + z₃ − z₁z₂z₃)/2."""
    assert fourier(majority, 3).terms() == {(0,): 0.5, (1,): 0.5, (2,): 0.5, (0, 1, 2): -0.5}


def test_a_constant_has_no_degree():
    spectrum = fourier(lambda z: 2.0 + 0 * z[0], 2)
    assert (spectrum.degree, spectrum.lowest_degree) == (0, None)
    assert spectrum.terms() == {(): 2.0}
    assert fourier(lambda z: 0 * z[0], 2).terms() == {}


def test_points():
    cube = points(3)
    assert len({tuple(row) for row in cube}) == 8 and set(np.unique(cube)) == {-1.0, 1.0}


def test_learning_needs_biases():
    """Random units with biases fit any function on the cube; without, no parity of three signs."""
    cube = points(4)
    values = np.random.default_rng(0).normal(size=len(cube))
    learned = learn_outer(cube, values, units=40, seed=1)
    assert learned.residual < 1e-8
    np.testing.assert_allclose(learned(cube), values, atol=1e-8)
    parity = cube[:, :3].prod(axis=1)
    # Orthogonal to everything that such a layer computes: the best fit is zero.
    assert learn_outer(cube, parity, units=400, biases=False).residual == pytest.approx(1.0, abs=1e-8)


def test_learning_from_repeated_samples():
    """Samples may repeat, and what was not sampled is not promised."""
    drawn = points(3)[[0, 1, 1, 5, 0, 0]]
    learned = learn_outer(drawn, drawn.prod(axis=1), units=30)
    np.testing.assert_allclose(learned(drawn), drawn.prod(axis=1), atol=1e-9)


def test_all_terms_of_a_dense_function_by_degree():
    """Every set has a coefficient of ∏(1 + z_i/2), one half for every element; sets of one size by their numbers."""
    terms = fourier(lambda z: jnp.prod(1 + z / 2), 13).terms()
    sizes = [len(subset) for subset in terms]
    assert sizes == sorted(sizes)
    assert len(terms) == 2**13
    assert all(value == pytest.approx(0.5 ** len(subset)) for subset, value in terms.items())
    assert list(terms)[1:4] == [(0,), (1,), (2,)]


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: fourier("middle"), "middle"),
        (lambda: fourier("low", 0), "patches"),
        (lambda: fourier("low", 40), "40"),
        (lambda: fourier(lambda z: z, 3), r"shape \(8, 3\)"),
        (lambda: fourier(lambda z: jnp.log(z[0]), 3), "finite"),
        (lambda: learn_outer(points(2), np.ones(3), 5), "4 numbers"),
        (lambda: learn_outer(points(2), np.ones(4), 0), "units"),
        (lambda: learn_outer(points(2), np.ones(4), 5, seed=-1), "seed"),
    ],
)
def test_bad_input(call, match):
    with pytest.raises(InvalidArgument, match=match):
        call()
