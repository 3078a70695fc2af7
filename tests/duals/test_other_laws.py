"""Duals under laws that are not Gaussian: by sampling, by the radial-moment argument, and as finite sums."""

from __future__ import annotations

import functools
import itertools

import differences
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from transcriptions import TRANSCRIPTIONS

from tutelage import activations, duals, inputs
from tutelage.errors import InvalidArgument, UnsupportedCombination
from tutelage.inputs.gaussian import chi_moment

NAMES = activations.names()
REGISTRY = inputs.registry()
LAWS = [name for name in REGISTRY if not name.startswith("gaussian")]
SPHERICAL = ["sphere", "ball", "student_t", "spherical", "mixture_spherical"]
HOMOGENEOUS = [name for name in NAMES if activations.get(name).homogeneity is not None]
QUADRATURE = duals.Quadrature()
FIRST = np.array([[0.5, -1.0, 0.3], [1.2, 0.4, 0.0], [0.0, 0.0, 0.0]])
SECOND = np.array([[0.5, -1.0, 0.3], [-0.2, 0.7, 1.1]])


@functools.cache
def law_of(name: str) -> inputs.Inputs:
    """A law of the registry in three dimensions, built once."""
    return REGISTRY[name](3)


@functools.cache
def draw(name: str) -> np.ndarray:
    """One sample of each law, drawn once by one program."""
    law = law_of(name)
    return np.asarray(jax.jit(lambda key: law.sample(key, 20_000))(jax.random.key(7)))


def kernel(sigma: str, tau: str, law: str) -> duals.Kernel | None:
    """The dual, or None after a refusal that names both activations."""
    try:
        return duals.kernel(activations.get(sigma), activations.get(tau), law_of(law), QUADRATURE)
    except UnsupportedCombination as refusal:
        assert sigma in str(refusal)  # noqa: PT017
        assert tau in str(refusal)  # noqa: PT017
        return None


@pytest.mark.parametrize("law", LAWS)
def test_values_agree_with_sampling_or_are_refused_by_name(law: str) -> None:
    """For all ordered pairs of activations: within five standard errors of the mean over samples, or a refusal."""
    samples = draw(law)
    first = np.stack([TRANSCRIPTIONS[name].value(samples @ FIRST.T) for name in NAMES], axis=1)
    second = np.stack([TRANSCRIPTIONS[name].value(samples @ SECOND.T) for name in NAMES], axis=1)
    # Of all pairs at once: means of products, and of their squares, `[σ, first, τ, second]`.
    means, squares = (np.tensordot(first**power, second**power, axes=(0, 0)) / len(samples) for power in (1, 2))
    variances = squares - means**2
    # A product that is constant has no variance; what rounding leaves of it must not make the test any milder.
    errors = np.sqrt(np.where(variances > 1e-12 * squares, variances, 0.0) / len(samples))
    supported = 0
    for sigma, tau in itertools.product(NAMES, NAMES):
        dual = kernel(sigma, tau, law)
        if dual is None:
            continue
        supported += 1
        if law == "mixture" and sigma != tau:
            continue  # a sum of Gaussian duals, which are slow to trace and tested on their own
        s, t = NAMES.index(sigma), NAMES.index(tau)
        found = dual.gram(FIRST, SECOND)
        assert np.all(np.abs(found - means[s, :, t]) <= 5 * errors[s, :, t] + 1e-12), f"{sigma}, {tau}"
    # The symmetric laws know the homogeneous activations, discrete ones everything, every law the linear one.
    atomic = REGISTRY[law](3).atoms() is not None
    assert supported >= (len(NAMES) ** 2 if atomic else len(HOMOGENEOUS) ** 2 if law in SPHERICAL else 1)


@pytest.mark.parametrize("law", SPHERICAL)
def test_homogeneous_activations_see_one_radial_moment(law: str) -> None:
    """Under a spherical law K is the Gaussian's times E|x|^(p+q) over the Gaussian's moment; so is the gradient."""
    distribution = REGISTRY[law](3)
    first, second, weights = jnp.asarray(FIRST), jnp.asarray(SECOND), jnp.array([[1.0, -0.5], [0.3, 2.0], [1.0, 1.0]])
    for sigma, tau in itertools.product(HOMOGENEOUS, HOMOGENEOUS):
        order = (activations.get(sigma).homogeneity or 0) + (activations.get(tau).homogeneity or 0)
        ratio = distribution.radial_moment(order) / chi_moment(3, order)
        dual, gaussian = kernel(sigma, tau, law), kernel(sigma, tau, "gaussian")
        assert dual is not None
        assert gaussian is not None
        label = f"{sigma}, {tau}"
        np.testing.assert_allclose(
            dual.gram(first, second), ratio * gaussian.gram(first, second), atol=1e-13, err_msg=label
        )
        if sigma not in ("relu", "sign"):
            continue
        expected = ratio * gaussian.pull(first, second, weights)
        np.testing.assert_allclose(dual.pull(first, second, weights), expected, atol=1e-13, err_msg=label)


