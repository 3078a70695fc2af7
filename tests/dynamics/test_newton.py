"""The Newton finish: the same critical point as plain descent, taken only where that is certain."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import tutelage as tl
from tutelage.dynamics.newton import finish

pytestmark = pytest.mark.optimized

TOLERANCE = tl.gradient_norm(1e-12)


@pytest.mark.parametrize(("neurons", "step"), [(6, 0.5), (10, 0.4)])
def test_the_finish_reaches_the_point_of_plain_descent(neurons: int, step: float):
    """From 100 Xavier starts both end within 1e-9 of each other, with a gradient norm of at most 1e-12."""
    objective = tl.population(tl.problems.committee(np.eye(neurons), students=neurons))
    starts = tl.starts.xavier(objective.problem, runs=100, seed=1)
    plain = tl.descend(objective, starts, tl.GradientDescent(step), TOLERANCE)
    finished = tl.descend(objective, starts, tl.GradientDescent(step), TOLERANCE, finish=tl.Newton())
    assert set(plain.statuses) == set(finished.statuses) == {"converged"}
    assert finished.gradient_norms.max() <= 1e-12
    assert np.abs(np.asarray(plain.points) - np.asarray(finished.points)).max() < 1e-9
    # The finish is taken and saves steps; of ten neurons not all runs end at the teacher.
    assert (finished.newton_steps > 0).mean() > 0.9
    assert finished.steps.sum() < 0.7 * plain.steps.sum()
    assert finished.losses.min() < 1e-12
    assert finished.losses.max() > 1e-3 or neurons == 6


@pytest.fixture(scope="module")
def pair() -> tl.objectives.Objective:
    return tl.population(tl.problems.committee(np.eye(2), students=2))


NEAR = np.array([[1.0, 0.001], [-0.002, 1.0]])


def attempt(objective, point, method=None, **settings):
    method = tl.GradientDescent(0.3) if method is None else method
    return finish(tl.Newton(**settings), objective, method, jnp.asarray(point), 1e-12)


def test_the_finish_is_taken_near_a_minimum(pair):
    """Near the teacher a few Newton steps end at it; too few steps allowed are a failure."""
    outcome = attempt(pair, NEAR)
    np.testing.assert_allclose(outcome.point, np.eye(2), rtol=0, atol=1e-11)
    assert outcome.gradient_norm <= 1e-12
    assert 1 <= outcome.steps <= 5
    assert attempt(pair, NEAR, most_steps=1) is None


def test_the_finish_is_not_taken_at_a_saddle(pair):
    """Two equal students on the diagonal stand at a critical point that is no minimum."""
    saddle = np.full((2, 2), (1 + 3 * np.pi / 4) / (2 * np.pi))
    assert np.abs(pair.gradient(saddle)).max() < 1e-14
    assert np.linalg.eigvalsh(pair.hessian(saddle)).min() < -0.05
    assert attempt(pair, saddle) is None


def test_the_finish_is_not_taken_where_descent_would_not_go(pair):
    """An unstable step, a projection that could act and a point too far away are left to descent."""
    largest = np.linalg.eigvalsh(pair.hessian(NEAR)).max()
    assert attempt(pair, NEAR, tl.GradientDescent(1.8 / largest)) is not None
    assert attempt(pair, NEAR, tl.GradientDescent(2.01 / largest)) is None
    assert attempt(pair, NEAR, tl.GradientDescent(0.3, projection=tl.Ball(2.0))) is not None
    assert attempt(pair, NEAR, tl.GradientDescent(0.3, projection=tl.Ball(1.001))) is None
    # Here the Hessian is positive definite and Newton's method would converge; the condition is what refuses.
    farther = np.eye(2) + 10 * (NEAR - np.eye(2))
    assert np.linalg.eigvalsh(pair.hessian(farther)).min() > 0.05
    assert attempt(pair, farther) is None
    assert attempt(pair, NEAR, tl.GradientFlow()) is not None


def test_where_the_finish_applies(pair):
    """It applies to exact losses with a known bound and to steady methods, at any point."""
    newton, descent = tl.Newton(), tl.GradientDescent(0.3)
    assert newton.applicable(pair, descent, jnp.zeros((2, 2)))
    assert newton.applicable(pair, tl.GradientFlow(), jnp.zeros((2, 2)))
    assert not tl.Newton(most_parameters=3).applicable(pair, descent, jnp.zeros((2, 2)))
    assert not newton.applicable(pair, tl.GradientDescent(lambda step: 0.3), jnp.zeros((2, 2)))
    assert not newton.applicable(pair, tl.StochasticGradientDescent(0.3), jnp.zeros((2, 2)))
    assert not newton.applicable(pair, tl.dynamics.OptaxMethod(optax.sgd(0.1)), jnp.zeros((2, 2)))
    assert not newton.applicable(tl.stream(pair.problem, 3), descent, jnp.zeros((2, 2)))
    smooth = tl.population(tl.problems.committee(np.eye(2), students=2, activation="erf"))
    assert not newton.applicable(smooth, descent, jnp.zeros((2, 2)))


def test_a_finished_run_depends_on_its_own_start_alone(pair):
    """A first run that cannot be finished changes nothing for the second; histories end where runs end."""
    starts = np.stack([np.array([[0.0, 0.0], [0.5, 1.0]]), NEAR + 0.1])
    record = tl.record("loss", "gradient_norm", every=1)
    options = {"finish": tl.Newton(gate=1e-2), "record": record}
    both = tl.descend(pair, starts, tl.GradientDescent(0.3), TOLERANCE, **options)
    alone = tl.descend(pair, starts[1:], tl.GradientDescent(0.3), TOLERANCE, first_run=1, **options)
    assert both.statuses.tolist() == ["non_differentiable", "converged"]
    assert both.newton_steps[1] == alone.newton_steps[0] > 0
    np.testing.assert_array_equal(both.points[1], alone.points[0])
    steps, norms = both.curve("gradient_norm", 1)
    np.testing.assert_array_equal(norms, alone.curve("gradient_norm", 0)[1])
    assert steps.tolist() == list(range(both.steps[1] + 1))
    assert norms[-1] <= 1e-12 < 1e-4 < norms[-2]
    assert both.curve("loss", 1)[1][-1] == pytest.approx(both.losses[1], abs=1e-15)


def test_a_finish_can_be_interrupted(pair):
    """Runs that wait for a finish can be continued with or without a condition on the gradient."""
    starts, method, newton = NEAR[None] + 0.1, tl.GradientDescent(0.3), tl.Newton(gate=1e-2)
    record = tl.record("loss", "gradient_norm", every=1)
    whole = tl.descend(pair, starts, method, TOLERANCE, record, finish=newton)
    part = tl.descend(pair, starts, method, TOLERANCE | tl.step_limit(5), record, finish=newton)
    assert part.newton_steps[0] == 0
    assert part.steps[0] == 5 < whole.steps[0]
    rest = tl.descend(pair, part, method, TOLERANCE)
    np.testing.assert_array_equal(whole.points, rest.points)
    assert whole.frame().equals(rest.frame())
    assert whole.history().equals(rest.history())
    # Without a condition on the gradient there is nothing to finish.
    longer = tl.descend(pair, part, method, tl.step_limit(100))
    assert longer.statuses.tolist() == ["step_limit"]
    last = tl.descend(pair, longer, method, TOLERANCE, finish=newton)
    assert last.newton_steps[0] > 0
    np.testing.assert_allclose(last.points, whole.points, rtol=0, atol=1e-11)


def lipschitz_ratios(objective, points: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Changes of the Hessian over what the bound allows."""
    distances = np.linalg.norm(moves.reshape(len(moves), -1), axis=1)
    hessian = jax.jit(jax.vmap(lambda point: objective.hessian(point)))
    bound = jax.jit(jax.vmap(lambda point, distance: objective.hessian_lipschitz(point, distance)))
    changes = np.linalg.norm(hessian(points + moves) - hessian(points), ord=2, axis=(1, 2))
    return changes / (np.asarray(bound(points, distances)) * distances)


