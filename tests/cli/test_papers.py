"""`papers PAPER`, `show` and `errata`: what is on record, without waiting."""

import json
import subprocess
import sys

import numpy as np
import pytest
from rich.cells import cell_len
from typer.testing import CliRunner

from tutelage.claims import claims_of
from tutelage.cli.main import app
from tutelage.papers import PAPERS, defects, recorded_verdicts, records_of
from tutelage.reports.errata import errata_latex, errata_markdown

run = CliRunner().invoke
SLIP, FAILS = "weight_sharing.lemma-3", "weight_sharing.lemma-7"


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_lists_its_statements(paper):
    """Every statement with how it stands: as a table that fits 80 columns, and as a document."""
    shown = run(app, ["papers", paper], env={"COLUMNS": "80"})
    assert shown.exit_code == 0 and max(map(cell_len, shown.stdout.splitlines())) <= 80
    document = json.loads(run(app, ["papers", paper, "--json"]).stdout)
    assert [entry["id"] for entry in document["claims"]] == [record.id for record in records_of(paper)]
    assert all(entry["standing"] == recorded_verdicts()[entry["id"]].standing for entry in document["claims"])


@pytest.mark.parametrize("id", [SLIP, FAILS])
def test_show_has_all_readings_and_the_power(id):
    """Statement, hypotheses, place, verdicts, power; the document says the same."""
    (claim,) = [claim for claim in claims_of(id.partition(".")[0]) if claim.id == id]
    text = run(app, ["show", id], env={"COLUMNS": "80"}).stdout
    assert max(map(cell_len, text.splitlines())) <= 80
    for word in ("As printed", "Corrected", "at risk", "it is refuted", f"tutelage show {id} --paste"):
        assert word in " ".join(text.split())
    assert ("As meant" in text) == (claim.as_meant is not None)
    (entry,) = json.loads(run(app, ["show", id, "--json"]).stdout)["claims"]
    assert entry["standing"] == recorded_verdicts()[id].standing
    assert list(entry["statements"]) == [verdict["reading"] for verdict in entry["verdicts"]] == list(claim.forms)


def test_what_is_pasted_runs_without_the_library_and_contradicts_the_print():
    """It states the hypotheses, checks them, and ends with what the print says and what the numbers say."""
    source = run(app, ["show", FAILS, "--paste"]).stdout
    assert "# Assuming" in source and "tutelage" not in source
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    says, numbers = done.stdout.splitlines()
    assert says.startswith("As printed: left") and numbers.endswith("so it fails.")


def test_a_statement_that_holds_pastes_its_closest_call():
    """The numbers of a statement that holds say that it holds there."""
    source = run(app, ["show", "weight_sharing.lemma-1", "--paste"]).stdout
    if source:  # where its formulas are elementary
        names: dict = {}
        exec(source, names)
        assert np.all(np.isfinite(names["left"]))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["show", "single_neuron.lemma-6.33"], "single_neuron.lemma-6.3"),
        (["show", "single_neuron"], "tutelage papers single_neuron"),
        (["papers", "single_neurons"], "single_neuron"),
        (["errata", "neuron"], "single_neuron"),
        (["errata", "single_neuron", "--out", "/dev/null/letters"], "/dev/null/letters"),
    ],
)
def test_wrong_names_are_answered_with_the_right_ones(arguments, named):
    """Exit code 2, nothing on standard output, and what is perhaps meant."""
    result = run(app, arguments)
    assert result.exit_code == 2 and named in result.stderr and result.stdout == ""


@pytest.mark.parametrize("paper", PAPERS)
def test_errata_name_every_defect_once(paper, tmp_path):
    """Two files: the errors in full, the others in a line; all that LaTeX cannot set is translated."""
    result = run(app, ["errata", paper, "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert (tmp_path / f"{paper}-errata.md").read_text(encoding="utf-8") == errata_markdown(paper)
    text, latex = errata_markdown(paper), errata_latex(paper)
    for defect in defects(paper):
        assert defect.records[0].finding in text or f"show {defect.records[0].id} " in text or "**Why.**" in text
    assert text.count("\n## ") + text.count("\n- ") >= len(defects(paper))
    assert latex.isascii(), sorted({one for one in latex if not one.isascii()})
    assert latex.count("{") == latex.count("}") and latex.count("\\begin{") == latex.count("\\end{")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("papers co", ["convolutional_filter", "copy_or_average"]),
        ("errata co", ["convolutional_filter"]),
        ("show single_neuron.lemma-6", ["single_neuron.lemma-6.2", "single_neuron.lemma-6.3"]),
        ("audit weight_sharing.theorem-4", ["weight_sharing.theorem-4"]),
        ("reproduce flat", ["flat_channels", "flat_channels.channels"]),
    ],
)
def test_names_are_completed(typed, offered):
    """The shell offers what a command takes, and begins as what was typed."""
    environment = {"_TUTELAGE_COMPLETE": "complete_bash", "COMP_WORDS": f"tutelage {typed}", "COMP_CWORD": "2"}
    said = run(app, [], prog_name="tutelage", env=environment).stdout.split()
    assert said[: len(offered)] == offered and all(name.startswith(typed.split()[1]) for name in said)
    assert len(said) == len(offered) or typed.startswith(("show", "audit"))
