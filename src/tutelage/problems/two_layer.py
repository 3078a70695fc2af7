"""Networks with two layers: the constructor, and what it makes of its arguments."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Array

from tutelage import activations
from tutelage.activations import Activation
from tutelage.arrays import of_jax
from tutelage.checks import finite_array, finite_number, not_negative, one_of, sequence
from tutelage.errors import invalid
from tutelage.inputs import Inputs
from tutelage.models import Layers, TwoLayer
from tutelage.models.two_layer import PARTS
from tutelage.problems.constructors import _nonzero_rows, _number_of, _problem
from tutelage.problems.problem import Problem

SCALES = ("mean", "root")


def two_layer(
    teacher: Any,
    students: int,
    activation: str | Activation = "relu",
    teacher_output: Any = None,
    teacher_biases: Any = None,
    teacher_constant: float | None = None,
    learn: Any = ("weights", "output"),
    weights: Any = None,
    output: Any = None,
    biases: Any = None,
    scale: float | str = 1.0,
    decay: Any = 0.0,
    inputs: Inputs | None = None,
    noise: float = 0.0,
) -> Problem:
    r"""A network $s\,(\sum_{i \le n} a_i\,\sigma(w_i\cdot x + b_i) + c)$ that learns another of the same kind.

    The parts that are learned are the student; the others are fixed. With `learn=("weights",)` and all else left out it
    is `committee`.

    Args:
        teacher: The teacher's vectors, `[teacher, dim]`, none zero.
        students: Number $n$ of student neurons.
        activation: The activation $\sigma$, by name or as an `Activation`.
        teacher_output: The teacher's output weights, `[teacher]`; ones by default.
        teacher_biases: The teacher's biases, `[teacher]`; none by default.
        teacher_constant: The teacher's output constant; none by default.
        learn: The parts that the student learns, of `weights`, `output`, `biases` and `constant`.
        weights: The student's vectors, `[student, dim]`, where they are not learned.
        output: The student's output weights, `[student]`, where they are not learned; ones by default.
        biases: The student's biases, `[student]`, where they are not learned; none by default.
        scale: The factor $s$ of both networks: a number, `"mean"` for one over the number of the network's own neurons,
            or `"root"` for one over its root.
        decay: Rates of weight decay, which adds half the rate times the squared norm to the loss: one number for all
            parts that are learned, or a dictionary with a number for each part named.
        inputs: Law of the inputs; standard Gaussian by default. With biases there are exact losses under Gaussian laws
            of any mean and covariance, their mixtures, and laws of finite support.
        noise: Standard deviation of the label noise.

    Returns:
        The problem; a student is a `Layers` of the parts that are learned (`None` in place of the others), or, if these
        are the weights alone, a matrix `[student, dim]`.

    Reference:
        Şimşek, Bendjeddou, Gerstner and Brea, Should under-parameterized student networks copy or average teacher
        weights?, 2023, Equation (1), without biases and constant.
    """
    teacher = _nonzero_rows("teacher", teacher, 2)
    teachers, dimension = teacher.shape
    students, activation = _number_of("students", students, dimension), activations.get(activation)
    names = _parts(learn)
    given = Layers(weights, output, biases)
    fixed = _fixed(given, names, students, dimension)
    target = Layers(
        teacher,
        _numbers("teacher_output", teacher_output, teachers),
        _numbers("teacher_biases", teacher_biases, teachers),
        None if teacher_constant is None else of_jax(finite_number("teacher_constant", teacher_constant)),
    )
    if target.output is not None and not np.asarray(target.output).any():
        raise invalid("teacher_output", "not be all zero", "zeros", "A teacher that is zero teaches nothing")
    shown = tuple(name for name, part in zip(PARTS, target, strict=True) if part is not None)
    student_model = TwoLayer(activation, names, fixed, _scale(scale, students))
    teacher_model = TwoLayer(activation, shown, scale=_scale(scale, teachers))
    taught = teacher if teacher_model.bare else target
    rates = _decay(decay, names)
    return _problem("two_layer", student_model, teacher_model, taught, inputs, noise, students, rates)


def _parts(learn: Any) -> tuple[str, ...]:
    """Return the parts that are learned, in the order of `Layers`."""
    named = (learn,) if isinstance(learn, str) else sequence("learn", learn, f"some of {', '.join(PARTS)}")
    chosen = {one_of("learn", name, PARTS) for name in named}
    if not chosen:
        raise invalid("learn", f"name some of {', '.join(PARTS)}", "none", "Name what the student learns")
    return tuple(name for name in PARTS if name in chosen)


def _fixed(given: Layers, learn: tuple[str, ...], students: int, dimension: int) -> Layers:
    """Return the values of the parts that are not learned."""
    for name, part in zip(PARTS, given, strict=True):
        if part is not None and name in learn:
            raise invalid(name, "be left out where it is learned", "values", f"Leave `{name}` out of `learn`, or these")
    if "weights" not in learn and given.weights is None:
        raise invalid("weights", "be given where they are not learned", "None", "Pass them, or learn them")
    matrix = None if given.weights is None else finite_array("weights", given.weights, dimensions=2)
    if matrix is not None and matrix.shape != (students, dimension):
        raise invalid(
            "weights", f"have shape {(students, dimension)}", f"shape {matrix.shape}", "Pass one row per student"
        )
    return Layers(matrix, _numbers("output", given.output, students), _numbers("biases", given.biases, students))


def _numbers(argument: str, value: Any, length: int) -> Array | None:
    """Return one number per neuron, or raise if there is another number of them."""
    if value is None:
        return None
    numbers = finite_array(argument, value, dimensions=1)
    if numbers.shape[0] != length:
        raise invalid(argument, f"have {length} entries, one per neuron", f"{numbers.shape[0]}", "Pass as many")
    return numbers


def _scale(scale: Any, neurons: int) -> Array | None:
    """Return the factor of a network with so many neurons; `None` for one."""
    if isinstance(scale, str):
        number = 1 / neurons if one_of("scale", scale, SCALES) == "mean" else 1 / math.sqrt(neurons)
    else:
        number = finite_number("scale", scale)
    if number == 0:
        raise invalid("scale", "not be zero", "0", "A network that is zero learns nothing")
    return None if number == 1 else of_jax(number)


def _decay(decay: Any, learn: tuple[str, ...]) -> tuple[Array, ...] | None:
    """Return the rates of the parts that are learned, or `None` if all are zero."""
    if isinstance(decay, Mapping):
        for name in decay:
            one_of("decay", name, learn)
        rates = [not_negative("decay", decay.get(name, 0.0)) for name in learn]
    else:
        rates = [not_negative("decay", decay)] * len(learn)
    return tuple(map(of_jax, rates)) if any(rates) else None
