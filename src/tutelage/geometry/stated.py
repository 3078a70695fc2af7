"""What a certificate is about: a population loss as a few exact numbers, and the problem in words."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from tutelage.activations import Activation
from tutelage.duals.piecewise_linear import PiecewiseLinear
from tutelage.errors import UnsupportedCombination
from tutelage.geometry.balls import BallLoss
from tutelage.inputs import Gaussian, Inputs
from tutelage.models import TwoLayer
from tutelage.objectives import Objective
from tutelage.objectives.population.neuron_sum import NeuronSum


def ball_loss(objective: Objective) -> tuple[NeuronSum, BallLoss]:
    """Return a population loss of neurons, and the same in ball arithmetic.

    Raises:
        UnsupportedCombination: If there is none.
    """
    problem = objective.problem
    models = (problem.student, problem.teacher)
    plain = all(isinstance(model, TwoLayer) and _certifiable(model) for model in models)
    if not (isinstance(objective, NeuronSum) and plain):
        raise UnsupportedCombination(
            "Certificates are for population losses of the neuron and committee problems, and of networks that learn "
            f"their output weights, without biases, constant and scale, not for {_named(objective)}."
        )
    rates = tuple(float(rate) for rate in problem.decay or ())
    if not all(rates):
        raise UnsupportedCombination(
            "Certificates with weight decay are for decay of both the vectors and the output weights: with one of them "
            "alone rescalings lower the loss for ever, and there is no critical point."
        )
    activation: Activation = problem.student.activation  # type: ignore[attr-defined]
    duals = (objective.student_duals[0][0], objective.teacher_duals[0][0], objective.own_duals[0][0])
    left, right = (float(activation.derivative(jnp.asarray(side))) for side in (-1.0, 1.0))
    scale = _variance(problem.inputs)
    if scale is None or not all(_agrees(dual, left, right, scale) for dual in duals):
        raise UnsupportedCombination(
            "Certificates are for activations with two slopes (relu, leaky_relu, abs, linear) under a centred, "
            f"rotation-invariant law, not for {activation.name} under {problem.inputs.name}."
        )
    teacher = np.asarray(jax.device_get(problem.teacher.vectors(objective.target)))
    outputs = problem.teacher.parts(objective.target).output  # type: ignore[attr-defined]
    outputs = None if outputs is None else np.asarray(outputs)
    return objective, BallLoss(teacher, left, right, scale, float(problem.noise), outputs=outputs, decay=rates)


def _certifiable(model: TwoLayer) -> bool:
    """Whether a model is a sum of neurons with two slopes, up to rescalings of those that it learns."""
    learns = "weights" in model.learn and not {"biases", "constant"} & {*model.learn}
    return learns and model.scale is None and all(part is None for part in model.fixed)


def signs_of(objective: NeuronSum, point: PyTree) -> np.ndarray | None:
    """Return the output weights of a student of which each neuron is the representative of its rescalings."""
    student = objective.problem.student
    assert isinstance(student, TwoLayer)
    output = student.parts(point).output
    return None if output is None else np.asarray(output)


def _named(objective: Objective) -> str:
    kind = type(objective).__name__
    return f"the {objective.problem.name} problem" if isinstance(objective, NeuronSum) else f"an objective `{kind}`"


def _variance(inputs: Inputs) -> float | None:
    """Return the variance of each coordinate under a law that rotations do not change."""
    if isinstance(inputs, Gaussian):
        return inputs.variance
    return inputs.radial_moment(2) / inputs.dimension if inputs.symmetry == "rotation" else None


def _agrees(dual: object, left: float, right: float, scale: float) -> bool:
    """Whether a dual is the one of these slopes, up to rounding."""
    odd, even = scale * ((right + left) / 2) ** 2, scale * ((right - left) / 2) ** 2
    error = 1e-14 * (odd + even)
    return isinstance(dual, PiecewiseLinear) and bool(
        odd + even > 0 and abs(float(dual.odd) - odd) <= error and abs(float(dual.even) - even) <= error
    )


def described(objective: NeuronSum, loss: BallLoss, students: np.ndarray) -> str:
    """Return a problem in words, with all its numbers."""
    problem = objective.problem
    activation: Activation = problem.student.activation  # type: ignore[attr-defined]
    number, dimension = loss.teacher.shape
    axes = np.array_equal(loss.teacher, np.eye(number, dimension))
    rows = "; ".join("(" + ", ".join(repr(float(entry)) for entry in row) + ")" for row in loss.teacher)
    teachers = f"the first {number} coordinate axes" if axes else f"the rows {rows}"
    signs = "" if loss.signs is None else f", with output weights {loss.signs.tolist()} up to rescaling,"
    outputs = "" if loss.outputs is None else f" with output weights {loss.outputs.tolist()}"
    decay = f", weight decay {' and '.join(map(repr, loss.decay))}" if loss.decay else ""
    return (
        f"{students.shape[0]} students{signs} with slopes {loss.left!r} and {loss.right!r} ({activation.name}) "
        f"in dimension {dimension} learn {number} teachers, {teachers}{outputs}, under {problem.inputs.name} with "
        f"variance {loss.scale!r}, label noise {loss.noise!r}{decay}"
    )
