"""The specifications and the Python block of the page on specifications are good ones."""

import re
from pathlib import Path

import pytest

import tutelage as tl

PAGE = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text(encoding="utf-8")


def blocks(language):
    """The blocks of the page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("number", range(3))
def test_specifications(number, tmp_path):
    """Each TOML block is a specification; the last has as many cells as the text says."""
    found = blocks("toml")
    assert len(found) == 3
    (tmp_path / "spec.toml").write_text(found[number])
    assert len(tl.Sweep.from_toml(tmp_path / "spec.toml")) == (1, 1, 18)[number]


def test_python_block():
    """What the page shows runs, comes to its end, and reaches the teacher."""
    (block,) = blocks("python")
    names = {}
    exec(compile(block, "docs/sweeps.md", "exec"), names)
    outcome = names["outcome"]
    assert outcome.runs.height == 20 and set(outcome.runs["status"]) == {"converged"}
    assert outcome.runs["success"].any() and len(outcome.arrays["points"]) == 20


def test_columns_are_described():
    """Every column of the table of runs is on the page."""
    from tutelage.sweeps.following import RUN_COLUMNS

    rows = PAGE[PAGE.index("## Rows") :]
    assert all(f"`{name}`" in rows for name in RUN_COLUMNS)
