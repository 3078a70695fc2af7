"""Errata to send: what the authors of a paper may want to know, as Markdown and as LaTeX."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tutelage.claims import Claim, claims_of
from tutelage.files import write_bytes
from tutelage.papers import PAPERS, Defect, defects, recorded_witnesses

# What fits on two pages; the rest is a line each.
_IN_FULL = 4
_FEW_NUMBERS = 6

# Letters that LaTeX does not set as they are.
_GREEK = (
    "Gamma Delta Theta Lambda Pi Sigma Phi Omega "
    "alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau chi psi omega"
)
_SYMBOLS = {
    **dict(zip("ΓΔΘΛΠΣΦΩαβγδεζηθκλμνξπρστχψω", (rf"\{name}" for name in _GREEK.split()), strict=True)),
    "≤": r"\le",
    "≥": r"\ge",
    "≈": r"\approx",
    "≠": r"\ne",
    "√": r"\surd",
    "φ": r"\varphi",
    "∇": r"\nabla",
    "∂": r"\partial",
    "‖": r"\|",
    "−": "-",
    "·": r"\cdot",
    "×": r"\times",
    "∞": r"\infty",
    "→": r"\to",
    "∈": r"\in",
    "⟨": r"\langle",
    "⟩": r"\rangle",
    "½": r"\tfrac12",
    "¼": r"\tfrac14",
    "¾": r"\tfrac34",
    "⅓": r"\tfrac13",
    "⅔": r"\tfrac23",
    "⅛": r"\tfrac18",
    "⅜": r"\tfrac38",
    "±": r"\pm",
    "ℓ": r"\ell",
    "…": r"\ldots",
    "∼": r"\sim",
    "⊥": r"\perp",
    "∥": r"\parallel",
    "∑": r"\sum",
    "∏": r"\prod",
    "⌈": r"\lceil",
    "⌉": r"\rceil",
    "⌊": r"\lfloor",
    "⌋": r"\rfloor",
    "′": "'",
    "ᵀ": r"^\top",
    "°": r"^\circ",
    "̄": "",
    "̂": "",
    "̃": "",
    **dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿᵏᵗⁱʲᵈ", ("^" + one for one in "0123456789-+nktijd"), strict=True)),
    **dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₖₙₗₜₘₚ", ("_" + one for one in "0123456789+-ijknltmp"), strict=True)),
}
_TEXT = {
    "–": "--",
    "—": "---",
    "’": "'",
    "“": "``",
    "”": "''",
    "é": r"\'e",
    "ó": r"\'o",
    "ö": r"\"o",
    "ü": r"\"u",
    "ä": r"\"a",
}


class _Entry(NamedTuple):
    """One error, in words.

    Attributes:
        places: Where it shows.
        finding: What is wrong, in one line.
        paragraphs: What is printed, numbers that refute it, what holds, why, and what rests on it, each with its name.
    """

    places: str
    finding: str
    paragraphs: list[tuple[str, str]]


def write_errata(paper: str, folder: Path) -> tuple[Path, Path]:
    """Write the errata of a paper, and return the two files.

    Args:
        paper: The paper's key.
        folder: Where to.
    """
    markdown, latex = folder / f"{paper}-errata.md", folder / f"{paper}-errata.tex"
    write_bytes(markdown, errata_markdown(paper).encode())
    write_bytes(latex, errata_latex(paper).encode())
    return markdown, latex


def errata_markdown(paper: str) -> str:
    """Return the errata of a paper as Markdown, formulas in `$…$`.

    Args:
        paper: The paper's key.
    """
    graves, others = _entries(paper)
    parts = [f"# {_title(paper)}", *_opening(paper)]
    for number, entry in enumerate(graves, 1):
        parts.append(f"## {number}. {entry.places}")
        parts += [f"**{name}.** {text}" for name, text in entry.paragraphs]
    if others:
        parts.append("## Smaller things")
        parts.append("\n".join(f"- {entry.places}: {entry.finding}" for entry in others))
    return "\n\n".join([*parts, _closing(paper), ""])


def errata_latex(paper: str) -> str:
    """Return the errata of a paper as LaTeX that any engine sets.

    Args:
        paper: The paper's key.
    """
    graves, others = _entries(paper)
    parts = [_tex(paragraph) for paragraph in _opening(paper)]
    for number, entry in enumerate(graves, 1):
        parts.append(rf"\subsection*{{{number}. {_tex(entry.places)}}}")
        parts += [rf"\textbf{{{name}.}} {_tex(text)}\par" for name, text in entry.paragraphs]
    if others:
        items = "\n".join(rf"\item {_tex(entry.places)}: {_tex(entry.finding)}" for entry in others)
        parts += [
            r"\subsection*{Smaller things}",
            f"\\footnotesize\n\\begin{{itemize}}\\itemsep0pt\\parskip0pt\n{items}\n\\end{{itemize}}",
        ]
    head = (
        "\\documentclass[10pt]{article}\n\\usepackage[margin=1.8cm]{geometry}\n\\usepackage{amsmath,amssymb}\n"
        "\\setlength{\\parindent}{0pt}\\setlength{\\parskip}{2pt}\n\\begin{document}\n"
        f"\\section*{{{_tex(_title(paper))}}}\n"
    )
    return head + "\n\n".join([*parts, _tex(_closing(paper))]) + "\n\\end{document}\n"


def _title(paper: str) -> str:
    return f"Notes on “{PAPERS[paper].title}”"


def _opening(paper: str) -> list[str]:
    about = PAPERS[paper]
    return [
        f"For {about.authors}. We have turned the statements of this paper ({about.year}) into programs that can fail, "
        "and came across the points below: those that matter most first, each with numbers that anyone can check. "
        f"{about.headline}",
        "Where the text around a statement supplies what it leaves out, we say so and count it among the smaller "
        "things. What holds has been tried on many instances, not proved, unless a proof is named. We may have "
        "misread you, and would be glad to hear of it.",
    ]


def _closing(paper: str) -> str:
    return (
        "Every point can be checked without our library: `tutelage show ID --paste` prints its numbers as NumPy, and "
        f"`tutelage papers {paper}` lists all statements with how they were judged."
    )


def _entries(paper: str) -> tuple[list[_Entry], list[_Entry]]:
    """Return the errors that are told in full, and the others."""
    claims = {claim.id: claim for claim in claims_of(paper)}
    judged = {(entry["id"], entry["form"]): entry for entry in recorded_witnesses(paper)}
    found = defects(paper)
    graves = [defect for defect in found if defect.standing == "fails"][:_IN_FULL]
    return (
        [_entry(defect, claims, judged) for defect in graves],
        [_entry(defect, claims, judged) for defect in found if defect not in graves],
    )


def _entry(defect: Defect, claims: dict[str, Claim], judged: dict) -> _Entry:
    record, claim = defect.records[0], claims[defect.records[0].id]
    forms = claim.forms
    places = "; ".join(dict.fromkeys(claims[one.id].place for one in defect.records))
    supplied = f" As meant, by {claim.supplied}, it holds." if record.standing == "slip" else ""
    glyph = " It hangs on one glyph, which our copy of the text may have lost." if record.glyph else ""
    paragraphs = [
        ("Printed", forms["as_printed"].statement),
        ("Numbers", _numbers(judged[claim.id, "as_printed"])),
        ("What holds", forms["corrected"].statement if "corrected" in forms else ""),
        ("Why", claim.correction),
        ("What rests on it", record.downstream),
    ]
    return _Entry(places, record.finding + supplied + glyph, [(name, text) for name, text in paragraphs if text])


def _numbers(entry: dict[str, Any]) -> str:
    """Return a witness in a line, if it is a few numbers."""
    witness = dict(entry["witness"] or {})
    sides = {name: witness.pop(name, None) for name in ("left", "right")}
    if any(side is None or np.size(side) != 1 for side in sides.values()):
        return f"`tutelage show {entry['id']} --paste` prints them."
    given = {name: value for name, value in witness.items() if not isinstance(value, (str, bool))}
    if sum(np.size(value) for value in given.values()) > _FEW_NUMBERS or not given:
        at = f" (`tutelage show {entry['id']} --paste` prints at which arguments)"
    else:
        at = " at " + ", ".join(f"{name} = {_short(value)}" for name, value in given.items())
    return f"The left side is {_short(sides['left'])} and the right side {_short(sides['right'])}{at}."


def _short(value: Any) -> str:
    array = np.asarray(value, dtype=float)
    if array.ndim:
        return "(" + ", ".join(_short(one) for one in array.ravel()) + ")"
    return f"{array.item():.4g}"


def _tex(text: str) -> str:
    """Return a text as LaTeX: formulas in `$…$` as they are, all else with what LaTeX needs."""
    parts = re.split(r"(\$[^$]+\$|`[^`]+`)", text)
    # Neighbours are one formula: two dollars would begin a display.
    return "".join(_piece(part) for part in parts).replace("$$", " ")


def _piece(part: str) -> str:
    if part.startswith("$"):
        return "$" + "".join(f"{_SYMBOLS[one]} " if one in _SYMBOLS else one for one in part[1:-1]) + "$"
    if part.startswith("`"):
        return rf"\texttt{{{_escaped(part[1:-1])}}}"
    return "".join("$" + _SYMBOLS[one] + "$" if one in _SYMBOLS else _escaped(one) for one in part)


def _escaped(text: str) -> str:
    text = re.sub(r"([%&_#{}])", r"\\\1", text.replace("\\", r"\textbackslash "))
    text = text.replace("^", r"\^{}").replace("~", r"\textasciitilde{}").replace("<", "$<$").replace(">", "$>$")
    return "".join(_TEXT.get(one, one) for one in text)
