"""Pages in a real browser: what it asked for, and what it complained about."""

import os
import shutil
from contextlib import contextmanager

import pytest

PATIENCE = 300_000  # milliseconds: a browser that hangs is an error, one on a busy machine is not


@contextmanager
def chromium():
    """Headless Chromium; tests are skipped where there is none, unless TUTELAGE_REQUIRE_BROWSER is set."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((path for name in names if (path := shutil.which(name))), None)
    if path is None and not os.environ.get("TUTELAGE_REQUIRE_BROWSER"):
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    assert path is not None, "TUTELAGE_REQUIRE_BROWSER is set, and there is no Chromium"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"], timeout=PATIENCE)
        yield browser
        browser.close()


class Visit:
    """A page that was opened, with what the browser said about it; nothing is waited for that only pleases the eye."""

    def __init__(self, browser, url: str, width: int = 1280, **options):
        self.requests: list[str] = []
        self.complaints: list[str] = []
        size = {"width": width, "height": 900}
        self.page = browser.new_page(viewport=size, reduced_motion="reduce", **options)
        self.page.set_default_timeout(PATIENCE)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda request: self.complaints.append(f"failed: {request.url}"))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(url, wait_until="load")

    def follow(self, link: str) -> None:
        """Click a link to a place of the same page, and wait for what the page does then: it is told later."""
        self.page.evaluate("addEventListener('hashchange', () => { window.told = true; }, { once: true })")
        self.page.click(link)
        self.page.wait_for_function("window.told")
        self.page.evaluate("window.told = false")
