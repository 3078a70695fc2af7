"""`tutelage minima` as a user meets it."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import tutelage as tl
from tutelage.cli.main import app

run = CliRunner().invoke
SEARCH = ["minima", "--neurons", "3", "--runs", "5", "--seed", "1"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A saved atlas, and the document printed with it."""
    path = tmp_path_factory.mktemp("minima") / "three.npz"
    result = run(app, [*SEARCH, "--out", str(path), "--json"])
    assert result.exit_code == 0
    return path, json.loads(result.stdout)


def test_document(saved):
    """`minima --json` prints one document with the promised fields, and the point is a global minimum."""
    _, document = saved
    assert {"neurons", "students", "runs", "statuses", "steps", "seconds", "minima"} <= document.keys()
    assert (document["neurons"], document["students"], document["runs"]) == (3, 3, 5)
    assert document["statuses"] == {"converged": 5} and sum(entry["count"] for entry in document["minima"]) == 5
    first = document["minima"][0]
    assert {"count", "kind", "loss", "norm_sum", "smallest_eigenvalue", "symmetry", "point"} <= first.keys()
    assert first["kind"] == "global minimum" and first["symmetry"] == "3"
    assert first["smallest_eigenvalue"] == pytest.approx(0.25 - 0.5 / np.pi)
    np.testing.assert_allclose(first["point"], np.eye(3), atol=1e-9)


def test_saved_atlas_is_shown(saved):
    """A saved atlas is shown as a document, and as a table with pictures."""
    path, document = saved
    again = json.loads(run(app, ["minima", str(path), "--json"]).stdout)
    assert again["minima"] == document["minima"] and again["steps"] == document["steps"]
    shown = run(app, ["minima", str(path)], env={"COLUMNS": "80"})
    assert shown.exit_code == 0
    assert "global minimum" in shown.stdout and "██" in shown.stdout and "5 converged" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_certificates(saved):
    """`--certify` proves the point of a saved atlas: a column of the table, a field of the document."""
    path, document = saved
    (entry,) = json.loads(run(app, ["minima", str(path), "--certify", "--json"]).stdout)["minima"]
    proof = entry.pop("proved")
    assert [entry] == document["minima"]
    assert (proof["kind"], proof["reason"], proof["loss"], proof["radius"]) == ("global minimum", "", [0.0, 0.0], 0.0)
    low, high = proof["smallest_eigenvalue"]
    assert low <= 0.25 - 0.5 / np.pi <= high and proof["index"] == 0
    assert proof["lipschitz"] * proof["unique_radius"] < proof["least_curvature"]
    assert [[float(text) for text in row] for row in proof["centre"]] == np.eye(3).tolist()
    shown = run(app, ["minima", str(path), "--certify"], env={"COLUMNS": "80"})
    heading, row = shown.stdout.splitlines()[:2]
    assert shown.exit_code == 0 and heading.split()[-1] == "proved" and row.split()[-1] == "yes"


def test_certificates_of_other_problems_are_refused(tmp_path):
    """An atlas of a problem that the command does not make is not certified by guessing what it was."""
    objective = tl.population(tl.problems.committee(np.eye(2), students=2, noise=0.1))
    path = tmp_path / "noisy.npz"
    tl.atlas(objective, np.eye(2)[None]).save(path)
    result = run(app, ["minima", str(path), "--certify"])
    assert result.exit_code == 2 and "says its whole problem only for committees" in result.stderr and not result.stdout


def test_missing_package_is_named_before_work_starts(monkeypatch):
    """Without python-flint the search does not begin."""
    monkeypatch.setitem(sys.modules, "flint", None)
    monkeypatch.setattr("tutelage.cli.minima._search", lambda *arguments: pytest.fail("searched"))
    result = run(app, ["minima", "--neurons", "3", "--certify"])
    assert result.exit_code == 2 and "tutelage[certify]" in result.stderr and not result.stdout


def test_students_too_large_for_a_proof_are_refused_before_work_starts(monkeypatch):
    """A search whose points cannot be certified does not begin, so that none is lost."""
    monkeypatch.setattr("tutelage.cli.minima._search", lambda *arguments: pytest.fail("searched"))
    result = run(app, ["minima", "--neurons", "40", "--students", "41", "--activation", "abs", "--certify"])
    assert result.exit_code == 2 and "1640" in result.stderr and not result.stdout


def test_what_is_not_proved_says_why(saved, monkeypatch):
    """Where a proof does not succeed the table says no, and a line below why; the document has the reason."""
    path, _ = saved
    refused = SimpleNamespace(proved=False, kind="not proved", reason="no [luck]")
    monkeypatch.setattr("tutelage.geometry.certified.certify", lambda *arguments: refused)
    shown = run(app, ["minima", str(path), "--certify"]).stdout
    assert shown.splitlines()[1].split()[-1] == "no" and "0, not proved: no [luck]" in shown
    (entry,) = json.loads(run(app, ["minima", str(path), "--certify", "--json"]).stdout)["minima"]
    assert entry["proved"] == {"kind": "not proved", "reason": "no [luck]"}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["minima"], "--neurons"),
        (["minima", "--neurons", "0"], "neurons"),
        (["minima", "--neurons", "3", "--step", "-1"], "step"),
        (["minima", "--neurons", "3", "--step", "nan"], "step"),
        (["minima", "--neurons", "3", "--out", "/no/such/folder/atlas.npz"], "folder"),
        (["minima", "absent.npz"], "absent.npz"),
        (["minima", "absent.npz", "--neurons", "3"], "either"),
        (["minima", "absent.npz", "--runs", "3", "--seed", "1"], "--seed, --runs"),
    ],
)
def test_bad_input_exits_with_two(arguments, named):
    """Bad input ends with exit code 2 and a line that names it, and prints nothing on standard output."""
    result = run(app, arguments)
    assert result.exit_code == 2 and named in result.stderr and not result.stdout


def test_damaged_file_exits_with_two(saved, tmp_path):
    """A damaged atlas is refused with one line."""
    path = tmp_path / "damaged.npz"
    path.write_bytes(saved[0].read_bytes()[:200])
    result = run(app, ["minima", str(path)])
    assert result.exit_code == 2 and "damaged" in result.stderr and len(result.stderr.strip().splitlines()) == 1
