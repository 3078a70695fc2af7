"""Refutations proved: a recipe evaluated again in ball arithmetic (Arb), which encloses every rounding error.

The NumPy of a recipe runs on arrays of balls instead of floats: decimals in it are the decimals that are written,
numbers of the witness are the floats that they are, and a comparison that the balls do not decide ends the attempt. A
statement is proved to fail if the balls of its two sides are apart in the wrong order, and what the recipe asserts of
the hypotheses is certain. What holds by construction of the witness (a vector has norm one) holds to the last digit of
a float there; the violation is by more.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tutelage.claims.relation import Relation
from tutelage.work.program import SYNTAX

BITS = 256
# More operations than this are a simulation, not a closed form.
_MOST_OPERATIONS = 40_000

_COMPARISONS = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_OPPOSITE = {
    operator.lt: operator.ge,
    operator.le: operator.gt,
    operator.gt: operator.le,
    operator.ge: operator.lt,
    operator.eq: operator.ne,
    operator.ne: operator.eq,
}
# Functions of NumPy that move entries about and compute nothing.
_STRUCTURAL = frozenset(
    {
        "all",
        "any",
        "array",
        "asarray",
        "atleast_1d",
        "broadcast_to",
        "concatenate",
        "diag",
        "expand_dims",
        "eye",
        "full",
    }
    | {"moveaxis", "ndarray", "ndim", "newaxis", "ones", "repeat", "reshape", "shape", "size", "squeeze", "stack"}
    | {"swapaxes", "tile", "trace", "transpose", "where", "zeros"}
)
# Methods of arrays that compare entries, which balls do not always tell apart, or round.
_ROUNDING = {"max", "min", "argmax", "argmin", "sort", "argsort", "clip", "any", "all", "std", "var", "item", "astype"}


class Undecided(Exception):
    """Balls do not tell, or a recipe uses something that they do not have."""


def proved(recipe: str, relation: Relation, witness: Mapping[str, Any]) -> bool:
    """Return whether a recipe, in ball arithmetic, shows that a witness violates a relation.

    Args:
        recipe: Lines of NumPy that set `left` and `right`.
        relation: The relation, its parameters bound.
        witness: Arrays and numbers by name.
    """
    try:
        left, right = sides(recipe, witness)
    except Exception:  # Whatever a recipe may raise on balls: it is not proved then, and nothing else follows.
        return False
    return _violated(relation, left, right)


def sides(recipe: str, witness: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return both sides as arrays of balls.

    Args:
        recipe: Lines of NumPy that set `left` and `right`.
        witness: Arrays and numbers by name.

    Raises:
        Exception: What the recipe raises on balls; `Undecided` where they do not tell.
    """
    import flint

    with SYNTAX:
        program = compile(ast.fix_missing_locations(_Exact().visit(ast.parse(recipe))), "<recipe>", "exec")
    before = flint.ctx.prec
    flint.ctx.prec = BITS
    try:
        arithmetic = _Arithmetic()
        # Both sides are in a witness too: the recipe has to find them itself.
        given = {name: arithmetic.given(value) for name, value in witness.items() if name not in ("left", "right")}
        names = {"__builtins__": arithmetic.builtins(), **given, "np": Balls(arithmetic), "_arithmetic": arithmetic}
        exec(program, names)
        left, right = np.broadcast_arrays(*(np.asarray(arithmetic.exact(names[side])) for side in ("left", "right")))
        return left, right
    finally:
        flint.ctx.prec = before


def _violated(relation: Relation, left: np.ndarray, right: np.ndarray) -> bool:
    for one, other in zip(left.ravel(), right.ravel(), strict=True):
        if relation.relation == "==":
            violated = abs(one - other) > relation.tolerance * abs(one).max(abs(other))
        else:
            violated = one > other if relation.relation == "<=" else one < other
        if violated:  # certain: comparisons of balls are true only then
            return True
    return False


