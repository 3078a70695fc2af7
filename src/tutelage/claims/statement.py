"""What a claim is: a statement of a paper as a program that can fail.

A claim is a relation with one thing varied, and forms that differ by the values of its parameters: `as_printed`, the
letter; `as_meant`, where the paper's context supplies what the sentence leaves out; `corrected`; and a control, a
deliberately false variant, about as hard as the claim, that the same search must refute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from tutelage import checks
from tutelage.claims.formula import Formula
from tutelage.claims.recipes import condition_of, recipe_of
from tutelage.claims.relation import PARTS, Relation, Sign
from tutelage.claims.verdict import Reading, Verdict, paste
from tutelage.errors import invalid
from tutelage.papers import KINDS, printed_at

SCOPES = ("theorem", "lemma", "proof step", "remark", "caption")
_SCOPE_OF = {
    "theorem": "theorem",
    "proposition": "theorem",
    "corollary": "theorem",
    "conjecture": "theorem",
    "lemma": "lemma",
    "claim": "lemma",
    "remark": "remark",
    "figure": "caption",
    "table": "caption",
}


@dataclass(frozen=True, init=False)
class Form:
    """One form of a statement.

    Attributes:
        statement: What it says, in our words, with formulas in `$…$`.
        slack: Margins above minus this count as rounding error.
        recipe: A few lines of NumPy that evaluate the sides from the arrays of a witness: they set `left`, `right` or
            both. A side that they do not set is written from the relation, where its formula is elementary.
        varied: What the form varies: parameters, or parts of the claim's relation, by name.
    """

    statement: str
    slack: float
    recipe: str
    varied: Mapping[str, Any]

    def __init__(self, statement: str, slack: float = 1e-9, recipe: str = "", **varied: Any):
        # `dataclasses.replace` passes the field by its own name.
        varied = dict(varied.pop("varied", {})) | varied
        checks.settle(
            self,
            statement=checks.text("statement", statement),
            slack=checks.not_negative("slack", slack),
            recipe=checks.text("recipe", recipe),
            varied=varied,
        )


# Two forms must be given; one that is left out is refused in a sentence.
_NO_FORM = cast(Form, None)


@dataclass(frozen=True)
class Claim:
    """A statement of a paper as a program.

    The parts of the relation are those of `tutelage.claims.Relation`. If its formulas have the values of the print as
    defaults of their parameters, forms say what they vary; one that varies nothing is given by its statement alone.

    Attributes:
        id: Paper and number, as `convolutional_filter.lemma-4.2`.
        place: Where it is printed; told by the map of the print, or else by the identifier, if left out.
        title: A few words that name it.
        hypotheses: What it assumes, a text or several.
        as_printed: The statement as printed.
        control: A deliberately false variant, about as hard, that the same test must refute.
        corrected: The form that holds, where the print fails; the one that is meant if left out.
        correction: Which constant, factor or hypothesis changes, and why.
        arithmetic: How its numbers are got.
        as_meant: The statement with what the paper's context supplies.
        supplied: The place that supplies it.
        scope: What kind of statement it is, one of `SCOPES`; told by the identifier if left out.
        kind: In which way the print fails, one of `tutelage.papers.KINDS`; that on record for the paper if left out.
        defect: Name of the root error behind it; one error may show in several claims.
        glyph: Whether the failure hangs on one glyph of the text, which may have been lost.
        draw: What is drawn, and from which laws.
        left: The left side.
        relation: How the sides compare.
        right: The right side.
        where: The condition on instances.
        build: Makes an instance of what is drawn, where no law does.
        corners: Instances that are tried besides.
        scale: The size of both sides below which differences are rounding errors.
        tolerance: Tolerance of an equality.
        known: What is known of the left side without the statement.
        derivatives: Whether formulas in JAX are differentiated in a long search.
        runs: Whether the function that draws measures an experiment.
        note: What was measured, in words.
        also: Relations that have to hold as well, such as the other half of an "if and only if".
    """

    id: str
    place: str = ""
    title: str = ""
    hypotheses: str | Sequence[str] = ()
    as_printed: Form | str = _NO_FORM
    control: Form = _NO_FORM
    corrected: Form | str | None = None
    correction: str = ""
    arithmetic: str = "closed form in float64"
    as_meant: Form | str | None = None
    supplied: str = ""
    scope: str = ""
    kind: str = ""
    defect: str = ""
    glyph: bool = False
    draw: Any = None
    left: Any = None
    relation: Sign | None = None
    right: Any = None
    where: Callable[..., Any] | None = None
    build: Callable[..., Any] | None = None
    corners: Sequence[Mapping[str, Any]] = ()
    scale: Any = None
    tolerance: float = 1e-9
    known: Any = None
    derivatives: bool = True
    runs: bool = False
    note: str = ""
    also: Sequence[Relation] = field(default_factory=tuple)

    def __post_init__(self):
        for name in ("id", "place", "title", "correction", "arithmetic", "supplied", "scope", "kind", "defect", "note"):
            checks.text(name, getattr(self, name))
        several = (self.hypotheses,) if isinstance(self.hypotheses, str) else self.hypotheses
        checks.settle(self, hypotheses=checks.sequence("hypotheses", several, "a tuple of texts"))
        for hypothesis in self.hypotheses:
            checks.text("hypotheses", hypothesis)
        for name in ("as_printed", "control", "corrected", "as_meant"):
            form = getattr(self, name)
            if isinstance(form, str):
                checks.settle(self, **{name: Form(form)})
            elif not (name in ("corrected", "as_meant") and form is None):
                checks.of_kind(name, form, Form, "a Form or a statement", "Pass tutelage.claims.Form(statement, …)")
        if self.as_meant is not None and not self.supplied:
            remedy = "Say in `supplied` which place of the paper supplies what is added"
            raise invalid("as_meant", "name the place that supplies it", "none", remedy)
        if self.corrected is None and self.correction:
            checks.settle(self, corrected=self.as_meant)
        if self.kind:
            checks.one_of("kind", self.kind, KINDS)
        told, _, number = self.id.partition(".")[2].partition("-")
        scope = self.scope or _SCOPE_OF.get(told, "proof step")
        numbered = f"Equation ({number})" if told == "equation" else f"{told.capitalize()} {number}".strip()
        place = self.place or printed_at(self.paper).get(self.id, numbered)
        also = checks.sequence("also", self.also, "a list of relations")
        for one in also:
            checks.of_kind("also", one, Relation, "a list of relations", "Pass tutelage.claims.Relation")
        checks.settle(
            self,
            place=place,
            scope=checks.one_of("scope", scope, SCOPES),
            also=also,
            glyph=checks.flag("glyph", self.glyph),
        )
        for name in ("draw", "left", "relation", "right"):
            if getattr(self, name) is None:
                remedy = "A claim has `draw`, `left`, `relation` and `right`"
                raise invalid(name, "be given", "None", remedy)
        self.relations(self.forms["as_printed"])  # what does not fit is refused when the claim is written

    def __repr__(self) -> str:
        return f"Claim({self.id}: {self.title})"

    @property
    def paper(self) -> str:
        """The paper's key."""
        return self.id.split(".", 1)[0]

    @property
    def forms(self) -> dict[Reading, Form]:
        """The forms that are judged, the control not among them."""
        forms = {"as_printed": self.as_printed, "as_meant": self.as_meant, "corrected": self.corrected}
        return cast(dict[Reading, Form], {reading: form for reading, form in forms.items() if form is not None})

    def relations(self, form: Form, programs: dict[Any, Any] | None = None) -> tuple[Relation, ...]:
        """Return the relations by which a form is judged: the claim's own first, then the others that have to hold.

        Args:
            form: The form.
            programs: Where programs that several forms share are kept.
        """
        parts = {name: getattr(self, name) for name in PARTS}
        kept = {} if programs is None else programs
        first = Relation(**parts, programs=kept).varied(**form.varied)
        return (first, *(one.varied(**first.values) for one in self.also))

    def recipe(self, reading: Reading, witness: Mapping[str, Any] | None = None) -> str:
        """Return the recipe of a form, what it does not say itself written from the relation; empty if there is none.

        Args:
            reading: `as_printed`, `as_meant` or `corrected`.
            witness: A witness to evaluate, arrays by name: sides of something else are not written.
        """
        form = self.forms[checks.one_of("reading", reading, self.forms)]
        return recipe_of(self._violated(form, witness or {}), form.recipe, witness)

    def _violated(self, form: Form, witness: Mapping[str, Any]) -> Relation:
        """Return which of several relations a witness is of: the one that has its sides there."""
        first, *others = self.relations(form)
        for relation in (first, *others) if others and not form.recipe else ():
            values = {name: np.asarray(value) for name, value in witness.items()} | relation.values
            with suppress(Exception):  # of something else
                sides = {name: Formula(name, getattr(relation, name))(values) for name in ("left", "right")}
                if all(np.allclose(side, witness[name], rtol=1e-6, atol=1e-12) for name, side in sides.items()):
                    return relation
        return first

    def paste(self, verdict: Verdict) -> str:
        """Return Python source that rebuilds the witness of a verdict in NumPy and evaluates both sides.

        Args:
            verdict: A verdict on one of the forms of this claim.
        """
        checks.of_kind("verdict", verdict, Verdict, "a Verdict", "Pass one that tutelage.claims.judge returns")
        checks.one_of("verdict", verdict.id, (self.id,))
        form, recipe = self.forms[verdict.form], self.recipe(verdict.form, verdict.witness)
        relation = self._violated(form, verdict.witness)
        if form.recipe:
            recipe = condition_of(relation, verdict.witness) + recipe
        reading = verdict.form.replace("_", " ")
        said = [f"{self.id}, {reading} ({self.place}): {form.statement}", *map("Assuming {}".format, self.hypotheses)]
        comments = "".join(f"# {line}\n" for line in said)
        compared = _compared(form, relation, verdict, recipe)
        return comments + paste(verdict.witness, recipe + compared if recipe else "")


