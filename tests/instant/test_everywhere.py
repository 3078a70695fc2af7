"""Objectives, duals and starts in NumPy: the same numbers as compiled, and nothing is compiled."""

import operator
import subprocess
import sys
import textwrap
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest
from compilations import compilations
from families import PROBLEMS, random_point
from jax.flatten_util import ravel_pytree

import tutelage as tl
from tutelage import duals
from tutelage.duals.base import Sum
from tutelage.duals.quadrature import Integrated
from tutelage.errors import UnsupportedCombination
from tutelage.inputs.examples import registry
from tutelage.instant import calls, instantly

# One law for each column of the table of what is supported, and a mixture.
LAWS = ("gaussian", "gaussian_correlated", "gaussian_shifted", "sphere", "uniform_box", "finite", "mixture")
DEGENERATE = {
    "random": lambda rows, random: random.normal(size=rows.shape),
    "zero": lambda rows, random: np.concatenate([0 * rows[:1], random.normal(size=rows[1:].shape)]),
    "parallel": lambda rows, random: np.linspace(0.5, 1.5, len(rows))[:, None] * rows[:1],
    "opposite": lambda rows, random: np.linspace(-0.8, 1.2, len(rows))[:, None] * rows[:1],
    "coincident": lambda rows, random: np.repeat(rows[:1], len(rows), axis=0),
    "huge": lambda rows, random: 1e40 * random.normal(size=rows.shape),
    "tiny": lambda rows, random: 1e-40 * random.normal(size=rows.shape),
}


def _agree(found, expected, name: str) -> None:
    """Within 1e-13 of the largest entry; not finite in the same places."""
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        one, other = np.asarray(one, float), np.asarray(other, float)
        assert np.array_equal(np.isfinite(one), np.isfinite(other)), name
        finite = np.where(np.isfinite(other), other, 0.0)
        scale = max(1.0, np.abs(finite).max())
        np.testing.assert_allclose(
            one[np.isfinite(other)], other[np.isfinite(other)], rtol=0, atol=1e-13 * scale, err_msg=name
        )


def _everything(kernel, first, second, weights):
    """Values, for equal vectors too; the sum of gradients and its derivative."""
    pull, turn = jax.jvp(lambda w, v: kernel._pull(w, v, weights, False), (first, second), (second, first))
    return kernel._gram(first, second, False), kernel._gram(first, first, True), pull, turn


_EVERYTHING = eqx.filter_jit(_everything)


def _compiled(kernel, *arguments):
    """The same by XLA: sums part by part, so that activations and laws with equal parts share their programs."""
    if isinstance(kernel, Sum):
        factors = kernel.factors or (1.0,) * len(kernel.parts)
        parts = [_compiled(part, *arguments) for part in kernel.parts]
        return jax.tree.map(lambda *parts: sum(map(operator.mul, factors, parts)), *parts)
    return jax.tree.map(np.asarray, _EVERYTHING(kernel, *arguments))


def _pairs():
    for law in LAWS:
        for activation in tl.activations.names():
            yield pytest.param(law, activation, id=f"{activation}, {law}")


@pytest.mark.parametrize(("law", "activation"), list(_pairs()))
def test_duals_in_numpy_are_those_of_xla(law: str, activation: str) -> None:
    """Values, sums of gradients and their derivatives for all pairs of degenerate vectors, in units of the largest."""
    try:
        kernel = duals.kernel(activation, activation, registry()[law](3))
    except UnsupportedCombination:
        pytest.skip("refused")
    random = np.random.default_rng(5)
    second = random.normal(size=(3, 3))
    weights = random.normal(size=(3, 3))

    for name, change in DEGENERATE.items():
        if isinstance(kernel, Integrated) and name in ("huge", "tiny"):
            continue  # beyond the radius of the quadrature
        if name == "huge" and activation in ("cosine", "sine") and law == "finite":
            continue  # angles without any digits
        first = change(second, random)
        at_once = instantly(_everything)(kernel, first, second, weights)
        _agree(at_once, _compiled(kernel, first, second, weights), name)


