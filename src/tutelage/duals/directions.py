"""Directions of derivatives that are known to be zero: what they are multiplied with need not be written down."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jaxtyping import PyTree


def moves(direction: PyTree) -> bool:
    """Whether a direction, as a rule of differentiation is given it, may be other than zero."""
    return any(not isinstance(leaf, SymbolicZero) for leaf in jax.tree.leaves(direction))


def without_symbols(direction: PyTree) -> PyTree:
    """Return a direction with arrays of zeros in place of the symbols for them."""
    return jax.tree.map(_array, direction)


def _array(leaf: Any) -> Any:
    return jnp.zeros(leaf.shape) if isinstance(leaf, SymbolicZero) else leaf
