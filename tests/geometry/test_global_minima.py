"""The set of global minima: generated points have loss zero, and only points of the form are members."""

import jax
import numpy as np
import pytest

import tutelage as tl
from tutelage.geometry import global_minima

_TEACHER = np.array([[1.0, 0.2, 0.0], [-0.3, 0.9, 0.1]])
PROBLEMS = {
    "committee": lambda: tl.problems.committee(_TEACHER, 5),
    "committee, leaky": lambda: tl.problems.committee(_TEACHER, 5, tl.activations.LeakyReLU(0.2)),
    "committee, abs": lambda: tl.problems.committee(_TEACHER, 5, "abs"),
    "homogeneous": lambda: tl.problems.homogeneous(_TEACHER, 5),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_samples_are_members_with_loss_zero(name):
    """Random members have loss zero, are recognised, and are rebuilt from their partition."""
    problem = PROBLEMS[name]()
    objective = tl.population(problem)
    minima = global_minima(problem)
    assert (minima.students, minima.teachers, minima.dimension) == (5, 2, 3)
    points = np.concatenate([minima.sample(6, seed=1), minima.sample(6, seed=2, differentiable=False)])
    losses = np.asarray(jax.jit(jax.vmap(lambda point: objective.loss(point)))(points))
    np.testing.assert_allclose(losses, 0.0, atol=1e-14)
    for point in points:
        partition = minima.partition(point, tolerance=1e-12)
        assert partition is not None
        np.testing.assert_allclose(minima.point(*partition), point, atol=1e-12)


def test_others_are_no_members():
    """A neuron off its ray, a wrong sum and a spurious minimum are no members; a sign is one for |z| only."""
    minima = global_minima(PROBLEMS["committee"]())
    point = np.asarray(minima.sample(1)[0])
    assert minima.contains(point)
    bent = point.copy()
    bent[0, 2] += 1e-3
    assert not minima.contains(bent) and minima.contains(bent, tolerance=1e-2)
    assert not minima.contains(1.001 * point)
    flipped = point * np.array([-1, 1, 1, 1, 1])[:, None]
    assert not minima.contains(flipped)
    even = global_minima(PROBLEMS["committee, abs"]())
    assert even.contains(flipped)
    assert float(tl.population(even.problem).loss(flipped)) == pytest.approx(0.0, abs=1e-14)


def test_bad_input():
    """Partitions that are none, dependent teachers, too few students and other laws are refused."""
    minima = global_minima(PROBLEMS["committee"]())
    with pytest.raises(tl.InvalidArgument, match="sum to one"):
        minima.point([0, 0, 0, 1, 1], [0.5, 0.5, 0.5, 0.5, 0.5])
    with pytest.raises(tl.InvalidArgument, match="owners"):
        minima.point([0, 0, 0, 1, 2], [0.5, 0.5, 0.0, 0.5, 0.5])
    with pytest.raises(tl.UnsupportedCombination, match="independent"):
        global_minima(tl.problems.committee([[1.0, 0.0], [-1.0, 0.0]], 3))
    with pytest.raises(tl.InvalidArgument, match="as many students"):
        global_minima(tl.problems.committee(np.eye(3), 2))
    for activation in ("erf", "linear"):  # sums of linear neurons have many more minima
        with pytest.raises(tl.UnsupportedCombination, match="committee"):
            global_minima(tl.problems.committee(np.eye(2), 2, activation))


HIDDEN_KINKS = {
    "a box of positive numbers": (tl.inputs.uniform_box(2, low=1.0, high=2.0), [[0.5, 0.5], [0.5, 0.5], [0.0, 0.0]]),
    "corners of a cube": (tl.inputs.rademacher(2), [[0.5, 0.2], [0.5, -0.2], [0.0, 1.0]]),
}


@pytest.mark.parametrize("name", HIDDEN_KINKS)
def test_other_minima_where_kinks_are_hidden(name):
    """Under laws that do not come close to every kink there are minima of another form: the set is not claimed."""
    law, point = HIDDEN_KINKS[name]
    problem = tl.problems.committee(np.eye(2), 3, inputs=law)
    inputs = law.sample(jax.random.key(0), (1000,))
    taught = problem.teacher.predict(problem.target, inputs)
    np.testing.assert_allclose(problem.student.predict(np.array(point), inputs), taught, atol=1e-12)
    with pytest.raises(tl.UnsupportedCombination, match="around zero"):
        global_minima(problem)


def test_laws_that_show_every_kink():
    """Large cubes, without a list of corners, are refused too; boxes around zero and mixtures with a sphere are not."""
    for law in (tl.inputs.rademacher(20), tl.inputs.gaussian(20, covariance=np.diag(np.r_[0.0, np.ones(19)]))):
        with pytest.raises(tl.UnsupportedCombination, match="around zero"):
            global_minima(tl.problems.committee(np.eye(3, 20), 4, inputs=law))
    mixed = tl.inputs.mixture([tl.inputs.rademacher(3), tl.inputs.sphere(3)])
    for law in (tl.inputs.uniform_box(3, low=-1.0, high=2.0), mixed, tl.inputs.gaussian(3, mean=[1.0, 2.0, 3.0])):
        assert global_minima(tl.problems.committee(np.eye(3), 4, inputs=law)).dimension == 1
