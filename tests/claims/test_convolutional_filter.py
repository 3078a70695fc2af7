"""The numbers behind the convolutional-filter claims, against runs that share no code with them."""

import numpy as np

import tutelage as tl
from tutelage.claims.convolutional_filter import formulas, runs, starts, stationary
from tutelage.models import FilterAndOutput


def test_the_sums_of_a_start_count_against_the_real_output_weights():
    """For a filter of norm 0.1 descent fails from a start that Theorem 3.1 allows, and succeeds from a tenth of it."""
    w_star, a_star = np.array([0.1, 0.0]), np.array([7.5, -2.5, 7.5, -2.5])
    a = np.array([1.375, 3.625, 1.375, 3.625])
    assert a @ a_star > 0 and abs(a.sum()) <= abs(a_star.sum())
    starts = FilterAndOutput(np.tile([0.1, np.sqrt(0.99)], (2, 1)), np.stack([a, 0.1 * a]))
    objective = tl.population(tl.problems.convolution(w_star, a_star))
    runs = tl.descend(objective, starts, tl.GradientDescent(0.02), tl.step_limit(4000))
    cosine = runs.points.filter[:, 0] / np.linalg.norm(runs.points.filter, axis=1)
    signal = runs.points.output @ a_star
    assert cosine[0] < -0.95 and signal[0] < 0 and runs.losses[0] > 0.1
    assert cosine[1] > 0.999999 and signal[1] > 0 and runs.losses[1] < 1e-6


def test_a_run_in_a_few_numbers_is_that_of_the_vectors():
    """Angle, signal, sum, length, distance and loss of a student with five patches in three dimensions."""
    random = np.random.default_rng(0)
    w_star, a_star = random.normal(size=3), random.normal(size=5)
    start = FilterAndOutput(random.normal(size=(1, 3)), random.normal(size=(1, 5)))
    objective = tl.population(tl.problems.convolution(w_star, a_star))
    runs_ = tl.descend(objective, start, tl.GradientDescent(0.3), tl.step_limit(40))
    v, a, teacher = (
        np.asarray(runs_.points.filter[0]),
        np.asarray(runs_.points.output[0]),
        np.linalg.norm(w_star) * a_star,
    )
    end = runs.state_of(start.filter[0], start.output[0], w_star, a_star, 0.3).after(40)
    cosine = v @ w_star / np.linalg.norm(v) / np.linalg.norm(w_star)
    expected = (np.arccos(cosine), a @ teacher, a.sum(), np.linalg.norm(v), np.sum((a - teacher) ** 2), runs_.losses[0])
    found = (end.phi, end.signal, end.total, end.size, end.distance, end.loss)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_runs_that_rest_are_where_all_steps_lead():
    """Leaving out runs that rest changes where nothing ends."""
    phi = np.linspace(0.1, 3.0, 7)
    begun = runs.State(phi, 0.3 * np.cos(phi), 0 * phi, 2.0, 1.0, 0.0, 0.1, 1.0, 1.0)
    rested, followed = begun.ends(3000), begun.after(3000)
    np.testing.assert_allclose(rested.phi, followed.phi, atol=1e-6)
    np.testing.assert_allclose(rested.signal, followed.signal, atol=1e-6)


def test_the_definition_of_loss_and_gradients_is_the_librarys():
    """Quadrature over directions of the plane, against the exact objective."""
    random = np.random.default_rng(1)
    v, w_star, a, a_star = (random.normal(size=size) for size in (2, 2, 4, 4))
    objective = tl.population(tl.problems.convolution(w_star, a_star))
    exact = objective.gradient(FilterAndOutput(v, a))
    np.testing.assert_allclose(
        formulas.defined_loss(formulas.normalised(v), a, w_star, a_star),
        objective.loss(FilterAndOutput(v, a)),
        rtol=1e-12,
    )
    np.testing.assert_allclose(formulas.filter_gradient(v, a, w_star, a_star), exact.filter, rtol=1e-9)
    np.testing.assert_allclose(formulas.output_gradient(v, a, w_star, a_star), exact.output, rtol=1e-9)


def test_inputs_on_a_sphere_have_a_multiple_of_the_gaussian_loss():
    """Remark 2: a quarter of it in four dimensions, cut into two patches; by samples and by quadrature."""
    random = np.random.default_rng(2)
    v, w_star, a, a_star = random.normal(size=(4, 2))
    x = random.normal(size=(200_000, 2, 2))
    x /= np.linalg.norm(x, axis=(1, 2), keepdims=True)
    residual = np.maximum(x @ v, 0) @ a / np.linalg.norm(v) - np.maximum(x @ w_star, 0) @ a_star
    losses, exact = 0.5 * residual**2, formulas.loss(v, a, w_star, a_star) / 4
    assert abs(losses.mean() - exact) < 4 * losses.std() / np.sqrt(len(x))
    np.testing.assert_allclose(starts._on_the_sphere(v, a, w_star, a_star), exact, rtol=1e-12)


def test_the_second_point_is_lowest_up_to_an_angle_and_no_further():
    """Lemma 4.1: minimised over the output weights, the loss rises above the second point and comes back at that g."""
    a_star = np.array([1.0, -0.4, 0.3])
    matrix = np.ones((3, 3)) + (np.pi - 1) * np.eye(3)

    def lowest(value):
        mixed = np.ones((3, 3)) + (value - 1) * np.eye(3)
        return -a_star @ mixed @ np.linalg.solve(matrix, mixed @ a_star)

    edge = float(stationary._basin(a_star))
    assert 0 < edge < 2 and lowest(0.5 * edge) > lowest(0.0) + 0.1
    np.testing.assert_allclose(lowest(edge), lowest(0.0), rtol=1e-12)
    assert stationary._basin(np.ones(3)) < 0 and abs(stationary._basin(np.ones(1))) < 1e-12
