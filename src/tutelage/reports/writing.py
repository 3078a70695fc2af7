"""Writing the report from what its folder holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from tutelage import __version__
from tutelage._html import shown
from tutelage.claims.auditing import claim_report
from tutelage.explorer import copy_assets, witness_address, write_explorer
from tutelage.files import write_bytes
from tutelage.papers import KINDS, STANDINGS
from tutelage.reports.content import KIND_WORDS, PaperContent, gather
from tutelage.studies import Study
from tutelage.work.engines import ignore
from tutelage.work.folder import inner_folder


def write_report(folder: Path, notice: Callable[[str], None] | None = None) -> Path:
    """Write the report's pages from the studies and verdicts in its folder.

    Args:
        folder: The report's folder.
        notice: Called with a sentence for every file that is damaged, and left out.

    Returns:
        The overview, `index.html`.

    Raises:
        NotOurs: If the folder holds something that tutelage has not written; nothing in it is changed then.
        Unreadable: If something in it cannot be read.
    """
    claim_report(folder)
    contents = gather(folder, notice or ignore)
    environment = _environment()
    copy_assets("tutelage.reports", inner_folder(folder, "assets"))
    write_explorer(inner_folder(folder, "explorer"))
    for content in contents:
        page = environment.get_template("paper.html").render(content=content, contents=contents)
        write_bytes(folder / f"{content.paper.key}.html", page.encode())
    overview = environment.get_template("index.html").render(contents=contents, totals=_totals(contents))
    write_bytes(folder / "index.html", overview.encode())
    return folder / "index.html"


def _totals(contents: Sequence[PaperContent]) -> dict[str, int]:
    totals = {name: sum(content.count(name) for content in contents) for name in STANDINGS}
    totals |= {
        name: sum(content.studies_with(name) for content in contents) for name in ("reproduced", "measured", "differs")
    }
    totals["run"] = totals["reproduced"] + totals["measured"] + totals["differs"]
    totals["claims"] = sum(len(content.claims) for content in contents)
    totals |= {kind: sum(content.count_kind(kind) for content in contents) for kind in KINDS}
    return totals


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tutelage.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"tex": _tex, "number": shown, "words": _words, "headline": _headline}
    environment.filters["kind"] = lambda kind: KIND_WORDS[kind]
    environment.globals |= {"version": __version__, "kinds": KINDS, "standings": STANDINGS}
    environment.globals["witness_address"] = witness_address
    return environment


def _tex(text: str) -> Markup:
    """Mark formulas in `$…$` for KaTeX; without scripts their TeX stays readable."""
    parts = re.split(r"\$([^$]+)\$", text)
    marked = [
        Markup('<span class="math">{}</span>').format(part) if i % 2 else escape(part) for i, part in enumerate(parts)
    ]
    return Markup("").join(marked)


def _words(verdict: str) -> str:
    return "open" if verdict == "inconclusive" else verdict.replace("_", " ")


def _headline(study: Study) -> str:
    """Where a study is printed and what it shows; a figure or table by its number, others by their title."""
    numbered = re.match(r"(Figure|Table|Section)s? \S+( (and|to) \d\S*)?", study.place)
    title = study.title[0].upper() + study.title[1:]
    return f"{numbered.group().rstrip(',:')}: {study.title}" if numbered else title
