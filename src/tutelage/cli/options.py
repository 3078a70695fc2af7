"""Options that several commands have: one name and one help text each."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output, nothing else.")]
Workers = Annotated[int, typer.Option(help="Processes; one per core by default.", show_default=False, min=0)]
Dask = Annotated[str | None, typer.Option(help="Address of a Dask scheduler, or local:N to start one with N workers.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Compute again what is there already.")]
RandomSeed = Annotated[int, typer.Option(help="Seed of all that is random.", min=0)]
OtherSeed = Annotated[int | None, typer.Option(help="Seed, in place of the specification's.", min=0)]
AllowOutside = Annotated[bool, typer.Option("--allow-outside", help="Let paths in the specification leave its folder.")]
