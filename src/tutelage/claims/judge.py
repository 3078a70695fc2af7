"""Judging claims: every form, with the control first."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tutelage.checks import flag, of_kind, random_seed
from tutelage.claims.outcome import Effort, Judgement, Outcome, effort_named
from tutelage.claims.power import at_risk, refuted_from
from tutelage.claims.proofs import proved
from tutelage.claims.relation import Relation, worst
from tutelage.claims.statement import Claim, Form
from tutelage.claims.verdict import Reading, Verdict
from tutelage.errors import invalid, shown
from tutelage.papers import kind_on_record

# A violation by half of the size of both sides needs no deeper search.
_PLAIN = -0.5


def judge(claim: Claim, effort: str | Effort = "default", seed: int = 0, *, strengthened: bool = True) -> list[Verdict]:
    """Judge all forms of a claim, which may be one of a paper or one of your own.

    Args:
        claim: The claim.
        effort: `default`, `high`, or an `Effort` of your own.
        seed: Seed of the search; the same seed gives the same verdicts.
        strengthened: Whether to say of what holds from which strengthening on it is refuted (`refuted_from`), for which
            a quarter of the time is needed.

    Returns:
        One verdict per form.

    Raises:
        InvalidArgument: If the claim is none, or a formula does not fit what is drawn, for example.
    """
    of_kind("claim", claim, Claim, "a Claim", "Pass one of tutelage.claims.find(), or one of your own")
    seed, strengthened = random_seed("seed", seed), flag("strengthened", strengthened)
    settings, name_of_effort = (effort, "own") if isinstance(effort, Effort) else (effort_named(effort), effort)
    started = time.perf_counter()
    programs: dict = {}
    control = claim.relations(claim.control, programs)
    control_refuted = _refuted(claim.control, control, settings, seed)
    verdicts = []
    for reading, form in claim.forms.items():
        if reading == "corrected" and form is claim.as_meant:
            # What the context supplies is all that the print lacks.
            verdicts.append(replace(verdicts[-1], form=reading, seconds=0.0))
            continue
        relations = claim.relations(form, programs)
        outcome, power = _judged(form, relations, control if control_refuted else (), settings, seed, strengthened)
        verdict, note = _judgement(form, outcome), outcome.note
        if not control_refuted:
            # A test that cannot refute a falsehood says nothing.
            verdict, note = "inconclusive", f"the control was not refuted; {note}".rstrip("; ")
        elif verdict == "holds" and power.get("at_risk") == 0:
            verdict, note = "vacuous", f"nothing was at risk; {note}".rstrip("; ")
        failed = verdict == "refuted"
        verdicts.append(
            Verdict(
                id=claim.id,
                form=reading,
                verdict=verdict,
                margin=outcome.margin,
                instances=outcome.instances,
                arithmetic=claim.arithmetic,
                witness=outcome.witness,
                control_refuted=control_refuted,
                note=note,
                # The first form answers for the time of the control.
                seconds=time.perf_counter() - started,
                effort=name_of_effort,
                seed=seed,
                scope=claim.scope,
                kind=(claim.kind or kind_on_record(claim.id)) if failed else "",
                defect=claim.defect if failed else "",
                glyph=claim.glyph and failed,
                proved=failed and _proved(claim, reading, outcome.witness),
                **power,
            )
        )
        started = time.perf_counter()
    return verdicts


def judge_all(claims: Iterable[Claim], effort: str | Effort = "default", seed: int = 0) -> Iterator[Verdict]:
    """Judge many claims one after another, yielding verdicts as they come."""
    try:
        several = iter(claims)
    except TypeError as error:
        remedy = "Pass a list, or what tutelage.claims.find returns"
        raise invalid("claims", "be several claims", shown(claims), remedy) from error
    for claim in several:
        yield from judge(claim, effort, seed)


def _proved(claim: Claim, reading: Reading, witness: Mapping[str, Any]) -> bool:
    recipe = claim.recipe(reading)
    return bool(recipe) and proved(recipe, claim.relations(claim.forms[reading])[0], witness)


def _refuted(form: Form, relations: tuple[Relation, ...], effort: Effort, seed: int) -> bool:
    # One instance is enough; what the worst one is does not matter.
    return any(relation.refutes(effort, seed, form.slack) for relation in relations)


def _judged(
    form: Form,
    relations: tuple[Relation, ...],
    control: tuple[Relation, ...],
    effort: Effort,
    seed: int,
    strengthened: bool,
) -> tuple[Outcome, dict[str, Any]]:
    """Return what the search on a form finds, and how much of it could have been otherwise."""
    found = [relation.searched(effort, seed, _PLAIN) for relation in relations]
    outcome = worst(one for one, _ in found)
    if not np.isfinite(outcome.margin):
        return outcome, {}
    shares = [at_risk(one, effort, seed, control[place : place + 1]) for place, one in enumerate(relations)]
    power: dict[str, Any] = {"at_risk": min(shares)}
    if strengthened and outcome.margin >= -form.slack and control:
        power["refuted_from"] = refuted_from(
            relations[0], control[0], effort, seed, form.slack, found[0][1], outcome.margin
        )
    return outcome, power


def _judgement(form: Form, outcome: Outcome) -> Judgement:
    if outcome.judgement is not None:
        return outcome.judgement
    if np.isnan(outcome.margin):
        return "inconclusive"
    if np.isposinf(outcome.margin):
        # Nothing was judged, which must not pass for a large margin.
        return "not_applicable"
    return "refuted" if outcome.margin < -form.slack else "holds"
