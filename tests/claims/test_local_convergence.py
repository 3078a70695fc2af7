"""The numbers behind the local-convergence claims, against oracles that share no code with them."""

import numpy as np
import pytest
from scipy.linalg import hadamard

import tutelage as tl
from tutelage.claims.local_convergence import descent, formulas, hermite, instances, landscape, strips, wedges


def _close(value, samples, deviations=5.0):
    """Whether a number is within a few standard errors of the mean of samples."""
    error = np.std(samples, axis=0) / np.sqrt(len(samples))
    return np.all(np.abs(value - np.mean(samples, axis=0)) <= deviations * error + 1e-12)


@pytest.fixture(name="network")
def _network():
    random = np.random.default_rng(0)
    return random.normal(size=(5, 4)), random.normal(size=(3, 4)), random.normal(size=(200_000, 4))


@pytest.mark.parametrize("dimension", [1, 2, 3, 7, 8, 12])
def test_norms_and_angles_are_those_of_the_definition(dimension):
    """To the last bit, however few coordinates there are: they are added in the same order."""
    random = np.random.default_rng(dimension)
    first, second = (random.normal(size=(40, rows, dimension)) for rows in (3, 4))
    length = lambda vectors: np.sqrt(np.sum(vectors**2, axis=-1))  # noqa: E731
    one, other = ((part / length(part)[..., None]) for part in (first, second))
    one, other = one[:, :, None], other[:, None]
    np.testing.assert_array_equal(formulas.norms(first), length(first))
    turn = 2 * np.arctan2(length(one - other), length(one + other))
    np.testing.assert_array_equal(formulas.angles(first, second), turn)


def test_loss_and_gradient_are_the_librarys(network):
    students, teachers, _ = network
    students[1] = 0.0
    objective = tl.population(tl.problems.homogeneous(teachers, 5))
    assert formulas.loss(students, teachers) == pytest.approx(float(objective.loss(students)), rel=1e-12)
    np.testing.assert_allclose(formulas.gradient(students, teachers), objective.gradient(students), atol=1e-12)


def test_parts_of_the_residual_by_sampling(network):
    students, teachers, points = network
    flat, spiky = formulas.decomposition(students, teachers, points)
    np.testing.assert_allclose(flat + spiky, formulas.residual(students, teachers, points), atol=1e-12)
    assert _close(formulas.spiky_square(students, teachers), spiky**2)
    v = formulas.gaps(students, teachers).ravel()
    assert _close(v @ formulas.sign_matrix(teachers) @ v, flat**2)
    # The instance axes do not mix.
    both = formulas.spiky_square(np.stack([students, 2 * students]), np.stack([teachers, teachers]))
    assert both[0] == pytest.approx(formulas.spiky_square(students, teachers))


def test_students_near_minima_are_near_minima():
    """Instances without perturbation are global minima, of either sign; turned students point along their teachers."""
    drawn = instances.near_minima(50, np.random.default_rng(1), 2, 5, 3, scales=(-9.0, -8.0))
    losses = formulas.loss(drawn["students"], drawn["teachers"])
    assert (losses < 1e-9 * np.sum(formulas.norms(drawn["teachers"]), axis=1) ** 2).all()
    turned = formulas.turned(drawn["students"], drawn["teachers"])
    assert (formulas.norms(formulas.gaps(turned, drawn["teachers"])) < 1e-5 * 100).all()


def test_strip_integrals_by_sampling():
    random = np.random.default_rng(2)
    tau, phi = 0.4, 0.7
    x, y = random.normal(size=(2, 400_000))
    inside = np.abs(x) <= tau
    other = np.abs(x * np.cos(phi) + y * np.sin(phi))
    assert strips.level(np.array(tau)) == pytest.approx(np.abs(x[inside]).mean(), rel=0.01)
    value = strips.detected(np.array([tau]), np.array([phi]))[0]
    assert _close(value, np.where(inside, (np.abs(x) - strips.level(np.array(tau))) * other, 0.0))


