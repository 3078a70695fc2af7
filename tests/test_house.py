"""The page on the house is true: its rooms are the package's, and its doors those of the import contracts.

And its classes are abstract or final: no method overrides another that has a body.
"""

import ast
import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def _floors_of_the_page():
    rows = re.findall(r"^\| (?:−)?\d+ \| ([^|]+) \|", (ROOT / "docs" / "house.md").read_text(), re.MULTILINE)
    return [set(re.findall(r"`(\w+)`", row)) for row in rows]


def test_rooms_and_doors_are_those_of_the_import_contracts():
    """Floor by floor, from the top down; the contract refuses a module that has no place."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [contract for contract in contracts if contract["type"] == "layers"]
    assert layers["exhaustive"]
    assert _floors_of_the_page() == [set(re.split(r"[ |:]+", layer)) for layer in layers["layers"]]


def test_every_room_is_on_the_page():
    """All modules and packages at the top, and no other."""
    package = ROOT / "src" / "tutelage"
    there = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert set().union(*_floors_of_the_page()) == there - {"__init__", "__main__"}


def _imported(path):
    """The names that a script imports from the package, with their modules."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tutelage"):
            yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize("folder", ["benchmarks", "docs", "examples"])
def test_scripts_import_what_there_is(folder):
    """Nobody runs all benchmarks when a name changes."""
    names = {name for path in (ROOT / folder).rglob("*.py") for name in _imported(path)}
    assert names or folder == "examples"
    for module, name in names:
        found = importlib.import_module(module)
        assert hasattr(found, name) or importlib.util.find_spec(f"{module}.{name}"), f"{module} has no {name}"


def _read(root):
    """The nodes of all modules of a package, by their paths from the folder that it is in."""
    paths = sorted(root.rglob("*.py"))
    return {path.relative_to(root.parent): list(ast.walk(ast.parse(path.read_text()))) for path in paths}


@pytest.fixture(scope="module")
def package():
    """The nodes of this package, read once: parsing takes longer than the tests."""
    return _read(ROOT / "src" / "tutelage")


def _parsed(package):
    """The classes of a package and what its modules import, by the names of modules."""
    classes, imports = {}, {}
    for path, nodes in package.items():
        module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        classes[module] = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
        statements = [node for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
        imports[module] = {
            alias.asname or alias.name: (statement.module, alias.name)
            for statement in statements
            for alias in statement.names
        }
    return classes, imports


def _bodies(made):
    """What a class defines: by name, whether that is a method or a property with a body."""
    found = {}
    for node in made.body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = not any("abstractmethod" in ast.unparse(one) for one in node.decorator_list)
        elif isinstance(node, ast.Assign):
            found |= {target.id: False for target in node.targets if isinstance(target, ast.Name)}
    return found


def _overrides(package):
    """Names that a class of a package defines although a class that it inherits from has a body for them."""
    classes, imports = _parsed(package)

    def ancestors(module, made):
        for base in made.bases:
            first, _, rest = ast.unparse(base).partition("[")[0].partition(".")
            where, name = imports[module].get(first, (module, first))
            where, name = (f"{where}.{name}", rest) if rest else (where, name)
            while where in imports and name not in classes[where] and name in imports[where]:
                where, name = imports[where][name]
            if found := classes.get(where, {}).get(name):
                yield found
                yield from ancestors(where, found)

    # Equinox calls the checks of all classes in a hierarchy; none replaces another.
    return sorted(
        f"{module}.{made.name}.{name} overrides that of {inherited.name}"
        for module, found in classes.items()
        for made in found.values()
        for inherited in ancestors(module, made)
        for name in _bodies(made).keys() & {name for name, body in _bodies(inherited).items() if body}
        if name != "__check_init__"
    )


def test_no_method_overrides_one_with_a_body(package, tmp_path):
    """What varies is abstract in the contract; of a package with such a method the test says so."""
    assert _overrides(package) == []
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    (wrong / "__init__.py").write_text("from wrong.base import Base as Base\n")
    (wrong / "base.py").write_text("class Base:\n    def size(self):\n        return 1\n")
    (wrong / "other.py").write_text(
        "from wrong import Base, base\n\nclass Middle(base.Base):\n    pass\n\nclass One(Base):\n    size = None\n\n"
        "class Two(Middle):\n    def size(self):\n        return 2\n"
    )
    expected = [f"wrong.other.{name}.size overrides that of Base" for name in ("One", "Two")]
    assert _overrides(_read(wrong)) == expected


def test_a_word_has_one_meaning(package):
    """No two public classes share a name; the verifier's count apart, since it shares nothing with what it checks."""
    classes, _ = _parsed(package)
    own = {module: found for module, found in classes.items() if ".verification" not in module}
    names = [name for found in own.values() for name in found if not name.startswith("_")]
    assert len(names) > 200
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_what_is_evaluated_at_once_has_no_loops_that_tracing_unrolls(package):
    """`instantly` traces without the wrappers of JAX, and its own `map_rows` and `fori_loop` remain loops."""
    loops = {f"jax.lax.{name}" for name in ("map", "scan", "fori_loop", "while_loop")}
    for path, nodes in package.items():
        for node in nodes:
            if isinstance(node, ast.FunctionDef) and "instantly" in map(ast.unparse, node.decorator_list):
                called = {ast.unparse(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
                assert not called & loops, f"{path}: {node.name}"
