"""The report in a real browser: figures load, nothing leaves the machine, no console error, no sideways scrolling."""

import pytest
from browsing import Visit

from tutelage.claims import claims_of
from tutelage.papers import PAPERS, STUDIED


@pytest.mark.parametrize("width", [1280, 390], ids=["desktop", "phone"])
@pytest.mark.parametrize("name", ["index", *STUDIED])
def test_page(browser, report, name, width):
    """At both widths: every image has pixels, formulas are typeset, requests stay on disk, nothing overflows."""
    visit = Visit(browser, (report / f"{name}.html").as_uri(), width)
    page = visit.page
    assert visit.complaints == []
    assert all(url.startswith(("file:", "data:")) for url in visit.requests)
    widths = page.evaluate("[...document.images].map(image => image.complete ? image.naturalWidth : 0)")
    assert all(widths), widths
    if name in ("index", "mild_overparameterization"):
        assert widths, "the study's figure is shown"
    assert page.evaluate("document.querySelectorAll('.math').length > 0")
    assert page.evaluate("[...document.querySelectorAll('.math')].every(e => e.querySelector('.katex'))")
    assert page.evaluate("document.querySelectorAll('.katex-error').length") == 0
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.close()


def test_the_overview_is_a_few_screens(browser, report):
    """Lists are closed until something is searched for; then those open that have it."""
    visit = Visit(browser, (report / "index.html").as_uri(), 1280)
    page = visit.page
    assert page.evaluate("document.documentElement.scrollHeight") < 4 * 900
    opened = "[...document.querySelectorAll('details.group')].map(group => [group.open, group.hidden])"
    assert page.evaluate(opened) == [[False, False]] * len(PAPERS)
    page.fill("[data-filter=words]", "the norm grows near the origin")
    assert page.evaluate(opened).count([True, False]) == 1
    page.fill("[data-filter=words]", "")
    assert page.evaluate(opened) == [[False, False]] * len(PAPERS)
    page.close()


def test_the_table_of_verdicts_is_filtered(browser, report):
    """By a click on a tile or on a paper's link, by words, and by the kind of failure."""
    visit = Visit(browser, (report / "index.html").as_uri(), 1280)
    page = visit.page
    visible = "[...document.querySelectorAll('#claims tbody tr')].filter(row => !row.hidden).length"
    everything = page.evaluate(visible)
    visit.follow(".tile.fails")
    failing = page.evaluate(visible)
    assert 0 < failing < everything
    assert page.text_content(".shown") == f"{failing} of {everything}"
    visit.follow(".tile.slip")
    page.fill("[data-filter=words]", "upside down")
    assert page.evaluate(visible) == 1
    page.fill("[data-filter=words]", "no such words")
    assert page.evaluate(visible) == 0
    visit.follow(".tile.fails")
    page.select_option("[data-filter=kind]", "constant")
    assert 0 < page.evaluate(visible) < failing
    # A paper's link to the table shows its statements and forgets the other filters.
    visit.follow("a[href='#verdicts?paper=convolutional_filter']")
    assert page.evaluate(visible) == len(claims_of("convolutional_filter"))
    assert visit.complaints == []
    page.close()


def test_filters_are_in_the_address(browser, report):
    """A filtered table, or page of a paper, opens again as it was from its address."""
    for name, rows in (("index", "#claims tbody tr"), ("single_neuron", "section.claim")):
        visit = Visit(browser, (report / f"{name}.html").as_uri())
        page = visit.page
        visible = f"[...document.querySelectorAll('{rows}')].filter(row => !row.hidden).map(row => row.textContent)"
        page.select_option("[data-filter=standing]", "fails")
        page.fill("[data-filter=words]", "norm")
        again = Visit(browser, page.evaluate("location.href"))  # the driver may not know it yet
        assert 0 < len(page.evaluate(visible)) < page.locator(rows).count()
        assert again.page.evaluate(visible) == page.evaluate(visible)
        assert visit.complaints == again.complaints == []
        page.close()
        again.page.close()


def test_a_link_opens_a_statement(browser, report):
    """It is closed until then; a witness leads to the explorer where one fits."""
    visit = Visit(browser, (report / "single_neuron.html").as_uri() + "#single_neuron.lemma-6.3")
    page = visit.page
    opened = "document.getElementById('single_neuron.{}').querySelector('details').open"
    assert page.evaluate(opened.format("lemma-6.3"))
    assert not page.evaluate(opened.format("lemma-6.2"))
    page.click("[id='single_neuron.lemma-6.3'] >> text=See it in the explorer")
    assert "witness against the print" in page.text_content("section:not([hidden]) .say")
    assert visit.complaints == []
    page.close()


def test_dark_and_copied(browser, report):
    """A page is dark if the system is, or at a click; commands and witnesses have a button that copies them."""
    visit = Visit(
        browser,
        (report / "mild_overparameterization.html").as_uri(),
        color_scheme="dark",
        permissions=["clipboard-read", "clipboard-write"],
    )
    page = visit.page
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.click("button.theme")
    assert dark != page.evaluate(background) == "rgb(255, 255, 255)"
    page.click("button.theme")
    page.click(".study .command .copy >> nth=0")
    page.wait_for_function("document.querySelector('.study .command .copy').textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()").startswith("tutelage reproduce")
    assert visit.complaints == []
    page.close()