def test_wedge_product_by_sampling():
    random = np.random.default_rng(3)
    students = formulas.units(random.normal(size=(2, 3)))
    target = np.eye(3)[0]
    x = random.normal(size=(300_000, 3))
    side = np.sign(x @ target)
    products = np.prod([(x @ w) * (np.sign(x @ w) - side) for w in students], axis=0)
    assert _close(wedges.wedge_product(students, target), products)


def test_hermite_coefficients_by_sampling():
    x = np.random.default_rng(4).normal(size=400_000)
    assert _close(hermite.hermite_coefficient(0), np.abs(x))
    assert _close(hermite.hermite_coefficient(4), np.abs(x) * (x**4 - 6 * x**2 + 3) / np.sqrt(24))
    large = 2**14
    assert hermite.hermite_coefficient(large) ** 2 * large**2.5 == pytest.approx((2 / np.pi) ** 1.5, rel=1e-3)


def test_frames_of_lemma_c_4_are_networks():
    """Orthonormal teachers with Hadamard students: mass and loss are the network's; their quotient grows like √r."""
    mass, teachers, stray = 1e-3, np.eye(16), hadamard(16) / 4
    share = np.linalg.solve(formulas.kernel(teachers, teachers), formulas.kernel(teachers, stray).sum(axis=1))
    students = formulas.students_of(np.concatenate([(1 - mass * share)[:, None] * teachers, mass * stray]))
    turn = formulas.line_angles(students, teachers).min(axis=1)
    assert hermite._frame_mass(2, mass) == pytest.approx(np.sum(formulas.norms(students) ** 2 * turn**2))
    assert hermite._frame_loss(2, mass) == pytest.approx(formulas.loss(students, teachers), rel=1e-6)
    power = np.arange(2, 11)
    quotients = hermite._frame_mass(power, mass) / np.sqrt(hermite._frame_loss(power, mass))
    assert np.diff(np.log2(quotients)) == pytest.approx(np.ones(8), abs=0.3)
    assert quotients[-1] > 1000


def test_hermite_norm_by_sampling():
    random = np.random.default_rng(5)
    targets = formulas.units(random.normal(size=(2, 3)))
    x = random.normal(size=(400_000, 3)) @ targets.T
    h = np.sqrt(np.pi / 2) - np.sum((x**2 - 1) / np.sqrt(2), axis=1) / hermite.hermite_coefficient(2)
    assert _close(hermite.hermite_norm_square(targets, 2), h**2)


def test_relu_loss_is_the_librarys(network):
    """With a linear term too: the closed form of Section A.1 against the library's."""
    students, teachers, _ = network
    linear = np.array([0.3, -0.2, 0.1, 0.5])
    objective = tl.population(tl.problems.homogeneous(teachers, 5, activation="relu", linear=True))
    expected = float(objective.loss(tl.models.WithLinear(students, linear)))
    assert formulas.relu_loss(students, teachers, linear) == pytest.approx(expected, rel=1e-12)


def test_mass_far_from_teachers_is_bounded_by_a_test_function():
    """The correlation of the test function of the corrected Lemma C.4 with a neuron is the product of squared sines."""
    (drawn, *_) = hermite._products(80, np.random.default_rng(8))
    grid = (np.arange(4000) + 0.5) * 2 * np.pi / 4000
    target = drawn["teachers"][0]
    points = np.stack([np.cos(grid), np.sin(grid)], axis=-1)
    product = np.prod(np.sin(formulas.angles(points, target)) ** 2, axis=-1)
    waves = np.fft.fft(product) / 4000
    frequency = np.abs(np.fft.fftfreq(4000, 1 / 4000))
    even = frequency % 2 == 0
    acts = np.ones_like(frequency)
    acts[even] = 2 / np.pi * np.cos(np.pi * frequency[even] / 2) / (1 - frequency[even] ** 2)
    test = np.fft.ifft(4000 * np.where(np.abs(waves) > 1e-12, waves / (2 * acts), 0)).real
    # With h = ‖x‖·test(θ) means over the plane have the factor E‖x‖² = 2.
    assert drawn["norm"][0] == pytest.approx(np.sqrt(2 * np.mean(test**2)), rel=1e-6)
    for turn, value in zip(grid[::800], product[::800], strict=True):
        assert 2 * np.mean(test * np.abs(np.cos(grid - turn))) == pytest.approx(value, abs=1e-5)


