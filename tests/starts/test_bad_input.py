"""Every bad argument gives the one clear error that names it."""

from __future__ import annotations

import math
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
import pytest

import tutelage as tl
from tutelage import starts

COMMITTEE = tl.problems.committee(np.eye(2), students=3)
HOMOGENEOUS = tl.problems.homogeneous(np.eye(2), students=3)
SIGNED = tl.problems.homogeneous(np.eye(2), students=2, signs=[1, -1])
LINEAR = tl.problems.homogeneous(np.eye(2), students=2, activation="relu", linear=True)
SPHERE = tl.problems.homogeneous(np.eye(2), students=2, inputs=tl.inputs.sphere(2))
CONVOLUTION = tl.problems.convolution(np.ones(2), [1.0, -1.0])
POINT = np.ones((3, 2))

EVERY: dict[str, Callable] = {
    "xavier": starts.xavier,
    "gaussian": starts.gaussian,
    "signs": starts.signs,
    "uniform": starts.uniform,
    "product": lambda problem, runs, **options: starts.product(
        problem, runs, lambda key, shape: jnp.ones(shape), **options
    ),
    "near": lambda problem, runs, **options: starts.near(problem, runs, POINT, 0.1, **options),
    "large_norm": lambda problem, runs, **options: starts.large_norm(problem, runs, 3.0, **options),
    "fitted": starts.fitted,
    "subspace": lambda problem, runs, **options: starts.subspace(problem, runs, 10, **options),
}

BAD: list[tuple[str, Callable[[], object]]] = [
    ("seed", lambda: starts.xavier(COMMITTEE, 1, seed=2**63)),
    ("scale", lambda: starts.gaussian(COMMITTEE, 1, scale=0)),
    ("scale", lambda: starts.gaussian(COMMITTEE, 1, scale=math.nan)),
    ("scale", lambda: starts.signs(COMMITTEE, 1, scale=-1)),
    ("low", lambda: starts.uniform(COMMITTEE, 1, low=1.0, high=1.0)),
    ("low", lambda: starts.uniform(COMMITTEE, 1, low=math.nan)),
    ("high", lambda: starts.uniform(COMMITTEE, 1, high="one")),
    ("draw", lambda: starts.product(COMMITTEE, 1, "laplace")),
    ("draw", lambda: starts.product(COMMITTEE, 1, lambda key, shape: jnp.ones(()))),
    ("point", lambda: starts.near(COMMITTEE, 1, np.ones((2, 2)), 0.1)),
    ("point", lambda: starts.near(COMMITTEE, 1, np.full((3, 2), np.nan), 0.1)),
    ("distance", lambda: starts.near(COMMITTEE, 1, POINT, 0)),
    ("norm_sum", lambda: starts.large_norm(COMMITTEE, 1, -1)),
    ("problem", lambda: starts.sphere_ball(COMMITTEE, 1)),
    ("problem", lambda: starts.sphere_ball(None, 1)),
    ("radius", lambda: starts.sphere_ball(CONVOLUTION, 1)),
    ("radius", lambda: starts.sphere_ball(CONVOLUTION, 1, radius=0)),
    ("problem", lambda: starts.fitted(COMMITTEE, 1)),
    ("problem", lambda: starts.fitted(SIGNED, 1)),
    ("problem", lambda: starts.fitted(LINEAR, 1)),
    ("problem", lambda: starts.subspace(COMMITTEE, 1, samples=10)),
    ("problem", lambda: starts.subspace(SPHERE, 1, samples=10)),
    ("samples", lambda: starts.subspace(HOMOGENEOUS, 1, samples=0)),
    ("rank", lambda: starts.subspace(HOMOGENEOUS, 1, samples=10, rank=0)),
    ("rank", lambda: starts.subspace(HOMOGENEOUS, 1, samples=10, rank=3)),
]


@pytest.mark.parametrize(("argument", "call"), BAD)
def test_the_error_names_the_argument(argument: str, call: Callable[[], object]) -> None:
    """One sentence: the argument, what it must be, what was received and what to do."""
    with pytest.raises(tl.InvalidArgument, match=rf"(?s)^`{argument}` must .*, but received .*\.$"):
        call()


@pytest.mark.parametrize("name", EVERY)
def test_numbers_of_runs_and_seeds_are_checked(name: str) -> None:
    """Every constructor names a bad number of runs, seed, first run and problem."""
    draw, problem = EVERY[name], HOMOGENEOUS
    for argument, arguments, options in [
        ("runs", (problem, 0), {}),
        ("runs", (problem, 1.5), {}),
        ("seed", (problem, 1), {"seed": -1}),
        ("seed", (problem, 1), {"seed": "s"}),
        ("first_run", (problem, 1), {"first_run": -1}),
        ("problem", ("committee", 1), {}),
    ]:
        with pytest.raises(tl.InvalidArgument, match=f"^`{argument}` must "):
            draw(*arguments, **options)
