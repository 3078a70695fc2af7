"""The examples that `tutelage init` writes work when their commented grids are used as they stand."""

import re

import pytest

from tutelage.sweeps import Range, Sweep
from tutelage.sweeps.specification.examples import example, families


def _uncommented(family: str) -> str:
    """The example with its grid, its prose left in comments."""
    return re.sub(r"^# (?=\[\[?(?:grid|zip)|[a-z_.]+ = [\[{])", "", example(family), flags=re.MULTILINE)


@pytest.mark.parametrize("family", families())
def test_grids_are_specifications(tmp_path, family):
    """Each grid has several cells, and every one of them can be built."""
    (tmp_path / "grid.toml").write_text(_uncommented(family), encoding="utf-8")
    assert len(Sweep.from_toml(tmp_path / "grid.toml")) > 1


def test_no_cell_of_the_committee_diverges(tmp_path):
    """The largest committees of both activations; the absolute value diverged with the step of ReLU."""
    text = _uncommented("committee")
    for before, after in (
        ("runs = 50", "runs = 2"),
        ("step_limit = 20000", "step_limit = 300"),
        ("[6, 7, 8]", "[8]"),
        ("[6, 8]", "[8]"),
    ):
        assert before in text
        text = text.replace(before, after)
    (tmp_path / "grid.toml").write_text(text, encoding="utf-8")
    sweep = Sweep.from_toml(tmp_path / "grid.toml")
    statuses = [status for cell in range(len(sweep)) for status in sweep.run(Range(cell, 0, 2)).runs["status"]]
    assert len(statuses) == 4 and "diverged" not in statuses
