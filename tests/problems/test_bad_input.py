"""Every bad argument of a problem gets one clear error: the argument, what came, what to do."""

import numpy as np
import pytest

import tutelage as tl

P = tl.problems
EYE = np.eye(3)

CASES = [
    (lambda: P.committee(np.ones(3), 2), "teacher", "shape"),
    (lambda: P.committee([[1.0, np.nan]], 2), "teacher", "nan"),
    (lambda: P.committee([[1.0, np.inf]], 2), "teacher", "inf"),
    (lambda: P.committee(EYE + 1j, 2), "teacher", "1.j"),
    (lambda: P.committee([[10**400]], 2), "teacher", "1000"),
    (lambda: P.committee(EYE, 2).with_teacher(EYE * np.nan), "target", "nan"),
    (lambda: P.committee(EYE, 2).with_teacher(EYE[:2]), "target", r"\(2, 3\)"),
    (lambda: P.committee([[1.0, 0.0], [0.0, 0.0]], 2), "teacher", "row 1"),
    (lambda: P.committee("eye", 2), "teacher", "eye"),
    (lambda: P.committee(np.zeros((0, 3)), 2), "teacher", "shape"),
    (lambda: P.committee(EYE, 0), "students", "0"),
    (lambda: P.committee(EYE, 2.5), "students", "2.5"),
    (lambda: P.committee(EYE, True), "students", "True"),
    (lambda: P.committee(EYE, 2, activation="reluu"), "activation", "reluu"),
    (lambda: P.committee(EYE, 2, inputs=tl.inputs.gaussian(4)), "inputs", r"gaussian\(4\)"),
    (lambda: P.committee(EYE, 2, inputs=np.ones((5, 3))), "inputs", "data"),
    (lambda: P.neuron(np.zeros(3)), "target", "zero"),
    (lambda: P.neuron(np.ones(3), noise=-0.1), "noise", "-0.1"),
    (lambda: P.neuron(np.ones(3), noise="much"), "noise", "much"),
    (lambda: P.neuron(np.ones(3), noise=10**400), "noise", "1000"),
    (lambda: P.neuron(1.0), "target", r"shape \(\)"),
    (lambda: P.neuron([[1.0], [1.0, 2.0]]), "target", r"\[\[1.0\]"),
    (lambda: P.neuron(np.ones(3), noise=np.nan), "noise", "nan"),
    (lambda: P.homogeneous(np.ones(3), 2), "teacher", r"shape \(3,\)"),
    (lambda: P.homogeneous(EYE, 0), "students", "0"),
    (lambda: P.homogeneous(EYE, 2, activation="tanh"), "activation", "tanh"),
    (lambda: P.homogeneous(EYE, 2, activation="quadratic"), "activation", "quadratic"),
    (lambda: P.homogeneous(EYE, 2, signs=[1, np.nan]), "signs", "nan"),
    (lambda: P.homogeneous(EYE, 2, signs=[1, 0.5]), "signs", "0.5"),
    (lambda: P.homogeneous(EYE, 2, signs=[1, 1, 1]), "signs", "2 numbers"),
    (lambda: P.two_layer(EYE, 2, teacher_output=[1.0, 2.0]), "teacher_output", "3 entries"),
    (lambda: P.two_layer(EYE, 2, teacher_output=np.zeros(3)), "teacher_output", "zero"),
    (lambda: P.two_layer(EYE, 2, teacher_biases=[[1.0]]), "teacher_biases", r"shape \(1, 1\)"),
    (lambda: P.two_layer(EYE, 2, teacher_constant="much"), "teacher_constant", "much"),
    (lambda: P.two_layer(EYE, 2, learn=("weights", "heads")), "learn", "heads"),
    (lambda: P.two_layer(EYE, 2, learn=()), "learn", "none"),
    (lambda: P.two_layer(EYE, 2, learn=("output",)), "weights", "None"),
    (lambda: P.two_layer(EYE, 2, learn=("output",), weights=EYE), "weights", r"shape \(3, 3\)"),
    (lambda: P.two_layer(EYE, 2, output=[1.0, 1.0]), "output", "learned"),
    (lambda: P.two_layer(EYE, 2, learn="weights", output=[1.0]), "output", "2 entries"),
    (lambda: P.two_layer(EYE, 2, decay=-0.1), "decay", "-0.1"),
    (lambda: P.two_layer(EYE, 2, decay={"biases": 0.1}), "decay", "biases"),
    (lambda: P.two_layer(EYE, 2, scale="large"), "scale", "large"),
    (lambda: P.two_layer(EYE, 2, scale=0), "scale", "zero"),
    (lambda: P.convolution(np.zeros(3), np.ones(2)), "filter", "zero"),
    (lambda: P.convolution(np.ones(3), np.zeros(2)), "output_weights", "zero"),
    (lambda: P.convolution(EYE, np.ones(2)), "filter", r"shape \(3, 3\)"),
    (lambda: P.convolution(np.ones(3), [1.0, np.inf]), "output_weights", "inf"),
    (lambda: P.wave(np.zeros(3), patches=2), "target", "zero"),
    (lambda: P.parity(np.zeros(3), patches=2), "target", "zero"),
    (lambda: P.composite("low", np.zeros(3)), "target", "zero"),
    (lambda: P.wave(np.ones(3), patches=0), "patches", "0"),
    (lambda: P.parity(np.ones(3), patches=1.5), "patches", "1.5"),
    (lambda: P.composite("low", np.ones(3), patches=None), "patches", "None"),
    (lambda: P.wave(np.ones(3), patches=2, inputs=tl.inputs.ball(4)), "inputs", r"ball\(4\)"),
    (lambda: P.wave(np.ones(3), patches=2, slope=np.nan), "slope", "nan"),
    (lambda: P.parity(np.ones(3), patches=3, degrees=(4,)), "degrees", "4"),
    (lambda: P.parity(np.ones(3), patches=3, degrees=(2, 2)), "degrees", "2"),
    (lambda: P.parity(np.ones(3), patches=3, degrees=()), "degrees", r"\(\)"),
    (lambda: P.parity(np.ones(3), patches=3, degrees=(0, 1)), "degrees", "0"),
    (lambda: P.parity(np.ones(3), patches=3, degrees=(1.5,)), "degrees", "1.5"),
    (lambda: P.parity(np.ones(3), patches=3, degrees="all"), "degrees", "all"),
    (lambda: P.parity(np.ones(3), patches=3, degrees=[[1], [1, 2]]), "degrees", r"\[1\]"),
    (lambda: P.composite("medium", np.ones(3)), "outer", "medium"),
    (lambda: P.composite(lambda z: z, np.ones(3)), "outer", r"shape=\(5,\)"),
    (lambda: P.composite(lambda z: z[0] @ z, np.ones(3)), "outer", "raised"),
    (lambda: P.composite("low", np.ones(3), units=0), "units", "0"),
    (lambda: P.committee(EYE, 4).point(EYE), "point", r"\(4, 3\)"),
    (lambda: P.committee(EYE, 4).points(np.ones((4, 3))), "starts", "leading axis"),
    (lambda: P.committee(EYE, 1).points(np.full((2, 1, 3), np.nan)), "starts", "nan"),
    (lambda: P.convolution(np.ones(3), np.ones(2)).point(np.ones(3)), "point", "2 arrays"),
    (lambda: P.two_layer(EYE, 3, learn=("weights", "biases")).point(tl.models.Layers(EYE)), "point", "received 1 of"),
    (lambda: P.convolution(np.ones(3), np.ones(2)).point((np.ones(2), np.ones(3))), "point", r"shape \(2,\)"),
    (lambda: P.neuron(np.ones(3)).point([1.0, np.inf, 2.0]), "point", r"inf at index \(1,\)"),
    (lambda: P.neuron(np.ones(3)).point("start"), "point", "start"),
    (lambda: P.neuron(np.ones(3)).point([]), "point", r"shape \(0,\)"),
    (lambda: P.neuron(np.ones(3)).point(np.ones(2), argument="elsewhere"), "elsewhere", r"shape \(2,\)"),
]


@pytest.mark.parametrize(("call", "argument", "shown"), CASES)
def test_bad_input(call, argument, shown):
    """One InvalidArgument that names the argument and shows what was received or wanted."""
    with pytest.raises(tl.InvalidArgument, match=f"`{argument}`") as caught:
        call()
    assert caught.match(shown)
    assert "\n" not in str(caught.value)


def test_plain_lists_and_tuples_are_fine():
    """Points may be lists of numbers, and pairs of arrays where a student has two parts."""
    assert P.neuron([1.0, 2.0]).point([0.0, 1.0]).shape == (2,)
    point = P.convolution([1.0, 0.0], [1.0]).point(([1.0, 1.0], [2.0]))
    assert point.filter.shape == (2,) and point.output.shape == (1,)


@pytest.mark.parametrize("name", ["relu", "abs", "tanh", "sine"])
def test_a_problem_in_a_line(name):
    """A problem states its family, dimension and number of parameters."""
    problem = P.neuron(np.ones(5), name)
    assert (problem.name, problem.dimension, problem.parameters) == ("neuron", 5, 5)
