"""The formulas and the plane behind the claims of the weight-sharing paper, against the library and other oracles."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

import tutelage as tl
from tutelage.claims.weight_sharing import formulas, plane, two_phases
from tutelage.claims.weight_sharing.gradients import tanh_square

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("scale", [1e-3, 0.3, 4.0])
def test_closed_forms_are_derivatives(scale):
    """c₁(w)w and b̃ are half the gradient of V(w, w) and the gradient of V(u, w), by complex steps."""
    u, w = RANDOM.normal(size=(2, 3)) * np.array([[3.0], [scale]])
    # Complex steps lose no digits.
    moved = w + 1e-30j * np.eye(3)
    own = 0.5 * formulas.overlap(moved, moved).imag / 1e-30
    np.testing.assert_allclose(formulas.own_factor(w) * w, own, rtol=1e-9)
    np.testing.assert_allclose(formulas.pull(w, u), formulas.overlap(u, moved).imag / 1e-30, rtol=1e-9)


def test_the_pull_stays_accurate_next_to_a_long_teacher():
    """At w = u₀ it is c₁(u₀)u₀, however long the teacher: 1 − ρ² is computed without cancellation."""
    u = np.array([0.0, 1e5])
    np.testing.assert_allclose(formulas.pull(u, u), formulas.own_factor(u) * u, rtol=1e-9)


@pytest.mark.parametrize("patches", [2, 3, 6])
def test_shared_gradient_is_the_librarys(patches):
    u, w = RANDOM.normal(size=(2, 3))
    exact = tl.population(tl.problems.parity(u, patches))
    np.testing.assert_allclose(formulas.shared_gradient(w, u, patches), exact.gradient(w), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("patches", [1, 2, 5])
def test_unshared_loss_is_the_librarys(patches):
    """The sum of the losses of both degrees, from overlaps; for one patch that is twice the loss of one."""
    u, w = RANDOM.normal(size=3), RANDOM.normal(size=(patches, 3))
    exact = tl.population(tl.problems.parity(u, patches, degrees=(1, patches) if patches > 1 else (1,), sharing=False))
    times = 1 if patches > 1 else 2
    np.testing.assert_allclose(formulas.parity_loss(w, u), times * exact.loss(w), rtol=1e-9)


def _descend_in_plane(patches, dimension, low, steps, step=1.0):
    """Follow plain descent of an unshared student from norm one; return the losses, the start's among them."""
    state, about = plane.plane_start(dimension, 1.0), (patches, low, float(formulas.teacher_norm(patches)))
    losses = [plane.plane_loss(state, *about)]
    for _ in range(steps):
        state = state - step * plane.plane_gradient(state, *about)
        losses.append(plane.plane_loss(state, *about))
    return np.array(losses)


@pytest.mark.parametrize("low", [True, False])
def test_the_plane_is_exact(low):
    """Descent in four numbers has the losses of descent in fifty dimensions, patch by patch."""
    patches, dimension = 3, 50
    target = np.zeros(dimension)
    target[0] = formulas.teacher_norm(patches)
    degrees = (1, patches) if low else (patches,)
    objective = tl.population(tl.problems.parity(target, patches, degrees=degrees, sharing=False))
    student = RANDOM.choice([-1.0, 1.0], size=(patches, dimension)) / np.sqrt(dimension)
    student[:, 0] = np.abs(student[:, 0])
    losses = [objective.loss(student)]
    for _ in range(40):
        student = student - objective.gradient(student)
        losses.append(objective.loss(student))
    np.testing.assert_allclose(losses, _descend_in_plane(patches, dimension, low, 40), rtol=1e-9)


def test_flow_time_is_descents_with_a_small_step():
    """The time of gradient flow is that of descent with a step of one fiftieth, up to a per cent."""
    patches, dimension, goal, step = 3, 1e3, 0.25, 0.02
    teacher = plane.patch_parts(formulas.teacher_norm(patches), 0.0, formulas.teacher_norm(patches))[0]
    losses = _descend_in_plane(patches, dimension, True, 2000, step)
    steps = int(np.argmax(losses < goal * teacher**patches))
    assert steps * step == pytest.approx(plane.learning_time(patches, dimension, 1.0, True, goal), rel=0.02)


def test_sharing_divides_the_time_of_one_degree():
    """With the high degree alone, k patches that share a vector move k times as fast."""
    unshared = plane.learning_time(4, 1e4, 1.0, False, 0.25)
    assert plane.shared_learning_time(4, 1e4, 1.0, False, 0.25) == pytest.approx(unshared / 4, rel=1e-3)


