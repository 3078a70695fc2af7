"""Ball arithmetic: enclosures contain what other formulas give with 220 digits; the Lipschitz constant is a bound."""

import math

import flint
import numpy as np
import pytest
from two_slopes_by_integrals import half_mean_square, transcribed

from tutelage.geometry.ball_arithmetic import NotProved, exact, frobenius, sine_and_angle
from tutelage.geometry.ball_losses import LossInBalls
from tutelage.geometry.balls import PairsInBalls
from tutelage.geometry.lipschitz import mixed_constant

arb, arb_mat, ctx = flint.arb, flint.arb_mat, flint.ctx
MANY = 220
LOSSES = {
    "relu": LossInBalls(np.array([[1.0, 0.0, 0.0], [0.25, -1.5, 0.5]]), 0.0, 1.0, 1.0, 0.0),
    "abs": LossInBalls(np.array([[1.0, 0.0, 0.0], [0.25, -1.5, 0.5]]), -1.0, 1.0, 0.25, 0.5),
    "leaky": LossInBalls(np.array([[1.0, 0.0, 0.0], [0.25, -1.5, 0.5]]), 0.01, 1.0, 1.5, 0.0),
}
STUDENTS = np.random.default_rng(5).normal(size=(2, 3))


def moved(*shifts):
    """The student with entries moved, exactly."""
    flat = [arb(float(entry)) for entry in STUDENTS.ravel()]
    for place, shift in shifts:
        flat[place] = flat[place] + shift
    return flat


def agrees(ball, value, most: float) -> bool:
    """Whether a ball contains a value (known up to 1e-80) and is not larger than said."""
    return bool(abs(ball - value).abs_lower() < arb("1e-80") and ball.rad() < most)


@pytest.mark.parametrize("name", LOSSES)
def test_loss_contains_the_integral(name):
    """The loss with 30 digits contains that of the transcription with 220, and is as sharp as its digits."""
    loss = LOSSES[name]
    with ctx.workdps(MANY):
        value = transcribed(moved(), loss) + half_mean_square(exact(loss.teacher).tolist(), loss)
    with ctx.workdps(30):
        found = loss.excess(exact(STUDENTS))
    with ctx.workdps(MANY):
        assert agrees(found, value, 1e-26)
        assert loss.lowest() == arb(loss.noise * loss.noise / 2)


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_contain_differences(name):
    """Gradient and Hessian with 30 digits contain differences of the transcription, of step 1e-50 with 220 digits."""
    loss = LOSSES[name]
    with ctx.workdps(30):
        gradient, hessian = loss.gradient(exact(STUDENTS)).entries(), loss.hessian(exact(STUDENTS)).tolist()
    with ctx.workdps(MANY):
        step = arb(10) ** -50
        for i in range(STUDENTS.size):
            sides = [transcribed(moved((i, sign * step)), loss) for sign in (1, -1)]
            assert agrees(gradient[i], (sides[0] - sides[1]) / (2 * step), 1e-26)
            for j in range(i + 1):
                corners = [
                    a * b * transcribed(moved((i, a * step), (j, b * step)), loss) for a in (1, -1) for b in (1, -1)
                ]
                difference = sum(corners, arb(0)) / (4 * step**2)
                assert agrees(hessian[i][j], difference, 1e-26) and agrees(hessian[j][i], difference, 1e-26)


def test_thirty_digits_contain_two_hundred():
    """At random students, parallel, opposite and coincident neurons among them, more digits stay inside fewer."""
    draw = np.random.default_rng(2)
    for trial in range(20):
        students = draw.normal(size=(4, 3))
        students[1] = [students[0], -2 * students[0], students[0] + 1e-9, draw.normal(size=3)][trial % 4]
        students[2] = LOSSES["relu"].teacher[0] * (1 + trial % 3)
        for loss in LOSSES.values():
            results = []
            for digits in (30, 200):
                with ctx.workdps(digits):
                    at = exact(students)
                    results.append([loss.excess(at), *loss.gradient(at).entries(), *loss.hessian(at).entries()])
            for few, many in zip(*results, strict=True):
                assert few.overlaps(many) and few.is_finite() and many.rad() < 1e-80
                assert few.contains(many.mid())


def test_wide_balls_contain_their_students():
    """What is computed for a ball of students contains what is computed for single ones inside; parallel ones too."""
    loss, draw = LOSSES["leaky"], np.random.default_rng(3)
    students = draw.normal(size=(3, 3))
    students[1] = -students[0]
    with ctx.workdps(30):
        ball = arb_mat([[arb(float(entry), 1e-3) for entry in row] for row in students])
        wide = [loss.excess(ball), *loss.gradient(ball).entries(), *loss.hessian(ball).entries()]
        for _ in range(20):
            inside = exact(students + draw.uniform(-1e-3, 1e-3, students.shape))
            single = [loss.excess(inside), *loss.gradient(inside).entries(), *loss.hessian(inside).entries()]
            assert all(one.contains(other.mid()) for one, other in zip(wide, single, strict=True))


