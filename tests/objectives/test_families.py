"""Population losses of every family: against sampling, and their derivatives against finite differences."""

from __future__ import annotations

import functools

import cases
import differences
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import tutelage as tl
from tutelage.errors import UnsupportedCombination

NAMES = list(cases.CASES)
SAMPLES = 20_000


@functools.cache
def evaluated(name: str) -> tuple[cases.Evaluated, np.ndarray]:
    """Losses, gradients and second derivatives of a case at the stencil of two directions, and at its solution."""
    case = cases.case(name)
    flat = np.asarray(ravel_pytree(case.point)[0])
    directions = np.random.default_rng(0).normal(size=(2, flat.size))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    solution = flat if case.solution is None else np.asarray(ravel_pytree(case.solution)[0])
    points = np.concatenate([flat[None], *(differences.stencil(flat, d) for d in directions), solution[None]])
    return cases.compiled(cases.objective(name), case.point)(points, directions), directions


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_agrees_with_sampling(name: str) -> None:
    """Within 4.5 standard errors of ½ the mean squared residual with noisy labels."""
    case = cases.case(name)
    inputs, labels = case.problem.sample(jax.random.key(11), SAMPLES)
    halves = 0.5 * (np.asarray(case.problem.student.predict(case.point, inputs)) - np.asarray(labels)) ** 2
    error = halves.std() / np.sqrt(SAMPLES)
    assert abs(evaluated(name)[0].losses[0] - halves.mean()) <= 4.5 * error


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_agree_with_differences(name: str) -> None:
    """The gradient is the difference of losses, the Hessian that of gradients; products with it are its products."""
    found, directions = evaluated(name)
    # A quadrature is accurate to 1e-10 itself, and its derivatives to a few times that.
    tolerance = 1e-9 if cases.case(name).kind != "quadrature" else 5e-9
    scale = max(1.0, np.abs(found.hessian).max())
    for number, direction in enumerate(directions):
        stencil = slice(1 + 6 * number, 7 + 6 * number)
        slope = differences.combine(found.losses[stencil])
        assert found.gradients[0] @ direction == pytest.approx(float(slope), abs=tolerance * scale)
        turn = differences.combine(found.gradients[stencil])
        np.testing.assert_allclose(found.hessian @ direction, turn, rtol=0, atol=tolerance * scale)
        np.testing.assert_allclose(found.products[number], found.hessian @ direction, rtol=0, atol=1e-12 * scale)
    first, second = found.products
    assert first @ directions[1] == pytest.approx(second @ directions[0], abs=1e-12 * scale)


@pytest.mark.parametrize("name", [name for name in NAMES if cases.case(name).solution is not None])
def test_the_teacher_has_no_loss_but_the_noise(name: str) -> None:
    """A student that is the teacher, split neurons included: the loss is ½noise², and the gradient vanishes."""
    case = cases.case(name)
    found, _ = evaluated(name)
    # Jumps: two equal neurons are at the rounding of their cosine, whose root shows in a sign.
    rough = 1e-7 if "step" in name or "sign" in name else 1e-13
    tolerance = 1e-9 if case.kind == "quadrature" else rough
    assert found.losses[-1] == pytest.approx(0.5 * case.problem.noise**2, abs=tolerance)
    if "step" not in name and "sign" not in name:
        assert np.abs(found.gradients[-1]).max() <= max(tolerance, 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_finite_and_in_double_precision(name: str) -> None:
    """Losses and derivatives are finite at every point asked for, in float64, and shaped like the point."""
    found, _ = evaluated(name)
    assert all(np.isfinite(part).all() and part.dtype == np.float64 for part in found)
    case = cases.case(name)
    shapes = jax.eval_shape(cases.objective(name).gradient, case.point)
    assert jax.tree.structure(shapes) == jax.tree.structure(case.point)
    assert [leaf.shape for leaf in jax.tree.leaves(shapes)] == [leaf.shape for leaf in jax.tree.leaves(case.point)]


@pytest.mark.parametrize("name", NAMES)
def test_exactness_says_how_the_expectation_is_taken(name: str) -> None:
    """The kind of each case, with a tolerance for a quadrature only, and an error estimate that is zero otherwise."""
    case, objective = cases.case(name), cases.objective(name)
    exactness = objective.exactness
    assert exactness.kind == case.kind
    assert (exactness.tolerance is not None) == (case.kind == "quadrature")
    assert str(exactness).startswith(case.kind)
    estimate = float(jax.jit(objective.error_estimate)(case.point)) if case.kind == "quadrature" else 0.0
    assert estimate <= 1e-9
    if case.kind != "quadrature":
        assert float(objective.error_estimate(case.point)) == 0.0
    else:
        far = jax.tree.map(lambda leaf: 20.0 * leaf, case.point)
        assert float(jax.jit(objective.error_estimate)(far)) > 1e-8


def test_the_composite_has_no_population_loss() -> None:
    """A composite problem is refused by name; nothing is sampled instead."""
    problem = tl.problems.composite("both", jnp.ones(3), patches=2)
    with pytest.raises(UnsupportedCombination, match="composite.*`stream` or `empirical`"):
        tl.population(problem)


def test_unsupported_combinations_are_refused_by_name() -> None:
    """A pair of activation and law without an expectation is refused when the objective is built."""
    with pytest.raises(UnsupportedCombination, match=r"tanh under sphere\(3\)"):
        tl.population(tl.problems.neuron(jnp.ones(3), "tanh", tl.inputs.sphere(3)))
    with pytest.raises(UnsupportedCombination, match=r"wave .* uniform_box\(3, -0.5, 2\)|wave .* x and −x"):
        tl.population(tl.problems.wave(jnp.ones(3), 2, inputs=cases.law("uniform_box_shifted")))
    with pytest.raises(UnsupportedCombination, match=r"sphere\(3\)"):
        tl.population(tl.problems.wave(jnp.ones(3), 2, inputs=tl.inputs.sphere(3)))


@pytest.mark.parametrize("name", ["committee relu", "convolution normalized", "parity erf shared", "wave shared"])
def test_a_second_call_does_not_compile_again(name: str) -> None:
    """Compiled loss and gradient are traced once, for other points of the same shape as well."""
    objective, point = cases.objective(name), cases.case(name).point
    traces = []

    @jax.jit
    def evaluate(point):
        traces.append(name)
        return objective.loss(point), objective.gradient(point)

    first = evaluate(point)
    second = evaluate(jax.tree.map(lambda leaf: 1.1 * leaf, point))
    assert len(traces) == 1
    assert float(first[0]) != float(second[0])
