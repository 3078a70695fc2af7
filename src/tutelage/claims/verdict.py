"""Verdicts, their documents, and witnesses as source to paste."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from tutelage import checks
from tutelage._html import counted, facts
from tutelage.claims.outcome import Judgement
from tutelage.work.documents import plain

Reading = Literal["as_printed", "as_meant", "corrected", "control"]


@dataclass(frozen=True)
class Verdict:
    """The judgement of one form of a claim.

    Attributes:
        id: The claim.
        form: The reading: `as_printed`, `as_meant` or `corrected`.
        verdict: `holds`, `refuted`, `vacuous`, `not_applicable` or `inconclusive`.
        margin: The smallest margin met.
        instances: How many instances were tried.
        arithmetic: How the numbers were got.
        witness: The numbers that refute the form, or the closest call where it holds.
        control_refuted: Whether the same machinery refuted the claim's control.
        note: What was measured, in words.
        seconds: Time taken.
        effort: How hard was searched.
        seed: The seed.
        scope: What kind of statement it is: theorem, lemma, proof step, remark or caption.
        kind: In which way the form fails, one of `tutelage.papers.KINDS`; empty if it does not.
        defect: Name of the root error behind a failure.
        glyph: Whether the failure hangs on one glyph of the text, which may have been lost.
        proved: Whether ball arithmetic encloses both sides at the witness and shows that the form fails there.
        at_risk: The share of instances on which the conclusion did not follow trivially; `None` if it was not measured.
        refuted_from: The mildest strengthening that is refuted: `parameter`, `value`, `held` and `factor`.
    """

    id: str
    form: Reading
    verdict: Judgement
    margin: float
    instances: int
    arithmetic: str
    witness: Mapping[str, Any]
    control_refuted: bool
    note: str
    seconds: float
    effort: str
    seed: int
    scope: str = ""
    kind: str = ""
    defect: str = ""
    glyph: bool = False
    proved: bool = False
    at_risk: float | None = None
    refuted_from: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        """Return the verdict in a line, without the witness."""
        return f"{self.id}, {self.form.replace('_', ' ')}: {self.verdict} ({self.tried}{self._strength('; ')})"

    @property
    def tried(self) -> str:
        """The smallest margin met, and over how many instances, in words."""
        return f"smallest margin {self.margin:.3g} over {counted(self.instances, 'instance')}"

    @property
    def reading(self) -> Reading:
        """The form that was judged."""
        return self.form

    @property
    def power(self) -> str:
        """How strong the test is, in words: the share of instances at risk, and from where on it refutes."""
        share = "" if self.at_risk is None else f"{self.at_risk:.0%} of the instances at risk"
        certain = "proved at the witness, in ball arithmetic" * self.proved
        return "; ".join(part for part in (share, self._strength(""), certain) if part)

    def _strength(self, before: str) -> str:
        """Say from where on the statement is refuted, if it holds and that is known."""
        return f"{before}{strength(self.refuted_from)}" if self.refuted_from else ""

    def _repr_html_(self) -> str:
        return facts(
            f"{self.id}, {self.form.replace('_', ' ')}: {self.verdict.replace('_', ' ')}",
            {
                "smallest margin": float(self.margin),
                "instances": f"{self.instances:,}",
                "arithmetic": self.arithmetic,
                "control": "refuted" if self.control_refuted else "not refuted",
                "at risk": None if self.at_risk is None else f"{self.at_risk:.0%} of the instances",
                "strength": self._strength("") or None,
                "note": self.note or None,
            },
        )

    def document(self) -> dict[str, Any]:
        """Return the verdict as plain data for JSON."""
        return {
            "id": self.id,
            "form": self.form,
            "verdict": self.verdict,
            "margin": plain(self.margin),
            "instances": self.instances,
            "arithmetic": self.arithmetic,
            "witness": {name: plain(value) for name, value in self.witness.items()} or None,
            "control_refuted": self.control_refuted,
            "note": self.note,
            "seconds": round(self.seconds, 3),
            "effort": self.effort,
            "seed": self.seed,
            "reading": self.reading,
            "scope": self.scope,
            "kind": self.kind,
            "defect": self.defect,
            "glyph": self.glyph,
            "proved": self.proved,
            "at_risk": self.at_risk,
            "refuted_from": None if self.refuted_from is None else plain(self.refuted_from),
        }

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> Verdict:
        """Return the verdict that a document describes; what else the document holds is left out."""
        values = {entry.name: document[entry.name] for entry in fields(Verdict) if entry.name in document}
        witness = {name: _revived(value) for name, value in (document["witness"] or {}).items()}
        return Verdict(**{**values, "margin": float(document["margin"]), "witness": witness})


# Factors so close to one are told by what they differ from it.
_CLOSE = 1.0005


def strength(refuted_from: Mapping[str, Any]) -> str:
    """Say what the mildest strengthening is that is refuted."""
    parameter, value, held = (refuted_from[name] for name in ("parameter", "value", "held"))
    if parameter == "margin":
        return f"with a margin of {value:.3g} it is refuted"
    if parameter == "right side":
        more = (
            f"a right side larger by {value - 1:.1g} of it" if value < _CLOSE else f"{value:.4g} times the right side"
        )
        return f"with {more} it is refuted"
    factor, times = refuted_from.get("factor"), ""
    if factor:
        little = 1 / _CLOSE < factor < _CLOSE
        times = f", a change by {abs(factor - 1):.1g} of it," if little else f", {factor:.4g} times as much,"
    return f"with {parameter} {value:.4g} for {held:.4g}{times} it is refuted"


def _revived(value: Any) -> Any:
    """Return lists of numbers as arrays again, infinities and NaN among them."""
    if isinstance(value, Mapping):
        return {name: _revived(inner) for name, inner in value.items()}
    if not isinstance(value, list):
        return value
    array = np.asarray(value)
    if array.dtype.kind != "U":
        return array
    try:
        return np.asarray(value, dtype=object).astype(float)
    except ValueError:
        return value


def paste(witness: Mapping[str, Any], recipe: str) -> str:
    """Return Python source that rebuilds a witness in NumPy and runs a recipe on it.

    Args:
        witness: Arrays and numbers by name.
        recipe: Lines of NumPy that use them.
    """
    checks.of_kind("witness", witness, Mapping, "arrays and numbers by name", "Pass the witness of a verdict")
    checks.text("recipe", recipe)
    # A formula may give a number, or what it computes from it, more axes, as (step / 2)[..., None].
    more_axes = "[..., None" in recipe
    lines = ["import numpy as np", ""]
    for name, value in witness.items():
        if recipe and name in ("left", "right"):
            continue  # which the recipe evaluates
        said = plain(value)
        if said in ("inf", "-inf", "nan"):
            lines.append(f"{name} = float({said!r})")
        else:
            array = isinstance(said, list) or (more_axes and isinstance(said, (int, float)))
            lines.append(f"{name} = np.array({said!r})" if array else f"{name} = {said!r}")
    return "\n".join([*lines, "", recipe.strip(), ""]) if recipe else "\n".join([*lines, ""])
