"""Judging claims: every form, with the control first."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

import numpy as np

from tutelage.claims.base import Claim, Effort, Form, FormName, Judgement, Outcome, Verdict, effort_named
from tutelage.claims.pointwise import Pointwise


def judge(claim: Claim, effort: str | Effort = "default", seed: int = 0) -> list[Verdict]:
    """Judge all forms of a claim, which may be one of a paper or one of your own.

    Args:
        claim: The claim.
        effort: `default`, `high`, or an `Effort` of your own.
        seed: Seed of the search; the same seed gives the same verdicts.

    Returns:
        One verdict a form.
    """
    settings, name_of_effort = (effort, "own") if isinstance(effort, Effort) else (effort_named(effort), effort)
    started = time.perf_counter()
    control_refuted = _refuted(claim.control, settings, seed)
    spent = time.perf_counter() - started
    verdicts = []
    for name, form in claim.forms.items():
        started = time.perf_counter()
        outcome = form.test(settings, seed)
        verdict = _judgement(form, outcome)
        note = outcome.note
        if not control_refuted:
            # A test that cannot refute a falsehood says nothing.
            verdict, note = "inconclusive", f"the control was not refuted; {note}".rstrip("; ")
        began = started - spent
        verdicts.append(_verdict(claim, name, verdict, outcome, control_refuted, note, name_of_effort, seed, began))
        spent = 0.0
    return verdicts


def judge_all(claims: Iterable[Claim], effort: str | Effort = "default", seed: int = 0) -> Iterator[Verdict]:
    """Judge many claims one after another, yielding verdicts as they come."""
    for claim in claims:
        yield from judge(claim, effort, seed)


def _refuted(form: Form, effort: Effort, seed: int) -> bool:
    if isinstance(form.test, Pointwise):
        # One instance is enough; what the worst one is does not matter.
        return form.test.refutes(effort, seed, form.slack)
    return _judgement(form, form.test(effort, seed)) == "refuted"


def _judgement(form: Form, outcome: Outcome) -> Judgement:
    if outcome.judgement is not None:
        return outcome.judgement
    if np.isnan(outcome.margin):
        return "inconclusive"
    if outcome.margin == np.inf:
        # Nothing was met that counts, which is no reason to believe the statement.
        return "not_applicable"
    return "refuted" if outcome.margin < -form.slack else "holds"


def _verdict(
    claim: Claim,
    form: FormName,
    verdict: Judgement,
    outcome: Outcome,
    control_refuted: bool,
    note: str,
    effort: str,
    seed: int,
    started: float,
) -> Verdict:
    return Verdict(
        id=claim.id,
        form=form,
        verdict=verdict,
        margin=outcome.margin,
        instances=outcome.instances,
        arithmetic=claim.arithmetic,
        witness=outcome.witness,
        control_refuted=control_refuted,
        note=note,
        seconds=time.perf_counter() - started,
        effort=effort,
        seed=seed,
    )
