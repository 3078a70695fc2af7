"""What every registered law promises, judged by sampling with its standard error and by its own atoms."""

from __future__ import annotations

import functools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.typing import ArrayLike
from scipy import stats

from tutelage import inputs
from tutelage.errors import InvalidArgument, UnsupportedCombination
from tutelage.inputs.finite import _up_to

LAWS = inputs.registry()
HALF = 10_000
KEYS = jax.random.split(jax.random.key(0), 2)
WITHOUT_CHARACTERISTIC = {"sphere", "ball", "student_t", "spherical", "mixture_spherical"}


@functools.cache
def draw(name: str) -> np.ndarray:
    """Samples of a registered law in dimension 4, drawn once: compiling takes longer than testing."""
    # Compiled with the law as an argument, over a batch of keys: nothing in a law may need to be looked at.
    batched = eqx.filter_jit(lambda law, keys: jax.vmap(lambda key: law.sample(key, (HALF,)))(keys))
    samples = np.asarray(batched(LAWS[name](4), KEYS))
    assert samples.shape == (2, HALF, 4)
    return samples.reshape(2 * HALF, 4)


@functools.cache
def compiled_characteristics(frequency: tuple[float, ...]) -> dict[str, np.ndarray]:
    """The characteristic functions of all laws that have one, in one program with the laws as arguments."""
    laws = {name: LAWS[name](4) for name in LAWS if name not in WITHOUT_CHARACTERISTIC}
    values = eqx.filter_jit(lambda laws, at: {name: law.characteristic(at) for name, law in laws.items()})
    return jax.device_get(values(laws, jnp.asarray(np.array(frequency))))


def assert_mean_is(values: np.ndarray, expected: ArrayLike, errors: float = 5.0) -> None:
    """The average over the first axis agrees with `expected` within `errors` standard errors."""
    error = values.std(axis=0) / math.sqrt(len(values))
    assert np.all(np.abs(values.mean(axis=0) - np.asarray(expected)) <= errors * error + 1e-12)


@pytest.mark.parametrize("name", LAWS)
def test_moments_agree_with_sampling(name: str) -> None:
    law = LAWS[name](4)
    samples = draw(name)
    assert_mean_is(samples, law.mean())
    assert_mean_is(samples[:, :, None] * samples[:, None, :], law.second_moment())
    mean = np.asarray(law.mean())
    np.testing.assert_allclose(
        np.asarray(law.covariance()), np.asarray(law.second_moment()) - np.outer(mean, mean), atol=1e-14
    )


@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize("name", LAWS)
def test_samples_have_the_shape_and_type_that_was_asked_for(name: str, dimension: int) -> None:
    law = LAWS[name](dimension)
    key = jax.random.key(1)
    assert law.dimension == dimension
    for shape, expected in (((), ()), (5, (5,)), ((0,), (0,)), ((2, 3), (2, 3))):
        found = jax.eval_shape(lambda key, shape=shape: law.sample(key, shape), key)
        assert found.shape == (*expected, dimension)
        assert found.dtype == jnp.float64
    for moment, shape in ((law.mean, (dimension,)), (law.second_moment, (dimension, dimension))):
        found = jax.eval_shape(lambda moment=moment: moment())
        assert (found.shape, found.dtype) == (shape, jnp.float64)


@pytest.mark.parametrize("name", LAWS)
def test_different_keys_and_places_give_different_samples(name: str) -> None:
    samples = draw(name)
    assert np.any(samples[:HALF] != samples[HALF:])
    if LAWS[name](4).atoms() is None:
        assert len(np.unique(samples[:, 0])) >= 0.99 * len(samples)


@pytest.mark.parametrize("name", ["gaussian_general", "sphere", "uniform_box", "rademacher", "finite", "mixture"])
def test_sampling_depends_on_the_key_only_compiled_or_not(name: str) -> None:
    for part, key in enumerate(KEYS):
        expected = draw(name)[part * HALF : (part + 1) * HALF]
        np.testing.assert_allclose(LAWS[name](4).sample(key, HALF), expected, rtol=1e-12, atol=1e-14)


