"""What each operation of a traced program is in NumPy and SciPy.

A rule takes the parameters of an operation and the shapes of its arguments, and returns a function of arrays. Functions
of operations that act on entries broadcast; all others see arrays of exactly the shapes that were traced. An operation
without a rule is `Unsupported`: the program is then left to XLA.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

Function = Callable[..., Any]


class Unsupported(Exception):
    """There is no rule for an operation."""


def _integer_power(exponent: int) -> Function:
    if exponent == 2:
        return np.square
    if exponent < 0:
        inverse = _integer_power(-exponent)
        return lambda x: 1.0 / inverse(x)

    def power(x):
        # By repeated squaring, as XLA does it: the library's power is slower by far.
        result, square, rest = None, x, exponent
        while rest:
            if rest & 1:
                result = square if result is None else result * square
            square, rest = (square * square, rest >> 1) if rest > 1 else (square, 0)
        return np.ones_like(x) if result is None else result

    return power


def _converted(dtype: np.dtype) -> Function:
    if dtype.kind == "c":
        return lambda x: x.astype(dtype)
    return lambda x: x.real.astype(dtype)


def _select(which, *cases):
    return np.where(which, cases[1], cases[0]) if len(cases) == 2 else np.choose(which, cases)


def _logical_shift(x, places):
    unsigned = np.asarray(x).view(f"u{x.dtype.itemsize}")
    return np.right_shift(unsigned, places.astype(unsigned.dtype)).view(x.dtype)


# By the name of the operation: a function, or (for operations with parameters) how to make one.
ENTRIES: dict[str, Function] = {
    "add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative,
    "abs": np.abs, "sign": np.sign, "sqrt": np.sqrt, "rsqrt": lambda x: 1.0 / np.sqrt(x), "cbrt": np.cbrt,
    "square": np.square, "pow": np.power, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log,
    "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "max": np.maximum, "min": np.minimum, "rem": np.fmod, "floor": np.floor,
    "ceil": np.ceil, "nextafter": np.nextafter, "is_finite": np.isfinite,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert,
    "shift_left": np.left_shift, "shift_right_arithmetic": np.right_shift, "shift_right_logical": _logical_shift,
    "real": np.real, "imag": np.imag, "conj": np.conj, "complex": lambda x, y: x + 1j * y,
    "stop_gradient": lambda x: x, "device_put": lambda x: x, "copy": lambda x: x, "copy_p": lambda x: x,
    "select_n": _select,
}  # fmt: skip


# SciPy's names of operations that NumPy has not; looked up when met, since they take a tenth of a second to import.
SPECIAL = {
    "erf": "erf", "erfc": "erfc", "erf_inv": "erfinv", "lgamma": "gammaln", "digamma": "digamma", "logistic": "expit"
}  # fmt: skip


def _truncated_quotient(x, y):
    return np.floor_divide(x - np.fmod(x, y), y)


def elementwise(name: str, parameters: dict[str, Any], dtype: Any) -> Function | None:
    """Return the function of an operation that acts on entries and has results of a type; `None` if it does not."""
    if name == "div" and np.issubdtype(dtype, np.integer):
        return _truncated_quotient
    if name in ENTRIES:
        return ENTRIES[name]
    if name in SPECIAL:
        return getattr(scipy.special, SPECIAL[name])
    if name == "integer_pow":
        return _integer_power(parameters["y"])
    if name == "convert_element_type":
        return _converted(np.dtype(parameters["new_dtype"]))
    if name == "round":
        return np.rint if int(parameters["rounding_method"]) == 1 else None
    return None


def _with(function: Function, *names: str) -> Callable[..., Function]:
    """Return the rule of an operation that is a function of one array and of some of its parameters."""

    def rule(parameters, shapes):
        values = [parameters[name] for name in names]
        return lambda x: function(x, *values)

    return rule


def _of_several(function: Function, name: str) -> Callable[..., Function]:
    """Return the rule of an operation that is a function of a list of arrays and of one of its parameters."""

    def rule(parameters, shapes):
        value = parameters[name]
        return lambda *arrays: function(arrays, value)

    return rule


def _argument(function: Function) -> Callable[..., Function]:
    return _with(lambda x, axes, dtype: function(x, axis=axes[0]).astype(dtype), "axes", "index_dtype")


def _cumulative(ufunc: np.ufunc) -> Callable[..., Function]:
    def along(x, axis, reverse):
        if reverse:
            return np.flip(ufunc.accumulate(np.flip(x, axis), axis), axis)
        return ufunc.accumulate(x, axis)

    return _with(along, "axis", "reverse")


def _reshape(parameters, shapes):
    shape, order = parameters["new_sizes"], parameters["dimensions"]
    if order is None:
        return lambda x: np.reshape(x, shape)
    return lambda x: np.reshape(np.transpose(x, order), shape)


def _slice(parameters, shapes):
    strides = parameters["strides"] or (None,) * len(shapes[0])
    bounds = zip(parameters["start_indices"], parameters["limit_indices"], strides, strict=True)
    place = tuple(slice(*bound) for bound in bounds)
    return lambda x: x[place]


def _pad(parameters, shapes):
    config = parameters["padding_config"]
    spread = tuple(max(size + (size - 1) * between, 0) for size, (_, _, between) in zip(shapes[0], config, strict=True))
    among = tuple(slice(None, None, between + 1) for _, _, between in config)
    ends = list(zip(spread, config, strict=True))
    shape = tuple(size + low + high for size, (low, high, _) in ends)
    # Where something is cut off, what is left; and where that goes.
    source = tuple(slice(max(-low, 0), size + min(high, 0)) for size, (low, high, _) in ends)
    place = tuple(slice(max(low, 0), max(low, 0) + size + min(low, 0) + min(high, 0)) for size, (low, high, _) in ends)

    def function(x, value):
        if spread != x.shape:
            wide = np.full(spread, value)
            wide[among] = x
            x = wide
        result = np.full(shape, value)
        result[place] = x[source]
        return result

    return function


def _dynamic_slice(parameters, shapes):
    sizes, limits = parameters["slice_sizes"], shapes[0]
    return lambda x, *starts: x[window(starts, sizes, limits)]


def _dynamic_update_slice(parameters, shapes):
    limits, sizes = shapes[0], shapes[1]

    def function(x, update, *starts):
        result = np.array(x)
        result[window(starts, sizes, limits)] = update
        return result

    return function


def window(starts, sizes, limits) -> tuple[slice, ...]:
    """Return the place of a window of some sizes, moved so far that it lies inside of an array."""
    begins = [min(max(int(begin), 0), limit - size) for begin, size, limit in zip(starts, sizes, limits, strict=True)]
    return tuple(slice(begin, begin + size) for begin, size in zip(begins, sizes, strict=True))


def _dot(parameters, shapes):
    (first_axes, second_axes), (first_batch, second_batch) = parameters["dimension_numbers"]
    first, second = shapes
    if not first_batch and (first_axes, second_axes) == ((len(first) - 1,), (0,)) and len(first) <= 2 >= len(second):
        return np.matmul if first and second else np.multiply
    first_free = [axis for axis in range(len(first)) if axis not in (*first_axes, *first_batch)]
    second_free = [axis for axis in range(len(second)) if axis not in (*second_axes, *second_batch)]
    batch = [first[axis] for axis in first_batch]
    inner = math.prod(first[axis] for axis in first_axes)
    shape = (*batch, *(first[axis] for axis in first_free), *(second[axis] for axis in second_free))
    first_order, second_order = (*first_batch, *first_free, *first_axes), (*second_batch, *second_axes, *second_free)
    first_shape = (*batch, math.prod(first[axis] for axis in first_free), inner)
    second_shape = (*batch, inner, math.prod(second[axis] for axis in second_free))

    left, right = _as_matrix(first, first_order, first_shape), _as_matrix(second, second_order, second_shape)
    if (*first_shape[:-1], second_shape[-1]) == shape:
        return lambda x, y: left(x) @ right(y)
    return lambda x, y: (left(x) @ right(y)).reshape(shape)


def _as_matrix(old: tuple[int, ...], order: tuple[int, ...], shape: tuple[int, ...]) -> Function:
    """Return what gives an array another order of its axes and another shape, without asking NumPy for what stays."""
    if order == tuple(range(len(old))):
        return (lambda x: x) if shape == old else (lambda x: x.reshape(shape))
    if shape == tuple(old[axis] for axis in order):
        return lambda x: x.transpose(order)
    return lambda x: x.transpose(order).reshape(shape)


def _sort(parameters, shapes):
    axis, keys = parameters["dimension"], parameters["num_keys"]

    def function(*arrays):
        if len(arrays) == 1:
            return (np.sort(arrays[0], axis=axis, kind="stable"),)
        order = np.lexsort(arrays[:keys][::-1], axis=axis)
        return tuple(np.take_along_axis(array, order, axis) for array in arrays)

    return function


STRUCTURAL: dict[str, Callable[[dict[str, Any], list[tuple[int, ...]]], Function]] = {
    "reduce_sum": _with(np.add.reduce, "axes"), "reduce_prod": _with(np.multiply.reduce, "axes"),
    "reduce_max": _with(np.maximum.reduce, "axes"), "reduce_min": _with(np.minimum.reduce, "axes"),
    "reduce_and": _with(np.logical_and.reduce, "axes"), "reduce_or": _with(np.logical_or.reduce, "axes"),
    "argmax": _argument(np.argmax), "argmin": _argument(np.argmin),
    "cumsum": _cumulative(np.add), "cumprod": _cumulative(np.multiply), "cummax": _cumulative(np.maximum),
    "reshape": _reshape, "squeeze": _with(np.squeeze, "dimensions"), "transpose": _with(np.transpose, "permutation"),
    "rev": _with(np.flip, "dimensions"), "concatenate": _of_several(np.concatenate, "dimension"),
    "stack": _of_several(np.stack, "axis"), "unstack": _with(lambda x, axis: list(np.moveaxis(x, axis, 0)), "axis"),
    "split": _with(lambda x, sizes, axis: np.split(x, np.cumsum(sizes)[:-1], axis), "sizes", "axis"),
    "slice": _slice, "pad": _pad,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice, "dot_general": _dot, "sort": _sort,
    "bitcast_convert_type": _with(lambda x, dtype: np.asarray(x).view(dtype), "new_dtype"),
}  # fmt: skip

# What says where and how accurately, or promises something of the arguments, but not what is computed.
_HARMLESS = {
    "sharding", "out_sharding", "precision", "preferred_element_type", "is_stable", "unique_indices",
    "indices_are_sorted", "update_consts", "update_jaxpr",
}  # fmt: skip


class _Noted(dict):
    """Parameters that note which of them were read."""

    def __init__(self, parameters: dict[str, Any]):
        super().__init__(parameters)
        self.unread = {name for name, value in parameters.items() if value is not None} - _HARMLESS

    def __getitem__(self, name: str) -> Any:
        self.unread.discard(name)
        return super().__getitem__(name)


def structural(name: str, parameters: dict[str, Any], shapes: list[tuple[int, ...]]) -> Function:
    """Return the function of an operation that changes shapes, sums or picks.

    Raises:
        Unsupported: If there is no rule, or if the rule does not know a parameter: it would compute something else.
    """
    if name not in STRUCTURAL:
        raise Unsupported(name)
    noted = _Noted(parameters)
    function = STRUCTURAL[name](noted, shapes)
    if noted.unread:
        raise Unsupported(f"{name} with {', '.join(sorted(noted.unread))}")
    return function


SEVERAL = ["split", "sort", "unstack"]
"""Operations with several results."""

COSTS: dict[str, int] = {}
"""About how many numbers are computed for each of the result, by operations where these are many."""
