"""A relation of your own, judged by the machinery that judges the papers."""

from __future__ import annotations

import difflib
import inspect
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tutelage import checks
from tutelage._html import facts
from tutelage.claims.laws import Space
from tutelage.claims.outcome import Effort, Judgement, effort_named
from tutelage.claims.power import at_risk, refuted_from
from tutelage.claims.relation import PARTS, Relation, Sign
from tutelage.claims.search import Pairs, attack
from tutelage.claims.sides import Sides
from tutelage.claims.verdict import strength as stronger
from tutelage.errors import InvalidArgument, invalid, shown

_SLACK = 1e-9
_PLAIN = -0.5
# How deep a planted valley is beside the margin above it, and its widths beside the size of an instance.
_DEEPER, _WIDTHS = 1.1, (1.0, 0.3, 0.1, 0.03)


@dataclass(frozen=True)
class Attempt:
    """The judgement of a conjecture.

    Attributes:
        verdict: `holds`, `refuted`, `vacuous`, `not_applicable` or `inconclusive`.
        margin: The smallest margin met: the difference of the sides relative to their size, negative where it fails;
            down to −1e-9 it counts as a rounding error.
        witness: The instance where it was met, with both sides, as arrays by name.
        instances: How many instances were tried.
        at_risk: The share of instances on which the conclusion did not follow trivially.
        refuted_from: The mildest strengthening that is refuted, on the way to the control: `parameter`, `value`,
            `held`, `factor`; `None` without a control.
        control: How strong the test is, in words.
        note: What else there is to say.
        seconds: Time taken.
    """

    verdict: Judgement
    margin: float
    witness: Mapping[str, Any]
    instances: int
    at_risk: float | None
    refuted_from: Mapping[str, Any] | None
    control: str
    note: str
    seconds: float

    def __str__(self) -> str:
        """Say in words what was tried, how close it came and how strong the test is."""
        lines = [f"{self.verdict.replace('_', ' ')}: {_SAID[self.verdict]}"]
        if self.instances:
            close = "violated by" if self.margin < 0 else "at the closest call they differ by"
            rounding = ", which counts as rounding" if self.verdict != "refuted" and self.margin < 0 else ""
            by = f"{abs(self.margin):.3g} of the size of the sides{rounding}"
            lines.append(f"{self.instances:,} instances tried; {close} {by}")
        for name, value in self.witness.items():
            lines.append(f"  {name} = {np.array2string(np.asarray(value), precision=6, threshold=20)}")
        if self.at_risk is not None:
            lines.append(f"at risk: {self.at_risk:.0%} of the instances")
        return "\n".join([*lines, self.control, *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        return facts(
            self.verdict.replace("_", " "),
            {
                "smallest margin": float(self.margin),
                "instances": f"{self.instances:,}",
                "at risk": None if self.at_risk is None else f"{self.at_risk:.0%} of the instances",
                "control": self.control,
                "note": self.note or None,
            },
        )


_SAID = {
    "holds": "nothing that was tried violates it by more than rounding, which is no proof",
    "refuted": "the instance below violates it",
    "vacuous": "it could not have failed on anything that was tried",
    "not_applicable": "no instance that was tried satisfies the condition",
    "inconclusive": "the test cannot tell",
}


def conjecture(
    *,
    draw: Any,
    left: Any,
    relation: Sign,
    right: Any,
    where: Callable[..., Any] | None = None,
    seed: int = 0,
    effort: str | Effort = "default",
    control: Mapping[str, Any] | None = None,
    scale: Any = None,
    known: Any = None,
    tolerance: float = 1e-9,
    **parameters: Any,
) -> Attempt:
    r"""Try to break a conjecture: $\text{left} \le \text{right}$ (or $\ge$, $=$) on all instances under a condition.

    Formulas take what they name of the drawn arrays and the parameters. Those in NumPy are evaluated as they are; those
    in JAX, such as the loss of an objective, are compiled.

    Args:
        draw: Names to shapes (`()` for a number) or to laws, such as `tutelage.claims.uniform(0, 1)`; several such
            dictionaries for instances of several shapes.
        left: The left side, a function or a number.
        relation: `<=`, `>=` or `==`.
        right: The right side.
        where: The condition on instances.
        seed: Seed of the search; the same seed gives the same verdict.
        effort: `default`, `high`, or an `Effort` of your own.
        control: Values of parameters (or parts such as `right`) with which the conjecture is false, and about as hard
            to refute. Without one, violations are planted in it to see how thin a one is found.
        scale: The size of both sides below which differences are rounding errors.
        known: What is known of the left side anyway: zero of a square, its value at the start.
        tolerance: Tolerance of an equality, relative to the larger side.
        **parameters: Values of further names that the formulas take.

    Returns:
        The verdict with its witness and its power; printed, it says what was tried.

    Raises:
        InvalidArgument: If something does not fit: one sentence, before anything is compiled.
    """
    started = time.perf_counter()
    settings = effort if isinstance(effort, Effort) else effort_named(effort)
    seed = checks.random_seed("seed", seed)
    statement = Relation(
        draw,
        left,
        relation,
        right,
        where,
        scale=scale,
        known=known,
        tolerance=tolerance,
        parameters=parameters,
        shaken=True,
    )
    if control is not None:
        checks.of_kind("control", control, Mapping, "what the control varies, by name", 'Pass {"constant": 0.3}')
    false = None if control is None else statement.varied(**control)
    several = [statement] if false is None else [statement, false]
    _require_taken("parameters", "be what a formula takes beside what is drawn", parameters, several)
    _require_taken("control", "vary what a formula takes beside what is drawn", {*(control or ())} - PARTS, several[1:])
    outcome, rows = statement.searched(settings, seed, _PLAIN)
    if np.isnan(outcome.margin):
        raise _no_number(outcome.witness)
    # Of an equality, errors of twice its tolerance are none of rounding.
    slack = min(_SLACK, statement.tolerance) if relation == "==" else _SLACK
    verdict: Judgement = outcome.judgement or ("refuted" if outcome.margin < -slack else "holds")
    if verdict != "holds" and verdict != "refuted":
        return Attempt(verdict, outcome.margin, {}, 0, None, None, "nothing was judged", outcome.note, _since(started))
    risk = at_risk(statement, settings, seed, () if false is None else (false,))
    strength, words = None, ""
    if false is None:
        met = statement.met(settings, seed) if verdict == "holds" else ()
        found = [_thinnest(sides, settings, seed, slack) for sides, _ in met]
        words, sure = _planted(found)
    elif false.refutes(settings, seed, slack):
        strength, sure = None, True
        if verdict == "holds":
            strength = refuted_from(statement, false, settings, seed, slack, rows, outcome.margin)
        words = "the control was refuted" + (f"; {stronger(strength)}" if strength else "")
    else:
        words, sure = "the control was not refuted: the test is too weak to tell", False
    if verdict == "holds":
        verdict = "vacuous" if risk == 0 else "holds" if sure else "inconclusive"
    return Attempt(
        verdict,
        outcome.margin,
        outcome.witness,
        outcome.instances,
        risk,
        strength,
        words,
        outcome.note,
        _since(started),
    )


def _require_taken(argument: str, constraint: str, names: Iterable[str], relations: list[Relation]) -> None:
    """Raise if no formula takes a name, which is then likely to be misspelt, or if it is drawn as well."""
    drawn = {name for one in relations for draw in one.draw if isinstance(draw, Mapping) for name in draw}
    for name in names:
        if name in drawn:
            raise invalid(argument, constraint, f"`{name}`, which is drawn", "Draw it, or pass its value, not both")
        if not any(one.takes(name) for one in relations):
            close = difflib.get_close_matches(name, sorted({*_ARGUMENTS, *relations[-1].names}))
            remedy = f"Perhaps `{close[0]}` is meant" if close else "Leave it out, or let a formula take it"
            raise invalid(argument, constraint, f"`{name}`, which none takes", remedy)


def _no_number(witness: Mapping[str, Any]) -> InvalidArgument:
    """Build the error for sides that cannot be compared: one is no number, or both differ by none, or the scale."""
    sides = {name: np.asarray(witness[name], float) for name in ("left", "right")}
    wrong = [name for name, side in sides.items() if np.isnan(side).any()]
    wrong += [name for name, side in sides.items() if np.isinf(side).any()]
    if not wrong:
        return invalid("scale", "be a number on all instances", "one that is not", "Mend it, or leave it out")
    side = sides[wrong[0]].ravel()
    place = ", ".join(
        f"{name} = {shown(np.asarray(value).tolist())}" for name, value in witness.items() if name not in sides
    )
    constraint = "be a number on all instances" if np.isnan(side).any() else "be finite on all instances"
    received = f"{side[~np.isfinite(side)][0]} at {place}"
    return invalid(wrong[0], constraint, received, "Mend it, or exclude such instances by `where`")


_ARGUMENTS = {name for name in inspect.signature(conjecture).parameters if name != "parameters"}


def _since(started: float) -> float:
    return time.perf_counter() - started


def _planted(found: list[float | None]) -> tuple[str, bool]:
    """Say how thin a planted violation was found, and whether any was."""
    if not found:
        return "no control was given, and none is needed for a violation", True
    if None in found:
        return "no control was given, and a violation planted at random was not found", False
    width = max(width for width in found if width is not None)
    return f"no control was given: planted violations were found down to {width:g} of the size of an instance", True


@dataclass
class _Valley:
    """A target with a valley planted in it: around one instance the larger side is lowered below the smaller one."""

    target: Sides
    centre: np.ndarray
    depth: float
    width: float

    @property
    def space(self) -> Any:
        return self.target.space

    @property
    def settled(self) -> float:
        return np.inf

    def _lowered(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        low, high = self.space.bounds()
        own = np.sqrt(np.mean(self.centre**2)) + 1e-3
        unit = self.width * np.where(high - low > 10, own, high - low)
        gap = (rows - self.centre) / unit
        bottom = 1 / (1 + np.mean(gap**2, axis=1))
        slope = -2 * bottom[:, None] ** 2 * gap / unit / len(self.centre)
        return self.depth * bottom, self.depth * slope

    def pairs(self, rows: np.ndarray) -> Pairs:
        found = self.target.pairs(rows)
        return found._replace(large=found.large - self._lowered(rows)[0])

    def slopes(self, rows: np.ndarray) -> tuple[Pairs, np.ndarray, np.ndarray]:
        found, small, large = self.target.slopes(rows)
        by, slope = self._lowered(rows)
        return found._replace(large=found.large - by), small, large - slope


def _thinnest(target: Sides, effort: Effort, seed: int, slack: float) -> float | None:
    """Return the width, beside the size of an instance, of the thinnest planted valley that a short search finds."""
    if not isinstance(target.space, Space):
        return _WIDTHS[0]
    random = np.random.default_rng([seed, 5])
    rows = target.space.sample(random, 64)
    pairs = target.pairs(rows)
    usable = np.flatnonzero(pairs.counted & np.isfinite(pairs.large - pairs.small))
    if not len(usable):
        return None
    chosen = usable[len(usable) // 2]
    usual = float(np.median(pairs.size[usable]))  # elsewhere sides need not be numbers
    depth = _DEEPER * abs(float(pairs.large[chosen] - pairs.small[chosen])) + 1e-3 * usual
    brief = replace(effort, generations=min(effort.generations, 6))
    thinnest = None
    for width in _WIDTHS:
        if not attack(_Valley(target, rows[chosen], depth, width), brief, random, -slack).lowest < -slack:
            break
        thinnest = width
    return thinnest
