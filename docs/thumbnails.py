"""Pictures of the documentation, from a finished report: `python docs/thumbnails.py build/report`.

Each figure of each study becomes a small picture in docs/assets/gallery/, and `gallery.json` says what it shows. With a
Chromium at hand, the top of the report's overview is photographed for the README as well.
"""

import io
import json
import shutil
import sys
from pathlib import Path

from PIL import Image

from tutelage.studies import all_studies

TARGET = Path(__file__).parent / "assets" / "gallery"
OVERVIEW = Path(__file__).parent / "assets" / "report.png"
WIDTH, COLOURS = 1200, 64


def thumbnail(path: Path, width: int = WIDTH) -> bytes:
    """Return a picture as PNG, at most so wide and with few colours, which is what line drawings need."""
    with Image.open(path) as picture:
        small = picture.convert("RGB")
    if small.width > width:
        small = small.resize((width, round(small.height * width / small.width)), Image.Resampling.LANCZOS)
    written = io.BytesIO()
    small.quantize(COLOURS, dither=Image.Dither.NONE).save(written, "PNG", optimize=True)
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
            TARGET.joinpath(name).write_bytes(thumbnail(_manifest(report, study).with_name(f"{figure['name']}.png")))
            figures.append({"file": name, "caption": figure["caption"]})
        shown[study.id] = {"verdict": manifest["verdict"], "scale": manifest["scale"], "figures": figures}
    text = json.dumps(shown, indent=1, ensure_ascii=False) + "\n"
    TARGET.joinpath("gallery.json").write_text(text, encoding="utf-8")
    return shown


def photograph(report: Path) -> None:
    """Take a picture of the top of the overview; without a browser, the old one stays."""
    browser = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), "")
    if not browser:
        print("No Chromium: docs/assets/report.png stays as it is")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        page = chromium.new_page(viewport={"width": 1200, "height": 800}, device_scale_factor=1.5)
        page.goto((report.resolve() / "index.html").as_uri(), wait_until="load")
        taken = page.screenshot(clip={"x": 0, "y": 0, "width": 1200, "height": 1560}, full_page=True)
        chromium.close()
    OVERVIEW.write_bytes(taken)
    OVERVIEW.write_bytes(thumbnail(OVERVIEW, width=1400))


def _manifest(report: Path, study) -> Path:
    return report / "studies" / study.paper / study.name / "quick" / "manifest.json"


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/report")
    collect(folder)
    photograph(folder)
    size = sum(path.stat().st_size for path in TARGET.iterdir())
    print(f"{len(list(TARGET.glob('*.png')))} pictures, {size / 1e6:.1f} MB")
