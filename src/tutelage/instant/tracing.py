"""Tracing formulas without the wrappers of `jax.numpy`.

Each function of `jax.numpy` is one that JAX compiles by itself, and putting it into a traced program takes longer than
tracing what it does. `inlined` functions are traced as if none of them were; the program is the same. Loops would be
unrolled by that: those of this module are not, and what they repeat is inlined again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax

F = TypeVar("F", bound=Callable)


def inlined(function: F) -> F:
    """Return a function in which nothing is compiled by itself."""

    @functools.wraps(function)
    def call(*arguments, **options):
        with jax.disable_jit():
            return function(*arguments, **options)

    return call  # type: ignore[return-value]


def compiled(function: Callable) -> Callable:
    """Return a function that is compiled even where it is called by an inlined one."""
    program = jax.jit(inlined(function))

    def call(*arguments):
        with jax.disable_jit(False):
            return program(*arguments)

    return call


def scan(step: Callable, start: Any, rows: Any) -> tuple[Any, Any]:
    """Return what `jax.lax.scan` does."""
    with jax.disable_jit(False):
        return jax.lax.scan(inlined(step), start, rows)


def fori_loop(first: int, end: int, step: Callable, start: Any) -> Any:
    """Return what `jax.lax.fori_loop` does."""
    with jax.disable_jit(False):
        return jax.lax.fori_loop(first, end, inlined(step), start)


def map_rows(function: Callable, rows: Any, together: int | None = None) -> Any:
    """Return what `jax.lax.map` does, with so many rows together."""
    with jax.disable_jit(False):
        return jax.lax.map(inlined(function), rows, batch_size=together)
