"""The page on the house is true: its rooms are the package's, and its doors those of the import contracts."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def _floors_of_the_page():
    rows = re.findall(r"^\| (?:−)?\d+ \| ([^|]+) \|", (ROOT / "docs" / "house.md").read_text(), re.MULTILINE)
    return [set(re.findall(r"`(\w+)`", row)) for row in rows]


def test_rooms_and_doors_are_those_of_the_import_contracts():
    """Floor by floor, from the top down; the contract refuses a module that has no place."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [contract for contract in contracts if contract["type"] == "layers"]
    assert layers["exhaustive"]
    assert _floors_of_the_page() == [set(re.split(r"[ |:]+", layer)) for layer in layers["layers"]]


def test_every_room_is_on_the_page():
    """All modules and packages at the top, and no other."""
    package = ROOT / "src" / "tutelage"
    there = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert set().union(*_floors_of_the_page()) == there - {"__init__", "__main__"}
