"""How much of a verdict could have been otherwise: instances at risk, and the mildest strengthening that is refuted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tutelage.claims.outcome import Effort
from tutelage.claims.relation import Relation
from tutelage.claims.search import Found, Pairs

_HALVINGS, _SEARCHES = 30, 3


def at_risk(relation: Relation, effort: Effort, seed: int, others: Sequence[Relation] = ()) -> float:
    """Return the share of instances on which the conclusion did not follow trivially.

    An instance is not at risk where the relation holds with what is known of the left side in its place: with `known`, or,
    if that is not given, with a bound on the wrong side of zero where the left side had one sign on all that was drawn,
    the hypotheses satisfied or not, for this relation and for others. (A bound of zero itself may be the whole content of
    a statement: that a square is not negative has to be said in `known`.) No instance is at risk if both sides are equal to the last bit on all of them,
    as one expression written twice is.

    Args:
        relation: The relation.
        effort: How hard was searched.
        seed: Seed of the search.
        others: Relations with the same left side under weaker hypotheses, such as the control.
    """
    pairs = relation.sampled(effort, seed)
    counted = pairs.counted & np.isfinite(pairs.size)
    if not counted.any() or _one_expression(pairs, counted):
        return 0.0
    if relation.relation == "==":
        return 1.0
    if relation.known is not None:
        trivial = replace(relation, left=relation.known).sampled(effort, seed)
        counted = trivial.counted & np.isfinite(trivial.size)
        return float(np.mean(trivial.margins[counted] < 0)) if counted.any() else 0.0
    everywhere = [pairs, *(other.sampled(effort, seed) for other in others if other.relation == relation.relation)]
    if relation.relation == ">=":
        known = min(np.nanmin(one.large) for one in everywhere) >= 0
        return float(np.mean(pairs.small[counted] >= 0)) if known else 1.0
    known = max(np.nanmax(one.small) for one in everywhere) <= 0
    return float(np.mean(pairs.large[counted] <= 0)) if known else 1.0


def _one_expression(pairs: Pairs, counted: np.ndarray) -> bool:
    """Whether both sides agree to the last bit everywhere, and not because they are whole numbers."""
    small, large, size = pairs.small[counted], pairs.large[counted], pairs.size[counted]
    same = (small == large) | (small == 0) & (large <= 1e-3 * size)
    whole = np.all(size == np.round(size))
    return bool(np.all(same) and not whole)


def refuted_from(
    form: Relation, control: Relation, effort: Effort, seed: int, slack: float, met: Sequence[Found]
) -> dict[str, Any] | None:
    """Return the mildest strengthening that is refuted, on the way from a form to its control.

    The numbers in which the two differ are varied together. The worst instances met are tried first, at no cost; then a
    few short searches look for milder ones.

    Args:
        form: The form, which holds.
        control: The control, which is refuted.
        effort: How hard was searched.
        seed: Seed of the search.
        slack: Margins above minus this count as rounding error.
        met: What the search for the form met, on each draw.

    Returns:
        `parameter`, its `value` there, `held`, the value that holds, and `factor`, their quotient; `None` if the two differ
        in something else than numbers.
    """
    ends = _numbers_between(form, control)
    if ends is None:
        return None

    def between(share: float) -> Relation:
        return form.varied(**{name: _between(low, high, share) for name, (low, high) in ends.items()})

    rows = [found.rows for found in met if found.rows.shape[1:] and found.sampled is not None]
    searched = [some for some, draw in zip(rows[len(rows) - len(form.draw) :], form.draw, strict=False) if isinstance(draw, Mapping)]

    def violated(share: float) -> bool:
        relation = between(share)
        if len(searched) == sum(isinstance(draw, Mapping) for draw in form.draw):
            if any((pairs.margins < -slack).any() for pairs in relation.evaluated(effort, searched)):
                return True
        if len(searched) == len(form.draw) and not form.corners:
            return False
        return relation.refutes(replace(effort, iterations=0, generations=0), seed, slack)

    low, high = 0.0, 1.0
    for _ in range(_HALVINGS if searched else 12):
        if high - low < 1e-3 * high:
            break
        middle = (low + high) / 2 if high > 1e-3 else np.sqrt(max(low, 1e-9) * high)
        low, high = (low, middle) if violated(middle) else (middle, high)
    brief = replace(
        effort,
        samples=max(effort.samples // 4, effort.restarts // 2, 1),
        restarts=max(effort.restarts // 2, 1),
        generations=effort.generations // 4,
        iterations=effort.iterations // 2,
    )
    for _ in range(_SEARCHES if searched else 0):
        if not between(high / 2).refutes(brief, seed + 1, slack):
            break
        high = high / 2
    name, (held, _) = next(iter(ends.items()))
    value = between(high).parameters[name]
    return {"parameter": name, "value": value, "held": held, "factor": value / held if held else None}


def _numbers_between(form: Relation, control: Relation) -> dict[str, tuple[float, float]] | None:
    """Return the numbers in which two relations differ, or nothing if they differ in something else."""
    same = {"parameters": {}, "programs": {}}
    if replace(form, **same) != replace(control, **same):
        return None
    ends = {}
    for name in {**form.parameters, **control.parameters}:
        one, other = form.parameters.get(name), control.parameters.get(name)
        if one is other or (isinstance(one, (int, float)) and one == other):
            continue
        numbers = [isinstance(value, (int, float, np.floating, np.integer)) for value in (one, other)]
        if not all(numbers) or isinstance(one, bool) or isinstance(other, bool):
            return None
        ends[name] = (float(one), float(other))
    return ends or None


def _between(low: float, high: float, share: float) -> float:
    """Return a number on the way, by quotients where both have one sign."""
    if low * high > 0:
        return float(np.sign(low) * np.exp((1 - share) * np.log(abs(low)) + share * np.log(abs(high))))
    return (1 - share) * low + share * high
