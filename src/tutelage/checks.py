"""Checks of user input, shared by all that is public: a value becomes what it should be, or one clear error."""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, PRNGKeyArray

from tutelage.arrays import of_jax
from tutelage.errors import TutelageError, invalid, shown

T = TypeVar("T")

LARGEST = 1e60
"""Numbers beyond this are refused: losses and their bounds multiply up to five of them, and would overflow."""

_FINITE = float(np.finfo(np.float64).max)

MOST = 2**62
"""Whole numbers beyond this are refused: sums of two must fit into 64 bits."""


def finite_array(argument: str, value: Any, *, dimensions: int | None = None) -> Float[Array, "..."]:
    """Return `value` as a float64 array of JAX, or raise; see `checked_array`."""
    return of_jax(checked_array(argument, value, dimensions=dimensions))


def checked_array(argument: str, value: Any, *, dimensions: int | None = None, largest: float = LARGEST) -> Any:
    """Return `value` as a float64 array, or raise if it is not real, finite, of usual size and of the right rank.

    Returns:
        An array of NumPy; of a traced array only the type and the shape are looked at, and it is returned itself.
    """
    array = _real(argument, value)
    if dimensions is not None and array.ndim != dimensions:
        raise invalid(
            argument,
            f"have {dimensions} dimension{'s' if dimensions != 1 else ''}",
            f"shape {array.shape}",
            "Reshape it or pass another array",
        )
    if array.size == 0:
        raise invalid(argument, "not be empty", f"shape {array.shape}", "Pass at least one entry")
    if isinstance(array, Tracer):
        return array
    # One comparison finds what is not a number, too.
    fine = np.abs(array) <= min(largest, _FINITE)
    if not fine.all():
        where = tuple(int(i) for i in np.argwhere(~fine)[0])
        place = f"{array[where]} at index {where}" if where else f"{array[where]}"
        if np.isfinite(array[where]):
            raise invalid(argument, f"be at most {largest:g} in absolute value", place, "Pass numbers of usual size")
        raise invalid(argument, "be finite", place, "Remove NaN and infinite entries")
    return array


def real_array(argument: str, value: Any) -> Float[Array, "..."]:
    """Return `value` as a float64 array, or raise if its entries are not real; infinities and NaN are let through.

    Returns:
        An array of JAX where one was given, else one of NumPy.
    """
    array = _real(argument, value)
    return of_jax(array) if isinstance(value, jax.Array) else array


def _real(argument: str, value: Any) -> Any:
    """Return `value` as a float64 array of NumPy, or of JAX if it is traced, or raise if its entries are not real."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise invalid(argument, "have no masked entries", f"{np.ma.count_masked(value)} of them", "Fill them first")
    try:
        if isinstance(value, (list, tuple)) and any(isinstance(part, Tracer) for part in jax.tree.leaves(value)):
            value = jnp.asarray(value)
        array: Any = value if isinstance(value, Tracer) else np.asarray(value)
        if not _is_real(array):
            raise TypeError("text, dates, keys and complex numbers are no real numbers")
        if isinstance(array, Tracer):
            return array.astype(jnp.float64)
        with np.errstate(over="ignore"):  # what is too large for float64 becomes infinite, and is refused as such
            return array.astype(np.float64)
    except Exception as error:
        raise invalid(argument, "be an array of real numbers", shown(value), "Pass a NumPy or JAX array") from error


def _is_real(array: Any) -> bool:
    if array.dtype == object:
        # Fractions and decimal numbers of the standard library are ratios, too.
        return all(isinstance(one, (np.number, np.bool_)) or hasattr(one, "as_integer_ratio") for one in array.flat)
    kinds = (jnp.floating, jnp.integer, jnp.bool_)
    return any(jnp.issubdtype(array.dtype, kind) for kind in kinds)


def finite_number(argument: str, value: Any) -> float:
    """Return `value` as a float, or raise if it is not one finite number of usual size."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError("truth values are no numbers")
        number = _real(argument, value)
        if number.ndim != 0:
            raise TypeError("several numbers")
        number = float(number)
    except Exception as error:
        raise invalid(argument, "be a number", shown(value), "Pass one real number") from error
    if not math.isfinite(number):
        raise invalid(argument, "be finite", shown(value), "Pass one finite number")
    if abs(number) > LARGEST:
        raise invalid(argument, f"be at most {LARGEST:g} in absolute value", shown(value), "Pass another number")
    return number


def positive(argument: str, value: Any) -> float:
    """Return `value` as a float, or raise if it is not a finite number above zero."""
    number = finite_number(argument, value)
    if number <= 0:
        raise invalid(argument, "be positive", shown(value), "Pass a number above zero")
    return number


def not_negative(argument: str, value: Any) -> float:
    """Return `value` as a float, or raise if it is not a finite number of at least zero."""
    number = finite_number(argument, value)
    if number < 0:
        raise invalid(argument, "not be negative", shown(value), "Pass a number of at least zero")
    return number


def between(argument: str, value: Any, low: float, high: float) -> float:
    """Return `value` as a float, or raise if it does not lie between two numbers."""
    number = finite_number(argument, value)
    if not low <= number <= high:
        ends = " and ".join({0: "zero", 1: "one", math.pi: "π"}.get(end, f"{end:g}") for end in (low, high))
        raise invalid(argument, f"lie between {ends}", shown(value), "Pass a number between these")
    return number