class _Exact(ast.NodeTransformer):
    """Hands decimals, divisions, powers and comparisons of a recipe to exact arithmetic."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return _call("decimal", ast.Constant(repr(node.value))) if isinstance(node.value, float) else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow):
            return _call("power", node.left, node.right)
        if isinstance(node.op, ast.Div):
            # Python would round a quotient of whole numbers.
            node.left = _call("exact", node.left)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr in _ROUNDING and not (isinstance(node.value, ast.Name) and node.value.id == "np"):
            raise Undecided(node.attr)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            # A ball that stands for an array of one number has no axes by itself.
            node.value = _call("array", node.value)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if all(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
            return node
        if len(node.ops) != 1:
            raise Undecided("a chain of comparisons")
        return _call("compared", ast.Constant(type(node.ops[0]).__name__), node.left, node.comparators[0])


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name("_arithmetic", ast.Load()), name, ast.Load()), list(arguments), [])


class _Arithmetic:
    """What recipes need beside NumPy: exact numbers, comparisons that are certain, and a count of operations."""

    def __init__(self):
        import flint

        self.ball = flint.arb
        self._operations = 0

    def decimal(self, text: str) -> Any:
        return self.ball(text)

    def exact(self, value: Any) -> Any:
        """Return numbers as balls; arrays of them entry by entry."""
        if isinstance(value, np.ndarray):
            return self.each(self.exact, value)
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
            return value
        return self.ball(value.item() if isinstance(value, np.number) else value)

    def power(self, base: Any, exponent: Any) -> Any:
        """Return a power; a whole one as a product, since the logarithm of a ball around zero is none."""
        base = self.exact(base)
        if isinstance(exponent, int) and 0 < exponent < 9:
            return math.prod([base] * exponent)
        return base**exponent

    def array(self, value: Any) -> Any:
        return np.asarray(value, dtype=object) if isinstance(value, self.ball) else value

    def given(self, value: Any) -> Any:
        """Return an entry of a witness: whole numbers as they are (they may count), others as balls."""
        plain = value.tolist() if isinstance(value, np.ndarray) and value.ndim == 0 else value
        if isinstance(plain, (list, tuple)):
            plain = np.asarray(plain)
        return plain if isinstance(plain, (int, np.integer)) else self.exact(plain)

    def compared(self, name: str, left: Any, right: Any) -> Any:
        compare = _COMPARISONS[getattr(ast, name)]
        if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
            left, right = np.broadcast_arrays(left, right)
            decided = [self.compared(name, *pair) for pair in zip(left.ravel(), right.ravel(), strict=True)]
            return np.array(decided, dtype=bool).reshape(left.shape)
        left, right = self.exact(left), self.exact(right)
        if compare(left, right):
            return True
        if isinstance(left, self.ball) and not _OPPOSITE[compare](left, right):
            raise Undecided("a comparison")
        return False

    def each(self, function: Callable[..., Any], *arrays: Any) -> Any:
        """Apply a function entry by entry."""
        arrays = np.broadcast_arrays(*(np.asarray(array, dtype=object) for array in arrays))
        self._count(arrays[0].size)
        found = np.empty(arrays[0].size, dtype=object)
        for place, entries in enumerate(zip(*(array.ravel().tolist() for array in arrays), strict=True)):
            found[place] = function(*entries)
        return found.reshape(arrays[0].shape) if arrays[0].ndim else found[0]

    def of_numbers(self, function: Callable[..., Any], *values: Any) -> Any:
        """Apply a function to numbers, each of which is made exact first."""
        self._count(len(values) + 1)
        return function(*map(self.exact, values))

    def _count(self, operations: int) -> None:
        self._operations += operations
        if self._operations > _MOST_OPERATIONS:
            raise Undecided("too many operations")

    def builtins(self) -> dict[str, Any]:
        """Return the functions of Python that decide nothing by rounded numbers."""
        plain = {
            function.__name__: function for function in (range, len, zip, enumerate, tuple, list, int, bool, print)
        }
        balls = Balls(self)
        folds = {"max": lambda *values: balls.max(_several(values)), "min": lambda *values: balls.min(_several(values))}
        return {**plain, **folds, "AssertionError": AssertionError, "abs": balls.abs, "float": self.exact, "sum": sum}


def _several(values: tuple) -> list:
    """Return the arguments of `max` or `min`, which may be one collection of them."""
    return list(values[0] if len(values) == 1 else values)


class Balls:
    """What recipes use of NumPy, on balls."""

    def __init__(self, arithmetic: _Arithmetic):
        self._arithmetic = arithmetic
        self.pi, self.e = arithmetic.ball.pi(), arithmetic.ball.const_e()
        self.inf, self.linalg, self.bool_ = float("inf"), self, bool

    def __getattr__(self, name: str) -> Any:
        if name in _STRUCTURAL:
            return getattr(np, name)
        method = _METHODS.get(name)
        if method is None:
            raise Undecided(name)
        return lambda value: self._each(lambda one: getattr(one, method)(), value)

    def _each(self, function: Callable[..., Any], *values: Any) -> Any:
        if all(isinstance(value, (self._arithmetic.ball, int, float)) for value in values):
            return self._arithmetic.of_numbers(function, *values)
        return self._arithmetic.each(function, *(self._arithmetic.exact(np.asarray(value)) for value in values))

    def abs(self, value: Any) -> Any:
        return self._each(abs, value)

    absolute = abs

    def square(self, value: Any) -> Any:
        return self._each(lambda one: one * one, value)

    def power(self, base: Any, exponent: Any) -> Any:
        return self._each(operator.pow, base, exponent)

    def maximum(self, first: Any, second: Any) -> Any:
        return self._each(lambda one, other: one.max(other), first, second)

    def minimum(self, first: Any, second: Any) -> Any:
        return self._each(lambda one, other: one.min(other), first, second)

    def clip(self, value: Any, low: Any, high: Any) -> Any:
        return self.minimum(self.maximum(value, low), high)

    def arctan2(self, first: Any, second: Any) -> Any:
        return self._each(lambda one, other: self._arithmetic.ball.atan2(one, other), first, second)

    def hypot(self, first: Any, second: Any) -> Any:
        return self._each(lambda one, other: (one * one + other * other).sqrt(), first, second)

    def sum(self, value: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return np.sum(self._arithmetic.exact(np.asarray(value)), axis=axis, keepdims=keepdims)

    def prod(self, value: Any, axis: Any = None) -> Any:
        return np.prod(self._arithmetic.exact(np.asarray(value)), axis=axis)

    def cumsum(self, value: Any, axis: Any = None) -> Any:
        return np.cumsum(self._arithmetic.exact(np.asarray(value)), axis=axis)

    def mean(self, value: Any, axis: Any = None) -> Any:
        total = self.sum(value, axis)
        return total / (np.size(value) // max(np.size(total), 1))

    def max(self, value: Any) -> Any:
        return self._folded(self.maximum, value)

    def min(self, value: Any) -> Any:
        return self._folded(self.minimum, value)

    def _folded(self, function: Callable[[Any, Any], Any], value: Any) -> Any:
        first, *rest = self._arithmetic.exact(np.asarray(value)).ravel()
        for one in rest:
            first = function(first, one)
        return first

    def dot(self, first: Any, second: Any) -> Any:
        return self._arithmetic.exact(np.asarray(first)) @ self._arithmetic.exact(np.asarray(second))

    vdot = matmul = dot

    def vecdot(self, first: Any, second: Any) -> Any:
        return self.sum(self._arithmetic.exact(np.asarray(first)) * self._arithmetic.exact(np.asarray(second)), -1)

    def outer(self, first: Any, second: Any) -> Any:
        return self._arithmetic.exact(np.asarray(first))[:, None] * self._arithmetic.exact(np.asarray(second))[None, :]

    def norm(self, value: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """Return the Euclidean norm; of a matrix without axis, Frobenius's."""
        return self.sqrt(self.sum(self.square(value), axis, keepdims))

    def solve(self, matrix: Any, vector: Any) -> Any:
        import flint

        columns = np.asarray(vector, dtype=object).reshape(len(vector), -1)
        found = flint.arb_mat(matrix.tolist()).solve(flint.arb_mat(self._arithmetic.exact(columns).tolist()))
        return np.array(found.tolist(), dtype=object).reshape(np.shape(vector))

    def zeros_like(self, value: Any) -> Any:
        return np.zeros(np.shape(value))

    def ones_like(self, value: Any) -> Any:
        return np.ones(np.shape(value))

    def arange(self, *limits: int) -> Any:
        return np.array([*range(*limits)])

    def linspace(self, first: Any, last: Any, number: int) -> Any:
        first, last = self._arithmetic.exact(first), self._arithmetic.exact(last)
        return np.array([first + (last - first) * place / (number - 1) for place in range(number)])


_METHODS = {
    **{name: name for name in ("sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "sign": "sgn",
    "floor": "floor",
    "ceil": "ceil",
}