def test_angles_at_the_ends():
    """A neuron is at angle exactly zero from itself; balls that touch ±1 enclose sine and angle."""
    with ctx.workdps(30):
        vectors = exact(np.array([[0.1, 0.7], [-0.1, -0.7], [0.2, 1.4]]))
        own = PairsInBalls(LOSSES["relu"], vectors, 3)
        crossed = PairsInBalls(LOSSES["relu"], arb_mat(vectors.tolist() * 2), 3)
        assert all(own.angles[i][i] == (1, 0, 0) for i in range(3))
        for pairs, first in ((own, 0), (crossed, 3)):
            (_, sine, turned), (_, _, same) = pairs.angles[0][first + 1 : first + 3]
            assert turned.contains(arb.pi().mid()) and turned.rad() < 1e-14
            assert sine.contains(0) and same.contains(0) and same.rad() < 1e-14
        # A ball of cosines that reaches beyond both ends says nothing, and that is what comes out.
        sine, angle = sine_and_angle(arb(0, 1.5))
        assert sine.contains(0) and sine.contains(1) and angle.contains(0) and angle.contains(arb.pi().upper())


def test_zero_neurons_are_refused():
    """Where a neuron may be zero nothing is enclosed, nor is there a Lipschitz constant."""
    loss = LOSSES["relu"]
    with ctx.workdps(30):
        for students in (exact(np.zeros((2, 3))), arb_mat([[arb(0, 1)] * 3] * 2)):
            for function in (loss.excess, loss.gradient, loss.hessian):
                with pytest.raises(NotProved, match="zero"):
                    function(students)
        with pytest.raises(NotProved, match="zero"):
            loss.lipschitz(exact(STUDENTS), 10.0)
        assert loss.lipschitz(exact(STUDENTS), 0.1) > loss.lipschitz(exact(STUDENTS), 0.01) > 0


def spectral(matrix) -> float:
    return float(np.linalg.norm(np.array([[float(entry) for entry in row] for row in matrix.tolist()]), 2))


@pytest.mark.parametrize("name", LOSSES)
def test_hessian_moves_no_faster_than_its_lipschitz_constant(name):
    """Differences of Hessians inside a ball, over its diameter and over short ways, are below the constant."""
    loss, draw, radius = LOSSES[name], np.random.default_rng(7), 0.05
    with ctx.workdps(30):
        for trial in range(15):
            students = draw.normal(size=(3, 3)) + 0.2
            students[1] = students[0] if trial % 3 == 0 else students[1]
            constant = float(loss.lipschitz(exact(students), radius))
            away = draw.normal(size=students.shape)
            away *= radius * (1.0 if trial % 2 else 1e-6) / np.linalg.norm(away)
            hessians = [loss.hessian(exact(students + sign * away)) for sign in (1, -1)]
            assert spectral(hessians[0] - hessians[1]) <= constant * 2 * np.linalg.norm(away)


def test_lipschitz_constant_is_sharp_for_a_neuron():
    """For one neuron and one teacher the third derivative attains the constant: a smaller one is wrong."""
    angle = math.atan(3 / math.sqrt(3))  # tan θ = 3·a_w·2a_n²/(2a_n³) at the maximum a_n² = 3/4, a_w² = 1/4
    loss = LossInBalls(np.array([[math.cos(angle), math.sin(angle)]]), -1.0, 1.0, 1.0, 0.0)
    along = np.array([[0.5, math.sqrt(0.75)]])
    with ctx.workdps(40):
        student, step = exact(np.array([[1.0, 0.0]])), arb("1e-12")
        change = loss.hessian(student + exact(along) * step) - loss.hessian(student - exact(along) * step)
        rate = (exact(along) * change * exact(along).transpose()).entries()[0] / (2 * step)
        constant = loss.lipschitz(student, 0.0)
        assert abs(float(rate)) == pytest.approx(float(constant), rel=1e-9)
        assert frobenius(change) / (2 * step) > constant * arb("0.999")


def test_mixed_constant_is_sharp():
    """The mixed third derivative of two students attains its constant times the even factor over the norm."""
    loss = LossInBalls(np.array([[1e-12, 0.0]]), -1.0, 1.0, 1.0, 0.0)  # a teacher that hardly matters
    with ctx.workdps(40):
        students, step = np.array([[1.0, 0.0], [0.0, 1.0]]), arb("1e-12")
        # θ = π/2: the second student grows along itself, the first one's curvature is seen across.
        away = exact(np.array([[0.0, 0.0], [0.0, 1.0]])) * step
        change = loss.hessian(exact(students) + away) - loss.hessian(exact(students) - away)
        assert float(change[1, 1] / (2 * step)) == pytest.approx(float(mixed_constant()), rel=1e-9)


@pytest.mark.parametrize("angle", [0.05, 1.0, 3.0])
def test_largest_third_derivative_of_a_pair(angle):
    """The largest third derivative of two students, by a power method, is below the constant, not far for small angles.

    At small angles it is above half of the constant: without the factor 3 of mixed terms the bound would be wrong.
    """
    loss, draw = LossInBalls(np.array([[1e-9, 0.0, 0.0]]), -1.0, 1.0, 1.0, 0.0), np.random.default_rng(0)
    students, step, largest = np.array([[1.0, 0, 0], [math.cos(angle), math.sin(angle), 0]]), 1e-7, 0.0
    with ctx.workdps(40):
        for _ in range(4):
            along = draw.normal(size=6)
            for _ in range(25):
                along /= np.linalg.norm(along)
                ends = [loss.hessian(exact(students + sign * step * along.reshape(2, 3))) for sign in (1, -1)]
                change = [[float(entry) for entry in row] for row in (ends[0] - ends[1]).tolist()]
                image = np.array(change) @ along / (2 * step)
                value = along @ image
                along = image + value * along
            largest = max(largest, abs(value))
        constant = float(loss.lipschitz(exact(students), 0.0))
    assert largest < constant
    assert largest > (0.3 if angle == 1.0 else 0.5) * constant
