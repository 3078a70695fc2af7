"""Tables for notebooks: escaped, complete, and without colours of their own."""

import re
from html.parser import HTMLParser
from pathlib import Path

import tutelage as tl
from tutelage._html import facts, grid
from tutelage.claims import Verdict
from tutelage.studies import Reproduced


class Balanced(HTMLParser):
    """Fails on tags that do not match; collects the text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def _check(shown: str, *wanted: str):
    assert set(wanted) <= set(Balanced(shown).text)
    # The page's own colours, in light and dark themes.
    assert not re.search(r"#[0-9a-f]{3}|rgb|color:|background:(?!none)", shown)


def test_text_is_escaped():
    """Nothing that a user names becomes markup."""
    _check(facts("<b>", {"a & b": "<script>", "number": 0.12345678, "absent": None}), "<b>", "<script>", "0.1235")
    _check(grid("t", ("<i>",), [("<u>",)]), "<i>", "<u>")


def test_long_tables_are_cut():
    """Twenty rows are shown, and how many there are besides."""
    shown = grid("many", ("n",), [(n,) for n in range(30)], "a note")
    _check(shown, "19", "… and 10 more; a note")
    assert "20" not in Balanced(shown).text


def test_verdicts_and_studies():
    """A verdict and a study say what came out."""
    verdict = Verdict("p.lemma-1", "as_printed", "refuted", -0.5, 1234, "float64", {}, True, "", 0.1, "default", 0)
    _check(verdict._repr_html_(), "p.lemma-1, as printed: refuted", "−0.5", "1,234")
    expectation = {"ok": False, "what": "slope < 1", "published": 0.5, "measured": 2.0}
    manifest = {"id": "p.figure-1", "verdict": "differs", "expectations": [expectation]}
    _check(Reproduced(Path("there"), manifest, False)._repr_html_(), "p.figure-1: differs", "slope < 1", "✗", "0.5")


def test_methods_claims_and_studies_are_a_line():
    """Numbers as numbers, and nothing that is not there; also while a program is traced."""
    import jax

    from tutelage.claims import find as find_claims
    from tutelage.studies import find as find_studies

    assert repr(tl.GradientDescent(0.25)) == "GradientDescent(step=0.25)"
    assert repr(tl.GradientDescent(0.25, projection=tl.Ball(2.0))) == (
        "GradientDescent(step=0.25, projection=Ball(radius=2))"
    )
    said = []
    jax.jit(lambda method: said.append(repr(method)))(tl.GradientDescent(0.25))
    assert said[0].startswith("GradientDescent(step=") and "\n" not in said[0]
    (claim,) = find_claims(["single_neuron.lemma-6.3"])
    (study,) = find_studies(["mild_overparameterization.figure-2"])
    assert repr(claim) == "Claim(single_neuron.lemma-6.3: the norm grows near the origin)"
    assert repr(study) == "Study(mild_overparameterization.figure-2: one-point convexity across the minima)"
