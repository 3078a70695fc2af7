"""Certificates: what is proved, what is refused, and that nothing is believed without its verification."""

import math
import re
import sys
from decimal import Decimal
from fractions import Fraction

import flint
import numpy as np
import pytest
from two_slopes_by_integrals import half_mean_square, transcribed

import tutelage as tl
from tutelage.geometry import proving as module
from tutelage.geometry.ball_arithmetic import NotProved
from tutelage.geometry.enclosure import refined

SIZE = 6


def blocks(
    odd: int, diagonal: float, rest: float, column: float, row: float, corner: float, other: float
) -> np.ndarray:
    """A student of six neurons, the last `odd` of which look away from their teachers."""
    student = np.full((SIZE, SIZE), rest)
    student[:, -odd:], student[-odd:], student[-odd:, -odd:] = column, row, other
    student[np.arange(SIZE), np.arange(SIZE)] = [diagonal] * (SIZE - odd) + [corner] * odd
    return student


# A few decimals of two critical points.
SPURIOUS = blocks(1, 0.98670, -0.05041, 0.30801, 0.22452, -0.60151, 0.0)
SADDLE = blocks(2, 0.902402124, -0.142870209, 0.334093260, 0.269235613, -0.645856424, 0.273135595)


@pytest.fixture(scope="module")
def certificate(six) -> tl.geometry.Certificate:
    """The certificate of the spurious minimum."""
    return tl.certify(six, SPURIOUS)


def difference(one: tl.geometry.Certificate, other: tl.geometry.Certificate) -> float:
    """The distance of two centres, from all their digits."""
    pairs = zip(sum(one.decimals, ()), sum(other.decimals, ()), strict=True)
    return math.sqrt(sum(float(Decimal(a) - Decimal(b)) ** 2 for a, b in pairs))


def test_spurious_minimum_is_proved(six, certificate):
    """Existence, uniqueness, positive curvature and a positive loss, each with bounds that fit the measured numbers."""
    assert certificate.kind == "spurious minimum" and certificate.proved and not certificate.reason
    assert certificate.index == 0 and certificate.radius < 1e-45 < 1e-4 < certificate.unique_radius
    low, high = certificate.loss
    assert 0.02508 < low <= high < 0.02509 and high - low < 1e-16 and certificate.excess == certificate.loss
    hessian = np.asarray(six.hessian(certificate.centre)).reshape(SIZE**2, SIZE**2)
    least = np.linalg.eigvalsh(hessian)[0]
    assert certificate.smallest_eigenvalue[0] - 1e-12 < least < certificate.smallest_eigenvalue[1] + 1e-12
    assert certificate.smallest_eigenvalue[0] > 0
    assert certificate.distance >= np.linalg.norm(SPURIOUS - certificate.centre) - 1e-15
    assert float(six.loss(certificate.centre)) == pytest.approx(low, abs=1e-14)


def test_saddle_is_not_proved_to_be_a_minimum(six):
    """A saddle is proved to be one, with the index of its measured spectrum."""
    certificate = tl.certify(six, SADDLE)
    hessian = np.asarray(six.hessian(SADDLE)).reshape(SIZE**2, SIZE**2)
    assert certificate.kind == "saddle" and certificate.index == (np.linalg.eigvalsh(hessian) < 0).sum() == 4
    assert certificate.smallest_eigenvalue[1] < 0


def test_global_minimum_is_proved(six):
    """Near the teacher, in another order: the teacher itself is the only critical point, and its loss is zero."""
    teacher = np.eye(SIZE)[[2, 0, 1, 5, 4, 3]]
    certificate = tl.certify(six, teacher + 1e-6)
    assert certificate.kind == "global minimum" and certificate.loss == certificate.excess == (0.0, 0.0)
    np.testing.assert_array_equal(certificate.centre, teacher)
    low, high = certificate.smallest_eigenvalue
    assert certificate.radius == 0 and low <= 0.25 - 0.5 / math.pi <= high
    assert certificate.decimals[0] == ("0", "0", "1", "0", "0", "0")


