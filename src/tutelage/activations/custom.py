"""An activation of the user's own."""

from collections.abc import Callable

import equinox as eqx
from jaxtyping import Array, Float

from tutelage.activations.base import Activation, Element, Parity, slope
from tutelage.checks import positive


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
        if self.strip is not None and self.strip != float("inf"):
            positive("strip", self.strip)

    def value(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.function(z)

    def derivative(self, z: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.slope(z) if self.slope is not None else slope(self.function, z)
