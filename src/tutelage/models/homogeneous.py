r"""Neurons weighted by their own norm, $x \mapsto \sum_i a_i\,\|w_i\|\,\sigma(w_i\cdot x)$.

The local-convergence paper's student (its Definition 1) has $\sigma = |\cdot|$ and all $a_i = 1$.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from tutelage.activations import Activation, Linear
from tutelage.arrays import of_jax
from tutelage.models.base import Model, Neurons, Neuronwise, Symmetry, Unambiguous, safe_norm


class WithLinear(NamedTuple):
    r"""Parameters of neurons with a free linear term $\beta\cdot x$."""

    neurons: Float[Array, "student dim"]
    linear: Float[Array, " dim"]


class Homogeneous(Unambiguous, Neuronwise):
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
    biased = False
    fixed_coefficients = True
    degree = 2
    plain = False

    @property
    def shapes(self):
        matrix = ("neuron" if self.signs is None else self.signs.shape[0], "dim")
        return WithLinear(matrix, ("dim",)) if self.linear else matrix  # type: ignore[arg-type]

    def _neurons(self, parameters) -> tuple[Neurons, ...]:
        rows = self.rows(parameters)
        coefficients = jnp.ones(rows.shape[0]) if self.signs is None else self.signs
        group = Neurons(self.activation, self.weights(rows), coefficients)
        return (group, Neurons(Linear(), parameters.linear[None], jnp.ones(1))) if self.linear else (group,)

    def _vectors(self, parameters) -> Float[Array, "vector dim"]:
        rows = self.rows(parameters)
        return jnp.concatenate([rows, parameters.linear[None]]) if self.linear else rows

    def _with_vectors(self, parameters, vectors: Float[Array, "vector dim"]):
        return WithLinear(vectors[:-1], vectors[-1]) if self.linear else vectors

    def rows(self, parameters) -> Float[Array, "student dim"]:
        return parameters.neurons if self.linear else parameters

    def with_rows(self, parameters, rows: Float[Array, "other dim"]):
        return WithLinear(rows, parameters.linear) if self.linear else rows

    def reordered(self, parameters, order):
        return self.with_rows(parameters, self.rows(parameters)[order])

    def weights(self, rows):
        return safe_norm(rows)[..., None] * rows

    def rows_of(self, weights):
        norms = safe_norm(weights)[..., None]
        return weights / jnp.sqrt(jnp.where(norms > 0, norms, 1.0))

    def doubled(self, neuron: int) -> "Homogeneous":
        if self.signs is None:
            return self
        signs = np.asarray(self.signs)
        return Homogeneous(self.activation, of_jax(np.insert(signs, neuron, signs[neuron])), self.linear)

    def symmetry(self, parameters) -> Symmetry:
        number = self.rows(parameters).shape[0]
        labels = np.zeros(number, int) if self.signs is None else (np.asarray(self.signs) < 0).astype(int)
        if self.linear:
            return Symmetry(np.append(labels, 2))
        return Symmetry(labels, self.activation.parity == "even")

    def contains(self, parameters, teacher: Model, target: PyTree) -> bool:
        positive = self.rows(parameters).shape[0] if self.signs is None else int(jnp.sum(self.signs > 0))
        return positive >= teacher.vectors(target).shape[0]
