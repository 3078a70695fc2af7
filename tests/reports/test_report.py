"""The report: complete, self-contained, and true to what its folder holds."""

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import pytest
from hostile import flipped, snapshot

from tutelage._html import shown
from tutelage.claims import all_claims, find
from tutelage.claims.auditing import audit, pieces_of, read_verdicts, stored_verdicts
from tutelage.claims.verdict import Verdict
from tutelage.errors import Unreadable
from tutelage.papers import PAPERS, STUDIED, recorded_witnesses
from tutelage.reports import write_report
from tutelage.reports.content import STUDIES, gather
from tutelage.reports.writing import _tex
from tutelage.studies import all_studies
from tutelage.work.folder import NotOurs
from tutelage.work.store import Content, packed

CHEAP = "convolutional_filter.section-E.step"
PRINTS = {f"https://arxiv.org/abs/{paper.arxiv}" for paper in STUDIED.values()}  # all that leaves the disk


class Page(HTMLParser):
    """What a page links to, and the places in it that can be linked to."""

    def __init__(self, path):
        super().__init__()
        self.targets, self.places, self.text = [], set(), ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.places |= {found["id"]} if "id" in found else set()
        self.targets += [found[name] for name in ("href", "src") if name in found]

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def pages(report):
    return {path.name: Page(path) for path in report.glob("*.html")}


def test_every_link_leads_somewhere_on_disk(report, pages):
    """Links and images are relative, their files exist, and places within pages too."""
    assert set(pages) == {"index.html", *(f"{key}.html" for key in STUDIED)}
    for name, page in pages.items():
        for target in page.targets:
            if target == "data:," or target in PRINTS:
                continue
            assert not re.match(r"\w+:|//|/", target), target
            file, _, place = target.partition("?")[0].partition("#")
            if file:
                assert (report / file).is_file(), target
            if file.startswith("explorer/"):
                continue  # its addresses are settings, which its own tests open
            if place:
                assert place in pages[file or name].places, target


def test_damaged_files_are_told_and_left_out(tmp_path):
    """One damaged file does not take the report along: what is left of the folder is shown."""
    damaged = [
        tmp_path / "verdicts" / "pieces" / f"{CHEAP}.npz",
        tmp_path / "studies" / "convolutional_filter" / "figure-1b" / "quick" / "manifest.json",
    ]
    write_report(tmp_path)
    for path in damaged:
        path.parent.mkdir(parents=True)
        path.write_text('{"claims": [{"id"')
    told = []
    page = Page(write_report(tmp_path, told.append))
    assert len(told) == 2 and all(any(str(path) in sentence for sentence in told) for path in damaged)
    assert "No study has been run yet" in page.text


@pytest.mark.parametrize("name", ["index.html", "verdicts/single_neuron.npz", "assets/x", "manifest.json", "notes.txt"])
def test_a_folder_of_others_is_left_as_it_is(tmp_path, name):
    """A report is written into an empty folder, or one of a report: whatever else lies there stays as it is."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(b"{}")
    before = snapshot(tmp_path)
    for write in (write_report, lambda folder: audit(find([CHEAP]), "default", 0, folder=folder)):
        with pytest.raises(NotOurs, match="has not written"):
            write(tmp_path)
        assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", ["verdicts", "assets", "studies"])
def test_links_in_a_report_are_not_followed(tmp_path, name):
    """Nor what lies behind them written or read."""
    report, elsewhere = tmp_path / "report", tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_report(report)
    (report / name).rename(report / "before") if (report / name).exists() else None
    (report / name).symlink_to(elsewhere)
    with pytest.raises(Unreadable, match=f"{name} must be a folder, not a link"):
        write_report(report)
    if name == "verdicts":
        with pytest.raises(Unreadable, match="must be a folder, not a link"):
            audit(find([CHEAP]), "default", 0, folder=report)
    assert not list(elsewhere.iterdir())


def test_changed_verdicts_are_damaged(tmp_path):
    """A verdict that was changed by hand is neither used nor shown, and is set aside when it is judged again."""
    judged = audit(find([CHEAP]), "default", 0, folder=tmp_path)
    pieces = pieces_of(find([CHEAP]), "default", 0, tmp_path)
    assert stored_verdicts(pieces, print) == {CHEAP: judged}
    path = tmp_path / "verdicts" / "pieces" / f"{CHEAP}.npz"
    (piece,) = pieces
    whole = path.read_bytes()
    documents = [verdict.document() for verdict in judged]
    assert documents[0]["verdict"] == "refuted"
    senseless = [
        {"verdicts": []},
        {"claims": documents},
        {"verdicts": [documents[0] | {"verdict": "proved"}]},
        {"verdicts": [documents[0] | {"witness": {"1; import os": 1}}]},
    ]
    changed = [whole[:-40], flipped(whole, 300), b"{}"]
    for wrong in changed + [packed(Content(facts), "audit", piece.stamp) for facts in senseless]:
        path.write_bytes(wrong)
        told = []
        assert not stored_verdicts(pieces, told.append) and str(path) in told[0]
        assert not list(read_verdicts(tmp_path, "convolutional_filter", told.append)) and str(path) in told[1]
    path.write_bytes(changed[0])
    again = audit(find([CHEAP]), "default", 0, folder=tmp_path)
    assert [verdict.verdict for verdict in again] == [verdict.verdict for verdict in judged]
    assert [kept.read_bytes() for kept in (tmp_path / "verdicts" / "damaged").iterdir()] == [changed[0]]


def test_two_audits_keep_their_verdicts(tmp_path):
    """Verdicts that two commands keep at the same time in one report are all there in the end."""
    names = [CHEAP, "convolutional_filter.section-4.1.g"]
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda name: audit(find([name]), "default", 0, folder=tmp_path), names * 2))
    found = {verdict.id for verdict in read_verdicts(tmp_path, "convolutional_filter", print)}
    assert found == set(names) and write_report(tmp_path).is_file()


def test_nothing_is_fetched(report):
    """No page, style or script of ours names an address on a network, but for links to the papers."""
    for path in [*report.glob("*.html"), *report.glob("assets/*.*"), *report.glob("explorer/*.*")]:
        text = path.read_text(encoding="utf-8")
        for target in PRINTS:
            text = text.replace(f'<a href="{target}">', "")
        assert not re.search(r"(https?:)?//\w+\.\w", text), path


def test_all_statements_and_studies_are_there(pages):
    """The overview lists every claim, a paper's page describes each, and studies that were not run say how."""
    for claim in all_claims():
        assert claim.place.replace("$", "") in pages["index.html"].text  # formulas are marked up
        assert claim.id in pages[f"{claim.paper}.html"].places
    for study in all_studies():
        page = pages[f"{study.paper}.html"]
        assert study.name in page.places and f"tutelage reproduce {study.id}" in page.text


