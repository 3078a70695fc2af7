"""Judging claims: every form, with the control first."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

import numpy as np

from tutelage.checks import of_kind, random_seed, tried
from tutelage.claims.base import Claim, Effort, Form, Judgement, Outcome, Verdict, effort_named
from tutelage.claims.pointwise import Pointwise
from tutelage.errors import invalid, shown


def judge(claim: Claim, effort: str | Effort = "default", seed: int = 0) -> list[Verdict]:
    """Judge all forms of a claim, which may be one of a paper or one of your own.

    Args:
        claim: The claim.
        effort: `default`, `high`, or an `Effort` of your own.
        seed: Seed of the search; the same seed gives the same verdicts.

    Returns:
        One verdict a form.

    Raises:
        InvalidArgument: If the claim is none, or its test cannot be made: its check does not fit its instances, for
            example.
    """
    of_kind("claim", claim, Claim, "a Claim", "Pass one of tutelage.claims.find(), or one of your own")
    seed = random_seed("seed", seed)
    settings, name_of_effort = (effort, "own") if isinstance(effort, Effort) else (effort_named(effort), effort)
    started = time.perf_counter()
    control_refuted = _refuted(claim.control, settings, seed)
    spent = time.perf_counter() - started
    verdicts = []
    for name, form in claim.forms.items():
        started = time.perf_counter()
        outcome = _outcome(form, settings, seed)
        verdict = _judgement(form, outcome)
        note = outcome.note
        if not control_refuted:
            # A test that cannot refute a falsehood says nothing.
            verdict, note = "inconclusive", f"the control was not refuted; {note}".rstrip("; ")
        # The first form answers for the time of the control.
        spent += time.perf_counter() - started
        verdicts.append(
            Verdict(
                id=claim.id,
                form=name,
                verdict=verdict,
                margin=outcome.margin,
                instances=outcome.instances,
                arithmetic=claim.arithmetic,
                witness=outcome.witness,
                control_refuted=control_refuted,
                note=note,
                seconds=spent,
                effort=name_of_effort,
                seed=seed,
            )
        )
        spent = 0.0
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


def _refuted(form: Form, effort: Effort, seed: int) -> bool:
    if isinstance(test := form.test, Pointwise):
        # One instance is enough; what the worst one is does not matter.
        return tried("test", lambda: test.refutes(effort, seed, form.slack))
    return _judgement(form, _outcome(form, effort, seed)) == "refuted"


def _outcome(form: Form, effort: Effort, seed: int) -> Outcome:
    """Return what the test of a form finds, or raise the one clear error that names it."""
    outcome = tried("test", lambda: form.test(effort, seed))
    return of_kind("test", outcome, Outcome, "a function that returns an Outcome", "Pass a Pointwise or a Scan")


def _judgement(form: Form, outcome: Outcome) -> Judgement:
    if outcome.judgement is not None:
        return outcome.judgement
    if np.isnan(outcome.margin):
        return "inconclusive"
    if np.isposinf(outcome.margin):
        # Nothing was judged, which must not pass for a large margin.
        return "not_applicable"
    return "refuted" if outcome.margin < -form.slack else "holds"
