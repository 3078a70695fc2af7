"""`tutelage explore`: what it writes and opens; and the way from a refuted statement to its witness."""

import json

from hostile import snapshot
from typer.testing import CliRunner

from tutelage.cli.main import app
from tutelage.explorer import shown_claims, write_explorer
from tutelage.papers import recorded_verdicts
from tutelage.papers.documents import entries

run = CliRunner().invoke


def test_written_and_opened(tmp_path, monkeypatch):
    """The page is opened at the witness; a second time nothing changes."""
    urls = []
    monkeypatch.setattr("webbrowser.open", lambda url: urls.append(url) or True)
    arguments = ["explore", "single_neuron.lemma-6.3", "--out", str(tmp_path / "explorer")]
    assert run(app, arguments).exit_code == 0
    (url,) = urls
    assert url.startswith((tmp_path / "explorer" / "index.html").as_uri() + "#neuron?teacher=")
    before = snapshot(tmp_path)
    document = json.loads(run(app, [*arguments, "--no-open", "--json"]).stdout)
    assert document["url"] == url and not document["opened"]
    assert snapshot(tmp_path) == before


def test_a_folder_of_others_is_left_alone(tmp_path):
    """Nothing is written where something of others lies."""
    (tmp_path / "index.html").write_text("mine")
    before = snapshot(tmp_path)
    result = run(app, ["explore", "--no-open", "--out", str(tmp_path)])
    assert result.exit_code == 2 and "has not written" in result.stderr
    assert snapshot(tmp_path) == before


def test_unknown_claims_are_refused(tmp_path):
    """With one that can be shown."""
    result = run(app, ["explore", "single_neuron.lemma-6.2", "--no-open", "--out", str(tmp_path)])
    assert result.exit_code == 2 and "single_neuron.lemma-6.3" in result.stderr
    assert not list(tmp_path.iterdir())


def test_marked_statements_have_witnesses_in_the_pictures():
    """Each is refuted on record, and what a paper's file marks has a place in the exploration that it names."""
    marked = {claim: said["explore"] for claim, said in entries("claims") if "explore" in said}
    addresses = shown_claims()
    assert {claim: address[1:].partition("?")[0] for claim, address in addresses.items()} == marked
    assert all(recorded_verdicts()[claim].as_printed == "refuted" for claim in marked)
    assert set(marked.values()) == {"neuron", "committee", "filter", "sharing"} and len(marked) >= 30


def test_written_files_are_complete(tmp_path):
    """Every file that a page or style sheet names is there, and nothing else than assets and the manifest."""
    page = write_explorer(tmp_path)
    text = page.read_text()
    names = {path.name for path in tmp_path.iterdir()}
    for name in names - {"manifest.json", "index.html"}:
        assert f'"{name}"' in text
