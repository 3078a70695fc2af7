"""What a problem holds and does: shapes, samples, noise, and points made into arrays."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from families import PROBLEMS, random_point

import tutelage as tl
from tutelage.models import WithLinear


def test_students_have_the_documented_shapes() -> None:
    """What the constructors' documentation says a student is."""
    shapes = {
        "neuron": [(3,)],
        "committee": [(3, 3)],
        "homogeneous": [(3, 3)],
        "homogeneous, ReLU with linear term": [(2, 3), (3,)],
        "convolution": [(3,), (3,)],
        "wave, shared": [(3,)],
        "wave, unshared": [(3, 3)],
        "parity, shared": [(3,)],
        "parity, unshared": [(3, 3)],
    }
    for name, expected in shapes.items():
        problem = PROBLEMS[name]()
        assert [leaf.shape for leaf in jax.tree.leaves(problem.template_tree())] == expected, name
        assert problem.parameters == sum(int(np.prod(shape)) for shape in expected)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_template_has_the_shape_of_a_student(name: str) -> None:
    """A student predicts; `point` and `points` accept it, in another precision too, and give float64."""
    problem = PROBLEMS[name]()
    point = random_point(problem, 0)
    inputs, _ = problem.sample(jax.random.key(1), 4)
    assert problem.student.predict(point, inputs).shape == (4,)
    checked = problem.point(jax.tree.map(lambda leaf: np.asarray(leaf, dtype=np.float32), point))
    assert all(leaf.dtype == jnp.float64 for leaf in jax.tree.leaves(checked))
    batch = problem.points(jax.tree.map(lambda leaf: jnp.stack([leaf] * 4), point))
    assert all(leaf.shape[0] == 4 for leaf in jax.tree.leaves(batch))


@pytest.mark.parametrize("name", PROBLEMS)
def test_samples_are_labelled_by_the_teacher(name: str) -> None:
    """Inputs have the shape of the model; labels are the teacher's, with noise of the stated deviation."""
    problem = PROBLEMS[name]()
    inputs, labels = problem.sample(jax.random.key(0), 2000)
    assert inputs.shape == (*problem.input_shape(2000), 3)
    noise = np.asarray(labels - problem.teacher.predict(problem.target, inputs))
    if problem.noise == 0:
        np.testing.assert_array_equal(noise, 0.0)
    else:
        # Four standard errors of a variance estimated from 2000 normal numbers.
        assert abs(noise.std() / problem.noise - 1) < 4 / np.sqrt(2 * 2000)
        assert abs(noise.mean()) < 4 * problem.noise / np.sqrt(2000)


def test_defaults_are_the_papers() -> None:
    """Standard Gaussian inputs, degrees (1, k), slope 3√k, fifty units, no noise."""
    assert tl.problems.neuron([1.0, 2.0]).inputs.name == "gaussian(2)"
    assert tl.problems.parity([1.0], 4).student.degrees == (1, 4)  # type: ignore[attr-defined]
    assert tl.problems.parity([1.0], 1).student.degrees == (1,)  # type: ignore[attr-defined]
    assert tl.problems.wave([1.0], 4).student.slope == pytest.approx(6.0)  # type: ignore[attr-defined]
    learned = tl.problems.composite("low", [1.0, 0.0], learn_outer=True)
    assert learned.student.units == 50  # type: ignore[attr-defined]
    assert learned.parameters == 2 + 50 * 5 + 50 + 50 + 1
    assert tl.problems.committee(np.eye(2), 3).noise == 0


def test_degrees_are_sorted() -> None:
    """The order in which degrees are given does not matter."""
    assert tl.problems.parity([1.0], 3, degrees=(3, 1)).student.degrees == (1, 3)  # type: ignore[attr-defined]


def test_a_linear_term_has_its_own_array() -> None:
    """The student of the ReLU form with a free linear term is a `WithLinear`."""
    problem = tl.problems.homogeneous(np.eye(2), 3, "relu", linear=True)
    point = problem.point(WithLinear(np.ones((3, 2)), np.zeros(2)))
    assert isinstance(point, WithLinear)
    assert point.neurons.shape == (3, 2)


def test_a_line_says_what_it_is() -> None:
    """Problems, objectives and laws have representations of one line, traced ones too."""
    problem = tl.problems.committee(np.eye(3), 4, "tanh", noise=0.1)
    assert repr(problem) == "Problem(committee, tanh, student 4 × 3, teacher 3 × 3, gaussian(3), noise 0.1)"
    objective = tl.population(problem)
    assert repr(objective).startswith("NeuronSum(committee, tanh, ") and "quadrature to 1e-10" in repr(objective)
    learned = tl.problems.composite("both", np.ones(3), learn_outer=True)
    for one in (problem, objective, learned, tl.stream(learned, 4), learned.inputs, tl.inputs.ball(3)):
        assert "\n" not in repr(one)
    lines = []
    eqx.filter_jit(lambda objective: lines.append(repr(objective)))(objective)
    assert lines[0].startswith("NeuronSum(committee, tanh, ")
