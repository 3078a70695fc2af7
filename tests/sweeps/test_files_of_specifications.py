"""Array files of a specification: what is read, what is refused, and that nothing of it is executed."""

import hashlib
import json
import os
import pickle

import numpy as np
import polars as pl
import pytest

import tutelage as tl
from tutelage.sweeps.folder import SweepFolder
from tutelage.sweeps.manifest import read_manifest, specification_digest
from tutelage.sweeps.specification import arrays as arrays_module

TEACHER = np.array([[1.0, 0.0], [0.5, 2.0]])
METHOD = {"kind": "gradient_descent", "step": 0.1}


def sweep(folder, teacher, **more):
    """A sweep whose teacher is in a file."""
    problem = {"family": "committee", "students": 2, "teacher": teacher}
    return tl.Sweep(problem, METHOD, runs=1, folder=folder, **more)


def teacher_of(made):
    """The teacher that a sweep has read."""
    return np.asarray(made._plan.build(0).problem.target)


def write_npy(path):
    np.save(path, TEACHER)


def write_npz(path):
    np.savez(path, other=np.ones(3), teacher=TEACHER)


def write_csv(path):
    path.write_text("first,second\n1.0,0.0\n0.5,2.0\n")


def write_parquet(path):
    pl.DataFrame(TEACHER, schema=["first", "second"]).write_parquet(path)


FORMATS = {
    "teacher.npy": (write_npy, {}),
    "teacher.npz": (write_npz, {"array": "teacher"}),
    "teacher.csv": (write_csv, {"header": True}),
    "teacher.parquet": (write_parquet, {}),
}


@pytest.mark.parametrize("name", FORMATS)
def test_formats(name, tmp_path):
    """Arrays of all formats are read, and travel in the document."""
    write, options = FORMATS[name]
    write(tmp_path / name)
    made = sweep(tmp_path, {"file": name, **options})
    np.testing.assert_array_equal(teacher_of(made), TEACHER)
    document = json.loads(json.dumps(made.document(), allow_nan=False))
    os.remove(tmp_path / name)
    np.testing.assert_array_equal(teacher_of(tl.Sweep.from_document(document)), TEACHER)


def test_all_formats_are_one_specification(tmp_path):
    """A specification is what it says, not how it is written; another array is another one."""
    identities = set()
    for name, (write, options) in FORMATS.items():
        write(tmp_path / name)
        identities.add(specification_digest(sweep(tmp_path, {"file": name, **options}).document()))
    identities.add(specification_digest(sweep(tmp_path, TEACHER).document()))
    assert len(identities) == 1
    np.save(tmp_path / "teacher.npy", np.nextafter(TEACHER, 2))
    assert specification_digest(sweep(tmp_path, {"file": "teacher.npy"}).document()) not in identities


def test_large_arrays_stay_in_their_files(tmp_path, monkeypatch):
    """A large array is named by its file and digest; a change of the file is noticed, another place is the same."""
    monkeypatch.setattr(arrays_module, "_EMBEDDED", 8)
    np.save(tmp_path / "teacher.npy", TEACHER)
    document = sweep(tmp_path, {"file": "teacher.npy"}).document()
    (entry,) = document["arrays"].values()
    assert entry["file"] == str(tmp_path / "teacher.npy") and "data" not in entry
    np.testing.assert_array_equal(teacher_of(tl.Sweep.from_document(document)), TEACHER)
    other = tmp_path / "elsewhere"
    other.mkdir()
    np.save(other / "teacher.npy", TEACHER)
    assert specification_digest(sweep(other, {"file": "teacher.npy"}).document()) == specification_digest(document)
    np.save(tmp_path / "teacher.npy", 2 * TEACHER)
    with pytest.raises(tl.MalformedData, match="has changed since"):
        tl.Sweep.from_document(document)


