"""Plane marginal densities against quadrature, second moments, characteristic functions and sampling."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from tutelage import inputs
from tutelage.errors import UnsupportedCombination

LAWS = inputs.registry()
NEVER = {"spherical", "rademacher", "finite", "finite_symmetric", "mixture_finite", "data"}
FREQUENCY = np.array([1.3, -0.7])


def refused(name: str, dimension: int) -> bool:
    if name in NEVER or dimension == 1:
        return True
    return (name == "sphere" and dimension < 3) or (name.startswith("uniform_box") and dimension > 2)


def vectors(dimension: int) -> tuple[np.ndarray, np.ndarray]:
    return np.cos(1.0 + np.arange(dimension)), np.sin(2.0 * np.arange(dimension) + 1.0)


def polar_rule(edge: float) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights over the plane, Gauss–Legendre on both sides of a circle where it may break.

    Inside, r = edge · sin φ removes the root at the edge; outside, r = edge / u reaches infinity.
    """
    nodes, weights = np.polynomial.legendre.leggauss(120)
    angle, angle_weight = math.pi / 4 * (nodes + 1), math.pi / 4 * weights
    share, share_weight = (nodes + 1) / 2, weights / 2
    radius = np.concatenate([edge * np.sin(angle), edge / share])
    measure = np.concatenate([edge * np.cos(angle) * angle_weight, edge / share**2 * share_weight])
    turn = 2 * math.pi * np.arange(96) / 96
    points = radius[:, None, None] * np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    return points.reshape(-1, 2), np.repeat(radius * measure * 2 * math.pi / 96, 96)


def square_rule(half: float, number: int) -> tuple[np.ndarray, np.ndarray]:
    """The midpoint rule on a square, which converges exponentially for the smooth and decaying Gaussians."""
    nodes = half * (2 * (np.arange(number) + 0.5) / number - 1)
    points = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    return points, np.full(len(points), (2 * half / number) ** 2)


def rule(name: str, law: inputs.Inputs) -> tuple[np.ndarray, np.ndarray, float]:
    """Points, weights and the accuracy to expect."""
    if law.symmetry == "rotation":
        return *polar_rule(math.sqrt(law.dimension + (0 if name == "sphere" else 2))), 1e-10
    if name.startswith("uniform_box"):  # discontinuous along the slanted edges of the box
        return *square_rule(3.5, 900), 5e-3
    return *square_rule(22.0, 400), 1e-10


def expected_wave(name: str, law: inputs.Inputs, frequency: np.ndarray) -> float:
    """The mean of cos(t · x), for spherical laws from the Bessel functions of their full space."""
    dimension, size = law.dimension, float(np.linalg.norm(frequency))
    sphere = special.hyp0f1(dimension / 2, -dimension * size**2 / 4)
    ball = special.hyp0f1(dimension / 2 + 1, -(dimension + 2) * size**2 / 4)
    scaled = math.sqrt(12) * size
    student = special.kv(6, scaled) * scaled**6 / (math.gamma(6) * 2**5)
    mixed = 0.4 * ball + 0.6 * student
    known = {"sphere": sphere, "ball": ball, "student_t": student, "mixture_spherical": mixed}
    return float(known[name] if name in known else law.characteristic(jnp.asarray(frequency)).real)


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
@pytest.mark.parametrize("name", LAWS)
def test_plane_density_integrates_to_the_law(name: str, dimension: int) -> None:
    law = LAWS[name](dimension)
    first, second = vectors(dimension)
    if refused(name, dimension):
        with pytest.raises(UnsupportedCombination, match="plane density") as caught:
            law.plane_density(first, second)
        assert law.name in str(caught.value)
        return
    points, weights, accuracy = rule(name, law)
    mass = weights * np.asarray(law.plane_density(first, second)(points))
    basis = np.asarray(inputs.plane_basis(jnp.asarray(first), jnp.asarray(second)))
    assert mass.min() >= 0
    assert mass.sum() == pytest.approx(1.0, abs=accuracy)
    np.testing.assert_allclose(mass @ points, basis @ law.mean(), atol=accuracy)
    moment = (points * mass[:, None]).T @ points
    np.testing.assert_allclose(moment, basis @ law.second_moment() @ basis.T, atol=2 * accuracy)

    # An expectation that sees the shape of the density, not only its moments.
    wave = mass @ np.cos(points @ FREQUENCY)
    assert wave == pytest.approx(expected_wave(name, law, FREQUENCY @ basis), abs=accuracy)


