"""The table of activations and input laws in numerics.md, made from the registries.

`python docs/supported.py` prints it, and `python docs/supported.py --write` puts it into the page.
"""

import re
import sys
from pathlib import Path

import tutelage as tl

PAGE = Path(__file__).with_name("numerics.md")
MARKS = ("<!-- supported: begin, written by docs/supported.py -->", "<!-- supported: end -->")


def how(activation: str, law: tl.inputs.Inputs) -> str:
    """Return how the population loss of neurons with an activation is taken under a law."""
    try:
        objective = tl.population(tl.problems.neuron([1.0, 0.5, 0.2], activation, law))
    except tl.UnsupportedCombination:
        return "refused"
    return objective.exactness.kind


def table() -> str:
    """Return the table in Markdown: activations in rows, laws that are treated alike in one column."""
    columns: dict[tuple[str, ...], list[str]] = {}
    for name, build in tl.inputs.registry().items():
        outcome = tuple(how(activation, build(3)) for activation in tl.activations.names())
        columns.setdefault(outcome, []).append(f"`{name}`")
    lines = [
        ["activation", *(", ".join(laws) for laws in columns.values())],
        ["---", *("---" for _ in columns)],
        *([f"`{name}`", *cells] for name, *cells in zip(tl.activations.names(), *columns, strict=True)),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def inserted(page: str) -> str:
    """Return the page with the table between its marks."""
    pattern = re.compile(f"{re.escape(MARKS[0])}.*{re.escape(MARKS[1])}", flags=re.DOTALL)
    return pattern.sub(lambda _: f"{MARKS[0]}\n\n{table()}\n\n{MARKS[1]}", page)


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(inserted(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(table())
