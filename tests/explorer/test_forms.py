"""The closed forms in the browser are the library's: losses and gradients to 1e-12, and whole runs."""

from functools import lru_cache

import jax
import numpy as np
import pytest
import scipy.special
from jax.flatten_util import ravel_pytree

import tutelage as tl
from tutelage.instant import instantly

ACTIVATIONS = ("relu", "leaky_relu", "abs", "erf")
TIGHT = 1e-12  # of the natural size of a loss or gradient at the point

LOOK = """({make, points}) => {
  const form = Function(`return ${make}`)();
  return points.map((point) => {
    const at = Float64Array.from(point);
    return [form.loss(at), ...form.gradient(at)];
  });
}"""


def _compare(evaluate, make, objective, points, flat, sizes):
    """Compare losses and gradients at points, given the natural size of the student and teacher at each."""
    measured = np.array(evaluate(LOOK, {"make": make, "points": flat.tolist()}))
    losses, gradients = _losses_and_gradients(objective, points)
    assert (np.abs(measured[:, 0] - losses) <= TIGHT * sizes**2).all()
    assert (np.abs(measured[:, 1:] - gradients).max(axis=1) <= TIGHT * sizes).all()


@instantly
def _losses_and_gradients(objective, points):
    """At all points at once, by NumPy."""

    def one(point):
        return objective.loss(point), ravel_pytree(objective.gradient(point))[0]

    return jax.vmap(one)(points)


def _written(array):
    return str(np.ravel(array).tolist())


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_committee(evaluate, activation):
    """Random students of all sizes; zero, parallel, opposite, orthogonal and coincident neurons; the teacher itself."""
    random = np.random.default_rng(0)
    for students, teachers, dimension in ((8, 8, 8), (4, 2, 3), (1, 3, 2), (12, 12, 12)):
        teacher = np.eye(dimension)[:teachers] if students == 12 else random.normal(size=(teachers, dimension))
        points = random.normal(size=(250, students, dimension)) * np.exp(random.normal(size=(250, 1, 1)))
        # Signed powers of two of one vector are parallel without rounding.
        special = random.integers(0, 7, size=60)
        for point, kind in zip(points, special, strict=False):
            first, last = 0, students - 1
            if kind == 0:
                point[last] = 0
            elif kind == 1:
                point[:] = 0
            elif kind == 2:
                point[first] = teacher[0] * random.choice([-2.0, -1.0, 0.5, 1.0])
            elif kind == 3 and students > 1:
                point[first] = point[last] * random.choice([-2.0, -1.0, 0.5, 1.0])
            elif kind == 4:
                point[:] = np.eye(students, dimension)
            elif kind == 5 and students > 1:
                point[:] = point[first]
            elif kind == 6:
                point[:] = np.resize(teacher, point.shape)
        objective = tl.population(tl.problems.committee(teacher, students=students, activation=activation))
        make = f"new tutelage.Committee({_written(teacher)}, {dimension}, {students}, '{activation}')"
        sizes = 1 + np.linalg.norm(points, axis=2).sum(axis=1) + np.linalg.norm(teacher, axis=1).sum()
        _compare(evaluate, make, objective, points, points.reshape(250, -1), sizes)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_neuron_with_a_mean(evaluate, activation):
    """Random students in the plane; zero, tiny, parallel, opposite and almost parallel ones; and no mean at all."""
    random = np.random.default_rng(1)
    for number in range(10):
        teacher, mean = random.normal(size=2), random.normal(size=2) * (number % 5) / 2
        points = random.normal(size=(100, 2)) * np.exp(random.normal(size=(100, 1)))
        points[:5] = np.array([0, 1, -1, 1.5, -0.5])[:, None] * teacher
        points[5:15] = teacher + np.geomspace(1e-12, 1e-3, 10)[:, None] * random.normal(size=(10, 2))
        points[15:25] = -teacher + np.geomspace(1e-12, 1e-3, 10)[:, None] * random.normal(size=(10, 2))
        points[25:30] = np.geomspace(1e-12, 1e-4, 5)[:, None] * random.normal(size=(5, 2))
        problem = tl.problems.neuron(teacher, activation=activation, inputs=tl.inputs.gaussian(2, mean=mean))
        objective = tl.population(problem)
        if objective.exactness.kind == "quadrature":
            # The library integrates the error function here, for weights up to a norm, to its own tolerance.
            points /= np.maximum(1, np.linalg.norm(points, axis=1, keepdims=True) / 4)
        make = f"new tutelage.Neuron({_written(teacher)}, {_written(mean)}, '{activation}')"
        scale = 1 + np.linalg.norm(mean)
        sizes = scale**2 * (1 + np.linalg.norm(points, axis=1) + np.linalg.norm(teacher))
        _compare(evaluate, make, objective, points, points, sizes)


