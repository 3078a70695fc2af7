"""The base of all values that hold arrays: an Equinox module whose methods cost little to look up."""

from functools import partial
from types import MethodType
from typing import Any

import equinox as eqx
import jax


class BoundMethod(partial):
    """A method of a module, itself a pytree that contains the module: what is compiled of it takes its arrays along."""

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return self.func.__doc__


jax.tree_util.register_pytree_node(
    BoundMethod, lambda method: (method.args, method.func), lambda function, owner: BoundMethod(function, *owner)
)


class Module(eqx.Module):
    """An Equinox module: a frozen dataclass that is a pytree.

    Equinox makes a module of its own each time a method is looked up, which takes longer than most of our formulas on
    small arrays; a partial function does as well.
    """

    def __getattribute__(self, name: str) -> Any:
        value = object.__getattribute__(self, name)
        if type(value) is MethodType and value.__self__ is self:
            return BoundMethod(value.__func__, self)
        return value