@pytest.mark.parametrize("dimension", [3, 4, 7])
def test_the_sphere_law_by_archimedes_and_the_beta_law(dimension: int) -> None:
    """The share of the sphere over a disc of radius r is $1 - (1 - r^2/R^2)^{(d-2)/2}$."""
    density = inputs.sphere(dimension, radius=2.0).plane_density(*vectors(dimension))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    for radius in (0.5, 1.0, 1.7):
        distance = radius * (nodes + 1) / 2
        values = np.asarray(density(np.stack([distance, 0 * distance], axis=-1)))
        share = 2 * math.pi * np.sum(weights * radius / 2 * distance * values)
        assert share == pytest.approx(1 - (1 - radius**2 / 4) ** (dimension / 2 - 1), rel=1e-10)
    assert float(density(np.array([2.1, 0.0]))) == 0.0


def test_large_radius_laws_approach_the_gaussian() -> None:
    """In many dimensions sphere, ball and t law of many degrees have nearly Gaussian marginals."""
    points = np.array([[0.0, 0.0], [0.3, -1.0], [1.5, 1.5]])
    gaussian = inputs.gaussian(2).plane_density(np.eye(2)[0], np.eye(2)[1])(points)
    axes = np.eye(2, 10_000)
    for law in (inputs.sphere(10_000), inputs.ball(10_000), inputs.student_t(10_000, degrees=1e5)):
        np.testing.assert_allclose(law.plane_density(axes[0], axes[1])(points), gaussian, rtol=2e-3)


def test_a_gaussian_that_is_flat_has_no_density_in_the_flat_planes_only() -> None:
    law = inputs.gaussian(3, covariance=np.diag([1.0, 4.0, 0.0]))
    axes = np.eye(3)
    value = law.plane_density(axes[0], axes[1])(np.array([0.0, 0.0]))
    assert float(value) == pytest.approx(1 / (2 * math.pi * 2))
    with pytest.raises(UnsupportedCombination, match="singular"):
        law.plane_density(axes[0], axes[2])
    with pytest.raises(UnsupportedCombination, match="singular"):
        jax.jit(lambda axis: law.plane_density(axis, axes[1])(jnp.zeros(2)))(axes[0])


def test_densities_can_be_compiled_batched_and_differentiated() -> None:
    law = inputs.gaussian(3, mean=[0.1, 0.2, 0.3], covariance=np.diag([1.0, 2.0, 3.0]))
    axes, points = np.eye(3), np.ones((4, 5, 2))

    def value(vector: jax.Array) -> jax.Array:
        return jnp.sum(law.plane_density(vector, axes[1])(points))

    densities = law.plane_density(axes[0], axes[1])(points)
    assert densities.shape == (4, 5)
    values, slopes = jax.jit(jax.vmap(jax.value_and_grad(value)))(axes[::2])
    np.testing.assert_allclose(values[0], densities.sum(), rtol=1e-13)
    assert np.isfinite(slopes).all()

    def along_the_diagonal(scale: jax.Array) -> jax.Array:
        return inputs.sphere(3).plane_density(axes[0], axes[1])(scale * jnp.ones(2))

    inside, outside = jax.jit(jax.vmap(jax.grad(along_the_diagonal)))(jnp.array([0.5, 3.0]))
    assert inside > 0
    assert outside == 0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1.0, 2.0, -1.0], [0.5, 0.0, 3.0]),
        ([1.0, 2.0, -1.0], [1.0, 2.0, -1.0]),
        ([1.0, 2.0, -1.0], [-2.0, -4.0, 2.0]),
        ([1.0, 2.0, -1.0], [1.0, 2.0, -1.0 + 1e-13]),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 2.0]),
        ([0.0, 0.0, 0.0], [3.0, 0.0, 0.0]),
        ([0.0, 5.0, 0.0], [0.0, 0.0, 0.0]),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        ([1e-200, 0.0, 1e-200], [1e200, 1e180, 1e200]),
    ],
)
def test_the_basis_is_orthonormal_and_contains_both_vectors(first: list[float], second: list[float]) -> None:
    basis = np.asarray(jax.jit(inputs.plane_basis)(jnp.array(first), jnp.array(second)))
    np.testing.assert_allclose(basis @ basis.T, np.eye(2), atol=1e-15)
    for vector in (np.array(first), np.array(second)):
        np.testing.assert_allclose(basis.T @ (basis @ vector), vector, atol=1e-12 * np.abs(vector).max())
    if np.any(first):  # the orientation of Gram–Schmidt
        assert basis[0] @ (np.array(first) / np.abs(first).max()) > 0
    if np.linalg.norm(np.cross(first, second)) > 1e-6:
        assert basis[1] @ np.array(second) > 0


def test_the_basis_matches_gram_schmidt_and_its_gradient_is_finite() -> None:
    first, second = vectors(4)
    start = first / np.linalg.norm(first)
    rest = second - (second @ start) * start
    expected = np.stack([start, rest / np.linalg.norm(rest)])
    np.testing.assert_allclose(inputs.plane_basis(jnp.array(first), jnp.array(second)), expected, atol=1e-15)
    slope = jax.jit(jax.jacobian(inputs.plane_basis))
    for other in (second, first, np.zeros(4)):
        assert np.isfinite(slope(first, other)).all()
