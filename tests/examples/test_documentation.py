"""The Python blocks of the documentation run and print what the pages say, and what is written from code is current."""

import importlib.util
import io
import json
import math
import re
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image

from tutelage.papers import PAPERS, STUDIED, counted, failures, recorded_studies, recorded_verdicts, records_of
from tutelage.studies import all_studies, studies_of

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = (
    pytest.param("README.md", marks=pytest.mark.optimized),  # its runs take more steps than there is to compile
    "docs/getting-started.md",
    "docs/tutorial.md",
    "docs/your-own-claim.md",
    "docs/claims.md",
    "docs/conjecture-1.md",
    "docs/numerics.md",
    "docs/families.md",
    "docs/two-layers.md",
)
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?", flags=re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


def blocks(page: str) -> list[tuple[str, str]]:
    """Return the Python blocks of a page in their order, each with the output printed below it, if any."""
    return BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


def load(name: str) -> ModuleType:
    """Load a module of the documentation."""
    specification = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def agree(shown: str, printed: str) -> bool:
    """Whether both are the same words around the same numbers, up to one per cent or a unit of the last digit shown."""
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    for one, other in zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True):
        decimals = len(one.partition(".")[2]) if "e" not in one else 0
        tolerance = 10.0**-decimals if "." in one and "e" not in one else 0.0
        first, second = (float(number.replace(",", "")) for number in (one, other))
        if not math.isclose(first, second, rel_tol=1e-2, abs_tol=tolerance):
            return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run_and_print_what_is_shown(page: str, capsys, tmp_path, monkeypatch) -> None:
    found = blocks(page)
    assert found
    monkeypatch.chdir(tmp_path)  # what a page saves does not end up in the repository
    names: dict[str, object] = {}
    said = ""
    for number, (source, shown) in enumerate(found, start=1):
        exec(compile(source, f"{page}, block {number}", "exec"), names)
        printed = capsys.readouterr().out
        said += printed
        if shown:
            assert agree(shown, printed), f"{page}, block {number} prints\n{printed}"
    assert said


def test_differences_of_outputs_are_noticed() -> None:
    assert agree("refuted by 0.0927 over 6,657", "refuted  by 0.0931 over 6,657\n")
    assert not agree("refuted by 0.0927", "refuted by 0.2")
    assert not agree("12 runs", "13 runs")
    assert not agree("holds 3", "refuted 3")


@pytest.mark.slow
def test_table_of_supported_combinations_is_up_to_date() -> None:
    supported = load("supported")
    page = supported.PAGE.read_text(encoding="utf-8")
    assert supported.table() in page, "Run python docs/supported.py --write"


def test_findings_are_all_there() -> None:
    """Each statement that fails has its place, with a witness if there is one; each paper has a section."""
    written = load("pages").expand((DOCS / "findings.md").read_text(encoding="utf-8"))
    assert "<!-- " not in written
    for record in recorded_verdicts().values():
        assert (f"`tutelage audit {record.id}`" in written) == bool(record.kind), record.id
    refuted = sum(record.as_printed == "refuted" for record in recorded_verdicts().values())
    assert written.count("import numpy as np") == refuted
    for paper in PAPERS:
        first = failures(paper)[0]
        assert f"{{ #{first.id} }}" in written


def test_gallery_shows_every_study() -> None:
    """Every registered study has its pictures and its command, and the pictures stay small."""
    gallery = load("pages").GALLERY
    shown = json.loads((gallery / "gallery.json").read_text(encoding="utf-8"))
    assert list(shown) == [study.id for study in all_studies()], "Run make demo gallery"
    written = load("pages").expand((DOCS / "gallery.md").read_text(encoding="utf-8"))
    for paper in STUDIED:
        for study in studies_of(paper):
            figures = shown[study.id]["figures"]
            assert shown[study.id]["verdict"] == recorded_studies()[study.id].verdict, "Run make demo gallery"
            assert figures and all((gallery / figure["file"]).stat().st_size > 2000 for figure in figures)
            assert all(f"(assets/gallery/{figure['file']})" in written for figure in figures)
            assert f"tutelage reproduce {study.id}\n" in written
    files = {figure["file"] for entry in shown.values() for figure in entry["figures"]}
    assert {path.name for path in gallery.glob("*.png")} == files
    assert sum(path.stat().st_size for path in gallery.iterdir()) < 3e6


def test_thumbnails_keep_the_colours_of_lines(tmp_path: Path) -> None:
    """Thin lines stay apart in a picture of few colours, and a report without all studies changes nothing."""
    thumbnails = load("thumbnails")
    blue, green = (0, 114, 178), (0, 158, 115)
    picture = Image.linear_gradient("L").convert("RGB").resize((900, 300))  # many greys that compete for the palette
    for place, colour in ((100, blue), (200, green)):
        picture.paste(colour, (0, place, 900, place + 1))
    small = Image.open(io.BytesIO(thumbnails.thumbnail(picture))).convert("RGB")
    for place, colour in ((100, blue), (200, green)):
        assert max(abs(a - b) for a, b in zip(small.getpixel((450, place)), colour, strict=True)) < 12
    before = sorted(path.name for path in thumbnails.TARGET.iterdir())
    with pytest.raises(SystemExit, match=r"single_neuron\.figure-1"):
        thumbnails.collect(tmp_path)
    assert sorted(path.name for path in thumbnails.TARGET.iterdir()) == before


def test_the_table_of_studies_has_the_verdicts_on_record() -> None:
    """The studies page has a row for each study, with its verdict at quick scale."""
    rows = re.findall(
        r"^\| `([\w-]+)` \| (\w+) \|", (DOCS / "studies.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    recorded = [(id.partition(".")[2], record.verdict) for id, record in recorded_studies().items()]
    assert sorted(rows) == sorted([*recorded])


def test_the_readme_counts_what_is_there() -> None:
    """The table of papers has the numbers of the records, and the benchmark those of the performance page."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|]*\((\d{4})\)" + 5 * r" \| (\d+)" + r" \|", text, flags=re.MULTILINE)
    wanted = []
    for key, paper in PAPERS.items():
        stands = counted(own := records_of(key))
        numbers = (len(own), *(stands[name] for name in ("holds", "slip", "fails")), len(studies_of(key)))
        wanted.append(tuple(map(str, (paper.year, *numbers))))
    assert rows == wanted
    total, failing = (sum(int(row[column]) for row in rows) for column in (1, 4))
    assert f"Of the {total} statements" in text and f"finds {failing} that fail as meant" in " ".join(text.split())
    measured = re.findall(r"^\| \d+ \| \d+" + 4 * r" \| [\d.]+" + 2 * r" \| [\d.]+×" + r" \|", text, flags=re.MULTILINE)
    performance = (DOCS / "performance.md").read_text(encoding="utf-8")
    assert measured and all(row in performance for row in measured)
