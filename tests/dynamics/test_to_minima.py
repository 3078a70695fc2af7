"""Ways to shorten descent: they end where plain descent ends, and refuse where they would not."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import tutelage as tl
from tutelage.dynamics.chebyshev import _table
from tutelage.dynamics.collective import _LENGTHS, CollectiveDescent
from tutelage.instant import instantly
from tutelage.objectives.population.collective import collective, has_collective

pytestmark = pytest.mark.optimized

TOLERANCE = tl.gradient_norm(1e-12) | tl.step_limit(100_000)


@pytest.mark.slow
@pytest.mark.parametrize("neurons", [10, 16])
def test_shortcuts_reach_the_points_of_plain_descent(neurons: int):
    """From 200 Xavier starts, with the paper's step: the same point within 1e-8, wherever plain descent has ended.

    Runs that pass near a saddle amplify differences; the shortcuts are accurate enough for all of these starts.
    """
    objective = tl.population(tl.problems.committee(np.eye(neurons), students=neurons))
    starts = tl.starts.xavier(objective.problem, runs=210, seed=3)
    step = 5 / neurons
    plain = tl.descend(objective, starts, tl.GradientDescent(step), tl.gradient_norm(1e-12) | tl.step_limit(40_000))
    ended = plain.statuses == "converged"
    assert ended.sum() >= 200
    finished = tl.descend(objective, starts, tl.GradientDescent(step), TOLERANCE, finish=tl.NewtonKrylov())
    short = tl.descend(objective, starts, tl.ChebyshevDescent(step), TOLERANCE, finish=tl.NewtonKrylov())
    shortest = tl.descend(objective, starts, CollectiveDescent(step), TOLERANCE, finish=tl.NewtonKrylov())
    for runs in (finished, short, shortest):
        assert set(runs.statuses) == {"converged"}
        assert runs.gradient_norms.max() <= 1e-12
        assert (runs.newton_steps > 0).all()
        distances = np.abs(np.asarray(runs.points) - np.asarray(plain.points)).max(axis=(1, 2))
        assert distances[ended].max() < 1e-8
    assert finished.steps.sum() < 0.6 * plain.steps.sum()
    # What the groups of steps save grows with the number of neurons: nothing at 10, two fifths at 20.
    assert short.steps.sum() < (0.75 if neurons == 16 else 1.2) * finished.steps.sum()
    assert shortest.steps.sum() < 0.6 * short.steps.sum()
    # Not all runs end at the teacher: there are several minima to confuse.
    assert short.losses.min() < 1e-20 < 1e-3 < short.losses.max()


@pytest.fixture(scope="module")
def pair() -> tl.objectives.Objective:
    return tl.population(tl.problems.committee(np.eye(2), students=2))


NEAR = np.array([[1.0, 0.001], [-0.002, 1.0]])


def attempt(objective, point, method=None, **settings):
    method = tl.GradientDescent(0.3) if method is None else method
    points = jnp.stack([jnp.asarray(point)] * 2)
    ends, finished, steps = tl.NewtonKrylov(**settings).complete(objective, method, points, 1e-12, tile=8)
    assert finished[0] == finished[1]
    return (ends[0], int(steps[0])) if finished[0] else None


def test_the_finish_is_taken_near_a_minimum(pair):
    """Near the teacher a few Newton steps end at it; too few steps or products are a failure."""
    end, steps = attempt(pair, NEAR)
    np.testing.assert_allclose(end, np.eye(2), rtol=0, atol=1e-11)
    assert 1 <= steps <= 8
    assert attempt(pair, NEAR, most_steps=1) is None
    assert attempt(pair, NEAR, most_products=1) is None


def test_the_finish_is_not_taken_at_a_saddle(pair):
    """Two equal students stand at a saddle: on the saddle, near it along the way in, and near it on the way out."""
    value = (1 + 3 * np.pi / 4) / (2 * np.pi)
    saddle = np.full((2, 2), value)
    unstable = np.linalg.eigh(pair.hessian(saddle))[1][:, 0].reshape(2, 2)
    assert np.abs(pair.gradient(saddle)).max() < 1e-14
    for point in (saddle, 1.001 * saddle, saddle + 1e-3 * unstable, 1.001 * saddle + 1e-9 * unstable):
        assert attempt(pair, point) is None


def test_the_finish_is_not_taken_where_descent_would_not_go(pair):
    """An unstable step and a projection that could act are left to descent."""
    largest = np.linalg.eigvalsh(pair.hessian(NEAR)).max()
    assert attempt(pair, NEAR, tl.GradientDescent(1.9 / largest)) is not None
    assert attempt(pair, NEAR, tl.GradientDescent(2.1 / largest)) is None
    assert attempt(pair, NEAR, tl.ChebyshevDescent(2.1 / largest)) is None
    assert attempt(pair, NEAR, tl.GradientDescent(0.3, projection=tl.Ball(2.0))) is not None
    assert attempt(pair, NEAR, tl.GradientDescent(0.3, projection=tl.Ball(1.001))) is None
    assert attempt(pair, NEAR, tl.GradientFlow()) is not None


def test_where_the_finish_applies(pair):
    """It applies to deterministic losses and steady methods."""
    finish, point = tl.NewtonKrylov(), jnp.zeros((2, 2))
    for method in (tl.GradientDescent(0.3), tl.ChebyshevDescent(0.3), tl.GradientFlow()):
        assert finish.applicable(pair, method, point)
        assert not finish.applicable(tl.stream(pair.problem, 3), method, point)
    for method in (
        tl.GradientDescent(lambda step: 0.3),
        tl.StochasticGradientDescent(0.3),
        tl.dynamics.OptaxMethod(optax.sgd(0.1)),
    ):
        assert not finish.applicable(pair, method, point)


def test_a_finished_run_depends_on_its_own_start_alone():
    """Runs that wait for others, fail and try again end at the same bits alone, in any company, and interrupted."""
    objective = tl.population(tl.problems.committee(np.eye(6), students=6))
    starts = np.asarray(tl.starts.xavier(objective.problem, runs=7, seed=5))
    method, finish = tl.ChebyshevDescent(0.5), tl.NewtonKrylov(gate=1e-2)
    together = tl.descend(objective, starts, method, TOLERANCE, finish=finish)
    assert (together.newton_steps > 0).all()
    alone = tl.descend(objective, starts[3:4], method, TOLERANCE, first_run=3, finish=finish)
    np.testing.assert_array_equal(alone.points[0], together.points[3])
    assert alone.steps[0] == together.steps[3]
    part = tl.descend(objective, starts, method, tl.gradient_norm(1e-12) | tl.step_limit(60), finish=finish)
    rest = tl.descend(objective, part, method, TOLERANCE)
    np.testing.assert_array_equal(rest.points, together.points)


@pytest.mark.parametrize("stiffness", [1.5, 2.0])
def test_groups_expand_like_descent(stiffness: float):
    r"""Every stability polynomial is stable, and expands as $1 + z + (1 - 1/n)z^2/2$ like $n$ steps of descent."""
    table = _table(stiffness)
    assert table.stages[0] == table.steps[0] == 1
    assert (np.diff(table.steps) > 0).all()
    assert (table.steps[1:] > table.stages[1:]).all()
    for level in range(1, len(table.stages)):
        stages, steps = int(table.stages[level]), int(table.steps[level])
        values = [np.polynomial.Polynomial([1.0]), np.polynomial.Polynomial([1.0, table.slope[level, 1]])]
        z = np.polynomial.Polynomial([0.0, 1.0])
        for j in range(2, stages + 1):
            mu, nu = table.previous[level, j], table.before[level, j]
            slopes = z * (table.slope[level, j] * values[-1] + table.first_slope[level, j])
            values.append((1 - mu - nu) + mu * values[-1] + nu * values[-2] + slopes)
        final = values[-1].coef
        np.testing.assert_allclose(final[:3], [1, 1, (1 - 1 / steps) / 2], rtol=1e-8)
        # The coefficients in powers cancel badly for many stages: there the recursion itself is evaluated.
        grid = np.linspace(-stiffness * steps, -1e-3, 2001)
        before, current = np.ones_like(grid), 1 + table.slope[level, 1] * grid
        for j in range(2, stages + 1):
            mu, nu = table.previous[level, j], table.before[level, j]
            slopes = grid * (table.slope[level, j] * current + table.first_slope[level, j])
            before, current = current, (1 - mu - nu) + mu * current + nu * before + slopes
        assert np.abs(current).max() < 1


def test_groups_stand_for_descent():
    """The run's time counts steps of descent, whose path it follows within the tolerance, with fewer gradients."""
    objective = tl.population(tl.problems.committee(np.eye(20), students=20))
    starts = tl.starts.xavier(objective.problem, runs=1, seed=1)
    record = tl.record("loss", every=700)
    short = tl.descend(objective, starts, tl.ChebyshevDescent(0.25), tl.step_limit(700), record)
    time = float(short.history()["time"][-1])
    assert time > 1.3 * 700
    plain = tl.descend(objective, starts, tl.GradientDescent(0.25), tl.step_limit(round(time)))
    moved = np.linalg.norm(np.asarray(plain.points[0]) - np.asarray(starts[0]))
    assert np.linalg.norm(np.asarray(short.points[0]) - np.asarray(plain.points[0])) < 5e-3 * moved


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"step": lambda step: 0.1}, "`step` must be a number"),
        ({"step": -1.0}, "`step` must be positive"),
        ({"step": 0.1, "tolerance": 0.0}, "`tolerance` must be"),
        ({"step": 0.1, "stiffness": -1.0}, "`stiffness` must be"),
    ],
)
def test_bad_settings_are_refused(arguments: dict, message: str):
    with pytest.raises(tl.InvalidArgument, match=message):
        tl.ChebyshevDescent(**arguments)