def test_signs_of_global_minima():
    """Signs are free for an even activation, and for ReLU if the vectors with a minus sign add up to zero."""
    even = tl.population(tl.problems.committee(np.eye(2), students=2, activation="abs", noise=0.5))
    certificate = tl.certify(even, [[0.0, -1.0], [1.0, 0.0]])
    assert certificate.kind == "global minimum" and certificate.loss == (0.125, 0.125)
    teacher = np.array([[1.0, 0.25], [-0.5, 1.0], [-0.5, -1.25], [0.0, 2.0]])
    loss = module.ball_loss(tl.population(tl.problems.committee(teacher, students=4)), teacher)
    flipped = teacher * [[-1], [-1], [-1], [1]]
    np.testing.assert_array_equal(np.array(module._zero_of_loss(loss, flipped), float), flipped)
    assert module._zero_of_loss(loss, teacher * [[-1], [-1], [1], [1]]) is None
    with flint.ctx.workdps(40):
        assert loss.excess(module.exact(flipped)).contains(0)
        assert loss.excess(module.exact(teacher * [[-1], [-1], [1], [1]])) > 0


@pytest.mark.parametrize("size", [1e-13, 1e-9, 1e-6, 3e-5])
def test_perturbed_points_are_proved_with_a_distance_that_reaches(six, certificate, size):
    """From another point nearby the same critical point is found, within the distance that is stated."""
    shift = np.random.default_rng(1).normal(size=(SIZE, SIZE))
    point = np.asarray(certificate.centre) + size * shift / np.linalg.norm(shift)
    other = tl.certify(six, point)
    assert other.kind == certificate.kind and difference(other, certificate) <= other.radius + certificate.radius
    assert other.distance >= np.linalg.norm(point - certificate.centre) - 1e-15


@pytest.mark.parametrize("size", [2e-3, 3e-2, 0.3, 2.0])
def test_points_that_are_far_are_refused(six, certificate, size):
    """Outside the ball in which there is one critical point nothing is proved, wherever Newton's method may go."""
    assert size > certificate.unique_radius
    shift = np.random.default_rng(2).normal(size=(SIZE, SIZE))
    other = tl.certify(six, np.asarray(certificate.centre) + size * shift / np.linalg.norm(shift))
    assert other.kind == "not proved" and other.reason and math.isnan(other.radius) and not other.proved
    assert "Not proved" in str(other) and other.reason in str(other)


def test_the_ball_of_uniqueness_has_one_critical_point(six, certificate):
    """Newton's method from points all over the ball ends at the same point."""
    loss, draw = module.ball_loss(six, six.problem.zero()), np.random.default_rng(3)
    wanted = [[int(entry.replace(".", "")) for entry in row] for row in certificate.decimals]
    with flint.ctx.workdps(62):
        for _ in range(5):
            shift = draw.normal(size=(SIZE, SIZE))
            start = np.asarray(certificate.centre) + certificate.unique_radius * shift / np.linalg.norm(shift)
            found = np.array(refined(loss, start, 50), object) - np.array(wanted, object)
            assert max(map(abs, found.ravel())) < 100


def test_nothing_is_proved_without_verification(six, monkeypatch):
    """A point that is not brought closer is refused by its gradient: Newton's method is not believed."""
    unmoved = [[int(Decimal(float(entry)) * 10**50) for entry in row] for row in SPURIOUS + 1e-3]
    monkeypatch.setattr(module, "refined", lambda *arguments: unmoved)
    refused = tl.certify(six, SPURIOUS + 1e-3)
    assert refused.kind == "not proved" and "gradient" in refused.reason
    # The same point passes where conditions are not verified: the test above would notice.
    monkeypatch.setattr("tutelage.geometry.enclosure.conditions_hold", lambda *arguments: True)
    assert tl.certify(six, SPURIOUS + 1e-3).proved


def test_numbers_of_the_text_satisfy_the_conditions(certificate):
    """The printed floats, taken exactly, satisfy the printed inequalities, and the rows are the centre."""
    text = str(certificate)
    names = {"R": "R", "r": "r", "g": "g", "m": "m", "K": "K"}
    numbers = {name: Fraction(re.search(rf"\b{name} = ([-+.e\d]*\d)", text)[1]) for name in names}
    reach, inner, gradient, least, constant = (numbers[name] for name in "RrgmK")
    assert constant * reach < least
    assert all(gradient + constant * r**2 / 2 <= least * r for r in (reach, inner))
    rows = re.findall(r"^  \((.*)\)$", text, flags=re.MULTILINE)
    assert [[float(entry) for entry in row.split(", ")] for row in rows] == np.asarray(certificate.centre).tolist()
    assert all(len(entry.partition(".")[2]) == 50 for row in rows for entry in row.split(", "))
    assert "6 students with slopes 0.0 and 1.0 (relu)" in text and "first 6 coordinate axes" in text


