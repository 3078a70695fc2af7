"""A release is one: its version is the same wherever it is said, and its workflows can be read."""

import re
from pathlib import Path

import pytest
import yaml

import tutelage

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def _text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_one_version():
    """In the citation, in the README and on top of the changelog; the package takes it from the source."""
    version = tutelage.__version__
    assert yaml.safe_load(_text("CITATION.cff"))["version"] == version
    assert re.search(r"version = \{(.*)\}", _text("README.md"))[1] == version
    released = re.search(r"^## (\S+) - (\d{4}-\d\d-\d\d)$", _text("CHANGELOG.md"), flags=re.MULTILINE)
    assert released[1] == version
    assert str(yaml.safe_load(_text("CITATION.cff"))["date-released"]) == released[2]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows(path):
    """Each job says where it runs, needs jobs that exist, and has steps that run something or use it at a version."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", True, "permissions", "jobs"} == set(document)  # YAML reads the key `on` as true
    for job in document["jobs"].values():
        assert set(job) <= {"runs-on", "steps", "strategy", "needs", "environment", "permissions"}
        assert {"runs-on", "steps"} <= set(job)
        assert job.get("needs") in (None, *document["jobs"])
        for step in job["steps"]:
            assert len({"run", "uses"} & set(step)) == 1 and set(step) <= {"run", "uses", "with", "env", "name"}
            assert "@" in step.get("uses", "@")


def test_what_is_tested_and_published():
    """Linux and macOS, three versions of Python; a tag is published by the workflow's identity, without a token."""
    tests, release = (yaml.safe_load(_text(f".github/workflows/{name}.yml")) for name in ("tests", "release"))
    matrix = tests["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix == {"os": ["ubuntu-latest", "macos-latest"], "python": ["3.11", "3.12", "3.13"]}
    assert release[True] == {"push": {"tags": ["v*"]}}
    assert release["jobs"]["publish"]["permissions"] == {"id-token": "write"} and "secrets" not in _text(
        ".github/workflows/release.yml"
    )
