"""Certificates are true by arithmetic that shares nothing with the library, and false ones are found out."""

import dataclasses
import functools
from decimal import Decimal

import certificates_by_hand as hand
import numpy as np
import pytest
from mpmath import mp, mpf

import tutelage as tl

SKEW = [[1.0, 0.25, 0.0], [-0.5, 1.0, 0.125], [0.0, 0.5, 1.25]]


def blocks(odd: int, diagonal: float, rest: float, column: float, row: float, corner: float, other: float):
    """A student of six neurons, the last `odd` of which look away from their teachers."""
    student = np.full((6, 6), rest)
    student[:, -odd:], student[-odd:], student[-odd:, -odd:] = column, row, other
    np.fill_diagonal(student, [diagonal] * (6 - odd) + [corner] * odd)
    return student


# Plain numbers of the problem, a few decimals of a critical point, its kind and its index.
CASES = {
    "one neuron, saddle": (
        hand.Problem(((1.0, 0.0),), left=-1.0, variance=0.25),
        [[0.0, 0.6366]],
        ("saddle", 1),
    ),
    "one neuron, noise": (
        hand.Problem(((1.0, 0.5, -0.25),), left=0.25, noise=0.5),
        [[1.0, 0.5, -0.25]],
        ("global minimum", 0),
    ),
    "fewer students": (hand.Problem(((1.0, 0.0), (0.0, 1.0))), [[1.068310, 1.068310]], ("minimum", 0)),
    "two, even": (hand.Problem(((1.0, 0.0), (0.0, 1.0)), left=-1.0), [[0.0, -1.0], [1.0, 0.0]], ("global minimum", 0)),
    "two, saddle": (
        hand.Problem(((1.0, 0.0), (0.0, 1.0)), left=-1.0, noise=0.25),
        [[-0.694492, 0.694492], [0.694492, 0.694492]],
        ("saddle", 1),
    ),
    "three, leaky": (
        hand.Problem(SKEW, left=0.25, noise=0.5),
        [[0.0, 0.5, 1.25], [-0.5, 1.0, 0.125], [1.0, 0.25, 0.0]],
        ("global minimum", 0),
    ),
    "three, leaky, saddle": (
        hand.Problem(SKEW, left=0.25, noise=0.5, variance=2.0),
        [[0.315946, 0.382221, -0.304498], [-0.700685, 1.248838, 1.058479], [0.892159, 0.119082, 0.6181]],
        ("saddle", 1),
    ),
    "more students": (
        hand.Problem(np.eye(3).tolist()),
        [
            [0.544038, 0.544038, -0.357258],
            [-0.357258, 0.544038, 0.544038],
            [0.253832, 0.253832, 0.253832],
            [0.544038, -0.357258, 0.544038],
        ],
        ("saddle", 3),
    ),
    "four, saddle": (
        hand.Problem(np.eye(4).tolist()),
        0.495479 + (-0.48986 - 0.495479) * np.eye(4),
        ("saddle", 3),
    ),
    "five, saddle": (
        hand.Problem(np.eye(5).tolist()),
        [
            [-0.103376, 0.930368, 0.425313, -0.05788, -0.103376],
            [-0.103376, -0.103376, 0.425313, -0.05788, 0.930368],
            [0.336839, 0.336839, -0.547042, 0.16035, 0.336839],
            [0.930368, -0.103376, 0.425313, -0.05788, -0.103376],
            [-0.048216, -0.048216, 0.220659, 1.021197, -0.048216],
        ],
        ("saddle", 2),
    ),
    "six, spurious": (
        hand.Problem(np.eye(6).tolist(), noise=0.125),
        blocks(1, 0.98670, -0.05041, 0.30801, 0.22452, -0.60151, 0.0),
        ("spurious minimum", 0),
    ),
    "six, saddle": (
        hand.Problem(np.eye(6).tolist()),
        blocks(2, 0.902402124, -0.142870209, 0.334093260, 0.269235613, -0.645856424, 0.273135595),
        ("saddle", 4),
    ),
    "six, global": (hand.Problem(np.eye(6).tolist()), np.eye(6)[[2, 0, 1, 5, 4, 3]], ("global minimum", 0)),
}


@functools.cache
def certificate(name: str) -> tl.geometry.Certificate:
    """The library's certificate of a case."""
    plain, student, _ = CASES[name]
    dimension = len(plain.teacher[0])
    problem = tl.problems.committee(
        np.array(plain.teacher),
        students=len(student),
        activation=tl.activations.LeakyReLU(plain.left),
        inputs=tl.inputs.gaussian(dimension, covariance=plain.variance * np.eye(dimension)),
        noise=plain.noise,
    )
    return tl.certify(tl.population(problem), np.array(student))


