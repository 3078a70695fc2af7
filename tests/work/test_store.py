"""The store: a piece is there whole or not at all, of its own job and stamp, and nothing damaged is read."""

import numpy as np
import pytest

from tutelage.errors import InvalidArgument, MalformedData
from tutelage.work.archives import pack_arrays
from tutelage.work.store import Content, Store, packed

ARRAYS = {"x": np.arange(6.0).reshape(2, 3), "ok": np.array([True, False]), "n": np.array(3)}
FACTS = {"seconds": 1.5, "words": ["a", "é"], "nothing": None}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "deep", "a job")


def keep(store, key, content, stamp="abc", notice=print):
    store.keep(key, packed(content, store.job, stamp), notice)


def test_a_piece_comes_back_as_it_was(store):
    """Facts and arrays, under the stamp they were written for, and under no other; keys are names of files."""
    keep(store, "k = 6, é", Content(FACTS, ARRAYS))
    found = store.read("k = 6, é", "abc")
    assert found.facts == FACTS and found.arrays.keys() == ARRAYS.keys()
    for name, value in ARRAYS.items():
        np.testing.assert_array_equal(found.arrays[name], value)
        assert found.arrays[name].dtype == value.dtype
    assert list(store) == ["k = 6, é"] and store.read("k = 6, é", "abc", arrays=False) == Content(FACTS)
    assert store.read("k = 6, é", "abd") is None and store.read("absent") is None
    assert store.read("absent", arrays=False) is None and store.read("k = 6, é", "abd", arrays=False) is None
    assert Store(store.folder, "another job").read("k = 6, é", "abc") is None
    assert store.owns() and store.owns("abc") and not store.owns("abd")
    assert not Store(store.folder, "another job").owns()


@pytest.mark.parametrize("key", ["", ".hidden", "a/b", "..", "a\\b", "a\nb"])
def test_keys_lead_nowhere_else(store, key):
    """A key that is no name of a file is refused before anything is read or written."""
    with pytest.raises(InvalidArgument, match="name of a file"):
        store.read(key)
    with pytest.raises(InvalidArgument, match="name of a file"):
        keep(store, key, Content())


@pytest.mark.parametrize("damage", ["truncated", "flipped", "emptied", "text"])
def test_damaged_pieces_are_refused_and_set_aside(store, damage):
    """Whatever happened to a file, it is reported by name, not read as data, and kept when it is written again."""
    keep(store, "piece", Content({}, {"x": np.random.default_rng(0).normal(size=100)}))
    path = store.path("piece")
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        content[len(content) // 3] ^= 0xFF
    wrong = {"truncated": content[: len(content) // 2], "flipped": content, "emptied": b"", "text": b"no archive"}
    path.write_bytes(bytes(wrong[damage]))
    with pytest.raises(MalformedData, match=r"piece\.npz"):
        store.read("piece", "abc")
    told = []
    assert store.whole("piece", "abc", told.append) is None and "piece.npz" in told[0] and not store.owns()
    keep(store, "piece", Content({}, ARRAYS), notice=told.append)
    assert store.read("piece", "abc") is not None and "kept as" in told[1]
    assert [kept.read_bytes() for kept in (store.folder / "damaged").iterdir()] == [bytes(wrong[damage])]


def test_a_change_anywhere_is_noticed(store):
    """Whichever byte changes: the file is reported, or nothing that a reader looks at has changed."""
    arrays = {"x": np.random.default_rng(0).normal(size=20), "y": np.zeros(100)}
    keep(store, "piece", Content(FACTS, arrays))
    path = store.path("piece")
    content = path.read_bytes()
    for place in range(len(content)):
        for change in (0x01, 0xFF):
            path.write_bytes(content[:place] + bytes([content[place] ^ change]) + content[place + 1 :])
            try:
                found = store.read("piece", "abc")
            except MalformedData:
                continue
            assert found.facts == FACTS and found.arrays.keys() == arrays.keys()
            assert all(np.array_equal(found.arrays[name], arrays[name]) for name in arrays)


def test_pickles_are_refused(store):
    """An archive with a pickled object in it is not opened, and none is written."""
    keep(store, "piece", Content({}, ARRAYS))
    np.savez(store.path("piece"), x=np.array([{}], dtype=object))
    with pytest.raises(MalformedData):
        store.read("piece")
    with pytest.raises(ValueError, match="pickle"):
        keep(store, "piece", Content({}, {"x": np.array([{}], dtype=object)}))


@pytest.mark.parametrize("name", ["about", "checksum"])
def test_names_that_are_taken(name):
    """An array cannot stand where the checksum does, or what a piece says of itself."""
    with pytest.raises(InvalidArgument, match=name):
        packed(Content({}, {name: np.ones(3)}), "a job", "abc")


def test_archives_of_others_are_no_pieces(store):
    """Arrays with a right checksum that say nothing of themselves."""
    keep(store, "piece", Content({}, ARRAYS))
    store.path("piece").write_bytes(pack_arrays(ARRAYS))
    with pytest.raises(MalformedData, match="something else than a piece of work"):
        store.read("piece", arrays=False)