def test_filter(evaluate):
    """Random filters and output weights; zero, parallel and opposite filters; the teacher itself."""
    random = np.random.default_rng(2)
    for dimension, patches in ((2, 4), (1, 1), (5, 3), (2, 8)):
        filter, output = random.normal(size=dimension), random.normal(size=patches)
        points = random.normal(size=(250, dimension + patches)) * np.exp(random.normal(size=(250, 1)))
        points[:4, :dimension] = np.array([0, 1, -2, 0.5])[:, None] * filter
        points[4] = np.concatenate([filter, np.linalg.norm(filter) * output])
        points[5, dimension:] = 0
        objective = tl.population(tl.problems.convolution(filter, output))
        students = tl.models.FilterAndOutput(points[:, :dimension], points[:, dimension:])
        sizes = 1 + np.linalg.norm(filter) * np.abs(output).sum() + np.abs(points[:, dimension:]).sum(axis=1)
        # The gradient in the filter grows like one over its norm.
        norms = np.linalg.norm(points[:, :dimension], axis=1)
        sizes = sizes**2 * np.maximum(1, 1 / np.where(norms == 0, 1, norms))
        make = f"new tutelage.Filter({_written(filter)}, {_written(output)})"
        _compare(evaluate, make, objective, students, points, sizes)


@pytest.mark.parametrize("sharing", [True, False], ids=["shared", "unshared"])
def test_wave(evaluate, sharing):
    """Random students near and far, zero, the teacher and its opposite."""
    random = np.random.default_rng(3)
    for dimension, patches in ((1, 1), (2, 3), (7, 4), (30, 8)):
        target = random.normal(size=dimension) * random.uniform(0.2, 1.5)
        shape = (dimension,) if sharing else (patches, dimension)
        points = random.normal(size=(250, *shape)) * np.exp(random.normal(size=(250,) + (1,) * len(shape)) - 1)
        points[0], points[1], points[2] = 0, target, -target
        points[3:100] = target + points[3:100] / 10
        objective = tl.population(tl.problems.wave(target, patches, sharing=sharing))
        make = f"new tutelage.Wave({_written(target)}, {patches}, {str(sharing).lower()})"
        flat = points.reshape(250, -1)
        slope = 9 * patches
        sizes = slope * (1 + np.linalg.norm(flat, axis=1) + np.linalg.norm(target)) * patches
        _compare(evaluate, make, objective, points, flat, sizes)


