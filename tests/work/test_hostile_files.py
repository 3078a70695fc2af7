"""Files that users name and others wrote: bombs, pipes, senseless content. One sentence, and little memory."""

import base64
import gzip
import io
import json
import os
import socket
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import polars as pl
import pytest
from hostile import quickly
from thrift_writing import write_struct

import tutelage as tl
from tutelage import files
from tutelage.errors import InvalidArgument, MalformedData, Unreadable, printable
from tutelage.files import LARGEST_VARIABLE, is_temporary, largest_size, read_regular, write_bytes
from tutelage.geometry import atlas
from tutelage.inputs.idx import read_idx_images
from tutelage.work.archives import pack_arrays
from tutelage.work.documents import seal
from tutelage.work.parquet import check_table, read_table
from tutelage.work.store import unpacked
from tutelage.work.thrift import read_struct

CAP = 1 << 22


def read_piece(path):
    """Read a file of arrays as one of a store."""
    with files.about(path):
        return unpacked(read_regular(path))


def table_bytes(frame):
    """A table as a Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=True)
    return buffer.getvalue()


@pytest.fixture
def small_cap(monkeypatch):
    """Four megabytes, so that a bomb need not be large."""
    monkeypatch.setenv(LARGEST_VARIABLE, str(CAP))


def zip_bomb(path, size):
    """An archive of one array of zeros that is far smaller than the array."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, x=np.zeros(size, np.uint8))
    path.write_bytes(buffer.getvalue())
    return path


def test_the_cap_can_be_raised(monkeypatch, tmp_path):
    """One number for everything; the sentence says how to change it, and a senseless one is refused."""
    path = tmp_path / "file"
    path.write_bytes(bytes(1000))
    monkeypatch.setenv(LARGEST_VARIABLE, "999")
    with pytest.raises(Unreadable, match=f"has 1000 bytes .* set {LARGEST_VARIABLE} to a larger number"):
        read_regular(path)
    monkeypatch.setenv(LARGEST_VARIABLE, "1000")
    assert len(read_regular(path)) == 1000
    for wrong in ("many", "-1", "0", "1e9", "٣"):
        monkeypatch.setenv(LARGEST_VARIABLE, wrong)
        with pytest.raises(InvalidArgument, match=LARGEST_VARIABLE):
            largest_size()


