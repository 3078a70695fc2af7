"""What a claim is: a statement of a paper as a program that can fail.

A claim has one or two forms, `as_printed` and `corrected`, and a control: a deliberately false variant that the same
machinery must refute. Each form is judged by a test, which is either pointwise (a margin on instances that satisfy the
hypotheses, attacked by a search) or an experiment (a fitted exponent, a probability, a constant that must exist).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol

import numpy as np

from tutelage import checks
from tutelage._html import facts
from tutelage.errors import invalid, shown

Judgement = Literal["holds", "refuted", "not_applicable", "inconclusive"]
FormName = Literal["as_printed", "corrected", "control"]


@dataclass(frozen=True)
class Effort:
    """How hard to search.

    Attributes:
        samples: Random instances of each family.
        restarts: Instances from which each family is searched.
        generations: Rounds of the search by random steps.
        iterations: Gradient steps of the search by gradients.
        runs: Runs (or repetitions) of an experiment.
    """

    samples: int
    restarts: int
    generations: int
    iterations: int
    runs: int

    def __post_init__(self):
        for name in ("samples", "restarts"):
            checks.settle(self, **{name: checks.count(name, getattr(self, name))})
        for name in ("generations", "iterations", "runs"):
            checks.settle(self, **{name: checks.count(name, getattr(self, name), least=0)})
        checks.affordable("samples", self.samples, self.samples, "as many numbers")
        if self.restarts > self.samples:
            received = f"{self.restarts} and {self.samples}"
            raise invalid("restarts", "be at most `samples`", received, "A search goes on from the worst samples")


EFFORTS: Mapping[str, Effort] = {
    "default": Effort(samples=512, restarts=16, generations=12, iterations=120, runs=200),
    "high": Effort(samples=8192, restarts=64, generations=100, iterations=1000, runs=2000),
}


@dataclass(frozen=True)
class Outcome:
    """What a test found.

    Attributes:
        margin: The smallest margin met; negative where the statement fails.
        instances: How many instances were tried.
        witness: The worst instance, as arrays and numbers by name.
        note: What was measured, in words.
        judgement: The judgement, where the margin alone does not give it.
    """

    margin: float
    instances: int
    witness: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    judgement: Judgement | None = None


def worst_of(found: Sequence[tuple[float, Mapping[str, Any]]], tried: int | None = None, note: str = "") -> Outcome:
    """Return the outcome of a test that met several margins, each with what is to be shown of its instance.

    Args:
        found: The margins with their instances. An infinite margin means that an instance does not count.
        tried: How many instances were tried; as many as there are margins if left out.
        note: What was measured, in words.
    """
    found = [_margin_and_instance(entry) for entry in checks.sequence("found", found, "a list of margins")]
    count = len(found) if tried is None else checks.count("tried", tried, least=0)
    checks.text("note", note)
    # A margin that is not a number is a failure of the program, and must not pass for a large margin.
    broken = [shown for margin, shown in found if np.isnan(margin)]
    if broken:
        return Outcome(float("nan"), count, broken[0], "a margin is not a number", "inconclusive")
    margin, shown = min(found, key=lambda entry: entry[0], default=(np.inf, {}))
    if margin == np.inf:
        return Outcome(float("inf"), 0, {}, "no instance satisfies the hypotheses", "not_applicable")
    return Outcome(float(margin), count, shown, note)


def _margin_and_instance(entry: Any) -> tuple[float, Mapping[str, Any]]:
    if not (isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[1], Mapping)):
        raise invalid("found", "hold pairs of a margin and an instance", shown(entry), "Pass (margin, {name: value})")
    margin = checks.real_array("found", entry[0])
    if margin.ndim:
        raise invalid("found", "hold one margin an instance", f"shape {margin.shape}", "Pass (margin, {name: value})")
    return float(margin), entry[1]


class Test(Protocol):
    """How a form is judged."""

    def __call__(self, effort: Effort, seed: int) -> Outcome:
        """Judge, with the given effort and seed; the same seed gives the same outcome."""
        ...


@dataclass(frozen=True)
class Form:
    """One form of a statement.

    Attributes:
        statement: What it says, in our words, with formulas in `$…$`.
        test: How it is judged.
        slack: Margins above minus this count as rounding error.
        recipe: A few lines of NumPy that evaluate both sides from the arrays of a witness; they must end by setting
            `left` and `right`.
    """

    statement: str
    test: Test
    slack: float = 1e-9
    recipe: str = ""

    def __post_init__(self):
        checks.text("statement", self.statement)
        checks.text("recipe", self.recipe)
        checks.function("test", self.test, "a function of an effort and a seed", "Pass a Pointwise or a Scan")
        checks.settle(self, slack=checks.not_negative("slack", self.slack))


@dataclass(frozen=True)
class Claim:
    """A statement of a paper as a program.

    Attributes:
        id: Paper and number, as `convolutional_filter.lemma-4.2`.
        place: Where it is printed.
        title: A few words that name it.
        hypotheses: What it assumes.
        as_printed: The statement as printed.
        control: A deliberately false variant that the same test must refute.
        corrected: The form that holds, where the print fails.
        correction: Which constant, factor or hypothesis changes, and why.
        arithmetic: How its numbers are got.
    """

    id: str
    place: str
    title: str
    hypotheses: tuple[str, ...]
    as_printed: Form
    control: Form
    corrected: Form | None = None
    correction: str = ""
    arithmetic: str = "closed form in float64"

    def __post_init__(self):
        for name in ("id", "place", "title", "correction", "arithmetic"):
            checks.text(name, getattr(self, name))
        checks.settle(self, hypotheses=checks.sequence("hypotheses", self.hypotheses, "a tuple of texts"))
        for hypothesis in self.hypotheses:
            checks.text("hypotheses", hypothesis)
        for name in ("as_printed", "control", "corrected"):
            form = getattr(self, name)
            if not (name == "corrected" and form is None):
                checks.of_kind(name, form, Form, "a Form", "Pass tutelage.claims.Form(statement, test)")

    @property
    def paper(self) -> str:
        """The paper's key."""
        return self.id.split(".", 1)[0]

    @property
    def forms(self) -> dict[FormName, Form]:
        """The forms that are judged, the control not among them."""
        forms: dict[FormName, Form] = {"as_printed": self.as_printed}
        if self.corrected is not None:
            forms["corrected"] = self.corrected
        return forms

    def paste(self, verdict: Verdict) -> str:
        """Return Python source that rebuilds the witness of a verdict in NumPy and evaluates both sides.

        Args:
            verdict: A verdict on one of the forms of this claim.
        """
        checks.of_kind("verdict", verdict, Verdict, "a Verdict", "Pass one that tutelage.claims.judge returns")
        checks.one_of("verdict", verdict.id, (self.id,))
        return paste(verdict.witness, self.forms[verdict.form].recipe)


