"""A statement as a relation with one thing varied: what is drawn, two sides, and how they compare.

`draw` says what varies over instances and `where` under which condition; `left` and `right` are formulas of what they
name; parameters are what the forms of a claim differ by. The runner draws, and searches for the smallest margin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tutelage import checks
from tutelage.claims.formula import Formula
from tutelage.claims.laws import Space, law
from tutelage.claims.outcome import Effort, Outcome
from tutelage.claims.search import Found, Pairs, attack
from tutelage.claims.sides import Sides
from tutelage.claims.table import Chance, Table, measured
from tutelage.errors import invalid, shown

Sign = Literal["<=", ">=", "=="]
# An instance counts as a violation if it stays one when its last digits change.
_NUDGES, _NUDGE = 8, 1e-13
_TYPICAL = 1e-6
# From this many samples on, programs run long enough to be worth compiling well.
_MANY = 4096


@dataclass(frozen=True)
class Relation:
    """`left ≤ right`, `left ≥ right` or `left = right` on all instances that are drawn.

    Formulas take what they name: drawn values, what `build` returns, parameters; `instance` stands for all of them.

    Attributes:
        draw: Names to laws or shapes (`()` for a number); a function of a number and a generator that returns arrays by
            name, instances first; or several of these, for instances of other shapes. A function is not searched.
        left: The left side, a function or a constant; a `Chance` for a probability that was measured.
        relation: `<=`, `>=` or `==`; arrays are compared entry by entry.
        right: The right side.
        where: The condition on instances.
        build: Makes an instance of what is drawn, where no law does.
        corners: Instances that are tried besides, as arrays by name.
        scale: The size of both sides below which differences are rounding errors; if left out, a millionth of the size
            that they usually have.
        tolerance: Tolerance of an equality, relative to the larger side.
        known: What is known of the left side without the statement: zero of a square, one of a probability, its value
            at the start. Where the relation holds with it, the instance is not at risk.
        derivatives: Whether formulas in JAX are differentiated in a long search.
        runs: Whether a function that draws is asked for as many instances as the effort has runs, as an experiment is,
            and not for twenty times its samples.
        note: What was measured, in words.
        parameters: Values of the parameters; one that is left out has the default of a formula that takes it.
        programs: What relations that differ by parameters share; filled by the runner.
        shaken: Whether a violation has to survive random last digits after every operation, which takes two to three
            times as long: so for conjectures; what is recorded of the papers was judged without.
    """

    draw: Any
    left: Any
    relation: Sign
    right: Any
    where: Callable[..., Any] | None = None
    build: Callable[..., Any] | None = None
    corners: Sequence[Mapping[str, Any]] = ()
    scale: Any = None
    tolerance: float = 1e-9
    known: Any = None
    derivatives: bool = True
    runs: bool = False
    note: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    programs: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    shaken: bool = False

    def __post_init__(self):
        checks.one_of("relation", self.relation, ("<=", ">=", "=="))
        several = self.draw if isinstance(self.draw, (list, tuple)) else (self.draw,)
        if not several or any((not isinstance(draw, Mapping) and not callable(draw)) or draw == {} for draw in several):
            raise invalid("draw", "name what is drawn", shown(self.draw), 'Pass {"w": (3, 2)}, for example')
        for name in ("where", "build"):
            if getattr(self, name) is not None:
                checks.function(name, getattr(self, name), "a function of what is drawn")
        for name in ("left", "right", "scale", "known"):
            value = getattr(self, name)
            if value is not None and not callable(value) and not isinstance(value, Chance):
                array = checks.finite_array(name, value)
                if name == "scale":
                    checks.not_negative(name, float(np.min(array)))
        checks.settle(
            self,
            draw=tuple(_checked_draw(draw) for draw in several),
            corners=tuple(
                checks.of_kind("corners", corner, Mapping, "a list of instances", "Pass arrays by name")
                for corner in checks.sequence("corners", self.corners, "a list of instances")
            ),
            tolerance=checks.positive("tolerance", self.tolerance),
            derivatives=checks.flag("derivatives", self.derivatives),
            runs=checks.flag("runs", self.runs),
            note=checks.text("note", self.note),
            programs=checks.of_kind("programs", self.programs, dict, "a dictionary", "Leave it out"),
            parameters=checks.of_kind("parameters", self.parameters, Mapping, "values by name", "Pass a dictionary"),
        )

    def varied(self, **changes: Any) -> Relation:
        """Return the relation with other parts or parameters.

        Args:
            **changes: Parts of the relation, by name; any other name is a parameter.
        """
        parts = {name: value for name, value in changes.items() if name in PARTS}
        parameters = {name: value for name, value in changes.items() if name not in PARTS}
        return replace(self, **parts, parameters={**self.parameters, **parameters})

    @cached_property
    def values(self) -> dict[str, Any]:
        """The values of all parameters: those given, and else the defaults of formulas that take them."""
        drawn = {name for draw in self.draw if isinstance(draw, Mapping) for name in draw}
        defaults: dict[str, Any] = {}
        for formula in (self.left, self.right, self.where, self.build, self.scale):
            defaults = Formula("", formula).defaults | defaults
        return {name: value for name, value in defaults.items() if name not in drawn} | dict(self.parameters)

    def parameter(self, name: str) -> Any:
        """Return the value of a parameter, perhaps the default of a function that draws; `None` if nothing takes it."""
        defaults = [Formula("draw", draw).defaults for draw in self.draw]
        return self.values.get(name, next((own[name] for own in defaults if name in own), None))

    def takes(self, name: str) -> bool:
        """Return whether a part of the relation may depend on a parameter of a name."""
        return any(formula.takes(name) for formula in self._formulas)

    @property
    def names(self) -> set[str]:
        """The names that the parts of the relation take, as far as they say so."""
        return {name for formula in self._formulas for name in formula.names or ()}

    @property
    def _formulas(self) -> list[Formula]:
        drawing = (draw for draw in self.draw if callable(draw))
        parts = (self.left, self.right, self.where, self.build, self.scale, self.known, *drawing)
        return [Formula("", part) for part in parts]

    def __call__(self, effort: Effort, seed: int) -> Outcome:
        """Search for the smallest margin; the same seed gives the same outcome."""
        return self.searched(effort, seed, -np.inf)[0]

    def refutes(self, effort: Effort, seed: int, slack: float) -> bool:
        """Return whether some instance violates the relation beyond the slack; the search ends at the first one.

        Args:
            effort: How hard to search.
            seed: Seed of the search.
            slack: Margins above minus this count as rounding error.
        """
        return self.searched(effort, seed, -slack)[0].margin < -slack

    def searched(self, effort: Effort, seed: int, enough: float) -> tuple[Outcome, list[np.ndarray]]:
        """Return the outcome, and the coordinates of the worst instances of each draw that was searched.

        Args:
            effort: How hard to search.
            seed: Seed of the search.
            enough: The margin at which the search may end.
        """
        best: tuple[float, Sides, np.ndarray] | None = None
        tried, improving, complete, worst_rows = 0, False, True, []
        for sides, found in self._met(effort, seed, enough):
            tried += found.tried
            improving |= found.improving
            complete &= found.complete
            if isinstance(sides.space, Space):
                worst_rows.append(found.rows)
            if found.broken is not None:
                witness = sides.shown(found.broken)
                return Outcome(float("nan"), tried, witness, "a side is not a number", "inconclusive"), worst_rows
            margin, row, rounding = _believed(sides, found, seed, self.shaken)
            if rounding and self.shaken:
                # What seemed worst hides all else, and may have ended the search: once more, with a scale for each
                # instance by its own rounding.
                sides = replace(sides, wary=True)
                again = attack(sides, effort, np.random.default_rng([seed, 6]), enough)
                tried += again.tried
                margin, row, _ = _believed(sides, again, seed, self.shaken)
            if row is not None and (best is None or margin < best[0]):
                best = margin, sides, row
            if best is not None and best[0] < enough:
                break
        if best is None:
            return Outcome(np.inf, 0, {}, "no instance satisfies the hypotheses", "not_applicable"), worst_rows
        margin, sides, row = best
        note = "; ".join(part for part in (self.note, _STILL * improving, _ALL * (complete and margin >= 0)) if part)
        return Outcome(float(margin), tried, sides.shown(row), note), worst_rows

    def met(self, effort: Effort, seed: int) -> Iterator[tuple[Sides, Found]]:
        """Yield both sides over each draw, with the instances that a search begins with."""
        return self._met(replace(effort, generations=0, iterations=0), seed, np.inf)

    def _met(self, effort: Effort, seed: int, enough: float) -> Iterator[tuple[Sides, Found]]:
        for corner in self.corners:
            arrays = {name: np.asarray(value)[None] for name, value in corner.items()}
            content = [(name, array.tobytes()) for name, array in arrays.items()]
            yield self._on_table(Table(arrays), effort, ("corner", content), built=True)
        for number, draw in enumerate(self.draw):
            random = np.random.default_rng([seed, number])
            if isinstance(draw, Mapping):
                sides = self._sides(Space(draw), number, effort)
                yield sides, attack(sides, effort, random, enough)
                continue
            count = effort.runs if self.runs else 20 * effort.samples
            for batch in measured(draw, count, seed, self.values, self.programs):
                yield self._on_table(Table(batch), effort, ("batch", id(batch)))

    def _on_table(self, table: Table, effort: Effort, place: Any, built: bool = False) -> tuple[Sides, Found]:
        """Return both sides on instances that are given, and what was met there."""
        sides = self._sides(table, place, effort, built)
        found, rows = Found(np.zeros((0, 1)), np.zeros(0)), table.rows
        sides.floor = 0.0
        found.sampled = sides.pairs(rows)
        if self.scale is None:
            sides.floor = _typical(found.sampled)
            found.sampled = sides.pairs(rows)
        found.add(rows, found.sampled)
        return sides, found

    def _sides(self, space: Space | Table, place: Any, effort: Effort, built: bool = False) -> Sides:
        left = self.left.favourable(self.relation) if isinstance(self.left, Chance) else self.left
        optional = {"where": self.where, "scale": self.scale, "build": None if built else self.build}
        formulas: dict[str, Any] = {
            name: self._formula(name, value, value) for name, value in optional.items() if value is not None
        }
        parts = (self.relation, *(id(part) for part in (self.left, self.right, *optional.values())))
        sides = Sides(
            space,
            self._formula("known" if self.left is self.known else "left", self.left, left),
            self._formula("right", self.right, self.right),
            self.relation,
            **formulas,
            tolerance=self.tolerance,
            parameters=self.values,
            derivatives=self.derivatives,
            optimised=effort.samples >= _MANY,
            programs=self.programs.setdefault((str(place), *parts), {}),
            modes=self.programs.setdefault(("modes", isinstance(space, Space) and place, *parts), {}),
        )
        if self.scale is None and isinstance(space, Space):
            usual = ("usual", *space.laws.items())
            if usual not in self.programs:
                self.programs[usual] = space.sample(np.random.default_rng(2), 128)
            sides.floor = _typical(sides.pairs(self.programs[usual]))
        return sides

    def _formula(self, name: str, part: Any, value: Any) -> Formula:
        """Return a part as a formula: one for all relations that share it, since it looks at its signature."""
        return self.programs.setdefault(("formula", name, id(part), self.relation), Formula(name, value))

    def sampled(self, effort: Effort, seed: int) -> Pairs:
        """Return both sides on the instances that a search begins with.

        Args:
            effort: How hard is searched.
            seed: Seed of the search.
        """
        several = [found.sampled for _, found in self.met(effort, seed) if found.sampled is not None]
        return Pairs(*(np.concatenate(parts) for parts in zip(*several, strict=True)))

    def margins(self, effort: Effort, rows: Sequence[np.ndarray]) -> np.ndarray:
        """Return the margins at coordinates of each draw that is searched.

        Args:
            effort: How hard is searched.
            rows: Coordinates, as `searched` returns them.
        """
        spaces = [(number, draw) for number, draw in enumerate(self.draw) if isinstance(draw, Mapping)]
        found = [
            self._sides(Space(draw), number, effort).pairs(some).margins
            for (number, draw), some in zip(spaces, rows, strict=False)
            if len(some)  # a draw may have no instance that satisfies the hypotheses
        ]
        return np.concatenate([*found, []])

    def violated(self, left: Any, right: Any) -> float:
        """Return by how much two sides violate the relation, relative to their size; not positive if they do not."""
        left, right = np.broadcast_arrays(np.asarray(left, float), np.asarray(right, float))
        size = np.maximum(np.maximum(np.abs(left), np.abs(right)), 1e-300)
        if self.relation == "==":
            return float(np.max(np.abs(left - right)) / np.max(size))
        return float(np.max((left - right if self.relation == "<=" else right - left) / size))


PARTS = {entry.name for entry in fields(Relation)} - {"parameters", "programs", "shaken"}
_STILL = "the search was still improving when its effort ran out"
_ALL = "all instances that there are were tried"


def _checked_draw(draw: Any) -> Any:
    if callable(draw):
        return draw
    checks.of_kind("draw", draw, Mapping, "shapes or laws by name", 'Pass {"w": (3, 2)}, for example')
    for name in draw:
        if not (isinstance(name, str) and name.isidentifier()):
            raise invalid("draw", "have names that a function can take", shown(name), 'Pass {"w": (3, 2)}, for example')
    return {name: law("draw", name, given) for name, given in draw.items()}


def _typical(pairs: Pairs) -> float:
    """Return a millionth of the usual size of both sides, below which differences count as rounding errors."""
    sizes = pairs.size[pairs.counted & np.isfinite(pairs.size)]
    return _TYPICAL * float(np.median(sizes)) if len(sizes) else 0.0


def _believed(sides: Sides, found: Found, seed: int, shaken: bool) -> tuple[float, np.ndarray | None, bool]:
    """Return the smallest margin with its instance, and whether rounding errors stood in its way.

    What is a violation by rounding errors alone counts as none: it goes away when the last digits of the instance
    change, or those of what is computed from it.
    """
    if not len(found.rows):
        return np.inf, None, False
    random = np.random.default_rng([seed, 3])
    if isinstance(sides.space, Table) or found.lowest >= 0:
        return found.lowest, found.rows[0], False
    low, high = sides.space.bounds()
    for place, (margin, row) in enumerate(zip(found.margins, found.rows, strict=True)):
        if margin >= 0:
            return float(margin), row, place > 0
        nudged = row * (1 + _NUDGE * random.normal(size=(_NUDGES, len(row))))
        pairs = sides.pairs(np.concatenate([row[None], np.clip(nudged, low, high)]))
        gaps = np.where(pairs.counted, pairs.large - pairs.small, np.nan)
        noise = np.nanmax(np.abs(gaps - gaps[0]))
        if abs(gaps[0]) > 4 * max(noise, sides.rounding(row, random) if shaken else 0.0):
            return float(margin), row, False
    # Nothing but rounding: as close as it gets.
    return 0.0, found.rows[0], True


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome of several relations that must all hold: the smallest margin, and the least at risk."""
    found = list(outcomes)
    for outcome in found:
        if outcome.judgement == "inconclusive" or np.isnan(outcome.margin):
            return replace(outcome, judgement="inconclusive")
    least = min(found, key=lambda outcome: outcome.margin)
    return replace(least, instances=sum(outcome.instances for outcome in found))