def test_a_file_that_grows_while_it_is_read(monkeypatch, tmp_path):
    """What a file had when it was opened is not believed."""
    path = tmp_path / "file"
    path.write_bytes(bytes(100))
    real = os.fdopen

    def growing(*arguments, **options):
        path.write_bytes(bytes(10_000))
        return real(*arguments, **options)

    monkeypatch.setattr(os, "fdopen", growing)
    with pytest.raises(Unreadable, match="more than the 100"):
        read_regular(path, most=100)


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "socket"])
def test_only_regular_files_are_opened(tmp_path, kind, monkeypatch):
    """By whatever function: nothing waits, and nothing else is opened."""
    path = tmp_path / "thing.npz"
    if kind == "folder":
        path.mkdir()
    elif kind == "device":
        path = type(path)("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        monkeypatch.chdir(tmp_path)
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    with quickly():
        for read in (tl.load_atlas, read_idx_images, tl.Sweep.from_toml):
            with pytest.raises((MalformedData, InvalidArgument), match=r"cannot be read|not a regular file"):
                read(path)
        with pytest.raises(Unreadable):
            read_piece(path)


def test_compressed_archives_are_not_unpacked(small_cap, tmp_path):
    """An archive says what it holds before it is unpacked; an entry that says too little is cut there."""
    path = zip_bomb(tmp_path / "bomb.npz", 40 << 20)
    assert path.stat().st_size < 100_000
    with pytest.raises(MalformedData, match=LARGEST_VARIABLE):
        tl.load_atlas(path)
    with pytest.raises(Unreadable, match=LARGEST_VARIABLE):
        read_piece(path)
    content = path.read_bytes()
    # The size of the entry in the directory, at its end, is made small.
    place = content.rindex(b"PK\1\2") + 24
    path.write_bytes(content[:place] + struct.pack("<L", 1000) + content[place + 4 :])
    with pytest.raises(MalformedData, match="damaged"):
        read_piece(path)


def test_a_header_that_announces_too_much(tmp_path):
    """An array is made only if its bytes are there."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": (10**13,)})
    with zipfile.ZipFile(tmp_path / "large.npz", "w") as archive:
        archive.writestr("x.npy", buffer.getvalue() + bytes(80))
    with pytest.raises(MalformedData, match="announces 80000000000000 bytes of numbers, but has 80"):
        read_piece(tmp_path / "large.npz")


def test_compressed_images(small_cap, tmp_path):
    """Images are decompressed as far as their header says, if that is not too far."""
    path = tmp_path / "images.gz"
    path.write_bytes(gzip.compress(struct.pack(">IIII", 2051, 50_000, 28, 28) + bytes(50_000 * 784)))
    with pytest.raises(MalformedData, match=LARGEST_VARIABLE):
        tl.inputs.mnist_patches(path=path)
    path.write_bytes(gzip.compress(struct.pack(">IIII", 2051, 1, 2, 2) + bytes(50 << 20)))
    with pytest.raises(MalformedData, match="4 bytes for 1 images 2×2, but has 5 bytes"):
        tl.inputs.mnist_patches(path=path)
    path.write_bytes(gzip.compress(struct.pack(">IIII", 2051, 1, 2, 2) + bytes(range(4))))
    assert read_idx_images(path).tolist() == [[[0, 1], [2, 3]]]


TABLES = {
    "one number": pl.DataFrame({"x": np.zeros(2_000_000)}),
    "one text": pl.DataFrame({"x": ["a" * 1000]}).select(pl.col("x").repeat_by(300_000).explode()),
    "one list": pl.DataFrame({"x": [np.zeros(1_000_000)]}),
    "compressed": pl.DataFrame({"x": np.tile(np.random.default_rng(0).normal(size=1000), 1000)}),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_tables_that_are_small_on_the_disk(small_cap, tmp_path, table):
    """Values are counted, and bytes before compression, as the pages say, even where the description says otherwise."""
    content = table_bytes(table)
    assert len(content) < CAP / 4
    with pytest.raises(Unreadable, match=LARGEST_VARIABLE):
        read_table(content)
    size = int.from_bytes(content[-8:-4], "little")
    footer, _ = read_struct(content[-8 - size : -8])
    footer[3] = (footer[3][0], 1)
    for group in footer[4][1][1]:
        group[2], group[3] = (group[2][0], 8), (group[3][0], 1)
        for column in group[1][1][1]:
            chunk = column[3][1]
            chunk[5], chunk[6] = (chunk[5][0], 1), (chunk[6][0], 8)
    written = write_struct(footer)
    with pytest.raises(Unreadable, match=LARGEST_VARIABLE):
        check_table(content[: -8 - size] + written + len(written).to_bytes(4, "little") + b"PAR1")
    (tmp_path / "teacher.parquet").write_bytes(content)
    with pytest.raises(tl.SpecificationError, match=LARGEST_VARIABLE):
        tl.Sweep({"family": "committee", "teacher": {"file": "teacher.parquet"}, "students": 2}, {}, 1, folder=tmp_path)


def test_a_table_whose_bytes_change(tmp_path):
    """A change anywhere is an error of ours or changes what is read; it never ends the process."""
    content = table_bytes(pl.DataFrame({"x": np.arange(50.0), "y": ["text"] * 50}))
    for place in range(0, len(content), 3):
        try:
            read_table(content[:place] + bytes([content[place] ^ 0x41]) + content[place + 1 :])
        except (MalformedData, Unreadable):
            continue


def test_specifications_that_are_too_long(monkeypatch, tmp_path):
    """A text becomes objects of many times its size: it has a smaller cap."""
    path = tmp_path / "long.toml"
    path.write_text("x = [" + "[]," * 10_000 + "]")
    monkeypatch.setenv(LARGEST_VARIABLE, "160000")
    with pytest.raises(tl.SpecificationError, match=LARGEST_VARIABLE):
        tl.Sweep.from_toml(path)


METHOD = {"kind": "gradient_descent", "step": 0.1}


def document_of(tmp_path, monkeypatch):
    """The document of a sweep whose teacher stays in its file."""
    monkeypatch.setattr("tutelage.sweeps.specification.arrays._EMBEDDED", 8)
    np.save(tmp_path / "teacher.npy", np.eye(2))
    problem = {"family": "committee", "teacher": {"file": "teacher.npy"}, "students": 2}
    return tl.Sweep(problem, METHOD, 1, folder=tmp_path).document()


def test_documents_name_files_inside_their_folder(tmp_path, monkeypatch):
    """What a folder's manifest names is checked as what a specification names: place and kind, before it is opened."""
    document = document_of(tmp_path, monkeypatch)
    inside, outside = tmp_path, tmp_path / "sweep"
    outside.mkdir()
    assert len(tl.Sweep.from_document(document, folder=inside)) == 1
    assert len(tl.Sweep.from_document(document, folder=outside, allow_outside=True)) == 1
    with pytest.raises(MalformedData, match=r"must stay inside the folder of the sweep.*--allow-outside"):
        tl.Sweep.from_document(document, folder=outside)
    (entry,) = document["arrays"].values()
    (tmp_path / "teacher.npy").unlink()
    os.mkfifo(tmp_path / "teacher.npy")
    with quickly():
        for options in ({}, {"folder": inside}, {"folder": outside, "allow_outside": True}):
            with pytest.raises(MalformedData, match="regular file"):
                tl.Sweep.from_document(document, **options)
    assert entry["file"] == str(tmp_path / "teacher.npy")


def test_data_files_of_documents(tmp_path):
    """The same for files that the library reads itself."""
    (tmp_path / "digits").write_bytes(np.array([2051, 1, 2, 2], ">i4").tobytes() + bytes(range(4)))
    problem = {"family": "neuron", "target": [1.0], "inputs": {"law": "mnist_patches", "size": 1, "path": "digits"}}
    options = {"objective": {"kind": "stream", "batch": 1}}
    document = tl.Sweep(problem, METHOD, runs=1, folder=tmp_path, **options).document()
    (tmp_path / "sweep").mkdir()
    with pytest.raises(MalformedData, match="must stay inside the folder of the sweep"):
        tl.Sweep.from_document(document, folder=tmp_path / "sweep")


def test_arrays_inside_documents(tmp_path, small_cap):
    """An array that a document carries is no larger than it says, and what it says is no larger than the cap."""
    document = tl.Sweep({"family": "committee", "teacher": np.eye(2), "students": 2}, METHOD, 1).document()
    (name,) = document["arrays"]
    packed = base64.b64encode(zlib.compress(bytes(40 << 20))).decode()
    for shape in ([5 << 20], [1 << 40, 1 << 40], [-1, 4]):
        bomb = {**document, "arrays": {name: {"shape": shape, "data": packed}}}
        with pytest.raises(MalformedData, match=LARGEST_VARIABLE):
            tl.Sweep.from_document(bomb)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The arrays of a saved atlas."""
    path = tmp_path_factory.mktemp("atlas") / "two.npz"
    objective = tl.population(tl.problems.committee(np.eye(2), students=2))
    atlas(objective, np.stack([np.eye(2), np.eye(2)[::-1]])).save(path)
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files if name != "checksum"}
    return arrays, json.loads(arrays["about"].tobytes())


def encoded(document):
    return np.frombuffer(json.dumps(document).encode(), np.uint8)


def changed(name, value):
    return lambda arrays, about: arrays.update({name: value})


def said(*path, value):
    def change(arrays, about):
        place = about["facts"]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


SENSELESS = {
    "an array too few": lambda arrays, about: arrays.pop("vectors_0"),
    "an array too many": changed("more", np.zeros(3)),
    "no numbers": changed("numbers", np.full((1, 6), np.nan)),
    "too few numbers": changed("numbers", np.zeros((1, 5))),
    "numbers of no entry": changed("numbers", np.zeros((2, 6))),
    "numbers of a wrong type": changed("numbers", np.zeros((1, 6), complex)),
    "vectors of a wrong shape": changed("vectors_0", np.zeros((2, 3))),
    "vectors of a wrong number": changed("vectors_0", np.zeros((3, 2))),
    "vectors that are text": changed("vectors_0", np.array([["a", "b"], ["c", "d"]])),
    "vectors that are no numbers": changed("vectors_0", np.full((2, 2), np.inf)),
    "a point of a wrong shape": changed("point_0_0", np.zeros(4)),
    "a point that is no number": changed("point_0_0", np.full((2, 2), np.nan)),
    "a teacher of a wrong shape": changed("frame_teacher", np.zeros((3, 3))),
    "a flat teacher": changed("frame_teacher", np.zeros(4)),
    "another teacher": changed("frame_teacher", 2 * np.eye(2)),
    "labels of a wrong type": changed("frame_rows", np.zeros(2)),
    "labels of a wrong number": changed("frame_columns", np.zeros(5, int)),
    "signs of biases that it lacks": changed("frame_biased", np.asarray(True)),
    "signs of teachers that are none": changed("frame_turns", np.full(2, 0.5)),
    "no labels": changed("frame_rows", np.zeros(0, int)),
    "counts that do not add up": said("runs", value=7),
    "no counts": said("entries", 0, "count", value=0),
    "statuses that do not add up": said("statuses", value={"given": 1}),
    "a count of text": said("entries", 0, "count", value="two"),
    "an unknown kind": said("entries", 0, "kind", value="\x1b[2J"),
    "an unknown structure": said("structure", value="os.system"),
    "another structure": said("structure", value="WithLinear"),
    "a tolerance of zero": said("tolerance", value=0.0),
    "other shapes": said("problem", "shapes", value=[[2, 3]]),
    "no shapes": said("problem", "shapes", value=[]),
    "a ragged teacher": said("problem", "teacher", value=[[1.0], [1.0, 2.0]]),
    "no problem": said("problem", value=None),
    "another job": lambda arrays, about: about.update(job="sweep"),
    "another format": lambda arrays, about: about.update(format="tutelage piece 9"),
    "a list": lambda arrays, about: arrays.update(about=np.frombuffer(b"[1]", np.uint8)),
    "no JSON": lambda arrays, about: arrays.update(about=np.frombuffer(b"{", np.uint8)),
    "an atlas of version 0.1": lambda arrays, about: arrays.update(manifest=arrays.pop("about")),
}


@pytest.mark.parametrize("change", SENSELESS.values(), ids=SENSELESS)
def test_a_senseless_atlas_is_refused(stored, tmp_path, change):
    """A checksum that matches does not make sense of a file: everything in it is compared with its problem."""
    arrays, about = dict(stored[0]), json.loads(json.dumps(stored[1]))
    before = arrays["about"]
    change(arrays, about)
    if arrays.get("about") is before:
        arrays["about"] = encoded(about)
    path = tmp_path / "atlas.npz"
    path.write_bytes(pack_arrays(arrays))
    with pytest.raises(MalformedData, match=r"atlas\.npz") as caught:
        tl.load_atlas(path)
    assert "\x1b" not in str(caught.value)


def test_the_atlas_itself_is_read(stored, tmp_path):
    """What the tests above change is right before they do."""
    (tmp_path / "atlas.npz").write_bytes(pack_arrays(stored[0]))
    assert tl.load_atlas(tmp_path / "atlas.npz").runs == 2


@pytest.mark.parametrize("value", [3, None, b"bytes", ["a"], "nul\0"])
def test_what_is_no_path(value):
    """A clear error, wherever a path is taken."""
    for name, read in {"path": tl.load_atlas, "folder": tl.open_sweep}.items():
        with pytest.raises(InvalidArgument, match=f"`{name}` must be a path"):
            read(value)
    with pytest.raises(InvalidArgument, match="`path` must be a path"):
        tl.Sweep.from_toml(value)
    with pytest.raises(InvalidArgument, match="`folder` must be a path"):
        tl.run_sweep(tl.Sweep({"family": "neuron", "target": [1.0]}, METHOD, 1), value)


def test_errors_are_printable():
    """A terminal shows a sentence and obeys nothing in it; lines and letters stay as they are."""
    text = "a\x1b[31mb\x07\x9b2J\u202ec\x7f\r\nÄ∑\t\ud800"
    shown = "a\\x1b[31mb\\x07\\x9b2J\\u202ec\\x7f\\x0d\nÄ∑\t\\ud800"
    assert printable(text) == shown and str(MalformedData(text)) == shown
    assert json.loads(printable(json.dumps("\x9b\u202e", ensure_ascii=False), json=True)) == "\x9b\u202e"


def test_temporary_names():
    """Only names that this library makes up are taken for its temporary files."""
    others = (".cache.tmp", ".0123456789abcdef.tmp", ".0123456789abcdef-01234567.tmp", "x.tmp")
    assert not any(is_temporary(name) for name in others)


def test_a_new_file_overwrites_nothing(tmp_path):
    """Neither a file nor a link, wherever it leads."""
    (tmp_path / "there").write_bytes(b"mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("there", "link"):
        with pytest.raises(FileExistsError):
            write_bytes(tmp_path / name, b"ours", new=True)
    write_bytes(tmp_path / "new", b"ours", new=True)
    assert {path.name for path in tmp_path.iterdir()} == {"there", "link", "new"}
    assert (tmp_path / "there").read_bytes() == b"mine" and (tmp_path / "new").read_bytes() == b"ours"


def test_bombs_take_little_memory(tmp_path):
    """None of the bombs makes a process grow by more than a part of what it holds."""
    zip_bomb(tmp_path / "bomb.npz", 400_000_000)
    images = gzip.compress(struct.pack(">IIII", 2051, 4000, 300, 300) + bytes(300_000_000), compresslevel=1)
    (tmp_path / "images.gz").write_bytes(images)
    program = (
        "import resource, sys, tutelage as tl\n"
        "from tutelage.inputs.idx import read_idx_images\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for read, name in ((tl.load_atlas, 'bomb.npz'), (read_idx_images, 'images.gz')):\n"
        "    try: read(f'{sys.argv[1]}/{name}')\n"
        "    except tl.MalformedData as error: assert 'TUTELAGE_LARGEST_FILE' in str(error), error\n"
        "    else: raise SystemExit('read')\n"
        "assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000\n"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env=os.environ | {LARGEST_VARIABLE: "50000000"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr


def test_seals_cover_everything():
    """Another value, key or order of a list is another checksum; another order of keys is not."""
    document = {"a": 1, "b": [1, 2], "c": {"d": None}}
    checksum = seal(document)["checksum"]
    assert seal(dict(reversed(document.items())))["checksum"] == checksum
    for other in ({**document, "a": 2}, {**document, "e": 1}, {**document, "b": [2, 1]}, {"a": 1, "b": [1, 2]}):
        assert seal(other)["checksum"] != checksum
