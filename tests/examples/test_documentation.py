"""The Python blocks of the documentation run, and the table of the numerics page is up to date."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/getting-started.md")


def blocks(page: str) -> list[str]:
    """Return the Python blocks of a page, in their order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = blocks(page)
    assert found
    names: dict[str, object] = {}
    for number, block in enumerate(found, start=1):
        exec(compile(block, f"{page}, block {number}", "exec"), names)
    assert capsys.readouterr().out


@pytest.mark.slow
def test_table_of_supported_combinations_is_up_to_date() -> None:
    specification = importlib.util.spec_from_file_location("supported", ROOT / "docs" / "supported.py")
    assert specification is not None
    assert specification.loader is not None
    supported = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(supported)
    page = supported.PAGE.read_text(encoding="utf-8")
    assert supported.table() in page, "Run python docs/supported.py --write"
