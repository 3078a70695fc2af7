"""The explorer in a real browser: drag, click, type; numbers on the page against Python; what is copied runs."""

import re

import numpy as np
import pytest
from browsing import Visit

import tutelage as tl
from tutelage.explorer import shown_claims
from tutelage.papers import recorded_witnesses
from tutelage.papers.documents import entries
from tutelage.sweeps import Range, Sweep

TRAPPED = 5  # the first of the starts of seed 0, for eight neurons, that ends in a trap
TABS = ("neuron", "committee", "filter", "sharing")


@pytest.fixture
def visit(browser, explorer):
    """A function that opens the explorer at an address, and sees that nothing was complained about or fetched."""
    opened = []

    def open_(address="", **options):
        opened.append(Visit(browser, explorer.as_uri() + address, **options))
        return opened[-1].page

    yield open_
    for one in opened:
        assert one.complaints == []
        assert all(url.startswith(("file:", "data:")) for url in one.requests)
        one.page.close()


def _fact(page, name):
    text = page.text_content(f"section:not([hidden]) [data-fact={name}]")
    return float(re.match(r"[−\d.e]+", text)[0].replace("−", "-"))


def _play(page, speed=9):
    """Play to the end, as fast as it goes."""
    page.evaluate(
        """(speed) => {
          const slider = document.getElementById("speed");
          slider.value = speed;
          slider.dispatchEvent(new Event("input"));
        }""",
        speed,
    )
    page.click("#play")
    page.wait_for_selector("#play[aria-pressed=false]")


def _code(page):
    page.evaluate("document.querySelector('section:not([hidden]) details.code').open = true")
    page.wait_for_function("document.querySelector('section:not([hidden]) details.code pre').textContent !== ''")
    return page.evaluate(
        "[...document.querySelectorAll('section:not([hidden]) details.code pre')].map(e => e.textContent)"
    )


def _run(python):
    """What the copied Python has computed."""
    names = {}
    exec(compile(python, "copied", "exec"), names)
    return names


def _train(toml, folder):
    """The table of runs of the copied specification."""
    (folder / "copied.toml").write_text(toml, encoding="utf-8")
    sweep = Sweep.from_toml(folder / "copied.toml")
    return sweep.run(Range(0, 0, int(sweep.cells()["runs"][0]))).runs


@pytest.mark.parametrize("width", [1280, 390], ids=["desktop", "phone"])
@pytest.mark.parametrize("tab", TABS)
def test_nothing_overflows_and_everything_is_named(visit, tab, width):
    """At both widths; every control and picture has a name for those who cannot see it."""
    page = visit(f"#{tab}", width=width)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    unnamed = """[...document.querySelectorAll("button, input, select, canvas")].filter((e) => e.checkVisibility() &&
      !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.[0]?.textContent.trim()))
      .map((e) => e.outerHTML)"""
    assert page.evaluate(unnamed) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(visit, scheme):
    """As the system says, and the other at a click."""
    page = visit(color_scheme=scheme)
    light = "getComputedStyle(document.body).backgroundColor === 'rgb(255, 255, 255)'"
    assert page.evaluate(light) == (scheme == "light")
    page.click("button.theme")
    assert page.evaluate(light) == (scheme != "light")
    page.click("button.theme")


def test_a_dragged_neuron(visit, tmp_path):
    """Dragging the start changes address and numbers; loss and gradient are Python's; the copied code ends the same."""
    page = visit("#neuron?activation=abs&mean=0.5,-0.3&teacher=1,0.5")
    handle = page.locator("[data-handle=Start]").bounding_box()
    x, y = handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 45, steps=3)
    page.mouse.up()
    start = [float(number) for number in re.search(r"start=([^&]*)", page.url)[1].split(",")]
    assert start != [-1.2, 1.6]
    law = tl.inputs.gaussian(2, mean=np.array([0.5, -0.3]))
    objective = tl.population(tl.problems.neuron(np.array([1, 0.5]), activation="abs", inputs=law))
    assert _fact(page, "loss") == pytest.approx(float(objective.loss(np.array(start))), rel=1e-3)
    slope = float(np.linalg.norm(objective.gradient(np.array(start))))
    assert _fact(page, "slope") == pytest.approx(slope, rel=1e-3)
    python, toml = _code(page)
    _play(page)
    runs = _run(python)["runs"]
    assert _fact(page, "steps") == pytest.approx(int(runs.steps[0]), abs=1)
    assert _fact(page, "norm") == pytest.approx(float(np.linalg.norm(runs.points[0])), rel=1e-3)
    trained = _train(toml, tmp_path)
    assert abs(trained["steps"][0] - int(runs.steps[0])) <= 1


def test_a_step_too_large_diverges_as_in_python(visit):
    """And the page says so."""
    page = visit()
    page.click("text=A step too large")
    assert "diverges" in page.text_content("section:not([hidden]) .say")
    python, _ = _code(page)
    assert list(_run(python)["runs"].statuses) == ["diverged"]