def test_test_function_of_any_dimension_by_sampling():
    """In space: its correlation with a neuron is the product of squared sines, and its norm is the one computed."""
    random = np.random.default_rng(9)
    a, b, w = formulas.units(random.normal(size=(3, 3)))
    x = random.normal(size=(600_000, 3))
    s, t, c = x @ a, x @ b, a @ b
    quartic = s**2 * t**2 - s**2 - t**2 - 4 * c * s * t + 1 + 2 * c**2
    sizes = [hermite.hermite_coefficient(k) * scale for k, scale in ((0, 1), (2, np.sqrt(2)), (4, np.sqrt(24)))]
    h = 1 / sizes[0] - (s**2 + t**2 - 2) / sizes[1] + quartic / sizes[2]
    assert _close((1 - (a @ w) ** 2) * (1 - (b @ w) ** 2), h * np.abs(x @ w))
    assert _close(hermite.product_norm(np.stack([a, b])) ** 2, h**2)


def test_descent_direction_correlates_with_twice_the_loss():
    """At an exact match of directions the correlation is 2L, whatever the norms."""
    teachers = np.array([[1.0, 0.0], [0.0, 2.0]])
    students = formulas.students_of(np.array([[0.7, 0.0], [0.0, 1.5], [0.0, 0.2]]))
    near = formulas.membership(formulas.angles(students, teachers))
    assert landscape.correlation(students, teachers, near) == pytest.approx(2 * formulas.loss(students, teachers))


def test_correlation_is_the_smallest_over_all_sequences():
    """No random sequence of Lemma 7 gives less, and the best vertex gives as little."""
    random = np.random.default_rng(7)
    drawn = instances.near_minima(40, random, 2, 5, 3)
    students, teachers = drawn["students"], drawn["teachers"]
    near = formulas.membership(formulas.angles(students, teachers))
    smallest = landscape.correlation(students, teachers, near)
    sizes, slopes = formulas.norms(students)[..., None], formulas.slopes(students, students, teachers)

    def value(weights):
        q = weights / np.maximum(np.sum(weights * sizes, axis=-2, keepdims=True), 1e-300)
        goals = students - np.einsum("nji,nid->njd", q, teachers)
        return np.sum(sizes * slopes * goals, axis=(1, 2))

    spread = [value(near * random.exponential(size=near.shape) ** 4) for _ in range(200)]
    assert (np.min(spread, axis=0) >= smallest - 1e-12).all()
    ones = [np.eye(5)[[first, second]].T for first in range(5) for second in range(5)]
    chosen = np.stack([np.where((one * near).sum(axis=1).all(axis=-1), value(one * near), np.inf) for one in ones])
    full = near.any(axis=1).all(axis=-1)
    np.testing.assert_allclose(chosen.min(axis=0)[full], smallest[full], atol=1e-12)
    assert full.sum() > 20


def test_a_student_across_never_turns():
    drawn = descent.across(2)
    runs = descent._descended(drawn["students"], drawn["teachers"], 0.1)
    assert (runs["losses"][:, -1] < runs["losses"][:, 0]).all()
    np.testing.assert_allclose(runs["turn_after"], np.pi / 2, atol=1e-9)
    assert (formulas.norms(runs["ends"])[:, 1] < formulas.norms(drawn["students"])[:, 1]).all()