def test_coordinates_have_the_known_laws() -> None:
    """One coordinate of each law against its distribution function: a test of sampling beyond moments.

    The squared coordinate of the unit sphere has a Beta law; that of the ball is as in two dimensions more.
    """
    known = {
        "gaussian": stats.norm.cdf,
        "student_t": stats.t(12).cdf,
        "uniform_box": stats.uniform(-1, 2).cdf,
        "sphere": lambda x: (1 + np.sign(x) * stats.beta(0.5, 1.5).cdf(x**2 / 4)) / 2,
        "ball": lambda x: (1 + np.sign(x) * stats.beta(0.5, 2.5).cdf(x**2 / 6)) / 2,
    }
    for name, distribution in known.items():
        assert stats.kstest(draw(name)[:, 1], distribution).pvalue > 1e-4, name


@pytest.mark.parametrize("name", LAWS)
def test_the_law_is_a_frozen_tree_that_survives_a_round_trip(name: str) -> None:
    law = LAWS[name](3)
    again = jax.tree.map(lambda leaf: leaf, law)
    assert (again.name, again.symmetry, again.dimension) == (law.name, law.symmetry, law.dimension)
    with pytest.raises((AttributeError, TypeError)):
        law.dimension = 4  # pyright: ignore[reportAttributeAccessIssue]


