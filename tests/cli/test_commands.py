"""The command line as a user meets it: documents, tables, exit codes, and no array library without need."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tutelage.cli.main import app
from tutelage.papers import STUDIED, Recorded, RecordedStudy, recorded_verdicts

run = CliRunner().invoke
CHEAP = "convolutional_filter.section-E.step"


def test_papers_document():
    """`papers --json` prints one document with every covered paper."""
    result = run(app, ["papers", "--json"])
    papers = {paper["key"]: paper for paper in json.loads(result.stdout)["papers"]}
    assert result.exit_code == 0 and list(papers) == list(STUDIED)
    assert sum(paper["claims"] for paper in papers.values()) == len(recorded_verdicts())
    assert papers["convolutional_filter"]["studies"] == 4
    assert (papers["flat_channels"]["claims"], papers["flat_channels"]["studies"]) == (0, 1)


def test_the_package_is_the_command_too():
    """`python -m tutelage` is `tutelage`, for those whose folder of scripts is not on the path, bad input included."""
    shown, refused = (
        subprocess.run([sys.executable, "-m", "tutelage", word], capture_output=True, text=True)
        for word in ("--version", "maxima")
    )
    assert (shown.returncode, shown.stdout) == (0, f"tutelage {version('tutelage')}\n")
    assert refused.returncode == 2 and "maxima" in refused.stderr and "__main__" not in refused.stderr


def test_a_paper_without_claims_names_its_studies():
    """Of a paper whose statements are not judged, `papers` tells what can be run, and `errata` refuses it."""
    listed = run(app, ["papers", "copy_or_average"])
    assert listed.exit_code == 0 and "tutelage reproduce copy_or_average.narrow-students" in " ".join(
        listed.stdout.split()
    )
    refused = run(app, ["errata", "copy_or_average"])
    assert refused.exit_code == 2 and "`paper` must be one of 'weight_sharing'" in refused.stderr


def test_papers_table_fits_eighty_columns():
    """`papers` prints a table no wider than a terminal of 80 columns."""
    result = run(app, ["papers"], terminal_width=80, env={"COLUMNS": "80"})
    assert "convolutional_filter" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_audit_document():
    """`audit ID --json` prints the verdicts of all forms with the promised fields."""
    result = run(app, ["audit", CHEAP, "--json", "--workers", "1"])
    claims = json.loads(result.stdout)["claims"]
    assert result.exit_code == 0
    assert [(claim["form"], claim["verdict"]) for claim in claims] == [
        ("as_printed", "refuted"),
        ("as_meant", "holds"),
        ("corrected", "holds"),
    ]
    wanted = {"id", "form", "verdict", "margin", "instances", "arithmetic", "witness", "control_refuted", "seconds"}
    assert all(wanted <= claim.keys() and claim["control_refuted"] for claim in claims)


def test_audit_table_names_the_finding():
    """`audit ID` prints verdicts, and what is wrong with the print in words."""
    result = run(app, ["audit", CHEAP, "--workers", "1"])
    assert result.exit_code == 0
    assert "refuted" in result.stdout and "upside down" in result.stdout


def test_audit_in_processes_is_the_same():
    """Verdicts do not depend on the number of processes."""
    alone, pool = (
        json.loads(run(app, ["audit", CHEAP, "*.section-4.1.g", "--json", "--workers", workers]).stdout)["claims"]
        for workers in ("1", "2")
    )
    for one, other in zip(alone, pool, strict=True):
        assert {**one, "seconds": 0} == {**other, "seconds": 0}


def test_unexpected_verdict_exits_with_one(monkeypatch):
    """A verdict other than the one on record is named, and the exit code says so."""
    from tutelage.cli import auditing

    records = {**recorded_verdicts(), CHEAP: Recorded(CHEAP, "holds", "holds", "")}
    monkeypatch.setattr(auditing, "recorded_verdicts", lambda: records)
    result = run(app, ["audit", CHEAP, "--workers", "1"])
    assert result.exit_code == 1 and "on record: holds" in result.stderr
    # A new claim has no record until one is made of this very audit.
    monkeypatch.setattr(auditing, "recorded_verdicts", dict)
    result = run(app, ["audit", CHEAP, "--workers", "1"])
    assert result.exit_code == 1 and "on record: nothing" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["audit", "convolutional_filter.lemma-9"], "lemma-9"),
        (["audit", CHEAP, "--effort", "extreme"], "extreme"),
        (["audit", CHEAP, "--seed", "-1"], "seed"),
        (["papers", "--colour"], "colour"),
        (["reproduce", "convolutional_filter.figure-9"], "figure-9"),
        (["reproduce", "convolutional_filter.figure-1b", "--scale", "huge"], "huge"),
        (["reproduce", "convolutional_filter.figure-1b", "--out", "/dev/null/report"], "/dev/null/report"),
        (["adit"], "adit"),
    ],
)
def test_bad_input_exits_with_two(arguments, named):
    """Bad input ends with exit code 2 and a line that names it, and prints nothing on standard output."""
    result = run(app, arguments)
    assert result.exit_code == 2 and named in result.stderr and not result.stdout


def test_start_up_does_not_import_jax():
    """Commands that do not compute do not import JAX."""
    code = (
        "import sys; sys.argv = ['tutelage', 'papers', '--json']\n"
        "from tutelage.cli.main import app\n"
        "try: app()\nexcept SystemExit: pass\n"
        "assert 'jax' not in sys.modules and 'polars' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_reproduce_document(tmp_path):
    """`reproduce ID --json` prints outcomes with the promised fields, writes the report, and reuses what is done."""
    arguments = ["reproduce", "local_convergence.figures-2-3", "--out", str(tmp_path), "--workers", "1", "--json"]
    result = run(app, arguments)
    document = json.loads(result.stdout)
    (study,) = document["studies"]
    assert result.exit_code == 0, result.stderr
    assert {"id", "scale", "verdict", "expectations", "figures", "seconds"} <= study.keys()
    assert study["verdict"] == "reproduced" and study["scale"] == "quick"
    wanted = {"what", "published", "measured", "tolerance", "ok"}
    assert all(wanted <= expectation.keys() and expectation["ok"] for expectation in study["expectations"])
    assert all(Path(figure).stat().st_size > 1000 for figure in study["figures"])
    assert Path(document["report"]).is_file()
    shown = run(app, arguments[:-1], env={"COLUMNS": "80"})
    assert (
        shown.exit_code == 0
        and "done before" in " ".join(shown.stdout.split())
        and "index.html" in shown.stdout.replace("\n", "")
    )


def test_unexpected_outcome_exits_with_one(tmp_path, monkeypatch):
    """An outcome other than the one on record is named, and the exit code says so."""
    from tutelage.cli import reproducing

    id = "mild_overparameterization.figure-2"
    record = RecordedStudy(id, "one-point convexity across the minima", "differs", 3, "It differs.")
    monkeypatch.setattr(reproducing, "recorded_studies", lambda: {id: record})
    result = run(app, ["reproduce", id, "--out", str(tmp_path), "--workers", "1"])
    assert result.exit_code == 1 and "on record: differs with 3" in result.stderr


def test_audit_writes_into_a_report(tmp_path):
    """`audit --out` keeps the verdicts where the report shows them."""
    result = run(app, ["audit", CHEAP, "--workers", "1", "--out", str(tmp_path)])
    assert result.exit_code == 0 and (tmp_path / "index.html").is_file()
    assert [path.stem for path in (tmp_path / "verdicts" / "pieces").iterdir()] == [CHEAP]


def test_audit_uses_kept_verdicts_while_nothing_has_changed(tmp_path, monkeypatch):
    """A verdict in the report's folder is used again; another seed, `--fresh`, or damage judges anew."""
    from tutelage.claims import auditing

    judged = []

    def judge(id, effort, seed):
        judged.append(seed)
        return real(id, effort, seed)

    real = auditing._judge
    monkeypatch.setattr(auditing, "_judge", judge)
    arguments = ["audit", CHEAP, "--workers", "1", "--json", "--out", str(tmp_path)]
    first, again = run(app, arguments), run(app, arguments)
    assert first.exit_code == again.exit_code == 0 and judged == [0]
    assert json.loads(first.stdout) == json.loads(again.stdout)
    run(app, [*arguments, "--seed", "1"])
    assert judged == [0, 1]
    # The folder holds the verdicts of the last seed.
    run(app, arguments)
    run(app, [*arguments, "--fresh"])
    assert judged == [0, 1, 0, 0]
    (tmp_path / "verdicts" / "pieces" / f"{CHEAP}.npz").write_text('{"claims": [{"id"')
    damaged = run(app, arguments)
    assert damaged.exit_code == 0 and judged == [0, 1, 0, 0, 0] and "is damaged" in damaged.stderr


def test_version():
    """One line."""
    assert run(app, ["--version"]).stdout == f"tutelage {version('tutelage')}\n"


def test_one_statement_is_not_several():
    """Counted in the singular."""
    result = run(app, ["audit", "convolutional_filter.section-E.step", "--workers", "1"])
    assert "1 statement:" in result.stdout and "1 statements" not in result.stdout
