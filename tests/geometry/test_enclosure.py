"""The conditions of Newton and Kantorovich, verified or refused, and bounds of eigenvalues."""

import math

import flint
import numpy as np
import pytest

from tutelage.geometry.ball_arithmetic import NotProved, Singular, exact
from tutelage.geometry.ball_losses import LossInBalls
from tutelage.geometry.enclosure import (
    at_least,
    at_most,
    conditions_hold,
    eigenvalue_bounds,
    enclosed,
    refined,
)

arb, ctx = flint.arb, flint.ctx
GOOD = {"gradient_norm": 1e-20, "least_curvature": 0.1, "lipschitz": 10.0, "inner": 1e-18, "outer": 5e-3}


@pytest.mark.parametrize(
    "wrong",
    [
        {"gradient_norm": 1e-3},  # Newton's first step leaves the ball
        {"gradient_norm": 1.01e-19},  # … the smaller ball
        {"least_curvature": 0.0},
        {"lipschitz": 25.0},  # not a contraction
        {"outer": 1.01e-2},
        {"inner": 1e-21},  # smaller than Newton's first step
        {"inner": 1e-2, "outer": 5e-3},
        {"gradient_norm": math.nan},
        {"lipschitz": math.inf},
        {"gradient_norm": -1.0},
    ],
)
def test_each_condition_matters(wrong):
    """Numbers that satisfy all conditions are accepted; each condition on its own refuses."""
    assert conditions_hold(**GOOD)
    assert not conditions_hold(**{**GOOD, **wrong})


def test_floats_are_rounded_outwards():
    """Bounds in float64 are on the right side of balls, tiny ones too."""
    with ctx.workdps(60):
        for ball in (arb(1) / 3, -arb(2).sqrt(), arb(10) ** -400, arb(0), arb(0.1), arb(1, 1e-30)):
            low, high = at_least(ball), at_most(ball)
            assert arb(low) <= ball.lower() and ball.upper() <= arb(high)
            assert high - low <= 4e-16 * abs(high) + 1e-300
        assert (at_least(arb(0, math.inf)), at_most(arb(0, math.inf))) == (-math.inf, math.inf)
        assert math.copysign(1, at_least(arb(0))) == 1


def test_eigenvalues_are_enclosed():
    """Known eigenvalues, repeated and of both signs, are inside bounds that are tight; a radius widens them."""
    with ctx.workdps(40):
        values = [-3, -1, -1, 0, 2, 2, 5]
        # Reflections with whole numbers: an orthogonal matrix times nine, exactly.
        vector = np.array([[2, 1, 0, -1, 1, 1, 1]])
        reflection = 9 * np.eye(7) - 2 * vector.T @ vector
        turned = exact(reflection) * exact(np.diag(np.array(values, float))) * exact(reflection) * (1 / arb(81))
        lower, upper = eigenvalue_bounds(turned)
        for low, value, high in zip(lower, values, upper, strict=True):
            assert low <= value <= high and high - low < 1e-12
        noise = flint.arb_mat([[arb(0, 0.01)] * 7] * 7)
        lower, upper = eigenvalue_bounds(turned + noise)
        shifted = turned + exact(np.full((7, 7), 0.01))
        inside = np.linalg.eigvalsh([[float(entry) for entry in row] for row in shifted.tolist()])
        for low, value, high in zip(lower, inside, upper, strict=True):
            assert low < value < high


def test_eigenvalues_of_what_is_not_finite_are_refused():
    """A matrix without numbers has no bounds."""
    with pytest.raises(NotProved, match="finite"):
        eigenvalue_bounds(flint.arb_mat([[arb("nan"), 0], [0, 1]]))


def test_a_point_that_is_not_critical_has_no_enclosure():
    """The enclosure does not rely on the refinement: at other points the conditions refuse."""
    loss = LossInBalls(np.eye(2), 0.0, 1.0, 1.0, 0.0)
    with ctx.workdps(40):
        for away in (0.3, 0.05):
            with pytest.raises(NotProved, match="gradient"):
                enclosed(loss, exact(np.eye(2) + away))
        found = enclosed(loss, exact(np.eye(2) + 1e-4))
        assert found.radius >= 2e-4 and found.index == 0  # the teacher is inside
        assert found.eigenvalues[0, 0] <= 0.25 - 0.5 / math.pi <= found.eigenvalues[0, 1]


def test_a_singular_hessian_has_no_enclosure():
    """Two students of one teacher, at the middle of their continuum of global minima."""
    loss = LossInBalls(np.array([[1.0, 0.0]]), 0.0, 1.0, 1.0, 0.0)
    with ctx.workdps(40):
        with pytest.raises(Singular):
            enclosed(loss, exact(np.array([[0.5, 0.0], [0.5, 0.0]])), zero=True)
        with pytest.raises(Singular):
            refined(loss, np.array([[0.5, 0.0], [0.5, 0.0]]), 30)


def test_refinement_gains_all_digits():
    """From 1e-3 away, and to 100 digits."""
    loss = LossInBalls(np.eye(3), -1.0, 1.0, 1.0, 0.0)
    with ctx.workdps(112):
        start = np.eye(3) + 1e-3 * np.random.default_rng(0).normal(size=(3, 3))
        found = refined(loss, start, 100)
    wanted = np.eye(3, dtype=int)
    # Near the teacher angles are known to half of the digits.
    assert all(abs(found[i][j] - int(wanted[i, j]) * 10**100) < 10**52 for i in range(3) for j in range(3))
