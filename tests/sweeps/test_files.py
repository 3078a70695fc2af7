"""Files appear complete or not at all, and damaged ones are never read."""

import numpy as np
import pytest

from tutelage.errors import MalformedData
from tutelage.sweeps import files, read_arrays, write_arrays, write_bytes, write_json

ARRAYS = {"x": np.arange(6.0).reshape(2, 3), "ok": np.array([True, False]), "n": np.array(3)}


def test_arrays_round_trip(tmp_path):
    """Arrays come back as they were, under the specification they were written for, and under no other."""
    path = tmp_path / "deep" / "piece.npz"
    write_arrays(path, ARRAYS, "abc")
    found = read_arrays(path, "abc")
    assert found.keys() == ARRAYS.keys()
    for name, value in ARRAYS.items():
        np.testing.assert_array_equal(found[name], value)
        assert found[name].dtype == value.dtype
    assert read_arrays(path, "abd") is None
    assert read_arrays(tmp_path / "absent.npz", "abc") is None


@pytest.mark.parametrize("damage", ["truncated", "flipped", "emptied", "text"])
def test_damaged_arrays_are_refused(tmp_path, damage):
    """Whatever happened to a file, it is reported by name and not read as data."""
    path = tmp_path / "piece.npz"
    write_arrays(path, {"x": np.random.default_rng(0).normal(size=100)}, "abc")
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        content[len(content) // 3] ^= 0xFF
    damaged = {"truncated": content[: len(content) // 2], "flipped": content, "emptied": b"", "text": b"no archive"}
    path.write_bytes(bytes(damaged[damage]))
    with pytest.raises(MalformedData, match=r"piece\.npz"):
        read_arrays(path, "abc")


def test_pickles_are_refused(tmp_path):
    """An archive with a pickled object in it is not opened."""
    path = tmp_path / "piece.npz"
    np.savez(path, __specification__=np.array("abc"), x=np.array([{}], dtype=object))
    with pytest.raises(MalformedData):
        read_arrays(path, "abc")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    """If writing fails half-way, the old content stays and no temporary file is left."""
    path = tmp_path / "table.bin"
    write_bytes(path, b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_json_refuses_what_is_not_a_number(tmp_path):
    """A document with NaN is not JSON, and is not written."""
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "manifest.json", {"x": float("nan")})
    assert not list(tmp_path.iterdir())
