r"""Means $M(w) = E[\sigma(w\cdot x)]$ of one neuron: the dual of an activation with the constant one."""

from typing import Any

import numpy as np
from jaxtyping import Array, Float

from tutelage.activations.base import Activation
from tutelage.activations.constant import One
from tutelage.duals.base import Dual
from tutelage.duals.dispatch import dual
from tutelage.duals.quadrature import Quadrature
from tutelage.inputs import Inputs
from tutelage.modules import Module


class Mean(Module):
    """The mean of a neuron as a differentiable function of its weight vector."""

    with_one: Dual

    def __call__(self, weights: Float[Array, " dim"]) -> Float[Array, ""]:
        (vector,) = self.with_one._vectors(weights=weights)
        return self.with_one(vector, _zero(vector))

    def error_estimate(self, weights: Float[Array, " dim"]) -> Float[Array, ""]:
        """Return an estimate of the error beyond rounding; zero for a closed form."""
        (vector,) = self.with_one._vectors(weights=weights)
        return self.with_one.error_estimate(vector, _zero(vector))


def _zero(vector) -> Any:
    return np.zeros(vector.shape)  # an array of JAX would be compiled


def mean(activation: str | Activation, inputs: Inputs, quadrature: Quadrature | None = None) -> Mean:
    """Return the mean of `activation` under a law; arguments and errors as in `dual`."""
    return Mean(dual(activation, One(), inputs, quadrature))
