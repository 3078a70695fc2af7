"""Both sides of a relation on many instances, by whatever arithmetic they are written in.

Formulas in NumPy are called once for all instances if that gives what single calls give (formulas that act on the last
axes), and once per instance otherwise: nothing is compiled. Formulas in JAX are mapped, compiled and differentiated,
with numbers among the parameters as arguments, so that all forms of a claim share a program.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from tutelage.claims.formula import Formula, condition, number
from tutelage.claims.laws import Space
from tutelage.claims.search import Pairs
from tutelage.claims.shaking import Shaken, shaken
from tutelage.claims.table import Table
from tutelage.errors import TutelageError, invalid
from tutelage.errors import shown as _shown
from tutelage.instant.programs import Program
from tutelage.instant.rules import Unsupported

# A formula runs for moments: most of the time would be spent in passes of the compiler that make it run faster.
_LITTLE_OPTIMISED = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
}
# Programs are compiled for these numbers of instances; fewer are filled up.
_WIDTH, _NARROW = 64, 32
_PROBES = 5
# Entries of a side that a witness shows.
_MOST_ENTRIES = 256
# Operations up to which a formula is called for one instance after another rather than compiled.
_SHORT = 120
# Dimensions from which on derivatives are worth compiling even for a short search.
_MANY = 12
# How often a formula is evaluated with random last digits, in a search and to believe a violation; and the size of
# sides beside such a change, a tenth of a billionth of which is far from a violation.
_FEW_SHAKES, _SHAKES, _BESIDE = 3, 16, 1e10
# Rounding that does not show, as that of floats of Python, counts as that of numbers of size one.
_UNSEEN = 2 * np.finfo(float).eps


@dataclass
class Sides:
    """Both sides of a relation over one space of instances; see `tutelage.claims.search.Target`.

    Attributes:
        space: The coordinates.
        left: The left side.
        right: The right side.
        relation: `<=`, `>=` or `==`.
        where: The condition on instances, if there is one.
        build: What makes an instance of the drawn values, if anything does.
        scale: The size below which differences are rounding errors, if it is known.
        tolerance: Relative tolerance of an equality.
        parameters: The values of the form's parameters.
        derivatives: Whether formulas in JAX are differentiated; if not, derivatives are taken by differences.
        optimised: Whether programs are worth more of the compiler's time.
        wary: Whether each instance has a scale of its own, below which its sides differ by rounding.
        modes: How formulas are evaluated on instances of each form, which batches of one draw share.
    """

    space: Space | Table
    left: Formula
    right: Formula
    relation: str
    where: Formula | None = None
    build: Formula | None = None
    scale: Formula | None = None
    tolerance: float = 1e-9
    parameters: Mapping[str, Any] = field(default_factory=dict)
    derivatives: bool = True
    optimised: bool = False
    wary: bool = False
    floor: float = 0.0
    programs: dict[Any, Any] = field(default_factory=dict, repr=False)
    modes: dict[Any, str] = field(default_factory=dict, repr=False)

    @property
    def settled(self) -> float:
        """The margin above which no close call is worth following: of an equality, errors far below its tolerance."""
        return 0.9 * self.tolerance if self.relation == "==" else np.inf

    # One instance, or all at once -------------------------------------------------------------------------------------

    def instance(self, xp: Any, rows: Any, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return what coordinates stand for, after `build`."""
        drawn = self.space.values(xp, rows)
        return (
            drawn if self.build is None else self._built(drawn, self.parameters if parameters is None else parameters)
        )

    def _built(self, drawn: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
        assert self.build is not None
        built = self.build({**drawn, **parameters})
        if not isinstance(built, Mapping):
            raise invalid("build", "return an instance, arrays by name", _shown(built), "Return a dictionary")
        return dict(built)

    def evaluate(self, instance: Mapping[str, Any], parameters: Mapping[str, Any] | None = None) -> tuple:
        """Return the left side, the right side, the scale, and whether the instance counts."""
        values = {**instance, **(self.parameters if parameters is None else parameters)}
        left, right = (number(side.argument, side(values)) for side in (self.left, self.right))
        scale = self.floor if self.scale is None else number("scale", self.scale(values))
        counted = True if self.where is None else condition(self.where(values))
        return left, right, scale, counted

    # How they are evaluated -------------------------------------------------------------------------------------------

    @cached_property
    def mode(self) -> str:
        """`batch` or `each` for NumPy, `compiled` for JAX."""
        form = self.space.form(_PROBES)
        if form not in self.modes:
            self.modes[form] = self._find_mode()
        return self.modes[form]

    def _find_mode(self) -> str:
        rows = self.space.sample(np.random.default_rng(1), _PROBES)
        singles = []
        try:
            for row in rows:
                singles.append(_untraced(lambda row=row: self.evaluate(self.instance(np, row))))
        except TutelageError:
            raise
        except _Traced:
            self._require_traceable(rows[0])
            return "compiled"
        except Exception as error:
            return self._only_in_jax_or_batches(rows, error)
        for left, right, scale, _ in singles:
            _require_fit(left, right, scale)
        if self._agrees(rows, singles):
            return "batch"
        return "compiled" if self._long() else "each"

    def _long(self) -> bool:
        """Whether formulas for one instance can be traced, and are long enough to be worth compiling.

        The loss of an objective, for example, may be asked for one NumPy array, which takes a thousand times as long as
        one of many in a program.
        """
        try:
            self._trace()
        except Exception:  # in NumPy
            return False
        return self.programs["length"] > _SHORT

    def _only_in_jax_or_batches(self, rows: np.ndarray, error: Exception) -> str:
        """Single instances in NumPy do not work: perhaps `build` needs JAX's arrays, or formulas several instances."""
        try:
            self._require_traceable(rows[0])
            return "compiled"
        except Exception:  # it may still take several instances
            pass
        try:
            left, right, scale, counted = _untraced(lambda: self.evaluate(self.instance(np, rows)))
            self._paired(left, right, scale, counted, len(rows))
            return "batch"
        except Exception:  # the first error says most
            raise self._misfit(rows, error) from error

    def _misfit(self, rows: np.ndarray, error: Exception) -> TutelageError:
        if isinstance(error, TutelageError):
            return error
        if isinstance(error, jax.errors.TracerArrayConversionError):
            remedy = "Use jnp in all of them, or np in all"
            return invalid("left", "be written in NumPy or in JAX, as `right`, `where` and `build`", "both", remedy)
        formulas = [one for one in (self.build, self.where, self.left, self.right) if one is not None]
        for row, formula in itertools.product(rows, formulas):
            try:
                drawn = self.space.values(np, row)
                formula({**(drawn if formula is self.build else self.instance(np, row)), **self.parameters})
            except Exception as inner:
                sizes = ", ".join(f"{name} {np.shape(value)}" for name, value in drawn.items())
                received = f"{sizes}, for which it raised {type(inner).__name__}: {inner}".rstrip(".")
                return invalid(formula.argument, "fit what is drawn", received, "Change it, or what is drawn")
        return invalid("left", "fit what is drawn", f"{type(error).__name__}: {error}".rstrip("."), "Change it")

    def _require_traceable(self, row: np.ndarray) -> None:
        """Trace the formulas, or raise the one clear error that says why that does not work."""
        try:
            self._trace()
        except TutelageError:
            raise
        except Exception as error:
            received = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}".rstrip(".: ")
            remedy = "Use one of them throughout"
            raise invalid("left", "be written in NumPy or JAX, as `right` and `where`", received, remedy) from error

    def _agrees(self, rows: np.ndarray, singles: list[tuple]) -> bool:
        """Whether one call for several instances gives what single calls gave, however many they are."""
        for count in (len(rows), max(1, len(rows) - 2)):
            try:
                with np.errstate(all="ignore"):
                    together = self._in_batch(rows[:count])
                    alone = [self._paired(*single, count=None) for single in singles[:count]]
            except Exception:  # written for one instance
                return False
            for part, values in zip(together, zip(*alone, strict=True), strict=True):
                single = np.array([np.ravel(value)[0] for value in values])
                if not np.allclose(part, single, rtol=1e-9, atol=1e-12, equal_nan=True):
                    return False
        return True

    # Pairs ------------------------------------------------------------------------------------------------------------

    def pairs(self, rows: np.ndarray) -> Pairs:
        """Return both sides at coordinates, one row per instance."""
        if self.mode != "compiled":
            with np.errstate(all="ignore"):
                return self._in_batch(rows) if self.mode == "batch" else self._one_by_one(rows)
        return Pairs(*_in_pieces(self._in_jax, rows, _WIDTH))

    def slopes(self, rows: np.ndarray) -> tuple[Pairs, np.ndarray, np.ndarray]:
        """Return both sides with their derivatives in the coordinates, by JAX or by central differences."""
        if self.analytic:
            pairs, by = _in_pieces(self._program("slopes"), rows, _NARROW)
            return self.pairs(rows) if self.wary else Pairs(*pairs), by[0], by[1]
        low, high = self.space.bounds()
        count, dimension = rows.shape
        steps = 1e-6 * np.maximum(np.abs(rows), 1e-3)
        upper, lower, here = (np.minimum(np.maximum(rows + by, low), high) for by in (steps, -steps, 0.0))
        points, place = np.repeat(here[:, None], 2 * dimension + 1, axis=1), np.arange(dimension)
        points[:, 0], points[:, 1 + place, place], points[:, dimension + 1 + place, place] = rows, upper, lower
        small, large, size, counted, same = (
            part.reshape(count, -1) for part in self.pairs(points.reshape(-1, dimension))
        )
        with np.errstate(all="ignore"):
            by = [(side[:, 1 : dimension + 1] - side[:, dimension + 1 :]) / (upper - lower) for side in (small, large)]
        return Pairs(small[:, 0], large[:, 0], size[:, 0], counted[:, 0], same[:, 0]), by[0], by[1]

    def _in_batch(self, rows: np.ndarray) -> Pairs:
        given = isinstance(self.space, Table) and np.array_equal(rows, self.space.rows)
        found = self._of_table(rows) if given else self.evaluate(self.instance(np, rows))
        left, right, scale, counted = found
        if self.wary:
            scale = self._widened(scale, self._in_python(rows))
        return self._paired(left, right, scale, counted, len(rows))

    def rounding(self, row: np.ndarray, random: np.random.Generator) -> float:
        """Return by how much the difference of both sides of an instance is off by rounding.

        Formulas are evaluated again with random last digits after every operation. Those in JAX are, as they were
        traced, evaluated by NumPy, and count as off by how much XLA differs from that as well.
        """
        with np.errstate(all="ignore"):
            if self.mode != "compiled":
                noise = self._noise(self._in_python(row[None] if self.mode == "batch" else row), random, _SHAKES)
            else:
                noise = self._noise_in_jax(np.repeat(row[None], _WIDTH, axis=0), random)
            return float(np.max(np.nan_to_num(noise, nan=0.0, posinf=0.0)))

    def _noise_in_jax(self, rows: np.ndarray, random: np.random.Generator) -> Any:
        """Return the same of one instance, repeated: that is as many evaluations at once."""
        evaluate = self._in_numpy(rows)
        if evaluate is None:
            return _UNSEEN
        _, compiled = self._program("pairs")(rows)
        sides = zip(("left", "right"), evaluate(lambda value: value), strict=False)
        off = sum(np.abs(np.asarray(compiled[name]) - side) for name, side in sides)
        return off + self._noise(evaluate, random, 1)

    def _in_python(self, rows: np.ndarray) -> Callable[[Callable], Sequence[Any]]:
        """Return what evaluates both sides in NumPy, after a change of what they are functions of."""
        return self._of_instance(self.instance(np, rows))

    def _of_instance(self, instance: Mapping[str, Any]) -> Callable[[Callable], Sequence[Any]]:
        def evaluate(change: Callable) -> Sequence[Any]:
            values = {name: change(value) for name, value in instance.items()} | dict(self.parameters)
            return [side(values) for side in (self.left, self.right)]

        return evaluate

    def _in_numpy(self, rows: np.ndarray) -> Callable[[Callable], Sequence[Any]] | None:
        """Return the same for formulas in JAX: both sides, the scale and the condition; `None` if NumPy has no rule."""
        names, traced = self._trace()
        drawn = self.space.values(np, rows)
        numbers = [np.float64(self.parameters[name]) for name in names]

        def one(drawn, *numbers):
            parameters = {**self.parameters, **dict(zip(names, numbers, strict=True))}
            return self.evaluate(drawn if self.build is None else self._built(drawn, parameters), parameters)

        key = ("numpy", id(traced), len(rows))
        if key not in self.programs:
            mapped = jax.vmap(one, in_axes=(0, *(None for _ in names)))
            try:
                self.programs[key] = Program(jax.make_jaxpr(mapped)(drawn, *numbers))
            except Unsupported:
                self.programs[key] = None
        program = self.programs[key]
        if program is None:
            return None

        def evaluate(change: Callable) -> Sequence[Any]:
            # Arguments of a program are the leaves of what was traced, whose names are in order.
            left, right, scale, counted = program([*(change(drawn[name]) for name in sorted(drawn)), *numbers])
            return left, right, self.floor if self.scale is None else scale, counted

        return evaluate

    def _noise(self, evaluate: Callable[[Callable], Sequence[Any]], random: np.random.Generator, times: int) -> Any:
        """Return by how much each entry of both sides is off by rounding, by so many evaluations."""
        exact = [np.asarray(side, float) for side in evaluate(lambda value: value)[:2]]
        noise = np.zeros(np.broadcast_shapes(*(side.shape for side in exact)))
        unseen = np.full(noise.shape, _UNSEEN)
        for _ in range(times):
            floats = Shaken.floats
            try:
                sides = evaluate(lambda value: shaken(value, random))[:2]
                moved = [np.asarray(side, float) for side in sides]
            except Exception:  # a formula that does not take such arrays
                return unseen
            if any(one.shape != other.shape for one, other in zip(moved, exact, strict=True)):
                return unseen
            noise = np.maximum(noise, sum(np.abs(one - other) for one, other in zip(moved, exact, strict=True)))
            formulas = zip((self.left, self.right), sides, strict=True)
            lost = any(callable(one.function) and not isinstance(side, Shaken) for one, side in formulas)
            if lost or Shaken.floats > floats:
                noise = np.maximum(noise, unseen)
        return noise

    def _widened(self, scale: Any, evaluate: Callable[[Callable], Sequence[Any]]) -> np.ndarray:
        """Return a scale that is large beside the rounding of instances."""
        return np.maximum(scale, _BESIDE * self._noise(evaluate, np.random.default_rng(4), _FEW_SHAKES))

    def _in_jax(self, rows: np.ndarray) -> Any:
        """Return both sides of formulas in JAX, on as many instances as programs are compiled for."""
        evaluate = self._in_numpy(rows) if self.wary else None
        if evaluate is None:
            return self._program("pairs", _BESIDE * _UNSEEN if self.wary else 0.0)(rows)[0]
        with np.errstate(all="ignore"):
            left, right, scale, counted = evaluate(lambda value: value)
            return self._paired(left, right, self._widened(scale, evaluate), counted, len(rows))

    def _of_table(self, rows: np.ndarray) -> tuple:
        """Return what `evaluate` does on all instances that are given; what no other parameter changes is kept."""
        instance = self._kept("instance", (), lambda: self.instance(np, rows))
        values = {**instance, **self.parameters}
        left, right = (
            self._kept(side.argument, (side,), lambda side=side: number(side.argument, side(values)))
            for side in (self.left, self.right)
        )
        scale = self.floor if self.scale is None else number("scale", self.scale(values))
        counted = True if self.where is None else condition(self.where(values))
        return left, right, scale, counted

    def _kept(self, name: str, formulas: Sequence[Formula], evaluated: Callable[[], Any]) -> Any:
        """Return what was evaluated last, or evaluate it if a parameter that formulas or `build` take has changed."""
        formulas = (*formulas, *(() if self.build is None else (self.build,)))
        taken = {key: value for key, value in self.parameters.items() if any(one.takes(key) for one in formulas)}
        before, value = self.programs.get(("kept", name), (None, None))
        if before is None or before.keys() != taken.keys() or any(not _same(before[key], taken[key]) for key in taken):
            value = evaluated()
            self.programs["kept", name] = taken, value
        return value

    def _one_by_one(self, rows: np.ndarray) -> Pairs:
        drawn = self.space.values(np, rows)
        found = []
        for place in range(len(rows)):
            instance = {name: value[place] for name, value in drawn.items()}
            if self.build is not None:
                instance = self._built(instance, self.parameters)
            left, right, scale, counted = self.evaluate(instance)
            if self.wary:
                scale = self._widened(scale, self._of_instance(instance))
            if np.shape(left) != np.shape(right) or np.shape(left) != np.shape(scale):
                left, right, scale = np.broadcast_arrays(left, right, scale)
            found.append((left, right, scale, counted))
        left, right, scale, counted = (np.array(part) for part in zip(*found, strict=True))
        return self._paired(left, right, scale, counted, len(rows))

    def _paired(self, left, right, scale, counted, count: int | None, xp: Any = np) -> Pairs:
        rounding = self.scale is None
        return _paired(xp, left, right, scale, self.relation, self.tolerance, counted, count, rounding)

    # Compiled ---------------------------------------------------------------------------------------------------------

    def _trace(self) -> tuple[tuple[str, ...], Callable]:
        """Trace the formulas once: the parameters that became arguments, and the function that was traced."""
        numbers = tuple(name for name, value in self.parameters.items() if is_number(value))
        rest = tuple((name, _token(value)) for name, value in self.parameters.items() if name not in numbers)
        exact = tuple((name, self.parameters[name]) for name in numbers)
        for key in (("traced", numbers, rest), ("traced", exact, rest)):
            if key in self.programs:
                return self.programs[key]
        try:
            key, names = ("traced", numbers, rest), numbers
            traced = self._traced(names)
        except Exception:  # a formula decides something by a parameter, which is then a constant of its program
            if not numbers:
                raise
            key, names = ("traced", exact, rest), ()
            traced = self._traced(names)
        self.programs[key] = (names, traced)
        return names, traced

    def _traced(self, names: tuple[str, ...]) -> Callable:
        row = self.space.sample(np.random.default_rng(1), 1)[0]
        numbers = [1.0 * self.parameters[name] for name in names]
        traced, shapes = jax.make_jaxpr(partial(self._pair, names), return_shape=True)(row, 0.0, *numbers)
        self.programs["length"] = _length(traced.jaxpr)
        flat, form = jax.extend.core.jaxpr_as_fun(traced), jax.tree.structure(shapes)
        return lambda *arguments: jax.tree.unflatten(form, flat(*arguments))

    def _pair(self, names: tuple[str, ...], row, floor, *numbers) -> tuple[tuple, dict[str, Any]]:
        """Return both sides of one instance, and what is shown of it."""
        parameters = {**self.parameters, **dict(zip(names, numbers, strict=True))}
        instance = self.instance(jnp, row, parameters)
        left, right, scale, counted = self.evaluate(instance, parameters)
        _require_fit(left, right, scale)
        scale = floor if self.scale is None else scale
        pair = self._paired(left, right, scale, counted, None, jnp)
        return tuple(pair), {**instance, "left": left, "right": right}

    @property
    def analytic(self) -> bool:
        """Whether derivatives are taken by JAX: in few dimensions, differences cost less than compiling those does."""
        worth_it = self.optimised or self.space.dimension > _MANY
        return self.mode == "compiled" and self.derivatives and worth_it

    def _program(self, kind: str, least: float = 0.0) -> Callable:
        names, traced = self._trace()
        key = (kind, id(traced), self.optimised)
        if key not in self.programs:
            differentiate = jax.jacfwd if self.space.dimension <= 32 else jax.jacrev

            def with_slopes(row, *others):
                def both(row):
                    pair = traced(row, *others)[0]
                    return pair[:2], pair

                slopes, pair = differentiate(both, has_aux=True)(row)
                return pair, slopes

            arguments = (0, *(None for _ in range(1 + len(names))))
            mapped = jax.vmap(traced if kind == "pairs" else with_slopes, in_axes=arguments)
            # Derivatives are long to compile, and few are taken.
            well = self.optimised and kind == "pairs"
            self.programs[key] = jax.jit(mapped, compiler_options=None if well else _LITTLE_OPTIMISED)
        program, numbers = self.programs[key], [1.0 * self.parameters[name] for name in names]
        return lambda rows: program(rows, max(self.floor, least), *numbers)

    # What is shown ----------------------------------------------------------------------------------------------------

    def shown(self, row: np.ndarray) -> dict[str, Any]:
        """Return an instance with both sides, as arrays by name."""
        if self.mode == "compiled":
            # The program that is there already; one for a single instance would have to be compiled.
            _, found = self._program("pairs")(np.repeat(row[None], _WIDTH, axis=0))
            return _legible({name: np.asarray(value)[0] for name, value in found.items()})
        rows = row[None] if self.mode == "batch" else row
        with np.errstate(all="ignore"):
            instance = self.instance(np, rows)
            left, right, _, _ = self.evaluate(instance)
        shown = {name: np.asarray(value) for name, value in {**instance, "left": left, "right": right}.items()}
        if self.mode == "batch":
            shown = {name: value[0] if value.shape[:1] == (1,) else value for name, value in shown.items()}
        return _legible(shown)


