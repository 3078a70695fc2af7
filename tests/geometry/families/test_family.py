"""Families: critical points of a symmetry class, at any number of neurons."""

from __future__ import annotations

import numpy as np
import pytest

import tutelage as tl
from tutelage.geometry.families.classes import symmetry_class
from tutelage.geometry.families.layout import NOBODY
from tutelage.geometry.families.search import relabellings


def full(objective, point):
    """Gradient and Hessian of the student in full."""
    student = point.student()
    hessian = np.asarray(objective.hessian(student)).reshape(student.size, student.size)
    return np.asarray(objective.gradient(student)), hessian


def test_the_known_minima():
    """The losses of the minima with blocks 5+1 and 19+1, to all digits, and their kinds."""
    six = tl.family("k-1,1").points(6)
    assert six[0].kind == "global minimum" and six[0].loss < 1e-15
    assert six[1].kind == "minimum" and six[1].loss == pytest.approx(0.0250805810024630, abs=1e-15)
    np.testing.assert_allclose(six[1].entries, [0.98670, -0.05041, 0.30801, 0.22452, -0.60151], atol=1e-5)
    twenty = tl.family("k-1,1").points(20)[1]
    assert twenty.kind == "minimum" and round(twenty.loss, 9) == 0.011275582


@pytest.mark.parametrize(
    ("blocks", "students", "neurons"),
    [("k-1,1", None, 6), ("k", None, 5), ("k-2,2", None, 7), ("k/2,k/2", None, 6), ("k-1,1", "k-1,1,1", 6)],
)
def test_points_are_critical_points_of_the_full_problem(blocks, students, neurons):
    """Gradient zero, the whole spectrum and the index: all as in the problem with all its parameters."""
    found = tl.family(blocks, students).points(neurons)
    assert len(found) >= 2
    for point in found:
        student = point.student()
        objective = tl.population(tl.problems.committee(np.eye(neurons), students=len(student)))
        gradient, hessian = full(objective, point)
        assert np.abs(gradient).max() < 1e-9
        assert point.loss == pytest.approx(float(objective.loss(student)), abs=1e-13)
        dense = np.linalg.eigvalsh(hessian)
        repeated = np.concatenate([np.repeat(one.eigenvalue, one.multiplicity) for one in point.spectrum])
        np.testing.assert_allclose(np.sort(repeated), dense, atol=1e-9 * max(1, np.abs(dense).max()))
        assert point.index == (dense < -1e-9).sum()


def test_descent_reaches_no_other_points_of_the_class():
    """What descent from starts of the class reaches is in the list of its critical points."""
    neurons = 8
    objective = tl.population(tl.problems.committee(np.eye(neurons), students=neurons))
    layout = symmetry_class("k-1,1").layout(neurons)
    tables = np.random.default_rng(0).normal(size=(20, 2, 3))
    starts = np.stack([layout.matrix(table) for table in tables])
    runs = tl.descend(objective, starts, tl.GradientDescent(0.3), tl.gradient_norm(1e-10))
    losses = [point.loss for point in tl.family("k-1,1").points(neurons)]
    reached = [float(loss) for loss, status in zip(runs.losses, runs.statuses, strict=True) if status == "converged"]
    assert len(reached) > 10
    assert all(min(abs(loss - known) for known in losses) < 1e-9 for loss in reached)


def test_a_hundred_thousand_neurons():
    """The complete spectrum: as many eigenvalues as parameters, and the loss of order one over k."""
    found = tl.family("k-1,1").points(100_000)
    assert [point.kind for point in found][:2] == ["global minimum", "minimum"]
    for point in found:
        assert sum(one.multiplicity for one in point.spectrum) == 10**10
        assert all(isinstance(one.multiplicity, int) for one in point.spectrum)
    # About 0.3 over k, and curvatures as at the teacher but for a few.
    assert 0.29 < found[1].loss * 1e5 < 0.30
    assert found[1].smallest_eigenvalue == pytest.approx(0.25 - 0.5 / np.pi, abs=1e-3)


def test_real_numbers_of_neurons():
    """Between whole numbers, points lie between theirs, and multiplicities are not whole."""
    losses = [tl.family("k-1,1").points(neurons)[1].loss for neurons in (9, 9.5, 10)]
    assert losses[0] > losses[1] > losses[2]
    point = tl.family("k-1,1").points(9.5)[1]
    assert sum(one.multiplicity for one in point.spectrum) == pytest.approx(9.5**2)
    with pytest.raises(tl.InvalidArgument, match="whole"):
        point.student()


