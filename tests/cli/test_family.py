"""`tutelage family` as a user meets it."""

import json

import pytest
from typer.testing import CliRunner

from tutelage.cli.main import app

run = CliRunner().invoke


def test_document():
    """`family --json` prints the critical points, their entries and all eigenvalues, and nothing else."""
    result = run(app, ["family", "k-1,1", "--neurons", "20", "--json"])
    document = json.loads(result.stdout)
    assert result.exit_code == 0 and document.keys() == {"points"}
    for point in document["points"]:
        assert point.keys() == {"loss", "entries", "index", "spectrum"} and len(point["entries"]) == 5
        assert sum(one["multiplicity"] for one in point["spectrum"]) == 400
        assert {frozenset(one) for one in point["spectrum"]} == {frozenset({"eigenvalue", "multiplicity"})}
    losses = [point["loss"] for point in document["points"]]
    assert losses == sorted(losses) and round(losses[1], 9) == 0.011275582


def test_table():
    """Without --json a table, with the first eigenvalues of each point."""
    shown = run(app, ["family", "k-1,1", "--neurons", "100000"], env={"COLUMNS": "80"})
    assert shown.exit_code == 0 and "global minimum" in shown.stdout and "λ" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80


@pytest.mark.parametrize("arguments", [["k-1", "--neurons", "6"], ["k-1,1", "--neurons", "1"], ["x", "--neurons", "6"]])
def test_nonsense_is_refused(arguments):
    """One clear line, and exit code 2."""
    result = run(app, ["family", *arguments])
    assert result.exit_code == 2 and not result.stdout and "must" in result.stderr
