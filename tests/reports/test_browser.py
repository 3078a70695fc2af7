"""The report in a real browser: figures load, nothing leaves the machine, no console error, no sideways scrolling."""

import pytest
from browsing import Visit, chromium

from tutelage.claims import claims_of
from tutelage.papers import PAPERS


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium."""
    with chromium() as opened:
        yield opened


@pytest.mark.parametrize("width", [1280, 390], ids=["desktop", "phone"])
@pytest.mark.parametrize("name", ["index", *PAPERS])
def test_page(browser, report, name, width):
    """At both widths: every image has pixels, formulas are typeset, requests stay on disk, nothing overflows."""
    visit = Visit(browser, (report / f"{name}.html").as_uri(), width)
    page = visit.page
    assert visit.complaints == []
    assert all(url.startswith(("file:", "data:")) for url in visit.requests)
    widths = page.evaluate("[...document.images].map(image => image.complete ? image.naturalWidth : 0)")
    assert all(widths), widths
    if name in ("index", "convolutional_filter"):
        assert widths, "the study's figure is shown"
    assert page.evaluate("document.querySelectorAll('.math').length > 0")
    assert page.evaluate("[...document.querySelectorAll('.math')].every(e => e.querySelector('.katex'))")
    assert page.evaluate("document.querySelectorAll('.katex-error').length") == 0
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.close()


def test_the_table_of_verdicts_is_filtered(browser, report):
    """By a click on a tile or on a paper's link, by words, and by the kind of failure."""
    visit = Visit(browser, (report / "index.html").as_uri(), 1280)
    page = visit.page
    visible = "[...document.querySelectorAll('#claims tbody tr')].filter(row => !row.hidden).length"
    everything = page.evaluate(visible)
    page.click(".tile.fails")
    failing = page.evaluate(visible)
    assert 0 < failing < everything
    assert page.evaluate("document.getElementById('shown').textContent") == f"{failing} of {everything}"
    page.click(".tile.slip")
    page.fill("#search", "upside down")
    assert page.evaluate(visible) == 1
    page.fill("#search", "no such words")
    assert page.evaluate(visible) == 0
    page.click(".tile.fails")
    page.select_option("#kind", "constant")
    assert 0 < page.evaluate(visible) < failing
    # A paper's link to the table shows its statements and forgets the other filters.
    page.click("a[data-paper=convolutional_filter]")
    assert page.evaluate(visible) == len(claims_of("convolutional_filter"))
    assert visit.complaints == []
    page.close()
