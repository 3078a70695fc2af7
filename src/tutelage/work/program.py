"""Which program a result came from: sources that it depends on, packages, and the command, machine and time.

A module depends on the modules of this package that it imports, wherever in its text, and on what those import. A name
that is imported from a package counts as one of the module that the package has it from, so that `from tutelage.inputs
import gaussian` does not depend on all other laws.
"""

from __future__ import annotations

import ast
import platform
import shlex
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import CellType, FunctionType, MethodType
from typing import Any, NamedTuple

from tutelage._configuration import available_cores
from tutelage.files import digest

PACKAGES = ("numpy", "scipy", "jax", "jaxlib", "equinox", "optax", "diffrax")
"""Packages whose versions are part of a program: another one may compute other numbers."""
SYNTAX = threading.RLock()
"""Held while syntax trees are made or compiled: Python 3.11 counts their depth once for all threads."""
_PACKAGE = "tutelage"
_ROOT = Path(__file__).parents[1]


def program_digest(*modules: str, root: Path = _ROOT) -> str:
    """Return a digest of the sources that modules depend on, and of the versions of what they compute with.

    Args:
        *modules: Full names of modules that have been imported, of this package or not.
        root: The folder of this package.
    """
    found = dependencies(modules, root)
    # A module of others by its file: run as a program, it has another name.
    sources = [f"{name if _is_ours(name) else path.name} {_source(path).digest}" for name, path in found.items()]
    return digest("\n".join([*sorted(sources), *(f"{package} {installed(package)}" for package in PACKAGES)]))


def dependencies(modules: Iterable[str], root: Path = _ROOT) -> dict[str, Path]:
    """Return the files of modules and of all modules of this package that they import, directly or not, by name."""
    found: dict[str, Path] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in found and (path := _path(name, root)) is not None:
            found[name] = path
            waiting.extend(_imported(name, path, root))
    return found


def modules_of(value: Any) -> set[str]:
    """Return the modules that define the functions in a value: in fields, in collections, held by functions."""
    found: set[str] = set()
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, partial):
            waiting += [one.func, one.args, one.keywords]
        elif isinstance(one, (FunctionType, MethodType, type)):
            found.add(one.__module__)
            waiting += [cell.cell_contents for cell in getattr(one, "__closure__", None) or () if _filled(cell)]
        elif isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, (list, tuple, set)):
            waiting += one
        elif is_dataclass(one):
            found.add(type(one).__module__)
            waiting += [getattr(one, field.name) for field in fields(one)]
        elif hasattr(one, "__wrapped__"):
            waiting.append(one.__wrapped__)
    return found


def _filled(cell: CellType) -> bool:
    """Whether a variable that a function has of another one has a value."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def this_command() -> str:
    """Return the command that this process runs, as a line for a shell."""
    program = Path(sys.argv[0]).name if sys.argv else ""
    name = _PACKAGE if program in (_PACKAGE, "__main__.py", "") else program
    return shlex.join([name, *sys.argv[1:]])


def this_machine() -> str:
    """Return what a manifest says of the machine."""
    return f"{platform.system()} {platform.machine()}, {available_cores()} cores"


def now() -> str:
    """Return the time, as manifests and locks have it."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())


@cache
def installed(package: str = _PACKAGE) -> str:
    """Return the version of a package, looked up once: that reads all that it says of itself."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def _is_ours(name: str) -> bool:
    return name.split(".")[0] == _PACKAGE


@cache
def _path(name: str, root: Path) -> Path | None:
    """Return the file of a module, or `None` if there is none."""
    if not _is_ours(name):
        file = getattr(sys.modules.get(name), "__file__", None)
        return Path(file) if file is not None and file.endswith(".py") else None
    place = root.joinpath(*name.split(".")[1:])
    # The names at the top of the package are loaded when they are used; its stub says which there are.
    candidates = (place.with_suffix(".py"), place / ("__init__.pyi" if name == _PACKAGE else "__init__.py"))
    return next((path for path in candidates if path.is_file()), None)


class _Source(NamedTuple):
    digest: str
    imports: tuple[ast.Import | ast.ImportFrom, ...]


@cache
def _source(path: Path) -> _Source:
    """Read a file once: the program that runs is the one that was there when it was imported."""
    content = path.read_bytes()
    with SYNTAX:
        tree = ast.parse(content)
    return _Source(digest(content), tuple(_imports(tree)))


def _imports(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports below a node, wherever they are; no expression has one."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        inner = getattr(node, name, None)
        # The body of a lambda or of a conditional expression is an expression.
        for one in inner if isinstance(inner, list) else ():
            if isinstance(one, (ast.Import, ast.ImportFrom)):
                yield one
            else:
                yield from _imports(one)


@cache
def _imported(name: str, path: Path, root: Path) -> tuple[str, ...]:
    """Return the modules of this package that a module imports itself."""
    found: list[str] = []
    package = name if path.name.startswith("__init__.") else name.rpartition(".")[0]
    for statement in _source(path).imports:
        if isinstance(statement, ast.Import):
            found += [alias.name for alias in statement.names if _is_ours(alias.name)]
            continue
        parts = package.split(".")[: len(package.split(".")) - statement.level + 1] if statement.level else []
        source = ".".join([*parts, *([statement.module] if statement.module else [])])
        if _is_ours(source):
            found += [_origin(source, alias.name, root) for alias in statement.names]
    return tuple(dict.fromkeys(found))


def _origin(source: str, name: str, root: Path) -> str:
    """Return the module that a name imported from a module or a package belongs to."""
    inner = f"{source}.{name}"
    if _path(inner, root) is not None:
        return inner
    path = _path(source, root)
    if path is not None and path.name.startswith("__init__."):
        for statement in _source(path).imports:
            if not isinstance(statement, ast.ImportFrom) or not statement.module or statement.level:
                continue
            if name in (alias.asname or alias.name for alias in statement.names):
                return _origin(statement.module, name, root)
    return source
