"""Convexity and its relatives: known constants at exact parameterisation, and their failure beyond it."""

import jax
import numpy as np
import pytest

import tutelage as tl
from tutelage.geometry import (
    Lojasiewicz,
    Neighbourhood,
    OnePointConvexity,
    PolyakLojasiewicz,
    convexity_radius,
    lojasiewicz_exponent,
    search,
    worst,
)

# The smallest eigenvalue at a global minimum without over-parameterisation (Theorem 2 of the paper).
SMALLEST = 0.25 - 0.5 / np.pi


@pytest.fixture(scope="module")
def exact():
    """As many students as teachers."""
    return tl.population(tl.problems.committee(np.eye(2), students=2))


@pytest.fixture(scope="module")
def over():
    """One student more."""
    return tl.population(tl.problems.committee(np.eye(2), students=3))


@pytest.fixture(scope="module")
def minimum(over):
    """A global minimum with a neuron split in halves."""
    return np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]])


def test_quotients_at_a_point(exact):
    """The quotients are what their definitions say."""
    point, lowest = np.array([[1.1, 0.2], [-0.1, 0.8]]), np.eye(2)
    gradient, loss = np.asarray(exact.gradient(point)), float(exact.loss(point))
    way = point - lowest
    assert float(OnePointConvexity()(exact, point, lowest)) == pytest.approx((gradient * way).sum() / (way**2).sum())
    assert float(PolyakLojasiewicz()(exact, point, lowest)) == pytest.approx(0.5 * (gradient**2).sum() / loss)
    # The quotient by gradients is the mean of the one by Hessians along the segment.
    nodes, weights = np.polynomial.legendre.leggauss(12)
    times = 0.5 * (nodes + 1)
    by_hessian = [float(OnePointConvexity("hessian")(exact, lowest + t * way, lowest)) for t in times]
    assert float(OnePointConvexity()(exact, point, lowest)) == pytest.approx(0.5 * weights @ by_hessian, rel=1e-6)
    assert float(Lojasiewicz(0.5)(exact, point, lowest)) == pytest.approx(
        np.sqrt(2 * float(PolyakLojasiewicz()(exact, point, lowest)))
    )
    assert float(OnePointConvexity()(exact, lowest, lowest)) == np.inf
    # Noise adds to all losses, and to the lowest one.
    noisy = tl.population(tl.problems.committee(np.eye(2), students=2, noise=0.4))
    for of, with_noise in ((PolyakLojasiewicz(), PolyakLojasiewicz(0.08)), (Lojasiewicz(0.7), Lojasiewicz(0.7, 0.08))):
        assert float(with_noise(noisy, point, lowest)) == pytest.approx(float(of(exact, point, lowest)), rel=1e-12)


def test_conditions_hold_with_as_many_students(exact):
    """Near the global minimum the worst quotient is the smallest eigenvalue of the Hessian."""
    near = Neighbourhood(np.eye(2), 1e-3)
    found = worst(exact, OnePointConvexity(), near)
    assert found.value == pytest.approx(SMALLEST, rel=3e-3) and found.distance <= 1e-3 * (1 + 1e-9)
    assert bool(near.contains(found.point))


def test_long_searches_are_compiled(exact, monkeypatch):
    """They find what those find that NumPy evaluates, up to rounding errors."""
    near = Neighbourhood(np.eye(2), 0.1)
    by_numpy = worst(exact, OnePointConvexity(), near, samples=16, rounds=5)
    monkeypatch.setattr(search, "_MOST_ROUNDS", 4)
    compiled = worst(exact, OnePointConvexity(), near, samples=16, rounds=5)
    assert compiled.value == pytest.approx(by_numpy.value, rel=1e-12)
    np.testing.assert_allclose(compiled.point, by_numpy.point, atol=1e-12)


def test_conditions_fail_beyond(over, minimum):
    """With a student more the worst Polyak–Łojasiewicz quotient falls with the radius (Theorem 5 of the paper)."""
    values = []
    for radius in (1e-1, 1e-2):
        near = Neighbourhood(minimum, radius, "orthogonal")
        found = worst(over, PolyakLojasiewicz(), near, inner=0.5)
        assert bool(near.contains(found.point))
        values.append(found.value)
    # In the worst directions the loss is cubic in the distance r, so that the quotient is linear.
    assert values[1] < 0.02 and np.log10(values[0] / values[1]) == pytest.approx(1.0, abs=0.3)


