"""An activation of the user's own."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from tutelage.activations.base import Activation, Element, ElementKind, Parity, slope
from tutelage.checks import (
    count,
    finite_number,
    flag,
    function,
    not_negative,
    of_kind,
    one_of,
    positive,
    sequence,
    text,
    tried,
)
from tutelage.errors import invalid


def _elementwise(argument: str, value: Any) -> Callable:
    """Return a function, or raise if it does not make as many real numbers of an array of numbers."""
    function(argument, value, "an elementwise function", "Pass for example jax.nn.silu")
    result = tried(argument, lambda: jax.eval_shape(value, jax.ShapeDtypeStruct((3,), jnp.float64)))
    if getattr(result, "shape", None) != (3,) or not jnp.issubdtype(result.dtype, jnp.floating):
        raise invalid(
            argument, "return one real number for each", f"{result} for an array of 3", "Pass for example jax.nn.silu"
        )
    return value


def _slope(value: Any) -> Callable | None:
    return None if value is None else _elementwise("slope", value)


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and value == math.inf


def _strip(value: Any) -> float | None:
    return value if value is None or _is_infinite(value) else positive("strip", value)


def _lipschitz(value: Any) -> float:
    return value if _is_infinite(value) else not_negative("lipschitz", value)


def _homogeneity(value: Any) -> int | None:
    return None if value is None else count("homogeneity", value, least=0)


def _parity(value: Any) -> Parity:
    return one_of("parity", value, get_args(Parity))


def _elements(value: Any) -> tuple[Element, ...] | None:
    if value is None:
        return None
    elements = sequence("elements", value, "a list of elements")
    for element in elements:
        of_kind("elements", element, Element, "a list of elements", "Pass tutelage.activations.Element")
    return tuple(
        Element(
            finite_number("elements", element.coefficient),
            one_of("elements", element.kind, get_args(ElementKind)),
            finite_number("elements", element.scale),
        )
        for element in elements
    )


class Custom(Activation):
    r"""Any elementwise JAX function as an activation.

    With a `strip` its population losses are taken by quadrature; without one, only sampled objectives and laws
    with finite support accept it.

    Args:
        name: How to call it in messages.
        function: An elementwise, JAX-differentiable function.
        strip: Half-width of the strip around the real axis in which `function` is analytic, if it is;
            infinite for a polynomial.
        slope: The elementwise derivative, where `jax.grad` of `function` is not the wanted one (at kinks).
        homogeneity: The degree $p$ with $\sigma(cz) = c^p\sigma(z)$ for all $c > 0$, if there is one.
        parity: `"even"`, `"odd"` or `"none"`.
        monotone: Whether the function never decreases.
        lipschitz: A bound of the derivative.
        elements: The function as a sum of elementary functions, if it is one: its closed forms then follow. It is
            taken at its word, and so are the four arguments before it.
    """

    name: str = eqx.field(static=True, converter=partial(text, "name"))
    function: Callable = eqx.field(static=True, converter=partial(_elementwise, "function"))
    strip: float | None = eqx.field(static=True, default=None, converter=_strip)
    slope: Callable | None = eqx.field(static=True, default=None, converter=_slope)
    homogeneity: int | None = eqx.field(static=True, default=None, converter=_homogeneity)
    parity: Parity = eqx.field(static=True, default="none", converter=_parity)
    monotone: bool = eqx.field(static=True, default=False, converter=partial(flag, "monotone"))
    lipschitz: float = eqx.field(static=True, default=math.inf, converter=_lipschitz)
    elements: tuple[Element, ...] | None = eqx.field(static=True, default=None, converter=_elements)
    kink = None

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.function(z)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.slope(z) if self.slope is not None else slope(self.function, z)
