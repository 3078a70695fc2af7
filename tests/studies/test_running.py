"""Running studies: every piece once, kept, resumed, and made again when damaged."""

import errno
import json
import os

import numpy as np
import polars as pl
import pytest
from hostile import snapshot

from tutelage.errors import Unreadable
from tutelage.plot import panels
from tutelage.studies import Conclusion, Picture, Study, at_least, chosen, described, printed, reproduce, within
from tutelage.studies import running as module
from tutelage.work.folder import NotOurs
from tutelage.work.job import PieceFailed
from tutelage.work.lock import FolderInUse, locked
from tutelage.work.store import Content

calls: list[str] = []


def _measure(values, seed, name):
    calls.append(name)
    if values.fail == name:
        raise ValueError("out of luck")
    return {"x": np.full(3, values.size + seed)}


def _conclude(values, pieces):
    total = float(sum(arrays["x"].sum() for arrays in pieces.values()))
    figure, (axes,) = panels()
    axes.plot(np.concatenate([arrays["x"] for arrays in pieces.values()]))
    return Conclusion(
        (within("total", 9.0, total, 0.5),),
        (Picture("sum", "The sum.", figure),),
        {"rows": pl.DataFrame({"total": [total]})},
        ("A remark.",),
    )


def study(**settings) -> Study:
    values = {"size": 1, "fail": "", **settings}
    return Study(
        id="convolutional_filter.toy",
        place="Table 9",
        title="a toy",
        question="Does it add up?",
        settings=(printed("size", values["size"], note="printed"), chosen("fail", values["fail"])),
        pieces=lambda values: {name: {"name": name} for name in ("a", "b", "c")},
        measure=_measure,
        conclude=_conclude,
    )


@pytest.fixture
def run(tmp_path, monkeypatch):
    def run(toy=None, **options):
        toy = toy or study()
        monkeypatch.setattr(module, "find", lambda names: (toy,))
        calls.clear()
        notices: list[str] = []
        (done,) = reproduce([toy], tmp_path, workers=1, notice=notices.append, **options)
        return done, list(calls), notices

    return run


def test_a_study_leaves_figures_tables_and_a_manifest(run):
    """Vector and pixel figures, a Parquet table, and a manifest that says what, from what, and how long."""
    done, measured, notices = run()
    assert measured == ["a", "b", "c"] and not notices and not done.reused
    document = done.document()
    assert document["verdict"] == "reproduced" and document["scale"] == "quick"
    assert document["expectations"] == [
        {"what": "total", "published": 9.0, "measured": 9.0, "tolerance": 0.5, "ok": True}
    ]
    assert {path.rsplit(".", 1)[1] for path in document["figures"]} == {"svg", "png"}
    assert pl.read_parquet(done.folder / "rows.parquet")["total"].to_list() == [9.0]
    manifest = json.loads((done.folder / "manifest.json").read_text())
    wanted = {"version", "command", "seed", "settings", "machine", "seconds", "specification", "files"}
    assert wanted <= manifest.keys()
    assert [setting["source"] for setting in manifest["settings"]] == ["printed", "chosen"]


def test_a_finished_study_is_reused(run):
    """A second run computes nothing; another seed, setting or `fresh` computes again."""
    first, _, _ = run()
    again, measured, _ = run()
    assert again.reused and not measured and again.manifest == first.manifest
    assert run(fresh=True)[1] == ["a", "b", "c"]
    assert run(seed=1)[1] == ["a", "b", "c"]
    assert run(study(size=2))[1] == ["a", "b", "c"]


def test_an_interrupted_study_goes_on(run, monkeypatch):
    """Pieces that were done before a failure are kept, and only the others are computed."""
    with pytest.raises(PieceFailed, match="b: ValueError: out of luck"):
        run(study(fail="b"))
    assert calls == ["a", "b"]
    monkeypatch.setattr(module, "_measure", _lucky)
    done, measured, _ = run(study(fail="b"))
    assert measured == ["b", "c"] and done.manifest["verdict"] == "reproduced"


def _lucky(id, scale, seed, name, changes):
    calls.append(name)
    return Content({"seconds": 0.0}, {"x": np.ones(3)})