def test_the_witness_against_lemma_6_3(visit):
    """Opened by its address: the norm shrinks below the printed threshold."""
    page = visit("#neuron?start=0,0.45&step=0.05")
    assert "witness against the print" in page.text_content("section:not([hidden]) .say")
    before = _fact(page, "norm")
    page.click("#once")
    assert _fact(page, "norm") < before


def _loss_at_witness(exploration, witness, extra):
    """The library's loss at the numbers of a witness, and the page's name for it."""
    if exploration == "neuron":
        theta, size = witness.get("theta"), witness.get("size")
        student = witness["start"] if theta is None else [size * np.cos(theta), size * np.sin(theta)]
        law = tl.inputs.gaussian(2, mean=np.array(extra.get("mean", [0.0, 0.0])))
        return "loss", tl.population(tl.problems.neuron(np.array([1.0, 0.0]), inputs=law)).loss(np.array(student))
    if exploration == "committee":
        moved = np.array(witness.get("minimum", 0.0)) + np.array(witness.get("way", 0.0))
        student = np.array(witness.get("student", moved))
        problem = tl.problems.committee(np.array(witness["teacher"]), students=len(student))
        return "loss", tl.population(problem).loss(student)
    if exploration == "sharing":
        problem = tl.problems.wave(np.array(witness["u"]), int(witness["k"]), slope=extra.get("slope"))
        return "shared", tl.population(problem).loss(np.array(witness["w"]))
    target, output = np.array(witness.get("w_star", [1.0, 0.0])), np.array(witness["a_star"])
    if "a" not in witness:
        # The picture's own start; of the witness it shows the second stationary point, turned around.
        mean, k = output.mean(), len(output)
        turned = mean * (k - 1) / (k + np.pi - 1) - (output - mean) / (np.pi - 1)
        name, student = "second", tl.models.FilterAndOutput(-target, turned)
    else:
        name, student = "loss", tl.models.FilterAndOutput(np.array(witness["v"]), np.array(witness["a"]))
    scale = np.linalg.norm(target) * np.linalg.norm(output)
    return name, tl.population(tl.problems.convolution(target, output)).loss(student) / scale**2


def test_refuted_statements_open_at_their_witnesses(visit):
    """By address, each of them: the loss shown there is the library's at the witness, and the finding is in words."""
    page = visit()
    said = dict(entries("claims"))
    addresses = shown_claims()
    shown = "document.querySelector('section:not([hidden]) .witness select').value"
    for claim, address in addresses.items():
        same = [other for other, there in addresses.items() if there == address]
        page.evaluate("(hash) => { location.hash = hash; }", address)
        page.wait_for_function(f"{same}.includes({shown})")
        assert said[page.evaluate(shown)]["finding"] in page.text_content("section:not([hidden]) .finding")
        (witness,) = (
            entry["witness"]
            for entry in recorded_witnesses(claim.partition(".")[0])
            if (entry["id"], entry["form"]) == (claim, "as_printed")
        )
        extra = said[claim].get("explore_at", {})
        name, loss = _loss_at_witness(said[claim]["explore"], witness | extra, extra)
        assert _fact(page, name) == pytest.approx(float(loss), rel=1e-3, abs=1e-9), claim
    # From the list of a tab: the same place.
    page.evaluate("location.hash = '#neuron'")
    page.select_option("section:not([hidden]) .witness select", "single_neuron.lemma-6.3")
    assert "witness against the print" in page.text_content("section:not([hidden]) .say")


def test_an_address_is_opened_also_while_the_page_is_busy(visit):
    """A link that is followed in the middle of a redrawing, which writes the address of what is shown, is not lost."""
    page = visit("#neuron")
    page.evaluate("() => { location.hash = '#filter'; dispatchEvent(new Event('resize')); }")
    page.wait_for_function("document.querySelector('section:not([hidden])').id === 'panel-filter'")
    page.click("#tab-committee")
    assert page.evaluate("location.hash").startswith("#committee")


def test_a_given_student_is_copied(visit, tmp_path):
    """The code of a witness with six neurons for four, in five dimensions, has the same loss."""
    page = visit(shown_claims()["mild_overparameterization.section-3.example"])
    python, toml = _code(page)
    names = _run(python.split("stop =")[0])
    assert names["objective"].loss(names["starts"][0]) == pytest.approx(0.25) == _fact(page, "loss")
    assert "neurons = 4, dimension = 5" in toml
    _play(page)
    assert _train(toml, tmp_path)["loss"][0] == pytest.approx(_fact(page, "loss"), rel=1e-3, abs=1e-9)


