"""False statements whose violations are planted, for measuring a search.

Every plant states `small ≤ large` and is false on a set that is known: a point, a curve, a tube, a corner, a boundary,
the floor of a narrow valley. They were chosen before the search was tuned on them and have not been changed since: a
plant that is never found stays, and counts as not found. Formulas act on the last axis, with NumPy or JAX as `xp`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

REAL, UNIFORM, LOGARITHMIC = "real", "uniform", "logarithmic"


@dataclass(frozen=True)
class Plant:
    """One false statement.

    Attributes:
        name: What is planted, with the number of dimensions.
        kind: The kind of the violating set.
        draw: For each name a law: `(REAL, shape)`, or `(UNIFORM | LOGARITHMIC, low, high, shape)`.
        sides: Takes the namespace and the drawn arrays to both sides of `small ≤ large`.
        where: A condition on the instances, if there is one.
        equality: Whether the statement is an equality.
        compiled: Whether the sides can be evaluated by JAX alone.
    """

    name: str
    kind: str
    draw: Mapping[str, tuple]
    sides: Callable[..., tuple[Any, Any]]
    where: Callable[..., Any] | None = None
    equality: bool = False
    compiled: bool = False


def _centre(dimension: int, seed: int = 0, size: float = 1.0) -> np.ndarray:
    return size * np.random.default_rng([17, dimension, seed]).normal(size=dimension)


def _norm(xp, x):
    return xp.sqrt(xp.sum(x**2, -1))


def _point(dimension: int, radius: float, size: float = 1.0, note: str = "") -> Plant:
    centre = _centre(dimension, size=size)
    name = f"ball of radius {radius:g}{note}, {dimension} dimensions"
    return Plant(
        name, "point", {"x": (REAL, (dimension,))}, lambda xp, x: (radius + 0 * x[..., 0], _norm(xp, x - centre))
    )


def _squares(dimension: int, level: float, shape: str) -> Plant:
    """A sum of squares that saturates in one of several ways far from its zero."""
    centre = _centre(dimension, 1)

    def sides(xp, x):
        square = xp.sum((x - centre) ** 2, -1)
        value = {"plain": square, "rational": square / (1 + square), "flat": 1 - xp.exp(-square)}[shape]
        return level + 0 * square, value

    return Plant(f"{shape} sum of squares, level {level:g}, {dimension} dimensions", "point", _real(dimension), sides)


def _real(dimension: int) -> dict[str, tuple]:
    return {"x": (REAL, (dimension,))}


def _box(dimension: int, low: float = 0.0, high: float = 1.0) -> dict[str, tuple]:
    return {"x": (UNIFORM, low, high, (dimension,))}


def _at_least(name: str, kind: str, draw: Mapping[str, tuple], level: float, value: Callable, **more) -> Plant:
    """`value ≥ level`."""
    return Plant(name, kind, draw, lambda xp, **drawn: (level + 0 * value(xp, **drawn), value(xp, **drawn)), **more)


def _rosenbrock(xp, x):
    return xp.sum(100 * (x[..., 1:] - x[..., :-1] ** 2) ** 2 + (1 - x[..., :-1]) ** 2, -1)


def _beale(xp, x):
    a, b = x[..., 0], x[..., 1]
    return (1.5 - a + a * b) ** 2 + (2.25 - a + a * b**2) ** 2 + (2.625 - a + a * b**3) ** 2


def _powell(xp, x):
    a, b, c, d = (x[..., i] for i in range(4))
    return (a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4


def _rastrigin(xp, x):
    y = x - 0.7
    return 10 * x.shape[-1] + xp.sum(y**2 - 10 * xp.cos(2 * np.pi * y), -1)


def _ackley(xp, x):
    y = x - _centre(5, 3)
    root = xp.sqrt(xp.mean(y**2, -1) + 1e-300)
    return 20 * (1 - xp.exp(-0.2 * root)) + np.e - xp.exp(xp.mean(xp.cos(2 * np.pi * y), -1))


def _rayleigh(dimension: int, above: float, gap: float) -> Plant:
    """A quadratic form that is below the bound on a thin cone alone."""
    values = np.concatenate([[1.0], 1 + gap + np.arange(dimension - 1.0)])
    turn = np.linalg.qr(np.random.default_rng([23, dimension]).normal(size=(dimension, dimension)))[0]

    def sides(xp, x):
        y = x @ turn
        return (1 + above) * xp.sum(y**2, -1), xp.sum(values * y**2, -1)

    return Plant(
        f"quadratic form on a cone of width {np.sqrt(above / gap):.0e}, {dimension} dimensions",
        "curve",
        _real(dimension),
        sides,
    )


def _network(students: int, teachers: np.ndarray, mean: tuple[float, ...] | None, level: float) -> Plant:
    """`loss ≥ level` for a sum of ReLU neurons, whose loss is zero at the teacher."""
    import tutelage as tl

    law = None if mean is None else tl.inputs.gaussian(len(mean), mean=np.asarray(mean))
    options = {} if law is None else {"inputs": law}
    objective = tl.population(tl.problems.committee(teacher=teachers, students=students, **options))
    shape = (students, teachers.shape[1])
    where = "inputs with a mean" if mean else "centred inputs"
    size = f"{students} ReLU students, {len(teachers)} teachers, {shape[0] * shape[1]} dimensions"
    name = f"loss of {size}, {where}, level {level:g}"
    return _at_least(name, "point", {"x": (REAL, shape)}, level, lambda xp, x: objective.loss(x), compiled=True)


def plants() -> list[Plant]:
    """Return all plants."""
    helix = lambda xp, x: (x[..., 0] - xp.cos(x[..., 2])) ** 2 + (x[..., 1] - xp.sin(x[..., 2])) ** 2  # noqa: E731
    axis = _centre(10, 5) / np.linalg.norm(_centre(10, 5))
    sharp = _centre(5, 6) / np.linalg.norm(_centre(5, 6))
    slanted = np.linalg.qr(np.random.default_rng(29).normal(size=(8, 8)))[0][:, :4]
    pattern = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    conditions = 10.0 ** np.linspace(-6, 0, 6)
    nonsmooth, absolute = _centre(5, 7), _centre(6, 8)
    scalar = {"a": (LOGARITHMIC, 1e-6, 1e6, ())}
    return [
        _point(1, 1e-3),
        _point(2, 1e-4),
        _point(3, 1e-3),
        _point(5, 1e-2),
        _point(5, 1e-4),
        _point(10, 1e-2),
        _point(20, 1e-1),
        _point(2, 1.0, 80.0, " far away"),
        _point(3, 1e-5, 1e-3, " near the origin"),
        _squares(6, 1e-3, "plain"),
        _squares(6, 1e-6, "plain"),
        _squares(4, 1e-9, "rational"),
        _squares(3, 1e-6, "flat"),
        _network(3, np.eye(2), (0.5, 0.5), 1e-3),
        _network(3, np.eye(2), (0.5, 0.5), 1e-6),
        _network(2, np.eye(3)[:2], None, 1e-5),
        _at_least("circle, 2 dimensions", "curve", _real(2), 1e-4, lambda xp, x: xp.abs(_norm(xp, x) - 1)),
        _at_least(
            "circle, 3 dimensions",
            "curve",
            _real(3),
            1e-3,
            lambda xp, x: xp.sqrt((_norm(xp, x[..., :2]) - 1) ** 2 + x[..., 2] ** 2),
        ),
        _at_least("helix, 3 dimensions", "curve", _real(3), 1e-6, helix),
        _at_least(
            "twisted cubic, 4 dimensions",
            "curve",
            _real(4),
            1e-5,
            lambda xp, x: (x[..., 1] - x[..., 0] ** 2) ** 2 + (x[..., 2] - x[..., 0] ** 3) ** 2 + x[..., 3] ** 2,
        ),
        _at_least(
            "line through the origin, 10 dimensions",
            "curve",
            _real(10),
            1e-3,
            lambda xp, x: _norm(xp, x - (x @ axis)[..., None] * axis) / (_norm(xp, x) + 1e-300),
        ),
        _at_least(
            "angle to a ray, 5 dimensions",
            "curve",
            _real(5),
            1e-3,
            lambda xp, x: xp.arctan2(_norm(xp, x - (x @ sharp)[..., None] * sharp), x @ sharp),
        ),
        _rayleigh(8, 1e-3, 1.0),
        _rayleigh(15, 1e-4, 1e-2),
        _at_least("tube around an axis, 3 dimensions", "tube", _real(3), 1e-2, lambda xp, x: _norm(xp, x[..., :2])),
        _at_least(
            "tube of codimension 3, 6 dimensions",
            "tube",
            _real(6),
            1e-3,
            lambda xp, x: _norm(xp, x[..., :3] - x[..., 3:]),
        ),
        _at_least(
            "slanted tube of codimension 4, 8 dimensions",
            "tube",
            _real(8),
            1e-3,
            lambda xp, x: _norm(xp, x @ slanted - 1),
        ),
        _at_least("corner of a box, 3 dimensions", "corner", _box(3), 1e-3, lambda xp, x: xp.sum(1 - x, -1)),
        _at_least("corner of a box, 8 dimensions", "corner", _box(8), 1e-2, lambda xp, x: xp.sum(1 - x, -1)),
        _at_least(
            "corner of a box, a product, 15 dimensions", "corner", _box(15), 1e-2, lambda xp, x: 1 - xp.prod(x, -1)
        ),
        _at_least(
            "mixed corner of a box, 6 dimensions",
            "corner",
            _box(6),
            1e-2,
            lambda xp, x: xp.sum(xp.abs(x - pattern), -1),
        ),
        _at_least("face of a box, 4 dimensions", "boundary", _box(4), 1e-4, lambda xp, x: x[..., 0]),
        _at_least(
            "edge in a valley, 3 dimensions",
            "boundary",
            _box(3),
            1e-5,
            lambda xp, x: x[..., 0] + 10 * (x[..., 1] - x[..., 2]) ** 2,
        ),
        _at_least(
            "end of an interval, second order",
            "boundary",
            {"t": (UNIFORM, 0.0, np.pi, ())},
            1e-8,
            lambda xp, t: 1 + xp.cos(t),
        ),
        _at_least(
            "cap of a ball, 3 dimensions",
            "boundary",
            _real(3),
            1e-3,
            lambda xp, x: 1 - x[..., 0],
            where=lambda xp, x: _norm(xp, x) <= 1,
        ),
        _at_least(
            "cap of a shell, 4 dimensions",
            "boundary",
            _real(4),
            2e-2,
            lambda xp, x: 1.01 - x[..., 0],
            where=lambda xp, x: (_norm(xp, x) >= 1) & (_norm(xp, x) <= 1.01),
        ),
        _at_least("Rosenbrock's valley, 2 dimensions", "valley", _real(2), 1e-4, _rosenbrock),
        _at_least("Rosenbrock's valley, 5 dimensions", "valley", _real(5), 1e-4, _rosenbrock),
        _at_least("Rosenbrock's valley, 10 dimensions", "valley", _real(10), 1e-2, _rosenbrock),
        _at_least(
            "quadratic valley of condition 1e6, 6 dimensions",
            "valley",
            _real(6),
            1e-6,
            lambda xp, x: xp.sum(conditions * (x - 1) ** 2, -1),
        ),
        _at_least("Beale's valley, 2 dimensions", "valley", _real(2), 1e-4, _beale),
        _at_least(
            "Powell's singular function, 4 dimensions", "valley", _real(4), 1e-6, lambda xp, x: _powell(xp, x - 0.5)
        ),
        _at_least(
            "largest coordinate, 5 dimensions", "kink", _real(5), 1e-3, lambda xp, x: xp.max(xp.abs(x - nonsmooth), -1)
        ),
        _at_least(
            "sum of absolute values, 6 dimensions",
            "kink",
            _real(6),
            1e-2,
            lambda xp, x: xp.sum(xp.abs(x - absolute), -1),
        ),
        _at_least("Rastrigin's function, 2 dimensions", "many wells", _real(2), 1e-2, _rastrigin),
        _at_least("Rastrigin's function, 4 dimensions", "many wells", _real(4), 1e-2, _rastrigin),
        _at_least("Ackley's function, 5 dimensions", "many wells", _real(5), 1e-2, _ackley),
        _at_least(
            "needle of width 0.02 in an interval of 10",
            "needle",
            {"x": (UNIFORM, 0.0, 10.0, ())},
            0.0,
            lambda xp, x: 1 - 1.2 * xp.exp(-(((x - 6.1) / 0.02) ** 2)),
        ),
        _at_least(
            "bump of width 0.1 in a square",
            "needle",
            _box(2),
            0.0,
            lambda xp, x: 1 - 1.2 * xp.exp(-50 * xp.sum((x - 0.3) ** 2, -1)),
        ),
        _at_least(
            "square of side 0.05 in a square",
            "needle",
            _box(2),
            0.0,
            lambda xp, x: xp.where(xp.max(xp.abs(x - 0.62), -1) < 0.025, -1.0, 1.0),
        ),
        _at_least(
            "band of five per cent in twelve decades", "scales", scalar, 5e-2, lambda xp, a: xp.abs(xp.log(a / 37))
        ),
        _at_least(
            "curve in two logarithms",
            "scales",
            {**scalar, "b": (LOGARITHMIC, 1e-6, 1e6, ())},
            1e-3,
            lambda xp, a, b: xp.abs(xp.log(a / b**2)),
        ),
        _at_least("around the origin, 3 dimensions", "scales", _real(3), 1e-6, _norm),
        _at_least("far from the origin, 2 dimensions", "scales", _real(2), -500.0, lambda xp, x: -_norm(xp, x)),
        Plant(
            "identity that fails in a hundredth",
            "needle",
            {"x": (UNIFORM, 0.0, 10.0, ())},
            lambda xp, x: (x, x * (1 + xp.exp(-(((x - 2) / 0.01) ** 2)))),
            equality=True,
        ),
        Plant(
            "identity that fails beside a plane, 3 dimensions",
            "tube",
            _real(3),
            lambda xp, x: (
                xp.sum(x, -1) + 0 * x[..., 0],
                xp.sum(x, -1) + 1e-3 * xp.exp(-((x[..., 0] - x[..., 1]) ** 2) / 1e-6),
            ),
            equality=True,
        ),
    ]
