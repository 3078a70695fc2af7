"""What a point is: spectra against finite differences and against each other, and all kinds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differences import jacobian
from families import PROBLEMS
from jax.flatten_util import ravel_pytree

import tutelage as tl
from tutelage.geometry import Tolerances, critical_point, spectrum


def test_spectrum_against_finite_differences(six, spurious):
    """The eigenvalues are those of a matrix of central differences of the gradient."""
    gradient = jax.jit(lambda flat: six.gradient(flat.reshape(6, 6)).ravel())
    matrix = jacobian(gradient, spurious.ravel(), step=1e-3)
    differences = np.linalg.eigvalsh(0.5 * (matrix + matrix.T))
    np.testing.assert_allclose(spectrum(six, spurious).eigenvalues, differences, atol=1e-8)


def test_ends_are_those_of_the_dense_spectrum(six, spurious):
    """Lanczos' method finds both ends of the spectrum."""
    dense = spectrum(six, spurious, how="dense")
    ends = spectrum(six, spurious, how="ends", number=2)
    assert dense.complete and not ends.complete
    assert ends.smallest == pytest.approx(dense.smallest, abs=1e-10)
    assert ends.largest == pytest.approx(dense.largest, abs=1e-10)


def test_many_dimensions():
    """In more dimensions than vectors the spectrum comes from the span, with the repetitions of the full one."""
    random = np.random.default_rng(0)
    objective = tl.population(tl.problems.committee(random.normal(size=(2, 8)), 2))
    point = jnp.asarray(random.normal(size=(2, 8)))
    full = np.linalg.eigvalsh(np.asarray(objective.hessian(point)))
    np.testing.assert_allclose(spectrum(objective, point).eigenvalues, full, atol=1e-12)


def test_spurious_minimum(six, spurious):
    """A point with vanishing gradient, positive eigenvalues and a loss above zero."""
    found = critical_point(six, spurious)
    assert found.kind == "spurious minimum" and found.minimum
    assert found.gradient_norm <= 1e-12 and found.loss > 0.02
    assert found.index == 0 and found.nullity == 0 and found.smallest_eigenvalue > 1e-3


def test_saddle(six, saddle):
    """A point with vanishing gradient and eigenvalues of both signs; its index is that of the dense Hessian."""
    found = critical_point(six, saddle)
    values = np.linalg.eigvalsh(np.asarray(six.hessian(jnp.asarray(saddle))))
    assert found.kind == "saddle" and found.index == int((values < 0).sum()) > 0


def test_global_minima(six, seven):
    """Points with the lowest loss are global minima, whether their Hessian is singular or there is none."""
    plain = critical_point(six, np.eye(6))
    assert plain.kind == "global minimum" and plain.nullity == 0
    # Theorem 2 of the mild over-parameterization paper, whose bound is attained.
    assert plain.smallest_eigenvalue == pytest.approx(0.25 - 0.5 / np.pi, abs=1e-12)
    degenerate = critical_point(seven, tl.split(np.eye(6), 2, 0.3))
    assert degenerate.kind == "global minimum" and degenerate.nullity >= 6
    zero = critical_point(seven, tl.split(np.eye(6), 2, 0.0))
    assert zero.kind == "global minimum" and zero.spectrum is None


def test_other_kinds(six, spurious):
    """A point that is not critical, a zero neuron, and a minimum whose loss is said to be the lowest."""
    assert critical_point(six, 1.1 * np.eye(6)).kind == "not critical"
    dead = np.vstack([np.eye(6)[:5], np.zeros(6)])
    assert critical_point(six, dead).kind == "non-differentiable"
    assert critical_point(six, spurious, lowest=float(six.loss(spurious))).kind == "global minimum"
    assert critical_point(six, spurious, Tolerances(gradient=1e-30)).kind == "not critical"


def test_rotations_that_fix_the_teacher():
    """A critical point outside the teacher's span has zero eigenvalues along its orbit, and they are explained."""
    problem = tl.problems.committee(np.array([[1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0]]), students=2)
    objective = tl.population(problem)
    start = np.array([[[0.0, 0.8, 0.0, 0.0], [0.0, -0.8, 0.0, 0.0]]])
    runs = tl.descend(objective, start, tl.GradientDescent(0.5), tl.gradient_norm(1e-12))
    found = critical_point(objective, runs.point(0))
    # |w·x| against |v·x| with w ⟂ v: critical by symmetry, and a rotation of w in v's complement changes nothing.
    assert found.gradient_norm <= 1e-12 and abs(np.asarray(runs.point(0))[:, 0]).max() < 1e-12
    assert found.symmetries == 2 and found.nullity >= 2 and found.kind == "saddle"


def test_scale_of_a_filter_is_not_degeneracy():
    """The norm of a normalised filter is a symmetry: the global minimum has one zero eigenvalue."""
    objective = tl.population(tl.problems.convolution([0.6, 0.8], [1.0, 2.0]))
    point = tl.models.FilterAndOutput(np.array([1.2, 1.6]), np.array([1.0, 2.0]))
    found = critical_point(objective, point)
    assert found.kind == "global minimum" and found.symmetries == 1 == found.nullity


def test_maximum():
    """A zero cosine neuron computes the constant one, and any other fits better: a maximum."""
    objective = tl.population(tl.problems.committee(np.array([[1.0, 0.0]]), students=1, activation="cosine"))
    found = critical_point(objective, np.zeros((1, 2)))
    assert found.kind == "maximum" and found.index == 2


@pytest.mark.parametrize("name", ["neuron, tanh", "wave, shared", "parity, shared"])
def test_teacher_is_a_global_minimum(name):
    """For every family, the teacher is a global minimum of its own problem."""
    problem = PROBLEMS[name]()
    found = critical_point(tl.population(problem), problem.target)
    assert found.kind == "global minimum"
    assert ravel_pytree(found.point)[0].size == found.spectrum.parameters


def test_bad_input(six, spurious):
    """Streams, points of other shapes and tolerances that are not positive are refused."""
    with pytest.raises(tl.InvalidArgument, match="deterministic"):
        critical_point(tl.stream(six.problem, 10), spurious)
    with pytest.raises(tl.InvalidArgument, match="shape"):
        critical_point(six, spurious[:5])
    with pytest.raises(tl.InvalidArgument, match="gradient"):
        Tolerances(gradient=0.0)


def test_quadratures_are_as_fine_as_the_student_asks_for():
    """Loss and eigenvalues of a steep student are those with more digits; one that is too steep is refused."""
    law = tl.inputs.gaussian(2, covariance=np.diag([1.0, 0.01]))
    problem = tl.problems.committee(np.array([[1.0, 0.5], [0.3, 1.0]]), students=2, activation="softplus", inputs=law)
    point = np.array([[8.0, 1.6], [-4.0, 6.4]])
    fine = tl.population(problem, tolerance=1e-14)
    exact = np.linalg.eigvalsh(np.asarray(fine.hessian(point)))
    found = tl.critical_point(tl.population(problem), point)
    np.testing.assert_allclose(np.sort(found.spectrum.eigenvalues), exact, rtol=0, atol=1e-9 * exact.max())
    np.testing.assert_allclose(found.loss, fine.loss(point), rtol=1e-9)
    with pytest.raises(tl.InvalidArgument, match="`point` must be as near to zero"):
        tl.critical_point(tl.population(problem), 100 * point)