def test_half_neurons_are_no_student():
    """Seven neurons in two equal blocks: neither a student, nor a certificate, nor whole multiplicities."""
    points = tl.family("k/2,k/2").points(7)
    multiplicities = [one.multiplicity for one in points[1].spectrum]
    assert sum(multiplicities) == pytest.approx(49) and any(number % 1 for number in multiplicities)
    for point in points:
        with pytest.raises(tl.InvalidArgument, match="whole number of members"):
            point.student()
        with pytest.raises(tl.InvalidArgument, match="whole number of members"):
            point.certify()
    assert tl.family("k/2,k/2").points(6)[0].certify().proved


def test_more_students_than_teachers():
    """A student more: at twenty neurons there is a minimum with a lower loss, which is not one with two on a ray."""
    found = tl.family("k-1,1", students="k-1,1,1").points(20)
    lowest = found[0]
    assert lowest.kind == "minimum" and 0 < lowest.loss < 0.011275
    assert lowest.student().shape == (21, 20)


def test_equivalent_points_are_listed_once():
    """Exchanging single students, or equal blocks, gives no other point; nor does another seed."""
    one, other = (tl.family("k-2,1,1").points(4, seed=seed) for seed in (0, 3))
    assert [point.loss for point in one] == pytest.approx([point.loss for point in other], abs=1e-9)
    layout = symmetry_class("k/2,k/2").layout(8.0)
    table = np.random.default_rng(0).normal(size=(2, 3))
    images = relabellings(layout)(table)
    objective = tl.population(tl.problems.committee(np.eye(8), students=8))
    losses = [float(objective.loss(layout.matrix(image))) for image in images]
    assert len(images) == 2 and losses == pytest.approx([losses[0]] * 2, abs=1e-12)
    np.testing.assert_array_equal(images[0], table)


@pytest.mark.parametrize(("blocks", "students"), [("k-2,1,1", None), ("k-2,2", None), ("k-1,1", "k-1,1,1")])
def test_relabelled_tables_have_the_same_loss(blocks, students):
    """Every image of a table under relabelling is an equivalent student."""
    layout = symmetry_class(blocks, students).layout(6.0)
    table = np.random.default_rng(1).normal(size=layout.weights.shape) * (layout.weights != 0)
    objective = tl.population(tl.problems.committee(np.eye(6), students=len(layout.matrix(table))))
    losses = [float(objective.loss(layout.matrix(image))) for image in relabellings(layout)(table)]
    assert len(losses) > 1 and np.ptp(losses) < 1e-12


def test_expressions():
    """Sizes are read as they are meant, and orbits find their blocks."""
    found = symmetry_class(" k-3 , 2,1", "2,k-3,1,1")
    assert found.layout(10.0).sizes == (7.0, 2.0, 1.0) and found.owners == (1, 0, 2, NOBODY)
    assert symmetry_class("(k-1)/2,(k+1)/2").layout(9.0).sizes == (4.0, 5.0)
    assert symmetry_class("k/2+1,k/2-1").layout(10.0).sizes == (6.0, 4.0)
    assert symmetry_class("5,1").layout(6.0).sizes == (5.0, 1.0)


def test_sizes_that_are_whole_are_so_exactly():
    """Of blocks that are quotients too: 31.999999999999996 neurons would be neither a student nor refused as none."""
    for divisor in range(2, 12):
        for rest in range(divisor):
            size = symmetry_class(f"(k-{rest})/{divisor}" if rest else f"k/{divisor}").sizes[0]
            assert [size.at(float(members * divisor + rest)) for members in range(2, 60)] == list(range(2, 60))


@pytest.mark.parametrize(
    "blocks", ["", "k,,1", "k-", "foo", "-1,k", "0,k", "1-k", "k/0", "k^2", ",".join("1" * 30), 3, None]
)
def test_senseless_blocks_are_refused(blocks):
    with pytest.raises(tl.InvalidArgument, match="blocks"):
        tl.family(blocks)


def test_wrong_numbers_are_refused():
    """Blocks that do not add up, or would have one member or none, students of no block, and tables that do not fit."""
    with pytest.raises(tl.InvalidArgument, match="students"):
        tl.family("k-1,1", students="k-2,1")
    some = tl.family("k-1,1")
    for wrong in (2, 1.5, 0, -3, float("nan"), 1e9, "six", True):
        with pytest.raises(tl.InvalidArgument, match="neurons"):
            some.points(wrong)
    with pytest.raises(tl.InvalidArgument, match="neurons"):
        tl.family("5,1").points(7)
    with pytest.raises(tl.InvalidArgument, match="table"):
        some.point(6, np.eye(2))
    with pytest.raises(tl.InvalidArgument, match="neurons"):
        some.points(100_000)[0].student()
