"""Functions of rows, applied to a fixed number of them at a time, several such tiles at once."""

import enum
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import MappingProxyType
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

_SOONER = {"xla_cpu_use_fusion_emitters": False, "xla_cpu_parallel_codegen_split_count": 1}


def at_once() -> int:
    """Return how many tiles are worked on at once: as many as JAX has devices, one per core unless told otherwise."""
    return len(jax.devices())


class Thoroughness(enum.Enum):
    """How thoroughly XLA compiles, by what a program is for; last bits may differ.

    A program that is executed `ONCE` for each row takes a quarter of the time to compile that XLA takes by default. A
    `LOOP` takes half, and is as fast as by default where its arrays are small, else up to a fifth slower; one with
    large arrays is worth the whole (`LONG_LOOP`). In a `LOOP_OF_PAIRS`, some hundred pairs of neurons a step, products
    of small matrices are most of the work, and handing them to a library or to other threads costs more than they do.
    Programs are compiled side by side, so that none is cut into parts.
    """

    ONCE = MappingProxyType({"xla_backend_optimization_level": "0", **_SOONER})
    LOOP = MappingProxyType({"xla_backend_optimization_level": "1", **_SOONER})
    LOOP_OF_PAIRS = MappingProxyType(
        {**LOOP, "xla_cpu_experimental_ynn_fusion_type": "", "xla_cpu_multi_thread_eigen": False}
    )
    LONG_LOOP = MappingProxyType({})


def to_compile(
    program: Callable[..., PyTree],
    tile: int,
    shared: tuple,
    rows: PyTree,
    thoroughness: Thoroughness = Thoroughness.ONCE,
) -> Callable[[], Callable]:
    """Trace a function for tiles of rows, and return what compiles it.

    Tracing is done here, and not by a thread that compiles: settings of JAX that hold inside of a `with` hold in one
    thread only. From the second time on both are a look-up.

    Args:
        program: As in `in_tiles`, like the other arguments.
        tile: The number of rows of a tile.
        shared: What is the same for all rows.
        rows: Arrays whose first axis are the rows.
        thoroughness: How thoroughly to compile; settings that the user made are left alone.
    """
    first = jax.tree.map(lambda leaf: np.resize(leaf, (tile, *np.shape(leaf)[1:])), rows)
    lowered = program.lower(*shared, first)  # type: ignore[attr-defined]
    chosen = os.environ.get("XLA_FLAGS", "")
    options = {name: value for name, value in thoroughness.value.items() if name not in chosen}
    return partial(lowered.compile, options)


def in_tiles(
    program: Callable[..., PyTree], tile: int, shared: tuple, rows: PyTree, compiled: Callable | None = None
) -> PyTree:
    """Apply a function to rows, a tile of them at a time, and return NumPy arrays.

    XLA rounds differently for another number of rows, and in a program that is partitioned over devices. So the
    function is always applied to as many rows (the rest of the last tile is thrown away), and is compiled once, for
    one device; threads execute this one program side by side. What becomes of a row depends neither on the number of
    rows nor on the number of devices.

    Args:
        program: A function of what is shared, and of a tile of rows; made by `equinox.filter_jit`, or by `instantly`.
        tile: The number of rows of a tile.
        shared: What is the same for all rows: the first arguments.
        rows: Arrays whose first axis are the rows.
        compiled: The program as it was compiled for such tiles before.

    Returns:
        What the program returns, rows first.
    """
    rows = jax.tree.map(np.asarray, rows)
    number = len(jax.tree.leaves(rows)[0])
    pieces = [np.resize(np.arange(begin, min(begin + tile, number)), tile) for begin in range(0, number, tile)]
    tiles = [jax.tree.map(lambda leaf, piece=piece: leaf[piece], rows) for piece in pieces]
    execute = compiled or (to_compile(program, tile, shared, tiles[0])() if hasattr(program, "lower") else program)

    def outcome(rows: Any) -> PyTree:
        return jax.device_get(execute(*shared, rows))

    outcomes = _side_by_side(outcome, tiles)
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:number], *outcomes)


def _side_by_side(function: Callable[[Any], Any], arguments: list) -> list:
    threads = min(at_once(), len(arguments))
    if threads == 1:
        return [function(argument) for argument in arguments]
    # JAX executes what one thread asks for one after another, and what several threads ask for at once.
    pool = ThreadPoolExecutor(threads)
    try:
        return list(pool.map(function, arguments))
    finally:
        pool.shutdown(cancel_futures=True)  # after an interruption nothing more is begun