@pytest.mark.parametrize("law", [name for name in LAWS if REGISTRY[name](3).atoms() is not None])
def test_finite_laws_are_exact_sums(law: str) -> None:
    """Values and gradients equal sums over the support, for all pairs."""
    atoms = REGISTRY[law](3).atoms()
    assert atoms is not None
    points, probabilities = np.asarray(atoms[0]), np.asarray(atoms[1])
    for sigma, tau in itertools.product(NAMES, NAMES):
        dual = kernel(sigma, tau, law)
        assert dual is not None
        left, right = TRANSCRIPTIONS[sigma].value(points @ FIRST.T), TRANSCRIPTIONS[tau].value(points @ SECOND.T)
        expected = np.einsum("n,ni,nj->ij", probabilities, left, right)
        np.testing.assert_allclose(dual.gram(jnp.asarray(FIRST), jnp.asarray(SECOND)), expected, atol=1e-13)
        slopes = TRANSCRIPTIONS[sigma].derivative(points @ FIRST[:2].T)
        expected = np.einsum("n,ni,nj,nk->ik", probabilities, slopes, right, points)
        pull = dual.pull(jnp.asarray(FIRST[:2]), jnp.asarray(SECOND), jnp.ones((2, 2)))
        np.testing.assert_allclose(pull, expected, atol=1e-13)


