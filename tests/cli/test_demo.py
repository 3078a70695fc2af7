"""`tutelage demo`: one table for everything, and nothing is done twice."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from tutelage.cli import console, demo
from tutelage.cli.main import app
from tutelage.work.job import Progress
from tutelage.work.lock import locked

run = CliRunner().invoke
CLAIM = "convolutional_filter.section-E.step"
STUDY = "mild_overparameterization.figure-2"
PAPERS = ["convolutional_filter", "mild_overparameterization"]


@pytest.fixture
def little(monkeypatch):
    """Papers with one claim and one study between them."""
    import tutelage.claims
    import tutelage.studies

    claims, studies = tutelage.claims.find([CLAIM]), tutelage.studies.find([STUDY])
    monkeypatch.setattr(tutelage.claims, "find", lambda papers: claims)
    monkeypatch.setattr(tutelage.studies, "find", lambda papers: studies)


def test_a_study_in_use_is_bad_input(little, tmp_path):
    """Two commands do not work on one study, and `demo` says so as `reproduce` does."""
    with locked(tmp_path / "studies" / STUDY.replace(".", "/") / "quick", "another command"):
        result = run(app, ["demo", *PAPERS, *PAPERS, "--workers", "1", "--out", str(tmp_path)])
    assert result.exit_code == 2 and "another command" in result.stderr


def test_demo_does_everything_once(little, tmp_path):
    """The first run computes and writes the report; the second finds everything done and shows the same."""
    arguments = ["demo", *PAPERS, PAPERS[0], "--workers", "1", "--out", str(tmp_path)]
    first = run(app, arguments, env={"COLUMNS": "80"})
    assert first.exit_code == 0, first.stderr
    assert (tmp_path / "index.html").is_file() and "index.html" in first.stdout
    assert first.stdout.count(f"\n{PAPERS[0]} ") == 1
    rows = {line.split()[0]: line.split()[1:] for line in first.stdout.splitlines() if line.startswith(tuple(PAPERS))}
    # Studies, those that agree with the print; claims, those that hold, are refuted, or neither.
    assert rows == {PAPERS[0]: ["0", "0", "1", "0", "1", "0"], PAPERS[1]: ["1", "0", "0", "0", "0", "0"]}
    assert "2 pieces" in first.stderr and max(map(len, first.stdout.splitlines()[:3])) <= 80
    again = run(app, arguments, env={"COLUMNS": "80"})
    assert again.stdout == first.stdout and "used again" in again.stderr and "pieces" not in again.stderr
    document = json.loads(run(app, [*arguments, "--json"]).stdout)
    assert [study["reused"] for study in document["studies"]] == [True]
    assert [claim["verdict"] for claim in document["claims"]] == ["refuted", "holds", "holds"]


def test_interrupted_demo_goes_on(little, tmp_path, monkeypatch):
    """Ctrl-C during the audit says how to go on, and the studies that were done stay done."""
    from tutelage.claims import auditing

    arguments = ["demo", *PAPERS, "--workers", "1", "--out", str(tmp_path)]
    with monkeypatch.context() as patch:

        def interrupt(*arguments):
            raise KeyboardInterrupt

        patch.setattr(auditing, "_judge", interrupt)
        stopped = run(app, arguments)
    assert stopped.exit_code == 130 and "what is done is kept" in stopped.stderr and not stopped.stdout
    on = run(app, [*arguments, "--json"])
    assert on.exit_code == 0 and json.loads(on.stdout)["studies"][0]["reused"]


def test_important_findings_are_shown(capsys):
    """A refuted statement that matters is named with its finding, no more than a few of a paper."""
    from tutelage.claims import Verdict
    from tutelage.papers import PAPERS as ALL
    from tutelage.papers import recorded_verdicts

    def verdict(id, judgement):
        return Verdict(id, "as_printed", judgement, -1.0, 1, "", {}, True, "", 0.0, "default", 0)

    paper = ALL["mild_overparameterization"]
    one, other = paper.important[:2]
    demo._show([paper.key], [], [verdict(one, "refuted"), verdict(other, "holds")])
    shown = " ".join(capsys.readouterr().out.split())
    assert " ".join(recorded_verdicts()[one].finding.split()) in shown
    assert recorded_verdicts()[other].finding not in shown


def test_time_left_follows_the_machine(capsys):
    """What is left is estimated from the times on record first, and from what was done later."""
    with console.watching("pieces", tell=True) as watch:
        begun = Progress(3, cost=1200.0, workers=2)
        watch(begun)
        watch(replace(begun, running=("long", "last")))
        watch(replace(begun, done=1, seconds=1200.0, cost_done=600.0, running=("last",)))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "3 pieces, about 10 min left …"
    assert lines[1:] == ["50% done, about 20 min left; running: last"]