def projections(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The samples along an axis and along a diagonal, two unit vectors that a rotation exchanges."""
    return draw(name)[:, 0], draw(name).sum(axis=1) / 2


@pytest.mark.parametrize("name", [name for name in LAWS if LAWS[name](4).symmetry == "rotation"])
def test_rotation_symmetric_laws_look_alike_in_every_direction(name: str) -> None:
    axis, diagonal = projections(name)
    for power in (1, 2, 3, 4):
        assert_mean_is(axis**power - diagonal**power, 0.0)
    np.testing.assert_array_equal(LAWS[name](4).mean(), np.zeros(4))


@pytest.mark.parametrize("name", [name for name in LAWS if LAWS[name](4).symmetry == "reflection"])
def test_reflection_symmetric_laws_have_no_odd_moments(name: str) -> None:
    for projection in projections(name):
        assert_mean_is(projection, 0.0)
        assert_mean_is(projection**3, 0.0)


def test_the_symmetry_tests_can_fail() -> None:
    axis, diagonal = projections("rademacher")
    with pytest.raises(AssertionError):
        assert_mean_is(axis**4 - diagonal**4, 0.0)
    with pytest.raises(AssertionError):
        assert_mean_is(projections("uniform_box_shifted")[0] ** 3, 0.0)


def test_symmetries_are_the_expected_ones() -> None:
    found = {name: LAWS[name](3).symmetry for name in LAWS}
    rotation = {"gaussian", "gaussian_scaled", *WITHOUT_CHARACTERISTIC}
    reflection = {"gaussian_correlated", "uniform_box", "rademacher", "finite_symmetric"}
    for name, symmetry in found.items():
        expected = "rotation" if name in rotation else "reflection" if name in reflection else "none"
        assert symmetry == expected, name


@pytest.mark.parametrize("name", LAWS)
def test_radial_moments_agree_with_sampling(name: str) -> None:
    law = LAWS[name](4)
    if law.symmetry != "rotation":
        with pytest.raises(UnsupportedCombination, match="radial moment") as caught:
            law.radial_moment(2)
        assert law.name in str(caught.value)
        return
    radii = np.linalg.norm(draw(name), axis=1)
    for order in (-0.4, 0, 1, 2, 3, 4.5):
        assert_mean_is(radii**order, law.radial_moment(order))
    assert law.radial_moment(0) == pytest.approx(1.0, abs=1e-14)
    assert law.radial_moment(2) == pytest.approx(float(jnp.trace(law.second_moment())), rel=1e-14)


@pytest.mark.parametrize("name", LAWS)
def test_characteristic_function_agrees_with_sampling(name: str) -> None:
    law = LAWS[name](4)
    frequencies = np.array([[0.0, 0.0, 0.0, 0.0], [0.3, -0.7, 1.1, 0.2], [-2.0, 0.5, 0.4, 0.0]])
    if name in WITHOUT_CHARACTERISTIC:
        with pytest.raises(UnsupportedCombination, match="characteristic function"):
            law.characteristic(frequencies)
        return
    values = law.characteristic(frequencies)
    assert values.shape == (3,)
    assert values.dtype == jnp.complex128
    assert values[0] == pytest.approx(1.0, abs=1e-14)
    phases = draw(name) @ frequencies.T
    assert_mean_is(np.cos(phases), values.real)
    assert_mean_is(np.sin(phases), values.imag)
    single = compiled_characteristics(tuple(frequencies[1]))[name]
    np.testing.assert_allclose(single, values[1], rtol=1e-13)


@pytest.mark.parametrize("name", [name for name in LAWS if LAWS[name](4).atoms() is not None])
def test_atoms_carry_the_whole_law(name: str) -> None:
    law = LAWS[name](4)
    atoms = law.atoms()
    assert atoms is not None
    points, weights = np.asarray(atoms[0]), np.asarray(atoms[1])
    assert weights.sum() == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_allclose(weights @ points, law.mean(), atol=1e-14)
    np.testing.assert_allclose((points * weights[:, None]).T @ points, law.second_moment(), atol=1e-14)
    frequency = np.array([0.3, -0.7, 1.1, 0.2])
    direct = np.sum(weights * np.exp(1j * (points @ frequency)))
    np.testing.assert_allclose(law.characteristic(jnp.asarray(frequency)), direct, atol=1e-14)
    distance = np.abs(draw(name)[:200, None, :] - points).max(axis=-1)
    assert distance.min(axis=1).max() <= 1e-15


def test_names_are_short_and_say_what_differs() -> None:
    assert inputs.gaussian(3).name == "gaussian(3)"
    assert inputs.gaussian(2, mean=[0.0, 1.0]).name == "gaussian(2, mean)"
    assert inputs.sphere(3).name == "sphere(3)"
    assert inputs.sphere(3, radius=2).name == "sphere(3, radius=2)"
    assert inputs.student_t(3, 5).name == "student_t(3, degrees=5)"
    assert inputs.uniform_box(5).name == "uniform_box(5)"
    assert inputs.uniform_box(2, [0, 1], 3).name == "uniform_box(2, …, 3)"
    assert inputs.rademacher(4, scale=0.5).name == "rademacher(4, scale=0.5)"
    assert inputs.mixture([inputs.ball(2), inputs.sphere(2)]).name == "mixture(ball(2), sphere(2))"


@pytest.mark.parametrize("shape", [-1, 2.5, (3, -1), (1.5,), "3", None])
def test_a_bad_shape_is_named(shape: object) -> None:
    with pytest.raises(InvalidArgument, match="`shape`"):
        inputs.gaussian(2).sample(jax.random.key(0), shape)  # pyright: ignore[reportArgumentType]


def test_bad_frequencies_orders_and_vectors_are_named() -> None:
    law = inputs.gaussian(3)
    for frequency in (1.0, np.ones(2), np.ones((3, 2)), np.array([0.0, math.nan, 0.0])):
        with pytest.raises(InvalidArgument, match="`frequency`"):
            law.characteristic(frequency)  # pyright: ignore[reportArgumentType]
    for order in (math.nan, math.inf, "two"):
        with pytest.raises(InvalidArgument, match="`order`"):
            law.radial_moment(order)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidArgument, match="`first`"):
        law.plane_density(jnp.ones(2), jnp.ones(3))
    with pytest.raises(InvalidArgument, match="`second`"):
        law.plane_density(jnp.ones(3), jnp.ones((1, 3)))
    with pytest.raises(InvalidArgument, match="`second`"):
        law.plane_density(jnp.ones(3), jnp.array([0.0, math.inf, 0.0]))


@pytest.mark.parametrize("number", [1, 2, 3, 7, 8, 9, 255, 256, 257, 5000])
def test_rows_are_found_as_by_a_search(number):
    """The row of a draw is the one that NumPy's search finds; points of weight zero are never drawn."""
    random = np.random.default_rng(number)
    weights = np.where(random.uniform(size=number) < 0.3, 0.0, random.uniform(size=number))
    weights[random.integers(number)] = 1.0
    cumulative = np.cumsum(weights)
    levels = np.concatenate([cumulative[-1] * random.uniform(size=400), cumulative[cumulative < cumulative[-1]], [0.0]])
    np.testing.assert_array_equal(
        _up_to(jnp.asarray(cumulative), jnp.asarray(levels)), np.searchsorted(cumulative, levels, side="right")
    )