def test_descent_with_steps_of_its_own_is_that_of_the_printed_formulas():
    """Runs that the engine follows after scaling are those of a plain loop, each with its own step."""
    runs = descent._runs_of((2, 5, 3))(80, np.random.default_rng(3))[0]
    students, ends, step = runs["students"], runs["students"], runs["step"][:, None, None]
    losses = [formulas.loss(students, runs["teachers"])]
    for time in range(1, 1001):
        ends = ends - step * formulas.gradient(ends, runs["teachers"])
        if time % 20 == 0:
            losses.append(formulas.loss(ends, runs["teachers"]))
    assert len(set(np.round(runs["step"], 12))) > 2
    np.testing.assert_allclose(runs["ends"], ends, rtol=0, atol=1e-11)
    np.testing.assert_allclose(runs["losses"], np.stack(losses, -1), rtol=0, atol=1e-11)
    np.testing.assert_array_equal(runs["times"][0], np.arange(0, 1001, 20))


def test_sampled_gradients_average_to_the_gradient(network):
    students, teachers, points = network
    exact = formulas.gradient(students, teachers)
    halves = np.stack([descent.sampled_gradient(students, teachers, part, half=True) for part in np.split(points, 100)])
    assert _close(exact, halves)
    printed = np.stack(
        [descent.sampled_gradient(students, teachers, part, half=False) for part in np.split(points, 100)]
    )
    assert _close(2 * exact, printed)


def test_rings_of_students_push_the_constant_of_lemma_8_up_to_a_limit():
    """With half of the mass on a ring the constant grows with the number of students, and stays below 3.6."""
    needed = []
    for students in (2, 8, 64):
        ring = instances.cones(students, np.random.default_rng(0))
        angle = formulas.own_angles(formulas.angles(ring["students"], ring["teachers"])).max(axis=1)
        needed.append((angle / np.cbrt(formulas.loss(ring["students"], ring["teachers"])))[angle < 0.02].mean())
    # Two students with half of the mass: a quarter of the loss of Claim 2.
    assert needed[0] == pytest.approx((6 * np.pi) ** (1 / 3), rel=1e-3)
    assert needed[0] + 0.5 < needed[1] < needed[2] - 0.2
    assert needed[2] == pytest.approx(3.54, abs=0.05)


def test_rings_are_the_worst_case_of_lemma_8_for_one_teacher():
    """The smallest loss with half of the mass within δ is a convex problem: half on the teacher, half on a ring at δ.

    In the limit of many dimensions students of rings are orthogonal but for their parts along the teacher.
    """
    delta = 0.05
    angles = delta * np.concatenate([np.linspace(0, 1, 51), np.linspace(1.01, 6, 200), [0.9 * np.pi / 2 / delta]])
    ring, zero = 50, np.zeros_like(angles)
    first = np.stack([np.cos(angles), np.sin(angles), zero], axis=1)
    second = np.stack([np.cos(angles), zero, np.sin(angles)], axis=1)
    gram, pull = formulas.kernel(first, second), formulas.kernel(first, np.eye(3)[:1])[:, 0]
    mass = np.zeros_like(angles)
    mass[0] = 0.5
    mass[ring] = (pull[ring] - 0.5 * gram[ring, 0]) / gram[ring, ring]
    # No mass outside improves the loss, nor does moving mass inside away from the teacher.
    slope = gram @ mass - pull
    assert slope[0] < 0 and (slope[ring:] > -1e-14).all() and (slope[:ring] >= slope[0] - 1e-14).all()
    loss = 0.5 * (mass @ gram @ mass - 2 * pull @ mass + 1)
    assert delta / np.cbrt(loss) == pytest.approx((6 * np.pi / (np.sqrt(2) - 1)) ** (1 / 3), rel=2e-3)


