r"""Neurons weighted by their own norm, $x \mapsto \sum_i a_i\,\|w_i\|\,\sigma(w_i\cdot x)$.

The local-convergence paper's student (its Definition 1) has $\sigma = |\cdot|$ and all $a_i = 1$.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.activations import Activation, Linear
from tutelage.models.base import NeuronModel, Neurons, safe_norm


class WithLinear(NamedTuple):
    r"""Parameters of neurons with a free linear term $\beta\cdot x$."""

    neurons: Float[Array, "student dim"]
    linear: Float[Array, " dim"]


class Homogeneous(NeuronModel):
    r"""The sum $x \mapsto \sum_i a_i\,\|w_i\|\,\sigma(w_i\cdot x)$ with $\sigma$ homogeneous of degree one.

    By homogeneity each term is $a_i\,\sigma(u_i\cdot x)$ with $u_i = \|w_i\|\,w_i$, a change of variables with
    continuous derivatives, at $w_i = 0$ too.

    Attributes:
        activation: The activation, homogeneous of degree one.
        signs: The signs $a_i$; `None` for all ones.
        linear: Whether there is a free linear term; parameters are then a `WithLinear`.
    """

    activation: Activation
    signs: Float[Array, " student"] | None = None
    linear: bool = eqx.field(static=True, default=False)
    patches = None

    @property
    def shapes(self):
        matrix = ("neuron" if self.signs is None else self.signs.shape[0], "dim")
        return WithLinear(matrix, ("dim",)) if self.linear else matrix  # type: ignore[arg-type]

    def _split(self, parameters) -> tuple[Float[Array, "student dim"], Float[Array, " dim"] | None]:
        return (parameters.neurons, parameters.linear) if self.linear else (parameters, None)

    def _neurons(self, parameters) -> tuple[Neurons, ...]:
        weights, linear = self._split(parameters)
        coefficients = jnp.ones(weights.shape[0]) if self.signs is None else self.signs
        group = Neurons(self.activation, safe_norm(weights)[:, None] * weights, coefficients)
        if linear is None:
            return (group,)
        return group, Neurons(Linear(), linear[None], jnp.ones(1))

    def _vectors(self, parameters) -> Float[Array, "vector dim"]:
        weights, linear = self._split(parameters)
        return weights if linear is None else jnp.concatenate([weights, linear[None]])

    def _with_vectors(self, parameters, vectors: Float[Array, "vector dim"]):
        return WithLinear(vectors[:-1], vectors[-1]) if self.linear else vectors