def test_what_cells_share_is_read_once(tmp_path, monkeypatch):
    """A file is read, and an array digested, once for a specification, not once a cell; a later change does nothing."""
    read, digested = [], []
    read_array, array_digest = arrays_module.read_array, arrays_module.array_digest
    monkeypatch.setattr(arrays_module, "read_array", lambda *said: read.append(said) or read_array(*said))
    monkeypatch.setattr(arrays_module, "array_digest", lambda array: digested.append(1) or array_digest(array))
    np.save(tmp_path / "teacher.npy", TEACHER)
    own, grid = TEACHER.copy(), {"seed": [0, 1, 2, 3]}
    for teacher in ({"file": "teacher.npy"}, own):
        made = sweep(tmp_path, teacher, grid=grid)
        assert len(made) == 4
    assert len(read) == 1 and len(digested) == 2
    own *= 2
    np.testing.assert_array_equal(teacher_of(made), TEACHER)


def test_how_an_array_travels_is_not_part_of_the_specification(tmp_path, monkeypatch):
    """A large array is the same whether it is in a file of any form or comes from Python."""
    written = {specification_digest(sweep(tmp_path, TEACHER).document())}
    monkeypatch.setattr(arrays_module, "_EMBEDDED", 8)
    for name, (write, options) in FORMATS.items():
        write(tmp_path / name)
        written.add(specification_digest(sweep(tmp_path, {"file": name, **options}).document()))
    assert len(written) == 1


def test_a_moved_folder_is_the_same_sweep(tmp_path, monkeypatch):
    """A sweep goes on after its specification was moved with all its files, and knows where they are now."""
    monkeypatch.setattr(arrays_module, "_EMBEDDED", 8)
    here, there, results = (tmp_path / name for name in ("here", "there", "results"))
    here.mkdir()
    np.save(here / "teacher.npy", TEACHER)
    begin(results, sweep(here, {"file": "teacher.npy"}), "first")
    here.rename(there)
    with pytest.raises(tl.MalformedData, match=r"needs .*here.teacher\.npy, which must be .* Put the file back"):
        tl.Sweep.from_document(read_manifest(results).document)
    begin(results, sweep(there, {"file": "teacher.npy"}), "second")
    manifest = read_manifest(results)
    assert [session.command for session in manifest.sessions] == ["first", "second"]
    np.testing.assert_array_equal(teacher_of(tl.Sweep.from_document(manifest.document)), TEACHER)
    np.save(there / "teacher.npy", 2 * TEACHER)
    changed = sweep(there, {"file": "teacher.npy"})
    with pytest.raises(tl.InvalidArgument, match="another specification"):
        begin(results, changed, "third")


def begin(folder, work, command):
    """Begin a sweep, and compute nothing."""
    held = SweepFolder(folder, work, print)
    held.begin()
    with held.session(command, "no process"):
        pass


def test_moved_images_are_the_same_sweep(tmp_path):
    """A file that the library reads itself counts by its content too."""
    digests = []
    for least, folder in ((4, "here"), (4, "there"), (5, "elsewhere")):
        (tmp_path / folder).mkdir()
        pixels = bytes(range(least, least + 4))
        (tmp_path / folder / "digits").write_bytes(np.array([2051, 1, 2, 2], ">i4").tobytes() + pixels)
        problem = {"family": "neuron", "target": [1.0], "inputs": {"law": "mnist_patches", "size": 1, "path": "digits"}}
        stream = {"kind": "stream", "batch": 1}
        made = tl.Sweep(problem, METHOD, runs=1, folder=tmp_path / folder, objective=stream)
        digests.append(specification_digest(made.document()))
    assert digests[0] == digests[1] != digests[2]


def test_damaged_documents(tmp_path):
    """An array of a document that does not match its digest is never used."""
    np.save(tmp_path / "teacher.npy", TEACHER)
    document = sweep(tmp_path, {"file": "teacher.npy"}).document()
    (digest,) = document["arrays"]
    for change in ({"shape": [4]}, {"shape": [200, 2]}, {"data": "eJwDAAAAAAE="}):
        damaged = {**document, "arrays": {digest: {**document["arrays"][digest], **change}}}
        with pytest.raises(tl.MalformedData, match="has changed"):
            tl.Sweep.from_document(damaged)
    with pytest.raises(tl.SpecificationError, match="not there"):
        tl.Sweep.from_document({**document, "arrays": {}})
    for change in (
        {"cells": []},
        {"cells": [{}]},
        {"arrays": {digest: {}}},
        {"arrays": {digest: {"data": 3}}},
        {"base": 3},
    ):
        with pytest.raises(tl.MalformedData, match="document"):
            tl.Sweep.from_document({**document, **change})
    with pytest.raises(tl.MalformedData, match="kind 'sweep'"):
        tl.Sweep.from_document({**document, "kind": "shell"})