@pytest.mark.parametrize("name", ["sum.svg", "rows.parquet", "pieces/b.npz", "manifest.json"])
def test_a_damaged_file_is_made_again(run, name):
    """What does not match its checksum is reported and made again, from as few pieces as possible."""
    done, _, _ = run()
    path = done.folder / name
    before = path.read_bytes()
    path.write_bytes(before[: len(before) // 2])
    again, measured, notices = run()
    assert not again.reused and notices and path.name in notices[0]
    assert measured == (["b"] if name.startswith("pieces") else [])
    if name != "manifest.json":
        assert path.read_bytes() == before or name.startswith("pieces")


def test_a_changed_outcome_is_noticed(run):
    """What was measured is covered by a checksum: a study whose manifest says something else is made again."""
    done, _, _ = run()
    path = done.folder / "manifest.json"
    text = path.read_text()
    for old, new in (
        ('"measured": 9.0', '"measured": 999.0'),
        ('"ok": true', '"ok": false'),
        ('"seed": 0', '"seed": 1'),
    ):
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))
        again, measured, notices = run()
        assert not again.reused and not measured and "does not match its checksum" in notices[0]
        assert again.manifest["expectations"] == done.manifest["expectations"]
        (kept,) = (done.folder / "damaged").iterdir()
        assert kept.read_text() == text.replace(old, new)
        kept.unlink()
        path.write_text(text)


@pytest.mark.parametrize(
    "files",
    [
        {"notes.txt": b"mine"},
        {"lock": b"mine"},
        {"manifest.json": b"{}"},
        {"pieces/a.npz": b"mine"},
        {"sum.svg": b"mine"},
    ],
)
def test_a_folder_of_others_is_left_as_it_is(run, tmp_path, files):
    """Whatever lies where a study would go: nothing is computed, written or removed."""
    folder = tmp_path / "convolutional_filter" / "toy" / "quick"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(text)
    before = snapshot(tmp_path)
    with pytest.raises((NotOurs, Unreadable), match="has not written"):
        run()
    assert snapshot(tmp_path) == before and not calls


@pytest.mark.parametrize("name", ["lock", "manifest.json", "pieces/b.npz", "sum.svg", "pieces", "damaged", "."])
def test_links_are_not_followed(run, tmp_path, name):
    """A link in the place of anything of a finished study costs its target nothing."""
    done, _, _ = run()
    target, place = tmp_path / "elsewhere", done.folder / name
    if place.is_dir() or name == "damaged":
        place.rename(target) if place.exists() else target.mkdir()
    else:
        target.write_bytes(b"mine")
        place.unlink()
    place.parent.joinpath(place.name).symlink_to(target)
    before = {path: found for path, found in snapshot(tmp_path).items() if "elsewhere" in path}
    with pytest.raises((NotOurs, Unreadable)):
        run(seed=1)
    assert {path: found for path, found in snapshot(tmp_path).items() if "elsewhere" in path} == before


def test_what_cannot_be_read_is_not_damaged(run, monkeypatch):
    """A piece that a failing disk does not give is neither removed nor computed again."""
    done, _, _ = run()
    before = snapshot(done.folder)
    for path in (done.folder / "pieces" / "b.npz", done.folder / "sum.png", done.folder / "manifest.json"):
        with monkeypatch.context() as patch:
            real = os.open

            def failing(name, *arguments, real=real, path=path, **options):
                if os.fspath(name) == os.fspath(path):
                    raise OSError(errno.EIO, os.strerror(errno.EIO), os.fspath(name))
                return real(name, *arguments, **options)

            patch.setattr(os, "open", failing)
            with pytest.raises(Unreadable, match=f"{path.name} cannot be read"):
                run()
        assert snapshot(done.folder) == before and not calls
    assert run()[0].reused


def test_a_damaged_piece_is_kept(run):
    """It is computed again, and what is left of it is set aside."""
    done, _, _ = run()
    path = done.folder / "pieces" / "b.npz"
    damaged = path.read_bytes()[:-100]
    path.write_bytes(damaged)
    again, measured, _ = run()
    assert measured == ["b"] and again.manifest["expectations"] == done.manifest["expectations"]
    assert [kept.read_bytes() for kept in (done.folder / "damaged").iterdir()] == [damaged]


def test_two_commands_do_not_share_a_study(run, tmp_path):
    """A study that another process works on is refused before anything is computed; a finished one is read."""
    done, _, _ = run()
    with locked(done.folder):
        assert run()[0].reused
        with pytest.raises(FolderInUse, match="toy"):
            run(seed=1)
        assert not calls


def test_figures_are_the_same_every_time(run):
    """The same data give the same bytes."""
    first = {path.name: path.read_bytes() for path in run()[0].folder.glob("sum.*")}
    second = {path.name: path.read_bytes() for path in run(fresh=True)[0].folder.glob("sum.*")}
    assert first == second and len(first) == 2


def test_ways_to_compare():
    """Bounds and tolerances decide as they say."""
    assert within("x", 1.0, 1.2, 0.3).ok and not within("x", 1.0, 1.4, 0.3).ok
    assert at_least("x", 0.25, 0.2, 0.1).ok and not at_least("x", 0.25, 0.1, 0.1).ok
    assert not described("x", "falls", "rises", np.bool_(False)).ok
    assert within("x", 1.0, float("inf"), 1.0).document()["measured"] == "inf"