def test_the_lipschitz_bound_holds():
    """Hessians differ by at most the bound times the distance, for random and nearly parallel neurons."""
    rng = np.random.default_rng(0)
    objective = tl.population(tl.problems.committee(rng.normal(size=(3, 4)), students=3))
    points, moves = rng.normal(size=(600, 3, 4)), rng.normal(size=(600, 3, 4))
    # A third: two students, and a student and a teacher, almost parallel.
    offsets = 10.0 ** rng.uniform(-8, -1, size=(200, 1))
    points[::3, 1] = points[::3, 0] * rng.uniform(0.5, 2, size=(200, 1)) + offsets * rng.normal(size=(200, 4))
    points[::3, 2] = np.asarray(objective.target)[0] + offsets * rng.normal(size=(200, 4))
    # Half: all of the move in one neuron, across it.
    moves[::2, 1:] = 0
    first = points[::2, 0]
    along = np.sum(moves[::2, 0] * first, axis=1) / np.sum(first**2, axis=1)
    moves[::2, 0] -= along[:, None] * first
    sizes = np.minimum(10.0 ** rng.uniform(-6, -0.5, size=600), 0.5 * np.linalg.norm(points, axis=2).min(axis=1))
    moves *= (sizes / np.linalg.norm(moves.reshape(600, -1), axis=1))[:, None, None]
    ratios = lipschitz_ratios(objective, points, moves)
    assert ratios.max() <= 1.0
    assert ratios.max() > 0.05  # a bound of some use
    assert float(objective.hessian_lipschitz(points[0], 100.0)) == np.inf