def test_collective_curvature():
    """Its functions are those of its matrix, and the rest of the Hessian does not grow with the number of neurons."""
    generator = np.random.default_rng(1)
    objective = tl.population(tl.problems.committee(np.eye(5), students=4))
    weights, move = generator.normal(size=(2, 4, 5))
    directions = (weights / np.linalg.norm(weights, axis=1, keepdims=True)).ravel()
    mean = np.kron(np.ones((4, 4)), np.eye(5))
    matrix = mean / 4 + np.outer(directions, directions) / (2 * np.pi)
    values, vectors = np.linalg.eigh(matrix)
    applied = (vectors @ (np.exp(-values) * (vectors.T @ move.ravel()))).reshape(4, 5)

    @instantly
    def decayed(objective, weights, move):
        modes = collective(objective, weights)
        return move + modes.expanded(modes.function(1.0, jnp.exp(-modes.curvatures), modes.coordinates(move)))

    np.testing.assert_allclose(decayed(objective, weights, move), applied, rtol=0, atol=1e-14)
    for neurons in (8, 16):
        objective = tl.population(tl.problems.committee(np.eye(neurons), students=neurons))
        directions = np.eye(neurons).ravel()
        mean = np.kron(np.ones((neurons, neurons)), np.eye(neurons))
        hessian = np.asarray(objective.hessian(np.eye(neurons)))
        rest = np.linalg.eigvalsh(hessian - mean / 4 - np.outer(directions, directions) / (2 * np.pi))
        assert np.abs(rest).max() < 0.45 < 0.24 * neurons < np.linalg.eigvalsh(hessian)[-1]


