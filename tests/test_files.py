"""Files appear complete or not at all, and damaged ones are never read."""

import os

import pytest

from tutelage import files
from tutelage.files import write_bytes
from tutelage.work.documents import write_sealed


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
        write_sealed(tmp_path / "manifest.json", {"x": float("nan")})
    assert not list(tmp_path.iterdir())
