"""Activations by name."""

import re
from collections.abc import Callable

from tutelage.activations.base import Activation
from tutelage.activations.discontinuous import Sign, Step
from tutelage.activations.piecewise_linear import Absolute, LeakyReLU, Linear, ReLU
from tutelage.activations.polynomial import hermite, monomial
from tutelage.activations.smooth import GELU, Erf, Quadratic, Sigmoid, Softplus, Tanh
from tutelage.activations.trigonometric import Cosine, Sine
from tutelage.errors import invalid

_REGISTRY: dict[str, Callable[[], Activation]] = {
    "relu": ReLU,
    "leaky_relu": LeakyReLU,
    "abs": Absolute,
    "linear": Linear,
    "sign": Sign,
    "step": Step,
    "erf": Erf,
    "quadratic": Quadratic,
    "cosine": Cosine,
    "sine": Sine,
    "tanh": Tanh,
    "sigmoid": Sigmoid,
    "softplus": Softplus,
    "gelu": GELU,
}
_POLYNOMIALS = {"monomial": monomial, "hermite": hermite}


def names() -> tuple[str, ...]:
    """Return the names of the registered activations."""
    return tuple(_REGISTRY)


def get(activation: str | Activation) -> Activation:
    """Return an activation, by its registered name or as it is.

    Args:
        activation: A name such as `"relu"`, `"monomial-3"` or `"hermite-4"`, or an `Activation`.

    Raises:
        InvalidArgument: If the name is not registered.
    """
    if isinstance(activation, Activation):
        return activation
    if isinstance(activation, str) and activation in _REGISTRY:
        return _REGISTRY[activation]()
    if isinstance(activation, str) and (found := re.fullmatch(r"(monomial|hermite)-(\d{1,9})", activation)):
        return _POLYNOMIALS[found[1]](int(found[2]))
    raise invalid(
        "activation",
        f"be an Activation or one of {', '.join(names())}, monomial-3, hermite-3 (or another degree)",
        repr(activation),
        "Choose a registered name, or wrap a function of your own in tutelage.activations.Custom",
    )
