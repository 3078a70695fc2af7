r"""A first layer over patches and any outer function, $x \mapsto g(\sigma(w_1\cdot x_1), \dots, \sigma(w_k\cdot x_k))$.

Section 2 of the weight-sharing paper: $\sigma = \tanh$, the outer function known, or learned as a layer of 50 ReLU
units with a linear output.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from tutelage.activations import Activation
from tutelage.models.base import Model, Unambiguous
from tutelage.models.patchwise import Patchwise


def low(z: Float[Array, " patch"]) -> Float[Array, ""]:
    r"""The outer function of degree one, $g(z) = z_1$."""
    return z[0]


def high(z: Float[Array, " patch"]) -> Float[Array, ""]:
    r"""The outer function of the highest degree, $g(z) = \prod_i z_i$."""
    return jnp.prod(z)


def both(z: Float[Array, " patch"]) -> Float[Array, ""]:
    r"""The sum of both, $g(z) = z_1 + \prod_i z_i$."""
    return low(z) + high(z)


OUTER_FUNCTIONS: dict[str, Callable] = {"low": low, "high": high, "both": both}


class Composite(Patchwise):
    """A first layer over patches and a known outer function.

    Attributes:
        activation: The activation of the first layer.
        outer: A function of one vector with an entry per patch.
        patches: Number of patches.
        sharing: Whether all patches share one vector.
    """

    activation: Activation
    outer: Callable = eqx.field(static=True)
    patches: int = eqx.field(static=True)
    sharing: bool = eqx.field(static=True)

    def hidden(self, parameters, inputs: Float[Array, "batch patch dim"]) -> Float[Array, "batch patch"]:
        """Return the first layer's outputs."""
        return self.activation(jnp.einsum("bpd,pd->bp", inputs, self.rows(parameters)))

    def _predict(self, parameters, inputs: Float[Array, "batch patch dim"]) -> Float[Array, " batch"]:
        return jax.vmap(self.outer)(self.hidden(parameters, inputs))


class OuterLayer(NamedTuple):
    """Parameters of a learned outer function: a hidden layer and a linear output."""

    weights: Float[Array, "unit patch"]
    biases: Float[Array, " unit"]
    output: Float[Array, " unit"]
    offset: Float[Array, ""]

    def __call__(self, hidden: Float[Array, "batch patch"], activation: Activation) -> Float[Array, " batch"]:
        """Return the outer function of the first layer's outputs, given the activation of the hidden layer."""
        return activation(hidden @ self.weights.T + self.biases) @ self.output + self.offset


class FirstAndOuter(NamedTuple):
    """Parameters of a composite model with a learned outer function."""

    first: Float[Array, "..."]
    outer: OuterLayer


class LearnedComposite(Unambiguous):
    """A first layer over patches and a learned outer function: one hidden layer and a linear output.

    Attributes:
        inner: The first layer; its own outer function is not used.
        activation: Activation of the hidden layer of the outer function.
        units: Number of hidden units of the outer function.
    """

    inner: Composite
    activation: Activation
    units: int = eqx.field(static=True)

    @property
    def patches(self) -> int:
        """Number of patches."""
        return self.inner.patches

    @property
    def shapes(self):
        layer: Any = OuterLayer((self.units, self.patches), (self.units,), (self.units,), ())  # type: ignore[arg-type]
        return FirstAndOuter(self.inner.shapes, layer)  # type: ignore[arg-type]

    def _predict(self, parameters: FirstAndOuter, inputs: Float[Array, "batch patch dim"]) -> Float[Array, " batch"]:
        return parameters.outer(self.inner.hidden(parameters.first, inputs), self.activation)

    def _vectors(self, parameters: FirstAndOuter) -> Float[Array, "vector dim"]:
        return self.inner.vectors(parameters.first)

    def _with_vectors(self, parameters: FirstAndOuter, vectors: Float[Array, "vector dim"]) -> FirstAndOuter:
        return FirstAndOuter(self.inner.with_vectors(parameters.first, vectors), parameters.outer)

    def symmetry(self, parameters: FirstAndOuter) -> None:
        return None

    def contains(self, parameters: FirstAndOuter, teacher: Model, target: PyTree) -> bool:
        return False  # only approximately, with enough units
