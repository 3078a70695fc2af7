"""Pictures of the documentation, from a finished report: `python docs/thumbnails.py build/report`.

Each figure of each study becomes a small picture in docs/assets/gallery/, and `gallery.json` says what it shows. With a
Chromium at hand, two parts of the report's overview are photographed for the README as well, its top and some figures,
and the explorer with a hundred students of a committee.
"""

import io
import json
import shutil
import sys
from pathlib import Path

from PIL import Image

from tutelage.papers import PAPERS
from tutelage.studies import all_studies

TARGET = Path(__file__).parent / "assets" / "gallery"
OVERVIEW = Path(__file__).parent / "assets" / "report.png"
EXPLORER = Path(__file__).parent / "assets" / "explorer.png"
WIDTH, COLOURS = 1200, 256


def thumbnail(picture: Image.Image) -> bytes:
    """Return a picture as PNG, not too wide and with few colours, which is what line drawings need."""
    small = picture.convert("RGB")
    if small.width > WIDTH:
        small = small.resize((WIDTH, round(small.height * WIDTH / small.width)), Image.Resampling.LANCZOS)
    written = io.BytesIO()
    # Maximum coverage keeps thin lines in their colours, which the median cut gives up for shades of grey.
    small.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE).save(
        written, "PNG", optimize=True
    )
    return written.getvalue()


def collect(report: Path) -> dict[str, dict]:
    """Write the pictures of all studies, and return what each study shows.

    Raises:
        SystemExit: If a study has not been run.
    """
    missing = [study.id for study in all_studies() if not _manifest(report, study).exists()]
    if missing:
        raise SystemExit(f"Not in {report}: {', '.join(missing)}. Run tutelage reproduce --out {report}")
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    shown = {}
    for study in all_studies():
        manifest = json.loads(_manifest(report, study).read_text(encoding="utf-8"))
        figures = []
        for figure in manifest["figures"]:
            name = f"{study.id}.{figure['name']}.png"
            with Image.open(_manifest(report, study).with_name(f"{figure['name']}.png")) as picture:
                TARGET.joinpath(name).write_bytes(thumbnail(picture))
            figures.append({"file": name, "caption": figure["caption"]})
        shown[study.id] = {"verdict": manifest["verdict"], "scale": manifest["scale"], "figures": figures}
    text = json.dumps(shown, indent=1, ensure_ascii=False) + "\n"
    TARGET.joinpath("gallery.json").write_text(text, encoding="utf-8")
    return shown


def photograph(report: Path) -> None:
    """Take pictures of the overview, in two parts, and of the explorer; without a browser the old ones stay."""
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next((path for name in names if (path := shutil.which(name))), None)
    if browser is None:
        print("No Chromium: the pictures of the report and the explorer stay as they are")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        page = chromium.new_page(viewport={"width": 1200, "height": 800}, device_scale_factor=1.5)
        page.goto((report.resolve() / "index.html").as_uri(), wait_until="load")
        page.add_style_tag(content=".gallery > :nth-child(n+7) { display: none }")  # one row of figures
        figures = f".gallery >> nth={list(PAPERS).index('mild_overparameterization')}"
        OVERVIEW.write_bytes(thumbnail(_below(_part(page, "h1", ".tiles"), _part(page, figures, figures))))
        # A hundred students, one of the trapped ones in sight.
        page.goto(
            (report.resolve() / "explorer" / "index.html").as_uri() + "#committee?runs=100&run=5", wait_until="load"
        )
        page.set_viewport_size({"width": 1200, "height": 1000})
        page.fill("#speed", "9")
        page.click("#play")
        page.wait_for_selector("#play[aria-pressed=false]", timeout=120_000)
        page.wait_for_function("[...document.querySelectorAll('.ends tbody tr')].every(r => r.cells[2].textContent)")
        height = page.locator("details.code:visible").bounding_box()["y"]
        clip = {"x": 0, "y": 0, "width": 1200, "height": height}
        EXPLORER.write_bytes(thumbnail(Image.open(io.BytesIO(page.screenshot(clip=clip, full_page=True)))))
        chromium.close()


def _part(page, first: str, last: str) -> Image.Image:
    top = page.locator(first).bounding_box()["y"] - 8
    box = page.locator(last).bounding_box()
    clip = {"x": 100, "y": top, "width": 1000, "height": box["y"] + box["height"] + 8 - top}
    return Image.open(io.BytesIO(page.screenshot(clip=clip, full_page=True)))


def _below(one: Image.Image, other: Image.Image) -> Image.Image:
    whole = Image.new("RGB", (one.width, one.height + other.height), "white")
    whole.paste(one, (0, 0))
    whole.paste(other, (0, one.height))
    return whole


def _manifest(report: Path, study) -> Path:
    return report / "studies" / study.paper / study.name / "quick" / "manifest.json"


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/report")
    collect(folder)
    photograph(folder)
    size = sum(path.stat().st_size for path in TARGET.iterdir())
    print(f"{len(list(TARGET.glob('*.png')))} pictures, {size / 1e6:.1f} MB")