def test_the_text_is_true_by_other_formulas(six, certificate):
    """Gradient and loss at the printed decimals, from differences of integrals with 150 digits, are within bounds."""
    loss = module.ball_loss(six, six.problem.zero())
    with flint.ctx.workdps(150):
        flat = [flint.arb(entry) for row in certificate.decimals for entry in row]
        step = flint.arb(10) ** -40
        square = flint.arb(0)
        for i in range(len(flat)):
            sides = [transcribed([*flat[:i], flat[i] + sign * step, *flat[i + 1 :]], loss) for sign in (1, -1)]
            square += ((sides[0] - sides[1]) / (2 * step)) ** 2
        # The differences err by less than 1e-70.
        assert square.sqrt() <= flint.arb(certificate.gradient_norm) + flint.arb("1e-70")
        assert square.sqrt() > 1e-3 * certificate.gradient_norm
        value = transcribed(flat, loss) + half_mean_square(module.exact(loss.teacher).tolist(), loss)
        assert flint.arb(certificate.loss[0]) < value < flint.arb(certificate.loss[1])


def test_more_dimensions_than_teachers_span(certificate):
    """The same minimum beside two axes that no teacher has: it is one there too, with the same loss."""
    objective = tl.population(tl.problems.committee(np.eye(SIZE, SIZE + 2), students=SIZE))
    other = tl.certify(objective, np.pad(SPURIOUS, ((0, 0), (0, 2))))
    assert other.kind == "spurious minimum" and other.loss == certificate.loss
    assert {entry.lstrip("-") for row in other.decimals for entry in row[SIZE:]} == {"0." + "0" * 50}


def test_single_neuron_in_the_plane():
    """|w·x| across its teacher: a saddle at w = (0, 2/π) with eigenvalues ±1 and loss 1/2 − 2/π², by hand."""
    objective = tl.population(tl.problems.neuron([1.0, 0.0], activation="abs"))
    certificate = tl.certify(objective, [0.0, 0.6366], digits=30)
    assert certificate.kind == "saddle" and certificate.index == 1 and certificate.centre.shape == (2,)
    assert certificate.smallest_eigenvalue[0] <= -1 <= certificate.smallest_eigenvalue[1]
    low, high = certificate.loss
    assert low - 1e-16 <= 0.5 - 2 / math.pi**2 <= high + 1e-16 and high - low < 1e-15
    with flint.ctx.workdps(50):
        error = abs(flint.arb(certificate.decimals[0][1]) - 2 / flint.arb.pi())
        assert error <= certificate.radius < 1e-28


def test_points_that_rotations_move_are_refused():
    """The same in space is one of a circle of critical points: refused, with the reason."""
    objective = tl.population(tl.problems.neuron([1.0, 0.0, 0.0], activation="abs"))
    certificate = tl.certify(objective, [0.0, 2 / math.pi, 0.0])
    assert certificate.kind == "not proved" and "rotations" in certificate.reason


def test_more_students_than_teachers():
    """Global minima of more students than teachers form a continuum: one is close, and two teachers are not one."""
    objective = tl.population(tl.problems.committee(np.eye(2), students=3))
    certificate = tl.certify(objective, [[0.5, 0.01], [0.51, 0.0], [0.0, 1.0]])
    assert certificate.kind == "global minimum" and certificate.parts == (0, 0, 1) and certificate.excess == (0.0, 0.0)
    nearest = np.array([[0.5 / 1.01, 0.0], [0.51 / 1.01, 0.0], [0.0, 1.0]])
    away = np.linalg.norm(np.array([[0.5, 0.01], [0.51, 0.0], [0.0, 1.0]]) - nearest)
    assert certificate.distance == pytest.approx(away, rel=1e-12) and "share" in certificate.reason
    assert "positive multiples of its rows 1, 1, 2" in str(certificate)
    assert tl.certify(objective, [[0.5, 0.1], [0.6, 0.3], [0.0, 1.0]]).kind == "not proved"