def test_a_single_neuron_has_a_bound_of_its_own():
    """The same for one neuron, whose loss has no mixed terms."""
    rng = np.random.default_rng(1)
    objective = tl.population(tl.problems.neuron([1.0, 0.5, -0.3]))
    points, moves = rng.normal(size=(600, 3)), rng.normal(size=(600, 3))
    sizes = 10.0 ** rng.uniform(-5, -1, size=600) * np.linalg.norm(points, axis=1)
    moves *= (sizes / np.linalg.norm(moves, axis=1))[:, None]
    assert 0.3 < lipschitz_ratios(objective, points, moves).max() <= 1.0


def even_part(w, v):
    """The even part of the dual with factor one, from the cross and the inner product."""
    inner = w @ v
    outer = jnp.sqrt((w @ w) * (v @ v) - inner**2)
    return (2 / jnp.pi) * (outer + (jnp.pi / 2 - jnp.arctan2(outer, inner)) * inner)


def test_the_constants_of_the_bound():
    """Over all angles, the third derivatives have norms below 1.75 (w thrice) and 4/π (w twice, v once)."""
    second = jax.jacfwd(jax.jacfwd(even_part))
    derivatives = jax.jit(lambda w, v: (jax.jacfwd(second)(w, v), jax.jacfwd(second, argnums=1)(w, v)))
    rng = np.random.default_rng(0)
    units = rng.normal(size=(20_000, 4))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    cubic, crossed = [], []
    w = np.eye(4)[0]
    pairs = (units[:, :, None] * units[:, None, :]).reshape(-1, 16)
    for angle in [1e-3, 1e-2, *np.linspace(0.05, np.pi - 0.05, 60), np.pi - 1e-2, np.pi - 1e-3]:
        third, mixed = map(np.asarray, derivatives(w, np.array([np.cos(angle), np.sin(angle), 0.0, 0.0])))
        cubic.append(np.abs(np.sum((pairs @ third.reshape(16, 4)) * units, axis=1)).max())
        # [i, j, k]: v last by the order of differentiation, whatever: symmetric in the two of w.
        crossed.append(np.sqrt(np.sum((pairs @ mixed.reshape(16, 4)) ** 2, axis=1)).max())
    assert max(cubic) < 1.75
    assert max(cubic) > 1.6
    assert max(crossed) <= 4 / np.pi
    assert max(crossed) > 0.97 * 4 / np.pi
    # The bound is for norms one; it scales with |v|/|w|² and 1/|w|.
    v = np.array([0.3, 1.1, 0.0, 0.4])
    (third, mixed), (scaled_third, scaled_mixed) = derivatives(w, v), derivatives(2 * w, 3 * v)
    np.testing.assert_allclose(scaled_third, np.asarray(third) * 3 / 4, atol=1e-12)
    np.testing.assert_allclose(scaled_mixed, np.asarray(mixed) / 2, atol=1e-12)