@pytest.mark.parametrize("name", CASES)
def test_certificates_are_true(name):
    """Every statement of the printed theorem and of its proof holds, from the definition of the loss."""
    plain, student, (kind, index) = CASES[name]
    found = certificate(name)
    text = str(found)
    assert (found.kind, found.index) == (kind, index)
    assert f"slopes {plain.left!r} and {plain.right!r} " in text
    assert f"variance {plain.variance!r}, label noise {plain.noise!r}" in text
    printed = hand.read(text)
    assert hand.fault(printed, plain) is None
    with mp.workdps(hand.DIGITS):
        point, _ = hand.critical_point(plain, hand.exactly(printed.rows))
        assert hand.norm(point - hand.exactly(np.array(student).tolist())) <= mpf(found.distance) + hand.ERROR
        excess = hand.loss(plain, point) - mpf(plain.noise) ** 2 / 2
        assert mpf(found.excess[0]) - hand.ERROR <= excess <= mpf(found.excess[1]) + hand.ERROR


def times(number: str, factor: float) -> str:
    """A printed number, multiplied."""
    return repr(float(number) * factor)


def shifted(interval: tuple[str, str], widths: float) -> tuple[str, str]:
    """A printed interval, moved by a multiple of its width and by a few units in the last place."""
    low, high = (float(bound) for bound in interval)
    move = widths * (high - low + 1e-15 * abs(high))
    return repr(low + move), repr(high + move)


# Each number of a certificate changed to say more than is true, or another thing.
SPOILED = {
    "gradient": lambda printed: {"gradient": times(printed.gradient, 0.5)},
    "least": lambda printed: {"least": times(printed.least, 1.001)},
    "lipschitz": lambda printed: {"lipschitz": times(printed.lipschitz, 0.04)},
    "reach": lambda printed: {"reach": times(printed.reach, 2)},
    "reach too small": lambda printed: {"reach": times(printed.inner, 0.5)},
    "inner": lambda printed: {"inner": times(printed.inner, 0.49)},
    "loss up": lambda printed: {"loss": shifted(printed.loss, 2)},
    "loss down": lambda printed: {"loss": shifted(printed.loss, -2)},
    "smallest up": lambda printed: {"smallest": shifted(printed.smallest, 2)},
    "smallest down": lambda printed: {"smallest": shifted(printed.smallest, -2)},
    "index up": lambda printed: {"index": printed.index + 1},
    "index down": lambda printed: {"index": printed.index - 1},
    "kind": lambda printed: {"kind": "spurious minimum" if printed.kind == "saddle" else "saddle"},
    "a zero of the loss": lambda printed: {"kind": "global minimum"},
    "maximum": lambda printed: {"kind": "maximum"},
    "a digit": lambda printed: {"rows": ((_spoiled(printed.rows[0][0]), *printed.rows[0][1:]), *printed.rows[1:])},
}


def _spoiled(entry: str) -> str:
    """A decimal number with another digit near its end."""
    return format(Decimal(entry) + Decimal("1e-45"), "f")


@pytest.mark.parametrize("name", ["fewer students", "two, saddle", "more students"])
@pytest.mark.parametrize("spoiling", SPOILED)
def test_spoiled_certificates_are_found_out(name, spoiling):
    """A certificate with one number changed the wrong way is not true."""
    printed = hand.read(str(certificate(name)))
    wrong = dataclasses.replace(printed, **SPOILED[spoiling](printed))
    assert wrong != printed and hand.fault(wrong, CASES[name][0])


def test_a_certificate_of_another_problem_is_found_out():
    """The same text for another teacher, slope, variance or noise is not true."""
    name = "three, leaky, saddle"
    printed, plain = hand.read(str(certificate(name))), CASES[name][0]
    other = [[1.0, 0.25, 0.0], [-0.5, 1.0, 0.125], [0.0, 0.5, 1.2500001]]
    for change in ({"teacher": other}, {"left": 0.2500001}, {"variance": 1.0}, {"noise": 0.50000001}):
        assert hand.fault(printed, dataclasses.replace(plain, **change))


def test_the_arithmetic_by_hand_is_right():
    """The dual is the integral of its definition, and gradient and Hessian are differences of the loss."""
    problem = CASES["three, leaky, saddle"][0]
    with mp.workdps(hand.DIGITS):
        students = hand.exactly([[0.3, -0.2, 0.5], [0.7, 0.1, -0.4]])
        wide = hand.exactly([[-0.3, 0.21, -0.5]])[0]
        with mp.workdps(30):
            for v in (students[1], wide):
                error = hand.dual(problem, students[0], v) - hand.dual_by_integral(problem, students[0], v)
                assert abs(error) < mpf(10) ** -25
        length = mpf(10) ** -30
        slope, matrix = hand.gradient(problem, students), hand.hessian(problem, students)
        for i in range(students.size):
            step = np.array([length if j == i else mpf(0) for j in range(students.size)], dtype=object).reshape(2, 3)
            change = hand.loss(problem, students + step) - hand.loss(problem, students - step)
            assert abs(change / (2 * length) - slope.ravel()[i]) < mpf(10) ** -55
            change = hand.gradient(problem, students + step) - hand.gradient(problem, students - step)
            assert hand.norm(change.ravel() / (2 * length) - matrix[i]) < mpf(10) ** -55
        # Parallel and opposite vectors have the limits of their neighbours.
        for sign in (1, -1):
            near = sign * 2 * students[0] + mpf(10) ** -40 * students[1]
            exact = hand.hessian(problem, np.stack([students[0], sign * 2 * students[0]]))
            assert hand.norm(hand.hessian(problem, np.stack([students[0], near])) - exact) < mpf(10) ** -38
