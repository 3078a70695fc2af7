"""Tiles of runs on all host devices at once."""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import PyTree


def device_count() -> int:
    """Return the number of host devices that tiles are spread over."""
    return len(jax.devices())


def on_devices(function: Callable[[Any, Any], PyTree], shared: Any, tiles: Any) -> PyTree:
    """Apply a function to one tile on each host device, side by side in one program; call it inside `jit`.

    Args:
        function: A function of what all tiles share and of one tile.
        shared: What is the same for all tiles.
        tiles: As many tiles of rows as there are devices, in one batch: the first axis of every array is cut.

    Returns:
        What the function returns for each tile, joined along the first axis.
    """
    arrays, rest = eqx.partition(shared, eqx.is_array)
    everywhere, cut = PartitionSpec(), PartitionSpec("tile")
    mesh = Mesh(np.array(jax.devices()), ("tile",))

    @partial(jax.shard_map, mesh=mesh, in_specs=(everywhere, cut), out_specs=cut, check_vma=False)
    def on_each(arrays, tile):
        return function(eqx.combine(arrays, rest), tile)

    return on_each(arrays, tiles)
