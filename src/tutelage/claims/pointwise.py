"""Judging a statement on instances: random ones, corner cases, and a search that tries to break it.

A family of instances is a map from unconstrained numbers to instances that satisfy the hypotheses. Random instances are
images of Gaussian numbers of many scales. From the worst of them two searches go down the margin in the unconstrained
numbers: random steps of many sizes, which need no derivative, and gradient steps where the check is cheap to
differentiate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tutelage import checks
from tutelage.claims.outcome import Effort, Outcome, worst_of
from tutelage.errors import invalid
from tutelage.errors import shown as _shown

_LARGEST = 1e3
# A check runs for moments and is compiled for each form and family anew: at the usual effort most of an audit would be
# spent in passes of the compiler that make it run faster.
_LITTLE_OPTIMISED = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
}
_MANY = 4096

Instance = Mapping[str, Any]
Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Family:
    """Instances of fixed shapes that satisfy the hypotheses.

    Attributes:
        shapes: Shapes of the unconstrained numbers, by name.
        build: Maps unconstrained numbers to an instance; pure JAX.
    """

    shapes: Shapes
    build: Callable[[Mapping[str, Any]], Instance]

    def __post_init__(self):
        checks.of_kind("shapes", self.shapes, Mapping, "shapes by name", 'Pass {"w": (3,)}, for example')
        for name, shape in self.shapes.items():
            checks.text("shapes", name)
            checks.of_kind("shapes", shape, tuple, "shapes by name", 'Pass {"w": (3,)}, for example')
            sizes = [checks.count("shapes", size) for size in shape]
            checks.affordable("shapes", shape, math.prod(sizes), "one instance")
        checks.function("build", self.build, "a function of arrays by name")


@dataclass(frozen=True)
class Pointwise:
    """A test by a margin on instances.

    Attributes:
        check: Takes an instance to a mapping with `margin` (at least zero where the statement holds) and whatever
            else is worth showing, such as both sides. Pure JAX. A margin of infinity means that the instance does not
            satisfy the hypotheses and does not count.
        families: Families of instances.
        corners: Corner cases, as plain instances.
        gradient: Whether gradient steps are taken as well.
    """

    check: Callable[[Instance], Mapping[str, Any]]
    families: Sequence[Family]
    corners: Sequence[Instance] = ()
    gradient: bool = False

    def __post_init__(self):
        checks.function("check", self.check, "a function of an instance")
        # As tuples: what can be read only once would be empty at the second reading.
        checks.settle(
            self,
            families=checks.sequence("families", self.families, "a list of families"),
            corners=checks.sequence("corners", self.corners, "a list of instances"),
            gradient=checks.flag("gradient", self.gradient),
        )
        for family in self.families:
            checks.of_kind("families", family, Family, "a list of families", "Pass tutelage.claims.Family")
        for corner in self.corners:
            checks.of_kind("corners", corner, Mapping, "a list of instances", "Pass arrays by name")

    def __call__(self, effort: Effort, seed: int) -> Outcome:
        """Judge; see `tutelage.claims.base.Test`."""
        return self._judge(effort, seed, enough=-np.inf)

    def refutes(self, effort: Effort, seed: int, slack: float) -> bool:
        """Return whether some instance has a margin below minus the slack; the search ends at the first one.

        Args:
            effort: How hard to search.
            seed: Seed of the search.
            slack: Margins above minus this count as rounding error.
        """
        return self._judge(effort, seed, enough=-slack).margin < -slack

    def _judge(self, effort: Effort, seed: int, enough: float) -> Outcome:
        """Search for the smallest margin, or until one below `enough` is found."""
        found: list[tuple[float, dict[str, Any]]] = []
        tried = 0
        for count, margin, shown in self._search(effort, seed, enough):
            tried += count
            found.append((margin, shown))
            if margin < enough:
                break
        outcome = worst_of(found, tried)
        return replace(outcome, witness={name: np.asarray(value) for name, value in outcome.witness.items()})

    def _search(self, effort: Effort, seed: int, enough: float) -> Iterator[tuple[int, float, dict[str, Any]]]:
        """Yield how many instances were tried, their smallest margin and the worst, for each corner and each family."""
        for corner in self.corners:
            instance = checks.tried("corners", partial(_as_arrays, corner))
            shown = _checked(self.check, instance)
            yield int(np.isfinite(shown["margin"])), float(shown["margin"]), {**instance, **shown}
        for number, family in enumerate(self.families):
            random = np.random.default_rng([seed, number])
            yield _attack(self.check, family, effort, random, self.gradient, enough)


def _as_arrays(corner: Instance) -> dict[str, Any]:
    return {name: jnp.asarray(value) for name, value in corner.items()}


def _checked(check: Callable, instance: Any) -> Mapping[str, Any]:
    """Return what a check says of an instance, or raise the one clear error that says how the two do not fit."""
    if not isinstance(instance, Mapping):
        raise invalid("build", "return an instance, arrays by name", _shown(instance), "Return a dictionary")
    sizes = ", ".join(f"{name} {jnp.shape(value)}" for name, value in instance.items())
    try:
        shown = check(instance)
    except Exception as error:
        received = f"one of {sizes}, for which it raised {type(error).__name__}: {error}".rstrip(".")
        raise invalid("check", "fit the instances that it is given", received, "Change it or the families") from error
    if not isinstance(shown, Mapping) or "margin" not in shown or jnp.shape(shown["margin"]) != ():
        margin = f"a margin of shape {jnp.shape(shown['margin'])}" if _has_margin(shown) else _shown(shown)
        raise invalid("check", "return a mapping with one margin", margin, "Return what at_most or equal returns")
    return shown


def _has_margin(shown: Any) -> bool:
    return isinstance(shown, Mapping) and "margin" in shown


def _compiled(function: Callable, effort: Effort) -> Callable:
    return jax.jit(function, compiler_options=_LITTLE_OPTIMISED if effort.samples < _MANY else None)


def _draw(shapes: Shapes, random: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Return unconstrained numbers: Gaussian, each array of each instance with a scale of its own."""
    drawn = {}
    for name, shape in shapes.items():
        scale = 10.0 ** random.uniform(-1.5, 0.75, size=(count,) + (1,) * len(shape))
        drawn[name] = scale * random.normal(size=(count, *shape))
    return drawn