def test_means_on_the_circle_are_the_closed_forms_and_resolve_tiny_losses(network):
    students, teachers = network[0][None, :, :2], network[1][None, :, :2]
    points, weights, values = formulas.on_circle(students, teachers)
    assert weights.sum() == pytest.approx(2)
    assert np.sum(weights * values**2) / 2 == pytest.approx(formulas.loss(students, teachers)[0], rel=1e-12)
    sides = np.sign(np.einsum("npd,njd->npj", points, students))
    slopes = np.einsum("np,npd,npj->njd", weights * values, points, sides)
    np.testing.assert_allclose(slopes, formulas.slopes(students, students, teachers), atol=1e-12)
    # A student that is too long by 1e-9: closed forms would have nothing left.
    _, weights, values = formulas.on_circle(np.sqrt(1 + 1e-9) * np.eye(2)[None, :1], np.eye(2)[None, :1])
    assert np.sum(weights * values**2) / 2 == pytest.approx(0.5e-18, rel=1e-5)


def test_correlation_of_lemma_7_falls_below_the_loss():
    """A student misses the teacher sidewards, a tiny one is at the end of the reach: (2 − C²(2√2/π)L^(1/6))L."""
    teachers = np.eye(2)[:1]
    quotients = []
    for miss in (2e-4, 5e-4, 1e-3):
        loss = formulas.loss(formulas.students_of(np.array([[1.0, miss]])), teachers)
        ends = 4 * np.cbrt(loss) * np.array([1.0, -1.0])
        tiny = 1e-6 * miss * np.stack([np.cos(ends), np.sin(ends)], axis=1)
        students = formulas.students_of(np.concatenate([[[1.0, miss]], tiny]))
        smallest = landscape.correlation(students, teachers, np.ones((3, 1), bool))
        quotients.append(smallest / loss)
        assert quotients[-1] == pytest.approx(2 - 32 * np.sqrt(2) / np.pi * loss ** (1 / 6), abs=0.01)
    assert quotients[0] > 1.2 and quotients[1] < 1


def test_stray_students_beside_orthonormal_teachers_have_closed_forms():
    """Between all pairs the loss and the gradient, along all diagonals the loss and ‖R₂‖², by sums over pairs."""
    random = np.random.default_rng(3)
    for r in (2, 3, 6):
        found = []
        for drawn in (instances.pairs(r, random), instances.all_signs(r, random)):
            students, teachers = drawn.values()
            mass = np.sum(formulas.norms(students[:, r:]) ** 2, axis=1)
            # Above rounding, and where the students at the teachers need not move far.
            kept = (mass > 0.1) & (mass < 0.5)
            assert kept.any()
            found.append((students[kept], teachers[kept], mass[kept]))
        students, teachers, mass = found[0]
        loss, gradient = landscape._between_pairs(r, mass)
        np.testing.assert_allclose(formulas.loss(students, teachers), loss, rtol=1e-8)
        np.testing.assert_allclose(formulas.frobenius(formulas.gradient(students, teachers)), gradient, rtol=1e-7)
        students, teachers, mass = found[1]
        loss, spikes = instances.along_diagonals(r)
        np.testing.assert_allclose(formulas.loss(students, teachers), loss * mass**2, rtol=1e-8)
        # All diagonals turned to the first teacher: their mean is that teacher over √r.
        vectors = np.concatenate([formulas.products(students[-1, r:]) / mass[-1], -np.eye(r)[:1] / np.sqrt(r)])
        signs = np.sign(np.arange(len(vectors), 0, -1) - 1.5)
        assert signs @ formulas.kernel(vectors, vectors) @ signs == pytest.approx(spikes, rel=1e-9)


def test_roots_are_sixty_degrees_apart():
    for dimension, count in ((3, 6), (4, 12), (8, 120)):
        roots = instances.roots(dimension)
        assert roots.shape == (count, dimension)
        assert formulas.separation(roots) == pytest.approx(np.pi / 3)
