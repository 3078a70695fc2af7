"""Formulas of what they name, and what they may return."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from tutelage.errors import TutelageError, invalid, shown


@dataclass(frozen=True)
class Formula:
    """A function of what it names, or a constant.

    Attributes:
        argument: How an error calls it.
        function: The function or constant.
    """

    argument: str
    function: Any

    @cached_property
    def names(self) -> dict[str, bool] | None:
        """The names that it takes, and whether it must have them; `None` if it takes all."""
        entries = self._entries
        if entries is None or any(entry.kind is entry.VAR_KEYWORD for entry in entries):
            return None
        return {entry.name: entry.default is entry.empty for entry in entries if entry.kind is not entry.VAR_POSITIONAL}

    @property
    def defaults(self) -> dict[str, Any]:
        """The values of what it takes if it is not given."""
        return {entry.name: entry.default for entry in self._entries or () if entry.default is not entry.empty}

    @property
    def _entries(self) -> tuple[inspect.Parameter, ...] | None:
        if not callable(self.function):
            return ()
        try:
            return tuple(inspect.signature(self.function).parameters.values())
        except (TypeError, ValueError):  # of some functions that are not written in Python
            return None

    def takes(self, name: str) -> bool:
        """Return whether its value may depend on something of a name."""
        return self.names is None or name in self.names or "instance" in self.names

    def __call__(self, values: Mapping[str, Any]) -> Any:
        """Return its value, or raise the one clear error that says how it does not fit what is drawn."""
        if not callable(self.function):
            return self.function
        chosen = dict(values) if self.names is None else {}
        for name, needed in (self.names or {}).items():
            if name in values:
                chosen[name] = values[name]
            elif name == "instance":
                chosen[name] = values
            elif needed:
                known = ", ".join(values) or "nothing"
                raise invalid(self.argument, f"take names that are drawn ({known})", f"`{name}`", "Rename it")
        try:
            return self.function(**chosen)
        except TutelageError as error:
            received = f"the error: {error}".rstrip(".")
            raise invalid(self.argument, "fit what is drawn", received, "Change one of them") from error
        except jax.errors.ConcretizationTypeError as error:
            remedy = "Write jnp.where(condition, one, other) instead of `if`, and leave numbers as they are"
            received = "a Python `if`, `float` or `int` of one"
            raise invalid(self.argument, "not decide by a traced value or convert it", received, remedy) from error


def _described(value: Any) -> str:
    if isinstance(value, (Tracer, jax.Array)):
        return f"an array of {value.dtype} of shape {value.shape}"
    return shown(value)


def number(argument: str, value: Any) -> Any:
    """Return a side as an array, or raise if it is no array of real numbers."""
    side = value
    if not hasattr(value, "dtype") and not isinstance(value, (bool, str, Mapping)) and value is not None:
        with suppress(TypeError, ValueError):
            side = np.asarray(value, dtype=float)
    if getattr(getattr(side, "dtype", None), "kind", "") not in {"f", "i", "u"} or np.size(side) == 0:
        remedy = "Return one side of the relation"
        raise invalid(argument, "return a number or an array of real numbers", _described(value), remedy)
    return side


def condition(value: Any) -> Any:
    """Return a condition, or raise if it is none."""
    if not isinstance(value, (bool, np.bool_)) and getattr(getattr(value, "dtype", None), "kind", "") != "b":
        raise invalid("where", "return a truth value", _described(value), "Compare something, as in norm(w) < 10")
    return value
