"""Splitting, merging, reduced blocks, and the way down from a split minimum."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilations import compilations

import tutelage as tl
from tutelage.geometry import critical_point, descent_direction, merge, reduced_blocks, split, wider
from tutelage.instant import instantly


@pytest.mark.parametrize("fraction", [0.5, 0.2])
def test_splitting_loses_nothing(seven, six, spurious, fraction):
    """A split point has the same loss, and is critical where the original one is."""
    for neuron in (0, 5):
        point = split(spurious, neuron, fraction)
        np.testing.assert_allclose(point[neuron] + point[neuron + 1], spurious[neuron], atol=1e-16)
        found = critical_point(seven, point)
        assert found.loss == pytest.approx(float(six.loss(spurious)), abs=1e-14)
        assert found.gradient_norm <= 1e-11


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("fraction", [0.0, 0.3, 1.0])
def test_merging_undoes_splitting(spurious, degree, fraction):
    """`merge(split(x)) = x`, with a zero part too."""
    point = split(spurious, 3, fraction, degree)
    np.testing.assert_allclose(merge(point, 4, 3, degree), spurious, atol=1e-15)


def test_merging_refuses_other_directions(spurious):
    """Neurons that are not parallel are not merged, and neither is a neuron with itself."""
    with pytest.raises(tl.InvalidArgument, match="parallel"):
        merge(spurious, 0, 1)
    with pytest.raises(tl.InvalidArgument, match="another neuron"):
        merge(spurious, 1, 1)
    with pytest.raises(tl.InvalidArgument, match="below the number"):
        split(spurious, 6)
    with pytest.raises(tl.InvalidArgument, match="between zero and one"):
        split(spurious, 0, 1.5)


def test_reduced_blocks_of_a_committee(six, spurious):
    """The printed form: the diagonal block of the Hessian without half the identity."""
    hessian = np.asarray(six.hessian(jnp.asarray(spurious))).reshape(6, 6, 6, 6)
    blocks = np.asarray(reduced_blocks(six, spurious))
    for neuron in range(6):
        np.testing.assert_allclose(blocks[neuron], hessian[neuron, :, neuron] - 0.5 * np.eye(6), atol=1e-13)
    np.testing.assert_allclose(reduced_blocks(six, spurious, neurons=[4, 0]), blocks[[4, 0]], atol=1e-15)
    for neurons, message in (([6], "at most 5"), ([-1], "at least 0"), (3, "a list of neurons")):
        with pytest.raises(tl.InvalidArgument, match=message):
            reduced_blocks(six, spurious, neurons)


def test_reduced_blocks_against_sampling():
    """For smooth neurons with a sample, `H'` is what the Gauss–Newton part leaves of the Hessian's block."""
    problem = tl.problems.committee(np.eye(3)[:2], students=2, activation="quadratic")
    inputs = np.random.default_rng(0).normal(size=(40, 3))
    objective = tl.empirical(problem, inputs)
    point = jnp.asarray(np.random.default_rng(1).normal(size=(2, 3)))
    hessian = np.asarray(objective.hessian(point)).reshape(2, 3, 2, 3)
    blocks = np.asarray(reduced_blocks(objective, point))
    np.testing.assert_array_equal(reduced_blocks(objective, point, [1]), blocks[1:])
    for neuron in range(2):
        slopes = np.asarray(
            jax.vmap(jax.grad(lambda w, x: problem.student.activation(w @ x)), (None, 0))(point[neuron], inputs)
        )
        gauss_newton = slopes.T @ slopes / len(inputs)
        np.testing.assert_allclose(blocks[neuron], hessian[neuron, :, neuron] - gauss_newton, atol=1e-12)