def _attack(check, family: Family, effort: Effort, random: np.random.Generator, gradient: bool, enough: float):
    """Return how many instances were tried, the smallest margin, and the worst instance with what its check shows.

    The search ends early once a margin is below `enough`.
    """

    def margin(raw):
        return _checked(check, family.build(raw))["margin"]

    def evaluated(raw):
        instance = checks.tried("build", lambda: family.build(raw))
        return {**instance, **_checked(check, instance)}

    evaluate = _compiled(jax.vmap(evaluated), effort)

    # One program for everything: compiling costs more than evaluating.
    def margins(raws):
        return evaluate(raws)["margin"]

    def shown(raw):
        repeated = {name: np.repeat(np.asarray(value)[None], effort.samples, axis=0) for name, value in raw.items()}
        return {name: value[0] for name, value in evaluate(repeated).items()}

    def broken(raws, values):
        return tried, float("nan"), shown(_pick(raws, int(np.argmax(np.isnan(values)))))

    raws = _draw(family.shapes, random, effort.samples)
    values = np.asarray(margins(raws))
    tried = int(np.isfinite(values).sum())
    if np.isnan(values).any():
        return broken(raws, values)
    order = np.argsort(values)[: effort.restarts]
    best, best_values = _pick(raws, order), values[order]
    for _ in range(effort.generations):
        if best_values.min() < enough:
            break
        # Children of every survivor, moved by steps from a thousandth of its size to its size.
        repeats = effort.samples // effort.restarts
        parents = {name: np.repeat(value, repeats, axis=0) for name, value in best.items()}
        children = _mutate(parents, random)
        values = np.asarray(margins(children))
        tried += int(np.isfinite(values).sum())
        if np.isnan(values).any():
            return broken(children, values)
        child_values = values.reshape(len(best_values), repeats)
        chosen = child_values.argmin(axis=1)
        better = child_values[np.arange(len(chosen)), chosen] < best_values
        picks = np.arange(len(chosen)) * repeats + chosen
        best = {
            name: np.where(better.reshape(-1, *(1,) * (value.ndim - 1)), children[name][picks], value)
            for name, value in best.items()
        }
        best_values = np.minimum(best_values, child_values.min(axis=1))
    if gradient and not best_values.min() < enough:
        follow = _compiled(jax.vmap(partial(_follow_gradient, margin, effort.iterations)), effort)
        followed, followed_values = follow(best)
        tried += effort.iterations * len(best_values)
        if float(jnp.min(followed_values)) < best_values.min():
            best = {name: np.asarray(value) for name, value in followed.items()}
            best_values = np.asarray(followed_values)
    worst = int(best_values.argmin())
    return tried, float(best_values[worst]), shown(_pick(best, worst))


