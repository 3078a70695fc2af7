"""Recipes written from relations: the formulas as plain NumPy to paste, without this library.

A recipe can be written where formulas are elementary: they use NumPy (or what JAX has of it), numbers, the error
function and the Gamma function, which Python has, and functions of their own module that do the same. Otherwise there
is none, and a form brings its own.
"""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import math
import textwrap
from collections.abc import Collection
from functools import lru_cache, partial
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.special

from tutelage.claims.relation import Relation
from tutelage.work.program import SYNTAX

# What SciPy has for arrays and Python for numbers.
_OF_NUMBERS = {
    scipy.special.erf: "np.vectorize(math.erf)",
    scipy.special.erfc: "np.vectorize(math.erfc)",
    scipy.special.ndtr: "np.vectorize(lambda x: math.erfc(-x / math.sqrt(2)) / 2)",
    scipy.special.gammaln: "np.vectorize(math.lgamma)",
}


class _NotElementary(Exception):
    """A formula uses something that NumPy does not have."""


def _outside(function: FunctionType) -> dict[str, Any]:
    """Return what a function reads from outside of it; its comprehensions may be functions of their own."""
    codes = [function.__code__]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    read = [one.argval for code in codes for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL"]
    found = {name: function.__globals__[name] for name in read if name in function.__globals__}
    return {**found, **inspect.getclosurevars(function).nonlocals}


def recipe_of(relation: Relation, own: str = "", names: Collection[str] | None = None) -> str:
    """Return NumPy that sets both sides on a witness, or nothing if a side is not elementary.

    Args:
        relation: The relation, its parameters bound.
        own: Lines of a form's own, which come last: a side that they set is theirs, the other one is written from the
            relation. Without any, both are, and the condition is checked.
        names: What a witness has; a side of something else cannot be evaluated.
    """
    writer = _Writer()
    lines = []
    written = {
        node.id for node in ast.walk(syntax(own)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    parts = {side: getattr(relation, side) for side in ("left", "right") if side not in written}
    if relation.where is not None and not own:
        parts = {"where": relation.where, **parts}
    try:
        for part, formula in parts.items():
            value = writer.value(formula, relation.values)
            if names is not None and callable(formula) and not _needed(formula, relation) <= set(names):
                return ""
            lines.append(f"assert {value}  # the hypothesis" if part == "where" else f"{part} = {value}")
    except _NotElementary:
        return ""
    recipe = "\n".join([*writer.lines, *lines, *own.strip().splitlines(), ""])
    constants = [node.value for node in ast.walk(syntax(recipe)) if isinstance(node, ast.Constant)]
    # What Python has of the error function is for real numbers.
    return "" if "math" in writer.names and any(isinstance(one, complex) for one in constants) else recipe


def condition_of(relation: Relation, names: Collection[str]) -> str:
    """Return NumPy that checks the condition of a relation, or nothing if it is not elementary.

    Args:
        relation: The relation, its parameters bound.
        names: What a witness has; a condition on something else cannot be checked.
    """
    if relation.where is None:
        return ""
    writer = _Writer()
    try:
        line = f"assert {writer.value(relation.where, relation.values)}  # the hypothesis"
    except _NotElementary:
        return ""
    return "\n".join([*writer.lines, line, ""]) if _needed(relation.where, relation) <= set(names) else ""


def _needed(formula: Any, relation: Relation) -> set[str]:
    """Return what a formula takes beside parameters."""
    return set(inspect.signature(formula).parameters) - set(relation.values)


class _Writer:
    """Collects what formulas need: parameters, constants, functions."""

    def __init__(self):
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}

    def value(self, formula: Any, parameters: Any) -> str:
        """Return an expression for a side, after what it needs."""
        if not callable(formula):
            return _literal(formula)
        if not isinstance(formula, FunctionType):
            raise _NotElementary
        _, body = _written(formula, formula.__name__)
        for name in inspect.signature(formula).parameters:
            if name == "instance":
                raise _NotElementary
            if name in parameters:
                self._define(name, parameters[name], f"{name} = {_literal(parameters[name])}")
        self._needs(formula)
        if body:
            return body
        self._function(formula.__name__, formula)
        return f"{formula.__name__}({', '.join(inspect.signature(formula).parameters)})"

    def _needs(self, function: FunctionType) -> None:
        """Define what a function reads from outside of it."""
        for name, value in _outside(function).items():
            if value is np or value is jnp:
                continue
            if isinstance(value, ModuleType):
                raise _NotElementary
            if isinstance(value, FunctionType):
                self._needs(value)
                self._function(name, value)
            elif isinstance(value, (np.ufunc, BuiltinFunctionType)) and getattr(np, value.__name__, None) is value:
                self._define(name, value, f"{name} = np.{value.__name__}")
            elif isinstance(value, np.ufunc) and value in _OF_NUMBERS:
                self._define("math", math, "import math")
                self._define(name, value, f"{name} = {_OF_NUMBERS[value]}")
            else:
                self._define(name, value, f"{name} = {_literal(value)}")

    def _function(self, name: str, function: FunctionType) -> None:
        if not (function.__module__ or "").startswith(("tutelage.claims", "__main__")) and not _is_local(function):
            raise _NotElementary
        self._define(name, function, _written(function, name)[0])

    def _define(self, name: str, value: Any, line: str) -> None:
        if name in self.names:
            known = self.names[name]
            if known is not value and not np.array_equal(known, value):
                raise _NotElementary  # two things of one name
            return
        self.names[name] = value
        self.lines.append(line)


def _is_local(function: FunctionType) -> bool:
    """Whether a function is the user's own, not one of a library."""
    return "site-packages" not in (inspect.getsourcefile(function) or "site-packages") and not (
        function.__module__ or ""
    ).startswith("tutelage.")


def _literal(value: Any) -> str:
    if isinstance(value, (bool, str)) or value is None:
        return repr(value)
    if isinstance(value, (int, float, np.number)):
        if np.isinf(value):
            return "np.inf" if value > 0 else "-np.inf"
        return repr(value.item() if isinstance(value, np.number) else value)
    if isinstance(value, (tuple, list)) and all(isinstance(one, (int, float)) for one in value):
        return repr(value)
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise _NotElementary from error
    return repr(array.item()) if array.ndim == 0 else f"np.array({array.tolist()!r})"


class _Plain(ast.NodeTransformer):
    """Takes away annotations and docstrings, and says NumPy for JAX's part of it."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name("np", node.ctx) if node.id == "jnp" else node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        node.returns, node.body = None, body or [ast.Pass()]
        return node


@lru_cache(maxsize=2048)
def _written(function: FunctionType, name: str) -> tuple[str, str]:
    """Return a function as a plain definition of a name, and the formula alone if it has no more to it."""
    node = _Plain().visit(_node(function))
    if isinstance(node, ast.Lambda):
        return f"{name} = {ast.unparse(node)}", ast.unparse(node.body)
    node.name, node.decorator_list = name, []
    return ast.unparse(ast.fix_missing_locations(node)), ""


def _node(function: FunctionType) -> Any:
    """Return the syntax of a function, or raise if its source is not known."""
    if function.__name__ != "<lambda>":
        try:
            with SYNTAX:
                return ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        except (OSError, TypeError, SyntaxError) as error:
            raise _NotElementary from error
    code = function.__code__
    places = [
        (line, column)
        for line, _, column, end in code.co_positions()
        if line is not None and column is not None and end
    ]
    bodies = [node for node in _lambdas(code.co_filename) if all(map(partial(_within, node.body), places))]
    if bodies:
        # The innermost one: a formula inside of a formula has its instructions there.
        found = max(bodies, key=lambda node: (node.body.lineno, node.body.col_offset))
        with SYNTAX:
            return ast.parse(ast.unparse(found), mode="eval").body
    raise _NotElementary


def _within(node: ast.expr, place: tuple[int, int]) -> bool:
    return (node.lineno, node.col_offset) <= place <= (node.end_lineno or 0, node.end_col_offset or 0)


@lru_cache(maxsize=16)
def _lambdas(path: str) -> tuple[ast.Lambda, ...]:
    return tuple(node for node in ast.walk(syntax("".join(linecache.getlines(path)))) if isinstance(node, ast.Lambda))


def syntax(source: str) -> ast.Module:
    """Return the syntax of Python, or that of nothing if a text is none."""
    try:
        with SYNTAX:
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])