def _legible(witness: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return a witness whose sides can be read: of large ones the entry where they differ most, which says enough."""
    left, right = np.broadcast_arrays(witness["left"], witness["right"])
    if left.size <= _MOST_ENTRIES:
        return witness
    with np.errstate(all="ignore"):
        apart = np.abs(left - right)
    # What is not a number is worse than any difference.
    worst = np.unravel_index(np.argmax(np.where(np.isnan(apart), np.inf, apart)), left.shape)
    return {**witness, "left": left[worst], "right": right[worst]}


def _first(count: int, part: Any) -> np.ndarray:
    return np.asarray(part)[:count]


def _in_pieces(program: Callable, rows: np.ndarray, width: int) -> Any:
    """Evaluate in pieces of one size, so that a program is compiled once."""
    pieces = []
    for first in range(0, len(rows), width):
        piece = rows[first : first + width]
        filled = np.concatenate([piece, np.repeat(piece[:1], width - len(piece), axis=0)])
        pieces.append(jax.tree.map(partial(_first, len(piece)), program(filled)))
    return jax.tree.map(lambda *parts: np.concatenate(parts), *pieces)


def _length(jaxpr: Any) -> int:
    """Return the number of operations of a traced formula, those of its parts included."""
    inner = [
        part for equation in jaxpr.eqns for part in jax.tree.leaves(list(equation.params.values()), is_leaf=_is_part)
    ]
    return len(jaxpr.eqns) + sum(_length(getattr(part, "jaxpr", part)) for part in inner if _is_part(part))


def _is_part(value: Any) -> bool:
    return hasattr(value, "eqns") or hasattr(getattr(value, "jaxpr", None), "eqns")


def is_number(value: Any) -> bool:
    """Whether a value is one number."""
    return isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, bool)


def _same(one: Any, other: Any) -> bool:
    """Whether two values of a parameter are certainly the same."""
    return one is other or (is_number(one) and is_number(other) and one == other)


class _Traced(Exception):
    """A formula in JAX was met."""


def _untraced(evaluate: Callable[[], tuple]) -> tuple:
    """Evaluate formulas on NumPy arrays while JAX traces, so that those in JAX show as such and nothing is compiled."""
    kept: list[tuple] = []

    def traced():
        with np.errstate(all="ignore"):
            values = evaluate()
        if any(isinstance(leaf, Tracer) for leaf in values):
            raise _Traced
        kept.append(values)

    jax.eval_shape(traced)
    left, right, scale, counted = kept[0]
    return np.asarray(left), np.asarray(right), np.asarray(scale), counted


def _token(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def _require_fit(left: Any, right: Any, scale: Any) -> None:
    try:
        np.broadcast_shapes(np.shape(left), np.shape(right), np.shape(scale))
    except ValueError as error:
        shapes = f"shapes {np.shape(left)} and {np.shape(right)}"
        raise invalid("right", "fit `left` in shape", shapes, "Return arrays of one shape") from error


def _paired(
    xp: Any, left, right, scale, relation: str, tolerance: float, counted, count: int | None, rounding: bool
) -> Pairs:
    """Return the worst entry of both sides as `small ≤ large`, for one instance (`count` is `None`) or several.

    Where the scale is only there to tell rounding errors from violations, how close two sides are is relative to them
    alone: both may vanish together, which is no close call.
    """
    lead = () if count is None else (count,)
    shape = np.broadcast_shapes(np.shape(left), np.shape(right), np.shape(scale))
    if count is not None and shape[:1] != lead:
        if shape and shape != (1,):
            raise ValueError("not one value per instance")
        shape = (*lead, *shape[1:])
        left, right = (_lifted(xp, side, shape) for side in (left, right))
    left, right, scale = (_spread(xp, side, shape, lead) for side in (left, right, scale))
    own = xp.maximum(xp.maximum(xp.abs(left), xp.abs(right)), 1e-300)
    size = xp.maximum(own, scale)
    counted = xp.asarray(counted)
    counted = counted.reshape(*lead, -1).all(-1) if counted.ndim > len(lead) else xp.broadcast_to(counted, lead)
    single = shape == lead
    same = left == right if single else xp.all(left == right, -1)
    if relation == "==":
        error = xp.abs(left - right)
        if not single:
            size, error = xp.max(size, -1), xp.max(error, -1)
        return Pairs(error, tolerance * size, size, counted, same)
    small, large = (left, right) if relation == "<=" else (right, left)
    if rounding:
        size = xp.where(large >= small, own, size)
        large = xp.where((left == 0) & (right == 0), 1e-300, large)
    if not single:
        worst = xp.argmin((large - small) / size, -1)[..., None]
        small, large, size = (xp.take_along_axis(side, worst, -1)[..., 0] for side in (small, large, size))
    return Pairs(small, large, size, counted, same)


def _spread(xp: Any, side: Any, shape: tuple[int, ...], lead: tuple[int, ...]) -> Any:
    """Return a side with the shape of both, its entries along one axis; one entry per instance needs none."""
    side = xp.asarray(side, float)
    side = side if np.shape(side) == shape else xp.broadcast_to(side, shape)
    return side if shape == lead else side.reshape(*lead, -1)


def _lifted(xp: Any, side: Any, shape: tuple[int, ...]) -> Any:
    return xp.broadcast_to(xp.asarray(side), shape) if np.ndim(side) == 0 or np.shape(side) == (1,) else side