def _pick(raws: Mapping[str, np.ndarray], index) -> dict[str, np.ndarray]:
    return {name: value[index] for name, value in raws.items()}


def _mutate(raws: Mapping[str, np.ndarray], random: np.random.Generator) -> dict[str, np.ndarray]:
    """Return moved copies: one or several arrays changed, by a step relative to their size, or rescaled."""
    moved = {}
    for name, value in raws.items():
        ones = (len(value),) + (1,) * (value.ndim - 1)
        size = np.sqrt(np.mean(value**2, axis=tuple(range(1, value.ndim)), keepdims=True)) + 1e-3
        step = 10.0 ** random.uniform(-3, 0, size=ones) * (random.uniform(size=ones) < 0.6)
        rescale = np.where(random.uniform(size=ones) < 0.2, 10.0 ** random.normal(scale=0.5, size=ones), 1.0)
        changed = rescale * (value + step * size * random.normal(size=value.shape))
        # Beyond these sizes a search finds rounding errors, not failures of a statement.
        moved[name] = np.clip(changed, -_LARGEST, _LARGEST)
    return moved


def _follow_gradient(margin, iterations: int, raw):
    """Follow Adam down the margin from one start; return where the smallest margin was met, and that margin."""
    import optax  # a sixth of a second that most claims do not need

    optimiser = optax.adam(0.02)

    def step(carry, _):
        raw, state, best, best_raw = carry
        value, gradient = jax.value_and_grad(margin)(raw)
        # Outside the hypotheses, or at a kink, there may be no gradient: stand still there.
        gradient = jax.tree.map(lambda leaf: jnp.nan_to_num(leaf, nan=0.0, posinf=0.0, neginf=0.0), gradient)
        better = value < best
        best = jnp.where(better, value, best)
        best_raw = jax.tree.map(lambda new, old: jnp.where(better, new, old), raw, best_raw)
        updates, state = optimiser.update(gradient, state)
        return (optax.apply_updates(raw, updates), state, best, best_raw), None

    start = (raw, optimiser.init(raw), jnp.asarray(jnp.inf), raw)
    (_, _, best, best_raw), _ = jax.lax.scan(step, start, length=iterations)
    return best_raw, best


def at_most(left, right, scale) -> dict[str, Any]:
    """Return the check of `left ≤ right`, with a margin relative to a natural scale of both."""
    left, right, scale = _sides(left, right, scale)
    size = jnp.maximum(jnp.maximum(jnp.abs(left), jnp.abs(right)), scale)
    return {"margin": (right - left) / size, "left": left, "right": right}


def equal(left, right, scale, tolerance: float = 1e-9) -> dict[str, Any]:
    """Return the check of `left = right`, entrywise, up to a tolerance relative to a natural scale of both."""
    left, right, scale = _sides(left, right, scale)
    tolerance = checks.not_negative("tolerance", tolerance)
    size = jnp.maximum(jnp.maximum(jnp.max(jnp.abs(left)), jnp.max(jnp.abs(right))), scale)
    error = jnp.max(jnp.abs(left - right)) / size
    return {"margin": tolerance - error, "left": left, "right": right}


def given(condition, shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return a check that counts only where a condition holds."""
    checks.of_kind("shown", shown, Mapping, "what a check returns", "Pass what at_most or equal returns")
    if "margin" not in shown:
        raise invalid("shown", "have a margin", _shown(shown), "Pass what at_most or equal returns")
    holds = checks.real_array("condition", condition) != 0
    margin = checks.real_array("shown", shown["margin"])
    _require_broadcast("condition", (holds, margin))
    return {**shown, "margin": jnp.where(holds, margin, jnp.inf)}


def _sides(left, right, scale):
    """Return both sides of a relation and their scale as arrays, or raise if they are none, or do not go together."""
    sides = [checks.real_array(name, one) for name, one in (("left", left), ("right", right), ("scale", scale))]
    for name, side in zip(("left", "right", "scale"), sides, strict=True):
        if side.size == 0:
            raise invalid(name, "not be empty", f"shape {side.shape}", "Pass at least one number")
    _require_broadcast("right", sides)
    return sides


def _require_broadcast(argument: str, arrays: Sequence[Any]) -> None:
    try:
        np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError as error:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise invalid(argument, "fit the others in shape", f"shapes {shapes}", "Pass arrays of one shape") from error
