"""The explorer's folder, and its scripts in a real browser."""

import pytest
from browsing import Visit

from tutelage.explorer import write_explorer


@pytest.fixture(scope="session")
def explorer(tmp_path_factory):
    """The page of an explorer."""
    return write_explorer(tmp_path_factory.mktemp("explorer"))


@pytest.fixture(scope="session")
def evaluate(browser, explorer):
    """A function that runs JavaScript where the closed forms are."""
    visit = Visit(browser, explorer.as_uri())
    assert visit.complaints == []
    return visit.page.evaluate