def test_fitted_exponents(over, minimum):
    """Cubic growth of the loss gives the exponent 2/3."""
    found = lojasiewicz_exponent(over, minimum, (0.03, 0.01, 0.003), "orthogonal", rounds=100)
    assert found.exponent == pytest.approx(2 / 3, abs=0.03)


def test_convexity_radius(exact, over, minimum):
    """Convex up to a radius with as many students; beyond that, at no radius that is searched (Theorem 3)."""
    found = convexity_radius(exact, np.eye(2))
    assert 0 < found.certified < found.found < 1 and found.eigenvalue < 0
    assert float(np.linalg.norm(found.witness - np.eye(2))) == pytest.approx(found.found)
    failing = convexity_radius(over, minimum)
    assert failing.certified == 0 and failing.found < 2e-4 and failing.eigenvalue < 0


@pytest.mark.parametrize("shape", ["ball", "neurons", "orthogonal"])
def test_neighbourhoods(shape):
    """Draws and projections lie inside; points outside are recognised."""
    centre = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [0.3, 0.0, -1.0]])
    near = Neighbourhood(centre, 0.1, shape)

    @jax.jit
    def drawn(keys):
        draws = jax.vmap(near.sample)(keys)
        return draws, jax.vmap(near.contains)(draws), jax.vmap(near.size)(draws)

    draws, inside, sizes = map(np.asarray, drawn(jax.random.split(jax.random.key(0), 20)))
    assert inside.all()
    np.testing.assert_allclose(near.sample(jax.random.split(jax.random.key(0), 20)[7]), draws[7], rtol=1e-13)
    assert sizes.max() <= 0.1 * (1 + 1e-12) and sizes.min() < 0.02
    outside = centre + np.array([[0.2, 0.1, 0.0], [0.0, 0.5, 0.0], [0.1, 0.0, 0.0]])
    assert not bool(near.contains(outside)) and bool(near.contains(near.project(outside)))
    if shape == "orthogonal":
        assert not bool(near.contains(centre * 1.001))
        np.testing.assert_allclose(np.einsum("ij,rij->ri", centre, draws - centre), 0.0, atol=1e-15)
    # Each neuron may be as far as the radius, the whole student further, except in a ball.
    corner = centre + 0.1 * np.array([[2.0, -1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]) / [[np.sqrt(5)], [1], [1]]
    assert bool(near.contains(corner)) == (shape != "ball")


def test_bad_input(exact):
    """Quotients, radii and exponents that make no sense are refused."""
    with pytest.raises(tl.InvalidArgument, match="radius"):
        Neighbourhood(np.eye(2), 0.0)
    with pytest.raises(tl.InvalidArgument, match="exponent"):
        Lojasiewicz(1.5)
    with pytest.raises(tl.InvalidArgument, match="quotient"):
        worst(exact, "convex", Neighbourhood(np.eye(2), 0.1))
    with pytest.raises(tl.InvalidArgument, match="two numbers"):
        lojasiewicz_exponent(exact, np.eye(2), (0.1,))
    with pytest.raises(tl.InvalidArgument, match="below"):
        convexity_radius(exact, np.eye(2), 0.1, 0.2)


def test_radii_of_rounding_errors_are_refused():
    """So close to a minimum that nothing is left of the loss, no exponent is fitted."""
    objective = tl.population(tl.problems.neuron(np.array([1.0, 0.5])))
    with pytest.raises(tl.InvalidArgument, match="`radii` must reach points whose loss"):
        lojasiewicz_exponent(objective, np.array([1.0, 0.5]), radii=(1e-9, 1e-10), samples=16, rounds=2)


def test_streams_are_refused():
    """What draws new samples at every call has no landscape to look at."""
    objective = tl.stream(tl.problems.neuron(np.array([1.0, 0.5])), 10)
    point = np.array([1.0, 0.5])
    for look in (
        lambda: lojasiewicz_exponent(objective, point),
        lambda: tl.geometry.spectrum(objective, point),
        lambda: tl.plot.landscape(objective, point, point, point),
    ):
        with pytest.raises(tl.InvalidArgument, match="`objective` must be deterministic"):
            look()


def test_neighbourhoods_of_numbers():
    """A parameter that is a number alone cannot move across itself."""
    around = Neighbourhood((np.ones(2), np.asarray(2.0), np.asarray(0.0)), 0.1, "orthogonal")
    vector, number, zero = around.sample(jax.random.key(0))
    assert float(number) == 2.0 and abs(float(zero)) <= 0.1
    np.testing.assert_allclose(np.ones(2) @ vector, 2.0)
    assert bool(around.contains((vector, number, zero)))
