"""Gathering slices at places that are arrays themselves, and writing them, as XLA defines it, in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tutelage.instant.rules import Unsupported, window


def gather(parameters: dict[str, Any], shapes: list[tuple[int, ...]]) -> Callable:
    """Return the function of an array and of the beginnings of slices in it, one for each batch of indices."""
    numbers, sizes, (shape, index_shape) = parameters["dimension_numbers"], parameters["slice_sizes"], shapes
    moved, batching = list(numbers.start_index_map), list(numbers.operand_batching_dims)
    kept = [axis for axis in range(len(shape)) if axis not in (*numbers.collapsed_slice_dims, *batching)]
    batch, rank = index_shape[:-1], len(index_shape) - 1 + len(kept)
    limits = np.array([shape[axis] - sizes[axis] for axis in moved])
    # Batches come first here, then the axes of the slices; the result has the latter at `offset_dims`.
    slices, batches = iter(range(len(batch), rank)), iter(range(len(batch)))
    order = [next(slices) if axis in numbers.offset_dims else next(batches) for axis in range(rank)]
    filling, fill = "FILL" in str(parameters["mode"]).upper(), parameters["fill_value"]

    def along(axis: int, places: np.ndarray) -> np.ndarray:
        return places.reshape([-1 if other == axis else 1 for other in range(rank)])

    def function(x, indices):
        begins = np.clip(indices, 0, limits)
        places: list[Any] = []
        for axis in range(len(shape)):
            place: Any = np.zeros((1,) * rank, int)
            if axis in moved:
                place = begins[..., moved.index(axis)].reshape(batch + (1,) * len(kept))
            if axis in batching:
                own = numbers.start_indices_batching_dims[batching.index(axis)]
                place = place + along(own, np.arange(batch[own]))
            if axis in kept:
                place = place + along(len(batch) + kept.index(axis), np.arange(sizes[axis]))
            places.append(place)
        result = np.broadcast_to(x[tuple(places)], batch + tuple(sizes[axis] for axis in kept))
        if filling:
            inside = np.all((indices >= 0) & (indices <= limits), axis=-1).reshape(batch + (1,) * len(kept))
            result = np.where(inside, result, _missing(x.dtype) if fill is None else np.asarray(fill, x.dtype))
        return np.transpose(result, order)

    return function


def _missing(dtype: np.dtype) -> Any:
    """Return what stands where nothing is: not a number, or the whole number that is furthest off."""
    if np.issubdtype(dtype, np.inexact):
        return np.asarray(np.nan, dtype)
    if np.issubdtype(dtype, np.bool_):
        return np.True_
    limits = np.iinfo(dtype)
    return np.asarray(limits.min or limits.max, dtype)


def scatter(parameters: dict[str, Any], shapes: list[tuple[int, ...]]) -> Callable:
    """Return what writes one window of an array: what differentiating a loop over rows asks for.

    Raises:
        Unsupported: If several windows are written, or one that may lie outside of the array.
    """
    numbers, (operand, places, updates) = parameters["dimension_numbers"], shapes
    if len(places) != 1 or numbers.operand_batching_dims or "CLIP" not in str(parameters["mode"]).upper():
        raise Unsupported("scatter")
    kept = [axis for axis in range(len(operand)) if axis not in numbers.inserted_window_dims]
    sizes = [1] * len(operand)
    for axis, own in zip(kept, numbers.update_window_dims, strict=True):
        sizes[axis] = updates[own]

    def function(x, places, update):
        starts = [0] * len(operand)
        for axis, place in zip(numbers.scatter_dims_to_operand_dims, places, strict=True):
            starts[axis] = place
        result = np.array(x)
        result[window(starts, sizes, operand)] = np.reshape(update, sizes)
        return result

    return function