def count(argument: str, value: Any, *, least: int = 1, most: int = MOST) -> int:
    """Return `value` as an int, or raise if it is not a whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise invalid(argument, "be a whole number", shown(value), f"Pass an integer of at least {least}")
    if value < least:
        raise invalid(argument, f"be at least {least}", shown(value), "Pass a larger integer")
    if value > most:
        limit = f"2^{most.bit_length() - 1}" if most == MOST else str(most)
        raise invalid(argument, f"be at most {limit}", shown(value), "Pass a smaller integer")
    return int(value)


def random_seed(argument: str, value: Any) -> int:
    """Return `value` as an int, or raise if it is not a whole number that JAX takes as a seed."""
    seed = count(argument, value, least=0, most=2**64)
    if seed >= 2**63:
        raise invalid(argument, "be below 2^63", shown(value), "Pass a smaller integer")
    return seed


def random_key(argument: str, value: Any) -> PRNGKeyArray:
    """Return `value`, or raise if it is not one JAX random key, of the typed kind or the older one."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    typed = isinstance(value, jax.Array) and shape == () and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)
    if not typed and (shape, dtype) != ((2,), jnp.uint32):
        raise invalid(argument, "be a random key", shown(value), "Pass jax.random.key(seed)")
    return value


def flag(argument: str, value: Any) -> bool:
    """Return `value` as a bool, or raise if it is not a truth value."""
    if not isinstance(value, (bool, np.bool_)):
        raise invalid(argument, "be True or False", shown(value), "Pass one of these")
    return bool(value)


_MOST_LISTED = 20


def one_of(argument: str, value: Any, allowed: Iterable[T]) -> T:
    """Return the one of `allowed` that `value` equals, or raise, with the closest name, if there is none.

    This is how names are looked up: a registry is a mapping, and its keys are what is allowed.
    """
    allowed = tuple(allowed)
    for one in allowed:
        # Arrays would compare entry by entry.
        if isinstance(value, type(one)) and value == one:
            return one
    close = difflib.get_close_matches(value, map(str, allowed)) if isinstance(value, str) else []
    # A long list is not read: of many names those are shown that may be meant.
    listed = close if close and len(allowed) > _MOST_LISTED else allowed
    names = ", ".join(repr(name) for name in listed)
    names += f" (or {len(allowed) - len(listed)} others)" if len(listed) < len(allowed) else ""
    remedy = f"Perhaps {close[0]!r} is meant" if close else "Choose one of these"
    raise invalid(argument, f"be one of {names}", shown(value), remedy)


def text(argument: str, value: Any) -> str:
    """Return `value`, or raise if it is not a text."""
    if not isinstance(value, str):
        raise invalid(argument, "be a text", shown(value), "Pass a string")
    return value


def of_kind(argument: str, value: Any, kind: type[T] | tuple[type[T], ...], what: str, remedy: str) -> T:
    """Return `value`, or raise if it is not an instance of a class.

    Args:
        argument: Name of the argument.
        value: What was received.
        kind: The class, or several.
        what: What it must be, as "a Problem".
        remedy: What to do, as in `invalid`.
    """
    if not isinstance(value, kind):
        raise invalid(argument, f"be {what}", shown(value), remedy)
    return value


def sequence(argument: str, value: Any, what: str) -> tuple[Any, ...]:
    """Return the entries of a list, a tuple or another collection in an order, or raise if it is none.

    Args:
        argument: Name of the argument.
        value: What was received.
        what: What it must be, as "a list of stops".
    """
    if isinstance(value, (str, bytes, dict)) or not isinstance(value, Iterable):
        raise invalid(argument, f"be {what}", shown(value), "Pass a list")
    try:
        return tuple(value)
    except Exception as error:  # an array without axes, for instance, says that it can be iterated over
        raise invalid(argument, f"be {what}", shown(value), "Pass a list") from error


def function(argument: str, value: Any, what: str, remedy: str = "Pass a function") -> Callable:
    """Return `value`, or raise if it cannot be called; `what` as in `of_kind`."""
    if not callable(value):
        raise invalid(argument, f"be {what}", shown(value), remedy)
    return value


def tried(argument: str, call: Callable[[], T]) -> T:
    """Return what a call of the user's function returns, or raise the one clear error that names the function."""
    try:
        return call()
    except TutelageError:
        raise
    except Exception as error:
        raise invalid(
            argument,
            "be a function that can be called as documented",
            f"one that raised {type(error).__name__}: {error}",
            "Check its arguments and what it returns",
        ) from error


def settle(instance: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass to what their checks have made of them; for its `__post_init__` alone."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


def affordable(argument: str, value: Any, numbers: float, what: str) -> None:
    """Raise if so many numbers of eight bytes do not fit into the memory of this machine.

    Args:
        argument: The argument that makes them so many.
        value: What was received for it.
        numbers: How many numbers have to be held at once.
        what: What they are, as "these starts".
    """
    needed, there = 8 * numbers, memory()
    if needed > there:
        raise invalid(
            argument,
            "be small enough for the memory",
            f"{shown(value)}: {what} would take {needed:.1e} bytes, and this machine has {there / 1e9:.0f} GB",
            "Pass a smaller number",
        )


@cache
def memory() -> float:
    """Return the bytes of memory of this machine, or of the part of it that a container may use."""
    limits = [math.inf]
    with suppress(OSError, ValueError, AttributeError):  # not every system tells
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for place in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # "max" is no number
            limits.append(int(Path(place).read_text(encoding="ascii")))
    # An address has at most 47 bits, whatever the system says.
    return float(min(*limits, 2**47))
