"""Random keys and bits in NumPy: JAX's generator Threefry, bit for bit.

A key is one number of 64 bits here, its first word above, so that arrays of keys have the shapes that JAX gives them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from tutelage.instant.rules import Function, Unsupported

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_WORD = np.uint64(32)


def packed(words: np.ndarray) -> np.ndarray:
    """Return keys from their two words of 32 bits on the last axis."""
    return _joined(words[..., 0], words[..., 1])


def unpacked(keys: np.ndarray) -> np.ndarray:
    """Return the two words of keys, on a last axis."""
    return np.stack(_words(keys), axis=-1)


def _joined(first, second):
    return (first.astype(np.uint64) << _WORD) | second


def _words(numbers) -> tuple[np.ndarray, np.ndarray]:
    return np.right_shift(numbers, _WORD).astype(np.uint32), np.asarray(numbers).astype(np.uint32)


def _cipher(first_key, second_key, first, second):
    """Return what the block cipher Threefry-2x32 makes of two words, under a key of two."""
    keys = (first_key, second_key, first_key ^ second_key ^ np.uint32(0x1BD11BDA))
    first, second = first + keys[0], second + keys[1]
    for block in range(5):
        for places in _ROTATIONS[block % 2]:
            first = first + second
            second = ((second << np.uint32(places)) | (second >> np.uint32(32 - places))) ^ first
        first = first + keys[(block + 1) % 3]
        second = second + (keys[(block + 2) % 3] + np.uint32(block + 1))
    return first, second


def _blocks(keys, counts):
    """Return the numbers of 64 bits that keys make of counts."""
    return _joined(*_cipher(*_words(keys), *_words(counts)))


def _counted(shape: tuple[int, ...]) -> Function:
    """Return what makes an array of blocks from each of an array of keys."""
    counts = np.arange(math.prod(shape), dtype=np.uint64).reshape(shape)

    def function(keys):
        keys = np.asarray(keys)
        return _blocks(keys.reshape(keys.shape + (1,) * len(shape)), counts)

    return function


def _bits(parameters: dict[str, Any], shapes) -> Function:
    width, blocks = parameters["bit_width"], _counted(tuple(parameters["shape"]))
    if width == 64:
        return blocks
    if width != 32:
        raise Unsupported("random_bits")

    def function(keys):
        first, second = _words(blocks(keys))
        return first ^ second

    return function


def _of_ours(function: Function) -> Callable[..., Function]:
    """Return the rule of an operation that makes keys: those of another generator are left to XLA."""

    def rule(parameters: dict[str, Any], shapes) -> Function:
        if str(parameters["impl"].tag) != "fry":
            raise Unsupported("keys of another generator")
        return function

    return rule


def _seed(seed: Any) -> np.ndarray:
    return np.asarray(seed).astype(f"u{np.asarray(seed).dtype.itemsize}").astype(np.uint64)


def _fold_in(keys, number):
    return _blocks(keys, np.asarray(number).astype(np.uint32))


def of_jax(keys: np.ndarray) -> Any:
    """Return keys as JAX has them."""
    words: Any = unpacked(keys)
    return jax.random.wrap_key_data(words)


def is_key(array: Any) -> bool:
    """Whether an array, or what is known of one, is one of keys."""
    return jax.numpy.issubdtype(array.dtype, jax.dtypes.prng_key)


def is_known(dtype: Any) -> bool:
    """Whether keys of a type are those of the generator written here, used as JAX uses it unless told otherwise."""
    return str(dtype) == "key<fry>" and bool(jax.config.jax_threefry_partitionable)  # type: ignore[attr-defined]


RULES = {
    "random_bits": _bits,
    "random_seed": _of_ours(_seed),
    "random_fold_in": lambda parameters, shapes: _fold_in,
    "random_split": lambda parameters, shapes: _counted(tuple(parameters["shape"])),
    "random_wrap": _of_ours(packed),
    "random_unwrap": lambda parameters, shapes: unpacked,
}
