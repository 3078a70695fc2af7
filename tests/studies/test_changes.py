"""A study with other settings: what may be changed, what the outcome says, and that nothing else is touched."""

import json

import pytest
from hostile import snapshot
from typer.testing import CliRunner

from tutelage.cli.main import app
from tutelage.errors import InvalidArgument
from tutelage.studies import all_studies, find, with_settings
from tutelage.studies.changes import changes_of, parsed

STUDY = "mild_overparameterization.figure-2"


def _setting(study, kind):
    return next(one for one in study.settings if isinstance(one.quick, kind) and not isinstance(one.quick, bool))


def test_what_is_changed_is_said_and_not_judged(tmp_path):
    """On the command line: other settings, expectations without a verdict, and a folder of its own."""
    (study,) = find([STUDY])
    name = _setting(study, int).name
    before = getattr(study.values("quick"), name)
    assert CliRunner().invoke(app, ["reproduce", STUDY, "--workers", "1", "--out", str(tmp_path)]).exit_code == 0
    usual = snapshot(tmp_path.joinpath("studies", *STUDY.split("."), "quick"))
    arguments = ["reproduce", STUDY, "--set", f"{name}={before + 1}", "--workers", "1", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    (document,) = json.loads(result.stdout)["studies"]
    assert document["changed"] == {name: before + 1}
    assert document["verdict"] == "measured"
    assert {expectation["ok"] for expectation in document["expectations"]} == {None}
    assert snapshot(tmp_path.joinpath("studies", *STUDY.split("."), "quick")) == usual
    shown = CliRunner().invoke(app, arguments)
    assert f"changed: {name} = {before + 1}" in shown.stdout


@pytest.mark.parametrize(
    ("assignment", "words"),
    [("no_such=1", "be a setting of"), ("step", "name=value"), ("=3", "name=value")],
)
def test_bad_changes_are_refused(tmp_path, assignment, words):
    """With one line, before anything is written."""
    result = CliRunner().invoke(app, ["reproduce", STUDY, "--set", assignment, "--out", str(tmp_path / "report")])
    assert result.exit_code == 2 and words in result.stderr
    assert not (tmp_path / "report").exists()


def test_several_studies_are_refused(tmp_path):
    """A setting belongs to one study."""
    result = CliRunner().invoke(
        app, ["reproduce", "mild_overparameterization", "--set", "samples=2", "--out", str(tmp_path / "r")]
    )
    assert result.exit_code == 2 and "changes one study" in result.stderr


def tried(study, setting):
    """A study with a setting as it is, or why that cannot be."""
    try:
        return with_settings(study, {setting.name: setting.quick})
    except InvalidArgument as error:
        return str(error)


@pytest.mark.parametrize("study", all_studies(), ids=lambda study: study.id)
def test_settings_keep_their_kind(study):
    """Every setting takes its own value, and no text in place of a number; what is stated only is refused."""
    for setting in study.settings:
        if isinstance(setting.quick, str):
            with pytest.raises(InvalidArgument, match="that the program reads"):
                with_settings(study, {setting.name: "other"})
            continue
        same = tried(study, setting)
        if isinstance(same, str):
            assert "that the program reads" in same
            continue
        assert changes_of(same) == {setting.name: setting.quick}
        for other in ("a word", float("inf"), float("nan")):
            with pytest.raises(InvalidArgument):
                with_settings(study, {setting.name: other})


def test_assignments_are_plain_values():
    """Numbers, lists and words; nothing is evaluated."""
    assert parsed("runs=50") == ("runs", 50)
    assert parsed("ratios=[0.5, 1]") == ("ratios", [0.5, 1])
    assert parsed("name=__import__('os')") == ("name", "__import__('os')")