def test_runs_end_where_each_ends_by_itself():
    """Runs that are followed side by side, of which some are done or over before others, do not touch each other."""
    p, q = np.array([0.1, -0.4, 0.2, 0.5]), np.array([0.3, 0.2, 0.0, 0.4])
    patches, most = np.array([2, 3, 2, 4]), np.array([30, 3, 30, 12])

    def done(runs, p, q, moved):
        return (moved < 1e-3) | (p > 1.5)

    ends, counts = plane.shared_ends(p, q, patches, most, done)
    for run in range(4):
        reach, at, count = formulas.teacher_norm(patches[run]), (p[run], q[run]), np.inf
        for step in range(1, most[run] + 1):
            before, at = at, plane.shared_step(*at, patches[run], reach)
            if done(run, *at, np.hypot(*np.subtract(at, before))):
                count = step
                break
        np.testing.assert_allclose(ends[:, run], at, rtol=1e-12)
        assert counts[run] == count
    assert np.isinf(counts).any() and np.isfinite(counts).any()


@pytest.mark.parametrize(("patches", "low"), [(3, False), (4, False), (5, True), (6, True)])
def test_predicted_exponents(patches, low):
    assert plane.fitted_exponent(patches, low) == pytest.approx(plane.predicted_exponent(patches, low), abs=0.02)


def test_wave_closed_forms():
    """Gradient and Hessian of the cosine part, against differences of the closed form."""
    u, w, b = jnp.asarray(RANDOM.normal(size=2)), jnp.asarray(RANDOM.normal(size=2)), 1.3
    loss = jax.jit(lambda point: 0.5 * formulas.cosine_gap(b * point, b * u))
    h, axes = 1e-5, np.eye(2)
    differences = [(loss(w + h * axis) - loss(w - h * axis)) / (2 * h) for axis in axes]
    np.testing.assert_allclose(jax.jit(formulas.cosine_gradient)(w, u, b), differences, atol=1e-9)
    np.testing.assert_allclose(jax.jit(formulas.cosine_hessian)(w, u, b), jax.jit(jax.hessian(loss))(w), atol=1e-12)


@pytest.mark.parametrize("patches", [1, 7, 300])
def test_mean_square_of_tanh(patches):
    """The panels agree with adaptive quadrature of the definition, however steep tanh is."""
    reach = float(formulas.teacher_norm(patches))
    inside = quad(lambda x: np.cosh(reach * x) ** -2 * np.exp(-(x**2) / 2), 0, 30 / reach, epsabs=1e-13)[0]
    assert tanh_square(np.array(float(patches))) == pytest.approx(1 - inside * np.sqrt(2 / np.pi), abs=1e-10)


@pytest.mark.parametrize("patches", [7, 8])
def test_a_short_teacher_costs_the_norm_of_the_start_alone(patches):
    """The time to a loss of 1/8 grows as d^(3/2), as the norm of the start decays, whatever the high degree."""
    goal = 0.125 / plane.teacher_square(patches, 1.0)
    first, second = (plane.learning_time(patches, d, d**0.5, True, goal, 1.0) for d in (1e4, 1e6))
    assert second / first == pytest.approx(1000, rel=0.05) and second < 1e9


@pytest.mark.parametrize("patches", [5, 6])
def test_the_largest_cosines_of_theorem_3_save_a_third_of_the_exponent(patches):
    """Cosines of d^(-1/3) in place of d^(-1/2): two thirds of the exponent, which for five patches is below 5/4."""
    expected = 2 / 3 * plane.predicted_exponent(patches, True)
    assert plane.fitted_exponent(patches, True, cosine=1 / 3) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(("turn", "patches"), [(0.01, 2), (0.3, 5), (1.2, 1), (1.5, 100)])
def test_the_distance_from_which_lemma_13_holds(turn, patches):
    """On a fine grid of the ray, the farthest student whose overlap with itself is too large."""
    reach = float(formulas.teacher_norm(patches))
    size = np.linspace(1e-6, reach, 1_000_001)
    too_large = size * np.sqrt(1 + 2 * reach**2) > np.cos(turn) * reach * np.sqrt(1 + 2 * size**2)
    farthest = np.sqrt(size**2 + reach**2 - 2 * size * reach * np.cos(turn))[too_large].max()
    edge = two_phases.exactly_near(np.array(0.5), np.array(turn), np.array(float(patches)), 1.0)["epsilon"]
    assert edge == pytest.approx(farthest, rel=1e-4)