def test_a_column_is_a_vector(tmp_path):
    """One column or row of a table will do for a vector."""
    (tmp_path / "column.csv").write_text("1\n2\n")
    (tmp_path / "row.csv").write_text("1,2\n")
    for name in ("column.csv", "row.csv"):
        problem = {"family": "neuron", "target": {"file": name}}
        made = tl.Sweep(problem, METHOD, runs=1, folder=tmp_path)
        np.testing.assert_array_equal(teacher_of(tl.Sweep.from_document(made.document())), [1.0, 2.0])


class Trap:
    """Unpickling this leaves a mark."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def pickled_npy(path, mark):
    np.save(path, np.array([Trap(mark)], dtype=object), allow_pickle=True)


def pickled_npz(path, mark):
    np.savez(path, teacher=np.array([Trap(mark)], dtype=object))


def plain_pickle(path, mark):
    path.write_bytes(pickle.dumps(Trap(mark)))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("teacher.npy", pickled_npy),
        ("teacher.npz", pickled_npz),
        ("teacher.npy", plain_pickle),
        ("teacher.npz", plain_pickle),
        ("teacher.csv", plain_pickle),
        ("teacher.parquet", plain_pickle),
        ("teacher.pkl", plain_pickle),
    ],
)
def test_pickles_are_refused(name, write, tmp_path):
    """No pickle is read, whatever file it hides in."""
    mark = tmp_path / "executed"
    write(tmp_path / name, mark)
    with pytest.raises(tl.SpecificationError, match=r"^problem.teacher: must "):
        sweep(tmp_path, {"file": name})
    assert not mark.exists()


@pytest.fixture
def secret(tmp_path):
    """A folder of a specification, with an array outside it."""
    folder = tmp_path / "inside"
    folder.mkdir()
    np.save(tmp_path / "secret.npy", TEACHER)
    return folder


def escapes(folder):
    """Paths that lead out of a folder."""
    outside = folder.parent / "secret.npy"
    os.symlink(outside, folder / "link.npy")
    os.symlink(folder.parent, folder / "up")
    return ["../secret.npy", str(outside), "link.npy", "up/secret.npy", f"../{folder.name}/../secret.npy"]


def test_paths_stay_inside(secret):
    """Paths that leave the folder are refused, links included, unless that is allowed."""
    for path in escapes(secret):
        with pytest.raises(tl.SpecificationError, match=r"must stay inside the folder .* --allow-outside"):
            sweep(secret, {"file": path})
        np.testing.assert_array_equal(teacher_of(sweep(secret, {"file": path}, allow_outside=True)), TEACHER)


def test_images_stay_inside(secret):
    """A file that the library reads itself is held to the same folder, also if it comes with a digest."""
    header = np.array([2051, 1, 2, 2], ">i4").tobytes()
    (secret.parent / "digits").write_bytes(header + bytes(range(4)))
    digest = hashlib.sha256(header + bytes(range(4))).hexdigest()
    for path, text in (
        ("../digits", "must stay inside"),
        ({"file": str(secret.parent / "digits"), "digest": digest}, "must be the path of a file in quotes"),
    ):
        problem = {"family": "neuron", "target": [1.0], "inputs": {"law": "mnist_patches", "size": 1, "path": path}}
        with pytest.raises(tl.SpecificationError, match=text):
            tl.Sweep(problem, METHOD, runs=1, folder=secret, objective={"kind": "stream", "batch": 1})


def test_a_specification_cannot_allow_itself(secret):
    """Leaving the folder is allowed by who runs a specification, not by who wrote it."""
    (secret / "spec.toml").write_text(
        'runs = 1\nallow_outside = true\nmethod = { kind = "gradient_descent", step = 1 }\n'
        'problem = { family = "committee", students = 2, teacher = { file = "../secret.npy", allow_outside = true } }\n'
    )
    with pytest.raises(tl.SpecificationError, match="allow_outside: is not a field"):
        tl.Sweep.from_toml(secret / "spec.toml")


def test_the_folder_of_a_file_is_its_own(secret, monkeypatch):
    """Paths are relative to the specification, wherever the command is run, and through a link to it as well."""
    np.save(secret / "own.npy", TEACHER)
    text = 'problem = { family = "committee", students = 2, teacher = { file = "own.npy" } }\n'
    (secret / "spec.toml").write_text(f'runs = 1\nmethod = {{ kind = "gradient_descent", step = 1 }}\n{text}')
    os.symlink(secret / "spec.toml", secret.parent / "link.toml")
    monkeypatch.chdir(secret.parent)
    for path in ("inside/spec.toml", "link.toml"):
        np.testing.assert_array_equal(teacher_of(tl.Sweep.from_toml(path)), TEACHER)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("absent.npy", "No such file"),
        (".", "regular file"),
        ("pipe.npy", "regular file"),
        ("nul\0.npy", "null"),
        ("empty.npy", "could not be read"),
        ("text.npy", "could not be read"),
        ("complex.npy", "real numbers, but 'complex.npy' has entries of type complex128"),
        ("names.csv", "could not be read"),
        ("several.npz", "name one of the arrays one, two by `array`"),
        ("nothing.npy", "has nothing"),
        ("teacher.txt", r"must end in .npy, .npz, .csv, .parquet"),
        ("vector.npy", r"two axes, one row per neuron or sample, but received shape \(3,\)"),
    ],
)
def test_files_that_are_no_arrays(name, text, tmp_path):
    """Whatever is in a file, the error is one line that names the field."""
    os.mkfifo(tmp_path / "pipe.npy")
    (tmp_path / "empty.npy").touch()
    (tmp_path / "text.npy").write_text("import os")
    (tmp_path / "teacher.txt").write_text("1 2")
    np.save(tmp_path / "complex.npy", 1j * TEACHER)
    np.save(tmp_path / "nothing.npy", np.empty((0, 2)))
    np.save(tmp_path / "vector.npy", np.ones(3))
    np.savez(tmp_path / "several.npz", one=TEACHER, two=TEACHER)
    (tmp_path / "names.csv").write_text("first,second\n1,2\n")
    with pytest.raises(tl.SpecificationError, match=text) as caught:
        sweep(tmp_path, {"file": name})
    assert len(caught.value.issues) == 1 and caught.value.issues[0].startswith("problem.teacher: ")


@pytest.mark.parametrize("value", ["__import__('os').mkdir('executed')", "os.system", "builtins:eval", "${HOME}"])
def test_names_are_only_looked_up(value, tmp_path, monkeypatch):
    """A name in a specification is looked up in a fixed table; nothing is imported or evaluated."""
    monkeypatch.chdir(tmp_path)
    good = {"problem": {"family": "neuron", "target": [1.0]}, "method": METHOD, "runs": 1}
    places = [
        {"problem": {"family": value}},
        {"problem": {"family": "neuron", "target": [1.0], "activation": value}},
        {"problem": {"family": "neuron", "target": [1.0], "inputs": value}},
        {"problem": {"family": "composite", "target": [1.0], "outer": value}},
        {"method": {"kind": value}},
        {"method": {"kind": "optax", "name": value}},
        {"method": {"kind": "gradient_descent", "step": {"schedule": value}}},
        {"method": {"kind": "gradient_flow", "solver": value}},
        {"starts": {"law": value}},
        {"objective": {"kind": value}},
        {"finish": {"kind": value}},
        {"record": {"quantities": [value]}},
    ]
    for place in places:
        with pytest.raises(tl.SpecificationError, match="must be"):
            tl.Sweep(**{**good, **place})
    assert not list(tmp_path.iterdir())
