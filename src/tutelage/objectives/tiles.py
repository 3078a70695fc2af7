"""Compiled functions of rows, applied to a fixed number of them at a time."""

from collections.abc import Callable

import jax
import numpy as np
from jaxtyping import PyTree


def in_tiles(function: Callable[[PyTree], PyTree], tile: int, rows: PyTree) -> PyTree:
    """Apply a compiled function to rows, a tile of them at a time, and return NumPy arrays.

    Always to as many, whatever their number: one program serves all, and rounds all alike. The rest of the last tile is
    thrown away.
    """
    rows = jax.tree.map(np.asarray, rows)
    number = len(jax.tree.leaves(rows)[0])
    pieces = [np.arange(begin, min(begin + tile, number)) for begin in range(0, number, tile)]
    padded = [np.resize(piece, tile) for piece in pieces]
    outcomes = [function(jax.tree.map(lambda leaf, lanes=lanes: leaf[lanes], rows)) for lanes in padded]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:number], *jax.device_get(outcomes))
