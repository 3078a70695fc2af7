"""Functions that are evaluated at once where their arguments are arrays with values, and compiled where that pays.

`equinox.filter_jit` compiles a function for each shape of its arguments, which takes from a tenth of a second to half a
minute. `instantly` traces it, as that does, but hands the traced operations to NumPy. So formulas are written once, in
`jax.numpy`; their derivatives are JAX's or the closed ones that they state; and nothing is compiled. A function is left
to XLA if NumPy has no rule for one of its operations, or if it computes so many numbers that XLA repays its
compilation: that depends on the shapes of the arguments alone. Under a transformation of JAX (`jit`, `vmap`, `grad`)
the function is part of what is being transformed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer, eval_context

from tutelage.arrays import of_jax
from tutelage.instant import keys
from tutelage.instant.programs import Program
from tutelage.instant.rules import Unsupported
from tutelage.instant.tracing import inlined, is_of_ours, is_ours
from tutelage.modules import BoundMethod

F = TypeVar("F", bound=Callable)

# NumPy computes some 3e8 numbers per second; XLA compiles for about a second.
_MOST_NUMBERS = 1e8

_ARRAYS = (np.ndarray, np.generic, jax.Array)


def instantly(function: F, most: float = _MOST_NUMBERS) -> F:
    """Return a function that is evaluated by NumPy, or compiled where that takes too long.

    Arguments are pytrees. Arrays in them are traced by shape and type, all else is taken as it is and must be hashable,
    as with `equinox.filter_jit`. The results are NumPy arrays where the arguments are (modules and random keys do not
    count), and JAX arrays where one of them is, or where there are none.

    Args:
        function: The function.
        most: How many numbers NumPy may compute, as far as shapes tell; of loops that end by a condition they do not.
    """
    compiled = eqx.filter_jit(function)

    @functools.wraps(function)
    def call(*arguments):
        leaves, structure = jax.tree.flatten(arguments)
        if any(isinstance(leaf, Tracer) for leaf in leaves):
            # Formulas may index by traced numbers, which arrays of NumPy do not take.
            return function(*jax.tree.unflatten(structure, map(_of_jax, leaves)))
        program, results = _traced(function, structure, tuple(map(_kind, leaves)), most)
        arrays = [leaf for leaf in leaves if isinstance(leaf, _ARRAYS)]
        plain = _are_of_numpy(arguments)
        if program is None:
            outcome = compiled(*arguments)
            return jax.tree.map(np.asarray, outcome) if plain else outcome
        with np.errstate(all="ignore"):
            outcome = program([_given(array) for array in arrays])
        return results(outcome, plain)

    return call  # type: ignore[return-value]


def prepared(function: Callable, *first: Any) -> Callable:
    """Return a function of `instantly` as one of its remaining arguments, to be called many times.

    What depends on the first arguments alone is computed once for each kind of the others: those are arrays of NumPy,
    as are the results.
    """
    known: dict[tuple, tuple[Program | None, _Results]] = {}

    def begun(rest: tuple) -> tuple[Program | None, _Results]:
        leaves, structure = jax.tree.flatten((*first, *rest))
        program, results = _traced(function.__wrapped__, structure, tuple(map(_kind, leaves)), _MOST_NUMBERS)  # type: ignore[attr-defined]
        given = [_given(leaf) for leaf in jax.tree.leaves(first) if isinstance(leaf, _ARRAYS)]
        with np.errstate(all="ignore"):
            return program and program.after(given), results

    def call(*rest):
        leaves, structure = jax.tree.flatten(rest)
        kind = structure, tuple(map(_kind, leaves))
        if kind not in known:
            known[kind] = begun(rest)
        program, results = known[kind]
        if program is None:
            return function(*first, *rest)
        with np.errstate(all="ignore"):
            return results(program([_given(leaf) for leaf in leaves if isinstance(leaf, _ARRAYS)]), True)

    return call


@instantly
def evaluated(function: Callable, *arguments: Any) -> Any:
    """Return what a function of a module returns, or a method, which takes the arrays of its own module along."""
    return function(*arguments)


def trace(function: Callable, *arguments: Any) -> None:
    """Trace a function of `instantly` for arguments of these shapes, so that the first call need not."""
    leaves, structure = jax.tree.flatten(arguments)
    _traced(function.__wrapped__, structure, tuple(map(_kind, leaves)), _MOST_NUMBERS)  # type: ignore[attr-defined]


def _kind(leaf: Any) -> tuple:
    return (leaf.shape, leaf.dtype) if isinstance(leaf, _ARRAYS) else (type(leaf), leaf)


def _of_jax(leaf: Any) -> Any:
    return of_jax(leaf) if isinstance(leaf, np.ndarray) else leaf


def _are_of_numpy(arguments: tuple) -> bool:
    leaves = []
    for argument in arguments:
        if isinstance(argument, _ARRAYS):
            leaves.append(argument)
        elif not isinstance(argument, (eqx.Module, BoundMethod)):
            leaves.extend(jax.tree.leaves(argument))
    arrays = [
        leaf for leaf in leaves if isinstance(leaf, _ARRAYS) and leaf.dtype != np.uint32 and not keys.is_key(leaf)
    ]
    return bool(arrays) and not any(isinstance(leaf, jax.Array) for leaf in arrays)


def _given(array: Any) -> Any:
    """Return an array as programs take it: of NumPy, and keys as numbers of 64 bits."""
    if isinstance(array, jax.Array) and keys.is_key(array):
        with eval_context():  # while something else is being traced, too
            return keys.packed(np.asarray(jax.random.key_data(array)))
    return np.asarray(array)


class _Results(NamedTuple):
    """How the results of a program become those of the function: a pytree, with keys as JAX has them."""

    structure: Any
    keys: tuple[bool, ...]

    def __call__(self, outcome: Iterable[Any], plain: bool) -> Any:
        leaves = [
            keys.of_jax(one) if key else np.asarray(one) if plain else of_jax(one)
            for one, key in zip(outcome, self.keys, strict=True)
        ]
        return jax.tree.unflatten(self.structure, leaves)


@functools.lru_cache(maxsize=4096)
def _traced(function: Callable, structure: Any, kinds: tuple, most: float) -> tuple[Program | None, _Results]:
    """Return the program of a function for arguments of these kinds, `None` if it is XLA's; and what it returns."""
    arrays = [jax.ShapeDtypeStruct(*kind) for kind in kinds if isinstance(kind[0], tuple)]
    others = [kind[1] for kind in kinds if not isinstance(kind[0], tuple)]
    evaluated = inlined(function) if all(map(is_ours, others)) and is_of_ours(structure) else function

    def flat(*values):
        rest = iter(values)
        leaves = [next(rest) if isinstance(kind[0], tuple) else kind[1] for kind in kinds]
        return evaluated(*jax.tree.unflatten(structure, leaves))

    closed, shapes = jax.make_jaxpr(flat, return_shape=True)(*arrays)
    leaves, structure = jax.tree.flatten(shapes)
    results = _Results(structure, tuple(map(keys.is_key, leaves)))
    try:
        program = Program(closed)
    except Unsupported:
        return None, results
    return program if program.cost <= most else None, results
