"""Files appear complete or not at all, and damaged ones are never read."""

import os

import numpy as np
import pytest

from tutelage import files
from tutelage.errors import InvalidArgument, MalformedData
from tutelage.files import write_bytes, write_json
from tutelage.work.archives import pack_arrays, read_arrays, write_arrays

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


def test_a_change_anywhere_is_noticed(tmp_path):
    """Whichever byte changes: the file is reported, or nothing that a reader looks at has changed."""
    path = tmp_path / "piece.npz"
    arrays = {"x": np.random.default_rng(0).normal(size=20), "y": np.zeros(100)}
    write_arrays(path, arrays, "abc")
    content = path.read_bytes()
    for place in range(len(content)):
        for change in (0x01, 0xFF):
            path.write_bytes(content[:place] + bytes([content[place] ^ change]) + content[place + 1 :])
            try:
                found = read_arrays(path, "abc")
            except MalformedData:
                continue
            assert found.keys() == arrays.keys()
            assert all(np.array_equal(found[name], arrays[name]) for name in arrays)


def test_pickles_are_refused(tmp_path):
    """An archive with a pickled object in it is not opened, and none is written."""
    path = tmp_path / "piece.npz"
    np.savez(path, __specification__=np.array("abc"), x=np.array([{}], dtype=object))
    with pytest.raises(MalformedData):
        read_arrays(path, "abc")
    with pytest.raises(ValueError, match="pickle"):
        write_arrays(path, {"x": np.array([{}], dtype=object)}, "abc")


def test_the_name_of_the_checksum_is_taken():
    """An array cannot stand where the checksum does."""
    with pytest.raises(InvalidArgument, match="checksum"):
        pack_arrays({"checksum": np.ones(3)})


def test_permissions_and_long_names(tmp_path):
    """A file has the permissions that the user's other new files have; its name may be as long as any."""
    path, plain = tmp_path / ("x" * 255), tmp_path / "plain"
    before = os.umask(0o027)
    try:
        write_bytes(path, b"content")
        plain.touch()
    finally:
        os.umask(before)
    assert path.stat().st_mode == plain.stat().st_mode and path.stat().st_mode & 0o777 == 0o640


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