def _compared(form: Form, relation: Relation, verdict: Verdict, recipe: str) -> str:
    """Return lines that print what the statement says of both sides, and what the numbers say.

    What counts as rounding in the verdict does so here: of what holds, the difference on record, twice. A sampled side
    of an equality is never exact: where it fails, half of the difference on record is more than sampling changes.
    """
    sides = [np.asarray(verdict.witness.get(name, 0.0), float) for name in ("left", "right")]
    gap = {"<=": sides[0] - sides[1], ">=": sides[1] - sides[0], "==": np.abs(sides[0] - sides[1])}[relation.relation]
    size = float(np.max(np.abs(np.concatenate([side.ravel() for side in sides]))))
    equal, apart, sampled = relation.relation == "==", float(np.max(gap)), "random" in recipe
    if equal and sampled:
        slack = f"{apart / 2 if verdict.verdict == 'refuted' else size / 20:.3g}  # more than sampling changes"
    elif verdict.verdict != "refuted" and np.any(
        2 * gap > (relation.tolerance * size if equal else form.slack * np.maximum(*map(np.abs, sides)))
    ):
        slack = f"{2 * apart:.3g}  # differences up to this one are rounding errors here"
    elif equal:
        slack = f"{relation.tolerance:g} * np.max(np.maximum(np.abs(left), np.abs(right)))"
    else:
        slack = f"{form.slack:g} * np.maximum(np.abs(left), np.abs(right))  # rounding"
    says, holds = {
        "<=": ("left ≤ right", "left <= right + slack"),
        ">=": ("left ≥ right", "left >= right - slack"),
        "==": ("left = right", "np.abs(left - right) <= slack"),
    }[relation.relation]
    # What is pasted says by itself what it found.
    return (
        f"slack = {slack}\n"
        f'print("{verdict.form.replace("_", " ").capitalize()}: {says}.")\n'
        f'found = "holds." if np.all({holds}) else "fails."\n'
        'print("The numbers: left =", left, "and right =", right, "so it", found)\n'
    )
