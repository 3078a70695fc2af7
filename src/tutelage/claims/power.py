"""How much of a verdict could have been otherwise: instances at risk, and the mildest strengthening that is refuted."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tutelage.claims.laws import Space
from tutelage.claims.outcome import Effort
from tutelage.claims.relation import Relation
from tutelage.claims.search import Pairs
from tutelage.claims.sides import is_number

_HALVINGS, _SEARCHES, _REPEATS = 30, 3, 5


def at_risk(relation: Relation, effort: Effort, seed: int, others: Sequence[Relation] = ()) -> float:
    """Return the share of instances on which the conclusion did not follow trivially.

    An instance is not at risk where the relation holds with what is known of the left side in its place: with `known`,
    or, if that is not given, where the bound is on the far side of zero and the left side had one sign on all that was
    drawn, the hypotheses satisfied or not, for this relation and for others. (A bound of zero itself may be the whole
    content of a statement: that a square is not negative has to be said in `known`.) No instance is at risk if both
    sides are equal to the last bit on all of them, as one expression written twice is.

    Args:
        relation: The relation.
        effort: How hard was searched.
        seed: Seed of the search.
        others: Relations with the same left side under weaker hypotheses, such as the control.
    """
    pairs = relation.sampled(effort, seed)
    counted = pairs.counted & np.isfinite(pairs.size)
    if not counted.any() or (_one_expression(pairs, counted) and not _discrete(relation)):
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
    whole = np.all(pairs.size[counted] == np.round(pairs.size[counted]))
    return bool(np.all(pairs.same[counted]) and not whole)


def _discrete(relation: Relation) -> bool:
    """Whether nothing but whole numbers and choices is drawn, so that sides may well agree to the last bit."""
    return all(isinstance(draw, Mapping) and not Space(draw).smooth for draw in relation.draw)


def refuted_from(
    form: Relation,
    control: Relation,
    effort: Effort,
    seed: int,
    slack: float,
    rows: Sequence[np.ndarray],
    margin: float,
) -> dict[str, Any] | None:
    """Return the mildest strengthening that is refuted, on the way from a form to its control.

    The numbers in which the two differ are varied together. The worst instances met are tried first, at little cost;
    then a few short searches look for milder ones. Where the two differ in something else, the smallest margin met says
    by how much the sides could be moved towards each other; of an equality, the right side is multiplied by a number.

    Args:
        form: The form, which holds.
        control: The control, which is refuted.
        effort: How hard was searched.
        seed: Seed of the search.
        slack: Margins above minus this count as rounding error.
        rows: The worst instances met, on each draw that was searched.
        margin: The smallest margin met.

    Returns:
        `parameter`, its `value` there, `held`, the value that holds, and `factor`, their quotient.
    """
    ends = _numbers_between(form, control)
    if ends is None and form.relation != "==":
        return {"parameter": "margin", "value": float(margin), "held": 0.0, "factor": None}

    def between(share: float) -> Relation:
        if ends is None:
            return form.varied(right=_times(1.0 + share, form.right))
        return form.varied(**{name: _between(low, high, share) for name, (low, high) in ends.items()})

    searched = all(isinstance(draw, Mapping) for draw in form.draw)
    without_search = replace(effort, iterations=0, generations=0)

    def violated(share: float) -> bool:
        if searched:
            return bool((between(share).margins(effort, rows) < -slack).any())
        return between(share).refutes(without_search, seed, slack)

    if ends is None and not violated(1.0):
        return None
    low, high = 0.0, 1.0
    # What has to be measured again for every value is measured a few times only.
    again = any(
        name in inspect.signature(draw).parameters for draw in form.draw if callable(draw) for name in ends or ()
    )
    for _ in range(_REPEATS if again else _HALVINGS):
        if high - low < 1e-3 * high or (ends is not None and between(low).values == between(high).values):
            break
        middle = (low + high) / 2 if high > 1e-3 else float(np.sqrt(max(low, 1e-9) * high))
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
    if ends is None:
        return {"parameter": "right side", "value": 1.0 + high, "held": 1.0, "factor": 1.0 + high}
    name, (held, _) = next(iter(ends.items()))
    value = between(high).values[name]
    return {"parameter": name, "value": value, "held": held, "factor": value / held if held else None}


def _times(factor: float, side: Any) -> Any:
    """Return a side times a number, a formula of the same parameters if it is one."""
    if not callable(side):
        return factor * side

    formula: Callable[..., Any] = side

    @functools.wraps(formula)
    def scaled(*given: Any, **named: Any) -> Any:
        return factor * formula(*given, **named)

    return scaled


def _numbers_between(form: Relation, control: Relation) -> dict[str, tuple[float, float]] | None:
    """Return the numbers in which two relations differ, or nothing if they differ in something else."""
    same = {"parameters": {}, "programs": {}}
    if replace(form, **same) != replace(control, **same):
        return None
    ends = {}
    # What the control says that it varies comes first.
    for name in {**control.parameters, **form.values, **control.values}:
        one, other = form.parameter(name), control.parameter(name)
        if one is other or (is_number(one) and one == other):
            continue
        if not (is_number(one) and is_number(other)):
            return None
        ends[name] = (one, other)
    return ends or None


def _between(low: float, high: float, share: float) -> float:
    """Return a number on the way, by quotients where both have one sign; a whole one between whole numbers."""
    if low * high > 0:
        value = float(np.sign(low) * np.exp((1 - share) * np.log(abs(low)) + share * np.log(abs(high))))
    else:
        value = float((1 - share) * low + share * high)
    whole = isinstance(low, (int, np.integer)) and isinstance(high, (int, np.integer))
    return round(value) if whole else value