@pytest.mark.parametrize("fraction", [0.5, 0.2])
def test_way_down_from_a_split_minimum(six, seven, spurious, fraction):
    """Along the direction the second derivative is the stated one, and descent ends at a lower loss."""
    found = descent_direction(six, spurious, fraction=fraction)
    direction = jnp.asarray(found.direction)
    assert float(jnp.linalg.norm(direction)) == pytest.approx(1.0)
    curvature = float(jnp.vdot(direction, seven.hessian_vector(found.point, direction)))
    assert curvature == pytest.approx(found.curvature, abs=1e-12) and curvature < -0.01
    assert critical_point(seven, found.point).kind == "saddle"
    before = float(six.loss(spurious))
    assert float(seven.loss(found.start(0.02))) < before
    runs = tl.descend(found.objective, found.start(0.02)[None], tl.GradientDescent(0.4), tl.step_limit(400))
    assert runs.losses[0] < 0.1 * before


def test_the_way_down_is_found_without_a_compiler(six, spurious):
    # Shares that no other test has: what it might have compiled is not there yet.
    with compilations() as compiled:
        way = descent_direction(six, np.asarray(spurious), fraction=0.3125)
        assert way is not None
        start = way.start(0.01)
    assert compiled == []
    assert isinstance(start, jax.Array)


def test_no_way_down_from_a_global_minimum(six):
    """At a global minimum the residual vanishes, and so do the reduced blocks."""
    np.testing.assert_allclose(reduced_blocks(six, np.eye(6)), 0.0, atol=1e-15)
    assert descent_direction(six, np.eye(6)) is None


def test_homogeneous_neurons():
    """Neurons of degree two: the function, the stated curvature, signs and the linear term."""
    random = np.random.default_rng(3)
    problem = tl.problems.homogeneous(random.normal(size=(2, 3)), 3, "relu", signs=[1, -1, 1], linear=True)
    objective = tl.population(problem)
    point = tl.models.WithLinear(random.normal(size=(3, 3)), random.normal(size=3))
    np.testing.assert_array_equal(wider(objective, 1).problem.student.signs, [1, -1, -1, 1])
    found = descent_direction(objective, point, fraction=0.3)
    np.testing.assert_allclose(found.point.neurons, split(point, found.neuron, 0.3, degree=2).neurons)

    @instantly
    def values(objective, point, direction):
        return objective.loss(point), objective.hessian_vector(point, direction)

    loss, product = values(found.objective, found.point, found.direction)
    assert float(loss) == pytest.approx(float(objective.loss(point)), abs=1e-13)
    # Though the point is not critical: the part from the change of the function to first order cancels.
    curvature = float(np.vdot(found.direction.neurons, product.neurons))
    assert curvature == pytest.approx(found.curvature, abs=1e-12)


def test_families_without_homogeneous_neurons_are_refused():
    """A tanh committee cannot be split; a wave has no neurons."""
    tanh = tl.population(tl.problems.committee(np.eye(2), 2, "erf"))
    with pytest.raises(tl.InvalidArgument, match="homogeneous neurons"):
        descent_direction(tanh, np.eye(2))
    wave = tl.population(tl.problems.wave([0.3, 0.4], 2))
    with pytest.raises(tl.UnsupportedCombination, match="wave"):
        reduced_blocks(wave, np.ones(2))


def test_merging_zero_neurons():
    """Two zero neurons are one, whatever their degree."""
    for degree in (1, 2):
        merged = merge(np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]]), 0, 2, degree=degree)
        np.testing.assert_array_equal(merged, [[0.0, 0.0], [1.0, 2.0]])


def test_a_zero_neuron_shows_no_way_down():
    """A zero neuron has no reduced block; the other neurons are judged as if it were not there."""
    small, large = (tl.population(tl.problems.homogeneous(np.eye(2), students=number)) for number in (1, 2))
    point = np.array([[0.8, 0.3]])
    with_zero = np.concatenate([np.zeros((1, 2)), point])
    expected, found = descent_direction(small, point), descent_direction(large, with_zero)
    assert found.neuron == 1 and found.curvature == pytest.approx(expected.curvature)
    assert np.isfinite(found.direction).all()
    assert descent_direction(large, with_zero, neuron=0) is None