def test_three_gradients_lead_where_a_group_of_plain_steps_leads():
    """Relative to the way made, the difference is of third order in the number of steps."""
    neurons, step = 12, 0.05
    objective = tl.population(tl.problems.committee(np.eye(neurons), students=neurons))

    def plainly(point, steps):
        for _ in range(steps):
            point = point - step * objective.gradient(point)
        return point

    begun = plainly(np.asarray(tl.starts.xavier(objective.problem, runs=1, seed=2))[0], 200)
    method, differences = CollectiveDescent(step), []
    # So few steps take less time than a program of them to compile.
    advance = instantly(lambda method, *arguments: method.advance(*arguments, key=None))
    for level in (1, 8):
        state = jax.device_get(method.init(objective, begun))
        state, point = state._replace(place=state.place._replace(level=np.asarray(level))), begun
        for stage in range(3):
            slope = objective.gradient(point)
            point, state = advance(method, objective, point, slope, state, np.asarray(stage))
        plain = plainly(begun, _LENGTHS[level])
        differences.append(float(np.linalg.norm(point - plain) / np.linalg.norm(plain - begun)))
    assert differences[0] < 1e-4
    assert 2.5 < np.log(differences[1] / differences[0]) / np.log(_LENGTHS[8] / _LENGTHS[1]) < 3.5


def test_where_collective_modes_are_known():
    """Committees of neurons with two slopes have them; others are refused in a sentence."""
    committee = tl.population(tl.problems.committee(np.eye(3), students=3))
    smooth = tl.population(tl.problems.committee(np.eye(3), students=3, activation="erf"))
    assert has_collective(committee) and not has_collective(smooth)
    start = tl.starts.xavier(smooth.problem, runs=1, seed=0)
    with pytest.raises(tl.UnsupportedCombination, match="needs the population loss of a committee"):
        tl.descend(smooth, start, CollectiveDescent(0.1))