@pytest.mark.parametrize("name", PROBLEMS)
def test_objectives_in_numpy_are_those_of_xla(name: str) -> None:
    """Loss, gradient, Hessian and its products, of every family, at random and degenerate students."""
    problem = PROBLEMS[name]()
    objective = tl.population(problem)

    def everything(objective, point):
        return objective.loss(point), objective.gradient(point), objective.hessian(point)

    points = {"random": jax.tree.map(np.asarray, random_point(problem, 3))}
    vectors = problem.student.vectors(points["random"])
    for kind in ("zero", "parallel", "opposite", "coincident"):
        changed = DEGENERATE[kind](np.asarray(vectors), np.random.default_rng(4))
        points[kind] = jax.tree.map(np.asarray, problem.student.with_vectors(points["random"], changed))
    compiled = eqx.filter_jit(everything)
    for kind, point in points.items():
        loss, gradient, hessian = compiled(objective, point)
        _agree(everything(objective, point), (loss, gradient, hessian), kind)
        # A program of its own would take as long to compile as that of the Hessian. At a kink there is no Hessian: the
        # dense one is then symmetric by convention, where a product is the derivative of the gradient's convention.
        if not objective.singular(point):
            product = ravel_pytree(objective.hessian_vector(point, point))[0]
            _agree(product, np.asarray(hessian) @ np.asarray(ravel_pytree(point)[0]), kind)


@pytest.mark.parametrize("name", PROBLEMS)
def test_nothing_is_compiled(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the problem to its Hessian; nor has another test compiled what is left to XLA."""
    traced, left = calls._traced, []

    def noted(function, *kinds):
        program, results = traced(function, *kinds)
        left.extend([] if program else [function.__qualname__])
        return program, results

    monkeypatch.setattr(calls, "_traced", noted)
    with compilations() as compiled:
        problem = PROBLEMS[name]()
        objective = tl.population(problem)
        starts = tl.starts.gaussian(problem, runs=3)
        point = jax.tree.map(lambda leaf: np.asarray(leaf)[0], starts)
        for method in (objective.loss, objective.gradient, objective.hessian, objective.error_estimate):
            method(point)
            method(jax.tree.map(jax.device_put, point))
        inputs = np.ones((*problem.input_shape(2), problem.dimension))
        problem.student.predict(point, inputs)
        tl.empirical(problem, inputs).gradient(point)
    assert (compiled, left) == ([], [])


def test_a_fresh_process_compiles_nothing() -> None:
    """The same where no other test has compiled anything, with other laws and starts."""
    script = """
        import numpy as np
        from compilations import compilations
        import tutelage as tl

        with compilations() as compiled:
            for inputs in (None, tl.inputs.gaussian(4, mean=np.ones(4)), tl.inputs.ball(4), tl.inputs.rademacher(4)):
                problem = tl.problems.committee(np.eye(4), 5, inputs=inputs)
                objective = tl.population(problem)
                starts = np.asarray(tl.starts.xavier(problem, 10))
                objective.loss(starts[0]), objective.gradient(starts[0]), objective.hessian(starts[0])
            tl.duals.dual("erf", "erf", tl.inputs.gaussian(3))(np.ones(3), np.ones(3))
            tl.starts.fitted(tl.problems.homogeneous(np.eye(3), 4), 2)
            tl.starts.sphere_ball(tl.problems.convolution(np.ones(3), np.ones(4)), 2)
        print(compiled)
        import jax
        with compilations() as compiled:
            jax.jit(lambda x: x + 1)(1.0)
        print(len(compiled))
    """
    helpers = str(Path(__file__).parents[1] / "helpers")
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.append({helpers!r})\n" + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert done.stdout.split("\n")[:2] == ["[]", "1"]


def test_arrays_are_copied_at_the_door() -> None:
    """A problem does not change with the array that it was built from."""
    teacher = np.eye(3)
    problem = tl.problems.committee(teacher, 3)
    moved = problem.with_teacher(teacher)
    teacher[:] = 7.0
    assert np.array_equal(problem.target, np.eye(3)) and np.array_equal(moved.target, np.eye(3))