def test_hessian_and_split(evaluate):
    """At a trap of eight neurons: the same Hessian, and the same way down from each split."""
    objective, runs = _objective(), _runs()
    point = np.asarray(runs.points)[np.argmax(runs.losses > 1e-3)]
    measured = evaluate(
        """(point) => {
          const at = Float64Array.from(point);
          const form = new tutelage.Committee(tutelage.axes(8), 8, 8, "relu");
          const splits = Array.from({ length: 8 }, (_, i) => tutelage.split(form, at, i));
          return {
            hessian: form.hessian(at).map((row) => Array.from(row)),
            least: tutelage.smallestEigenvalue(form, at),
            symmetry: tutelage.symmetry(at, 8, 8, false),
            curvatures: splits.map((split) => split.curvature),
            points: splits.map((split) => Array.from(split.point)),
            saddles: splits.map((split) => tutelage.smallestEigenvalue(split.form, split.point)),
          };
        }""",
        point.ravel().tolist(),
    )
    hessian = np.asarray(objective.hessian(point)).reshape(64, 64)
    np.testing.assert_allclose(measured["hessian"], hessian, atol=1e-11)
    assert measured["symmetry"] == "7 + 1"
    assert measured["least"] == pytest.approx(0.0213, abs=1e-4)
    for neuron in range(8):
        down = tl.descent_direction(objective, point, neuron=neuron)
        assert measured["curvatures"][neuron] == pytest.approx(down.curvature, abs=1e-9)
        np.testing.assert_allclose(measured["points"][neuron], np.ravel(down.point), atol=1e-15)
        least = tl.critical_point(down.objective, down.point).smallest_eigenvalue
        assert measured["saddles"][neuron] == pytest.approx(float(least), abs=1e-8)


@lru_cache
def _objective():
    return tl.population(tl.problems.committee(np.eye(8), students=8))


@lru_cache
def _runs():
    objective = _objective()
    starts = tl.starts.xavier(objective.problem, runs=100, seed=0)
    return tl.descend(objective, starts, tl.GradientDescent(5 / 8), tl.gradient_norm(1e-10) | tl.step_limit(5000))


def test_runs_from_the_same_starts_end_at_the_same_minima(evaluate):
    """A hundred Xavier starts of the library's generator: the same starts, steps, ends and classes."""
    objective, runs = _objective(), _runs()
    starts = np.asarray(tl.starts.xavier(objective.problem, runs=100, seed=0))
    measured = evaluate(
        """() => {
          const form = new tutelage.Committee(tutelage.axes(8), 8, 8, "relu");
          return Array.from({ length: 100 }, (_, i) => {
            const start = tutelage.xavier(8, 8, 0, i);
            const run = new tutelage.Run(form, start, 5 / 8, { limit: 5000 });
            run.advance(5000);
            const symmetry = tutelage.symmetry(run.point, 8, 8, false);
            return [Array.from(start), Array.from(run.point), run.loss, run.steps, run.status, symmetry];
          });
        }"""
    )
    drawn, points, losses, steps, statuses, symmetries = zip(*measured, strict=True)
    np.testing.assert_allclose(drawn, starts.reshape(100, -1), atol=1e-14)
    np.testing.assert_allclose(points, np.asarray(runs.points).reshape(100, -1), atol=1e-8)
    np.testing.assert_allclose(losses, runs.losses, atol=1e-12)
    assert set(statuses) == {"converged"}
    assert np.abs(np.array(steps) - runs.steps).max() <= 1
    atlas = tl.atlas(objective, runs)
    assert {(entry.symmetry, entry.count) for entry in atlas} == {("8", 94), ("7+1", 6)}
    assert (symmetries.count("8"), symmetries.count("7 + 1")) == (94, 6)


def test_special_functions(evaluate):
    """The error function, its complement and its inverse, to the last digits."""
    x = np.linspace(-8, 8, 1601)
    levels = np.concatenate([np.linspace(-0.999, 0.999, 999), 1 - 2.0 ** -np.arange(2, 50)])
    measured = evaluate("(x) => x.map((x) => [tutelage.erf(x), tutelage.erfc(x)])", x.tolist())
    np.testing.assert_allclose(measured, np.stack([scipy.special.erf(x), scipy.special.erfc(x)], axis=1), rtol=1e-14)
    inverse = evaluate("(u) => u.map(tutelage.inverseErf)", levels.tolist())
    np.testing.assert_allclose(inverse, scipy.special.erfinv(levels), rtol=1e-14)
