"""What MkDocs does besides: the page of a package lists each public name of the package.

A name is public if the package's `__init__` imports it under its own name, as in
`from tutelage.inputs.gaussian import Gaussian as Gaussian`. mkdocstrings takes `tutelage.inputs.gaussian` for
the module where the function of that name is meant, and leaves the function out without a word; so each name
gets a directive of its own.
"""

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"


def public_names(module: str) -> dict[str, str]:
    """Public names of a module or package, each with the path of the object it stands for."""
    path = SOURCE.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    names = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            exported = [alias.name for alias in node.names if alias.asname == alias.name]
            names |= {name: f"{node.module}.{name}" for name in exported}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names[node.name] = f"{module}.{node.name}"
    return {name: target for name, target in names.items() if not name.startswith("_")}


def on_page_markdown(markdown: str, **_: object) -> str:
    """Expand `::: package` into the docstring of the package and a directive for each public name."""

    def expanded(directive: re.Match[str]) -> str:
        module = directive[1]
        introduction = f"::: {module}\n    options:\n      members: false\n      show_root_heading: false\n"
        return "\n".join([introduction, *(f"::: {target}\n" for target in public_names(module).values())])

    return re.sub(r"^::: (tutelage\.\w+)$", expanded, markdown, flags=re.MULTILINE)
