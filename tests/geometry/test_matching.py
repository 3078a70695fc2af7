"""Who is close to whom: separation, partition, averages and matching, on networks where the answer is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tutelage as tl
from tutelage import geometry

TEACHERS = np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]])


def test_separation_is_between_lines():
    assert geometry.separation(TEACHERS) == pytest.approx(np.pi / 4)
    flipped = TEACHERS * np.array([[1.0], [-1.0], [1.0]])
    assert geometry.separation(flipped) == pytest.approx(np.pi / 4)
    assert geometry.separation(TEACHERS[:1]) == pytest.approx(np.pi / 2)
    # Below the resolution of an arccosine.
    close = np.array([[1.0, 0.0], [-1.0, 1e-10]])
    assert geometry.separation(close) == pytest.approx(1e-10, rel=1e-6)


def test_norm_range():
    low, high = geometry.norm_range(TEACHERS)
    assert (low, high) == (1.0, 2.0)


def test_partition():
    students = np.array([[1.0, 0.1, 0.0], [-1.0, 0.1, 0.0], [0.0, 0.2, -3.0], [0.0, -1.0, -0.9], [0.0, 0.0, 0.0]])
    assert geometry.nearest_teacher(students, TEACHERS)[:4].tolist() == [0, 0, 2, 2]
    assert geometry.nearest_teacher(students, TEACHERS, within=0.2).tolist() == [0, 0, -1, 2, -1]
    # As printed, the second student is a half turn from its line, and nearest to the second teacher.
    assert geometry.nearest_teacher(students, TEACHERS, signed=True)[1] == 1
    turn = geometry.line_angles(students, TEACHERS)
    assert turn.shape == (5, 3) and float(turn.max()) <= np.pi / 2
    np.testing.assert_allclose(turn[4], np.pi / 2)


def _minimum(random):
    """A global minimum: every teacher's mass split among students of either sign, and a zero student."""
    shares = [0.3, 0.7, 1.0, 0.5, 0.5]
    owners = [0, 0, 1, 2, 2]
    products = np.array([share * TEACHERS[owner] for share, owner in zip(shares, owners, strict=True)])
    students = products / np.sqrt(np.linalg.norm(products, axis=1, keepdims=True))
    students *= random.choice([-1.0, 1.0], size=(5, 1))
    return np.concatenate([students, np.zeros((1, 3))])


def test_a_global_minimum_is_matched():
    students = _minimum(np.random.default_rng(3))
    assert float(tl.population(tl.problems.homogeneous(TEACHERS, 6)).loss(students)) == pytest.approx(0, abs=1e-12)
    found = geometry.match(students, TEACHERS)
    assert found.matched
    assert found.teacher[:5].tolist() == [0, 0, 1, 2, 2]
    np.testing.assert_allclose(found.mass, 1.0)
    np.testing.assert_allclose(found.gap, 0.0, atol=1e-12)
    np.testing.assert_allclose(geometry.average_neurons(students, TEACHERS), TEACHERS, atol=1e-12)
    # Every teacher has a student of its own.
    assert sorted(found.teacher[found.partner].tolist()) == [0, 1, 2]
    assert len(set(found.partner.tolist())) == 3


def test_what_is_not_a_match():
    students = _minimum(np.random.default_rng(4))
    turned = students.copy()
    turned[2] = [0.0, 0.8, -0.6]
    assert not geometry.match(turned, TEACHERS).matched
    assert not geometry.match(students[:2], TEACHERS).matched
    assert (geometry.match(students[:2], TEACHERS).partner == -1).sum() == 1
    assert not geometry.match(2 * students, TEACHERS).matched


def test_masses_within_an_angle():
    students = np.array([[1.0, 0.3, 0.0], [0.0, 2.0, 0.0]])
    np.testing.assert_allclose(geometry.teacher_mass(students, TEACHERS), [1.09 / 2, 4.0, 0.0])
    np.testing.assert_allclose(geometry.teacher_mass(students, TEACHERS, within=0.1), [0.0, 4.0, 0.0])


def test_batches_and_compilation():
    """All but `match` compile and take batches of runs."""
    students = jnp.asarray(np.random.default_rng(0).normal(size=(4, 5, 3)))
    teachers = jnp.asarray(TEACHERS)
    for function in (geometry.line_angles, geometry.nearest_teacher, geometry.teacher_mass, geometry.average_neurons):
        whole = jax.jit(function)(students, teachers)
        single = jnp.stack([function(one, teachers) for one in students])
        np.testing.assert_allclose(whole, single, atol=1e-12)
    assert jax.jit(geometry.separation)(teachers) == pytest.approx(np.pi / 4)


def test_bad_arguments_are_refused():
    with pytest.raises(tl.InvalidArgument, match="students"):
        geometry.line_angles(np.ones((2, 4)), TEACHERS)
    with pytest.raises(tl.InvalidArgument, match="teachers"):
        geometry.separation(np.ones(3))
    with pytest.raises(tl.InvalidArgument, match=r"`teachers` must have 2 dimensions, but received shape \(3,\)"):
        geometry.line_angles(np.ones((2, 3)), jnp.ones(3))
    with pytest.raises(tl.InvalidArgument, match="students"):
        geometry.match(np.ones(3), TEACHERS)
