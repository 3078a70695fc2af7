"""The report in a real browser: figures load, nothing leaves the machine, no console error, no sideways scrolling."""

import os
import shutil

import pytest

from tutelage.claims import claims_of
from tutelage.papers import PAPERS

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
if CHROMIUM is None and not os.environ.get("TUTELAGE_REQUIRE_BROWSER"):
    pytest.skip("Chromium is not installed (Debian: apt-get install chromium)", allow_module_level=True)


PATIENCE = 300_000  # milliseconds: a browser that hangs is an error, one on a busy machine is not


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium."""
    from playwright.sync_api import sync_playwright

    assert CHROMIUM is not None, "TUTELAGE_REQUIRE_BROWSER is set, and there is no Chromium"
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"], timeout=PATIENCE
        )
        yield chromium
        chromium.close()


class Visit:
    """A page that was opened, with what the browser said about it."""

    def __init__(self, browser, url: str, width: int):
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": 900})
        self.page.set_default_timeout(PATIENCE)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda request: self.complaints.append(f"failed: {request.url}"))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(url, wait_until="load")


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
