"""The numbers behind the convolutional-filter claims, against runs that share no code with them."""

import numpy as np

import tutelage as tl
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
