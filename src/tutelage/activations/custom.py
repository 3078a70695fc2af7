"""An activation of the user's own."""

from collections.abc import Callable
from typing import get_args

import equinox as eqx
from jaxtyping import Array, Float

from tutelage.activations.base import Activation, Element, Kind, Parity, slope
from tutelage.checks import one_of, positive
from tutelage.errors import invalid


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

    name: str = eqx.field(static=True)
    function: Callable = eqx.field(static=True)
    strip: float | None = eqx.field(static=True, default=None)
    slope: Callable | None = eqx.field(static=True, default=None)
    homogeneity: int | None = eqx.field(static=True, default=None)
    parity: Parity = eqx.field(static=True, default="none")
    monotone: bool = eqx.field(static=True, default=False)
    lipschitz: float = eqx.field(static=True, default=float("inf"))
    elements: tuple[Element, ...] | None = eqx.field(static=True, default=None)
    kink = None

    def __check_init__(self):
        for argument, function in (("function", self.function), ("slope", self.slope)):
            if not callable(function) and not (argument == "slope" and function is None):
                raise invalid(argument, "be an elementwise function", repr(function), "Pass for example jax.nn.silu")
        one_of("parity", self.parity, get_args(Parity))
        for element in self.elements or ():
            one_of("elements", element.kind, get_args(Kind))
        if self.strip is not None and self.strip != float("inf"):
            positive("strip", self.strip)

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.function(z)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.slope(z) if self.slope is not None else slope(self.function, z)