@dataclass(frozen=True)
class Verdict:
    """The judgement of one form of a claim.

    Attributes:
        id: The claim.
        form: `as_printed` or `corrected`.
        verdict: `holds`, `refuted`, `not_applicable` or `inconclusive`.
        margin: The smallest margin met.
        instances: How many instances were tried.
        arithmetic: How the numbers were got.
        witness: The numbers that refute the form, or the closest call where it holds.
        control_refuted: Whether the same machinery refuted the claim's control.
        note: What was measured, in words.
        seconds: Time taken.
        effort: How hard was searched.
        seed: The seed.
    """

    id: str
    form: FormName
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

    def __str__(self) -> str:
        """Return the verdict in a line, without the witness."""
        found = f"smallest margin {self.margin:.3g} over {self.instances:,} instances"
        return f"{self.id}, {self.form.replace('_', ' ')}: {self.verdict} ({found})"

    def _repr_html_(self) -> str:
        return facts(
            f"{self.id}, {self.form.replace('_', ' ')}: {self.verdict.replace('_', ' ')}",
            {
                "smallest margin": float(self.margin),
                "instances": f"{self.instances:,}",
                "arithmetic": self.arithmetic,
                "control": "refuted" if self.control_refuted else "not refuted",
                "note": self.note or None,
            },
        )

    def document(self) -> dict[str, Any]:
        """Return the verdict as plain data for JSON."""
        return {
            "id": self.id,
            "form": self.form,
            "verdict": self.verdict,
            "margin": _plain(self.margin),
            "instances": self.instances,
            "arithmetic": self.arithmetic,
            "witness": {name: _plain(value) for name, value in self.witness.items()} or None,
            "control_refuted": self.control_refuted,
            "note": self.note,
            "seconds": round(self.seconds, 3),
            "effort": self.effort,
            "seed": self.seed,
        }

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> Verdict:
        """Return the verdict that a document describes; what else the document holds is left out."""
        values = {name: document[name] for name in (entry.name for entry in fields(Verdict))}
        witness = {name: _revived(value) for name, value in (document["witness"] or {}).items()}
        return Verdict(**{**values, "margin": float(document["margin"]), "witness": witness})


def _plain(value: Any) -> Any:
    """Return numbers and arrays as JSON can hold them; infinities and NaN as strings."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    array = np.asarray(value)
    if array.ndim:
        return [_plain(entry) for entry in array]
    number = array.item()
    if isinstance(number, float) and not np.isfinite(number):
        return str(number)
    return number


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
    """Return Python source that rebuilds a witness in NumPy and evaluates both sides of the statement.

    Args:
        witness: Arrays and numbers by name.
        recipe: The form's recipe.
    """
    checks.of_kind("witness", witness, Mapping, "arrays and numbers by name", "Pass the witness of a verdict")
    checks.text("recipe", recipe)
    lines = ["import numpy as np", ""]
    for name, value in witness.items():
        plain = _plain(value)
        lines.append(f"{name} = np.array({plain})" if isinstance(plain, list) else f"{name} = {plain!r}")
    # What is pasted says by itself what it found.
    return "\n".join([*lines, "", recipe.strip(), "print(left, right)", ""]) if recipe else "\n".join([*lines, ""])


def effort_named(name: str) -> Effort:
    """Return an effort by name."""
    return EFFORTS[checks.one_of("effort", name, EFFORTS)]
