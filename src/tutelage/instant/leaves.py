"""Functions of entries that are one operation when traced, and one call in NumPy.

Tracing takes a tenth of a millisecond for each operation, and NumPy a microsecond: a formula that is used everywhere
should be one. It is written over a namespace of arrays, and evaluated with NumPy's at once or with JAX's when compiled.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from tutelage.instant.calls import instantly
from tutelage.instant.rules import COSTS, ENTRIES, SEVERAL, STRUCTURAL
from tutelage.instant.tracing import compiled

_FLOAT = np.dtype(float)
# Formulas may have the same name, as those that a function makes; operations may not.
_NUMBERS = itertools.count()

Derivative = Callable[[Sequence[Any], Sequence[Any]], Any]


def _operation(
    name: str,
    traced: Callable[..., Any],
    shape: Callable[..., tuple[int, ...]],
    derivative: Derivative | None,
    transposed: Callable[..., Any] | None = None,
    results: int | None = None,
) -> Primitive:
    """Return an operation of float64 arrays: how JAX compiles, batches and differentiates it.

    Args:
        name: What to call it.
        traced: The function in JAX.
        shape: The shape of the result, or of all results, from those of the arguments.
        derivative: The change of the result, as in `leaf`; a list of changes where there are several.
        transposed: The rule of a function that is linear in some of its arguments.
        results: The number of results, where there are several.
    """
    primitive = Primitive(f"{name}.{next(_NUMBERS)}")
    primitive.multiple_results = results is not None

    def each(result: Any) -> Any:
        return result if results is None else [result] * results

    def moved(value, change):
        return ad.Zero(jax.typeof(value).to_tangent_aval()) if change is None else change

    def changed(arrays, changes):
        values = primitive.bind(*arrays)
        known = [None if type(change) is ad.Zero else change for change in changes]
        found = each(None) if derivative is None else derivative(arrays, known)
        return values, moved(values, found) if results is None else list(map(moved, values, found))

    def abstract(*avals):
        return each(ShapedArray(shape(*(aval.shape for aval in avals)), _FLOAT))

    primitive.def_impl(compiled(traced))
    primitive.def_abstract_eval(abstract)
    mlir.register_lowering(primitive, mlir.lower_fun(traced, multiple_results=results is not None))
    batching.primitive_batchers[primitive] = lambda arrays, axes: (primitive.bind(*_in_front(arrays, axes)), each(0))
    ad.primitive_jvps[primitive] = changed
    if transposed is not None:
        ad.primitive_transposes[primitive] = transposed
    return primitive


def leaf(
    derivative: Derivative | None = None,
    in_numpy: Callable[..., Any] | None = None,
    linear: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that makes a function of entries one operation of float64 arrays, which broadcast.

    Calls of the decorated function take arrays only; its `formula` is the function that was decorated.

    The function has the namespace, `numpy` or `jax.numpy`, as its first argument, and arrays of one shape besides.

    Args:
        derivative: The change of the result, from the arrays and their changes; `None` stands for a change of zero. If
            left out, the function counts as constant.
        in_numpy: What the function is in NumPy, where that is something else.
        linear: Whether the function is linear in its first argument.
    """

    def decorate(formula: Callable[..., Any]) -> Callable[..., Any]:
        def transposed(change, _, *others):
            return change if type(change) is ad.Zero else primitive.bind(change, *others), *(None for _ in others)

        def call(*arrays):
            shape = np.broadcast_shapes(*map(np.shape, arrays))
            return primitive.bind(*(_aligned(array, shape) for array in arrays))

        name, traced = f"{formula.__module__}.{formula.__name__}", partial(formula, jnp)
        primitive = _operation(name, traced, lambda *shapes: shapes[0], derivative, transposed if linear else None)
        ENTRIES[primitive.name] = partial(formula, np) if in_numpy is None else in_numpy
        call.formula = formula  # type: ignore[attr-defined]
        call.__doc__, call.__module__ = formula.__doc__, formula.__module__
        call.__name__ = call.__qualname__ = formula.__name__
        return call

    return decorate


def several(
    name: str,
    traced: Callable[..., list[Any]],
    in_numpy: Callable[..., list[Any]],
    derivative: Callable[[Sequence[Any], Sequence[Any]], list[Any]],
    results: int,
    cost: int,
) -> Callable[..., list[Any]]:
    """Return a function of entries with several results as one operation of float64 arrays of one shape.

    (A rule of `jax.custom_jvp` would do, were it not for loops: JAX drops the rule of a function inside of one when it
    takes derivatives of gradients.)

    Args:
        name: What to call the operation.
        traced: The function in JAX.
        in_numpy: The function in NumPy.
        derivative: The changes of the results, as in `leaf`; `None` stands for zero.
        results: Number of results.
        cost: About how many numbers are computed for each of a result.
    """
    primitive = _operation(name, traced, lambda *shapes: shapes[0], derivative, results=results)
    STRUCTURAL[primitive.name] = lambda parameters, shapes: in_numpy
    SEVERAL.append(primitive.name)
    COSTS[primitive.name] = cost
    return primitive.bind


def matrix_leaf(
    shape: Callable[..., tuple[int, ...]],
    derivative: Derivative,
    linear: Sequence[int] = (),
    in_numpy: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that makes a JAX function of vectors and matrices one operation.

    All its arguments may have leading axes for batches, which it treats side by side: a branch that it takes if any
    number asks for it is then taken for a whole batch, and not, as under `jax.vmap`, always.

    Args:
        shape: The shape of the result, from those of the arguments.
        derivative: The change of the result, as in `leaf`.
        linear: Arguments in which the function is linear.
        in_numpy: What the function is in NumPy, where tracing it is not wanted.
    """

    def decorate(formula: Callable[..., Any]) -> Callable[..., Any]:
        def transposed(change, *arrays):
            places = [place for place, array in enumerate(arrays) if ad.is_undefined_primal(array)]

            def of_linear(*parts):
                filled = dict(zip(places, parts, strict=True))
                return formula(*(filled.get(place, array) for place, array in enumerate(arrays)))

            parts = [jax.ShapeDtypeStruct(arrays[place].aval.shape, _FLOAT) for place in places]
            found = dict(zip(places, jax.linear_transpose(of_linear, *parts)(change), strict=True))
            return [found.get(place) for place in range(len(arrays))]

        name = f"{formula.__module__}.{formula.__name__}"
        primitive = _operation(name, formula, shape, derivative, transposed if linear else None)
        at_once = instantly(formula) if in_numpy is None else in_numpy
        STRUCTURAL[primitive.name] = lambda parameters, shapes: at_once
        return primitive.bind

    return decorate


def _in_front(arrays, axes) -> list[Any]:
    """Return arrays with the axis of a batch in front."""
    size = next(array.shape[axis] for array, axis in zip(arrays, axes, strict=True) if axis is not None)
    return [batching.bdim_at_front(array, axis, size) for array, axis in zip(arrays, axes, strict=True)]


def _aligned(array: Any, shape: tuple[int, ...]) -> Any:
    array = array if isinstance(array, jax.Array) and array.dtype == _FLOAT else jnp.asarray(array, _FLOAT)
    return array if array.shape == shape else jnp.broadcast_to(array, shape)


def total(*terms: Any) -> Any:
    """Return the sum of the terms of a derivative that are not known to be zero."""
    kept = [term for term in terms if term is not None]
    return sum(kept[1:], start=kept[0]) if kept else None
