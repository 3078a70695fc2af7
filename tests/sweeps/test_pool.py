"""Pieces of work in processes."""

import math
import os

import pytest

from tutelage.sweeps import PieceFailed, in_processes


def test_every_piece_is_done_once():
    """All results come, each under the name of its piece, whatever the number of processes."""
    pieces = {f"piece {n}": (n, 2) for n in range(5)}
    expected = {name: math.pow(*arguments) for name, arguments in pieces.items()}
    assert dict(in_processes(math.pow, pieces, workers=1)) == expected
    results = list(in_processes(math.pow, pieces, workers=2))
    assert len(results) == 5 and dict(results) == expected


def test_nothing_to_do():
    """No pieces, no processes."""
    assert list(in_processes(math.pow, {}, workers=2)) == []


def test_workers_are_other_processes_with_one_device():
    """A worker is a process of its own, and JAX will see one device in it."""
    seen = dict(in_processes(os.getenv, {"a": ("JAX_NUM_CPU_DEVICES",), "b": ("JAX_NUM_CPU_DEVICES",)}, workers=2))
    assert seen == {"a": "1", "b": "1"}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failing_piece_is_named(workers):
    """An error says which piece failed, and why."""
    with pytest.raises(PieceFailed, match=r"bad: ValueError"):
        list(in_processes(math.sqrt, {"good": (1.0,), "bad": (-1.0,)}, workers=workers))
