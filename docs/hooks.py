"""What MkDocs does besides: the page of a package lists each public name, and some pages are written from records.

A name is public if the package's `__init__` imports it under its own name, as in
`from tutelage.inputs.gaussian import Gaussian as Gaussian`. mkdocstrings takes `tutelage.inputs.gaussian` for
the module where the function of that name is meant, and leaves the function out without a word; so each name
gets a directive of its own. A public name without a docstring, which mkdocstrings would leave out too, and a public
package without a page in the reference, are errors.

Findings and gallery come from `docs/pages.py`, which is loaded for the pages that ask for it alone.
"""

import ast
import functools
import gc
import importlib.util
import re
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.utils import get_relative_url

# What the offline plugin asks the network for, so that search works from disk; we have a copy.
_SHIM = "https://unpkg.com/iframe-worker/shim"

SOURCE = Path(__file__).parents[1] / "src"

# A build makes many objects and hardly any garbage: by default Python looks for it a tenth of the time.
gc.set_threshold(20_000, 10, 100)


def statements(module: str) -> list[ast.stmt]:
    """The statements of a module or package."""
    path = SOURCE.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return _parsed(path.read_text(encoding="utf-8"))


@functools.cache
def _parsed(text: str) -> list[ast.stmt]:
    # Many names come from one module; a change of it, which a server of the pages watches for, is another text.
    return ast.parse(text).body


def public_names(module: str) -> dict[str, str]:
    """Public names of a module or package, each with the path of the object it stands for."""
    names = {}
    for node in statements(module):
        if isinstance(node, ast.ImportFrom):
            exported = [alias.name for alias in node.names if alias.asname == alias.name]
            names |= {name: f"{node.module}.{name}" for name in exported}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names[node.name] = f"{module}.{node.name}"
    return {name: target for name, target in names.items() if not name.startswith("_")}


def undocumented(module: str) -> list[str]:
    """Public functions and classes of a module or package that have no docstring."""
    missing = []
    for name, target in public_names(module).items():
        for node in statements(target.rpartition(".")[0]):
            described = isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node)
            if getattr(node, "name", None) == name and not described:
                missing.append(target)
    return missing


def on_files(files, **_: object) -> None:
    """Refuse to build if a public package has no page in the reference."""
    stub = ast.parse((SOURCE / "tutelage" / "__init__.pyi").read_text(encoding="utf-8")).body
    packages = [
        alias.name for node in stub if isinstance(node, ast.ImportFrom) and not node.module for alias in node.names
    ]
    pages = {file.src_uri for file in files}
    missing = [package for package in packages if f"reference/{package}.md" not in pages]
    if missing:
        raise PluginError(f"There is no page in docs/reference for {', '.join(missing)}")


def on_page_markdown(markdown: str, **_: object) -> str:
    """Expand `::: package` into its docstring and a directive for each public name, and marks into what they name."""

    def expanded(directive: re.Match[str]) -> str:
        module = directive[1]
        if missing := undocumented(module):
            raise PluginError(f"There is no docstring for {', '.join(missing)}")
        introduction = f"::: {module}\n    options:\n      members: false\n      show_root_heading: false\n"
        return "\n".join([introduction, *(f"::: {target}\n" for target in public_names(module).values())])

    if re.search(r"^<!-- \w+: \w+ -->$", markdown, flags=re.MULTILINE):
        markdown = _pages().expand(markdown)
    return re.sub(r"^::: (tutelage(?:\.\w+)+)$", expanded, markdown, flags=re.MULTILINE)


def on_post_page(output: str, page, **_: object) -> str:
    """Take the script that search needs from our copy, so that a page asks nothing of the network."""
    return output.replace(_SHIM, get_relative_url("assets/iframe-worker/shim.js", page.url))


def _pages():
    specification = importlib.util.spec_from_file_location("docs_pages", Path(__file__).with_name("pages.py"))
    assert specification is not None
    assert specification.loader is not None
    pages = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(pages)
    return pages