@pytest.mark.optimized  # takes more steps than there is to compile
def test_a_hundred_students(visit, tmp_path):
    """Eight neurons: 94 find the teacher and 6 the class 7 + 1, as in Python; a split one is a saddle and goes down."""
    page = visit("#committee")
    page.click("text=Drop 100")
    _play_to_end(page)
    page.wait_for_function("[...document.querySelectorAll('.ends tbody tr')].every(r => r.cells[2].textContent)")
    rows = page.evaluate(
        "[...document.querySelectorAll('.ends tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    )
    assert [row[:4] for row in rows] == [["the teacher (8)", "0", "0.0908", "94"], ["7 + 1", "0.02151", "0.0213", "6"]]
    python, toml = _code(page)
    assert (_run(python.split("for entry")[0])["runs"].losses <= 1e-7).sum() == 94
    assert _train(toml, tmp_path)["success"].sum() == 94


@pytest.mark.optimized  # takes more steps than there is to compile
def test_a_split_neuron(visit, tmp_path):
    """By a click in the trap, the trap is a saddle, and the run goes down; the copied code does the same."""
    page = visit(f"#committee?runs={TRAPPED + 1}&run={TRAPPED}")
    _play(page)
    page.click("button[data-neuron] >> nth=0")
    _play_to_end(page)
    words = page.text_content("section:not([hidden]) .say")
    assert "a saddle, smallest eigenvalue −0.1999" in words and "the run found the teacher" in words
    python, toml = _code(page)
    split = _run(python.split("for entry")[0])["runs"]
    assert split.losses[0] <= 1e-10 and split.points[0].shape == (9, 8)
    assert _train(toml, tmp_path)["success"].to_list() == [True]


def _play_to_end(page):
    if page.get_attribute("#play", "aria-pressed") == "true":
        page.click("#play")
    _play(page)


@pytest.mark.parametrize(("ratio", "kind", "loss"), [(1, "a minimum", 0.193), (3, "a saddle", 0.0)])
def test_the_filter(visit, tmp_path, ratio, kind, loss):
    """Beyond the ratio the second point is a saddle, and all starts find the teacher; the copied code agrees."""
    page = visit(f"#filter?ratio={ratio}")
    assert page.text_content("[data-fact=second]").endswith(kind)
    page.wait_for_function("document.querySelector('[data-fact=basin]').textContent.endsWith('%')")
    assert (_fact(page, "basin") == 100) == (kind == "a saddle")
    python, toml = _code(page)
    runs = _run(python)["runs"]
    assert float(runs.losses[0]) == pytest.approx(loss, abs=1e-3)
    _play(page)
    assert _fact(page, "loss") == pytest.approx(float(runs.losses[0]), rel=1e-3, abs=1e-9)
    assert _train(toml, tmp_path)["loss"][0] == pytest.approx(float(runs.losses[0]), abs=1e-9)


def test_sharing(visit, tmp_path):
    """Shared weights learn at once; without sharing the time grows with the dimension, as in Python."""
    page = visit("#sharing?dimensions=4")
    page.click("text=Measure times")
    page.wait_for_function("!document.querySelector('section:not([hidden]) .controls button').disabled")
    _play(page)
    python, toml = _code(page)
    names = _run(python)
    steps = [int(runs.steps[0]) for runs in names["results"]]
    assert steps[1] > 20 * steps[0]
    assert f"learned in {steps[0]} steps; without, it learned in {steps[1]} steps" in page.text_content(
        "section:not([hidden]) .say"
    )
    assert _train(toml, tmp_path)["steps"][0] == pytest.approx(steps[1], abs=1)
    assert "for dimension in range(1, 4 + 1)" in python


def test_address_and_keyboard(visit):
    """Arrow keys move a point and change tabs, the space bar plays, and the address brings everything back."""
    page = visit("#neuron")
    page.focus("[data-handle='Mean of the inputs']")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowUp")
    assert "mean=0.05,0.25" in page.url
    assert "0.05, 0.25" in page.get_attribute("[data-handle='Mean of the inputs']", "aria-label")
    again = visit(page.url[page.url.index("#") :])
    assert _fact(again, "loss") == _fact(page, "loss")
    page.focus("#tab-neuron")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#tab-committee", "aria-selected") == "true"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press(" ")
    assert page.get_attribute("#play", "aria-pressed") == "true"
    page.keyboard.press(" ")
    assert page.get_attribute("#play", "aria-pressed") == "false"


def test_copying(visit):
    """The buttons put code and link on the clipboard."""
    page = visit("#filter?ratio=2.5", permissions=["clipboard-read", "clipboard-write"])
    for button, part in (
        ("#copy-python", "tl.problems.convolution"),
        ("#copy-toml", 'family = "convolution"'),
        ("#copy-link", "#filter?ratio=2.5"),
    ):
        page.click(button)
        page.wait_for_function(f"document.querySelector('{button}').textContent === 'Copied'")
        assert part in page.evaluate("navigator.clipboard.readText()")
