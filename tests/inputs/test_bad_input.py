"""Every bad argument gives the one clear error that names it."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
import pytest

from tutelage import inputs
from tutelage.errors import InvalidArgument

LAWS = inputs.registry()


def ones(key: object, shape: tuple[int, ...]) -> object:
    return jnp.ones(shape)


def unit(order: float) -> float:
    return 1.0


BAD: list[tuple[str, Callable[[], object]]] = [
    ("mean", lambda: inputs.gaussian(2, mean=[1.0])),
    ("mean", lambda: inputs.gaussian(2, mean=[[1.0, 2.0]])),
    ("mean", lambda: inputs.gaussian(2, mean=[1.0, math.nan])),
    ("mean", lambda: inputs.gaussian(2, mean="zero")),
    ("covariance", lambda: inputs.gaussian(2, covariance=np.eye(3))),
    ("covariance", lambda: inputs.gaussian(2, covariance=[1.0, 1.0])),
    ("covariance", lambda: inputs.gaussian(2, covariance=[[1.0, 0.5], [0.0, 1.0]])),
    ("covariance", lambda: inputs.gaussian(2, covariance=[[1.0, 2.0], [2.0, 1.0]])),
    ("covariance", lambda: inputs.gaussian(2, covariance=[[1.0, math.inf], [math.inf, 1.0]])),
    ("radius", lambda: inputs.sphere(3, radius=0)),
    ("radius", lambda: inputs.sphere(3, radius=math.nan)),
    ("radius", lambda: inputs.ball(3, radius=-1)),
    ("degrees", lambda: inputs.student_t(3, degrees=0)),
    ("degrees", lambda: inputs.student_t(3, degrees="many")),  # pyright: ignore[reportArgumentType]
    ("radius", lambda: inputs.spherical(3, 1.0, unit)),  # pyright: ignore[reportArgumentType]
    ("radius", lambda: inputs.spherical(3, lambda key, shape: jnp.ones(2), unit)),
    ("radius", lambda: inputs.spherical(3, lambda key, shape: -jnp.ones(shape), unit)),
    ("radius", lambda: inputs.spherical(3, lambda key: jnp.ones(3), unit)),  # pyright: ignore
    ("moments", lambda: inputs.spherical(3, ones, 1.0)),  # pyright: ignore
    ("moments", lambda: inputs.spherical(3, ones, lambda order: 2.0)),  # pyright: ignore
    ("moments", lambda: inputs.spherical(3, ones, lambda order: 1 - order)),  # pyright: ignore
    ("moments", lambda: inputs.spherical(3, ones, lambda order: None)),  # pyright: ignore
    ("plane_density", lambda: inputs.spherical(3, ones, unit, plane_density=1.0)),  # pyright: ignore
    ("low", lambda: inputs.uniform_box(3, low=[0.0, 0.0])),
    ("low", lambda: inputs.uniform_box(3, low=math.nan)),
    ("high", lambda: inputs.uniform_box(3, low=1.0, high=1.0)),
    ("high", lambda: inputs.uniform_box(2, low=0.0, high=[1.0, -1.0])),
    ("scale", lambda: inputs.rademacher(3, scale=0.0)),
    ("points", lambda: inputs.finite([1.0, 2.0])),
    ("points", lambda: inputs.finite(np.zeros((0, 2)))),
    ("points", lambda: inputs.finite([[1.0], [2.0, 3.0]])),
    ("points", lambda: inputs.finite([[math.inf]])),
    ("weights", lambda: inputs.finite([[1.0], [2.0]], weights=[1.0])),
    ("weights", lambda: inputs.finite([[1.0], [2.0]], weights=[1.5, -0.5])),
    ("weights", lambda: inputs.finite([[1.0], [2.0]], weights=[0.5, 0.5 + 1e-8])),
    ("weights", lambda: inputs.finite([[1.0], [2.0]], weights=[0.0, 0.0])),
    ("weights", lambda: inputs.finite([[1.0], [2.0]], weights=[math.nan, 1.0])),
    ("components", lambda: inputs.mixture([], [])),
    ("components", lambda: inputs.mixture(inputs.gaussian(2), [1.0])),  # pyright: ignore
    ("components", lambda: inputs.mixture([inputs.gaussian(2), "ball"], [0.5, 0.5])),  # pyright: ignore
    ("components", lambda: inputs.mixture([inputs.gaussian(2), inputs.ball(3)], [0.5, 0.5])),
    ("weights", lambda: inputs.mixture([inputs.gaussian(2), inputs.ball(2)], [0.5, 0.6])),
    ("weights", lambda: inputs.mixture([inputs.gaussian(2), inputs.ball(2)], [1.0])),
    ("array", lambda: inputs.data([1.0, 2.0])),
    ("array", lambda: inputs.data([[1.0, math.nan]])),
    ("weights", lambda: inputs.data([[1.0], [2.0]], weights=[0.3, 0.3])),
    ("center", lambda: inputs.data([[1.0], [2.0]], center="mean")),  # pyright: ignore
    ("scale", lambda: inputs.data([[1.0], [2.0]], scale="unit")),
    ("scale", lambda: inputs.data([[0.1], [0.1], [0.1]], center=True, scale="unit_variance")),
    ("scale", lambda: inputs.data([[0.0], [0.0]], scale="unit_variance")),
]


@pytest.mark.parametrize(("argument", "call"), BAD)
def test_the_error_names_the_argument(argument: str, call: Callable[[], object]) -> None:
    with pytest.raises(InvalidArgument, match=rf"^`{argument}` must .*, but received .*\.$"):
        call()


@pytest.mark.parametrize("dimension", [0, -1, 2.0, "2", None, True])
@pytest.mark.parametrize(
    "constructor",
    [
        inputs.gaussian,
        inputs.sphere,
        inputs.ball,
        lambda dimension: inputs.student_t(dimension, 3),
        lambda dimension: inputs.spherical(dimension, ones, unit),  # pyright: ignore[reportArgumentType]
        inputs.uniform_box,
        inputs.rademacher,
    ],
)
def test_a_bad_dimension_is_named(constructor: Callable[[object], object], dimension: object) -> None:
    with pytest.raises(InvalidArgument, match="`dimension`"):
        constructor(dimension)


def test_importing_the_laws_loads_no_image_package() -> None:
    code = "import sys, tutelage.inputs; assert not {'mlxtend', 'sklearn', 'PIL'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