def test_findings_witnesses_and_commands(pages):
    """The overview has the findings in words; a paper's page has every command, and a source for every refutation."""
    overview = pages["index.html"].text
    for paper in STUDIED.values():
        assert paper.title in overview and re.sub(r"\$", "", paper.headline) in overview
        page = pages[f"{paper.key}.html"].text
        judged = recorded_witnesses(paper.key) if paper.key in PAPERS else []
        refuted = sum(entry["verdict"] == "refuted" for entry in judged)
        assert page.count("import numpy as np") == refuted
        assert paper.edition in page and " 1 instances" not in page
    for claim in all_claims():
        assert f"tutelage audit {claim.id}" in pages[f"{claim.paper}.html"].text


def test_a_judged_claim_has_its_witness(pages):
    """A refuted form comes with numbers to paste, and the command that judges it again."""
    text = pages["convolutional_filter.html"].text
    assert "import numpy as np" in text and f"tutelage audit {CHEAP}" in text


def test_fresh_verdicts_take_the_place_of_those_on_record(report, pages):
    """The one claim that was judged here has the numbers found here; all others say that theirs are on record."""
    (content,) = (one for one in gather(report, pytest.fail) if one.paper.key == "convolutional_filter")
    assert [one.claim.id for one in content.claims if one.fresh] == [CHEAP]
    assert pages["convolutional_filter.html"].text.count("(verdict on record)") == len(content.claims) - 1
    (judged,) = (one for one in content.claims if one.fresh)
    tried = {one.form: one.tried for one in read_verdicts(report, "convolutional_filter", pytest.fail)}
    assert {verdict.form: verdict.tried for verdict in judged.verdicts} == tried
    assert all(words.replace("-", "−") in pages["convolutional_filter.html"].text for words in tried.values())
    recorded = {
        one["form"]: Verdict.from_document(one).tried
        for one in recorded_witnesses("convolutional_filter")
        if one["id"] == CHEAP
    }
    assert any(tried[form] != recorded[form] for form in recorded)  # or nothing could have been mixed up


def test_the_overview_counts_what_was_run(pages):
    """One study was run, and it differs; the tiles and the sentence say so."""
    text = " ".join(pages["index.html"].text.split())
    assert "Of 1 studies 0 reproduce the print, 1 differ from it" in text
    assert "0 studies reproduced 1 studies differ" in text


def test_a_study_in_the_place_of_another_is_told_and_left_out(report, tmp_path):
    """A folder says which study it holds, and that is believed, not its name."""
    place = "mild_overparameterization"
    shutil.copytree(report / STUDIES / place / "figure-2", tmp_path / STUDIES / place / "table-1")
    notices = []
    (content,) = (one for one in gather(tmp_path, notices.append) if one.paper.key == place)
    assert [study.study.name for study in content.studies if study.manifest is not None] == []
    assert len(notices) == 1 and "holds mild_overparameterization.figure-2, which is another study" in notices[0]


def test_text_is_escaped():
    """Formulas are marked, and nothing in a statement becomes markup."""
    marked = _tex("if $a < b$ then <b>")
    assert marked == 'if <span class="math">a &lt; b</span> then &lt;b&gt;'


def test_numbers_have_the_digits_that_mean_something():
    """Four digits, a true minus sign, lists as words."""
    assert shown(0.123456) == "0.1235" and shown(-0.5) == "−0.5" and shown(None) == "—"
    assert shown([1.0, 2.5]) == "1, 2.5" and shown(50) == "50"
