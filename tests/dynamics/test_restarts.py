"""Restarts with other signs."""

import jax.numpy as jnp
import numpy as np
import pytest

import tutelage as tl
from tutelage.dynamics.restarts import sign_choices, with_signs


@pytest.fixture(scope="module")
def problem():
    return tl.problems.convolution([1.0, 0.0, 0.0], [0.6, -0.8, 0.3, 0.1])


def test_one_of_four_signs_succeeds(problem):
    """Starts of Theorem 3.2 fail often; one of their four sign choices always finds the teacher."""
    objective = tl.population(problem)
    starts = tl.starts.sphere_ball(problem, 40, seed=0)
    method, stop = tl.GradientDescent(0.3), tl.gradient_norm(1e-6) | tl.step_limit(3000)
    tried = tl.restarts(objective, starts, method, 1e-9, stop=stop)
    plain = tl.descend(objective, starts, method, stop)
    assert tried.succeeded.all() and (plain.losses > 1e-9).sum() > 5
    assert tried.attempts.min() == 1 and 1 < tried.attempts.max() <= 4
    np.testing.assert_array_equal(tried.attempts == 1, plain.losses <= 1e-9)
    # The points are those of the best copies, and the signs say which copies these were.
    losses = [float(objective.loss(type(starts)(*point))) for point in zip(*tried.points, strict=True)]
    np.testing.assert_allclose(losses, tried.losses, atol=1e-15)
    late = int(np.argmax(tried.attempts))
    copy = with_signs(type(starts)(*(leaf[late : late + 1] for leaf in starts)), tried.signs[late])
    again = tl.descend(objective, copy, method, stop)
    assert again.losses[0] == tried.losses[late]


def test_no_sign_helps(problem):
    """Where no copy succeeds, the best of all four is kept and success is denied."""
    objective = tl.population(problem)
    starts = tl.starts.sphere_ball(problem, 6, seed=1)
    tried = tl.restarts(objective, starts, tl.GradientDescent(0.1), 1e-9, stop=tl.step_limit(3))
    assert not tried.succeeded.any() and (tried.attempts == 4).all() and len(tried.runs) == 4
    np.testing.assert_array_equal(tried.losses, np.min([runs.losses for runs in tried.runs], axis=0))


RANDOM = {
    "fresh batches": (lambda problem: tl.stream(problem, batch=16), tl.GradientDescent(0.2)),
    "a random method": (tl.population, tl.PerturbedGradientDescent(0.2, 0.1)),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_methods_depend_on_the_run_alone(problem, name):
    """A start's outcome does not depend on which other starts are still open, and some are not."""
    kind, method = RANDOM[name]
    objective = kind(problem)
    starts = tl.starts.sphere_ball(problem, 5, seed=2)
    options = {"stop": tl.step_limit(40), "seed": 3}
    success = float(np.median(tl.descend(objective, starts, method, **options).losses))
    together = tl.restarts(objective, starts, method, success, **options)
    last = int(np.flatnonzero(together.attempts > 1)[-1])
    assert (together.attempts[:last] == 1).any()  # one before it is left out
    one = type(starts)(*(leaf[last : last + 1] for leaf in starts))
    alone = tl.restarts(objective, one, method, success, first_run=last, **options)
    assert together.losses[last] == alone.losses[0] and together.attempts[last] == alone.attempts[0]


def test_choices():
    """All signs of all arrays, the start itself first; bad thresholds are refused."""
    starts = (jnp.ones((2, 3)), jnp.ones((2, 4)))
    assert sign_choices(starts) == [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    first, second = with_signs(starts, (-1, 1))
    assert float(first[0, 0]) == -1.0 and float(second[0, 0]) == 1.0


def test_bad_threshold(problem):
    """Success needs a positive loss."""
    with pytest.raises(tl.InvalidArgument, match="success"):
        tl.restarts(tl.population(problem), tl.starts.sphere_ball(problem, 1), tl.GradientDescent(0.1), -1.0)
