"""Tracing formulas without the wrappers of `jax.numpy`.

Each function of `jax.numpy` is one that JAX compiles by itself, and putting it into a traced program takes longer than
tracing what it does. `inlined` functions are traced as if none of them were, which pays where nothing is compiled: what
XLA gets had better be said once for all its uses. Loops would be unrolled by that: those of this module are not, and
what contains a function of somebody else, such as an activation or a law of your own, is traced as it is written.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax

F = TypeVar("F", bound=Callable)

# Containers of Python, modules and what they are made of.
_PACKAGES = ("builtins", "collections", "equinox", __name__.partition(".")[0])


def inlined(function: F) -> F:
    """Return a function in which nothing is compiled by itself."""

    @functools.wraps(function)
    def call(*arguments, **options):
        with jax.disable_jit():
            return function(*arguments, **options)

    return call  # type: ignore[return-value]


def is_ours(value: Any) -> bool:
    """Whether a value contains no function or class but those of this package, whose loops are the ones below."""
    if isinstance(value, (tuple, list)):
        return all(map(is_ours, value))
    if not callable(value):
        return True
    # Functions that were made by `exec` are of no module.
    return (getattr(value, "__module__", None) or "").partition(".")[0] in _PACKAGES


def is_of_ours(structure: Any) -> bool:
    """Whether a pytree contains no function or class but those of this package, by its structure."""
    node = structure.node_data()
    return (node is None or all(map(is_ours, node))) and all(map(is_of_ours, structure.children()))


def compiled(function: Callable) -> Callable:
    """Return a function that is compiled even where it is called by an inlined one."""
    program = jax.jit(function)

    def call(*arguments):
        with jax.disable_jit(False):
            return program(*arguments)

    return call


def _kept(step: F) -> F:
    """Return what a loop repeats: inlined if the loop is part of something that is."""
    return inlined(step) if jax.config.jax_disable_jit else step  # type: ignore[attr-defined]


def fori_loop(first: int, end: Any, step: Callable, start: Any) -> Any:
    """Return what `jax.lax.fori_loop` does."""
    step = _kept(step)
    with jax.disable_jit(False):
        return jax.lax.fori_loop(first, end, step, start)


def map_rows(function: Callable, rows: Any, together: int | None = None) -> Any:
    """Return what `jax.lax.map` does, with so many rows together."""
    function = _kept(function)
    with jax.disable_jit(False):
        return jax.lax.map(function, rows, batch_size=together)
