"""What a certificate is about: a population loss as a few exact numbers, and the problem in words."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from tutelage.activations import Activation
from tutelage.duals.piecewise_linear import PiecewiseLinear
from tutelage.duals.shifted import TwoSlopes
from tutelage.errors import UnsupportedCombination
from tutelage.geometry.ball_losses import LossInBalls
from tutelage.geometry.decay import Decay
from tutelage.inputs import Gaussian, Inputs
from tutelage.models import TwoLayer
from tutelage.models.base import Model
from tutelage.objectives import Objective
from tutelage.objectives.population.neuron_sum import NeuronSum


def ball_loss(objective: Objective, point: PyTree) -> LossInBalls:
    """Return a population loss of neurons in ball arithmetic.

    Args:
        objective: The loss.
        point: A student of which each neuron is the representative of its rescalings, for the signs of its neurons.

    Raises:
        UnsupportedCombination: If there is none.
    """
    problem = objective.problem
    student, teacher = problem.student, problem.teacher
    if not (isinstance(objective, NeuronSum) and _certifiable(student) and isinstance(teacher, TwoLayer)):
        raise UnsupportedCombination(
            "Certificates are for population losses of the neuron and committee problems, and of networks that learn "
            f"their vectors and all they have besides, without a constant, not for {_named(objective)}."
        )
    assert isinstance(student, TwoLayer)
    parts = teacher.parts(objective.target)
    if parts.constant is not None:
        raise UnsupportedCombination("Certificates are for teachers without an output constant.")
    activation, inputs = student.activation, problem.inputs
    left, right = (float(activation.derivative(jnp.asarray(side))) for side in (-1.0, 1.0))
    scale = _variance(inputs)
    shifted = objective.biased or (isinstance(inputs, Gaussian) and not inputs.centred)
    duals = (objective.student_duals[0][0], objective.teacher_duals[0][0], objective.own_duals[0][0])
    if scale is None or not all(_agrees(dual, left, right, scale, shifted) for dual in duals):
        law = "Gaussian law of one variance" if shifted else "centred, rotation-invariant law"
        raise UnsupportedCombination(
            f"Certificates are for activations with two slopes (relu, leaky_relu, abs, linear) under a {law}, not for "
            f"{activation.name} under {inputs.name}{' with biases' if objective.biased else ''}."
        )
    rows = np.asarray(jax.device_get(parts.weights))
    if objective.biased:
        rows = np.column_stack([rows, np.zeros(len(rows)) if parts.biases is None else np.asarray(parts.biases)])
    signs = student.parts(point).output
    return LossInBalls(
        rows,
        left,
        right,
        scale,
        float(problem.noise),
        signs=None if signs is None else np.asarray(signs),
        outputs=None if parts.output is None else np.asarray(parts.output),
        decay=_decay(objective, student),
        factors=(_factor(student), _factor(teacher)),
        mean=np.asarray(inputs.location) if isinstance(inputs, Gaussian) and not inputs.centred else None,
        biased=objective.biased,
    )


def _certifiable(model: Model) -> bool:
    """Whether a model learns vectors, and output weights and biases if it has them, but no constant."""
    plain = isinstance(model, TwoLayer) and all(part is None for part in model.fixed)
    return plain and "weights" in model.learn and "constant" not in model.learn  # type: ignore[attr-defined]


def _factor(model: TwoLayer) -> float:
    return 1.0 if model.scale is None else float(model.scale)


def _decay(objective: NeuronSum, student: TwoLayer) -> Decay | None:
    """Return the weight decay of the student's rows.

    Raises:
        UnsupportedCombination: If it is one of rows or of output weights alone, of which there is no critical point.
    """
    problem = objective.problem
    if problem.decay is None:
        return None
    rates = dict(zip(student.learn, map(float, problem.decay), strict=True))
    of_rows = [rates["weights"]] * problem.inputs.dimension + ([rates["biases"]] if "biases" in rates else [])
    if "output" in rates and not (rates["output"] and any(of_rows)):
        raise UnsupportedCombination(
            "Certificates with weight decay are for decay of both the rows and the output weights: with one of them "
            "alone rescalings lower the loss for ever, and there is no critical point."
        )
    return Decay(tuple(of_rows), rates.get("output"))


def _named(objective: Objective) -> str:
    kind = type(objective).__name__
    return f"the {objective.problem.name} problem" if isinstance(objective, NeuronSum) else f"an objective `{kind}`"


def _variance(inputs: Inputs) -> float | None:
    """Return the variance of each coordinate under a law that rotations do not change."""
    if isinstance(inputs, Gaussian):
        return inputs.variance
    return inputs.radial_moment(2) / inputs.dimension if inputs.symmetry == "rotation" else None


def _agrees(dual: object, left: float, right: float, scale: float, shifted: bool) -> bool:
    """Whether a dual is the one of these slopes, up to rounding."""
    if shifted:  # its law is that of the problem
        slopes = (right + left) / 2, (right - left) / 2
        return isinstance(dual, TwoSlopes) and np.allclose([dual.first, dual.second], [slopes] * 2, rtol=1e-14, atol=0)
    odd, even = scale * ((right + left) / 2) ** 2, scale * ((right - left) / 2) ** 2
    error = 1e-14 * (odd + even)
    return isinstance(dual, PiecewiseLinear) and bool(
        odd + even > 0 and abs(float(dual.odd) - odd) <= error and abs(float(dual.even) - even) <= error
    )


def described(objective: Objective, loss: LossInBalls, students: np.ndarray) -> str:
    """Return a problem in words, with all its numbers."""
    problem = objective.problem
    activation: Activation = problem.student.activation  # type: ignore[attr-defined]
    number, dimension = loss.teacher.shape[0], problem.inputs.dimension
    axes = np.array_equal(loss.teacher, np.eye(number, dimension))
    rows = "; ".join("(" + ", ".join(repr(float(entry)) for entry in row) + ")" for row in loss.teacher)
    biases = " (their last numbers are biases)" if loss.biased else ""
    teachers = f"the first {number} coordinate axes" if axes else f"the rows {rows}{biases}"
    signs = "" if loss.signs is None else f", with output weights {loss.signs.tolist()} up to rescaling,"
    outputs = "" if loss.outputs is None else f" with output weights {loss.outputs.tolist()}"
    mean = "" if loss.mean is None else f", mean ({', '.join(map(repr, loss.mean.tolist()))})"
    factors = "" if loss.factors == (1.0, 1.0) else ", outputs times {!r} and {!r}".format(*loss.factors)
    return (
        f"{students.shape[0]} students{signs} with slopes {loss.left!r} and {loss.right!r} ({activation.name}) "
        f"in dimension {dimension}{' with biases' if students.shape[1] > dimension else ''} learn {number} teachers, "
        f"{teachers}{outputs}, under {problem.inputs.name} with variance {loss.scale!r}{mean}, "
        f"label noise {loss.noise!r}{factors}{'' if loss.decay is None else _decay_in_words(loss.decay, dimension)}"
    )


def _decay_in_words(decay: Decay, dimension: int) -> str:
    biases = decay.rates[-1] if len(decay.rates) > dimension else None
    rates = {"vectors": decay.rates[0], "biases": biases, "output weights": decay.output}
    return ", weight decay " + ", ".join(f"{rate!r} of {name}" for name, rate in rates.items() if rate is not None)
