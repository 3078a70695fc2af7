"""The documentation opens from disk: links lead to pages, search works, and nothing is asked of the network."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from browsing import Visit

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_site_opens_from_disk(browser, tmp_path):
    """Built as `make docs` builds it, and opened without a server."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(command, cwd=ROOT, check=True, env=environment)
    for path in tmp_path.rglob("*.html"):
        for target in re.findall(r'href="([^"#?]+)', path.read_text(encoding="utf-8")):
            if path.name != "404.html" and not re.match(r"\w+:|//", target):
                assert (path.parent / target).is_file(), f"{target} in {path.name}"
    visit = Visit(browser, (tmp_path / "index.html").as_uri())
    visit.page.evaluate("document.querySelector('input.md-search__input').focus()")
    visit.page.keyboard.type("certificate")
    visit.page.wait_for_selector(".md-search-result__link", state="attached")
    assert visit.complaints == []
    assert all(url.startswith(("file:", "data:", "about:")) for url in visit.requests)
