"""Vectors where closed forms have removable singularities: almost parallel, zero, and laws that live on a line."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from plane_quadrature import all_pairs, curvature, mixed, plane_rule
from transcriptions import TRANSCRIPTIONS

from tutelage import activations, duals, errors, inputs, problems
from tutelage.objectives import population

QUADRATURE = duals.Quadrature()
ANGLES = [0.0, 1e-15, 1e-12, 1e-10, 1e-8, 3e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-2]
ONE = jnp.ones((1, 1))


def close_pairs() -> tuple[np.ndarray, np.ndarray]:
    """Pairs of vectors in three dimensions that are parallel or antiparallel up to each of the angles."""
    rng = np.random.default_rng(3)
    first, second = [], []
    for sign in (1, -1):
        for angle in ANGLES:
            w = rng.normal(size=3)
            normal = np.cross(w, rng.normal(size=3))
            normal *= np.linalg.norm(w) / np.linalg.norm(normal)
            first.append(w)
            second.append(1.7 * sign * (np.cos(angle) * w + np.sin(angle) * normal))
    return np.array(first), np.array(second)


@pytest.mark.optimized
@pytest.mark.parametrize("law", ["gaussian", "gaussian_shifted"])
def test_almost_parallel_neurons_have_the_right_hessian(law: str) -> None:
    """Value, gradient and both Hessian blocks of the ReLU dual, against quadrature, at angles from 0 to 0.01."""
    distribution = inputs.registry()[law](3)
    relu = activations.get("relu")
    dual = duals.dual(relu, relu, distribution, QUADRATURE)

    def evaluate(w, v):
        def pull(w, v):
            gradient = dual.forward.pull(w[None], v[None], ONE)[0]
            return gradient, gradient

        # The gradient is computed on the way to its derivatives: asked for besides, it would be compiled twice.
        blocks, gradient = jax.jacfwd(pull, argnums=(0, 1), has_aux=True)(w, v)
        return dual(w, v), gradient, *blocks

    first, second = close_pairs()
    found = jax.jit(jax.vmap(evaluate))(jnp.asarray(first), jnp.asarray(second))
    mean, written = np.asarray(distribution.mean()), {"relu": TRANSCRIPTIONS["relu"]}
    for w, v, value, gradient, by_first, by_second in zip(first, second, *map(np.asarray, found), strict=True):
        rule = plane_rule(w, v, mean, np.eye(3))
        values, gradients = all_pairs(rule, written, {"relu": 0.0})
        assert value == pytest.approx(values[0, 0], abs=1e-12)
        np.testing.assert_allclose(gradient, gradients[0, 0], rtol=0, atol=1e-12)
        relu_transcription = TRANSCRIPTIONS["relu"]
        np.testing.assert_allclose(by_second, mixed(rule, relu_transcription), rtol=0, atol=1e-12)
        np.testing.assert_allclose(by_first, curvature(rule, relu_transcription, slope_jump=1.0), rtol=0, atol=1e-12)


def test_a_constant_coordinate_is_a_bias() -> None:
    """Inputs (z, 1): neurons with a bias, also with no weight but the bias, or the same weight and other biases."""
    law = inputs.gaussian(2, mean=[0.0, 1.0], covariance=np.diag([1.0, 0.0]))
    names = ("relu", "abs", "sign", "quadratic", "linear")
    written = {name: TRANSCRIPTIONS[name] for name in names}
    slopes = {name: float(activations.get(name).derivative(jnp.zeros(()))) for name in names}
    first = np.array([[1.0, 0.4], [0.0, 0.7], [0.0, -0.5], [-0.8, 0.3], [0.0, 0.0]])
    second = np.array([[1.0, 0.4], [1.0, -0.6], [-0.5, 0.2], [0.0, -0.3], [0.0, 0.9]])
    expected = np.zeros((5, 5, len(names), len(names)))
    for i, w in enumerate(first):
        for j, v in enumerate(second):
            expected[i, j], _ = all_pairs(plane_rule(w, v, np.array([0.0, 1.0]), np.diag([1.0, 0.0])), written, slopes)
    for s, sigma in enumerate(names):
        for t, tau in enumerate(names):
            dual = duals.kernel(activations.get(sigma), activations.get(tau), law, QUADRATURE)
            gram = dual.gram(jnp.asarray(first), jnp.asarray(second))
            np.testing.assert_allclose(gram, expected[:, :, s, t], rtol=0, atol=1e-13, err_msg=f"{sigma}, {tau}")


@pytest.mark.parametrize("law", ["gaussian", "sphere", "gaussian_general"])
def test_a_zero_neuron_has_the_slope_of_the_convention(law: str) -> None:
    """At w = 0 the gradient is σ'(0) E[τ(v·x) x], for kinked σ with any convention and τ with a closed form."""
    distribution = inputs.registry()[law](3)
    zero, second = jnp.zeros((1, 3)), jnp.array([[0.3, -1.2, 0.5]])
    kinks = (0.5,) if law == "gaussian_general" else (0.0, 0.5, 1.0)  # slow to trace with a mean
    for name in ("relu", "step", "quadratic"):
        tau = activations.get(name)
        linear = duals.kernel(activations.get("linear"), tau, distribution, QUADRATURE).pull(zero, second, ONE)
        for kink in kinks:
            for sigma in (activations.ReLU(kink), activations.Absolute(kink), activations.LeakyReLU(0.2, kink)):
                found = duals.kernel(sigma, tau, distribution, QUADRATURE).pull(zero, second, ONE)
                np.testing.assert_allclose(found, kink * linear, rtol=0, atol=1e-15, err_msg=f"{sigma.name}, {name}")


def test_one_dimension_works() -> None:
    """In one dimension all vectors are parallel: E[relu(wx)relu(vx)] is ½wv for equal signs and 0 otherwise."""
    weights = jnp.array([[2.0], [-0.5], [0.0]])
    dual = duals.kernel(activations.get("relu"), activations.get("relu"), inputs.gaussian(1), QUADRATURE)
    np.testing.assert_allclose(
        dual.gram(weights, weights, same=True), [[2, 0, 0], [0, 0.125, 0], [0, 0, 0]], atol=1e-16
    )
    np.testing.assert_allclose(dual.pull(weights, weights, jnp.eye(3), same=True), weights / 2, atol=1e-16)


@pytest.mark.parametrize("law", sorted(inputs.registry()))
def test_an_opposite_neuron_is_not_pulled_however_small(law: str) -> None:
    """On a line, the gradient at −s is −s times that at −1: rounding would move a shrinking neuron across zero."""
    try:
        objective = population(problems.neuron([1.0], inputs=inputs.registry()[law](1)))
    except errors.TutelageError as refused:
        pytest.skip(str(refused))
    sizes = np.concatenate([10.0 ** np.arange(-300, 0, 10), 10.0 ** -np.random.default_rng(5).uniform(0, 40, 200)])
    found = np.array([np.asarray(objective.gradient(np.array([-size])))[0] for size in sizes])
    expected = sizes * float(np.asarray(objective.gradient(np.array([-1.0])))[0])
    assert np.all(expected < 0)
    # With a mean, what an opposite neuron pulls is a difference of moments, and zero only up to their rounding.
    centred = not np.any(np.asarray(objective.problem.inputs.mean()))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0.0 if centred else 1e-16)
