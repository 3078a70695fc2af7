"""`tutelage explore`: the explorer in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tutelage.cli import console
from tutelage.cli.options import Json


def explore(
    claim: Annotated[
        str | None, typer.Argument(help="A refuted statement: open at its witness, such as single_neuron.lemma-6.3.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the explorer.")] = Path("tutelage-explorer"),
    show: Annotated[bool, typer.Option("--open/--no-open", help="Whether to open the browser.")] = True,
    json: Json = False,
) -> None:
    """The explorer: watch descent get stuck, and touch it, in the browser.

    Writes one folder of static pages, which need no network and no server, and opens it.

    Example: [bold]tutelage explore[/], or [bold]tutelage explore single_neuron.lemma-6.3[/]
    """
    from tutelage.explorer import witness_address, write_explorer

    address = witness_address(claim) if claim else ""
    if claim and not address:
        console.bad_input(
            "`claim` must be one whose witness the explorer shows, such as single_neuron.lemma-6.3, but received "
            f"{claim}. Leave it out: each tab of the explorer lists its refuted statements."
        )
    page = write_explorer(console.writable_folder(out))
    url = page.absolute().as_uri() + address
    opened = show and webbrowser.open(url)
    if json:
        console.print_document({"page": str(page), "url": url, "opened": opened})
        return
    console.say(f"Explorer: {escape(url)}")
    if show and not opened:
        console.notice("No browser could be opened; open this address in one.")
