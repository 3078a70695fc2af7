"""Bad names and parameters of activations give the one clear error."""

from __future__ import annotations

import math
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
import pytest

from tutelage import activations
from tutelage.errors import InvalidArgument

BAD: list[tuple[str, str, Callable[[], object]]] = [
    ("activation", "'rellu'", lambda: activations.get("rellu")),
    ("activation", "3", lambda: activations.get(3)),  # type: ignore[arg-type]
    ("activation", "None", lambda: activations.get(None)),  # type: ignore[arg-type]
    ("kink", "nan", lambda: activations.ReLU(kink=math.nan)),
    ("kink", "'half'", lambda: activations.ReLU(kink="half")),  # type: ignore[arg-type]
    ("kink", "inf", lambda: activations.Absolute(kink=math.inf)),
    ("kink", "nan", lambda: activations.LeakyReLU(0.1, kink=math.nan)),
    ("negative_slope", "inf", lambda: activations.LeakyReLU(math.inf)),
    ("negative_slope", "None", lambda: activations.LeakyReLU(None)),  # type: ignore[arg-type]
    ("frequency", "0", lambda: activations.Cosine(0)),
    ("frequency", "-1.0", lambda: activations.Sine(-1.0)),
    ("frequency", "nan", lambda: activations.Sine(math.nan)),
    ("strip", "-1.0", lambda: activations.Custom("mine", jnp.tanh, strip=-1.0)),
    ("strip", "0", lambda: activations.Custom("mine", jnp.tanh, strip=0)),
    ("function", "'tanh'", lambda: activations.Custom("mine", "tanh")),  # type: ignore[arg-type]
    ("slope", "1.0", lambda: activations.Custom("mine", jnp.tanh, slope=1.0)),  # type: ignore[arg-type]
    ("parity", "'oddly'", lambda: activations.Custom("mine", jnp.tanh, parity="oddly")),  # type: ignore[arg-type]
    (
        "elements",
        "'cube'",
        lambda: activations.Custom("mine", jnp.tanh, elements=(activations.Element(1.0, "cube"),)),  # type: ignore[arg-type]
    ),
]


@pytest.mark.parametrize(("argument", "received", "call"), BAD)
def test_the_error_names_the_argument_and_what_was_received(
    argument: str, received: str, call: Callable[[], object]
) -> None:
    """One InvalidArgument with the argument in backticks, the received value and a remedy."""
    with pytest.raises(InvalidArgument, match=rf"^`{argument}` must .*, but received {received}\. .*\.$"):
        call()


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    """The message lists every registered name."""
    with pytest.raises(InvalidArgument) as caught:
        activations.get("rellu")
    assert all(name in str(caught.value) for name in activations.names())


def test_parameters_become_plain_numbers() -> None:
    """Arrays of one number are taken as that number, so that activations can be hashed and compiled with."""
    assert hash(activations.Cosine(jnp.asarray(2.0))) == hash(activations.Cosine(2.0))
    assert activations.Sine(np.array(3.0)) == activations.Sine(3)
    assert activations.ReLU(np.array(1)).kink == 1.0
    assert type(activations.Absolute(kink=np.float64(0.5)).kink) is float


def test_an_activation_passes_through() -> None:
    """An Activation is returned as it is."""
    activation = activations.ReLU(kink=0.5)
    assert activations.get(activation) is activation
