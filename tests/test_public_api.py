"""Every public name has a docstring and a place in the reference."""

import importlib
import importlib.util
import inspect
import re
import subprocess
import sys
import typing
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from mkdocs.exceptions import PluginError

import tutelage

DOCS = Path(__file__).parents[1] / "docs"


def load_hooks() -> ModuleType:
    """The module that lists the public names for the reference, so that both mean the same by "public"."""
    specification = importlib.util.spec_from_file_location("docs_hooks", DOCS / "hooks.py")
    hooks = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(hooks)
    return hooks


HOOKS = load_hooks()
public_names = HOOKS.public_names
PAGES = {
    package
    for page in (DOCS / "reference").glob("*.md")
    for package in re.findall(r"^::: (tutelage(?:\.\w+)+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
}
MEMBERS = [(package, name) for package in sorted(PAGES) for name in public_names(package)]


def undocumented(value: object, name: str) -> list[str]:
    """What lacks a docstring: the object itself or, in a class, a public method or property.

    A member may be described by the contract it fulfils: by the docstring of the same member of a base class,
    or by the attributes that the docstring of a base class lists. What comes from a library is not judged.
    """
    if not inspect.isclass(value):
        is_type = typing.get_origin(value) is not None
        return [name] if callable(value) and not is_type and not inspect.getdoc(value) else []
    # A class does not pass by the docstring of its base.
    missing = [] if value.__dict__.get("__doc__") else [name]
    for member_name, member in inspect.getmembers(value):
        function = member.fget if isinstance(member, property) else member
        ours = (getattr(function, "__module__", None) or "").startswith("tutelage")
        if member_name.startswith("_") or inspect.isclass(member) or not callable(function) or not ours:
            continue
        described = any(
            getattr(base.__dict__.get(member_name), "__doc__", None)
            or re.search(rf"^\s+{member_name}: ", base.__dict__.get("__doc__") or "", flags=re.MULTILINE)
            for base in value.__mro__
        )
        if not described:
            missing.append(f"{name}.{member_name}")
    return missing


@pytest.mark.parametrize("name", tutelage.__all__)
def test_top_level_names_have_a_page(name: str) -> None:
    value = getattr(tutelage, name)
    home = value.__name__ if isinstance(value, ModuleType) else value.__module__
    # A module within a package may have a place of its own.
    package = home if home in PAGES else ".".join(home.split(".")[:2])
    assert package in PAGES, f"Add a page to docs/reference with the line `::: {package}`"
    if not isinstance(value, ModuleType):
        # The page of a package shows what the package exports, and nothing else.
        assert name in public_names(package), f"Add {name} to the names that {package} exports"


@pytest.mark.parametrize("package", sorted(PAGES))
def test_packages_have_a_docstring_and_public_names(package: str) -> None:
    assert importlib.import_module(package).__doc__
    assert public_names(package)


@pytest.mark.parametrize(("package", "name"), MEMBERS)
def test_public_names_are_documented(package: str, name: str) -> None:
    value = getattr(importlib.import_module(package), name)
    assert undocumented(value, f"{package}.{name}") == []


def test_missing_docstrings_are_noticed() -> None:
    class Contract:
        """A contract.

        Attributes:
            listed: Described here.
        """

        def inherited(self) -> None:
            """Described here."""

    class Member(Contract):
        listed = property(lambda self: 0)
        bare_property = property(lambda self: 0)

        def inherited(self) -> None:
            pass

        def bare(self) -> None:
            pass

    for function in (Member.listed.fget, Member.bare_property.fget, Member.inherited, Member.bare):
        function.__module__ = "tutelage.example"
    assert undocumented(Member, "Member") == ["Member", "Member.bare", "Member.bare_property"]
    assert undocumented(lambda: 0, "function") == ["function"]


def test_the_build_refuses_an_undocumented_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "tutelage" / "example"
    package.mkdir(parents=True)
    (package / "part.py").write_text('def told():\n    """Described."""\n\n\ndef untold(): ...\n')
    (package / "__init__.py").write_text("from tutelage.example.part import told as told\n")
    monkeypatch.setattr(HOOKS, "SOURCE", tmp_path)
    assert "::: tutelage.example.part.told" in HOOKS.on_page_markdown("::: tutelage.example")
    with (package / "__init__.py").open("a") as init:
        init.write("from tutelage.example.part import untold as untold\n")
    with pytest.raises(PluginError, match=r"no docstring for tutelage\.example\.part\.untold"):
        HOOKS.on_page_markdown("::: tutelage.example")


def test_the_build_refuses_a_package_without_a_page() -> None:
    pages = [SimpleNamespace(src_uri=f"reference/{page.name}") for page in (DOCS / "reference").glob("*.md")]
    HOOKS.on_files(pages)
    with pytest.raises(PluginError, match=r"for claims$"):
        HOOKS.on_files([page for page in pages if page.src_uri != "reference/claims.md"])


def test_every_public_name_is_there_in_a_fresh_process():
    """Whatever else has been imported: each line of the stub in a process of its own, which has imported nothing."""
    stub = Path(tutelage.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    places = re.findall(r"^from (\S+) import \w+ as (\w+)$", stub, flags=re.MULTILINE)
    assert {name for _, name in places} == {*tutelage.__all__}
    # Names of one package come by one import; submodules come one by one. Libraries are imported once for all.
    groups = [[name] for place, name in places if place == "."]
    groups += [[name for other, name in places if other == place] for place in {place for place, _ in places} - {"."}]
    script = f"""
import os, jax, numpy, equinox, polars, tutelage
for names in {groups!r}:
    if not (child := os.fork()):
        try:
            [getattr(tutelage, name) for name in names]
        except BaseException as error:
            print(names, error, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == ""