def test_zero_neurons_are_refused(six):
    """Where the loss has no gradient nothing is proved."""
    point = SPURIOUS.copy()
    point[0] = 0
    certificate = tl.certify(six, point)
    assert certificate.kind == "not proved" and "zero" in certificate.reason


def test_fewer_students_than_teachers():
    """One student between two teachers, by hand: a strict minimum, whose loss is not known to be the lowest."""
    objective = tl.population(tl.problems.committee(np.eye(2), students=1))
    # Of norm cos θ + (2/π)(sin θ + (π/2 − θ)cos θ) at θ = π/4.
    norm = math.sqrt(0.5) * (1 + 2 / math.pi + 0.5)
    certificate = tl.certify(objective, [[norm * math.sqrt(0.5)] * 2])
    assert certificate.kind == "minimum" and "not known" in certificate.reason and certificate.loss[0] > 0
    assert certificate.distance < 1e-15
    across = 0.5 - math.sqrt(2) / math.pi / norm
    assert certificate.smallest_eigenvalue[0] - 1e-14 < across < certificate.smallest_eigenvalue[1] + 1e-14


def test_variance_and_law_scale_the_loss(six, certificate):
    """Under other rotation-invariant laws the critical point is the same, and the loss is scaled by the variance."""
    for law, variance in (
        (tl.inputs.gaussian(SIZE, covariance=0.25 * np.eye(SIZE)), 0.25),
        (tl.inputs.sphere(SIZE), 1 / SIZE),
    ):
        objective = tl.population(tl.problems.committee(np.eye(SIZE), students=SIZE, inputs=law))
        other = tl.certify(objective, SPURIOUS, digits=30)
        assert other.kind == "spurious minimum" and difference(other, certificate) < 1e-28
        scale = variance if law.name.startswith("gaussian") else float(np.asarray(law.covariance())[0, 0])
        assert other.loss[0] == pytest.approx(scale * certificate.loss[0], rel=1e-14)


def test_wrong_input_is_refused(six):
    """Objectives, activations and laws without ball arithmetic, and arguments out of range, end in one clear error."""
    problem = tl.problems.committee(np.eye(2), students=2)
    with pytest.raises(tl.InvalidArgument, match="stream"):
        tl.certify(tl.stream(problem, 10), np.eye(2))
    with pytest.raises(tl.UnsupportedCombination, match="Empirical"):
        tl.certify(tl.empirical(problem, np.eye(2)), np.eye(2))
    for other, named in (
        (tl.problems.homogeneous(np.eye(2), students=2), "homogeneous"),
        (tl.problems.committee(np.eye(2), students=2, activation="erf"), "erf"),
        (tl.problems.committee(np.eye(2), 2, inputs=tl.inputs.gaussian(2, covariance=np.diag([1.0, 2.0]))), "gaussian"),
    ):
        with pytest.raises(tl.UnsupportedCombination, match=named):
            tl.certify(tl.population(other), np.eye(2))
    for wrong, named in ((SPURIOUS[:3], "point"), (np.full((SIZE, SIZE), np.nan), "point")):
        with pytest.raises(tl.InvalidArgument, match=named):
            tl.certify(six, wrong)
    for digits in (5, 1000, 30.5):
        with pytest.raises(tl.InvalidArgument, match="digits"):
            tl.certify(six, SPURIOUS, digits=digits)


def test_missing_package_is_named(six, monkeypatch):
    """Without python-flint one line names the extra to install."""
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(tl.MissingDependency, match=r"pip install 'tutelage\[certify\]'"):
        tl.certify(six, SPURIOUS)


def test_small_table(certificate, six):
    """The table for notebooks says what is proved, or why not."""
    shown = certificate._repr_html_()
    assert "Proved: spurious minimum" in shown and "[0.025080" in shown
    refused = tl.certify(six, np.eye(SIZE) + 0.2)._repr_html_()
    assert "Not proved" in refused and "nan" not in refused


def test_failures_of_a_known_zero_fall_back(six, monkeypatch):
    """Near the teacher, if the proof through it does not succeed, the general one is tried."""
    enclosed = module.enclosed

    def failing(loss, students, zero=False):
        if zero:
            raise NotProved("as a test")
        return enclosed(loss, students, zero)

    monkeypatch.setattr(module, "enclosed", failing)
    certificate = tl.certify(six, np.eye(SIZE))
    assert certificate.kind == "minimum" and "left open" in certificate.reason and certificate.radius > 0
