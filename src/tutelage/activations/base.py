"""What an activation is: a scalar function and what is known of it."""

import abc
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.checks import real_array
from tutelage.instant import evaluated
from tutelage.modules import Module

if TYPE_CHECKING:  # a type checker would take an abstract variable for an argument of the constructor
    from typing import ClassVar as Abstract
else:
    from equinox import AbstractVar as Abstract

ElementKind = Literal["one", "identity", "absolute", "square", "sign", "erf", "cosine", "sine"]
Parity = Literal["even", "odd", "none"]


class Element(NamedTuple):
    """One term `coefficient · kind(scale · z)` of an activation that is a sum of elementary functions.

    Expectations of products of elementary functions under a Gaussian pair have closed forms; an activation that
    can be written as such a sum inherits them.
    """

    coefficient: float
    kind: ElementKind
    scale: float = 1.0


class Activation(Module):
    r"""A scalar function $\sigma$ with its derivative, its symmetries and its closed forms.

    Calling an activation applies it elementwise. Its derivative under `jax.grad` is `derivative`, so that the
    convention at a kink is the one chosen here and not the one of the array library.

    Attributes:
        name: How the activation is called in the registry and in messages.
        kink: Value of the derivative at $z = 0$ where the function has a kink there, else `None`.
        homogeneity: The degree $p$ with $\sigma(cz) = c^p\sigma(z)$ for all $c > 0$, or `None`.
        parity: Whether $\sigma(-z) = \sigma(z)$ (`even`), $-\sigma(z)$ (`odd`) or neither (`none`).
        monotone: Whether $\sigma$ never decreases.
        lipschitz: A bound of $|\sigma'|$, infinite where there is none.
        elements: The activation as a sum of elementary functions, or `None` if it is not one.
        strip: Half-width of the strip around the real axis in which the function is analytic (or grows
            harmlessly); it sets the step of the quadrature. `None` where the function has a kink.
    """

    name: Abstract[str]
    kink: Abstract[float | None]
    homogeneity: Abstract[int | None]
    parity: Abstract[Parity]
    monotone: Abstract[bool]
    lipschitz: Abstract[float]
    elements: Abstract[tuple[Element, ...] | None]
    strip: Abstract[float | None]

    @abc.abstractmethod
    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        r"""Return $\sigma(z)$ elementwise."""

    @abc.abstractmethod
    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        r"""Return $\sigma'(z)$ elementwise, with the convention `kink` at a kink."""

    def __call__(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        r"""Return $\sigma(z)$ elementwise, differentiable with the convention of `derivative`."""
        # Arrays of JAX as they are: formulas are evaluated on traced ones a thousand times.
        return evaluated(_apply, self, z if isinstance(z, jax.Array) and z.dtype == float else real_array("z", z))


@jax.custom_jvp
def _apply(activation: Activation, z: Float[Array, "..."]) -> Float[Array, "..."]:
    return activation.value(z)


@_apply.defjvp
def _apply_jvp(primals, tangents):
    activation, z = primals
    _, direction = tangents
    return _apply(activation, z), activation.derivative(z) * direction


class Sums(NamedTuple):
    """How to evaluate an activation and its derivatives at sums x + y of two lists, where quadratures take their time.

    Attributes:
        prepare: What is needed of the terms, each by itself.
        derivatives: The activation and its derivatives up to an order, from what was prepared of x and of y.
    """

    prepare: Callable[[Array], Array]
    derivatives: Callable[[Array, Array, int], list[Array]]


@functools.singledispatch
def sums_of(activation: Activation) -> Sums:
    """Return how to evaluate a smooth activation at sums; one with a quicker rule than this one registers its own."""

    def derivatives(x, y, order):
        functions: list[Callable] = [activation.value, activation.derivative]
        while len(functions) <= order:
            functions.append(functools.partial(slope, functions[-1]))
        return [function(x + y) for function in functions[: order + 1]]

    return Sums(lambda x: x, derivatives)


def slope(function, z: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the elementwise derivative of a smooth elementwise function."""
    return jax.jvp(function, (z,), (jnp.ones_like(z),))[1]
