"""Arithmetic whose last digits are random, which shows what of a result is rounding.

Every operation of NumPy rounds its result to about one part in $10^{16}$. If each result is changed at random by as
much, what a formula returns changes by about as much as it is off: also where a small number was lost beside a large
one, which no change of the formula's arguments shows, since it would be lost as well.

Reference:
    Vignes, A stochastic arithmetic for reliable scientific computation, 1993, which changes results likewise.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, ClassVar

import numpy as np

# Operations that do not round, nor do sums of their kind: the largest entry is one of them.
_EXACT = {
    np.negative, np.positive, np.absolute, np.fabs, np.maximum, np.minimum, np.fmax, np.fmin, np.sign, np.copysign,
    np.floor, np.ceil, np.trunc, np.rint,
}  # fmt: skip
# Functions that move entries about or pick some of them.
_MOVING = {
    np.reshape, np.ravel, np.transpose, np.moveaxis, np.swapaxes, np.squeeze, np.expand_dims, np.broadcast_to,
    np.broadcast_arrays, np.concatenate, np.stack, np.split, np.tile, np.repeat, np.flip, np.roll, np.where, np.choose,
    np.clip, np.take, np.take_along_axis, np.diagonal, np.sort, np.argsort, np.lexsort, np.argmax, np.argmin, np.max,
    np.min, np.any, np.all, np.unique, np.copy, np.empty_like, np.zeros_like, np.ones_like, np.full_like, np.shape,
    np.ndim, np.size, np.real,
}  # fmt: skip


class Shaken(np.ndarray):
    """Numbers every operation on which is followed by a random change of the last digit; see `shaken`.

    Attributes:
        random: A generator.
        floats: How often such a number was made a float of Python, whose rounding does not show.
    """

    random: np.random.Generator
    floats: ClassVar[int] = 0

    def __array_finalize__(self, obj: Any) -> None:
        self.random = getattr(obj, "random", None)  # type: ignore[assignment]

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        random = next(one.random for one in (*inputs, *(out or ())) if isinstance(one, Shaken))
        plain = [_plain(one) for one in inputs]
        # Products of vectors and matrices have a signature: they sum.
        entrywise = method == "__call__" and function.signature is None
        # Of whole numbers sums and products are exact.
        whole = [_whole(one) for one in plain]
        exact = reduce(np.logical_and, whole if entrywise else map(np.all, whole))
        if not entrywise and function not in _EXACT:
            # Within a sum each term counts, not the result alone.
            plain = [_changed(one, _whole(one), random) for one in plain]
        if out is not None:
            # What a condition leaves out stays as it is there.
            options["out"] = tuple(np.array(_plain(one)) for one in out)
        result = getattr(function, method)(*plain, **options)
        if isinstance(result, tuple):
            return tuple(_wrapped(_changed(one, exact & _whole(one), random), random) for one in result)
        result = result if function in _EXACT else _changed(result, exact & _whole(result), random)
        if out is None:
            return _wrapped(result, random)
        out[0].view(np.ndarray)[...] = result
        return out[0]

    def __float__(self) -> float:
        Shaken.floats += 1
        return float(_plain(self))

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        # What is written in C sees plain numbers: their last digits are changed before, if it computes something.
        random = None if function in _MOVING else self.random
        moved = [_moved(one, random) for one in arguments]
        result = function(*moved, **{name: _moved(one, random) for name, one in options.items()})
        if isinstance(result, (list, tuple)):
            return [_wrapped(one, self.random) for one in result]
        return _wrapped(result, self.random)


def shaken(values: Any, random: np.random.Generator) -> Any:
    """Return numbers as an array whose last digits change with every operation; all else as it is."""
    return _wrapped(values, random) if isinstance(values, (float, np.inexact, np.ndarray)) else values


def _wrapped(values: Any, random: np.random.Generator) -> Any:
    array = np.asarray(values)
    if array.dtype.kind not in "fc":
        return values
    wrapped = array.view(Shaken)
    wrapped.random = random
    return wrapped


def _whole(values: Any) -> Any:
    array = np.asarray(values)
    return array == np.rint(array) if array.dtype.kind in "fc" else np.True_


def _changed(values: Any, exact: Any, random: np.random.Generator) -> Any:
    """Return numbers with their last digits changed, but for those that are exact."""
    array = np.asarray(values)
    if array.dtype.kind not in "fc":
        return values
    change = np.finfo(array.dtype).eps * random.choice((-1.0, 1.0), size=array.shape)
    if array.dtype.kind == "c":
        change = change * random.choice((1.0, 1j), size=array.shape)
    return np.where(exact, array, array * (1.0 + change)).astype(array.dtype)


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Shaken) else value


def _moved(value: Any, random: np.random.Generator | None) -> Any:
    """Return an argument of a function with its last digits changed, not as shaken, also inside of lists.

    Without a generator they stay as they are.
    """
    if isinstance(value, (list, tuple)):
        return type(value)(_moved(one, random) for one in value)
    if not isinstance(value, Shaken):
        return value
    return _plain(value) if random is None else _changed(_plain(value), _whole(value), random)