def box_rule(law: str) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of a tensor Gauss–Legendre rule for the uniform law on a box in the plane."""
    low, high = (-1.0, 1.0) if law == "uniform_box" else (-0.5, 2.0)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    axis = (low + high) / 2 + (high - low) / 2 * nodes
    return np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2), np.outer(weights, weights).reshape(-1) / 4


@pytest.mark.parametrize("law", ["uniform_box", "uniform_box_shifted"])
def test_means_of_waves_and_lines_under_a_box(law: str) -> None:
    """Their values and gradients against a tensor Gauss–Legendre rule, so that models of patches are exact too."""
    points, density = box_rule(law)
    weights = FIRST[0, :2]
    for name in ("linear", "cosine", "sine"):
        mean = duals.mean(activations.get(name), REGISTRY[law](2), QUADRATURE)
        value, gradient = jax.jit(jax.value_and_grad(mean))(weights)
        assert float(value) == pytest.approx(density @ TRANSCRIPTIONS[name].value(points @ weights), abs=1e-14)
        expected = (density * TRANSCRIPTIONS[name].derivative(points @ weights)) @ points
        np.testing.assert_allclose(gradient, expected, atol=1e-14)


def test_an_affine_activation_needs_two_moments_only() -> None:
    """½ − 2z of your own, with itself and with the identity, under a box: values and gradients by a rule."""
    affine = activations.Custom(
        "affine",
        lambda z: 0.5 - 2 * z,
        elements=(activations.Element(0.5, "one"), activations.Element(-2.0, "identity")),
    )
    points, density = box_rule("uniform_box_shifted")
    first, second = FIRST[:, :2], SECOND[:, :2]
    left, right = 0.5 - 2 * points @ first.T, points @ second.T
    for tau, values in ((affine, 0.5 - 2 * right), (activations.get("linear"), right)):
        dual = duals.kernel(affine, tau, REGISTRY["uniform_box_shifted"](2), QUADRATURE)
        expected = np.einsum("n,ni,nj->ij", density, left, values)
        np.testing.assert_allclose(dual.gram(jnp.asarray(first), jnp.asarray(second)), expected, atol=1e-13)
        pull = dual.pull(jnp.asarray(first), jnp.asarray(second), jnp.ones((len(first), len(second))))
        expected = np.einsum("n,nj,nk->k", density, -2 * values, points)
        np.testing.assert_allclose(pull, np.tile(expected, (len(first), 1)), atol=1e-13)


@pytest.mark.parametrize("law", ["uniform_box", "uniform_box_shifted"])
def test_waves_and_lines_under_a_box(law: str) -> None:
    """Cosines, sines and linear neurons under a uniform law against a tensor Gauss–Legendre rule."""
    box = REGISTRY[law](2)
    points, density = box_rule(law)
    first, second = FIRST[:, :2], SECOND[:, :2]
    for sigma, tau in [
        ("cosine", "cosine"),
        ("cosine", "sine"),
        ("sine", "cosine"),
        ("sine", "sine"),
        ("linear", "linear"),
    ]:
        dual = duals.kernel(activations.get(sigma), activations.get(tau), box, QUADRATURE)
        left, right = TRANSCRIPTIONS[sigma].value(points @ first.T), TRANSCRIPTIONS[tau].value(points @ second.T)
        expected = np.einsum("n,ni,nj->ij", density, left, right)
        np.testing.assert_allclose(dual.gram(jnp.asarray(first), jnp.asarray(second)), expected, atol=1e-14)


@pytest.mark.parametrize(
    ("law", "name"),
    [("uniform_box_shifted", "cosine"), ("uniform_box", "linear"), ("finite", "tanh"), ("mixture", "relu")],
)
def test_derivatives_of_the_other_kernels(law: str, name: str) -> None:
    """Gradient and Hessian–vector product are differences of value and gradient, one case for every kind of kernel."""
    dual = kernel(name, name, law)
    assert dual is not None
    second, weights = jnp.asarray(SECOND), jnp.array([[1.0, -0.5], [0.3, 2.0]])
    # Away from the second vectors, and from the zero neuron.
    point, direction = np.array([[0.7, 0.9, -0.2], [-0.9, 0.3, 0.8]]), np.array([[0.3, -0.5, 0.2], [0.1, 0.4, -0.6]])

    @jax.jit
    def evaluate(first):
        def pull(first):
            return dual.pull(first, second, weights)

        gradient, along = jax.jvp(pull, (first,), (jnp.asarray(direction),))
        return jnp.sum(weights * dual.gram(first, second)), gradient, along

    _, gradient, along = evaluate(jnp.asarray(point))
    values, gradients = zip(*(evaluate(jnp.asarray(p))[:2] for p in differences.stencil(point, direction)), strict=True)
    assert np.sum(np.asarray(gradient) * direction) == pytest.approx(float(differences.combine(values)), abs=1e-10)
    np.testing.assert_allclose(along, differences.combine(gradients), atol=1e-9)


def test_a_mixture_is_the_mean_of_its_components() -> None:
    """K of a mixture is the weighted sum of the components' K, also where one is Gaussian and one spherical."""
    parts = [inputs.gaussian(3, mean=[0.1, 0.2, 0.3]), inputs.ball(3), inputs.gaussian(3)]
    weights = [0.2, 0.5, 0.3]
    relu, first, second = activations.get("relu"), jnp.asarray(FIRST), jnp.asarray(SECOND)
    found = duals.kernel(relu, relu, inputs.mixture(parts, weights), QUADRATURE).gram(first, second)
    grams = [duals.kernel(relu, relu, part, QUADRATURE).gram(first, second) for part in parts]
    np.testing.assert_allclose(found, sum(w * gram for w, gram in zip(weights, grams, strict=True)), atol=1e-15)


def test_a_law_without_the_needed_moment_is_refused() -> None:
    """A t law with two degrees of freedom has no second moment, which ReLU needs."""
    relu = activations.get("relu")
    with pytest.raises(
        InvalidArgument, match=r"^`inputs` must have a finite moment of order 2.*student_t\(3, degrees=2\)"
    ):
        duals.kernel(relu, relu, inputs.student_t(3, degrees=2), QUADRATURE)


def test_means_agree_with_sampling() -> None:
    """E[σ(w·x)], the dual with the constant one, under Gaussian and spherical laws; means of odd functions vanish."""
    weights = jnp.asarray(FIRST[0])
    for law, name in itertools.product(["gaussian_general", "ball"], ["relu", "abs", "step", "quadratic"]):
        mean = duals.mean(activations.get(name), REGISTRY[law](3), QUADRATURE)
        values = TRANSCRIPTIONS[name].value(draw(law) @ FIRST[0])
        assert abs(float(mean(weights)) - values.mean()) <= 4.5 * values.std() / np.sqrt(len(values)), f"{name}, {law}"
    assert float(duals.mean(activations.get("erf"), inputs.gaussian(3), QUADRATURE)(weights)) == 0.0
