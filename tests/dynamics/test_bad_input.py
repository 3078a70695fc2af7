"""Every bad argument gives the one clear error that names it."""

from __future__ import annotations

import math
from collections.abc import Callable

import diffrax
import numpy as np
import optax
import pytest

import tutelage as tl
from tutelage.models import FilterAndOutput

PROBLEM = tl.problems.neuron([1.0, 0.5])
OBJECTIVE = tl.population(PROBLEM)
CONVOLUTION = tl.population(tl.problems.convolution([1.0, 0.5], [1.0, 2.0, 3.0]))
STARTS = np.ones((2, 2))
METHOD = tl.GradientDescent(0.1)
NONE = tl.step_limit(0)


def follow(starts=STARTS, method=METHOD, stop=NONE, **options) -> Callable[[], object]:
    return lambda: tl.descend(OBJECTIVE, starts, method, stop, **options)


BAD: list[tuple[str, Callable[[], object]]] = [
    ("objective", lambda: tl.descend(PROBLEM, STARTS, METHOD)),
    ("objective", lambda: tl.descend(None, STARTS, METHOD)),
    ("starts", follow(np.ones(2))),
    ("starts", follow(np.ones((2, 3)))),
    ("starts", follow(np.ones((2, 2, 1)))),
    ("starts", follow(np.ones((0, 2)))),
    ("starts", follow([[1.0, math.nan]])),
    ("starts", follow([[1.0, math.inf]])),
    ("starts", follow("starts")),
    ("starts", lambda: tl.descend(CONVOLUTION, STARTS, METHOD, NONE)),
    ("starts", lambda: tl.descend(CONVOLUTION, FilterAndOutput(STARTS, np.ones((2, 2))), METHOD, NONE)),
    ("starts", lambda: tl.descend(CONVOLUTION, FilterAndOutput(STARTS, np.ones((3, 3))), METHOD, NONE)),
    ("method", follow(method=0.1)),
    ("method", follow(method=tl.GradientDescent)),
    ("method", follow(method=None)),
    ("stop", follow(stop=1e-3)),
    ("stop", follow(stop="gradient_norm")),
    ("stop", follow(stop=[NONE, 1e-3])),
    ("stop", follow(stop=[tl.gradient_norm(1), tl.gradient_norm(2)])),
    ("record", follow(record="loss")),
    ("record", follow(record=["loss"])),
    ("finish", follow(finish=True)),
    ("finish", follow(finish=tl.Newton)),
    ("seed", follow(seed=-1)),
    ("seed", follow(seed=0.5)),
    ("seed", follow(seed=2**63)),
    ("first_run", follow(first_run=-1)),
    ("first_run", follow(first_run="one")),
    *[
        ("step", lambda method=method, step=step: method(step))
        for method in (
            tl.GradientDescent,
            tl.StochasticGradientDescent,
            tl.AcceleratedDescent,
            lambda step: tl.PerturbedGradientDescent(step, noise=0.1),
        )
        for step in (0, -0.1, math.nan, math.inf, "0.1", None, [0.1, 0.2], np.ones(2))
    ],
    ("batch", lambda: tl.StochasticGradientDescent(0.1, batch=0)),
    ("batch", lambda: tl.StochasticGradientDescent(0.1, batch=2.5)),
    ("noise", lambda: tl.PerturbedGradientDescent(0.1, noise=0)),
    ("noise", lambda: tl.PerturbedGradientDescent(0.1, noise=math.nan)),
    ("projection", lambda: tl.GradientDescent(0.1, projection=2.0)),
    ("projection", lambda: tl.StochasticGradientDescent(0.1, projection="ball")),
    ("radius", lambda: tl.Ball(0)),
    ("radius", lambda: tl.Ball(math.inf)),
    ("relative_tolerance", lambda: tl.GradientFlow(relative_tolerance=0)),
    ("absolute_tolerance", lambda: tl.GradientFlow(absolute_tolerance=-1)),
    ("horizon", lambda: tl.GradientFlow(horizon=0)),
    ("horizon", lambda: tl.GradientFlow(horizon=math.nan)),
    ("solver", lambda: tl.GradientFlow(solver=diffrax.Euler())),
    ("solver", lambda: tl.GradientFlow(solver=diffrax.Kvaerno5())),
    ("solver", lambda: tl.GradientFlow(solver="tsit5")),
    ("gate", lambda: tl.Newton(gate=0)),
    ("most_parameters", lambda: tl.Newton(most_parameters=0)),
    ("most_steps", lambda: tl.Newton(most_steps=0.5)),
    ("tolerance", lambda: tl.gradient_norm(0)),
    ("tolerance", lambda: tl.gradient_norm(-1e-3)),
    ("tolerance", lambda: tl.gradient_norm(math.nan)),
    ("tolerance", lambda: tl.parameter_change(0)),
    ("value", lambda: tl.loss_below("small")),
    ("value", lambda: tl.loss_below(math.nan)),
    ("steps", lambda: tl.step_limit(-1)),
    ("steps", lambda: tl.step_limit(1.5)),
    ("seconds", lambda: tl.wall_time(0)),
    ("seconds", lambda: tl.wall_time(math.inf)),
    ("record", lambda: tl.record("losses")),
    ("record", lambda: tl.record("loss", step=lambda point: point)),
    ("record", lambda: tl.record("loss", loss=lambda point: point)),
    ("record mine", lambda: tl.record(mine=3)),
    ("every", lambda: tl.record("loss", every=0)),
    ("at_most", lambda: tl.record("loss", at_most=1)),
    ("steps", lambda: tl.record("loss", steps=[3, 2])),
    ("steps", lambda: tl.record("loss", steps=[2, 2])),
    ("steps", lambda: tl.record("loss", steps=[-1])),
    ("steps", lambda: tl.record("loss", steps=[1.5])),
    ("steps", lambda: tl.record("loss", steps=5)),
]


@pytest.mark.parametrize(("argument", "call"), BAD)
def test_the_error_names_the_argument(argument: str, call: Callable[[], object]) -> None:
    """One sentence: the argument, what it must be, what was received and what to do."""
    with pytest.raises(tl.InvalidArgument, match=rf"(?s)^`{argument}` must .*, but received .*\.$"):
        call()


def test_continued_runs_must_fit() -> None:
    """Runs go on with the objective, kind of method and record that they had."""
    runs = tl.descend(OBJECTIVE, STARTS, METHOD, NONE, tl.record("loss"))
    other = tl.population(PROBLEM)
    for argument, call in [
        ("starts", lambda: tl.descend(other, runs, METHOD, NONE)),
        ("method", lambda: tl.descend(OBJECTIVE, runs, optax.sgd(0.1), NONE)),
        ("method", lambda: tl.descend(OBJECTIVE, runs, tl.GradientFlow(), NONE)),
        ("record", lambda: tl.descend(OBJECTIVE, runs, METHOD, NONE, tl.record("loss", "angle"))),
        ("record", lambda: tl.descend(OBJECTIVE, runs, METHOD, NONE, tl.record("loss", every=2))),
    ]:
        with pytest.raises(tl.InvalidArgument, match=f"^`{argument}` must "):
            call()
    again = tl.descend(OBJECTIVE, runs, tl.GradientDescent(0.2), NONE, tl.record("loss"))
    np.testing.assert_array_equal(again.points, STARTS)
