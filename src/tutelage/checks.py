"""Checks of user input, shared by every constructor: arrays become finite float64 or a clear error."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from tutelage.errors import invalid


def finite_array(argument: str, value: Any, *, dimensions: int | None = None) -> Float[Array, "..."]:
    """Return `value` as a float64 array, or raise if it is not real, finite and of the right rank."""
    try:
        if np.iscomplexobj(value):
            raise TypeError("NumPy would drop the imaginary parts")
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise invalid(argument, "be an array of real numbers", _shown(value), "Pass a NumPy or JAX array") from error
    if dimensions is not None and array.ndim != dimensions:
        raise invalid(
            argument,
            f"have {dimensions} dimension{'s' if dimensions != 1 else ''}",
            f"shape {array.shape}",
            "Reshape it or pass another array",
        )
    if array.size == 0:
        raise invalid(argument, "not be empty", f"shape {array.shape}", "Pass at least one entry")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise invalid(argument, "be finite", f"{array[where]} at index {where}", "Remove NaN and infinite entries")
    return jnp.asarray(array)


def _shown(value: Any) -> str:
    """Return a value of any kind in a line: arrays take several, and whole numbers may have thousands of digits."""
    line = " ".join(repr(value).split())
    return line if len(line) <= 100 else f"{line[:100]}…"


def positive(argument: str, value: Any) -> float:
    """Return `value` as a float, or raise if it is not a finite number above zero."""
    number = finite_number(argument, value)
    if number <= 0:
        raise invalid(argument, "be positive", repr(value), "Pass a number above zero")
    return number


def finite_number(argument: str, value: Any) -> float:
    """Return `value` as a float, or raise if it is not one finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise invalid(argument, "be a number", _shown(value), "Pass one real number") from error
    if not math.isfinite(number):
        raise invalid(argument, "be finite", repr(value), "Pass one finite number")
    return number


def count(argument: str, value: Any, *, least: int = 1) -> int:
    """Return `value` as an int, or raise if it is not a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise invalid(argument, "be a whole number", repr(value), f"Pass an integer of at least {least}")
    if value < least:
        raise invalid(argument, f"be at least {least}", repr(value), "Pass a larger integer")
    return int(value)


def random_seed(argument: str, value: Any) -> int:
    """Return `value` as an int, or raise if it is not a whole number that JAX takes as a seed."""
    seed = count(argument, value, least=0)
    if seed >= 2**63:
        raise invalid(argument, "be below 2^63", repr(value), "Pass a smaller integer")
    return seed


def one_of(argument: str, value: Any, allowed: Any) -> Any:
    """Return `value`, or raise if it is not among `allowed`."""
    if value not in allowed:
        names = ", ".join(repr(name) for name in allowed)
        raise invalid(argument, f"be one of {names}", repr(value), "Choose one of these")
    return value
